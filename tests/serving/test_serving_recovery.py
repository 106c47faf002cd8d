"""A fault, a reset, and back; with a budget, so that there is never a storm of resets (source design 14)."""

from __future__ import annotations

import pytest
from serving.serving_rig import LOADED, PROFILES, Serving, outcomes, serving, struck

from calfsm.engine.system import Profile
from calfsm.serving import Rejected
from calfsm.serving.runtime import Health, RuntimeFault
from calfsm_calrt import Fault

profiles = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
HANG = Fault("infer", "hang")


@profiles
def test_the_budget_of_resets_is_spent_and_then_the_device_is_out_of_service(profile: Profile) -> None:
    house = struck(HANG, times=100, profile=profile, params={"max_resets": 3})
    for number in range(6):
        house.submit(number)
    house.run()
    assert (house.machine, house.done("start_reset"), house.done("give_up_device")) == ("offline", 3, 1)
    assert outcomes(house.requests) == ["failed"] * 6
    assert [request.reason for request in house.requests].count("wait timeout passed") == 4
    assert house.requests[-1].reason == "the device is out of service: wait timeout passed"
    with pytest.raises(Rejected, match="the device is offline"):
        house.submit(1)
    house.close()


@profiles
def test_a_restart_brings_the_device_and_its_model_back(profile: Profile) -> None:
    house = out_of_service(profile)
    house.executor.restart()
    house.run()
    assert (house.machine, house.model, house.executor.failure) == ("ready", "ready", "")
    again = house.submit(1)
    house.run()
    assert outcomes([again]) == ["finished"]
    house.close()


def out_of_service(profile: Profile = PROFILES[1]) -> Serving:
    """A device that hung until its budget of resets was spent."""
    house = struck(HANG, times=8, profile=profile)
    for number in range(4):
        house.submit(number)
    house.run()
    assert house.machine == "offline"
    house.device.plan.left = 0  # type: ignore[attr-defined]
    return house


def test_a_restart_that_fails_leaves_it_out_of_service_and_may_be_tried_again() -> None:
    house = serving(Fault("health", "bad"), Fault("device_reset", "fail", times=3))
    house.executor.check_health()
    house.run()
    for _ in range(2):
        house.executor.restart()
        house.run()
        assert (house.machine, house.executor.failure) == ("offline", "device_reset failed (planned fault)")
    house.executor.restart()
    house.run()
    assert (house.machine, house.model) == ("ready", "ready")
    house.close()


def test_the_budget_comes_back_with_a_valid_output_and_not_before() -> None:
    house = struck(HANG, times=2, profile=PROFILES[0])
    spent = []
    for number in range(4):
        house.submit(number, n=2)
        house.run()
        spent.append(house.executor.engine.value("device", 0, "resets"))
    assert outcomes(house.requests) == ["failed", "failed", "finished", "finished"]
    assert spent == [1, 2, 0, 0]
    assert house.done("reset_done") == 2  # each followed by a golden run that went well, and gave nothing back
    house.close()


@profiles
def test_rejected_submits_in_a_row_take_the_device_out_and_others_do_not(profile: Profile) -> None:
    house = serving(
        Fault("infer", "reject", nth=5, times=3),
        Fault("infer", "reject", nth=9, times=4),
        profile=profile,
        params={"max_rejects": 3},
    )
    for _ in range(4):
        house.submit(1, n=1)
        house.run()
    assert (outcomes(house.requests), house.done("reset_done")) == (["failed"] * 3 + ["finished"], 0)
    for _ in range(5):
        house.submit(1, n=1)
        house.run()
    assert (outcomes(house.requests[4:]), house.done("reset_done")) == (["failed"] * 4 + ["finished"], 1)
    house.close()


@pytest.mark.parametrize(
    "fault",
    [Fault("device_reset", "hang"), Fault("device_reset", "late", delay=30), Fault("device_reset", "exception")],
    ids=str,
)
def test_the_device_is_waited_for_only_so_long(fault: Fault) -> None:
    house = serving(Fault("health", "bad"), fault)
    house.executor.check_health()
    began = house.clock.now
    house.run()
    assert house.machine == "offline"
    assert house.at("reset_failed" if fault.fault == "exception" else "reset_timeout") - began <= 10.0
    house.close()


def test_a_reset_is_believed_only_when_the_device_is_seen_to_be_well() -> None:
    house = serving(Fault("health", "bad", times=2))
    house.executor.check_health()
    house.run()
    assert (house.machine, house.done("reset_failed")) == ("offline", 1)
    assert house.executor.failure == "the device is not well (planned fault)"
    house.close()


