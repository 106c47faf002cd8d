"""The long operations that are under way: one of the model (configure, warm, release), one of the device (reset)."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from calfsm.serving.loading import Finish, Steps, Warmup
from calfsm.serving.messages import Message, OperationEnded, OperationHint
from calfsm.serving.runtime import Operation, OutputBuf, RuntimeFault

Start = Callable[[Callable[[], None], Finish], Steps | Warmup]
"""Starts an operation: (notify, finish) to the operation. May raise RuntimeFault: then it has failed."""

Verdict = Callable[[], str]
"""Looks at what must be seen before a good end is believed: why it is not, or "". May raise RuntimeFault."""


@attrs.define
class _UnderWay:
    """`serial` 0: nothing. `ended`: its end was said; `heard`: that was handled."""

    serial: int = 0
    operation: Steps | Warmup | None = None
    ended: bool = False
    heard: bool = False


class Operations:
    """Starts them, listens to them, and says how they ended by an `OperationEnded`. A new one silences the old."""

    def __init__(self, post: Callable[[Message], None]) -> None:
        self._post = post
        self._serial = 0
        self._of = {"model": _UnderWay(), "device": _UnderWay()}

    def begin(self, kind: str, start: Start, believed: Verdict = str) -> None:
        """Start an operation; `kind` is `configure`, `warm`, `release` or `reset`."""
        self._serial += 1
        serial = self._serial
        mine = self._of["device" if kind == "reset" else "model"] = _UnderWay(serial)

        def finish(ok: bool, why: str) -> None:
            if ok:
                try:
                    why = believed()
                except RuntimeFault as fault:
                    why = str(fault)
                ok = not why
            mine.ended = True
            self._post(OperationEnded(serial, kind, ok, why))

        try:
            mine.operation = start(lambda: self._post(OperationHint(serial)), finish)
        except RuntimeFault as fault:
            finish(False, str(fault))

    def hold(self, subject: str) -> None:
        """What the `model` or the `device` has under way may end, but starts nothing more on the device."""
        operation = self._of[subject].operation
        if operation is not None:
            operation.held = True

    def forget(self, subject: str) -> None:
        """What it had under way is gone from the device, and will never answer."""
        self._of[subject] = _UnderWay()

    def poke(self, serial: int) -> bool:
        """Look at the operation that a hint is about. False: it has not moved."""
        return any(self._poke(mine) for mine in self._of.values() if mine.serial == serial)

    def awaited(self, message: OperationEnded) -> bool:
        """Whether this is the end of an operation that is still waited for."""
        return any(mine.serial == message.serial and not mine.heard for mine in self._of.values())

    def hear(self, message: OperationEnded) -> None:
        """The end was handled, whatever came of it: it is not waited for any more."""
        for mine in self._of.values():
            if mine.serial == message.serial:
                mine.heard = True

    def look(self, subject: str) -> bool:
        """Whether it has moved on or ended unnoticed, or its end is waiting to be handled (source design 14)."""
        mine = self._of.get(subject)
        return mine is not None and not mine.heard and (mine.ended or self._poke(mine))

    def in_the_way(self, subject: str) -> Operation | OutputBuf | None:
        """What the device may still be doing of the latest operation, even if that was given up."""
        operation = self._of[subject].operation
        return operation.under_way if operation is not None else None

    @staticmethod
    def _poke(mine: _UnderWay) -> bool:
        return mine.operation is not None and mine.operation.poke()
