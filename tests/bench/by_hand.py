"""What one would write by hand: a class around a dict of dicts, with the checks that `Machine` makes.

An event that the state does not know is an error and changes nothing; stays are counted; observers are told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NoReturn

Guard = Callable[["ByHand"], bool]
Answer = tuple[str, str | None, Guard | None]
"""Target, reason for staying, guard."""
Rows = Mapping[str, Mapping[str, Answer]]

RING: Rows = {f"s{i}": {"next": (f"s{(i + 1) % 8}", None, None)} for i in range(8)}

BUFFER: Rows = {
    "absent": {"create": ("free", None, None), "retire": ("absent", "It is gone already.", None)},
    "free": {"acquire": ("preparing", None, None), "retire": ("absent", None, None)},
    "preparing": {"submit_ok": ("submitted", None, None)},
    "submitted": {"status_running": ("running", None, None), "done": ("completing", None, None)},
    "running": {"status_running": ("running", "Progress again.", None), "done": ("completing", None, None)},
    "completing": {"recycle": ("free", None, lambda item: not item.tainted)},
}


class Refused(Exception):
    """An event was refused."""


class ByHand:
    """One object. `state` is a name."""

    __slots__ = ("observers", "row", "rows", "state", "stays", "tainted")

    def __init__(self, rows: Rows, initial: str) -> None:
        self.rows, self.state, self.row = rows, initial, rows[initial]
        self.tainted: bool = False
        self.observers: tuple[Callable[[str, str, str], None], ...] = ()
        self.stays: Counter[tuple[str, str]] = Counter()

    def fire(self, event: str) -> str:
        """Take an event and return the new state."""
        answer = self.row.get(event)
        if answer is None:
            self._refuse(event)
        target, stay, guard = answer
        if guard is not None and not guard(self):
            self._refuse(event)
        source = self.state
        self.state = target
        self.row = self.rows[target]
        if stay is not None:
            self.stays[source, event] += 1
        if self.observers:
            for observer in self.observers:
                observer(source, event, target)
        return target

    def _refuse(self, event: str) -> NoReturn:
        raise Refused(f"{self.state} refuses {event}; it takes {', '.join(self.row)}")
