"""Breadth-first search: every reachable state, what holds in all of them, and the shortest way to one that breaks it.

The contract of what is searched is three methods (`Model`); states are any hashable values. A search that was stopped
early says so: `holds` is never said of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import Enum
from typing import Generic, Protocol, TypeVar

import attrs

State = TypeVar("State", bound=Hashable)
Action = TypeVar("Action")


class Model(Protocol[State, Action]):
    """What can be searched."""

    def initial(self) -> Iterable[State]:
        """The states to begin with."""

    def actions(self, state: State) -> Iterable[Action]:
        """The actions that are possible in a state, in a fixed order."""

    def next(self, state: State, action: Action) -> State:
        """The state that a possible action leads to."""


Property = Callable[[State], bool]


class Verdict(Enum):
    """What a search says of a property. `UNDECIDED`: not broken in what was seen, and not all was seen."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNDECIDED = "not broken so far"


@attrs.frozen
class Trace(Generic[State, Action]):
    """A way through the model: the first state, then each action and the state it led to."""

    start: State
    steps: tuple[tuple[Action, State], ...] = ()

    @property
    def end(self) -> State:
        """The last state."""
        return self.steps[-1][1] if self.steps else self.start


@attrs.frozen
class Progress:
    """Where a search stands."""

    states: int
    transitions: int
    depth: int
    waiting: int
    seconds: float


@attrs.define
class Result(Generic[State, Action]):
    """What a search found.

    `depth`: steps to the state farthest from the initial ones. `stopped`: why it ended early, or empty. `stuck`: the
    way to a state without actions.
    """

    states: int
    transitions: int
    depth: int
    verdicts: dict[str, Verdict]
    counterexamples: dict[str, Trace[State, Action]]
    stuck: Trace[State, Action] | None
    stopped: str
    seconds: float
    parents: dict[State, tuple[State, Action] | None]

    @property
    def complete(self) -> bool:
        """Whether every reachable state was seen."""
        return not self.stopped

    @property
    def holds(self) -> bool:
        """Whether all was seen and nothing is broken."""
        unbroken = all(verdict is Verdict.HOLDS for verdict in self.verdicts.values())
        return self.complete and self.stuck is None and unbroken

    def trace(self, state: State) -> Trace[State, Action]:
        """A shortest way to a state that was seen. Raises KeyError."""
        steps: list[tuple[Action, State]] = []
        while (parent := self.parents[state]) is not None:
            steps.append((parent[1], state))
            state = parent[0]
        return Trace(state, tuple(reversed(steps)))


def search(
    model: Model[State, Action],
    properties: Mapping[str, Property[State]] | None = None,
    *,
    max_states: int | None = None,
    max_seconds: float | None = None,
    first_only: bool = False,
    progress: Callable[[Progress], None] | None = None,
    visit: Callable[[State, Action, State], None] | None = None,
    go_on: Callable[[State], bool] | None = None,
) -> Result[State, Action]:
    """Search `model` breadth-first.

    It stops after the state at which it has seen `max_states` or spent `max_seconds`, if there is more to see; with
    `first_only` at the first broken property. `progress` is called about once a second. `visit` is called with every
    transition, in search order. States of which `go_on` is false are seen and judged, and not gone on from.
    Counterexamples are shortest: breadth-first order reaches every state by a shortest way.
    """
    properties = dict(properties or {})
    began = told = time.monotonic()
    parents: dict[State, tuple[State, Action] | None] = {}
    broken: dict[str, State] = {}
    stuck: State | None = None
    transitions, depth, stopped = 0, 0, ""

    def judge(state: State) -> None:
        for name, holds in properties.items():
            if name not in broken and not holds(state):
                broken[name] = state

    def limit() -> str:
        """Why to stop now, though there is more to see; empty to go on."""
        if first_only and broken:
            return "a property is broken"
        if max_states is not None and len(parents) >= max_states:
            return f"the limit of {max_states:,} states was reached"
        if max_seconds is not None and time.monotonic() - began >= max_seconds:
            return f"the limit of {max_seconds:g} seconds was reached"
        return ""

    frontier: list[State] = []
    for state in model.initial():
        if state not in parents:
            parents[state] = None
            frontier.append(state)
            judge(state)
    while frontier:
        found: list[State] = []
        for state in frontier:
            stopped = limit()
            if stopped:
                break
            if go_on is not None and not go_on(state):
                continue
            alive = False
            for action in model.actions(state):
                alive = True
                after = model.next(state, action)
                transitions += 1
                if visit is not None:
                    visit(state, action, after)
                if after not in parents:
                    parents[after] = (state, action)
                    found.append(after)
                    judge(after)
            if not alive and stuck is None:
                stuck = state
            if progress is not None and (now := time.monotonic()) - told >= 1:
                told = now
                progress(Progress(len(parents), transitions, depth, len(found), now - began))
        depth += bool(found)
        if stopped:
            break
        frontier = found
    otherwise = Verdict.UNDECIDED if stopped else Verdict.HOLDS
    result: Result[State, Action] = Result(
        len(parents),
        transitions,
        depth,
        {name: Verdict.BROKEN if name in broken else otherwise for name in properties},
        {},
        None,
        stopped,
        time.monotonic() - began,
        parents,
    )
    result.counterexamples = {name: result.trace(broken[name]) for name in properties if name in broken}
    result.stuck = result.trace(stuck) if stuck is not None else None
    return result
