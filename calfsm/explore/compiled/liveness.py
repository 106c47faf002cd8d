"""Leads-to under fairness on graphs of millions of states; what is looked for and why is in `calfsm.explore.liveness`.

Components are found by Pearce's variant of Tarjan's algorithm ("A space-efficient algorithm for finding strongly
connected components", 2016), without recursion, and each is judged as soon as it is found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calfsm.explore.compiled.graph import Edges, Ints
from calfsm.explore.compiled.jit import jit
from calfsm.explore.liveness import STRONG, tour

JUDGING_BYTES = 50
"""What judging takes for a state, beside the transitions."""

_OUTSIDE, _INSIDE, _AGAIN = 0, 1, 2
_CLOSED = 1 << 32
"""Closed components count down from here; states on the way count up from 1."""


class Waiting(NamedTuple):
    """A lasso in numbers: the states from where the waiting begins, and the transitions of the cycle."""

    states: list[int]
    cycle: list[int]


def unanswered(edges: Edges, begins: Ints, ends: Ints, fairness: bytearray) -> Waiting | None:
    """A fair run on which `begins` is never followed by `ends`, or None: as `calfsm.explore.liveness.unanswered`."""
    fair = np.frombuffer(fairness, np.uint8)
    graph = edges.first, edges.targets, edges.labels
    halt, steps, came = wait(*graph, edges.depths, edges.whole, begins, ends, fair)
    if halt >= 0:
        return Waiting(_waited(came, int(halt)), [])
    members = nearest_fair(*graph, steps, fair)
    if not len(members):
        return None
    home = int(members[0])
    inside = np.zeros(len(edges), np.uint8)
    inside[members] = 1
    reached = np.full(len(edges), -1, np.int64)

    def nearest(here: int, wanted: set[int], lacked: set[int], back: int) -> list[int]:
        masks = np.zeros((2, edges.calls), np.uint8)
        masks[0, list(wanted)] = 1
        masks[1, list(lacked)] = 1
        found: list[int] = way(*graph, inside, reached, here, masks[0], masks[1], len(lacked), back).tolist()
        return found

    return Waiting(_waited(came, home), tour(edges, home, fairness, nearest))


def _waited(came: Ints, state: int) -> list[int]:
    found = [state]
    while (before := int(came[found[-1]])) != found[-1]:
        found.append(before)
    return found[::-1]


@jit
def wait(
    first: Ints, targets: Ints, labels: Ints, depths: Ints, whole: Ints, begins: Ints, ends: Ints, fair: Ints
) -> tuple[int, Ints, Ints]:
    """The states in which a run may still be waiting for the end, nearest first, and the first in which it may stay.

    That state, or -1, and for each state: the length of a shortest way to wait there, -1 where none does, and from
    where that way comes; from itself where the waiting begins. The walk ends with a state in which a run may stay.
    """
    size = first.size - 1
    steps = np.full(size, -1, np.int32)
    came = np.empty(size, np.uint32)
    queue = np.empty(size, np.uint32)
    beginning = head = last = 0
    while True:
        while beginning < size and not (whole[beginning] and begins[beginning] and not ends[beginning]):
            beginning += 1
        if beginning < size and (head == last or depths[beginning] <= steps[queue[head]]):
            state = np.int64(beginning)
            beginning += 1
            if steps[state] >= 0:
                continue
            steps[state] = depths[state]
            came[state] = state
        elif head < last:
            state = np.int64(queue[head])
            head += 1
        else:
            return -1, steps, came
        stays = True
        for edge in range(first[state], first[state + 1]):
            stays &= fair[labels[edge]] == 0
            after = targets[edge]
            if steps[after] < 0 and whole[after] and not ends[after]:
                steps[after] = steps[state] + 1
                came[after] = state
                queue[last] = after
                last += 1
        if stays:
            return int(state), steps, came


@jit
def nearest_fair(first: Ints, targets: Ints, labels: Ints, steps: Ints, fair: Ints) -> Ints:
    """The states of a component that misses nothing, the nearest one first; none where there is no such component.

    Of several, the one to which the way (`steps`, negative outside) is shortest.
    """
    size = first.size - 1
    inside = np.zeros(size, np.uint8)
    for state in range(size):
        inside[state] = _INSIDE if steps[state] >= 0 else _OUTSIDE
    index = np.zeros(size, np.uint32)
    members, path = np.empty(size, np.uint32), np.empty(size, np.uint32)
    edges, root = np.empty(size, np.int64), np.empty(size, np.uint8)
    times, takes, seen = np.zeros(fair.size, np.int64), np.zeros(fair.size, np.uint8), np.empty(fair.size, np.int64)
    best = np.empty(0, np.uint32)
    closed = _CLOSED
    again = True
    while again:
        again = False
        order = 1
        kept = 0
        for start in range(size):
            if inside[start] != _INSIDE or index[start]:
                continue
            depth = 0
            path[0], edges[0], root[0] = start, first[start], 1
            index[start] = order
            order += 1
            while depth >= 0:
                state = path[depth]
                edge, stop = edges[depth], first[state + 1]
                down = False
                while edge < stop:
                    after = targets[edge]
                    if inside[after] == _INSIDE:
                        if index[after] == 0:
                            down = True
                            break
                        if index[after] < index[state]:
                            index[state] = index[after]
                            root[depth] = 0
                    edge += 1
                edges[depth] = edge
                if down:
                    # The edge is looked at once more, when `after` has its index.
                    depth += 1
                    path[depth], edges[depth], root[depth] = after, first[after], 1
                    index[after] = order
                    order += 1
                    continue
                depth -= 1
                if not root[depth + 1]:
                    members[kept] = state
                    kept += 1
                    continue
                low = kept
                while low > 0 and index[members[low - 1]] >= index[state]:
                    low -= 1
                members[kept] = state
                component = members[low : kept + 1]
                kept = low
                closed -= 1
                order -= component.size
                for member in component:
                    index[member] = closed
                if _judge(first, targets, labels, fair, index, inside, component, times, takes, seen):
                    at = np.argmin(steps[component])
                    if best.size == 0 or steps[component[at]] < steps[best[0]]:
                        best = component.copy()
                        best[0], best[at] = best[at], best[0]
                else:
                    for member in component:
                        again |= inside[member] == _AGAIN
        for state in range(size):
            if inside[state] == _AGAIN:
                inside[state] = _INSIDE
                index[state] = 0
            else:
                inside[state] = _OUTSIDE
    return best


@jit
def _judge(
    first: Ints, targets: Ints, labels: Ints, fair: Ints, index: Ints, inside: Ints, component: Ints,
    times: Ints, takes: Ints, seen: Ints,
) -> bool:  # fmt: skip
    """Whether a component misses nothing. If it does, states in which nothing missed is possible are marked again.

    `times`, `takes` and `seen` are for its notes on each label; the first two are zero before and after.
    """
    labels_seen = 0
    own = index[component[0]]
    for state in component:
        inside[state] = _OUTSIDE
        for edge in range(first[state], first[state + 1]):
            label = labels[edge]
            if fair[label]:
                if times[label] == 0:
                    seen[labels_seen] = label
                    labels_seen += 1
                times[label] += 1
                takes[label] |= index[targets[edge]] == own
    missed = hopeless = False
    for label in seen[:labels_seen]:
        lacks = not takes[label] and (fair[label] == STRONG or times[label] == component.size)
        missed |= lacks
        hopeless |= lacks and times[label] == component.size
        times[label], takes[label] = 0, lacks
    if missed and not hopeless:
        for state in component:
            free = True
            for edge in range(first[state], first[state + 1]):
                free &= not takes[labels[edge]]
            if free:
                inside[state] = _AGAIN
    for label in seen[:labels_seen]:
        takes[label] = 0
    return not missed


@jit
def way(
    first: Ints, targets: Ints, labels: Ints, inside: Ints, reached: Ints, here: int,
    wanted: Ints, lacked: Ints, lacking: int, home: int,
) -> Ints:  # fmt: skip
    """The transitions of a shortest way inside, as in `calfsm.explore.liveness.Nearest`; `lacking` labels are `lacked`.

    `reached` is -1 for every state, before and after.
    """
    queue = [np.int64(here)]
    reached[here] = -2
    head, found = 0, -1
    while found < 0:
        state = queue[head]
        head += 1
        for edge in range(first[state], first[state + 1]):
            after = np.int64(targets[edge])
            if not inside[after]:
                continue
            ends = after == home or wanted[labels[edge]] != 0
            if not ends and lacking:
                there = 0
                for other in range(first[after], first[after + 1]):
                    there += lacked[labels[other]]
                ends = there < lacking
            if ends:
                found = edge
                break
            if reached[after] == -1:
                reached[after] = edge
                queue.append(after)
    back = [np.int64(found)]
    while reached[state] >= 0:
        edge = reached[state]
        back.append(edge)
        state = np.searchsorted(first, edge, side="right") - 1
    for state in queue:
        reached[state] = -1
    return np.array(back[::-1])
