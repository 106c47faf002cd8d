"""Breadth-first search with compiled successors, on one or several threads.

Every thread owns a range of hashes: the states whose hashes fall there are found, kept and expanded by it alone. What
a thread finds of others' goes into their outbox and is taken in between two rounds, so that nothing is shared while a
round runs and no lock or atomic access is needed. Levels are strict on every number of threads: all states of a depth
are known before any is expanded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from calfsm.engine.engine import Snapshot
from calfsm.explore.compiled.kernel import Control
from calfsm.explore.compiled.layout import CannotCompile, Layout, Words
from calfsm.explore.compiled.levels import NUMBERS, NoRoom, by_levels
from calfsm.explore.compiled.memory import free, reserved
from calfsm.explore.search import Progress

CHUNK = 1 << 15
"""States that a thread expands before it looks at the clock."""
OUTBOX = 1 << 17
"""States that wait for another thread at most, beyond one batch."""
FIRST = 1 << 16
"""Slots of a thread's hash table at first."""
GROWTH = 1.5
SHARE = 0.75
"""Of the memory that is free, what a search may use unless told."""
LOAD = 0.7
"""How full the hash table may be; FULLEST where the memory budget leaves no room for more."""
FULLEST = 0.85
TOGETHER = 1 << 12
"""States that are made snapshots of together."""


class TooFewBytes(ValueError):
    """The memory budget does not allow for a beginning."""


class Tables:
    """The hash tables of all searchers, in one array: each may have `most` slots, and uses the first `sizes` of them.

    The next searcher's begins `stride` slots on. Where searchers share no memory, each has an array for itself.
    """

    def __init__(self, searchers: int, most: int, shared: bool = True) -> None:
        self.most, self.stride = most, most if shared else 0
        self.slots: Words = reserved(searchers * most if shared else most, np.int64)
        self.sizes = np.full(searchers, min(FIRST, most), np.int64)


