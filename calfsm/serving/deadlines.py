"""Timers for the states that have deadlines: the spec says which state has one, and which action the clock then takes.

The executor has one decider of deadlines, this one: whether a deadline passed is said by a message, in order with all
others (source design 5, 14).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from calfsm.engine.engine import Step
from calfsm.engine.system import System
from calfsm.serving.clock import Timer
from calfsm.serving.messages import DeadlinePassed


class Clock(Protocol):
    """Where timers are kept. `VirtualClock` is one."""

    @property
    def now(self) -> float:
        """Seconds."""

    def call_later(self, delay: float, call: Callable[[], None]) -> Timer:
        """Run `call` in `delay` seconds."""


class _Deadline(NamedTuple):
    after: str
    event: int
    seconds: float


class _Running(NamedTuple):
    deadline: _Deadline
    serial: int
    timer: Timer


class Deadlines:
    """One timer for each instance that is in a state with a deadline that some clock action answers.

    A timer runs from the moment its state is entered, and goes on while the instance moves among states with the same
    duration; a message of it stands until the instance has left them.
    """

    def __init__(
        self,
        system: System,
        durations: Mapping[str, float],
        clock: Clock,
        passed: Callable[[DeadlinePassed], None],
    ) -> None:
        """`durations`: seconds by name. `passed` is called when one is over. Raises KeyError for a missing duration."""
        self._clock = clock
        self._passed = passed
        self._serial = 0
        self._running: dict[tuple[int, int], _Running] = {}
        self.actions = clock_actions(system)
        """(part, event) to the clock actions that take it, with the pick that is their subject ("": a single part)."""
        self._deadlines: dict[tuple[int, int], _Deadline] = {}
        for part, row in enumerate(system.parts):
            for state, described in enumerate(row.table.states):
                if described.deadline is not None:
                    after, event = described.deadline
                    number = row.table.event_index(event)
                    if (part, number) in self.actions:
                        self._deadlines[part, state] = _Deadline(after, number, durations[after])

    def follow(self, step: Step) -> None:
        """Start, keep and stop timers as instances move."""
        for change in step.changes:
            if change.state == change.new_state:
                continue
            key = change.part, change.index
            deadline = self._deadlines.get((change.part, change.new_state))
            running = self._running.get(key)
            if running is not None and (deadline is None or deadline.after != running.deadline.after):
                running.timer.cancel()
                del self._running[key]
                running = None
            if deadline is not None and running is None:
                self._start(key, deadline)

    def stands(self, message: DeadlinePassed) -> bool:
        """Whether the instance has not left, since, the states whose deadline passed."""
        running = self._running.get((message.part, message.index))
        return running is not None and running.serial == message.serial

    def again(self, message: DeadlinePassed) -> None:
        """Wait as long once more, from now: what was waited for did move on. Only for one that stands."""
        key = message.part, message.index
        self._start(key, self._running[key].deadline)

    def _start(self, key: tuple[int, int], deadline: _Deadline) -> None:
        self._serial += 1
        message = DeadlinePassed(*key, deadline.event, deadline.after, self._serial)
        timer = self._clock.call_later(deadline.seconds, lambda: self._passed(message))
        self._running[key] = _Running(deadline, self._serial, timer)


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
