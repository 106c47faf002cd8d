"""A system searched up to symmetry: one state of each orbit, what these stand for, and ways through the system itself.

The quotient is a model like any other. Its states are canonical, its calls are those of the state that stands for
others, and a way through it is not one through the system: each step ends in a state that is renamed before the next.
`realised` finds the way through the system that a way through the quotient shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import attrs

from calfsm.engine.engine import Snapshot
from calfsm.explore.search import Trace
from calfsm.explore.symmetry import Symmetry
from calfsm.explore.systems import Call, SystemModel, SystemResult

REMEMBERED = 1 << 16
"""States of which the canonical form is remembered: most transitions lead to where another one led before."""


@attrs.frozen
class StandsFor:
    """What the states of a reduced search stand for, counted: states, transitions, and how often each action is taken.

    Of a complete search these are the numbers of the search that is not reduced.
    """

    states: int
    transitions: int
    fired: dict[str, int]


class Quotient:
    """A system at a scope as something to search, up to symmetry. Give its `visit` to the search."""

    def __init__(self, model: SystemModel, symmetry: Symmetry) -> None:
        self.model, self.symmetry = model, symmetry
        self.canonical = lru_cache(REMEMBERED)(symmetry.canonical)
        self._fired: Counter[int] = Counter()
        self._at: Snapshot = ()
        self._orbit = 0

    def initial(self) -> Iterable[Snapshot]:
        """The canonical initial state."""
        return map(self.canonical, self.model.initial())

    def actions(self, state: Snapshot) -> Iterable[Call]:
        """The calls that are possible in a state."""
        return self.model.actions(state)

    def next(self, state: Snapshot, action: Call) -> Snapshot:
        """The canonical form of the state after a call. Raises ActionRefused."""
        return self.canonical(self.model.next(state, action))

    def visit(self, state: Snapshot, action: Call, after: Snapshot) -> None:
        """Count a transition as often as its state stands for others."""
        if state is not self._at:
            self._at, self._orbit = state, self.symmetry.orbit(state)
        self._fired[action[0]] += self._orbit

    def stands_for(self, states: Iterable[Snapshot]) -> StandsFor:
        """What `states`, those that a search found, and the transitions that it visited stand for."""
        fired = {row.name: self._fired[index] for index, row in enumerate(self.model.system.actions)}
        return StandsFor(sum(map(self.symmetry.orbit, states)), sum(fired.values()), fired)

    def told(self, result: SystemResult) -> SystemResult:
        """What a search of the quotient found, with ways through the system in place of ways through the quotient."""
        stuck = None if result.stuck is None else self.trace(result.stuck)
        counterexamples = {name: self.trace(trace) for name, trace in result.counterexamples.items()}
        return attrs.evolve(result, counterexamples=counterexamples, stuck=stuck)

    def trace(self, reduced: Trace[Snapshot, Call], end: Snapshot | None = None) -> Trace[Snapshot, Call]:
        """The way through the system that a way through the quotient shows; to `end`, if that is given."""
        states = [reduced.start, *(state for _, state in reduced.steps)]
        return realised(self.model, states, self.symmetry, end)

    def way_to(self, result: SystemResult, state: Snapshot) -> Trace[Snapshot, Call]:
        """A shortest way through the system to a state that one which a search found stands for. Raises KeyError."""
        return self.trace(result.trace(self.canonical(state)), state)


def realised(
    model: SystemModel, states: Sequence[Snapshot], symmetry: Symmetry | None = None, end: Snapshot | None = None
) -> Trace[Snapshot, Call]:
    """A way through some states or, under a symmetry, through their orbits; its calls are found by asking the engine.

    It begins with the first of the states, and leads to `end`, if that is given: a state of the orbit of the last one.
    Then the first one must be alone in its orbit, as an initial state is. Raises RuntimeError when the engine knows of
    no such way: then the search that found the states has gone wrong.
    """

    def form(state: Snapshot) -> Snapshot:
        return state if symmetry is None else symmetry.canonical(state)

    at = states[0]
    steps: list[tuple[Call, Snapshot]] = []
    for wanted in map(form, states[1:]):
        step = next(
            ((call, after) for call in model.actions(at) if form(after := model.next(at, call)) == wanted), None
        )
        if step is None:
            raise RuntimeError(f"the engine does not lead from {at} to {wanted}; the search that found it is wrong")
        steps.append(step)
        at = step[1]
    renaming = symmetry.renaming(at, end) if symmetry is not None and end is not None else None
    if symmetry is not None and renaming is not None:
        steps = [(symmetry.renamed_call(call, renaming), symmetry.renamed(state, renaming)) for call, state in steps]
    return Trace(states[0], tuple(steps))
