"""What is broken along one way through a system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import LeadsToRow
from calfsm.explore.judging import HOME, instances, returns
from calfsm.explore.replay import STUCK, why_broken
from calfsm.explore.search import Trace
from calfsm.explore.systems import Call, SystemModel
from calfsm.explore.tell import Counterexample, calls


def broken_along(model: SystemModel, way: Trace[Snapshot, Call], name: str = "") -> list[Counterexample]:
    """The counterexamples on a way from the initial state.

    Each `always` property up to the first state that breaks it. If `name` is an `eventually` property, has to return
    (as `home`) or is `stuck`, that is asked of the whole way as well: a way that ends in a state it has been in may be
    a lasso.
    """
    states = [way.start, *(state for _, state in way.steps)]
    found = []
    for row_name, holds in model.properties().items():
        first = next((number for number, state in enumerate(states) if not holds(state)), None)
        if first is not None:
            found.append(Counterexample(row_name, "always", Trace(way.start, way.steps[:first])))
    row = next((row for row in model.system.eventually if row.name == name), None)
    if row is not None:
        found += list(_lassos(model, way, row, states))[:1]
        return found
    told = calls(model, way.steps)
    if name == STUCK and why_broken(model.system, model.engine.params, name, told):
        found.append(Counterexample(name, name, way))
    for goal in returns(model.system):
        for picks in instances(model, goal) if goal.name == name else ():
            if why_broken(model.system, model.engine.params, name, told, picks=picks):
                found.append(Counterexample(name, HOME, way, picks=picks))
                break
    return found


def _lassos(
    model: SystemModel, way: Trace[Snapshot, Call], row: LeadsToRow, states: list[Snapshot]
) -> Iterator[Counterexample]:
    """The lassos that the way closes for an `eventually` property, the one with the longest cycle first."""
    for number, state in enumerate(states):
        if state != states[-1]:
            continue
        trace, cycle = way.steps[:number], way.steps[number:]
        for picks in instances(model, row):
            told = calls(model, trace), calls(model, cycle)
            if why_broken(model.system, model.engine.params, row.name, *told, picks):
                since = _since(model, row, picks, states[: number + 1])
                yield Counterexample(row.name, "eventually", Trace(way.start, trace), cycle, since, picks)


def _since(model: SystemModel, row: LeadsToRow, picks: Mapping[str, int], states: list[Snapshot]) -> int:
    """After which step it has waited, to the end of some states."""
    begins, ends = (model.condition(condition.term, picks) for condition in (row.source, row.target))
    since, waiting = len(states) - 1, False
    for number, state in enumerate(states):
        if ends(state):
            waiting = False
        elif not waiting and begins(state):
            since, waiting = number, True
    return since
