"""A system explored whole: its `always` properties, and what one state cannot show: `eventually` and `home`.

For the latter the search is kept as a graph, which costs memory; above a limit of states they are not judged, and it
says so. What a search that was stopped early has seen is judged too: a counterexample in it is one, and where there
is none nothing is decided.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import attrs

from calfsm.engine.code import Term
from calfsm.engine.engine import Snapshot
from calfsm.engine.system import LeadsToRow, System
from calfsm.explore.graph import Graph
from calfsm.explore.home import strays
from calfsm.explore.liveness import Lasso, unanswered
from calfsm.explore.search import Progress, Trace, Verdict, search
from calfsm.explore.systems import Call, SystemModel, SystemResult
from calfsm.explore.what_if import BentModel, WhatIf

LIVENESS_STATES = 300_000
"""With more states than this, `eventually` and `home` are judged only when it is asked for."""
STOPPED_CASES = 200_000
"""With more states times instances than this in a search that was stopped, its runs are not judged."""
HOME = "home"
"""What the verdict on `home` is called; an `eventually` property of that name hides it."""
CLIENT = "client"
"""The source that nobody may count on to come home."""


@attrs.frozen
class Promise:
    """A verdict on an `eventually` property, or on `home`.

    `why`: why it is undecided, or empty. `picks`: for whom it is broken. A broken `eventually` has a lasso, a broken
    `home` a way to a state from which there is no way home.
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


@attrs.frozen
class Whole:
    """All that a search says of a system: of its states (`result`), and of its runs (`promises`).

    `graph` is what the promises were judged on; it is empty when there was too much of it.
    """

    model: SystemModel
    result: SystemResult
    promises: dict[str, Promise]
    graph: Graph[Snapshot, Call]

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

    `liveness_states`: with more states, `eventually` and `home` are not judged; None for no limit. `judging` is called
    with the name of each of them before it is. Under `what_if` runs that leave what is gone on from are not judged.
    Raises as SystemModel does.
    """
    model = BentModel(system, what_if or WhatIf(), **(scope or {}))
    go_on = model.go_on if what_if is not None and what_if.held is not None else None
    wanted = bool(system.eventually or system.home)
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
    return Whole(model, result, promises(model, graph, result.complete, judging), graph)


def promises(
    model: SystemModel,
    graph: Graph[Snapshot, Call],
    complete: bool,
    judging: Callable[[str], None] | None = None,
) -> dict[str, Promise]:
    """The verdicts on the `eventually` properties and on `home`, judged on the graph of a search."""
    system = model.system
    names = [row.name for row in system.eventually] + ([HOME] if system.home is not None else [])
    if graph.dropped:
        return dict.fromkeys(names, Promise(Verdict.UNDECIDED, f"more than {graph.limit:,} states"))
    cases = sum(len(instances(model, row)) for row in system.eventually)
    if not complete and len(graph.states) * cases > STOPPED_CASES:  # whoever set a limit does not want to wait
        return dict.fromkeys(names, Promise(Verdict.UNDECIDED, "the search was stopped"))
    unbroken = Promise(Verdict.HOLDS if complete else Verdict.UNDECIDED)
    judging = judging or (lambda name: None)
    judged: dict[str, Promise] = {}
    fair = fair_labels(model, graph, system.fair)
    for row in system.eventually:
        judging(row.name)
        judged[row.name] = _leads_to(model, graph, row, fair) or unbroken
    if system.home is not None and HOME not in judged:
        judging(HOME)
        judged[HOME] = _home(model, graph, system.home.term) or unbroken
    return judged


def fair_labels(model: SystemModel, graph: Graph[Snapshot, Call], sources: Sequence[str]) -> bytearray:
    """For each label of a graph, whether its action is of one of `sources`."""
    by = [action.by in sources for action in model.system.actions]
    return graph.picked(lambda call: by[call[0]])


def _leads_to(model: SystemModel, graph: Graph[Snapshot, Call], row: LeadsToRow, fair: bytearray) -> Promise | None:
    """The first instance for which an `eventually` property is broken."""
    for picks in instances(model, row):
        begins, ends = (marked(model, graph, condition.term, picks) for condition in (row.source, row.target))
        lasso = unanswered(graph, begins, ends, fair)
        if lasso is not None:
            return Promise(Verdict.BROKEN, picks=picks, lasso=lasso)
    return None


def _home(model: SystemModel, graph: Graph[Snapshot, Call], home: Term) -> Promise | None:
    others = {action.by for action in model.system.actions} - {CLIENT}
    away = strays(graph, marked(model, graph, home, {}), fair_labels(model, graph, sorted(others)))
    return Promise(Verdict.BROKEN, trace=graph.trace(away[0])) if away else None


def instances(model: SystemModel, row: LeadsToRow) -> list[dict[str, int]]:
    """Every way to pick the instances that an `eventually` property speaks of."""
    names = [name for name, _ in row.picks]
    counts = [range(len(model.engine.states[part])) for _, part in row.picks]
    return [dict(zip(names, picks, strict=True)) for picks in itertools.product(*counts)]


def marked(model: SystemModel, graph: Graph[Snapshot, Call], term: Term, picks: Mapping[str, int]) -> bytearray:
    """For each state of a graph, whether a condition holds there."""
    return bytearray(map(model.condition(term, picks), graph.states))
