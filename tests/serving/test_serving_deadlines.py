"""Deadlines: where each begins, whom it ends, and that one place decides it."""

from __future__ import annotations

import pytest
from serving.serving_rig import MODEL, PROFILES, Audited, Serving, outcomes, serving

from calfsm.engine.engine import Engine
from calfsm.engine.system import Profile
from calfsm.serving import Executor, Outcome, VirtualClock
from calfsm.serving.deadlines import Deadlines
from calfsm.serving.messages import DeadlinePassed
from calfsm.tables import phase_a
from calfsm.tables.executor import SYSTEM
from calfsm_calrt import Fault, SimulatedDevice, Timing

profiles = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
SLOW = Timing(decode_step=1.0, prefill_token=0.1)


# ---- the queue


@profiles
def test_who_waits_too_long_in_the_queue_is_told_so(profile: Profile) -> None:
    house = serving(profile=profile, timing=Timing(decode_step=0.3), queue_deadline=5.0, params={"lanes": 2})
    began = house.clock.now
    for number in range(4):
        house.submit(number, n=20)
    house.run()
    assert outcomes(house.requests) == ["finished"] * 2 + ["expired"] * 2
    assert {request.reason for request in house.requests[2:]} == {"queue deadline passed"}
    assert [request.tokens for request in house.requests[2:]] == [[], []]
    assert house.at("expire_waiting") == began + 5.0
    house.close()


def test_the_queue_deadline_runs_from_when_a_request_came_and_not_from_when_the_queue_began() -> None:
    house = serving(timing=SLOW, queue_deadline=3.0, params={"lanes": 1})
    house.submit(1, n=40)
    house.run(2.5)
    came = house.clock.now
    late = house.submit(2)
    house.run()
    assert (outcomes([late]), house.at("expire_waiting")) == (["expired"], came + 3.0)
    house.close()


# ---- a request as a whole


@profiles
def test_a_request_that_takes_too_long_keeps_the_tokens_that_it_has(profile: Profile) -> None:
    house = serving(profile=profile, timing=SLOW, request_deadline=5.5)
    request = house.submit(1, n=40)
    started = house.until("prepare_prefill").clock.now
    house.run()
    assert (request.outcome, request.reason, len(request.tokens)) == (Outcome.EXPIRED, "request deadline passed", 6)
    assert house.at("expire_in_flight") == started + 5.5
    house.close()


@pytest.mark.parametrize(
    ("job", "how"),
    [
        ("preparing", "expire_preparing"),
        ("submitting", "expire_in_flight"),
        ("submitted", "expire_in_flight"),
        ("completing", "expire_in_flight"),
    ],
)
@pytest.mark.parametrize("task", ["prefill", "decoding"])
def test_a_deadline_may_pass_in_every_state_of_the_job(task: str, job: str, how: str) -> None:
    house = serving()
    request = house.submit(1, n=5)
    house.until_state("requests", task).until_state("jobs", job)
    delivered = list(request.tokens)
    pass_request_deadline(house)
    assert (request.outcome, request.tokens, request.reason) == (Outcome.EXPIRED, delivered, "request deadline passed")
    assert house.done(how) == 1
    house.run().close()


@pytest.mark.parametrize("state", ["decode_ready", "interrupted"])
def test_a_deadline_may_pass_between_jobs(state: str) -> None:
    house = serving(Fault("infer", "hang", nth=5))
    other = house.submit(9, n=5)
    request = house.submit(1, n=5)
    house.until_state("requests", state, 1)
    pass_request_deadline(house, slot=1)
    assert (request.outcome, house.done("expire_waiting")) == (Outcome.EXPIRED, 1)
    house.run().close()
    assert outcomes([other]) == ["failed"]


def pass_request_deadline(house: Serving, slot: int = 0) -> None:
    """The deadline of a request's present state passes now, before anything else happens."""
    executor = house.executor
    part = executor.engine.system.part_index("requests")
    message = standing(executor, part, slot)
    executor.inbox.appendleft(message)
    while house.executor.requests[slot] is not None and house.executor.requests[slot].outcome is None:  # type: ignore[union-attr]
        executor.handle(executor.inbox.popleft())


