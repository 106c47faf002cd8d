"""Small graphs with labelled transitions, and a second opinion on what is fair in them."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping

from calfsm.explore.graph import Graph
from calfsm.explore.liveness import STRONG, UNFAIR, WEAK, Lasso, unanswered
from calfsm.explore.search import search

Edges = Mapping[int, Mapping[str, int]]
"""For each state, where each label leads."""


class Labelled:
    """States are numbers, actions are labels."""

    def __init__(self, edges: Edges, start: Iterable[int] = (0,)) -> None:
        self.edges, self.start = edges, list(start)

    def initial(self) -> Iterable[int]:
        return self.start

    def actions(self, state: int) -> Iterable[str]:
        return self.edges.get(state, {})

    def next(self, state: int, action: str) -> int:
        return self.edges[state][action]


def graph_of(edges: Edges, start: Iterable[int] = (0,), **limits: int) -> Graph[int, str]:
    model = Labelled(edges, start)
    graph: Graph[int, str] = Graph(model.initial(), limits.pop("limit", None))
    result = search(model, visit=graph.visit, max_states=limits.get("max_states"))
    graph.close(result.complete)
    return graph


def marks(graph: Graph[int, str], states: Collection[int]) -> bytearray:
    return bytearray(state in states for state in graph.states)


Labels = Collection[str]


def fairness_of(graph: Graph[int, str], fair: Labels, strong: Labels = ()) -> bytearray:
    return bytearray(STRONG if label in strong else WEAK if label in fair else UNFAIR for label in graph.actions)


def lasso_of(
    edges: Edges, begins: Collection[int], ends: Collection[int], fair: Labels, strong: Labels = (), **limits: int
) -> Lasso[int, str] | None:
    """The lasso that is found, after a second look at whether it is one."""
    graph = graph_of(edges, **limits)
    lasso = unanswered(graph, marks(graph, begins), marks(graph, ends), fairness_of(graph, fair, strong))
    if lasso is not None:
        look_again(edges, begins, ends, fair, strong, lasso)
    return lasso


def look_again(
    edges: Edges, begins: Collection[int], ends: Collection[int], fair: Labels, strong: Labels, lasso: Lasso[int, str]
) -> None:
    """Every step of a lasso is possible, it waits from `since` on, closes, and misses nothing that is fair."""
    state, states = lasso.trace.start, [lasso.trace.start]
    for label, after in (*lasso.trace.steps, *lasso.cycle):
        assert edges[state][label] == after
        states.append(state := after)
    turn = states[len(lasso.trace.steps) :]
    assert turn[0] == turn[-1]
    assert states[lasso.since] in begins
    assert not set(states[lasso.since :]) & set(ends)
    assert not missing(edges, set(turn), {label for label, _ in lasso.cycle}, fair, strong)


def missing(edges: Edges, states: Collection[int], taken: Labels, fair: Labels, strong: Labels) -> set[str]:
    """What a run that visits these states for ever, and takes these labels, should take and does not."""
    possible = [set(edges.get(state, {})) for state in states]
    everywhere, somewhere = set.intersection(*possible), set.union(*possible)
    return (everywhere & set(fair) | somewhere & set(strong)) - set(taken)


def breaks(edges: Edges, begins: Collection[int], ends: Collection[int], fair: Labels, strong: Labels = ()) -> bool:
    """Whether there is a fair run from a beginning without an end, by trying every set of states for ever visited."""
    reached = closure(edges, {0})
    waiting = closure(edges, {state for state in reached if state in begins and state not in ends}, ends)
    for size in range(1, len(waiting) + 1):
        for chosen in itertools.combinations(sorted(waiting), size):
            inner = {state: {a: b for a, b in edges.get(state, {}).items() if b in chosen} for state in chosen}
            if any(closure(inner, {state}) != set(chosen) for state in chosen):
                continue
            taken = {label for out in inner.values() for label in out}
            if not missing(edges, chosen, taken, fair, strong):
                return True
    return False


def closure(edges: Edges, states: Collection[int], without: Collection[int] = ()) -> set[int]:
    seen, new = set(states), list(states)
    while new:
        for after in edges.get(new.pop(), {}).values():
            if after not in seen and after not in without:
                seen.add(after)
                new.append(after)
    return seen
