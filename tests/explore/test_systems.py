"""The explorer sees exactly what the engine does."""

from __future__ import annotations

import itertools

import pytest

from calfsm.engine.engine import ActionRefused, Engine, Snapshot
from calfsm.explore.search import Verdict, search
from calfsm.explore.systems import Call, SystemModel, explore, story
from calfsm.tables import phase_a
from calfsm.tables.executor import SYSTEM

ONE_OF_EACH = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}


def by_brute_force(engine: Engine, state: Snapshot) -> dict[Call, Snapshot]:
    """Every call there is, done for real and taken back."""
    engine.restore(state)
    found = {}
    for index, bound in enumerate(engine.bound_actions()):
        for arguments in itertools.product(*bound.ranges):
            step = engine.attempt(bound, arguments)
            if step is not None:
                found[index, arguments] = engine.snapshot()
                engine.undo(step)
                assert engine.snapshot() == state
    return found


def test_every_successor_is_one_that_the_engine_makes_and_none_is_left_out() -> None:
    model = SystemModel(SYSTEM, **ONE_OF_EACH)
    engine = Engine(SYSTEM, **model.engine.params)
    result = search(model)
    for state in list(result.parents)[::7]:
        assert {call: model.next(state, call) for call in model.actions(state)} == by_brute_force(engine, state)


def test_the_serving_system_holds_at_the_scope_of_its_first_profile() -> None:
    _, result = explore(SYSTEM, phase_a.PROFILE.scope)
    assert result.complete and result.holds
    assert set(result.verdicts.values()) == {Verdict.HOLDS}
    assert (result.states, result.transitions, result.depth) == (135_170, 867_321, 51)


def test_a_search_that_was_stopped_never_says_holds() -> None:
    _, result = explore(SYSTEM, ONE_OF_EACH, max_states=100)
    assert not result.complete and not result.holds
    assert result.stopped == "the limit of 100 states was reached"
    assert set(result.verdicts.values()) == {Verdict.UNDECIDED}


def test_a_trace_replays_on_the_engine_to_the_state_that_it_ends_in() -> None:
    model, result = explore(SYSTEM, ONE_OF_EACH)
    farthest = list(result.parents)[-1]
    trace = result.trace(farthest)
    engine = Engine(SYSTEM, **model.engine.params)
    for (index, arguments), after in trace.steps:
        bound = list(engine.bound_actions())[index]
        engine.apply(bound.row.name, **dict(zip(bound.arguments, arguments, strict=True)))
        assert engine.snapshot() == after
    assert len(story(model, trace)) == len(trace.steps) == result.depth


def test_a_call_that_is_not_possible_is_refused_with_its_reason() -> None:
    model = SystemModel(SYSTEM, **ONE_OF_EACH)
    (start,) = model.initial()
    with pytest.raises(ActionRefused, match=r"submit\(j=0\) refused: `decoding` does not hold"):
        model.next(start, (SYSTEM.action_index("submit"), (0,)))