class Searcher:
    """One thread's part of a search: its states, and what it has for the others.

    `capacity`: how many states it may have, in a table that is as full as it may be.
    """

    def __init__(
        self, module: ModuleType, layout: Layout, number: int, tables: Tables, capacity: int, waiting: int
    ) -> None:
        self._module, self._words, self.number, self._tables = module, layout.coding.words, number, tables
        self._searchers, self._most = len(tables.sizes), capacity
        room: int = module.ROOM
        self.control = np.zeros(len(Control) - 1 + self._searchers, np.int64)
        self.control[Control.STUCK] = -1
        self.fired = np.zeros(len(layout.system.actions) + 1, np.int64)
        self.broken = np.full(len(layout.system.always), -1, np.int64)
        self._batch = np.zeros(room * layout.words, np.int64)
        self._work = np.zeros(3 * room, np.int64)
        self._outbox = np.zeros((self._searchers, waiting * self._words), np.int64)
        self._outbox_parents = np.zeros((self._searchers, waiting), np.int64)
        self._fixed = self._outbox.nbytes + self._outbox_parents.nbytes + self._batch.nbytes + self._work.nbytes
        self.states: Words = reserved(capacity * self._words, np.int64)
        self.parents: npt.NDArray[np.uint32] = reserved(capacity, np.uint32)
        self.levels = [0]
        """Where each level begins."""

    @property
    def count(self) -> int:
        """How many states it has found."""
        return int(self.control[Control.COUNT])

    @property
    def expanded(self) -> int:
        """How many of them it has expanded."""
        return int(self.control[Control.NEXT])

    @property
    def bytes(self) -> int:
        """What it uses of its memory."""
        return self._fixed + self.count * (8 * self._words + 4) + int(self._tables.sizes[self.number]) * 8

    @property
    def _room(self) -> int:
        size = int(self._tables.sizes[self.number])
        return self._most if size == self._tables.most else min(self._most, int(size * LOAD))

    def begin(self, key: Iterable[int]) -> None:
        """Take in the initial state."""
        self._batch[: self._words] = list(key)
        self._module.insert(
            self.number, self._searchers, self._tables.stride, 1, *self._kept(), self._batch, self._work,
            self._outbox, self._outbox_parents,
        )  # fmt: skip
        self._module.judge(0, 1, self.states, self.broken, self.control)

    def owns(self, key: Iterable[int]) -> bool:
        """Whether a state is one of its own."""
        hashed = 0
        for word in key:
            hashed = self._module.mixed(hashed ^ word)
        return ((hashed & 0xFFFF) * self._searchers) >> 16 == self.number

    def expand(self, stop: int, most: int, first_only: bool) -> None:
        """Expand states up to number `stop`, a chunk at most, until `most` are found. Raises NoRoom."""
        stop = min(stop, self.expanded + CHUNK)
        while True:
            self._module.expand(
                self.number, self._searchers, self._tables.stride, stop, most, self._room, first_only, *self._kept(),
                self.fired, *self._judged(), self._outbox, self._outbox_parents,
            )  # fmt: skip
            if self.count + self._module.ROOM <= self._room or self.expanded == stop or self.count >= most:
                return
            self._grow()

    def receive(self, senders: Iterable[Searcher]) -> None:
        """Take in what others have for this one. Raises NoRoom."""
        for sender in senders:
            if sender is not self:
                self._take(sender._outbox, sender._outbox_parents, int(sender.control[Control.SENT + self.number]))

    def outgoing(self, other: int) -> tuple[Words, npt.NDArray[np.int64]]:
        """What it has for another one, to be sent there: keys, and their parents."""
        sent = int(self.control[Control.SENT + other])
        return self._outbox[other, : sent * self._words].copy(), self._outbox_parents[other, :sent].copy()

    def take(self, keys: Words, parents: npt.NDArray[np.int64]) -> None:
        """Take in what was sent here. Raises NoRoom."""
        # As an outbox of which nothing else is filled: the rest of it is never touched.
        inbox = np.zeros((self._searchers, len(keys)), np.int64)
        inbox_parents = np.zeros((self._searchers, len(parents)), np.int64)
        inbox[self.number], inbox_parents[self.number] = keys, parents
        self._take(inbox, inbox_parents, len(parents))

    def _take(self, inbox: Words, inbox_parents: npt.NDArray[np.int64], last: int) -> None:
        taken = 0
        while taken < last:
            taken = self._module.receive(
                self.number, self._searchers, self._tables.stride, taken, last, self._room, *self._kept(),
                *self._judged(), inbox, inbox_parents,
            )  # fmt: skip
            if taken < last:
                self._grow()

    def _kept(self) -> tuple[npt.NDArray[Any], ...]:
        return self.control, self.states, self.parents, self._tables.slots, self._tables.sizes

    def _judged(self) -> tuple[npt.NDArray[Any], ...]:
        return self.broken, self._batch, self._work

    def sent(self) -> None:
        """Empty the outbox: all was taken in."""
        self.control[Control.SENT :] = 0

    def _grow(self) -> None:
        tables, old = self._tables, int(self._tables.sizes[self.number])
        if old == tables.most:
            raise NoRoom
        size = min(int(old * GROWTH) & -8, tables.most)
        base = self.number * tables.stride
        rest = np.empty(8 * (self._module.full_lines(base, old, tables.slots) + 2), np.int64)
        self._module.enlarge(base, old, size, tables.slots, rest)
        tables.sizes[self.number] = size


Where = tuple[int, int]
"""A found state: its searcher and its number there."""


