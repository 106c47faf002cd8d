"""Leads-to under weak fairness: where `begins` holds, `ends` must come.

A counterexample is a run that comes to a state where `begins` holds and `ends` does not, after which `ends` never
holds, and which is fair: no fair action is possible from some point on for ever without being taken. Each action with
its picks and choices is fair by itself. Such a run is shown as a lasso: a way there, and a cycle from there; without
transitions where the run may end, because what is possible there may stay away for ever.

In a finite graph there is one exactly if, among the states that can be reached from a beginning without an end, there
is a strongly connected component in which every fair action is either taken or somewhere not possible. (If none is
starved in the whole component, a tour of the component starves none; if one is starved in the component, it is starved
in every cycle inside.) A state alone counts as a component in which nothing is taken: the run that ends there.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import attrs

from calfsm.explore.graph import Graph
from calfsm.explore.search import Trace

State = TypeVar("State", bound=Hashable)
Action = TypeVar("Action", bound=Hashable)


@attrs.frozen
class Lasso(Generic[State, Action]):
    """A run without end: `trace`, then `cycle` again and again; no cycle: from there on nothing needs to happen.

    `since`: after how many steps of the trace the property began to wait.
    """

    trace: Trace[State, Action]
    cycle: tuple[tuple[Action, State], ...]
    since: int


def unanswered(
    graph: Graph[State, Action], begins: bytearray, ends: bytearray, fair: bytearray
) -> Lasso[State, Action] | None:
    """A fair run on which `begins` is never followed by `ends`, or None: there is none among the whole states.

    `begins` and `ends` say for each state whether they hold, `fair` for each label. A run that may simply end is
    preferred, then the shortest way to a cycle.
    """
    waiting = _waiting(graph, begins, ends)
    halt = next((state for state in waiting.order if not _fair_labels(graph, state, fair)), None)
    if halt is not None:
        trace, since = waiting.trace(graph, halt)
        return Lasso(trace, (), since)
    best: list[int] = []
    for component in components(graph, waiting.inside):
        nearest = min(component, key=lambda state: waiting.steps[state])
        if (not best or waiting.steps[nearest] < waiting.steps[best[0]]) and not starved(graph, component, fair):
            best = [nearest, *(state for state in component if state != nearest)]
    if not best:
        return None
    trace, since = waiting.trace(graph, best[0])
    return Lasso(trace, tuple(map(graph.step, _tour(graph, best, fair))), since)


def starved(graph: Graph[Any, Any], component: Iterable[int], fair: bytearray) -> set[int]:
    """The fair labels that are possible in every state of a component and taken by none of its transitions."""
    members = set(component)
    hungry: set[int] | None = None
    for state in members:
        possible = _fair_labels(graph, state, fair)
        hungry = possible if hungry is None else hungry & possible
        if not hungry:
            return set()
    found = hungry or set()
    for state in members:
        for edge in graph.edges(state):
            if graph.targets[edge] in members:
                found.discard(graph.labels[edge])
        if not found:
            break
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


def _fair_labels(graph: Graph[Any, Any], state: int, fair: bytearray) -> set[int]:
    return {label for label in graph.enabled(state) if fair[label]}


def _tour(graph: Graph[Any, Any], component: list[int], fair: bytearray) -> list[int]:
    """Transitions from the first state of a component back to it that starve no fair action.

    Some fair action is possible in that state.
    """
    members = set(component)
    home = here = component[0]
    hungry = _fair_labels(graph, home, fair)
    tour: list[int] = []

    def feeds(edge: int) -> bool:
        return graph.labels[edge] in hungry or not hungry <= graph.enabled(graph.targets[edge])

    while hungry:
        way = _nearest(graph, members, here, feeds)
        for edge in way:
            here = graph.targets[edge]
            hungry.discard(graph.labels[edge])
            hungry &= graph.enabled(here)
        tour += way
    if here != home:
        tour += _nearest(graph, members, here, lambda edge: graph.targets[edge] == home)
    return tour


def _nearest(graph: Graph[Any, Any], members: set[int], here: int, wanted: Callable[[int], bool]) -> list[int]:
    """A shortest way inside that ends in a wanted transition; there is one."""
    came: dict[int, int] = {here: -1}
    queue = deque([here])
    while queue:
        state = queue.popleft()
        for edge in graph.edges(state):
            after = graph.targets[edge]
            if after not in members:
                continue
            if wanted(edge):
                return [*_back(graph, came, state), edge]
            if after not in came:
                came[after] = edge
                queue.append(after)
    raise AssertionError("a component is connected, and starves nothing")


def _back(graph: Graph[Any, Any], came: Mapping[int, int] | array[int], state: int) -> list[int]:
    """The transitions by which a search came to a state, in order."""
    way: list[int] = []
    while (edge := came[state]) >= 0:
        way.append(edge)
        state = graph.source(edge)
    way.reverse()
    return way
