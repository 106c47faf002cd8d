"""A system explored whole: its `always` properties, and what one state cannot show.

That is `eventually`, `home`, and that every resource comes back. For these the search is kept as a graph, which costs
memory; above a limit of states they are not judged, and it says so. What a search that was stopped early has seen is
judged too: a counterexample in it is one, and where there is none nothing is decided.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from calfsm.engine.code import Term
from calfsm.engine.engine import Snapshot
from calfsm.engine.system import Condition, LeadsToRow, System
from calfsm.explore.graph import Graph
from calfsm.explore.home import strays
from calfsm.explore.liveness import STRONG, UNFAIR, WEAK, Lasso, unanswered
from calfsm.explore.quotient import StandsFor
from calfsm.explore.search import Progress, Trace, Verdict, search
from calfsm.explore.seen import PlainSeen, Seen
from calfsm.explore.symmetry import Symmetry
from calfsm.explore.systems import Call, SystemModel, SystemResult
from calfsm.explore.what_if import BentModel, WhatIf

if TYPE_CHECKING:
    from calfsm.explore.compiled import FastResult

LIVENESS_STATES = 300_000
"""With more states than this, `eventually` and `home` are judged only when it is asked for."""
STOPPED_CASES = 200_000
"""With more states times instances than this in a search that was stopped, its runs are not judged."""
HOME = "home"
"""What the verdict on `home` is called; an `eventually` property of that name hides it."""
CLIENT = "client"
"""The source that nobody may count on to come home."""


@attrs.frozen
class Return:
    """What can hold again in every reachable state without the client: `home`, or that an instance is free.

    `picks` as in an `eventually` property: whom it is asked of. `unless`: where it is not asked.
    """

    name: str
    picks: tuple[tuple[str, int], ...]
    condition: Condition
    unless: Condition | None = None

    @property
    def asked(self) -> list[Condition]:
        """Every condition that is asked of states."""
        return [self.condition] if self.unless is None else [self.condition, self.unless]


def returns(system: System) -> list[Return]:
    """What has to be possible again from everywhere in a system."""
    home = [Return(HOME, (), system.home)] if system.home is not None else []
    return home + [
        Return(row.stranded, ((row.name, row.part),), row.back, row.unless)
        for row in system.resources
        if row.back is not None
    ]


@attrs.frozen
class Promise:
    """A verdict on an `eventually` property, or on a Return.

    `why`: why it is undecided, or empty. `picks`: for whom it is broken. A broken `eventually` has a lasso, a broken
    Return a way to a state from which there is no way back.
    """

    verdict: Verdict
    why: str = ""
    picks: Mapping[str, int] = attrs.field(factory=dict)
    lasso: Lasso[Snapshot, Call] | None = None
    trace: Trace[Snapshot, Call] | None = None

    @property
    def text(self) -> str:
        """The verdict in words."""
        return f"not judged: {self.why}" if self.why else self.verdict.value


class Runs(Protocol):
    """What promises are judged on: all transitions of a search.

    What holds in a state is said by marks, one for each state; whatever they are, they are only given back.
    """

    @property
    def calls(self) -> Sequence[Call]:
        """The labels."""

    @property
    def fairness_states(self) -> int:
        """With more states than this it is not asked whether fairness matters."""

    def __len__(self) -> int:
        """How many states there are."""

    def marks(self, term: Term, picks: Mapping[str, int]) -> Any:
        """For each state, whether a condition of the system holds there for some picks."""

    def unanswered(self, begins: Any, ends: Any, fairness: bytearray) -> Lasso[Snapshot, Call] | None:
        """As `calfsm.explore.liveness.unanswered`."""

    def stray(self, home: Any, helpful: bytearray, excused: Any = None) -> Trace[Snapshot, Call] | None:
        """A shortest way to a state from which no way of helpful labels leads home, if there is one.

        `excused`: marks of states that are passed over.
        """


@attrs.frozen
class PlainRuns:
    """The graph of a plain search."""

    model: SystemModel
    graph: Graph[Snapshot, Call]
    fairness_states: int = 50_000

    @property
    def calls(self) -> Sequence[Call]:
        """The labels."""
        return self.graph.actions

    def __len__(self) -> int:
        return len(self.graph)

    def marks(self, term: Term, picks: Mapping[str, int]) -> bytearray:
        """For each state, whether a condition holds there."""
        return marked(self.model, self.graph, term, picks)

    def unanswered(self, begins: bytearray, ends: bytearray, fairness: bytearray) -> Lasso[Snapshot, Call] | None:
        """A fair run on which `begins` is never followed by `ends`."""
        return unanswered(self.graph, begins, ends, fairness)

    def stray(
        self, home: bytearray, helpful: bytearray, excused: bytearray | None = None
    ) -> Trace[Snapshot, Call] | None:
        """A shortest way to a state, not excused, from which no way of helpful labels leads home."""
        away = strays(self.graph, home, helpful)
        first = next((state for state in away if excused is None or not excused[state]), None)
        return None if first is None else self.graph.trace(first)


@attrs.frozen
class Whole:
    """All that a search says of a system: of its states (`result`), and of its runs (`promises`).

    `runs` is what the promises were judged on, None where they were not; `seen` is for `calfsm.explore.vacuity`, None
    where the states are not at hand. Of a search that was reduced by a `symmetry`, all of this is of the states that
    were kept; `stands_for` has the counts of the whole system.
    """

    model: SystemModel
    result: SystemResult | FastResult
    promises: dict[str, Promise]
    runs: Runs | None
    seen: Seen | None
    symmetry: Symmetry | None = None
    stands_for: StandsFor | None = None

    @property
    def graph(self) -> Graph[Snapshot, Call]:
        """The graph of a plain search. Raises TypeError where there is none."""
        if not isinstance(self.runs, PlainRuns):
            raise TypeError("there is no graph of a compiled search, or of one whose runs were not judged")
        return self.runs.graph

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on every property."""
        return {**self.result.verdicts, **{name: promise.verdict for name, promise in self.promises.items()}}

    @property
    def broken(self) -> list[str]:
        """The names of what is broken."""
        return [name for name, verdict in self.verdicts.items() if verdict is Verdict.BROKEN]

    @property
    def holds(self) -> bool:
        """Whether everything was judged and nothing is broken or stuck."""
        return self.result.holds and all(verdict is Verdict.HOLDS for verdict in self.verdicts.values())