class Found:
    """The states that a search found, in words, and how it came to each.

    `keys[t]` has the keys of the states of thread t in the order in which they were found, one a row; `levels[t]`
    says where each level begins, `expanded[t]` how many of them the search went on from;
    `parents[t]`, for each of them, its parent's number there times the number of threads plus the parent's thread.
    The initial state's is meaningless.
    """

    def __init__(self, layout: Layout, searchers: list[Searcher], initial: Where) -> None:
        self.layout = layout
        words = layout.coding.words
        self.keys = [searcher.states[: searcher.count * words].reshape(-1, words) for searcher in searchers]
        self.parents = [searcher.parents[: searcher.count] for searcher in searchers]
        self.initial = initial
        self.levels = [searcher.levels for searcher in searchers]
        self.expanded = [searcher.expanded for searcher in searchers]

    def __len__(self) -> int:
        return sum(map(len, self.keys))

    def __iter__(self) -> Iterator[Snapshot]:
        """Every state as a snapshot, thread by thread, nearest first."""
        for thread, keys in enumerate(self.keys):
            for first in range(0, len(keys), TOGETHER):
                for words in self.words(thread, first, first + TOGETHER).tolist():
                    yield self.layout.unpack(words)

    def words(self, thread: int, first: int, last: int) -> Words:
        """Some of a thread's states in the layout's words, one state a row."""
        return self.layout.coding.states(self.keys[thread][first:last])

    def state(self, where: Where) -> Snapshot:
        """A state as a snapshot."""
        thread, number = where
        return self.layout.unpack(self.words(thread, number, number + 1)[0].tolist())

    def where(self, state: Snapshot) -> Where:
        """Where a state is, by looking at all. Raises KeyError for one that was not found."""
        try:
            key = np.array(self.layout.coding.key(self.layout.pack(state)), np.int64)
        except ValueError:
            raise KeyError(state) from None
        for thread, keys in enumerate(self.keys):
            (at,) = np.nonzero((keys == key).all(axis=1))
            if len(at):
                return thread, int(at[0])
        raise KeyError(state)

    def depth(self, where: Where) -> int:
        """Steps from the initial state, along a shortest way."""
        thread, number = where
        return int(np.searchsorted(self.levels[thread], number, side="right")) - 1

    def path(self, where: Where) -> list[Snapshot]:
        """The states on a shortest way to a state, the initial one first."""
        way = [where]
        while where != self.initial:
            thread, number = where
            number, thread = divmod(int(self.parents[thread][number]), len(self.keys))
            where = thread, number
            way.append(where)
        return [self.state(where) for where in reversed(way)]


@attrs.frozen
class Outcome:
    """What a search found, in numbers. `broken`: a nearest state for each property that has one, by its index."""

    found: Found
    transitions: int
    fired: list[int]
    depth: int
    broken: dict[int, Where]
    stuck: Where | None
    stopped: str
    seconds: float
    bytes: int


