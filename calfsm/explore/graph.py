"""What a search walked over, kept as a graph: for the questions that no single state answers.

States and actions are numbered in the order in which the search met them, so a state's number also orders states by
their distance from the initial ones. Transitions are three arrays; a million of them take about ten megabytes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from calfsm.explore.search import Trace

State = TypeVar("State", bound=Hashable)
Action = TypeVar("Action", bound=Hashable)


_NOWHERE = object()


class Graph(Generic[State, Action]):
    """The states and transitions of one search; give its `visit` to the search, and call `close` when that has ended.

    `limit`: with more states than this it forgets everything and keeps no more (`dropped`). After `close`, `whole` says
    for each state whether all its transitions are there; of a search that was stopped, some states are only names.
    """

    def __init__(self, initial: Iterable[State], limit: int | None = None) -> None:
        self.states: list[State] = []
        self.actions: list[Action] = []
        self.limit = limit
        self.dropped = False
        self.whole = bytearray()
        self.first = array("q")
        """Where the transitions of each state begin; one more stands at the end."""
        self.targets = array("i")
        self.labels = array("i")
        self.depths = array("i")
        """How far each state is from the initial ones."""
        self._reached_by = array("q")
        self._numbers: dict[State, int] = {}
        self._labels: dict[Action, int] = {}
        self._at: object = _NOWHERE
        for state in initial:
            if state not in self._numbers:
                self._add(state, -1, 0)

    def __len__(self) -> int:
        return len(self.states)

    def visit(self, state: State, action: Action, after: State) -> None:
        """Keep a transition. Those of one state come one after another, states in the order in which they were met."""
        if self.dropped:
            return
        if state is not self._at:
            self._at = state
            self._begin(self._numbers[state])
        number = self._numbers.get(after)
        if number is None:
            number = self._add(after, len(self.targets), self.depths[len(self.first) - 1] + 1)
            if self.limit is not None and number >= self.limit:
                self._drop()
                return
        label = self._labels.get(action)
        if label is None:
            label = self._labels[action] = len(self.actions)
            self.actions.append(action)
        self.targets.append(number)
        self.labels.append(label)

    def close(self, complete: bool, go_on: Callable[[State], bool] | None = None) -> None:
        """No more transitions will come. `complete`: the search ended by itself; `go_on`: what it was given."""
        if self.dropped:
            return
        seen = len(self.states) if complete else len(self.first)
        self.whole = bytearray(
            number < seen and (go_on is None or go_on(state)) for number, state in enumerate(self.states)
        )
        self._begin(len(self.states))

    def edges(self, state: int) -> range:
        """The numbers of the transitions that leave a state."""
        return range(self.first[state], self.first[state + 1])

    def enabled(self, state: int) -> set[int]:
        """The labels of the actions that are possible in a whole state."""
        return set(self.labels[self.first[state] : self.first[state + 1]])

    def picked(self, wanted: Callable[[Action], bool]) -> bytearray:
        """For each label, whether its action is wanted."""
        return bytearray(wanted(action) for action in self.actions)

    def source(self, edge: int) -> int:
        """The state that a transition leaves."""
        return bisect_right(self.first, edge) - 1

    def leads(self, edge: int) -> tuple[int, int]:
        """The label of a transition, and the state that it leads to."""
        return self.labels[edge], self.targets[edge]

    def trace(self, state: int) -> Trace[State, Action]:
        """A shortest way to a state."""
        steps: list[tuple[Action, State]] = []
        while (edge := self._reached_by[state]) >= 0:
            steps.append(self.step(edge))
            state = self.source(edge)
        return Trace(self.states[state], tuple(reversed(steps)))

    def step(self, edge: int) -> tuple[Action, State]:
        """A transition as a step of a trace."""
        return self.actions[self.labels[edge]], self.states[self.targets[edge]]

    def arrivals(self, wanted: bytearray) -> Callable[[int], Iterator[int]]:
        """For a state, the states that lead to it by a wanted label."""
        counts = array("q", bytes(8 * (len(self.states) + 1)))
        for edge, target in enumerate(self.targets):
            counts[target] += wanted[self.labels[edge]]
        begin = 0
        for number, count in enumerate(counts):
            counts[number] = begin
            begin += count
        sources = array("i", bytes(4 * begin))
        free = counts[:]
        for state in range(len(self.states)):
            for edge in self.edges(state):
                if wanted[self.labels[edge]]:
                    target = self.targets[edge]
                    sources[free[target]] = state
                    free[target] += 1

        return lambda state: iter(sources[counts[state] : counts[state + 1]])

    def _begin(self, state: int) -> None:
        """From here on transitions leave `state`; states passed over have none."""
        while len(self.first) <= state:
            self.first.append(len(self.targets))

    def _add(self, state: State, edge: int, depth: int) -> int:
        number = self._numbers[state] = len(self.states)
        self.states.append(state)
        self._reached_by.append(edge)
        self.depths.append(depth)
        return number

    def _drop(self) -> None:
        self.dropped = True
        self.states, self.actions, self._numbers, self._labels, self._at = [], [], {}, {}, _NOWHERE
        self.first, self.targets, self.labels = array("q"), array("i"), array("i")
        self.depths, self._reached_by = array("i"), array("q")
