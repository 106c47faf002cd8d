"""Operations of the simulated device, and waiting in virtual time."""

from __future__ import annotations

import math
from collections.abc import Callable

from calfsm.serving.clock import Timer, VirtualClock
from calfsm.serving.runtime import OperationStatus


def wait_until(clock: VirtualClock, over: Callable[[], bool], timeout: float) -> None:
    """Move `clock` call by call until `over()` holds or `timeout` seconds have passed. Below zero counts as zero.

    Calling this from inside a clock call is allowed: the calls that come due meanwhile run nested inside the caller,
    in their usual order, and time never runs backwards. When it returns, the clock stands at the moment at which it was
    over, not at the end of the timeout. Raises ValueError for an endless timeout, which virtual time could not honour.
    """
    if not math.isfinite(timeout):
        raise ValueError(f"timeout must be a finite number of seconds, got {timeout!r}")
    deadline = clock.now + max(0.0, timeout)
    while not over():
        due = clock.next_due()
        if due is None or due > deadline:
            clock.run_until(deadline)
            return
        clock.run_next()


class SimulatedOperation:
    """Something the device takes its time over. See `calfsm.serving.runtime.Operation`.

    Notifications run as calls of the clock, never inside `notify` or inside the device.
    """

    def __init__(self, clock: VirtualClock, name: str, notice: float) -> None:
        self.name = name
        self._clock = clock
        self._notice = notice
        self._status = OperationStatus.PENDING
        self._detail = ""
        self._listeners: list[Callable[[], None]] = []
        self._timer: Timer | None = None

    @property
    def detail(self) -> str:
        """Why it failed; empty otherwise."""
        return self._detail

    def status(self) -> OperationStatus:
        """Where it stands."""
        return self._status

    def wait(self, timeout: float) -> OperationStatus:
        """Move the clock until it is final, by `timeout` seconds at most; see `wait_until`."""
        wait_until(self._clock, lambda: self._status.final, timeout)
        return self._status

    def notify(self, call: Callable[[], None]) -> None:
        """Have the clock make `call` once it is final; soon, if it is already."""
        if self._status.final:
            self._clock.call_later(self._notice, call)
        else:
            self._listeners.append(call)

    def finish_in(self, seconds: float, call: Callable[[], None]) -> None:
        """For the device: do `call` in `seconds`, unless it is settled before."""
        self._timer = self._clock.call_later(seconds, call)

    def settle(self, failure: str, notices: tuple[float, ...] = (0.0,)) -> None:
        """For the device: make it final, FAILED if there is a failure. Hints go out after each delay of `notices`."""
        if self._status.final:
            return
        self._status = OperationStatus.FAILED if failure else OperationStatus.DONE
        self._detail = failure
        if self._timer is not None:
            self._timer.cancel()
        for delay in notices:
            for call in self._listeners:
                self._clock.call_later(self._notice + delay, call)
        self._listeners = []
