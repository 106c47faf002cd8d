"""Whether a counterexample still is one: its steps are done again, on the engine, and what it shows is judged again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from calfsm.engine.engine import ActionRefused, Engine, Snapshot
from calfsm.engine.system import Condition, LeadsToRow, System
from calfsm.explore.judging import CLIENT, Return, neglected, returns
from calfsm.explore.search import Verdict, search
from calfsm.explore.systems import SystemModel
from calfsm.explore.what_if import BentModel, WhatIf, only

Steps = Sequence[tuple[str, Mapping[str, int]]]
"""Actions by name, with their picks and choices."""

STUCK = "stuck"
"""What a state is called in which nothing can happen."""


def why_broken(
    system: System,
    scope: Mapping[str, int],
    name: str,
    trace: Steps,
    cycle: Steps = (),
    picks: Mapping[str, int] | None = None,
) -> str:
    """What is wrong at the end of a trace, or on its cycle; empty when nothing is, or one cannot go that way any more.

    `name`: an `always` or `eventually` property, what has to return (`home`), or `stuck`. Raises KeyError for any
    other, TypeError for an action that there is not.
    """
    engine, start, model = _at_scope(system, tuple(scope.items()))
    engine.restore(start)
    states = [start]
    try:
        for action, arguments in (*trace, *cycle):
            engine.apply(action, **arguments)
            states.append(engine.snapshot())
    except ActionRefused:
        return ""
    for row in system.always:
        if row.name == name:
            return _broken_condition(model, states, row.conditions)
    for leads in system.eventually:
        if leads.name == name:
            return _unfair(model, leads, picks or {}, states, cycle)
    for goal in returns(system):
        if goal.name == name:
            return _stray(system, scope, states[-1], goal, picks or {})
    if name == STUCK:
        return "" if list(model.actions(states[-1])) else "nothing can happen any more"
    raise KeyError(name)


def possible(system: System, scope: Mapping[str, int], steps: Iterable[tuple[str, Mapping[str, int]]]) -> Steps:
    """The steps without those that are refused when their turn comes: what is left of a way when some are taken out.

    Raises TypeError for an action that there is not.
    """
    engine, start, _ = _at_scope(system, tuple(scope.items()))
    engine.restore(start)
    done = []
    for action, arguments in steps:
        with contextlib.suppress(ActionRefused):
            engine.apply(action, **arguments)
            done.append((action, arguments))
    return done


@lru_cache(maxsize=1)
def _at_scope(system: System, scope: tuple[tuple[str, int], ...]) -> tuple[Engine, Snapshot, SystemModel]:
    """An engine to go ways in, its initial state, and a model to judge states by; whoever shrinks a way asks often."""
    engine = Engine(system, **dict(scope))
    return engine, engine.snapshot(), SystemModel(system, **dict(scope))


def _broken_condition(model: SystemModel, states: Sequence[Snapshot], conditions: Sequence[Condition]) -> str:
    for condition in conditions:
        holds = model.condition(condition.term)
        for number, state in enumerate(states):
            if not holds(state):
                return f"after step {number} it does not hold that {condition.text}"
    return ""


def _unfair(
    model: SystemModel, leads: LeadsToRow, picks: Mapping[str, int], states: Sequence[Snapshot], cycle: Steps
) -> str:
    """Why a lasso is a fair run on which the end never comes; empty when it is none."""
    begins, ends = (model.condition(condition.term, picks) for condition in (leads.source, leads.target))
    system, turn = model.system, states[len(states) - 1 - len(cycle) :]
    waiting = False
    for state in states:
        waiting = not ends(state) and (waiting or begins(state))
    if not waiting or any(map(ends, turn)) or turn[0] != turn[-1]:
        return ""
    taken = {(system.action_index(name), tuple(arguments.values())) for name, arguments in cycle}
    if neglected(system, [set(model.actions(state)) for state in turn], taken):
        return ""
    for_ever = "this can go on for ever" if cycle else "nothing more needs to happen"
    return f"{for_ever}, and it never holds that {leads.target.text}"


def _stray(system: System, scope: Mapping[str, int], state: Snapshot, goal: Return, picks: Mapping[str, int]) -> str:
    others = {action.by for action in system.actions} - {CLIENT}
    model = BentModel(only(system, others), WhatIf(start=state), **scope)
    if goal.unless is not None and model.condition(goal.unless.term, picks)(state):
        return ""
    there = model.condition(goal.condition.term, picks)
    result = search(model, {goal.name: lambda state: not there(state)}, first_only=True)
    if result.verdicts[goal.name] is Verdict.BROKEN:
        return ""
    return f"without the client it never holds again that {goal.condition.text}"
