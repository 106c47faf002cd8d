"""A search spread over workers that share no memory: other processes, or other machines.

It is the search of `search`, whose threads own ranges of hashes too: a worker finds, keeps and expands the states whose
hashes fall into its share, and what it finds of others' is sent to them (Stern and Dill, Parallelizing the Murφ
Verifier, 1997). Levels are strict, so that counts, depth and the lengths of counterexamples are those of one worker.
Who carries the keys from worker to worker is a `Crew`: here one in this process, and in `calfsm.explore.on_ray` one on
Ray.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol

import attrs
import numpy as np
import numpy.typing as npt

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import System
from calfsm.explore.compiled import FastResult, cache, weighing
from calfsm.explore.compiled.kernel import Control
from calfsm.explore.compiled.layout import CannotCompile, Layout, Words
from calfsm.explore.compiled.levels import NoRoom, by_levels
from calfsm.explore.compiled.memory import free
from calfsm.explore.compiled.search import SHARE, Found, Searcher, Where, alone
from calfsm.explore.quotient import StandsFor, realised
from calfsm.explore.search import Progress, Trace, Verdict
from calfsm.explore.symmetry import Symmetry
from calfsm.explore.systems import Call, SystemModel

Package = tuple[Words, npt.NDArray[np.int64]]
"""Keys for another worker, one after the other, and their parents."""


@attrs.frozen
class Standing:
    """Where a worker stands. `full`: it has no room for what it was sent, or for more."""

    count: int
    expanded: int
    transitions: int
    broken: bool
    full: bool


@attrs.frozen
class Order:
    """What workers are to do in a round: go on, a chunk at most, up to state `end`; `most`: how many may be found."""

    end: int
    most: int
    first_only: bool
    begins: bool
    """Whether a level begins here, which ends at `end`."""


@attrs.frozen
class Load:
    """What a worker had to do. `sent`: bytes of keys and parents to others; `busy`: seconds of work."""

    states: int
    transitions: int
    sent: int
    busy: float
    bytes: int


@attrs.frozen
class Account:
    """What a worker's share of a search came to. Numbers are of its states, -1 for none."""

    load: Load
    fired: list[int]
    left_domain: bool
    stuck: int
    broken: list[int]
    levels: list[int]
    stands_for: StandsFor | None


class Share:
    """One worker's part of a search, where the worker is. `max_bytes` is for this worker alone."""

    def __init__(
        self,
        system: System,
        scope: Mapping[str, int],
        number: int,
        shares: int,
        max_bytes: int | None = None,
        symmetry: bool = False,
        cache_folder: Path | None = None,
    ) -> None:
        self._module, self._layout, self._symmetry = compiled(system, scope, symmetry, cache_folder)
        budget = int(SHARE * free() / shares) if max_bytes is None else max_bytes
        self._shares = shares
        self._searcher: Searcher = alone(self._module, self._layout, number, shares, budget)
        self._sent, self._busy = 0, 0.0

    def begin(self) -> Standing:
        """Take in the initial state, if it is one of its own."""
        key = self._layout.coding.key(self._layout.initial())
        if self._searcher.owns(key):
            self._searcher.begin(key)
        return self._standing(full=False)

    def expand(self, order: Order) -> tuple[Standing, list[Package]]:
        """Expand a chunk: where it stands then, and a package for each worker, itself included."""
        began, searcher = time.monotonic(), self._searcher
        if order.begins:
            searcher.levels.append(order.end)
        try:
            searcher.expand(order.end, searcher.count + order.most, order.first_only)
        except NoRoom:
            return self._standing(full=True), [searcher.outgoing(other) for other in range(self._shares)]
        packages = [searcher.outgoing(other) for other in range(self._shares)]
        searcher.sent()
        self._sent += sum(keys.nbytes + parents.nbytes for keys, parents in packages)
        self._busy += time.monotonic() - began
        return self._standing(full=False), packages

    def take(self, *packages: Package) -> Standing:
        """Take in what others found."""
        began = time.monotonic()
        try:
            for keys, parents in packages:
                self._searcher.take(keys, parents)
        except NoRoom:
            return self._standing(full=True)
        self._busy += time.monotonic() - began
        return self._standing(full=False)

    def _standing(self, full: bool) -> Standing:
        searcher = self._searcher
        transitions = int(searcher.fired[:-1].sum())
        return Standing(searcher.count, searcher.expanded, transitions, bool(searcher.control[Control.BROKEN]), full)

    def account(self) -> Account:
        """What it came to."""
        searcher, found = self._searcher, self._found()
        fired = [int(times) for times in searcher.fired]
        return Account(
            load=Load(searcher.count, sum(fired[:-1]), self._sent, self._busy, searcher.bytes),
            fired=fired[:-1],
            left_domain=bool(fired[-1]),
            stuck=int(searcher.control[Control.STUCK]),
            broken=[int(number) for number in searcher.broken],
            levels=searcher.levels,
            stands_for=weighing.stands_for(self._module, found) if self._symmetry is not None else None,
        )

    def look(self, number: int) -> tuple[Snapshot, int, int]:
        """One of its states, and its parent: the number and the worker."""
        at, worker = divmod(int(self._searcher.parents[number]), self._shares)
        return self._found().state((0, number)), at, worker

    def find(self, state: Snapshot) -> int:
        """The number of a state, or of the one that was kept for it; -1 if it has none such."""
        try:
            if self._symmetry is not None:
                state = self._layout.unpack(weighing.canonical(self._module, self._layout.pack(state)))
            return self._found().where(state)[1]
        except KeyError:
            return -1

    def _found(self) -> Found:
        return Found(self._layout, [self._searcher], (0, 0))


