"""The transitions of a compiled search as arrays: made after it, from the states that it found.

Every transition that the search has counted is there, those that change nothing included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType

import attrs
import numpy as np

from calfsm.engine.engine import Snapshot
from calfsm.explore.compiled.graph import Edges, Ints
from calfsm.explore.compiled.kernel import BATCH
from calfsm.explore.compiled.layout import Layout, Words
from calfsm.explore.compiled.memory import reserved
from calfsm.explore.compiled.search import Found

LOAD = 0.6
"""How full the table is that gives the number of a state."""
STEP = 1 << 16
"""States whose transitions are made between two looks at the clock."""
STATE_BYTES, EDGE_BYTES = 40, 10
"""What a state, its place in the table included, and a transition take at most."""


@attrs.frozen(eq=False)
class Numbered:
    """The states of a search in one order, nearest first, the initial one at the very first.

    `keys`: of all of them, one after the other; `parents` and `depths` as in Edges; `expanded`: whether the search went
    on from a state.
    """

    keys: Words
    parents: Ints
    depths: Ints
    expanded: Ints

    def snapshots(self, layout: Layout, numbers: Sequence[int]) -> list[Snapshot]:
        """Some states as snapshots."""
        keys = self.keys.reshape(len(self.depths), -1)[list(numbers)]
        return [layout.unpack(words) for words in layout.coding.states(keys).tolist()]


def numbered(found: Found) -> Numbered:
    """The states of all threads in one order."""
    threads, levels = len(found.keys), len(found.levels[0])
    bounds = np.array([[*starts, len(keys)] for starts, keys in zip(found.levels, found.keys, strict=True)], np.int64)
    sizes = np.diff(bounds, axis=1)
    depths = np.repeat(np.arange(levels, dtype=np.int32), sizes.sum(axis=0))
    if threads == 1:
        (keys,), (parents,) = found.keys, found.parents
        expanded = np.zeros(len(keys), np.uint8)
        expanded[: found.expanded[0]] = 1
        return Numbered(keys.reshape(-1), parents, depths, expanded)
    # Level by level, and in each thread by thread: where each thread's part of a level begins.
    begins = (sizes.T.cumsum().reshape(levels, threads) - sizes.T).T
    places = [
        np.arange(len(keys), dtype=np.int64) + np.repeat(begins[thread] - bounds[thread, :-1], sizes[thread])
        for thread, keys in enumerate(found.keys)
    ]
    everything = Numbered(
        np.empty(len(found) * found.keys[0].shape[1], np.int64),
        np.empty(len(found), np.uint32),
        depths,
        np.zeros(len(found), np.uint8),
    )
    rows = everything.keys.reshape(len(found), -1)
    for thread, place in enumerate(places):
        rows[place] = found.keys[thread]
        everything.expanded[place[: found.expanded[thread]]] = 1
        numbers, theirs = np.divmod(found.parents[thread], np.uint32(threads))
        for other in range(threads):
            mine = theirs == other
            everything.parents[place[mine]] = places[other][numbers[mine]] if len(places[other]) else 0
    return everything


def transitions(
    module: ModuleType, states: Numbered, count: int, going_on: Callable[[int], bool] | None = None
) -> Edges | None:
    """The transitions of numbered states, of which the search counted `count`.

    `going_on` is told now and then how many states are done, and says whether to go on; None: it said no.
    """
    size = len(states.depths)
    table = np.zeros(int(size / LOAD) + 1, np.int64)
    module.number_all(states.keys, table)
    begin = np.cumsum([0, *map(len, module.LEAVES)])
    calls = np.array([call for leaf in module.LEAVES for call in leaf], module.LABEL)
    first, whole = np.zeros(size + 1, np.int64), states.expanded.copy()
    targets, labels = reserved(count, np.uint32), reserved(count, np.dtype(module.LABEL).type)
    batch, leaves = np.zeros(module.ROOM * module.WORDS, np.int64), np.zeros(module.ROOM + 1, np.int64)
    work = np.zeros(module.ROOM + BATCH, np.int64)
    for start in range(0, size, STEP):
        if going_on is not None and not going_on(start):
            return None
        module.link(
            start, min(start + STEP, size), states.keys, table, begin, calls, first, targets, labels, whole,
            batch, leaves, work,
        )  # fmt: skip
    return Edges(first, targets, labels, states.depths, states.parents, whole, len(module.CALLS))
