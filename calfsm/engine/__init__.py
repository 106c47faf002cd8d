"""Pure stepping: tables, one instance (`Machine`), many (`Fleet`), and systems of them (`Engine`).

`Fleet` is imported when it is first asked for, so that serving one machine does not load numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calfsm.engine.machine import Machine
from calfsm.engine.table import Move, Refused, Table

if TYPE_CHECKING:
    from calfsm.engine.fleet import Fleet

__all__ = ["Fleet", "Machine", "Move", "Refused", "Table"]


def __getattr__(name: str) -> Any:
    if name == "Fleet":
        from calfsm.engine.fleet import Fleet

        return Fleet
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