def standing(executor: Audited, part: int, index: int) -> DeadlinePassed:
    """What the clock would say of the deadline that runs for an instance."""
    running = executor._deadlines._running[part, index]
    executor.forged = True
    return DeadlinePassed(part, index, running.deadline.event, running.deadline.after, running.serial)


def test_a_request_that_ends_in_time_is_not_ended_by_its_deadline_later() -> None:
    house = serving(params={"requests": 1}, request_deadline=0.2)
    first = house.submit(1, n=3)
    house.run(0.19)
    second = house.submit(2, n=3)
    house.run(1)
    assert outcomes([first, second]) == ["finished", "finished"]
    house.close()


def test_a_deadline_of_who_had_the_slot_before_means_nothing() -> None:
    house = serving(params={"requests": 1})
    house.submit(1, n=2)
    house.until("prepare_prefill")
    stale = standing(house.executor, house.executor.engine.system.part_index("requests"), 0)
    house.run()
    second = house.submit(2, n=2)
    house.until("prepare_prefill")
    house.executor.inbox.append(stale)
    house.run()
    assert (outcomes([second]), house.executor.stale["DeadlinePassed"]) == (["finished"], 1)
    house.close()


def test_a_deadline_of_the_job_before_means_nothing_to_the_job_after_it() -> None:
    house = serving(profile=phase_a.PROFILE)
    request = house.submit(1, n=3)
    house.until("submit_ok")
    stale = standing(house.executor, house.executor.engine.system.part_index("jobs"), 0)
    house.until("submit_ok")
    house.executor.inbox.append(stale)
    house.run()
    assert (outcomes([request]), house.executor.stale["DeadlinePassed"]) == (["finished"], 1)
    house.close()


@pytest.mark.parametrize("deadline_first", [True, False])
def test_a_deadline_and_the_last_completion_at_one_moment_end_a_request_once(deadline_first: bool) -> None:
    house = serving()
    request = house.submit(1, n=1)
    house.until("submit_ok")
    message = standing(house.executor, house.executor.engine.system.part_index("requests"), 0)
    if deadline_first:
        house.executor.inbox.append(message)
        house.until("done")
        expected = (["expired"], [])
    else:
        house.until("done")
        house.executor.inbox.append(message)
        expected = (["finished"], request.tokens)
    house.run()
    assert (outcomes([request]), request.tokens) == expected
    house.close()


# ---- the device


@profiles
def test_the_device_deadline_runs_from_the_submit_and_not_from_the_admission(profile: Profile) -> None:
    house = serving(profile=profile, timing=SLOW, wait_timeout=2.5, queue_deadline=1000.0, request_deadline=1000.0)
    for number in range(12):
        house.submit(number, n=8)
    house.run()  # each waits far longer than the device deadline, and each job takes far less
    assert outcomes(house.requests) == ["finished"] * 12
    assert house.done("wait_timeout") == 0
    house.close()


@profiles
def test_a_job_that_the_device_does_not_answer_fails_by_its_deadline(profile: Profile) -> None:
    house = serving(Fault("infer", "hang", nth=5), profile=profile)
    request = house.submit(1, n=3)
    submitted = house.until("submit_ok").clock.now
    house.run()
    assert (outcomes([request]), request.reason) == (["failed"], "wait timeout passed")
    assert house.at("wait_timeout") == submitted + 2.0
    house.close()


def test_only_the_oldest_job_is_said_to_have_timed_out_and_the_other_begins_again() -> None:
    house = serving(Fault("infer", "hang", nth=5))
    first, second = house.submit(1, n=3), house.submit(2, n=3)
    house.run()
    assert outcomes([first, second]) == ["failed", "finished"]
    assert (house.done("wait_timeout"), house.done("abort_in_flight")) == (1, 1)
    house.close()


