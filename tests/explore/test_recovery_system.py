"""The system *recovery*: what it promises holds, its stories go as they should, and planted faults are found."""

from __future__ import annotations

import pytest
from acting import at, do, strays_without
from planting import original, planted

from calfsm.engine.engine import Engine
from calfsm.engine.system import System
from calfsm.explore.judging import Whole, explore_whole
from calfsm.explore.search import Verdict
from calfsm.explore.systems import explore, story
from calfsm.explore.what_if import without

SMALL = {"max_resets": 1, "storm": 2, "max_restarts": 0, "max_tokens": 1}
"""One reset, no restart: ping and pong, and every fault."""
TALL = {"max_resets": 2, "storm": 3, "max_restarts": 0}
"""Two resets and two tokens: lanes that hold something, and a rung upon a rung."""
FAULTS = {"unhealthy", "exception", "bad_output", "hang", "lose", "reset_failed", "warm_failed", "submit_rejected"}
FAULTS |= {"reset_timeout", "warm_timeout"}


@pytest.fixture(scope="module")
def system() -> System:
    return original("recovery").compiled()


@pytest.fixture(scope="module")
def whole(system: System) -> Whole:
    return explore_whole(system, SMALL)


def test_everything_holds_and_the_states_are_as_many_as_they_were(whole: Whole) -> None:
    assert {name for name, verdict in whole.verdicts.items() if verdict is not Verdict.HOLDS} == set()
    assert {"every_fault_ends", "every_job_ends", "every_hold_ends", "home"} <= set(whole.verdicts)
    assert (whole.result.states, whole.result.transitions, whole.result.depth) == (34_959, 173_341, 30)


def test_without_further_faults_everything_comes_back_unless_the_device_went_offline(whole: Whole) -> None:
    """Stronger than `home`, which a device that may always go offline always reaches."""
    assert strays_without(whole, FAULTS) == []


# ---- stories


def states(engine: Engine, *parts: str) -> list[str]:
    """The state of `ladder`, or of `jobs 1`."""
    return [str(engine.state(name, int(number or 0)).value) for name, _, number in (p.partition(" ") for p in parts)]


BOTH_OUT = ("ask 0", "ask 1", "prepare 0", "prepare 1", "submit_first 0", "submit_behind 1 0")
ONE_TOKEN = ("ask 0", "prepare 0", "submit_first 0", "finish 0", "answered 0", "token 0")


def test_a_lost_notification_is_found_by_the_look_and_nothing_is_reset(system: System) -> None:
    engine = at(system, *BOTH_OUT, "finish 0", "lose 0", "wait_timeout 0")
    assert not engine.would("timed_out", j=0)
    do(engine, "look_finds 0")
    assert states(engine, "jobs 0", "jobs 1") == ["completing", "submitted"]
    do(engine, "token 0")
    assert states(engine, "ladder") == ["ready"]


def test_only_the_oldest_is_blamed_and_the_other_begins_again_without_having_failed(system: System) -> None:
    engine = at(system, *BOTH_OUT)
    assert not engine.would("wait_timeout", j=1)
    do(engine, "hang 0", "wait_timeout 0", "timed_out 0", "abort 1")
    assert states(engine, "jobs 0", "jobs 1") == ["failed", "waiting"]
    recorded = engine.described()["ladder"][0]
    assert (recorded["reason"], recorded["blamed"]) == ("timeout", "jobs[0]")


def test_when_the_older_has_answered_the_younger_can_time_out(system: System) -> None:
    assert at(system, *BOTH_OUT, "finish 0", "answered 0").would("wait_timeout", j=1)


HUNG = ("ask 0", "prepare 0", "submit_first 0", "hang 0", "wait_timeout 0", "timed_out 0")


def test_a_hung_buffer_comes_back_by_a_device_reset_only(system: System) -> None:
    engine = at(system, *HUNG, "reset_ccu", "ccu_done", "warmed")
    assert states(engine, "ladder", "buffer 0") == ["ready", "quarantined"]
    do(engine, "hold_timeout 0", "overdue", "reset_board", "board_done", "warmed")
    assert states(engine, "ladder", "buffer 0") == ["ready", "free"]


def test_an_overdue_buffer_makes_the_lower_rungs_pointless(system: System) -> None:
    engine = at(system, *HUNG)
    assert engine.would("reset_ccu")
    do(engine, "hold_timeout 0", "overdue")
    assert not engine.would("reset_ccu") and engine.would("reset_board")


@pytest.mark.parametrize(
    ("fault", "lane", "job"),
    [
        (("exception 1", "reset_ccu", "ccu_done", "warmed"), "held", {"tokens": "1", "restarts": "0"}),
        (("unhealthy", "abort 1", "reset_board", "board_done", "warmed"), "empty", {"tokens": "0", "restarts": "1"}),
    ],
)
def test_what_was_accepted_outlives_a_ccu_reset_and_no_other(
    system: System, fault: tuple[str, ...], lane: str, job: dict[str, str]
) -> None:
    engine = at(system, *ONE_TOKEN, "ask 1", "prepare 1", "submit_first 1", *fault)
    assert states(engine, "ladder", "jobs 0", "lane 0") == ["ready", "waiting", lane]
    assert job.items() <= engine.described()["jobs"][0].items()


def test_each_rung_follows_the_one_below_that_failed_and_after_the_last_the_device_is_offline(system: System) -> None:
    engine = at(system, "ask 0", "prepare 0", "submit_first 0", "exception 0")
    rungs = ("reset_ccu", "reset_configuration", "reset_board")
    for rung in rungs:
        assert [name for name in (*rungs, "give_up") if engine.would(name)] == [rung]
        do(engine, rung, "reset_failed")
    do(engine, "give_up")
    assert states(engine, "ladder") == ["offline"] and not engine.would("ask", j=1)
    do(engine, "restart", "board_done", "warmed")
    assert states(engine, "ladder") == ["ready"]


