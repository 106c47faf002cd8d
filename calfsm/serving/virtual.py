"""The virtual-time driver: an executor and a device on one clock, moved as fast as the machine goes."""

from __future__ import annotations

from calfsm.serving.clock import VirtualClock
from calfsm.serving.executor import Executor


def run(executor: Executor, clock: VirtualClock, until: float | None = None) -> None:
    """Turn by turn, until nothing is due and nothing is left to do, or until the clock stands at `until` (seconds).

    Within a turn (from `on_token`) it does nothing: time does not pass there.
    """
    if executor.in_a_turn:
        return
    executor.pump()
    while (due := clock.next_due()) is not None and (until is None or due <= until):
        clock.run_next()
        executor.pump()
    if until is not None:
        clock.run_until(until)
