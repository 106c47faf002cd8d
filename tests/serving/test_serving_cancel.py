"""A client may give up at any moment. Nobody is told twice, nothing in use is freed, nothing leaks."""

from __future__ import annotations

import pytest
from serving.serving_rig import PROFILES, Serving, outcomes, serving

from calfsm.engine.system import Profile
from calfsm.serving import Outcome
from calfsm.serving.messages import HealthLost
from calfsm_calrt import Fault, Timing

profiles = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)


@profiles
@pytest.mark.parametrize("task", ["prefill", "decoding"])
@pytest.mark.parametrize(
    ("job", "how", "freed"),
    [
        ("preparing", "cancel_preparing", "at once"),
        ("submitting", "cancel_in_flight", "later"),
        ("submitted", "cancel_in_flight", "later"),
        ("completing", "cancel_in_flight", "later"),
    ],
)
def test_a_request_may_be_cancelled_in_every_state_of_its_job(
    profile: Profile, task: str, job: str, how: str, freed: str
) -> None:
    house = serving(profile=profile)
    request = house.submit(1, 2, n=6)
    house.until_state("requests", task).until_state("jobs", job)
    delivered = list(request.tokens)
    buffer = house.executor.jobs[0].buffer  # type: ignore[union-attr]
    house.executor.cancel(request)
    while request.outcome is None:
        house.executor.handle(house.executor.inbox.popleft())
    assert (house.executor.log[-1][1], request.outcome, request.reason) == (
        how,
        Outcome.CANCELLED,
        "cancelled by its client",
    )
    assert house.state("buffers", buffer) == ("free" if freed == "at once" else house.state("buffers", buffer))
    if freed == "later":
        assert house.state("buffers", buffer) in ("submitted", "running", "completing")
        assert house.state("kvs", house.executor.engine.value("requests", 0, "kv")) == "in_flight"
    other = house.submit(3, n=3)
    house.run()
    assert (request.tokens, outcomes([request, other])) == (delivered, ["cancelled", "finished"])
    house.close()


@profiles
def test_a_running_job_is_cancelled_as_a_submitted_one_is(profile: Profile) -> None:
    house = serving(profile=profile)
    request = house.submit(1, n=3)
    house.until_state("buffers", "running")
    house.executor.cancel(request)
    house.executor.pump()
    assert (request.outcome, house.state("jobs"), house.state("buffers")) == (Outcome.CANCELLED, "abandoned", "running")
    assert house.device.touching(house.executor.pool[0].sink.logits)  # type: ignore[union-attr]
    house.run()
    assert house.done("discard") == 1
    house.close()


@profiles
@pytest.mark.parametrize("state", ["waiting", "decode_ready"])
def test_a_request_without_a_job_is_cancelled_at_once(profile: Profile, state: str) -> None:
    house = serving(profile=profile)
    request = house.submit(1, n=3)
    house.until_state("requests", state)
    house.executor.cancel(request)
    house.run()
    assert (outcomes([request]), house.done("cancel_waiting")) == (["cancelled"], 1)
    house.close()


def interrupted(*faults: Fault) -> Serving:
    """Two requests; the first hung, and the second is not to blame."""
    house = serving(Fault("infer", "hang", nth=5), *faults)
    house.submit(1, n=3)
    house.submit(2, n=3)
    return house.until_state("requests", "interrupted", 1)


def test_a_request_that_was_interrupted_may_be_cancelled() -> None:
    house = interrupted()
    house.executor.cancel(house.requests[1])
    house.run()
    assert outcomes(house.requests) == ["failed", "cancelled"]
    house.close()


@pytest.mark.parametrize("fault", [Fault("device_reset", "missed"), Fault("device_reset", "late", delay=5)], ids=str)
def test_a_request_may_be_cancelled_while_the_device_is_reset(fault: Fault) -> None:
    house = interrupted(fault)
    house.until("start_reset").run(3)
    house.executor.cancel(house.requests[1])
    house.run()
    assert outcomes(house.requests) == ["failed", "cancelled"]
    house.close()


def test_a_lane_may_go_back_after_the_device_forgot_it_and_before_that_was_heard() -> None:
    house = serving(Fault("device_reset", "missed"), Fault("health", "bad"))
    request = house.submit(1, n=30)
    house.until_state("requests", "decode_ready")
    house.executor.check_health()
    house.until("start_reset").run(2)  # it is done by now, and nobody was told
    house.executor.cancel(request)
    house.run()
    assert outcomes([request]) == ["cancelled"]
    house.close()


@profiles
def test_a_request_that_is_cancelled_twice_is_cancelled_once(profile: Profile) -> None:
    house = serving(profile=profile)
    request = house.submit(1, n=3)
    house.until("submit_ok")
    house.executor.cancel(request)
    house.executor.cancel(request)
    house.executor.pump()
    house.executor.cancel(request)
    house.run()
    assert outcomes([request]) == ["cancelled"]
    assert house.executor.stale["CancelAsked"] == 2
    house.close()


def test_a_cancel_after_the_end_changes_nothing() -> None:
    house = serving()
    request = house.submit(1, n=2)
    house.run()
    tokens = list(request.tokens)
    house.executor.cancel(request)
    house.run()
    assert (request.outcome, request.tokens, request.reason) == (Outcome.FINISHED, tokens, "")
    assert house.executor.stale["CancelAsked"] == 1
    house.close()


