"""Leads-to under fairness: where `begins` holds, `ends` must come.

A counterexample is a run that comes to a state where `begins` holds and `ends` does not, after which `ends` never
holds, and which is fair. Weakly fair: no such action is possible from some point on for ever without being taken.
Strongly fair: no such action is possible again and again without being taken again and again. Each action with its
picks and choices is fair by itself. Such a run is shown as a lasso: a way there, and a cycle from there; without
transitions where the run may end, because what is possible there may stay away for ever.

In a finite graph there is one exactly if, among the states that can be reached from a beginning without an end, there
is a strongly connected component that misses nothing: in which every weakly fair action is either taken or somewhere
not possible, and every strongly fair one either taken or nowhere possible. (A tour of all of it misses nothing
either.) A component that misses an action may hold a smaller one that does not: it lies where that action is not
possible. For a weakly fair action that is nowhere; for a strongly fair one the rest is taken apart again (Emerson and
Lei, "Modalities for model checking", 1987). A state alone counts as a component in which nothing is taken: the run
that ends there.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

import attrs

from calfsm.explore.graph import Graph
from calfsm.explore.search import Trace

State = TypeVar("State", bound=Hashable)
Action = TypeVar("Action", bound=Hashable)


UNFAIR, WEAK, STRONG = range(3)
"""How fair an action is: not at all, where it stays possible, or where it is possible again and again."""


@attrs.frozen
class Lasso(Generic[State, Action]):
    """A run without end: `trace`, then `cycle` again and again; no cycle: from there on nothing needs to happen.

    `since`: after how many steps of the trace the property began to wait.
    """

    trace: Trace[State, Action]
    cycle: tuple[tuple[Action, State], ...]
    since: int


def unanswered(
    graph: Graph[State, Action], begins: bytearray, ends: bytearray, fairness: bytearray
) -> Lasso[State, Action] | None:
    """A fair run on which `begins` is never followed by `ends`, or None: there is none among the whole states.

    `begins` and `ends` say for each state whether they hold, `fairness` for each label how fair it is. A run that may
    simply end is preferred, then the shortest way to a cycle.
    """
    waiting = _waiting(graph, begins, ends)
    halt = next((state for state in waiting.order if not any(map(fairness.__getitem__, graph.enabled(state)))), None)
    if halt is not None:
        trace, since = waiting.trace(graph, halt)
        return Lasso(trace, (), since)
    best: list[int] = []
    for component in fair_components(graph, waiting.inside, fairness):
        nearest = min(component, key=lambda state: waiting.steps[state])
        if not best or waiting.steps[nearest] < waiting.steps[best[0]]:
            best = [nearest, *(state for state in component if state != nearest)]
    if not best:
        return None
    trace, since = waiting.trace(graph, best[0])
    members = set(best)

    def nearest_way(here: int, wanted: set[int], lacked: set[int], home: int) -> list[int]:
        return _nearest(graph, members, here, wanted, lacked, home)

    return Lasso(trace, tuple(map(graph.step, tour(graph, best[0], fairness, nearest_way))), since)


def fair_components(graph: Graph[Any, Any], inside: bytearray, fairness: bytearray) -> Iterator[list[int]]:
    """The largest strongly connected sets of the states `inside` that miss nothing."""
    while 1 in inside:
        rest = bytearray(len(graph))
        for component in components(graph, inside):
            without = missed(graph, component, fairness)
            if not without:
                yield component
                continue
            for state in component:
                rest[state] = without.isdisjoint(graph.enabled(state))
        inside = rest


def missed(graph: Graph[Any, Any], component: Iterable[int], fairness: bytearray) -> set[int]:
    """The labels that a run which stays in a component for ever, and visits all of it, should take and cannot.

    They are possible in every state (strongly fair ones: in some), and none of the component's transitions takes them.
    """
    members = set(component)
    somewhere: set[int] = set()
    everywhere: set[int] | None = None
    for state in members:
        possible = graph.enabled(state)
        somewhere |= possible
        everywhere = possible if everywhere is None else everywhere & possible
    found = {label for label in everywhere or () if fairness[label] == WEAK}
    found |= {label for label in somewhere if fairness[label] == STRONG}
    for state in members:
        if not found:
            break
        found -= {graph.labels[edge] for edge in graph.edges(state) if graph.targets[edge] in members}
    return found


def components(graph: Graph[Any, Any], inside: bytearray) -> Iterator[list[int]]:
    """The strongly connected components of the states `inside` (Tarjan's algorithm, without recursion)."""
    order = array("i", bytes(4 * len(graph)))  # 0: not met yet
    low = array("i", bytes(4 * len(graph)))
    open_ = bytearray(len(graph))
    path: list[int] = []
    count = 0
    for root in range(len(graph)):
        if not inside[root] or order[root]:
            continue
        count += 1
        order[root] = low[root] = count
        path.append(root)
        open_[root] = 1
        work = [(root, iter(graph.edges(root)))]
        while work:
            state, edges = work[-1]
            for edge in edges:
                after = graph.targets[edge]
                if not inside[after]:
                    continue
                if not order[after]:
                    count += 1
                    order[after] = low[after] = count
                    path.append(after)
                    open_[after] = 1
                    work.append((after, iter(graph.edges(after))))
                    break
                if open_[after] and order[after] < low[state]:
                    low[state] = order[after]
            else:
                work.pop()
                if work and low[state] < low[work[-1][0]]:
                    low[work[-1][0]] = low[state]
                if low[state] == order[state]:
                    component = [path.pop()]
                    while component[-1] != state:
                        component.append(path.pop())
                    for member in component:
                        open_[member] = 0
                    yield component


@attrs.frozen
class _Waiting:
    """The states in which a run may still be waiting for the end, nearest first.

    `steps`: the length of a shortest way to wait there; `came`: its last transition, -1 where the waiting begins.
    """

    inside: bytearray
    order: array[int]
    steps: array[int]
    came: array[int]

    def trace(self, graph: Graph[State, Action], state: int) -> tuple[Trace[State, Action], int]:
        """The way to wait in a state, and after how many of its steps the waiting began."""
        tail = _back(graph, self.came, state)
        head = graph.trace(graph.source(tail[0]) if tail else state)
        return Trace(head.start, (*head.steps, *map(graph.step, tail))), len(head.steps)


def _waiting(graph: Graph[Any, Any], begins: bytearray, ends: bytearray) -> _Waiting:
    """Breadth first; each beginning joins in at its own distance, and states are numbered by distance already."""
    inside, order = bytearray(len(graph)), array("i")
    steps, came = array("i", bytes(4 * len(graph))), array("q", bytes(8 * len(graph)))
    beginnings = deque(state for state in range(len(graph)) if graph.whole[state] and begins[state] and not ends[state])
    queue: deque[int] = deque()
    while beginnings or queue:
        if not queue or (beginnings and graph.depths[beginnings[0]] <= steps[queue[0]]):
            state = beginnings.popleft()
            if inside[state]:
                continue
            inside[state], steps[state], came[state] = 1, graph.depths[state], -1
        else:
            state = queue.popleft()
        order.append(state)
        for edge in graph.edges(state):
            after = graph.targets[edge]
            if graph.whole[after] and not ends[after] and not inside[after]:
                inside[after], steps[after], came[after] = 1, steps[state] + 1, edge
                queue.append(after)
    return _Waiting(inside, order, steps, came)


class Edges(Protocol):
    """What a tour needs of a graph."""

    def enabled(self, state: int) -> set[int]:
        """The labels of the actions that are possible in a state."""

    def leads(self, edge: int) -> tuple[int, int]:
        """The label of a transition, and the state that it leads to."""


Nearest = Callable[[int, set[int], set[int], int], list[int]]
"""From a state, the transitions of a shortest way inside a component that ends in one which takes a wanted label, leads
to where a lacked one is not possible, or leads home (-1: nowhere in particular). There is one."""


def tour(graph: Edges, home: int, fairness: bytearray, nearest: Nearest) -> list[int]:
    """Transitions from a state of a component that misses nothing back to it, so that they miss nothing either."""
    here, taken, way = home, set[int](), list[int]()
    possible = graph.enabled(home)
    hungry = {label for label in possible if fairness[label] == WEAK}
    owed = {label for label in possible if fairness[label] == STRONG}
    while hungry or owed or here != home:
        back = -1 if hungry or owed else home
        for edge in nearest(here, hungry | owed, hungry, back):
            way.append(edge)
            label, here = graph.leads(edge)
            taken.add(label)
            possible = graph.enabled(here)
            hungry = (hungry & possible) - taken
            owed = (owed | {label for label in possible if fairness[label] == STRONG}) - taken
    return way


def _nearest(
    graph: Graph[Any, Any], members: set[int], here: int, wanted: set[int], lacked: set[int], home: int
) -> list[int]:
    came: dict[int, int] = {here: -1}
    queue = deque([here])
    while queue:
        state = queue.popleft()
        for edge in graph.edges(state):
            after = graph.targets[edge]
            if after not in members:
                continue
            if after == home or graph.labels[edge] in wanted or not lacked <= graph.enabled(after):
                return [*_back(graph, came, state), edge]
            if after not in came:
                came[after] = edge
                queue.append(after)
    raise AssertionError("a component is connected, and misses nothing")


def _back(graph: Graph[Any, Any], came: Mapping[int, int] | array[int], state: int) -> list[int]:
    """The transitions by which a search came to a state, in order."""
    way: list[int] = []
    while (edge := came[state]) >= 0:
        way.append(edge)
        state = graph.source(edge)
    way.reverse()
    return way
