"""A system explored whole, up to symmetry: what `judging.explore_whole` says, from one state of each orbit.

What is asked of states is judged as ever, and so is `home`, which asks of nobody in particular. What follows one
instance along a run, or counts on an action with its picks to be fair, is not: in the quotient an instance has another
number after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import Condition, System
from calfsm.explore.graph import Graph
from calfsm.explore.judging import LIVENESS_STATES, PlainRuns, Promise, Whole, promises, undecided
from calfsm.explore.quotient import Quotient
from calfsm.explore.search import Progress, search
from calfsm.explore.seen import PlainSeen
from calfsm.explore.symmetry import Symmetry
from calfsm.explore.systems import Call
from calfsm.explore.what_if import BentModel, WhatIf, changed, states_only

FOLLOWS = "it follows single instances, and with symmetry these are not told apart"
"""Why what is promised to instances is not judged."""


def explore_reduced(
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
    """Search a system at a scope up to symmetry, and judge its properties; arguments as in `judging.explore_whole`.

    Raises as that does, and ValueError for a search that begins elsewhere: then nobody knows what is alike.
    """
    bent = what_if or WhatIf()
    if bent.start is not None:
        raise ValueError("a search that begins elsewhere cannot be reduced by symmetry")
    # What is promised to instances is left out, and said to be at the end.
    model = BentModel(changed(states_only(system), home=system.home), bent, **(scope or {}))
    held = [Condition("what is fixed", bent.held)] if bent.held is not None else []
    quotient = Quotient(model, Symmetry(model.engine, held))
    graph: Graph[Snapshot, Call] = Graph(quotient.initial(), liveness_states)
    go_on = model.go_on if held else None

    def visit(state: Snapshot, call: Call, after: Snapshot) -> None:
        quotient.visit(state, call, after)
        graph.visit(state, call, after)

    result = search(
        quotient,
        model.properties(),
        max_states=max_states,
        max_seconds=max_seconds,
        progress=progress,
        visit=visit,
        go_on=go_on,
    )
    graph.close(result.complete, go_on)
    runs = PlainRuns(model, graph)
    if graph.dropped:
        judged = undecided(model.system, f"more than {graph.limit:,} states")
    else:
        judged = promises(model, runs, result.complete, judging)
    verdicts = undecided(system, FOLLOWS) | {name: _told(quotient, promise) for name, promise in judged.items()}
    seen = PlainSeen(model, result, set(graph.actions))
    stands_for = quotient.stands_for(result.parents)
    return Whole(model, quotient.told(result), verdicts, runs, seen, quotient.symmetry, stands_for)


def _told(quotient: Quotient, promise: Promise) -> Promise:
    """A promise with a way through the system."""
    return attrs.evolve(promise, trace=quotient.trace(promise.trace)) if promise.trace is not None else promise