def test_a_cancel_before_its_slot_is_given_back_changes_nothing_either() -> None:
    house = serving()
    request = house.submit(1, n=1)
    house.until_state("requests", "finished")
    house.executor.cancel(request)
    house.run()
    assert outcomes([request]) == ["finished"]
    house.close()


def test_a_late_cancel_never_hits_who_has_the_slot_now() -> None:
    house = serving(params={"requests": 1})
    first = house.submit(1, n=2)
    house.run()
    second = house.submit(2, n=4)
    house.until("submit_ok")
    house.executor.cancel(first)
    house.run()
    assert outcomes([first, second]) == ["finished", "finished"]
    assert house.executor.stale["CancelAsked"] == 1
    house.close()


@profiles
@pytest.mark.parametrize("n", [1, 3])
def test_cancel_before_the_completion_wins(profile: Profile, n: int) -> None:
    house = serving(profile=profile)
    request = house.submit(1, n=n)
    house.until("submit_ok").run(0.0012)  # its end is near
    house.executor.cancel(request)
    house.executor.pump()
    house.until("done")
    assert (outcomes([request]), request.tokens, house.done("discard")) == (["cancelled"], [], 1)
    assert house.state("kvs") == "vacant"
    house.run().close()


@profiles
def test_completion_before_the_cancel_wins_when_it_was_the_last_token(profile: Profile) -> None:
    house = serving(profile=profile)
    request = house.submit(1, n=1)
    house.until("done")
    house.executor.cancel(request)
    house.run()
    assert (outcomes([request]), len(request.tokens)) == (["finished"], 1)
    house.close()


@profiles
def test_between_the_completion_and_the_judgement_a_cancel_discards_the_token(profile: Profile) -> None:
    house = serving(profile=profile)
    request = house.submit(1, n=1)
    house.until_state("jobs", "completing")
    house.executor.cancel(request)
    house.run()
    assert (outcomes([request]), request.tokens, house.done("discard")) == (["cancelled"], [], 1)
    house.close()


@pytest.mark.parametrize("cancel_first", [True, False])
def test_a_cancel_and_a_completion_at_one_moment_are_taken_in_the_order_in_which_they_came(cancel_first: bool) -> None:
    house = serving()
    request = house.submit(1, n=1)
    house.until("submit_ok")
    while not house.executor.inbox or not house.executor.pool[0].sink.status().final:  # type: ignore[union-attr]
        house.executor.pump()
        house.clock.run_next()
    house.executor.cancel(request)
    if cancel_first:
        house.executor.inbox.rotate(1)
    house.run()
    # A completion is not yet a delivery: until it was judged, a cancel still finds something to discard.
    assert (outcomes([request]), request.tokens) == (["cancelled"], [])
    house.close()


@profiles
def test_all_of_many_may_be_cancelled_at_once(profile: Profile) -> None:
    house = serving(profile=profile)
    for number in range(20):
        house.submit(number, n=9)
    house.run(0.02)
    for request in house.requests:
        house.executor.cancel(request)
    house.run()
    assert set(outcomes(house.requests)) <= {"cancelled", "finished"}
    assert outcomes(house.requests).count("cancelled") >= 18
    house.submit(1)
    house.run()
    assert outcomes(house.requests[-1:]) == ["finished"]
    house.close()


@pytest.mark.parametrize("fault", ["hang", "late", "ccu_exception", "bad_numbers", "missed"])
def test_a_cancelled_job_that_then_goes_wrong_is_still_cancelled_and_the_device_recovers(fault: str) -> None:
    options = {"delay": 9.0} if fault == "late" else {}
    house = serving(Fault("infer", fault, nth=5, **options))  # type: ignore[arg-type]
    request = house.submit(1, n=5)
    house.until("submit_ok")
    house.executor.cancel(request)
    house.run()
    assert (outcomes([request]), request.reason) == (["cancelled"], "cancelled by its client")
    assert house.machine == "ready"
    again = house.submit(1, n=5)
    house.run()
    assert outcomes([again]) == ["finished"]
    house.close()


@pytest.mark.parametrize("fault", ["reject", "unknown", "exception"])
def test_a_cancel_while_infer_is_asked_waits_for_its_answer_and_is_late_when_that_is_bad(fault: str) -> None:
    house = serving(Fault("infer", fault, nth=5))
    request = house.submit(1, n=5)
    house.until_state("jobs", "submitting")
    house.executor.cancel(request)
    house.executor.inbox.rotate(1)
    house.run()
    assert (outcomes([request]), house.executor.stale["CancelAsked"]) == (["failed"], 1)
    house.close()


@pytest.mark.parametrize("late", [0.0, 0.5])
def test_a_cancel_and_a_lost_device_may_come_in_either_order(late: float) -> None:
    for order in ("cancel", "health"):
        house = serving(timing=Timing(notice=late))
        request, other = house.submit(1, n=9), house.submit(2, n=9)
        house.until("submit_ok")
        for what in (order, "health" if order == "cancel" else "cancel"):
            if what == "cancel":
                house.executor.cancel(request)
            else:
                house.executor.inbox.append(HealthLost("it smokes"))
        house.run()
        assert outcomes([request, other]) == ["cancelled", "finished"]
        house.close()