def compiled(
    system: System, scope: Mapping[str, int], symmetry: bool, cache_folder: Path | None
) -> tuple[ModuleType, Layout, Symmetry | None]:
    """What a worker searches with. Raises CannotCompile."""
    model = SystemModel(system, **scope)
    layout = Layout(system, model.engine.params)
    renamings = Symmetry(model.engine) if symmetry else None
    return cache.module(layout, cache_folder, renamings), layout, renamings


class Crew(Protocol):
    """Workers with a share each."""

    def __len__(self) -> int:
        """How many there are."""

    def begin(self) -> list[Standing]:
        """All take in the initial state that own it."""

    def round(self, orders: Sequence[Order]) -> list[Standing]:
        """All expand, then all take in what the others found."""

    def accounts(self) -> list[Account]:
        """What all came to."""

    def look(self, worker: int, number: int) -> tuple[Snapshot, int, int]:
        """`Share.look` of one of them."""

    def find(self, state: Snapshot) -> list[int]:
        """`Share.find` of all."""


class Here:
    """Workers in this process, one after the other: for tests, and to see what spreading costs by itself."""

    def __init__(self, shares: list[Share]) -> None:
        self._shares = shares

    def __len__(self) -> int:
        return len(self._shares)

    def begin(self) -> list[Standing]:
        """As in Crew."""
        return [share.begin() for share in self._shares]

    def round(self, orders: Sequence[Order]) -> list[Standing]:
        """As in Crew."""
        done = [share.expand(order) for share, order in zip(self._shares, orders, strict=True)]
        taken = [
            share.take(*(packages[me] for other, (_, packages) in enumerate(done) if other != me))
            for me, share in enumerate(self._shares)
        ]
        return [together(before, after) for (before, _), after in zip(done, taken, strict=True)]

    def accounts(self) -> list[Account]:
        """As in Crew."""
        return [share.account() for share in self._shares]

    def look(self, worker: int, number: int) -> tuple[Snapshot, int, int]:
        """As in Crew."""
        return self._shares[worker].look(number)

    def find(self, state: Snapshot) -> list[int]:
        """As in Crew."""
        return [share.find(state) for share in self._shares]


def together(expanded: Standing, taken: Standing) -> Standing:
    """Where a worker stands after a round."""
    return attrs.evolve(taken, full=expanded.full or taken.full)


