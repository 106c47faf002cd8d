"""Suites for a machine and for a system: what there is to cover, and the cases that cover it.

Goals, each with its family: every action of the system; and every answer of every machine that can be reached, under
the one who speaks: *async* (the runtime), *timeout* (the clock), *cancel* (the client), *reset* (recovery), *own*
(the engine). For a single machine also every refusal that can be met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import System
from calfsm.engine.table import Outcome, Rows, Table, shown
from calfsm.explore.machines import MachineModel, MachineState
from calfsm.explore.search import Progress, search
from calfsm.explore.systems import Call, SystemModel, flattened
from calfsm.paths.cover import cover
from calfsm.paths.suite import Case, Suite, SuiteStep, World, difference

FAMILIES = {"runtime": "async", "clock": "timeout", "client": "cancel", "recovery": "reset", "engine": "own"}
"""Who speaks, and the family of the paths that go through it."""

Goals = frozenset[tuple[str, str]]
"""(family, text) of what an edge covers."""


def machine_suite(table: Table, *, longest: int = 60, **params: int) -> Suite:
    """A suite for one machine at its exploring parameters: every answer and every refusal."""
    model = MachineModel(table, **params)
    names = answer_goals(model.rows)
    graph: dict[MachineState, list[tuple[int, MachineState]]] = {}
    goals: dict[tuple[MachineState, int], Goals] = {}
    for state in search(model).parents:
        graph[state] = []
        for event, row in enumerate(table.events):
            outcome = model.outcome(state, event)
            # A refusal is a step as well: to where one is.
            graph[state].append((event, state if outcome is None else model.next(state, event)))
            refusal = "refusal", f"{table.name}: {table.states[state[0]].name} refuses {row.name}"
            goals[state, event] = frozenset([refusal if outcome is None else names[outcome]])
    start = next(iter(model.initial()))
    sequences = cover(graph, start, lambda state, event: goals[state, event], longest=longest)
    seen: set[tuple[str, str]] = set()
    cases = []
    for number, sequence in enumerate(sequences, 1):
        steps: list[SuiteStep] = []
        covers: list[str] = []
        here = start
        for event, after in sequence:
            _note(goals[here, event], seen, covers)
            row = table.events[event]
            refused = model.outcome(here, event) is None
            then = difference(_world(model, here), _world(model, after))
            steps.append(SuiteStep(row.name, {}, row.by, refused, then))
            here = after
        cases.append(Case(f"{table.name}-{number}", tuple(covers), tuple(steps)))
    return Suite(
        table.name,
        "machine",
        table.digest,
        model.rows.params,
        _world(model, start),
        _counted(seen),
        (),
        tuple(cases),
    )


def system_suite(
    system: System,
    scope: Mapping[str, int] | None = None,
    *,
    longest: int = 80,
    max_states: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    covered: Callable[[int, int], None] | None = None,
) -> Suite:
    """A suite for a system at a scope (its `explores` values unless given).

    It covers every action, and every answer that one can bring about; with `max_states`, as many of them as a search of
    that size sees.
    """
    model = SystemModel(system, **(scope or {}))
    graph: dict[Snapshot, list[tuple[Call, Snapshot]]] = {}

    def visit(state: Snapshot, call: Call, after: Snapshot) -> None:
        graph.setdefault(state, []).append((call, after))

    result = search(model, max_states=max_states, progress=progress, visit=visit)
    for state in result.parents:
        graph.setdefault(state, [])
    names = [answer_goals(rows) for rows in model.engine.rows]
    known: dict[tuple[Snapshot, Call], Goals] = {}

    def goals_of(state: Snapshot, call: Call) -> Goals:
        found = known.get((state, call))
        if found is None:
            step = model.step(state, call)
            answers = [names[change.part][outcome] for change in step.changes for outcome in change.outcomes]
            found = known[state, call] = frozenset([("action", step.action), *answers])
        return found

    start = next(iter(model.initial()))
    sequences = cover(graph, start, goals_of, longest=longest, progress=covered)
    seen: set[tuple[str, str]] = set()
    cases = []
    for number, sequence in enumerate(sequences, 1):
        steps, covers, here = [], list[str](), start
        for call, after in sequence:
            _note(goals_of(here, call), seen, covers)
            action = system.actions[call[0]]
            step = model.step(here, call)
            then = difference(world_of(model, here), world_of(model, after))
            steps.append(SuiteStep(action.name, step.arguments, action.by, False, then))
            here = after
        cases.append(Case(f"{system.name}-{number}", tuple(covers), tuple(steps)))
    unfired = tuple(row.name for row in system.actions if ("action", row.name) not in seen)
    return Suite(
        system.name,
        "system",
        system.digest,
        dict(model.engine.params),
        world_of(model, start),
        _counted(seen),
        unfired,
        tuple(cases),
    )


def world_of(model: SystemModel, state: Snapshot) -> World:
    """A snapshot by instance: `jobs[0]`, and `device` where there is one only."""
    return flattened(model.engine.described(state))


def answer_goals(rows: Rows) -> dict[Outcome, tuple[str, str]]:
    """The family of every answer of a machine, and the answer in words. No two answers read the same."""
    table = rows.table
    goals: dict[Outcome, tuple[str, str]] = {}
    for row in rows.cells:
        for event, cell in zip(table.events, row, strict=True):
            texts: Counter[str] = Counter()
            for outcome in cell.outcomes if cell is not None else ():
                move = outcome.move
                text = f"{table.name}: {move.source} {move.event} -> {move.target}"
                texts[text] += 1
                again = f" (alternative {texts[text]})" if texts[text] > 1 else ""
                goals[outcome] = FAMILIES[event.by], text + again
    return goals


def _note(goals: Iterable[tuple[str, str]], seen: set[tuple[str, str]], covers: list[str]) -> None:
    for goal in sorted(goals):
        if goal not in seen:
            seen.add(goal)
            covers.append(f"{goal[0]}: {goal[1]}")


def _counted(seen: Iterable[tuple[str, Hashable]]) -> dict[str, int]:
    return dict(sorted(Counter(family for family, _ in seen).items()))


def _world(model: MachineModel, state: MachineState) -> World:
    table = model.table
    values = {row.name: shown(row, value) for row, value in zip(table.variables, state[1], strict=True)}
    return {table.name: {"state": table.states[state[0]].name, **values}}