def test_a_rejected_submit_is_rolled_back_and_only_the_next_one_stops_the_device(system: System) -> None:
    engine = at(system, "ask 0", "ask 1", "prepare 0", "prepare 1", "submit_rejected 0")
    assert states(engine, "ladder", "jobs 0", "buffer 0") == ["ready", "failed", "free"]
    do(engine, "submit_rejected 1")
    assert states(engine, "ladder") == ["stopped"]


# ---- planted faults

GUARD = " and j.dma not in {reported, silent}"
KEPT = "drop:         {stay: The hardware may still hold its memory.}"

BROKEN = {
    "the younger job may time out": (
        ("recovery.yaml/actions/wait_timeout", " and j.older == none", ""),
        ("the_oldest_is_blamed", "timed_out(j=1)", 8),
    ),
    "blamed without a look": (
        ("recovery.yaml/actions/timed_out", GUARD, ""),
        ("nobody_is_wronged", "timed_out(j=0)", 6),
    ),
    "aborted without a look": (("recovery.yaml/actions/abort", GUARD, ""), ("nobody_is_wronged", "abort(j=0)", 6)),
    "a timeout that gives the buffer back": (
        ("recovery.yaml/actions/timed_out", "j.buffer: quarantine", "j.buffer: give_back"),
        ("no_use_after_reuse", "timed_out(j=0)", 5),
    ),
    "an exception that gives the buffer back": (
        ("recovery.yaml/actions/exception", "j.buffer: quarantine", "j.buffer: give_back"),
        ("no_use_after_reuse", "exception(j=0)", 4),
    ),
    "a configuration reset that frees what the hardware holds": (
        ("slot_buffer.yaml/transitions/quarantined", KEPT, "drop: spent"),
        ("no_use_after_reuse", "configuration_done()", 8),
    ),
    "a second job that is blamed": (
        (
            "recovery.yaml/actions/exception_too",
            "{j: abort, j.buffer: quarantine,",
            "{j: fail, watch: blame, j.buffer: quarantine,",
        ),
        ("one_is_blamed_at_most", "exception_too(j=1)", 8),
    ),
    "a reset under a job that is being judged": (
        ("recovery.yaml/actions/reset_board", "in_hand == 0", "out == 0"),
        ("a_reset_leaves_no_hold", "reset_board()", 4),
    ),
    "a budget that a reset brings back": (
        ("ladder.yaml/transitions/warming", "next: ccu}", "next: ccu, resets: 0}"),
        ("no_reset_storm", "reset_board()", 10),
    ),
    "a rung that is passed over": (
        ("ladder.yaml/transitions/ready", "timeout,   next: ccu,", "timeout,   next: board,"),
        ("no_rung_is_skipped", "reset_board()", 6),
    ),
    "an order that outlives the job": (
        ("recovery.yaml/actions/answered", ", jobs where older == j: promote", ""),
        ("older_is_out", "answered(j=0)", 8),
    ),
    "tokens that outlive the KV cache": (
        ("recovery.yaml/actions/configuration_done", "all jobs: reset, ", ""),
        ("accepted_is_held", "configuration_done()", 14),
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_planted_fault_is_found_by_a_shortest_trace(fault: str) -> None:
    (where, old, new), (name, last, length) = BROKEN[fault]
    model, result = explore(planted(where, old, new, "recovery"), TALL, first_only=True)
    assert result.verdicts[name] is Verdict.BROKEN
    told = story(model, result.counterexamples[name])
    assert (told[-1].call, len(told)) == (last, length)


ONE_SLOT = {**SMALL, "slots": 1, "max_restarts": 1}
CALM = ["exception", "bad_output", "hang", "lose", "submit_rejected", "submit_behind", "wait_timeout", "reset_failed"]
CALM += ["reset_timeout", "warm_failed", "warm_timeout", "put_back", "expire"]

UNKEPT = {
    "a job that is put back for ever": (
        (
            "slot_job.yaml/transitions/preparing",
            "{to: waiting, when: restarts < max_restarts,  set: {restarts: restarts + 1}}",
            "waiting",
        ),
        ONE_SLOT,
        "every_job_ends",
    ),
    "a pool that is rebuilt when there is time": (
        ("recovery.yaml/actions/warmed", ", all buffer: rebuild", ""),
        SMALL,
        "every_hold_ends",
    ),
    "a lane that cannot be given back where it is unknown": (
        (
            "slot_lane.yaml/transitions/unknown",
            "    release: {stay: Its sequence has lost it already. Only a reset empties it.}\n",
            "",
        ),
        ONE_SLOT,
        "every_job_ends",
    ),
    "a hold that calls for nothing": (
        ("recovery.yaml/actions/overdue", "overdue > 0", "overdue > 1"),
        ONE_SLOT,
        "every_hold_ends",
    ),
    "a look that does not see what was lost": (
        ("recovery.yaml/actions/look_finds", "j.dma in {reported, silent}", "j.dma is reported"),
        ONE_SLOT,
        "every_job_ends",
    ),
}


@pytest.mark.parametrize("fault", UNKEPT)
def test_a_planted_fault_that_only_a_run_without_end_shows_is_found(fault: str) -> None:
    (where, old, new), scope, name = UNKEPT[fault]
    system = planted(where, old, new, "recovery")
    found = explore_whole(system if scope is ONE_SLOT else without(system, CALM), scope)
    assert found.promises[name].verdict is Verdict.BROKEN


def test_with_one_slot_everything_holds_that_the_planted_faults_break(system: System) -> None:
    assert explore_whole(system, ONE_SLOT).holds
