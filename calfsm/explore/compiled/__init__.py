"""Exploring with compiled successors: the states, transitions and verdicts of the plain search, much faster.

A system at a scope becomes a module of straight code over states packed into machine words (`layout`, `ground`,
`effects`, `emit`), which numba compiles (`pip install 'calfsm[fast]'`) and a cache keeps (`cache`). Nothing is
approximated: states are stored whole, and what cannot be compiled is refused by `CannotCompile` or left to the plain
search. Every step of a trace is taken from the Engine. With symmetry, one state of each orbit is stored (`canonical`,
`weighing`; see `calfsm.explore.symmetry`).

What comes after the search is compiled too (`whole`): its transitions with labels (`labelled`, `edges`), walks over
them (`graph`, `liveness`, `runs`), and what was never put to the test (`seen`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import attrs

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import System
from calfsm.explore.compiled import cache, weighing
from calfsm.explore.compiled.layout import CannotCompile, Layout
from calfsm.explore.compiled.search import Found, Where, search_states
from calfsm.explore.quotient import Quotient, StandsFor, realised
from calfsm.explore.search import Progress, Trace, Verdict
from calfsm.explore.search import search as plain_search
from calfsm.explore.symmetry import Symmetry
from calfsm.explore.systems import Call, SystemModel

__all__ = ["CannotCompile", "FastResult", "Found", "Layout", "explore_fast"]

EngineName = Literal["auto", "plain", "compiled"]

PLAIN_STATES = 50_000
"""Up to so many states the plain search is done before the compiler is."""


@attrs.define
class FastResult:
    """What a search found, in the terms of `calfsm.explore.search.Result`, and more.

    `fired`: how often each action was taken, over all states. `engine`: which search it was. `seconds`: of the
    search, `compile_seconds`: of what went before it. `bytes_per_state`: what was allocated, over the states; 0 for
    the plain search. `found`: the states themselves; None for the plain search. Of a search that was reduced by a
    `symmetry`, all counts are of the states that were kept; `stands_for` has those of the whole system.
    """

    states: int
    transitions: int
    depth: int
    verdicts: dict[str, Verdict]
    counterexamples: dict[str, Trace[Snapshot, Call]]
    stuck: Trace[Snapshot, Call] | None
    stopped: str
    seconds: float
    fired: dict[str, int]
    engine: Literal["plain", "compiled"]
    threads: int
    compile_seconds: float
    bytes_per_state: float
    found: Found | None
    symmetry: Symmetry | None
    stands_for: StandsFor | None
    _trace: Callable[[Snapshot], Trace[Snapshot, Call]]

    @property
    def complete(self) -> bool:
        """Whether every reachable state was seen."""
        return not self.stopped

    @property
    def holds(self) -> bool:
        """Whether all was seen and nothing is broken."""
        return (
            self.complete and self.stuck is None and all(verdict is Verdict.HOLDS for verdict in self.verdicts.values())
        )

    def trace(self, state: Snapshot) -> Trace[Snapshot, Call]:
        """A shortest way to a state that was seen, or that one that was seen stands for. Raises KeyError."""
        return self._trace(state)


def explore_fast(
    system: System,
    scope: Mapping[str, int] | None = None,
    *,
    engine: EngineName = "auto",
    symmetry: bool = False,
    threads: int = 1,
    max_states: int | None = None,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    first_only: bool = False,
    progress: Callable[[Progress], None] | None = None,
    cache_folder: Path | None = None,
) -> tuple[SystemModel, FastResult]:
    """Search a system at a scope (its `explores` values unless given) and judge its `always` properties.

    `engine`: "auto" does the plain search first where nothing is compiled yet, and compiles what turns out to be
    larger than PLAIN_STATES states; what cannot be compiled it leaves to the plain search. `symmetry`: keep one state
    of all that differ only in which interchangeable instance is which. `threads`: of the compiled
    search; the counts and the lengths of traces do not depend on them. `max_seconds` counts the search alone, without
    compiling. `max_bytes`: what the compiled search may allocate for states; the plain search does not keep it.
    `cache_folder`: where compiled modules are kept.

    Raises CannotCompile with engine "compiled" when that cannot be done, TypeError for a parameter that the system
    does not have, ValueError for an empty part, a number of threads below 1, or too few
    bytes to begin with.
    """
    if threads < 1:
        raise ValueError(f"threads is {threads}; it takes one at least")
    model = SystemModel(system, **(scope or {}))
    limits = _Limits(max_states, max_seconds, max_bytes, first_only, progress)
    renamings = Symmetry(model.engine) if symmetry else None
    if engine == "plain":
        return model, _plain(model, limits, renamings)
    try:
        layout = Layout(system, model.engine.params)
        if engine == "auto" and not cache.is_kept(layout, cache_folder, renamings):
            small = max_states is not None and max_states <= PLAIN_STATES
            result = _plain(model, limits if small else attrs.evolve(limits, states=PLAIN_STATES), renamings)
            if small or result.states < PLAIN_STATES or not result.stopped:
                return model, result
            if max_seconds is not None:
                limits = attrs.evolve(limits, seconds=max(0.0, max_seconds - result.seconds))
        return model, _compiled(model, layout, limits, threads, cache_folder, renamings)
    except CannotCompile:
        if engine == "compiled":
            raise
        return model, _plain(model, limits, renamings)


@attrs.frozen
class _Limits:
    states: int | None
    seconds: float | None
    bytes: int | None
    first_only: bool
    progress: Callable[[Progress], None] | None


def _plain(model: SystemModel, limits: _Limits, symmetry: Symmetry | None) -> FastResult:
    names = [row.name for row in model.system.actions]
    fired = [0] * len(names)
    quotient = Quotient(model, symmetry) if symmetry is not None else None

    def visit(before: Snapshot, call: Call, after: Snapshot) -> None:
        fired[call[0]] += 1
        if quotient is not None:
            quotient.visit(before, call, after)

    result = plain_search(
        quotient or model,
        model.properties(),
        max_states=limits.states,
        max_seconds=limits.seconds,
        first_only=limits.first_only,
        progress=limits.progress,
        visit=visit,
    )
    if quotient is not None:
        result = quotient.told(result)
    return FastResult(
        states=result.states,
        transitions=result.transitions,
        depth=result.depth,
        verdicts=result.verdicts,
        counterexamples=result.counterexamples,
        stuck=result.stuck,
        stopped=result.stopped,
        seconds=result.seconds,
        fired=dict(zip(names, fired, strict=True)),
        engine="plain",
        threads=1,
        compile_seconds=0.0,
        bytes_per_state=0.0,
        found=None,
        symmetry=symmetry,
        stands_for=quotient.stands_for(result.parents) if quotient is not None else None,
        trace=result.trace if quotient is None else partial(quotient.way_to, result),
    )


def _compiled(
    model: SystemModel,
    layout: Layout,
    limits: _Limits,
    threads: int,
    cache_folder: Path | None,
    symmetry: Symmetry | None,
) -> FastResult:
    began = time.monotonic()
    module = cache.module(layout, cache_folder, symmetry)
    compile_seconds = time.monotonic() - began
    outcome = search_states(
        module,
        layout,
        threads=threads,
        max_states=limits.states,
        max_seconds=limits.seconds,
        max_bytes=limits.bytes,
        first_only=limits.first_only,
        progress=limits.progress,
    )
    found, system = outcome.found, model.system

    def way(where: Where, end: Snapshot | None = None) -> Trace[Snapshot, Call]:
        return realised(model, found.path(where), symmetry, end)

    def way_to(state: Snapshot) -> Trace[Snapshot, Call]:
        kept = state if symmetry is None else layout.unpack(weighing.canonical(module, layout.pack(state)))
        return way(found.where(kept), state)

    otherwise = Verdict.UNDECIDED if outcome.stopped else Verdict.HOLDS
    return FastResult(
        states=len(found),
        transitions=outcome.transitions,
        depth=outcome.depth,
        verdicts={
            row.name: Verdict.BROKEN if index in outcome.broken else otherwise
            for index, row in enumerate(system.always)
        },
        counterexamples={system.always[index].name: way(where) for index, where in outcome.broken.items()},
        stuck=None if outcome.stuck is None else way(outcome.stuck),
        stopped=outcome.stopped,
        seconds=outcome.seconds,
        fired={row.name: times for row, times in zip(system.actions, outcome.fired, strict=True)},
        engine="compiled",
        threads=threads,
        compile_seconds=compile_seconds,
        bytes_per_state=outcome.bytes / len(found),
        found=found,
        symmetry=symmetry,
        stands_for=weighing.stands_for(module, found) if symmetry is not None else None,
        trace=way_to,
    )
