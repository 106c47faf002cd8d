"""An action of the executor is done whole or not at all, at every state that a walk comes to."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
from naive_system import kept, recomputed

from calfsm.engine.engine import ActionRefused, Engine
from calfsm.tables import executor

SCOPES = {
    "one of each": {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1},
    "two of each": {"requests": 2, "jobs": 2, "buffers": 2, "lanes": 2, "limit": 2},
}
WHOLE_LIFE = ("load", "validate", "configured", "warmed")


def at(scope: str) -> Engine:
    return Engine(executor.SYSTEM, **{**executor.SYSTEM.exploring(), **SCOPES[scope]})


def calls(engine: Engine) -> list[tuple[str, dict[str, int]]]:
    """Every call that there is, in range."""
    return [
        (bound.row.name, dict(zip(bound.arguments, arguments, strict=True)))
        for bound in engine.bound_actions()
        for arguments in itertools.product(*bound.ranges)
    ]


def walked(engine: Engine, steps: int, seed: int) -> Iterator[int]:
    """Take possible calls at random, an action first and then its picks."""
    chance, every = random.Random(seed), calls(engine)
    for number in range(steps):
        possible: dict[str, list[dict[str, int]]] = {}
        for action, arguments in every:
            if engine.would(action, **arguments):
                possible.setdefault(action, []).append(arguments)
        action = chance.choice(list(possible))
        engine.apply(action, **chance.choice(possible[action]))
        yield number


@pytest.mark.parametrize("scope", SCOPES)
def test_a_refused_action_changes_nothing_whichever_it_is(scope: str) -> None:
    engine = at(scope)
    every = calls(engine)
    refused = {action: 0 for action, _ in every}
    for number in walked(engine, 300, seed=1):
        if number % 15:
            continue
        before, (members, referrers, tallied, stays, _) = engine.snapshot(), kept(engine)
        for action, arguments in every:
            if engine.would(action, **arguments):
                continue
            count = engine.refusals[action]
            with pytest.raises(ActionRefused) as refusal:
                engine.apply(action, **arguments)
            assert engine.refusals[action] == count + 1
            assert str(refusal.value).startswith(f"{action}(")
            assert "nothing is in its way" not in str(refusal.value)
            refused[action] += 1
        assert engine.snapshot() == before
        assert kept(engine)[:4] == [members, referrers, tallied, stays]
    assert all(refused.values()), [action for action, count in refused.items() if not count]


@pytest.mark.parametrize("scope", SCOPES)
def test_what_is_kept_beside_the_states_equals_what_they_say(scope: str) -> None:
    engine = at(scope)
    for _ in walked(engine, 400, seed=2):
        assert kept(engine) == recomputed(engine)


@pytest.mark.parametrize("scope", SCOPES)
def test_undoing_a_walk_step_by_step_leads_back_through_every_state(scope: str) -> None:
    engine = at(scope)
    chance, every = random.Random(3), calls(engine)
    states, steps = [engine.snapshot()], []
    for _ in range(120):
        action, arguments = chance.choice([call for call in every if engine.would(call[0], **call[1])])
        steps.append(engine.apply(action, **arguments))
        states.append(engine.snapshot())
    while steps:
        assert engine.snapshot() == states.pop()
        engine.undo(steps.pop())
        assert kept(engine) == recomputed(engine)
    assert engine.snapshot() == at(scope).snapshot()


def test_restoring_goes_to_any_state_from_any_other() -> None:
    engine, other = at("two of each"), at("two of each")
    seen = [engine.snapshot() for _ in walked(engine, 60, seed=4)]
    for state in random.Random(5).sample(seen, 30):
        other.restore(state)
        assert other.snapshot() == state
        assert kept(other) == recomputed(other)
        assert other.described() == other.described(state)


def test_two_engines_at_one_state_take_and_refuse_the_same() -> None:
    engine, other = at("one of each"), at("one of each")
    for _ in walked(engine, 150, seed=6):
        other.restore(engine.snapshot())
        answers = [engine.would(action, **arguments) for action, arguments in calls(engine)]
        assert answers == [other.would(action, **arguments) for action, arguments in calls(other)]


@pytest.mark.parametrize("jobs", [2, 50])
def test_one_timeout_moves_all_that_hangs_on_the_job_and_nothing_else(jobs: int) -> None:
    engine = Engine(executor.SYSTEM, requests=jobs, jobs=jobs, buffers=jobs, lanes=jobs, limit=jobs)
    for action in WHOLE_LIFE:
        engine.apply(action)
    for index in range(jobs):
        engine.apply("admit", r=index, prompt=1, need=1)
        engine.apply("prepare_prefill", r=index, j=index, b=index, k=index, n=1)
        engine.apply("submit", j=index)
        engine.apply("submit_ok", j=index)
    before = engine.described()
    step = engine.apply("wait_timeout", j=1)
    after = engine.described()
    changed = {
        (part, index): (was, now)
        for part, instances in before.items()
        for index, (was, now) in enumerate(zip(instances, after[part], strict=True))
        if was != now
    }
    assert changed == {
        ("jobs", 1): (
            {"state": "submitted", "buffer": "buffers[1]"},
            {"state": "failed", "buffer": "none"},
        ),
        ("buffers", 1): (
            {"state": "submitted", "tainted": "false"},
            {"state": "quarantined", "tainted": "false"},
        ),
        ("requests", 1): (
            {"state": "prefill", "job": "jobs[1]", "kv": "kvs[1]", "restarts": "0"},
            {"state": "failed", "job": "none", "kv": "kvs[1]", "restarts": "0"},
        ),
        ("kvs", 1): (
            {"state": "in_flight", "length": "0", "target": "1", "job": "jobs[1]"},
            {"state": "unknown", "length": "0", "target": "0", "job": "none"},
        ),
        ("device", 0): (
            {"state": "ready", "resets": "0", "rejects": "0"},
            {"state": "draining", "resets": "0", "rejects": "0"},
        ),
    }
    assert [str(move) for move in step.moves] == [
        "jobs[1] submitted -> failed",
        "buffers[1] submitted -> quarantined",
        "requests[1] prefill -> failed",
        "kvs[1] in_flight -> unknown",
        "device[0] ready -> draining",
    ]
    assert [(effect.name, dict(effect.arguments)) for effect in step.effects] == [("client.end", {"j": 1})]
    assert repr(step).startswith("<wait_timeout(j=1): jobs[1] submitted -> failed, ")