def explore_whole(
    system: System,
    scope: Mapping[str, int] | None = None,
    *,
    liveness_states: int | None = LIVENESS_STATES,
    what_if: WhatIf | None = None,
    max_states: int | None = None,
    max_seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    judging: Callable[[str], None] | None = None,
) -> Whole:
    """Search a system at a scope (its `explores` values unless given) and judge all of its properties.

    `liveness_states`: with more states, what one state cannot show is not judged; None for no limit. `judging` is
    called with the name of each of them before it is. Under `what_if` runs that leave what is gone on from are not
    judged. Raises as SystemModel does.
    """
    model = BentModel(system, what_if or WhatIf(), **(scope or {}))
    go_on = model.go_on if what_if is not None and what_if.held is not None else None
    wanted = bool(system.eventually or returns(system))
    graph: Graph[Snapshot, Call] = Graph(model.initial(), liveness_states)
    result = search(
        model,
        model.properties(),
        max_states=max_states,
        max_seconds=max_seconds,
        progress=progress,
        visit=graph.visit if wanted else None,
        go_on=go_on,
    )
    graph.close(result.complete, go_on)
    runs = PlainRuns(model, graph)
    why = _why_not(graph, result.complete, cases(model))
    verdicts = undecided(system, why) if why else promises(model, runs, result.complete, judging)
    return Whole(model, result, verdicts, runs, PlainSeen(model, result, set(graph.actions)))


def _why_not(graph: Graph[Snapshot, Call], complete: bool, count: int) -> str:
    """Why runs are not judged, or empty. Whoever set a limit does not want to wait long beyond it."""
    if graph.dropped:
        return f"more than {graph.limit:,} states"
    return "the search was stopped" if not complete and len(graph) * count > STOPPED_CASES else ""


def undecided(system: System, why: str) -> dict[str, Promise]:
    """No verdict on anything that is promised."""
    names = [*(row.name for row in system.eventually), *(row.name for row in returns(system))]
    return dict.fromkeys(names, Promise(Verdict.UNDECIDED, why))


