"""Breadth-first search with compiled successors, on one or several threads.

Every thread owns a range of hashes: the states whose hashes fall there are found, kept and expanded by it alone. What
a thread finds of others' goes into their outbox and is taken in between two rounds, so that nothing is shared while a
round runs and no lock or atomic access is needed. Levels are strict on every number of threads: all states of a depth
are known before any is expanded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from calfsm.engine.engine import Snapshot
from calfsm.explore.compiled.kernel import Control
from calfsm.explore.compiled.layout import CannotCompile, Layout, Words
from calfsm.explore.search import Progress

CHUNK = 1 << 15
"""States that a thread expands before it looks at the clock."""
OUTBOX = 1 << 17
"""States that wait for another thread at most, beyond one batch."""
FIRST = 1 << 15
"""States that a thread has room for at first."""
GROWTH = 1.7
LOAD = 0.6
"""How full the hash table may be; FULLEST where the memory budget leaves no room for more."""
FULLEST = 0.85
NUMBERS = (1 << 32) - 1
"""States that 32 bits can number."""


class NoRoom(Exception):
    """The memory budget, or the memory, does not allow for more states."""


class Searcher:
    """One thread's part of a search: its states, its table, and what it has for the others. `budget`: bytes or None."""

    def __init__(self, module: ModuleType, layout: Layout, number: int, searchers: int, budget: int | None) -> None:
        self._module, self._words, self.number, self._searchers = module, layout.words, number, searchers
        self._budget = budget
        room: int = module.ROOM
        self.control = np.zeros(len(Control) - 1 + searchers, np.int64)
        self.control[Control.STUCK] = -1
        self.fired = np.zeros(len(layout.system.actions) + 1, np.int64)
        self.broken = np.full(len(layout.system.always), -1, np.int64)
        self._batch = np.zeros(room * layout.words, np.int64)
        self._work = np.zeros(3 * room, np.int64)
        waiting = room
        if searchers > 1:
            # An eighth of the budget is for what waits.
            each = 8 * (layout.words + 1) * searchers
            waiting += OUTBOX if budget is None else min(OUTBOX, budget // 8 // each)
        self._outbox = np.zeros((searchers, waiting * layout.words), np.int64)
        self._outbox_parents = np.zeros((searchers, waiting), np.int64)
        self._fixed = self._outbox.nbytes + self._outbox_parents.nbytes + self._batch.nbytes + self._work.nbytes
        self.states: Words = np.empty(0, np.int64)
        self.parents: npt.NDArray[np.uint32] = np.empty(0, np.uint32)
        self._table: Words = np.empty(0, np.int64)
        self._capacity = 0
        first = max(FIRST, 4 * room)
        if budget is not None:
            first = min(first, self._fitting(budget, LOAD))
            if first < 4 * room:
                least = (self._fixed + self._size(4 * room, LOAD)) * searchers
                raise ValueError(f"max_bytes is too little to begin with; give {least:,} at least")
        self._resize(first, LOAD)
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
        """What it has allocated."""
        return self._fixed + self.states.nbytes + self.parents.nbytes + self._table.nbytes

    def begin(self, words: Iterable[int]) -> None:
        """Take in the initial state."""
        self.states[: self._words] = list(words)
        self.control[Control.COUNT] = 1
        self._module.fill(0, 1, self.states, self._table)
        self._module.judge(0, 1, self.states, self.broken, self.control)

    def owns(self, words: Iterable[int]) -> bool:
        """Whether a state is one of its own."""
        hashed = 0
        for word in words:
            hashed = self._module.mixed(hashed ^ word)
        return ((hashed & 0xFFFF) * self._searchers) >> 16 == self.number

    def expand(self, stop: int, most: int, first_only: bool) -> None:
        """Expand states up to number `stop`, a chunk at most, until `most` are found. Raises NoRoom."""
        stop = min(stop, self.expanded + CHUNK)
        while True:
            self._module.expand(
                self.number, self._searchers, stop, most, self._capacity, first_only, *self._kept(), self.fired,
                *self._judged(), self._outbox, self._outbox_parents,
            )  # fmt: skip
            if self.count + self._module.ROOM <= self._capacity or self.expanded == stop or self.count >= most:
                return
            self._grow()

    def receive(self, senders: Iterable[Searcher]) -> None:
        """Take in what others have for this one. Raises NoRoom."""
        for sender in senders:
            taken, last = 0, int(sender.control[Control.SENT + self.number])
            while sender is not self and taken < last:
                taken = self._module.receive(
                    self.number, self._searchers, taken, last, self._capacity, *self._kept(), *self._judged(),
                    sender._outbox, sender._outbox_parents,
                )  # fmt: skip
                if taken < last:
                    self._grow()

    def _kept(self) -> tuple[npt.NDArray[Any], ...]:
        return self.control, self.states, self.parents, self._table

    def _judged(self) -> tuple[npt.NDArray[Any], ...]:
        return self.broken, self._batch, self._work

    def sent(self) -> None:
        """Empty the outbox: all was taken in."""
        self.control[Control.SENT :] = 0

    def _grow(self) -> None:
        wanted, load = int(self._capacity * GROWTH), LOAD
        if self._budget is not None and self._fixed + self._size(wanted, load) > self._budget:
            wanted, load = self._fitting(self._budget, FULLEST), FULLEST
        wanted = min(wanted, NUMBERS // self._searchers)
        if wanted < self._capacity + 4 * self._module.ROOM:
            raise NoRoom
        self._resize(wanted, load)

    def _size(self, capacity: int, load: float) -> int:
        return capacity * (8 * self._words + 4) + (int(capacity / load) + 1) * 8

    def _fitting(self, budget: int, load: float) -> int:
        """How many states a budget has room for."""
        return int((budget - self._fixed - 8) / (8 * self._words + 4 + 8 / load))

    def _resize(self, capacity: int, load: float) -> None:
        # The table is made anew from the states; letting go of the old one first keeps the peak low.
        self._table = np.empty(0, np.int64)
        try:
            self.states.resize(capacity * self._words, refcheck=False)
            self.parents.resize(capacity, refcheck=False)
            self._table = np.full(int(capacity / load) + 1, -1, np.int64)
        except MemoryError:
            raise NoRoom from None
        self._module.fill(0, self.count, self.states, self._table)
        self._capacity = capacity

    def trim(self) -> None:
        """Give back the table and what the states do not fill; the search is over."""
        self._table = np.empty(0, np.int64)
        self.states.resize(self.count * self._words, refcheck=False)
        self.parents.resize(self.count, refcheck=False)


Where = tuple[int, int]
"""A found state: its searcher and its number there."""


class Found:
    """The states that a search found, in words, and how it came to each.

    `states[t]` has the states of thread t in the order in which they were found, `layout.words` words each;
    `parents[t]`, for each of them, its parent's number there times the number of threads plus the parent's thread.
    The initial state's is meaningless.
    """

    def __init__(self, layout: Layout, searchers: list[Searcher], initial: Where) -> None:
        self.layout = layout
        self.states = [searcher.states.reshape(-1, layout.words) for searcher in searchers]
        self.parents = [searcher.parents for searcher in searchers]
        self.initial = initial
        self._levels = [searcher.levels for searcher in searchers]

    def __len__(self) -> int:
        return sum(map(len, self.states))

    def __iter__(self) -> Iterator[Snapshot]:
        """Every state as a snapshot, thread by thread, nearest first."""
        for states in self.states:
            for words in states:
                yield self.layout.unpack(words)

    def where(self, state: Snapshot) -> Where:
        """Where a state is, by looking at all. Raises KeyError for one that was not found."""
        words = np.array(self.layout.pack(state), np.int64)
        for thread, states in enumerate(self.states):
            (at,) = np.nonzero((states == words).all(axis=1))
            if len(at):
                return thread, int(at[0])
        raise KeyError(state)

    def depth(self, where: Where) -> int:
        """Steps from the initial state, along a shortest way."""
        thread, number = where
        return int(np.searchsorted(self._levels[thread], number, side="right")) - 1

    def path(self, where: Where) -> list[Snapshot]:
        """The states on a shortest way to a state, the initial one first."""
        way = [where]
        while where != self.initial:
            thread, number = where
            number, thread = divmod(int(self.parents[thread][number]), len(self.states))
            where = thread, number
            way.append(where)
        return [self.layout.unpack(self.states[thread][number]) for thread, number in reversed(way)]


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
    """Search a compiled system. `max_bytes`: for states, table and exchange; the rest as in `calfsm.explore.search`.

    Raises CannotCompile when a variable left its domain: then the states found are not the system's; ValueError for
    fewer bytes than a search begins with.
    """
    share = None if max_bytes is None else max_bytes // threads
    searchers = [Searcher(module, layout, number, threads, share) for number in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        return _Search(searchers, layout, pool, first_only, progress).run(max_states, max_seconds, max_bytes)


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
        self._began = self._told = time.monotonic()

    def run(self, max_states: int | None, max_seconds: float | None, max_bytes: int | None) -> Outcome:
        words = self._layout.initial()
        first = next(searcher for searcher in self._searchers if searcher.owns(words))
        first.begin(words)
        stopped = ""
        try:
            stopped = self._levels(max_states, max_seconds)
        except NoRoom:
            stopped = (
                "memory is used up" if max_bytes is None else f"the memory budget of {max_bytes:,} bytes was reached"
            )
        seconds, size = time.monotonic() - self._began, sum(searcher.bytes for searcher in self._searchers)
        fired = np.sum([searcher.fired for searcher in self._searchers], axis=0)
        if fired[-1]:
            raise CannotCompile(f"a variable of {self._layout.system.name} leaves its domain at this scope")
        for searcher in self._searchers:
            searcher.trim()
        found = Found(self._layout, self._searchers, (first.number, 0))
        stuck = self._nearest(found, [int(searcher.control[Control.STUCK]) for searcher in self._searchers])
        broken = {}
        for index in range(len(self._layout.system.always)):
            where = self._nearest(found, [int(searcher.broken[index]) for searcher in self._searchers])
            if where is not None:
                broken[index] = where
        counts = [int(count) for count in fired[:-1]]
        last = [(thread, len(states) - 1) for thread, states in enumerate(found.states) if len(states)]
        depth = max(map(found.depth, last))
        return Outcome(found, sum(counts), counts, depth, broken, stuck, stopped, seconds, size)

    def _levels(self, max_states: int | None, max_seconds: float | None) -> str:
        """Level by level to the end, or to a limit: which one."""
        while any(searcher.expanded < searcher.count for searcher in self._searchers) and not self._enough():
            ends = [searcher.count for searcher in self._searchers]
            for searcher, end in zip(self._searchers, ends, strict=True):
                searcher.levels.append(end)
            while any(searcher.expanded < end for searcher, end in zip(self._searchers, ends, strict=True)):
                self._round(ends, max_states)
                if max_states is not None and self._count() >= max_states:
                    return f"the limit of {max_states:,} states was reached"
                if self._enough():
                    return "a property is broken"
                now = time.monotonic()
                if max_seconds is not None and now - self._began >= max_seconds:
                    return f"the limit of {max_seconds:g} seconds was reached"
                if self._progress is not None and now - self._told >= 1:
                    self._told = now
                    self._progress(self._now(ends, now))
        return ""

    def _round(self, ends: list[int], max_states: int | None) -> None:
        """Every searcher expands a chunk, then takes in what the others have for it."""
        rest = NUMBERS if max_states is None else max(1, (max_states - self._count()) // len(self._searchers))

        def expand(searcher: Searcher, end: int) -> None:
            searcher.expand(end, searcher.count + rest, self._first_only)

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

    def _enough(self) -> bool:
        return self._first_only and any(searcher.control[Control.BROKEN] for searcher in self._searchers)

    def _count(self) -> int:
        return sum(searcher.count for searcher in self._searchers)

    def _now(self, ends: list[int], now: float) -> Progress:
        waiting = sum(searcher.count - end for searcher, end in zip(self._searchers, ends, strict=True))
        transitions = sum(int(searcher.fired[:-1].sum()) for searcher in self._searchers)
        depth = len(self._searchers[0].levels) - 2
        return Progress(self._count(), transitions, depth, waiting, now - self._began)

    @staticmethod
    def _nearest(found: Found, numbers: list[int]) -> Where | None:
        there = [(thread, number) for thread, number in enumerate(numbers) if number >= 0]
        return min(there, key=found.depth, default=None)
