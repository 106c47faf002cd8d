"""Pure stepping: tables, one instance (`Machine`), many (`Fleet`), and systems of them (`Engine`).

`Fleet` and the engine of systems are imported when they are first asked for, so that serving one machine loads neither
numpy nor more than it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from calfsm.engine.machine import Machine
from calfsm.engine.table import Move, Refused, Table

if TYPE_CHECKING:
    from calfsm.engine.engine import ActionRefused, Engine
    from calfsm.engine.fleet import Fleet
    from calfsm.engine.system import Profile, System

__all__ = ["ActionRefused", "Engine", "Fleet", "Machine", "Move", "Profile", "Refused", "System", "Table"]

_LATER = {
    "ActionRefused": "calfsm.engine.engine",
    "Engine": "calfsm.engine.engine",
    "Fleet": "calfsm.engine.fleet",
    "Profile": "calfsm.engine.system",
    "System": "calfsm.engine.system",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