def promises(
    model: SystemModel,
    runs: Runs,
    complete: bool,
    judging: Callable[[str], None] | None = None,
    late: Callable[[], str] = lambda: "",
) -> dict[str, Promise]:
    """The verdicts on what one state cannot show.

    `complete`: whether the runs are all there are. `judging` is told what is judged next; when `late` says why, nothing
    more is.
    """
    system = model.system
    unbroken = Promise(Verdict.HOLDS if complete else Verdict.UNDECIDED)
    judging = judging or (lambda name: None)
    judged: dict[str, Promise] = {}
    fair = fairness(system, runs.calls)
    judges: list[tuple[str, Callable[[], Promise | None]]] = []
    judges += [(row.name, partial(_leads_to, model, runs, row, fair)) for row in system.eventually]
    judges += [(row.name, partial(_returns, model, runs, row)) for row in returns(system)]
    for name, judge in judges:
        why = late()
        if not why:
            judging(name)
        if name not in judged:
            judged[name] = Promise(Verdict.UNDECIDED, why) if why else judge() or unbroken
    return judged


def fairness(system: System, calls: Sequence[Call], without: str = "") -> bytearray:
    """How fair each call is. `without`: a source or an action that is not to be counted on."""
    strongly, weakly = set(system.strongly_fair) - {without}, set(system.fair) - {without}
    kinds = [
        STRONG if {row.by, row.name} & strongly else WEAK if {row.by, row.name} & weakly else UNFAIR
        for row in system.actions
    ]
    return bytearray(kinds[call[0]] for call in calls)


def neglected(system: System, possible: Sequence[set[Call]], taken: set[Call]) -> set[Call]:
    """What a run that is fair would take and does not, which for ever visits states in which these calls are possible.

    `taken`: what it takes for ever.
    """
    everywhere, left = set.intersection(*possible), list(set.union(*possible) - taken)
    kinds = zip(left, fairness(system, left), strict=True)
    return {call for call, kind in kinds if kind == STRONG or (kind == WEAK and call in everywhere)}


def _by(system: System, calls: Sequence[Call], sources: Sequence[str]) -> bytearray:
    by = [action.by in sources for action in system.actions]
    return bytearray(by[call[0]] for call in calls)


def _leads_to(model: SystemModel, runs: Runs, row: LeadsToRow, fair: bytearray) -> Promise | None:
    """The first instance for which an `eventually` property is broken."""
    for picks in instances(model, row):
        begins, ends = (runs.marks(condition.term, picks) for condition in (row.source, row.target))
        lasso = runs.unanswered(begins, ends, fair)
        if lasso is not None:
            return Promise(Verdict.BROKEN, picks=picks, lasso=lasso)
    return None


def _returns(model: SystemModel, runs: Runs, row: Return) -> Promise | None:
    """The first instance for which there is a state without a way back."""
    others = {action.by for action in model.system.actions} - {CLIENT}
    helpful = _by(model.system, runs.calls, sorted(others))
    for picks in instances(model, row):
        excused = None if row.unless is None else runs.marks(row.unless.term, picks)
        trace = runs.stray(runs.marks(row.condition.term, picks), helpful, excused)
        if trace is not None:
            return Promise(Verdict.BROKEN, picks=picks, trace=trace)
    return None


def cases(model: SystemModel) -> int:
    """For how many instances what one state cannot show is judged."""
    rows: list[LeadsToRow | Return] = [*model.system.eventually, *returns(model.system)]
    return sum(len(instances(model, row)) for row in rows)


def instances(model: SystemModel, row: LeadsToRow | Return) -> list[dict[str, int]]:
    """Every way to pick the instances that a property speaks of."""
    names = [name for name, _ in row.picks]
    counts = [range(len(model.engine.states[part])) for _, part in row.picks]
    return [dict(zip(names, picks, strict=True)) for picks in itertools.product(*counts)]


def marked(model: SystemModel, graph: Graph[Snapshot, Call], term: Term, picks: Mapping[str, int]) -> bytearray:
    """For each state of a graph, whether a condition holds there."""
    return bytearray(map(model.condition(term, picks), graph.states))
