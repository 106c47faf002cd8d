"""The system *batch*: what it promises holds, its lanes go as they should, and planted faults are found."""

from __future__ import annotations

import attrs
import pytest
from acting import strays_without
from planting import original, planted

from calfsm.engine.engine import ActionRefused, Engine
from calfsm.engine.system import System
from calfsm.explore.judging import Whole, explore_whole
from calfsm.explore.reduced import explore_reduced
from calfsm.explore.search import Verdict
from calfsm.explore.systems import explore, story
from calfsm.explore.vacuity import remarks

PING_PONG = {"jobs": 2, "slots": 2, "max_length": 2, "max_restarts": 0}
"""Two jobs in flight, each with room for both sequences. Nobody begins again."""
FAULTS = {
    "unhealthy",
    "submit_rejected",
    "submit_unknown",
    "submit_timeout",
    "ccu_exception",
    "wait_timeout",
    "bad_output",
}


@pytest.fixture(scope="module")
def system() -> System:
    return original("batch").compiled()


@pytest.fixture(scope="module")
def whole(system: System) -> Whole:
    return explore_whole(system)


def test_everything_holds_for_a_job_of_two_lanes(whole: Whole) -> None:
    assert {name for name, verdict in whole.verdicts.items() if verdict is not Verdict.HOLDS} == set()
    assert {"every_sequence_ends", "every_job_ends", "every_lane_comes_back", "home"} <= set(whole.verdicts)
    assert (whole.result.states, whole.result.transitions, whole.result.depth) == (32_078, 156_960, 37)


def test_what_was_never_tried_is_what_cannot_be(whole: Whole) -> None:
    untried = {remark.what for remark in remarks(attrs.evolve(whole, runs=None))}  # not asked about fairness: slow
    assert untried == {
        "kv never goes by reset from reserved or in_flight",  # no job crosses a reset
        "kv.length never exceeds 2; its highest value is 3",  # the last token and the release are one step
    }


def test_a_full_batch_is_reached_and_each_of_its_lanes_ends_in_its_own_way(system: System) -> None:
    engine = with_a_full_batch(system)
    engine.apply("submit_ok", s=0)
    engine.apply("cancel_in_flight", r=2)  # this lane only: the job goes on
    assert engine.state("jobs", 0).value == "submitted"
    engine.apply("done", s=0)
    engine.apply("accept_token", r=0)
    engine.apply("accept_last", r=1)
    engine.apply("discard", r=2)
    engine.apply("bad_output", r=3)
    engine.apply("complete", j=0)
    assert [engine.state("sequences", r).value for r in range(4)] == ["ready", "finished", "unwanted", "failed"]
    assert [engine.state("lanes", k).value for k in range(4)] == ["held", "vacant", "vacant", "unknown"]
    assert engine.state("device", 0).value == "draining"


def with_a_full_batch(system: System) -> Engine:
    """Four sequences in one decode job of width four, for which infer() is being asked."""
    engine = Engine(system, **{**system.exploring(), "sequences": 5, "lanes": 4, "width": 4, "jobs": 2})
    for r in range(5):
        engine.apply("admit", r=r)
    for r in range(4):
        engine.apply("place", r=r, k=r)
        engine.apply("join_prefill" if r else "open_prefill", r=r, j=0, n=1)
    engine.apply("submit", j=0, s=0)
    engine.apply("submit_ok", s=0)
    engine.apply("done", s=0)
    for r in range(4):
        engine.apply("accept_token", r=r)
    engine.apply("complete", j=0)
    for r in range(4):
        engine.apply("join_decode" if r else "open_decode", r=r, j=0)
    engine.apply("submit", j=0, s=0)
    return engine


def test_a_refused_batch_loses_nobody(system: System) -> None:
    engine = with_a_full_batch(system)
    engine.apply("submit_rejected", s=0)
    assert [engine.state("sequences", r).value for r in range(4)] == ["ready"] * 4
    assert [engine.state("lanes", k).value for k in range(4)] == ["held"] * 4
    engine.apply("open_decode", r=2, j=1)


@pytest.mark.parametrize("way", ["submit_unknown", "submit_timeout", "ccu_exception", "wait_timeout"])
def test_nobody_knows_what_a_failed_batch_wrote_and_its_sequences_begin_again(system: System, way: str) -> None:
    engine = with_a_full_batch(system)
    if not way.startswith("submit"):
        engine.apply("submit_ok", s=0)
    engine.apply(way, s=0)
    assert [engine.state("lanes", k).value for k in range(4)] == ["unknown"] * 4
    engine.apply("start_reset")
    engine.apply("reset_done")
    assert [engine.state("lanes", k).value for k in range(4)] == ["vacant"] * 4
    assert [engine.state("sequences", r).value for r in range(4)] == ["waiting"] * 4