def search_with(
    crew: Crew,
    system: System,
    scope: Mapping[str, int],
    *,
    symmetry: bool = False,
    max_states: int | None = None,
    max_seconds: float | None = None,
    first_only: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[SystemModel, FastResult, list[Load]]:
    """Search a system with a crew that was made for it, and judge its `always` properties; what each worker did.

    The result is that of `explore_fast`; its `threads` are the workers, and its `found` is None: the states stay where
    they are. Raises CannotCompile when a variable left its domain.
    """
    model = SystemModel(system, **scope)
    rounds = _Rounds(crew, first_only, progress)
    stopped = rounds.run(max_states, max_seconds)
    accounts = crew.accounts()
    if any(account.left_domain for account in accounts):
        raise CannotCompile(f"a variable of {system.name} leaves its domain at this scope")
    ways = _Ways(crew, model, Symmetry(model.engine) if symmetry else None, rounds.initial, accounts)
    fired = np.sum([account.fired for account in accounts], axis=0)
    broken: dict[str, Where] = {}
    for index, row in enumerate(system.always):
        where = ways.nearest([account.broken[index] for account in accounts])
        if where is not None:
            broken[row.name] = where
    stuck = ways.nearest([account.stuck for account in accounts])
    states = sum(account.load.states for account in accounts)
    otherwise = Verdict.UNDECIDED if stopped else Verdict.HOLDS
    result = FastResult(
        states=states,
        transitions=int(fired.sum()),
        depth=max(ways.depth((worker, account.load.states - 1)) for worker, account in enumerate(accounts)),
        verdicts={row.name: Verdict.BROKEN if row.name in broken else otherwise for row in system.always},
        counterexamples={name: ways.way(where) for name, where in broken.items()},
        stuck=None if stuck is None else ways.way(stuck),
        stopped=stopped,
        seconds=rounds.seconds,
        fired={row.name: int(times) for row, times in zip(system.actions, fired, strict=True)},
        engine="compiled",
        threads=len(crew),
        compile_seconds=0.0,
        bytes_per_state=sum(account.load.bytes for account in accounts) / states,
        found=None,
        symmetry=ways.symmetry,
        stands_for=_sum([account.stands_for for account in accounts if account.stands_for is not None]),
        trace=ways.way_to,
    )
    return model, result, [account.load for account in accounts]


def _sum(those: Sequence[StandsFor]) -> StandsFor | None:
    if not those:
        return None
    fired = {name: sum(one.fired[name] for one in those) for name in those[0].fired}
    return StandsFor(sum(one.states for one in those), sum(one.transitions for one in those), fired)


class _Rounds:
    """The search, as the one who gives the orders sees it."""

    def __init__(self, crew: Crew, first_only: bool, progress: Callable[[Progress], None] | None) -> None:
        self._crew, self._first_only, self._progress = crew, first_only, progress
        self._began = time.monotonic()
        self.seconds = 0.0
        self._standings = crew.begin()
        self.initial = next(worker for worker, standing in enumerate(self._standings) if standing.count)

    def run(self, max_states: int | None, max_seconds: float | None) -> str:
        """Level by level to the end, or to a limit: which one."""
        try:
            stopped = by_levels(self, max_states, max_seconds, self._first_only, self._progress)
        except NoRoom:
            stopped = "the memory budget of a worker was reached"
        self.seconds = time.monotonic() - self._began
        return stopped

    def counts(self) -> list[int]:
        """As in Team."""
        return [standing.count for standing in self._standings]

    def expanded(self) -> list[int]:
        """As in Team."""
        return [standing.expanded for standing in self._standings]

    def transitions(self) -> int:
        """As in Team."""
        return sum(standing.transitions for standing in self._standings)

    def broken(self) -> bool:
        """As in Team."""
        return any(standing.broken for standing in self._standings)

    def round(self, ends: Sequence[int], most: int, begins: bool) -> None:
        """As in Team."""
        self._standings = self._crew.round([Order(end, most, self._first_only, begins) for end in ends])
        if any(standing.full for standing in self._standings):
            raise NoRoom


class _Ways:
    """Ways to states that lie with workers."""

    def __init__(
        self, crew: Crew, model: SystemModel, symmetry: Symmetry | None, initial: int, accounts: Sequence[Account]
    ) -> None:
        self._crew, self._model, self.symmetry = crew, model, symmetry
        self._initial: Where = (initial, 0)
        self._levels = [account.levels for account in accounts]

    def depth(self, where: Where) -> int:
        """Steps from the initial state."""
        worker, number = where
        return int(np.searchsorted(self._levels[worker], number, side="right")) - 1

    def nearest(self, numbers: Sequence[int]) -> Where | None:
        """The state of those that is nearest; -1 for none of a worker's."""
        there = [(worker, number) for worker, number in enumerate(numbers) if number >= 0]
        return min(there, key=self.depth, default=None)

    def way(self, where: Where, end: Snapshot | None = None) -> Trace[Snapshot, Call]:
        """A shortest way to a state."""
        states: list[Snapshot] = []
        while True:
            worker, number = where
            state, parent, by = self._crew.look(worker, number)
            states.append(state)
            if where == self._initial:
                return realised(self._model, states[::-1], self.symmetry, end)
            where = by, parent

    def way_to(self, state: Snapshot) -> Trace[Snapshot, Call]:
        """A shortest way to a state that was seen. Raises KeyError."""
        for worker, number in enumerate(self._crew.find(state)):
            if number >= 0:
                return self.way((worker, number), state)
        raise KeyError(state)
