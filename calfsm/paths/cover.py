"""Few sequences that cover every goal of a graph.

A goal is something that an edge does (an action, one answer of one cell). From where it stands, a sequence always
goes on to the nearest edge with a goal that nothing has covered yet; when none can be reached, or the sequence is
long enough, a new one begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

State = TypeVar("State", bound=Hashable)
Action = TypeVar("Action", bound=Hashable)
Goal = TypeVar("Goal", bound=Hashable)


def cover(
    graph: Mapping[State, Sequence[tuple[Action, State]]],
    start: State,
    goals_of: Callable[[State, Action], frozenset[Goal]],
    *,
    longest: int = 80,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[tuple[Action, State]]]:
    """Sequences of (action, state) from `start` that together cover every goal on an edge of `graph` that `start`
    reaches.

    `longest`: how many steps a sequence may have when it turns to another goal; it then takes the shortest way there.
    `progress(covered, all)` is called for every goal. A state without edges may be left out of `graph`.
    """
    edges = {state: [(action, after, goals_of(state, action)) for action, after in out] for state, out in graph.items()}
    open_goals = set().union(*(goals for out in edges.values() for _, _, goals in out)) if edges else set()
    total = len(open_goals)
    sequences: list[list[tuple[Action, State]]] = []
    while open_goals:
        sequence: list[tuple[Action, State]] = []
        here = start
        while len(sequence) < longest and (way := _nearest(edges, here, open_goals)):
            for action, after, goals in way:
                open_goals -= goals
                sequence.append((action, after))
                here = after
            if progress is not None:
                progress(total - len(open_goals), total)
        if not sequence:
            break  # what is left cannot be reached from the start
        sequences.append(sequence)
    return sequences


def _nearest(
    edges: Mapping[State, Sequence[tuple[Action, State, frozenset[Goal]]]], here: State, wanted: set[Goal]
) -> list[tuple[Action, State, frozenset[Goal]]]:
    """The shortest way from `here` over an edge with a wanted goal; empty when there is none."""
    parents: dict[State, tuple[State, tuple[Action, State, frozenset[Goal]]] | None] = {here: None}
    queue = deque([here])
    while queue:
        state = queue.popleft()
        for edge in edges.get(state, ()):
            _, after, goals = edge
            if not goals.isdisjoint(wanted):
                way = [edge]
                while (parent := parents[state]) is not None:
                    state, edge = parent
                    way.append(edge)
                return way[::-1]
            if after not in parents:
                parents[after] = (state, edge)
                queue.append(after)
    return []