def test_an_answer_that_was_there_all_along_is_found_before_anything_is_called_lost() -> None:
    house = serving(Fault("infer", "missed", nth=5))
    request = house.submit(1, n=3)
    house.run()
    assert (outcomes([request]), house.executor.missed, house.done("wait_timeout")) == (["finished"], 1, 0)
    assert house.done("reset_done") == 0
    house.close()


def test_an_exception_that_nobody_was_told_of_is_found_too() -> None:
    house = serving(Fault("infer", "hang", nth=5))
    request = house.submit(1, n=3)
    house.until("status_running").run(0.1)
    buffer = house.states("buffers").index("running")
    house.executor.pool[buffer].sink._listeners.clear()  # type: ignore[union-attr]
    house.device.reset_ccu().wait(1)
    house.run()
    assert (outcomes([request]), request.reason) == (["failed"], "aborted by a CCU reset")
    assert (house.executor.missed, house.done("wait_timeout")) == (1, 0)
    house.close()


def test_a_reset_of_which_nobody_was_told_is_found_at_its_deadline() -> None:
    house = serving(Fault("device_reset", "missed"), Fault("health", "bad"))
    house.executor.check_health()
    house.run()
    assert (house.machine, house.model, house.executor.missed) == ("ready", "ready", 1)
    house.close()


@pytest.mark.parametrize("deadline_first", [True, False])
def test_a_job_that_ends_at_its_very_deadline_is_done(deadline_first: bool) -> None:
    house = serving(profile=phase_a.PROFILE)
    request = house.submit(1, n=1)
    house.until("submit_ok")
    message = standing(house.executor, house.executor.engine.system.part_index("jobs"), 0)
    while not house.executor.pool[0].sink.status().final:  # type: ignore[union-attr]
        house.clock.run_next()
    if deadline_first:
        house.executor.inbox.appendleft(message)
    else:
        house.clock.run_next()
        house.executor.inbox.append(message)
    house.run()
    assert (outcomes([request]), house.done("wait_timeout")) == (["finished"], 0)
    house.close()


# ---- the timers themselves


def test_moving_among_states_with_one_duration_does_not_start_it_again() -> None:
    house = serving(timing=SLOW, request_deadline=4.0)
    house.submit(1, n=40)
    started = house.until("prepare_prefill").clock.now
    house.until("expire_in_flight")
    assert house.clock.now == started + 4.0
    house.run().close()


def test_a_profile_without_a_needed_duration_is_refused() -> None:
    profile = phase_a.PROFILE._replace(deadlines={"wait_timeout": 1.0})
    clock = VirtualClock()
    with pytest.raises(ValueError, match="profile phase_a does not say how long configure_timeout is"):
        Executor(SimulatedDevice(clock), clock, profile=profile)


def test_only_states_whose_deadline_a_clock_action_takes_have_timers() -> None:
    engine = Engine(SYSTEM)
    clock = VirtualClock()
    deadlines = Deadlines(SYSTEM, phase_a.PROFILE.deadlines, clock, lambda _: None)
    named = {
        (SYSTEM.parts[part].name, SYSTEM.parts[part].table.events[event].name): [name for name, _ in actions]
        for (part, event), actions in deadlines.actions.items()
    }
    assert named == {
        ("device", "reset_timeout"): ["reset_timeout"],
        ("model", "configure_timeout"): ["configure_timeout"],
        ("model", "warm_timeout"): ["warm_timeout"],
        ("model", "drain_timeout"): ["drain_timeout"],
        ("model", "release_timeout"): ["release_timeout"],
        ("requests", "deadline"): ["expire_waiting", "expire_preparing", "expire_in_flight"],
        ("jobs", "wait_timeout"): ["submit_timeout", "wait_timeout"],
    }
    assert engine.count("requests") and clock.next_due() is None


def test_nothing_is_timed_when_nothing_is_awaited() -> None:
    house = serving()
    house.submit(1)
    house.run()
    assert house.clock.next_due() is None
    assert house.manifest is MODEL