def test_a_device_that_cannot_say_how_it_is_is_not_well() -> None:
    def no_answer() -> Health:
        raise RuntimeFault("no answer")

    house = serving()
    house.device.health = no_answer  # type: ignore[method-assign]
    assert not house.executor.check_health()
    house.run()
    assert (house.machine, house.executor.failure) == ("offline", "no answer")


def test_asking_a_well_device_how_it_is_changes_nothing() -> None:
    house = serving()
    before = house.executor.snapshot()
    assert house.executor.check_health()
    house.run()
    assert house.executor.snapshot() == before


@profiles
def test_requests_that_were_not_to_blame_begin_again_and_end_with_the_same_tokens(profile: Profile) -> None:
    house = serving(Fault("health", "sick"), profile=profile)
    for number in range(6):
        house.submit(number, n=8)
    house.run(0.03)
    assert any(request.tokens for request in house.requests)
    streamed = [len(request.tokens) for request in house.requests]
    house.executor.check_health()
    house.run()
    assert outcomes(house.requests) == ["finished"] * 6
    assert max(streamed) < 8 and house.done("reset_done") == 1
    house.close()


def test_who_has_too_many_tokens_to_begin_again_is_told_so() -> None:
    house = serving(Fault("health", "sick"))
    long, short = house.submit(*range(10), n=20), house.submit(1, n=20)
    while len(long.tokens) < 8 or len(short.tokens) < 8:
        house.until("accept_token")
    house.executor.check_health()
    house.run()
    assert outcomes([long, short]) == ["failed", "finished"]
    assert long.reason == "after a reset its prompt and tokens no longer fit one prefill"
    house.close()


def test_the_generation_goes_up_with_every_load_and_every_reset() -> None:
    house = serving(Fault("health", "bad", times=1), load=False)
    seen = [house.executor.generation]
    house.load().run(LOADED)
    seen.append(house.executor.generation)
    house.executor.check_health()
    house.until("reset_done")
    seen.append(house.executor.generation)
    house.run()
    seen.append(house.executor.generation)
    house.close().load().run(LOADED)
    seen.append(house.executor.generation)
    assert seen == [0, 1, 2, 3, 4]


def test_a_device_that_is_lost_while_a_model_is_loaded_ends_the_load() -> None:
    for moment in (0.1, 1.9, 2.003):
        house = serving(Fault("health", "sick"), load=False)
        house.load().run(moment)
        house.executor.check_health()
        house.run()
        assert (house.model, house.machine, house.device.memory_in_use()) == ("unloaded", "ready", 0)
        house.load().run(LOADED)
        house.submit(1)
        house.run()
        assert outcomes(house.requests) == ["finished"]
        house.close()


def test_no_golden_job_is_given_to_a_device_that_is_being_drained() -> None:
    house = serving(Fault("health", "sick"), load=False)
    house.load().until("configured").run(0.003)
    accepted = house.device._engine._accepted
    house.executor.check_health()
    house.run()
    assert house.device._engine._accepted == accepted
    house.close()


def test_a_golden_run_that_was_given_up_does_not_go_on_when_its_job_ends_late() -> None:
    house = serving(Fault("infer", "late", nth=2, delay=10.5), load=False)
    house.load().until("warm_timeout")
    accepted = house.device._engine._accepted
    house.run()
    assert house.device._engine._accepted == accepted
    assert house.model == "unloaded"
    house.close()


def test_a_release_that_was_given_up_starts_nothing_more() -> None:
    house = serving(Fault("reset_configuration", "late", delay=10.3))
    house.executor.unload()
    house.until("release_timeout").run()
    assert (house.model, house.done("reset_done"), house.done("release_failed")) == ("unloaded", 1, 0)
    house.close()


@pytest.mark.parametrize("when", [0.0, 0.1, 0.25])
def test_a_device_that_is_lost_while_a_model_is_released_releases_it_after_the_reset(when: float) -> None:
    house = serving(Fault("health", "sick"))
    house.executor.unload()
    house.run(when)
    house.executor.check_health()
    house.run()
    assert (house.model, house.machine, house.device.memory_in_use()) == ("unloaded", "ready", 0)
    house.close()


def test_unloading_while_out_of_service_is_done_after_the_restart() -> None:
    house = serving(Fault("health", "bad"), Fault("device_reset", "fail"))
    house.executor.check_health()
    house.run()
    house.executor.unload()
    house.run()
    assert (house.model, house.machine) == ("draining", "offline")
    house.executor.restart()
    house.run()
    assert (house.model, house.machine) == ("unloaded", "ready")
    house.close()


def test_the_log_says_once_why_the_device_is_out_of_service(caplog: pytest.LogCaptureFixture) -> None:
    out_of_service()
    assert [line for line in caplog.messages if "out of service" in line] == [
        "the device is out of service: wait timeout passed"
    ]
