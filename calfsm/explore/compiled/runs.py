"""The runs of a compiled search, for the promises to be judged on: `calfsm.explore.judging.Runs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from calfsm.engine.code import Term
from calfsm.engine.engine import Snapshot
from calfsm.explore.compiled import cache, edges, labelled
from calfsm.explore.compiled.edges import Numbered
from calfsm.explore.compiled.graph import Arrivals, Edges, Ints, arrivals, strays
from calfsm.explore.compiled.labelled import Question
from calfsm.explore.compiled.layout import Layout
from calfsm.explore.compiled.liveness import unanswered
from calfsm.explore.liveness import Lasso
from calfsm.explore.search import Trace
from calfsm.explore.systems import Call


class Module:
    """The generated module that labels transitions and answers questions about states."""

    def __init__(self, layout: Layout, questions: Sequence[tuple[Term, Mapping[str, int]]], where: Path | None) -> None:
        asked: list[Question] = [(term, tuple(picks.values())) for term, picks in questions]
        self.layout = layout
        self.places = {question: number for number, question in enumerate(asked)}
        name = cache.key(layout, more=asked)
        self.code: ModuleType = cache.made(name, lambda keep: labelled.text(layout, asked, keep), where)
        self.calls: list[Call] = self.code.CALLS


class CompiledRuns:
    """All transitions of a search. `module` was made with every question that is asked of them."""

    fairness_states = 2_000_000

    def __init__(self, module: Module, states: Numbered, graph: Edges) -> None:
        self._module, self._states, self.edges = module, states, graph
        self._arrivals: tuple[bytearray, Arrivals] | None = None

    @property
    def calls(self) -> Sequence[Call]:
        """The labels."""
        return self._module.calls

    def __len__(self) -> int:
        return len(self.edges)

    def marks(self, term: Term, picks: Mapping[str, int]) -> Ints:
        """For each state, whether a condition holds there."""
        found = np.empty(len(self.edges), np.uint8)
        self._module.code.ask(self._module.places[term, tuple(picks.values())], self._states.keys, found)
        return found

    def unanswered(self, begins: Ints, ends: Ints, fairness: bytearray) -> Lasso[Snapshot, Call] | None:
        """A fair run on which `begins` is never followed by `ends`."""
        found = unanswered(self.edges, begins, ends, fairness)
        if found is None:
            return None
        before = self.edges.way(found.states[0])
        trace = self._trace([*before, *found.states[1:]])
        return Lasso(trace, tuple(map(self._step, found.cycle)), len(before) - 1)

    def stray(self, home: Ints, helpful: bytearray, excused: Ints | None = None) -> Trace[Snapshot, Call] | None:
        """A shortest way to a state, not excused, from which no way of helpful labels leads home."""
        if self._arrivals is None or self._arrivals[0] != helpful:
            self._arrivals = helpful, arrivals(self.edges, helpful)
        away = strays(self._arrivals[1], self.edges.whole, home)
        if excused is not None:
            away = away[excused[away] == 0]
        return self._trace(self.edges.way(int(away[0]))) if len(away) else None

    def _trace(self, numbers: list[int]) -> Trace[Snapshot, Call]:
        return Trace(self._snapshot(numbers[0]), tuple(map(self._step, self.edges.between(numbers))))

    def _step(self, edge: int) -> tuple[Call, Snapshot]:
        label, after = self.edges.leads(edge)
        return self.calls[label], self._snapshot(after)

    def _snapshot(self, number: int) -> Snapshot:
        return self._states.snapshots(self._module.layout, [number])[0]


def runs(
    module: Module, states: Numbered, transitions: int, going_on: Callable[[int], bool] | None = None
) -> CompiledRuns | None:
    """The runs of a search that counted so many transitions; None when `going_on` said no (see `edges.transitions`)."""
    graph = edges.transitions(module.code, states, transitions, going_on)
    return None if graph is None else CompiledRuns(module, states, graph)