def test_the_full_the_mixed_and_the_taken_are_refused(system: System) -> None:
    engine = Engine(system, **{**system.exploring(), "sequences": 4, "lanes": 4, "jobs": 2})
    for r in range(4):
        engine.apply("admit", r=r)
        engine.apply("place", r=r, k=r)
    engine.apply("open_prefill", r=0, j=0, n=1)
    with pytest.raises(ActionRefused, match="join_prefill"):  # a sequence is in one job only
        engine.apply("join_prefill", r=0, j=0, n=1)
    engine.apply("submit", j=0, s=0)
    with pytest.raises(ActionRefused, match="join_prefill"):  # nobody joins what infer() was asked for
        engine.apply("join_prefill", r=1, j=0, n=1)
    engine.apply("submit_ok", s=0)
    engine.apply("open_prefill", r=1, j=1, n=1)
    with pytest.raises(ActionRefused, match="slots"):  # the slot has a job
        engine.apply("submit", j=1, s=0)
    engine.apply("done", s=0)
    engine.apply("accept_token", r=0)
    with pytest.raises(ActionRefused, match="kind"):  # decode does not join prefill
        engine.apply("join_decode", r=0, j=1)
    engine.apply("join_prefill", r=2, j=1, n=1)
    with pytest.raises(ActionRefused, match="aboard = 2"):  # the batch is full
        engine.apply("join_prefill", r=3, j=1, n=1)


def test_everything_holds_with_ping_and_pong_both_out() -> None:
    bound = "count(j for j in jobs if j is submitted) < 2"
    system = planted("batch.yaml/always", "always:\n", f"always:\n  never_both: {bound}\n", "batch")
    whole = explore_reduced(system, PING_PONG, liveness_states=0)
    assert {name for name, verdict in whole.result.verdicts.items() if verdict is not Verdict.HOLDS} == {"never_both"}
    assert whole.stands_for is not None
    counts = (whole.result.states, whole.stands_for.states, whole.stands_for.transitions)
    assert counts == (8_946, 76_392, 436_514)


def test_without_further_faults_everything_comes_back_unless_the_device_went_offline(whole: Whole) -> None:
    """Stronger than `home`, which a device that may always go offline always reaches."""
    assert strays_without(whole, FAULTS) == []


PLANTED: dict[str, tuple[str, str, str, str, list[str], int]] = {
    "a cancel in flight that gives the lane back": (
        "batch.yaml/actions/cancel_in_flight",
        "fire: {r: cancel}",
        "fire: {r: cancel, r.kv: [rollback, release]}\n    set: {r.kv: none}",
        "a_trusted_lane_is_unwritten",
        ["submit_ok(s=0)", "cancel_in_flight(r=0)"],
        6,
    ),
    "a slot that is free again after a timeout": (
        "batch.yaml/actions/wait_timeout",
        "s: lose",
        "s: done",
        "a_free_slot_is_idle",
        ["submit_ok(s=0)", "wait_timeout(s=0)"],
        6,
    ),
    "a decode that joins any job": (
        "batch.yaml/actions/join_decode",
        "device is ready and j.kind is decode",
        "device is ready",
        "one_kind_in_a_job",
        ["open_prefill(r=1, j=0, n=1)", "join_decode(r=0, j=0)"],
        12,
    ),
    "a command that still names a lane that left": (
        "batch.yaml/actions/cancel_preparing",
        ", r.kv.writes: mask",
        "",
        "the_others_are_masked",
        ["open_prefill(r=0, j=0, n=1)", "cancel_preparing(r=0)"],
        4,
    ),
    "a token that is committed when infer() returns": (
        "batch.yaml/actions/submit_ok",
        "lanes where job == s.job: submit",
        '"lanes where job == s.job": [submit, commit]',
        "a_trusted_lane_is_unwritten",
        ["submit(j=0, s=0)", "submit_ok(s=0)"],
        5,
    ),
    "buffers that are reused after a timeout": (
        "batch_job.yaml/transitions/submitted",
        "wait_timeout:  {to: quarantined,",
        "wait_timeout:  {to: vacant,",
        "a_job_in_hand_is_untouched",
        ["submit_ok(s=0)", "wait_timeout(s=0)"],
        6,
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_by_a_shortest_trace(fault: str) -> None:
    where, old, new, property_, ending, length = PLANTED[fault]
    model, result = explore(planted(where, old, new, "batch"), first_only=True)
    trace = result.counterexamples[property_]
    calls = [line.call for line in story(model, trace)]
    assert (calls[-2:], len(calls)) == (ending, length)


def test_without_a_bound_on_restarts_a_sequence_begins_again_for_ever() -> None:
    uncounted = "set: {kv: none, restarts: restarts + 1}", "set: {kv: none}"
    whole = explore_whole(
        planted("sequence.yaml/transitions/interrupted", *uncounted, "batch"), {"sequences": 1, "lanes": 1}
    )
    assert whole.broken == ["every_sequence_ends"]
    lasso = whole.promises["every_sequence_ends"].lasso
    assert lasso is not None
    around = [whole.model.text(call).partition("(")[0] for call, _ in lasso.cycle]
    assert {"place", "reset_done"} <= set(around) and around.count("reset_done") == 1