def search_states(
    module: ModuleType,
    layout: Layout,
    *,
    threads: int = 1,
    max_states: int | None = None,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    first_only: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Search a compiled system. `max_bytes`: for states, tables and exchange, three quarters of what is free unless
    given; the rest as in `calfsm.explore.search`.

    Raises CannotCompile when a variable left its domain: then the states found are not the system's; TooFewBytes.
    """
    budget = int(SHARE * free()) if max_bytes is None else max_bytes
    searchers = _searchers(module, layout, threads, budget)
    with ThreadPoolExecutor(threads) as pool:
        return _Search(searchers, layout, pool, first_only, progress).run(max_states, max_seconds, budget)


def _searchers(module: ModuleType, layout: Layout, threads: int, max_bytes: int) -> list[Searcher]:
    capacity, waiting = _capacity(module, layout, threads, max_bytes // threads)
    tables = Tables(threads, _slots(capacity))
    return [Searcher(module, layout, number, tables, capacity, waiting) for number in range(threads)]


def alone(module: ModuleType, layout: Layout, number: int, searchers: int, max_bytes: int) -> Searcher:
    """One of several searchers that share no memory. `max_bytes`: for this one. Raises TooFewBytes."""
    capacity, waiting = _capacity(module, layout, searchers, max_bytes)
    return Searcher(module, layout, number, Tables(searchers, _slots(capacity), shared=False), capacity, waiting)


def _slots(capacity: int) -> int:
    return int(capacity / FULLEST) + 8 & -8


def _capacity(module: ModuleType, layout: Layout, searchers: int, budget: int) -> tuple[int, int]:
    """How many states one of several searchers has room for, and how many may wait for each other one."""
    words, room = layout.coding.words, module.ROOM
    waiting = room
    if searchers > 1:
        # An eighth of the budget is for what waits.
        waiting += min(OUTBOX, budget // 8 // (8 * (words + 1) * searchers))
    fixed = waiting * 8 * (words + 1) * searchers + room * 8 * (layout.words + 3)
    a_state = 8 * words + 4 + 8 / FULLEST
    capacity = min(int((budget - fixed) / a_state), NUMBERS // searchers)
    if capacity < 4 * room:
        raise TooFewBytes(
            f"max_bytes is too little to begin with; give {int(fixed + 4 * room * a_state + 1) * searchers:,} at least"
        )
    return capacity, waiting


class _Search:
    def __init__(
        self,
        searchers: list[Searcher],
        layout: Layout,
        pool: ThreadPoolExecutor,
        first_only: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._searchers, self._layout, self._pool = searchers, layout, pool
        self._first_only, self._progress = first_only, progress
        self._began = time.monotonic()

    def run(self, max_states: int | None, max_seconds: float | None, budget: int) -> Outcome:
        key = self._layout.coding.key(self._layout.initial())
        first = next(searcher for searcher in self._searchers if searcher.owns(key))
        first.begin(key)
        stopped = ""
        try:
            stopped = by_levels(self, max_states, max_seconds, self._first_only, self._progress)
        except NoRoom:
            stopped = f"the memory budget of {budget:,} bytes was reached"
        seconds, size = time.monotonic() - self._began, sum(searcher.bytes for searcher in self._searchers)
        fired = np.sum([searcher.fired for searcher in self._searchers], axis=0)
        if fired[-1]:
            raise CannotCompile(f"a variable of {self._layout.system.name} leaves its domain at this scope")
        found = Found(self._layout, self._searchers, (first.number, 0))
        stuck = self._nearest(found, [int(searcher.control[Control.STUCK]) for searcher in self._searchers])
        broken = {}
        for index in range(len(self._layout.system.always)):
            where = self._nearest(found, [int(searcher.broken[index]) for searcher in self._searchers])
            if where is not None:
                broken[index] = where
        counts = [int(count) for count in fired[:-1]]
        last = [(thread, len(states) - 1) for thread, states in enumerate(found.keys) if len(states)]
        depth = max(map(found.depth, last))
        return Outcome(found, sum(counts), counts, depth, broken, stuck, stopped, seconds, size)

    def counts(self) -> list[int]:
        """As in Team."""
        return [searcher.count for searcher in self._searchers]

    def expanded(self) -> list[int]:
        """As in Team."""
        return [searcher.expanded for searcher in self._searchers]

    def transitions(self) -> int:
        """As in Team."""
        return sum(int(searcher.fired[:-1].sum()) for searcher in self._searchers)

    def broken(self) -> bool:
        """As in Team."""
        return any(searcher.control[Control.BROKEN] for searcher in self._searchers)

    def round(self, ends: Sequence[int], most: int, begins: bool) -> None:
        """As in Team."""

        def expand(searcher: Searcher, end: int) -> None:
            if begins:
                searcher.levels.append(end)
            searcher.expand(end, searcher.count + most, self._first_only)

        self._all(expand, self._searchers, ends)
        if len(self._searchers) > 1:
            self._all(lambda searcher: searcher.receive(self._searchers), self._searchers)
            for searcher in self._searchers:
                searcher.sent()

    def _all(self, work: Callable[..., None], *arguments: Iterable[Any]) -> None:
        """Do the work of every searcher; when one cannot, the others are still waited for."""
        if len(self._searchers) == 1:
            list(map(work, *arguments))
            return
        futures = [self._pool.submit(work, *those) for those in zip(*arguments, strict=True)]
        wait(futures)
        for future in futures:
            future.result()

    @staticmethod
    def _nearest(found: Found, numbers: list[int]) -> Where | None:
        there = [(thread, number) for thread, number in enumerate(numbers) if number >= 0]
        return min(there, key=found.depth, default=None)
