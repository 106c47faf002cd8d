"""The states and transitions of a search as arrays, and walks over them: what `calfsm.explore.graph` is, for millions.

States are numbered nearest first, as there. A transition takes four bytes for where it leads and two for its label;
labels number the calls of the system.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import attrs
import numpy as np
import numpy.typing as npt

from calfsm.explore.compiled.jit import jit

Ints = npt.NDArray[Any]


@attrs.frozen(eq=False)
class Edges:
    """Transitions of states that are numbers.

    `first[s]` to `first[s + 1]` are those of state s: `targets` and `labels`, of `calls` different ones. `depths`: how
    far each state is from the initial one, never less than that of the state before. `parents`: from where a shortest
    way comes to it; the first state is the initial one. `whole`: whether all transitions of a state are there.
    """

    first: Ints
    targets: Ints
    labels: Ints
    depths: Ints
    parents: Ints
    whole: Ints
    calls: int

    def __len__(self) -> int:
        return len(self.depths)

    def enabled(self, state: int) -> set[int]:
        """The labels of the actions that are possible in a whole state."""
        labels: list[int] = self.labels[self.first[state] : self.first[state + 1]].tolist()
        return set(labels)

    def leads(self, edge: int) -> tuple[int, int]:
        """The label of a transition, and the state that it leads to."""
        return int(self.labels[edge]), int(self.targets[edge])

    def between(self, states: list[int]) -> list[int]:
        """Transitions from each of some states to the next."""
        found = []
        for state, after in pairwise(states):
            start = int(self.first[state])
            found.append(start + int(np.argmax(self.targets[start : self.first[state + 1]] == after)))
        return found

    def way(self, state: int) -> list[int]:
        """The states on a shortest way to a state, from the initial one."""
        found = [state]
        while found[-1]:
            found.append(int(self.parents[found[-1]]))
        return found[::-1]


class Arrivals(NamedTuple):
    """For each state s, those that lead to it: `sources[begin[s]]` to `sources[begin[s + 1]]`, one for a transition."""

    begin: Ints
    sources: Ints


def arrivals(edges: Edges, wanted: bytearray) -> Arrivals:
    """By which transitions states are come to, of those with a wanted label."""
    return Arrivals(*_arrivals(edges.first, edges.targets, edges.labels, np.frombuffer(wanted, np.uint8)))


def strays(arriving: Arrivals, whole: Ints, home: Ints) -> Ints:
    """The states from which no way of those transitions leads to a home state, nearest first.

    As `calfsm.explore.home.strays`; `home` says for each state whether it is one.
    """
    safe = np.asarray((home != 0) | (whole == 0), np.uint8)
    _spread(arriving.begin, arriving.sources, safe)
    return np.flatnonzero(safe == 0)


@jit
def _arrivals(first: Ints, targets: Ints, labels: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    size = first.size - 1
    begin = np.zeros(size + 2, np.int64)
    for edge in range(first[size]):
        if wanted[labels[edge]]:
            begin[targets[edge] + 2] += 1
    for state in range(size):
        begin[state + 2] += begin[state + 1]
    sources = np.empty(begin[size + 1], np.uint32)
    for state in range(size):
        for edge in range(first[state], first[state + 1]):
            if wanted[labels[edge]]:
                target = targets[edge]
                sources[begin[target + 1]] = state
                begin[target + 1] += 1
    return begin[:-1], sources


@jit
def _spread(begin: Ints, sources: Ints, safe: Ints) -> None:
    """Make safe whatever leads to what is safe."""
    queue = np.empty(safe.size, np.uint32)
    last = 0
    for state in range(safe.size):
        if safe[state]:
            queue[last] = state
            last += 1
    head = 0
    while head < last:
        state = queue[head]
        head += 1
        for place in range(begin[state], begin[state + 1]):
            before = sources[place]
            if not safe[before]:
                safe[before] = 1
                queue[last] = before
                last += 1
