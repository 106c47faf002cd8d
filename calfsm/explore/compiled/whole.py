"""A system explored whole by compiled code: what `calfsm.explore.judging.explore_whole` says, of millions of states."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from calfsm.engine.code import Term
from calfsm.engine.system import System
from calfsm.explore.compiled import FastResult, explore_fast
from calfsm.explore.compiled.edges import EDGE_BYTES, STATE_BYTES, Numbered, numbered
from calfsm.explore.compiled.layout import Layout
from calfsm.explore.compiled.liveness import JUDGING_BYTES
from calfsm.explore.compiled.memory import free
from calfsm.explore.compiled.runs import CompiledRuns, Module, runs
from calfsm.explore.compiled.seen import CompiledSeen
from calfsm.explore.judging import Promise, Whole, instances, promises, returns, undecided
from calfsm.explore.search import Progress
from calfsm.explore.systems import SystemModel
from calfsm.explore.what_if import states_only

STOPPED_STATES = 2_000_000
"""With more states than this in a search that was stopped, its runs are not judged."""

REDUCED = "with symmetry, compiled code judges states only"
"""Why what one state cannot show is not judged of a search that was reduced."""


def explore_whole_fast(
    system: System,
    scope: Mapping[str, int] | None = None,
    *,
    symmetry: bool = False,
    threads: int = 1,
    max_states: int | None = None,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    judging: Callable[[str], None] | None = None,
    cache_folder: Path | None = None,
) -> Whole:
    """Search a system at a scope by compiled code, and judge all of its properties.

    `max_seconds` is for the search and what comes after it, without compiling: what was not begun by then is not
    judged; nor is what would need more than `max_bytes`, or more than is free. `judging` is told what is being done
    after the search. The rest is as in `explore_fast`; raises as that does with engine "compiled".
    """
    judged = states_only(system) if symmetry else system
    model = SystemModel(judged, **(scope or {}))
    module = Module(Layout(judged, model.engine.params), questions(model), cache_folder)
    _, result = explore_fast(
        judged,
        scope,
        engine="compiled",
        symmetry=symmetry,
        threads=threads,
        max_states=max_states,
        max_seconds=max_seconds,
        max_bytes=max_bytes,
        progress=progress,
        cache_folder=cache_folder,
    )
    assert result.found is not None
    states = numbered(result.found)
    seen = CompiledSeen(model, module, states, result.fired)
    if symmetry:
        return Whole(model, result, undecided(system, REDUCED), None, seen, result.symmetry, result.stands_for)
    tell = judging or (lambda what: None)
    verdicts, walked = _Judging(model, module, result, states, max_seconds, max_bytes, tell).promises()
    return Whole(model, result, verdicts, walked, seen)


def questions(model: SystemModel) -> list[tuple[Term, Mapping[str, int]]]:
    """Every condition that promises ask of states, with whom it is asked of."""
    found: list[tuple[Term, Mapping[str, int]]] = []
    for row in model.system.eventually:
        for picks in instances(model, row):
            found += [(row.source.term, picks), (row.target.term, picks)]
    for back in returns(model.system):
        found += [(condition.term, picks) for condition in back.asked for picks in instances(model, back)]
    return found


class _Judging:
    """What comes after a search."""

    def __init__(
        self,
        model: SystemModel,
        module: Module,
        result: FastResult,
        states: Numbered,
        max_seconds: float | None,
        max_bytes: int | None,
        tell: Callable[[str], None],
    ) -> None:
        self._model, self._module, self._result, self._states = model, module, result, states
        self._max_seconds, self._max_bytes, self._tell = max_seconds, max_bytes, tell
        self._began = time.monotonic() - result.seconds
        self._told = 0.0

    def promises(self) -> tuple[dict[str, Promise], CompiledRuns | None]:
        """The verdicts on what one state cannot show, and the runs that they were judged on, if they were."""
        system, result = self._model.system, self._result
        if not system.eventually and not returns(system):
            return {}, None
        if not result.complete and result.states > STOPPED_STATES:
            return undecided(system, "the search was stopped"), None
        why = self._too_much()
        if why:
            return undecided(system, why), None
        walked = runs(self._module, self._states, result.transitions, self._going_on)
        if walked is None:
            return undecided(system, self._late()), None
        return promises(self._model, walked, result.complete, self._judging, self._late), walked

    def _judging(self, name: str) -> None:
        self._tell(f"judging {name}")

    def _going_on(self, done: int) -> bool:
        now = time.monotonic()
        if now - self._told >= 1:
            self._told = now
            self._tell(f"keeping transitions, {done / self._result.states:.0%}")
        return not self._late() or not self._result.complete

    def _late(self) -> str:
        """Why to judge no more, or empty. Of a search that was stopped little was seen, and that is judged."""
        if self._max_seconds is None or not self._result.complete:
            return ""
        if time.monotonic() - self._began < self._max_seconds:
            return ""
        return f"the limit of {self._max_seconds:g} seconds was reached"

    def _too_much(self) -> str:
        """Why the transitions cannot be kept, or empty."""
        result = self._result
        needed = result.states * (STATE_BYTES + JUDGING_BYTES) + result.transitions * EDGE_BYTES
        limit = free()
        if self._max_bytes is not None:
            limit = min(limit, self._max_bytes - int(result.states * result.bytes_per_state))
        if needed <= limit:
            return ""
        return f"it needs {needed / 1e6:,.0f} MB more, and {max(limit, 0) / 1e6:,.0f} MB are left"
