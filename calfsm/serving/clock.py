"""Virtual time: a queue of calls, run in order when somebody moves the clock.

Everything that waits in the executor or in a simulated device waits here, so that a run is a pure function of its
inputs: the same calls at the same times, whatever the machine it runs on.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import attrs


@attrs.define(order=True)
class Timer:
    """A call that is due at a time. `cancel()` makes it a no-op; cancelling twice is harmless."""

    due: float
    order: int
    call: Callable[[], None] | None = attrs.field(order=False)

    def cancel(self) -> None:
        """Forget the call."""
        self.call = None


class VirtualClock:
    """Seconds since the run began. Calls due at one time run in the order in which they were asked for."""

    def __init__(self) -> None:
        self._now = 0.0
        self._asked = 0
        self._due: list[Timer] = []

    @property
    def now(self) -> float:
        """The virtual time, in seconds."""
        return self._now

    def call_at(self, due: float, call: Callable[[], None]) -> Timer:
        """Run `call` at `due` (seconds), or as soon as the clock next moves if that is past."""
        timer = Timer(max(due, self._now), self._asked, call)
        self._asked += 1
        heapq.heappush(self._due, timer)
        return timer

    def call_later(self, delay: float, call: Callable[[], None]) -> Timer:
        """Run `call` in `delay` seconds."""
        return self.call_at(self._now + delay, call)

    def next_due(self) -> float | None:
        """When the next call is due, or None when nothing is."""
        while self._due and self._due[0].call is None:
            heapq.heappop(self._due)
        return self._due[0].due if self._due else None

    def run_next(self) -> bool:
        """Move to the next due call and make it. False when nothing is due."""
        if self.next_due() is None:
            return False
        timer = heapq.heappop(self._due)
        call, timer.call = timer.call, None
        self._now = timer.due
        assert call is not None
        call()
        return True

    def run_until(self, time: float) -> None:
        """Make every call due up to and including `time`, then stand at `time`."""
        while (due := self.next_due()) is not None and due <= time:
            self.run_next()
        self._now = max(self._now, time)
