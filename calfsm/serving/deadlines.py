"""Timers for the states that have deadlines: the spec says which state has one and which action the clock then takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from calfsm.engine.engine import Step
from calfsm.engine.system import System
from calfsm.serving.clock import Timer


class Clock(Protocol):
    """Where timers are kept. `VirtualClock` is one."""

    @property
    def now(self) -> float:
        """Seconds."""

    def call_later(self, delay: float, call: Callable[[], None]) -> Timer:
        """Run `call` in `delay` seconds."""


class Deadlines:
    """One timer for each instance that is in a state with a deadline that some clock action answers.

    A timer runs from the moment its state is entered, and goes on while the instance moves among states with the same
    duration; it says nothing once the instance has left them.
    """

    def __init__(self, system: System, durations: Mapping[str, float], clock: Clock, passed: Callable[[int, int, int], None]) -> None:
        """`durations`: seconds by name; `passed(part, index, event)` is called when one is over. Raises KeyError for a missing one."""
        self._clock = clock
        self._passed = passed
        self._timers: dict[tuple[int, int], tuple[str, Timer]] = {}
        self.actions = clock_actions(system)
        """(part, event) to the clock actions that take it, and the name of the pick that is its subject ("" for a single part)."""
        self._deadline: dict[tuple[int, int], tuple[str, int, float]] = {}
        for part, row in enumerate(system.parts):
            for state, described in enumerate(row.table.states):
                if described.deadline is not None:
                    after, event = described.deadline
                    number = row.table.event_index(event)
                    if (part, number) in self.actions:
                        self._deadline[part, state] = (after, number, durations[after])

    def follow(self, step: Step) -> None:
        """Start, keep and stop timers as instances move."""
        for change in step.changes:
            if change.state == change.new_state:
                continue
            key = change.part, change.index
            deadline = self._deadline.get((change.part, change.new_state))
            running = self._timers.get(key)
            if running is not None and (deadline is None or deadline[0] != running[0]):
                running[1].cancel()
                del self._timers[key]
                running = None
            if deadline is not None and running is None:
                self._start(key, *deadline)

    def _start(self, key: tuple[int, int], after: str, event: int, seconds: float) -> None:
        def over() -> None:
            del self._timers[key]
            self._passed(*key, event)

        self._timers[key] = after, self._clock.call_later(seconds, over)


def clock_actions(system: System) -> dict[tuple[int, int], list[tuple[str, str]]]:
    """(part, event) to the clock actions whose subject, their first participant, takes that event first."""
    found: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for action in system.actions:
        if action.by != "clock":
            continue
        subject = action.fired[0]
        match subject.which:
            case ("one", ("arg", index)):
                pick = action.picks[index][0]
            case _:
                pick = ""
        found.setdefault((subject.part, subject.events[0]), []).append((action.name, pick))
    return found
