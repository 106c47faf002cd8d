"""A model's way onto the device and off it again, and everything that can go wrong on the way."""

from __future__ import annotations

import attrs
import pytest
from serving.serving_rig import LOADED, MODEL, PROFILES, Serving, outcomes, serving

from calfsm.engine.engine import ActionRefused
from calfsm.engine.system import Profile
from calfsm.serving import Choice, Golden, Manifest
from calfsm_calrt import Fault, golden, small_manifest


def served(house: Serving) -> Serving:
    """Load once more, and be served: what went wrong before has left nothing behind."""
    house.load().run(LOADED)
    assert (house.model, house.machine, house.executor.failure) == ("ready", "ready", "")
    request = house.submit(1, 2, 3)
    house.run()
    assert outcomes([request]) == ["finished"]
    return house.close()


# ---- what is said of a manifest


@pytest.mark.parametrize(
    ("change", "objection"),
    [
        ({"digest": "not a digest"}, "its digest is not a SHA-256 in hex"),
        ({"digest": "0" * 63}, "its digest is not a SHA-256 in hex"),
        ({"digest": "0" * 64 + "\n"}, "its digest is not a SHA-256 in hex"),
        ({"runtime": "0.7.5"}, "it was compiled for runtime 0.7.5; this is 0.7.6"),
        ({"memory": 1 << 40}, "it needs 1,099,511,627,776 bytes; 34,359,738,368 are free"),
        ({"lanes": 3}, "the profile promises 4 KV lanes; it has 3"),
        ({"context": 63}, "the profile promises 64 tokens a sequence; it has 63"),
        ({"prefill_tokens": 15}, "the profile promises 16 tokens a prefill; it has 15"),
        ({"golden": Golden((), (1,))}, "it has no golden prompt and answer to warm up with"),
        ({"golden": Golden((1,), ())}, "it has no golden prompt and answer to warm up with"),
        ({"golden": Golden((1,) * 17, (1,))}, "its golden prompt has 17 tokens; one prefill takes 16"),
        ({"golden": Golden((1,), (1,) * 65)}, "its golden run needs KV for 65 tokens; a lane holds 64"),
        ({"golden": Golden((64,), (1,))}, "its golden run has token 64; the vocabulary is 0 to 63"),
        ({"golden": Golden((1,), (-1,))}, "its golden run has token -1; the vocabulary is 0 to 63"),
        ({"batch": 0}, "manifest small: batch must be 1 to 1024, got 0"),
    ],
)
def test_a_model_that_cannot_be_served_is_turned_away_before_the_device_hears_of_it(
    change: dict[str, object], objection: str
) -> None:
    house = serving(load=False)
    house.load(attrs.evolve(MODEL, **change)).run()  # type: ignore[arg-type]
    assert (house.model, house.machine, house.executor.failure) == ("unloaded", "ready", objection)
    assert house.done("validate") == 0
    served(house)


def test_all_that_is_wrong_with_a_manifest_is_said_at_once() -> None:
    house = serving(load=False)
    house.load(attrs.evolve(MODEL, runtime="1.0", lanes=1)).run()
    assert house.executor.failure == (
        "it was compiled for runtime 1.0; this is 0.7.6; the profile promises 4 KV lanes; it has 1"
    )


def test_an_artefact_that_cannot_be_read_is_turned_away() -> None:
    house = serving(Fault("create_calbin", "exception"), load=False)
    house.load().run()
    assert (house.model, house.executor.failure) == ("unloaded", "create_calbin broke down (planned fault)")
    served(house)


# ---- loading that fails on the device


@pytest.mark.parametrize(
    ("fault", "failure", "resets"),
    [
        (Fault("configure", "fail"), "configure failed (planned fault)", 1),
        (Fault("configure", "exception"), "configure broke down (planned fault)", 1),
        (Fault("configure", "hang"), "configure timeout passed", 1),
        (Fault("configure", "late", delay=40), "configure timeout passed", 1),
        (Fault("create_input", "exception"), "create_input broke down (planned fault)", 0),
        (Fault("create_output", "exception"), "create_output broke down (planned fault)", 0),
        (Fault("create_input", "exception", nth=3), "create_input broke down (planned fault)", 0),
        (Fault("infer", "bad_numbers"), "golden token 1 is not made of numbers; it must be 36", 0),
        (Fault("infer", "bad_numbers", value="garbage"), "golden token 1 is ", 0),
        (Fault("infer", "bad_numbers", nth=4, value="garbage"), "golden token 4 is ", 0),
        (Fault("infer", "ccu_exception", nth=2), "the golden run: exception on a compute unit (planned fault)", 0),
        (Fault("infer", "hang"), "warm timeout passed", 1),
        (Fault("infer", "late", nth=3, delay=60), "warm timeout passed", 1),
        (Fault("infer", "reject"), "the golden run could not be submitted: the device would not take the job", 0),
        (Fault("infer", "unknown"), "the golden run could not be submitted: infer does not know", 0),
        (Fault("infer", "exception", nth=2), "the golden run could not be submitted: infer broke down", 0),
        (Fault("apply", "refuse"), "the KV cache would not commit the golden run: apply of length 4", 0),
        (Fault("apply", "refuse", nth=5), "the KV cache would not commit the golden run: apply of length 0", 0),
    ],
    ids=str,
)
def test_a_load_that_fails_says_why_gives_everything_back_and_may_be_tried_again(
    fault: Fault, failure: str, resets: int
) -> None:
    if fault.fault == "bad_numbers" and fault.value is None:
        failure = f"golden token 1 is not made of numbers; it must be {golden(MODEL).tokens[0]}"
    house = serving(fault, load=False)
    house.load().run()
    assert house.model == "unloaded"
    assert house.executor.failure.startswith(failure), house.executor.failure
    assert (house.done("warmed"), house.done("reset_done"), house.device.memory_in_use()) == (0, resets, 0)
    assert house.device.plan.unused() == []
    served(house)


def test_a_submit_of_the_golden_run_that_nobody_knows_of_is_ended_by_a_reset() -> None:
    house = serving(Fault("infer", "unknown", ran=False), load=False)
    house.load().run()
    assert (house.model, house.done("release_timeout"), house.done("reset_done")) == ("unloaded", 1, 1)
    served(house)


def test_a_golden_answer_of_another_model_is_found_out() -> None:
    house = serving(load=False)
    house.load(attrs.evolve(MODEL, golden=golden(small_manifest("other")))).run()
    assert house.executor.failure.startswith("golden token 1 is ")
    served(house)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("configure", "late", delay=20),
        Fault("configure", "missed"),
        Fault("configure", "duplicate"),
        Fault("infer", "missed"),
        Fault("infer", "missed", nth=2),
        Fault("infer", "missed", times=4),
        Fault("infer", "duplicate", delay=0.001, times=4),
        Fault("infer", "early_notice", times=4),
        Fault("infer", "submitted_again", times=4),
        Fault("infer", "done_without_running", times=4),
        Fault("infer", "late", delay=9),
        Fault("enable_parallel_mode", "unsupported"),
    ],
    ids=str,
)
def test_a_load_that_only_takes_its_time_or_is_not_heard_of_succeeds(fault: Fault) -> None:
    house = serving(fault, load=False)
    house.load().run()
    assert (house.model, house.executor.failure, house.done("reset_done")) == ("ready", "", 0)
    assert house.device.plan.unused() == []
    assert house.executor.missed == (fault.times if fault.fault == "missed" else 0)
    house.close()


# ---- unloading in the middle of loading


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@pytest.mark.parametrize("stage", ["load", "validate", "configured"])
def test_a_load_may_be_called_off_at_each_stage(profile: Profile, stage: str) -> None:
    house = serving(profile=profile, load=False)
    house.load()
    while house.done(stage) == 0:
        choice = house.executor.policy.next(house.executor)
        if choice is not None:
            house.executor.perform(choice)
        elif house.executor.inbox:
            house.executor.handle(house.executor.inbox.popleft())
        else:
            assert house.clock.run_next()
    house.executor.unload()
    assert house.model == "failed"
    house.run()
    assert (house.model, house.device.memory_in_use(), house.done("reset_done")) == ("unloaded", 0, 0)
    served(house)


@pytest.mark.parametrize("after", [0.001, 0.5, 1.999, 2.0, 2.0005, 2.001, 2.003, 2.006, 2.01, 2.015])
def test_a_load_may_be_called_off_at_any_moment(after: float) -> None:
    house = serving(load=False)
    house.load().run(after)
    house.executor.unload()
    house.run()
    assert (house.model, house.device.memory_in_use(), house.done("reset_done")) == ("unloaded", 0, 0)
    served(house)


def test_a_hung_configure_that_was_called_off_ends_with_a_reset() -> None:
    house = serving(Fault("configure", "hang"), load=False)
    house.load().run(1)
    house.executor.unload()
    house.run()
    assert (house.model, house.done("release_timeout"), house.done("reset_done")) == ("unloaded", 1, 1)
    served(house)


def test_a_hung_golden_run_that_was_called_off_ends_with_a_reset() -> None:
    house = serving(Fault("infer", "hang"), load=False)
    house.load().until("configured")
    house.executor.unload()
    house.run()
    assert (house.model, house.done("release_timeout"), house.done("reset_done")) == ("unloaded", 1, 1)
    served(house)


# ---- releasing


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        (Fault("reset_configuration", "fail"), "reset_configuration failed (planned fault)"),
        (Fault("reset_configuration", "exception"), "reset_configuration broke down (planned fault)"),
        (Fault("reset_configuration", "hang"), "release timeout passed"),
        (Fault("clear_dynamic_mem", "fail"), "clear_dynamic_mem failed (planned fault)"),
        (Fault("clear_dynamic_mem", "exception"), "clear_dynamic_mem broke down (planned fault)"),
        (Fault("clear_dynamic_mem", "hang"), "release timeout passed"),
        (Fault("clear_dynamic_mem", "late", delay=12), "release timeout passed"),
        (Fault("clear_dynamic_mem", "leak"), "1,048,576 bytes did not come back"),
    ],
    ids=str,
)
def test_unloaded_is_not_said_before_the_memory_came_back(fault: Fault, failure: str) -> None:
    house = serving(fault)
    house.executor.unload()
    house.until("start_reset")
    assert (house.model, house.executor.failure) == ("failed", failure)
    house.run()
    assert (house.model, house.device.memory_in_use(), house.done("reset_done")) == ("unloaded", 0, 1)
    served(house)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("reset_configuration", "missed"),
        Fault("clear_dynamic_mem", "missed"),
        Fault("reset_configuration", "late", delay=5),
        Fault("clear_dynamic_mem", "late", delay=5),
        Fault("reset_configuration", "duplicate"),
        Fault("clear_dynamic_mem", "duplicate"),
    ],
    ids=str,
)
def test_a_release_that_only_takes_its_time_or_is_not_heard_of_succeeds(fault: Fault) -> None:
    house = serving(fault)
    house.executor.unload()
    house.run()
    assert (house.model, house.done("reset_done"), house.device.plan.unused()) == ("unloaded", 0, [])
    assert house.executor.missed == (fault.fault == "missed")
    served(house)


def test_memory_that_does_not_come_back_with_the_reset_either_is_cleared_after_it() -> None:
    house = serving(Fault("clear_dynamic_mem", "leak"), Fault("device_reset", "leak"))
    house.executor.unload()
    house.run()
    assert (house.model, house.device.memory_in_use()) == ("unloaded", 0)
    served(house)


def test_a_device_whose_memory_never_comes_back_goes_out_of_service() -> None:
    house = serving(Fault("clear_dynamic_mem", "leak", times=50), Fault("device_reset", "leak", times=50))
    house.executor.unload()
    house.run()
    assert (house.model, house.machine) == ("failed", "offline")
    assert house.done("released") == 0
    assert house.executor.failure == "1,048,576 bytes did not come back"


def test_memory_that_a_reset_left_behind_is_not_taken_for_what_was_there_before_the_load() -> None:
    house = serving(Fault("device_reset", "leak"), Fault("health", "bad"), Fault("clear_dynamic_mem", "leak"))
    house.executor.check_health()
    house.run()
    assert (house.model, house.device.memory_in_use()) == ("ready", 2 << 20)
    house.executor.unload()
    house.until("release_failed")
    assert house.executor.failure == "2,097,152 bytes did not come back"
    served(house.run())


# ---- draining


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_unloading_finishes_what_runs_and_turns_away_what_waits(profile: Profile) -> None:
    house = serving(profile=profile)
    for number in range(8):
        house.submit(number, n=10)
    house.until("accept_token", 4)
    running = [slot for slot, request in enumerate(house.executor.requests) if request and request.tokens]
    house.executor.unload()
    house.run()
    assert [slot for slot, request in enumerate(house.requests) if request.outcome.value == "finished"] == running  # type: ignore[union-attr]
    assert {request.reason for request in house.requests} == {"", "the model is being unloaded"}
    assert (house.model, house.done("drain_timeout")) == ("unloaded", 0)
    served(house)


def test_what_runs_longer_than_the_drain_deadline_is_ended_then() -> None:
    house = serving(drain_timeout=0.05)
    requests = [house.submit(number, n=60) for number in range(4)]
    while not all(request.tokens for request in requests):
        house.until("accept_token")
    asked = house.clock.now
    house.executor.unload()
    house.run()
    assert outcomes(requests) == ["failed"] * 4
    assert {request.reason for request in requests} == {"the model is being unloaded, and the time for it is over"}
    assert 0.05 <= house.at("model_drained") - asked <= 0.07
    assert all(1 < len(request.tokens) < 60 for request in requests)
    served(house)


def test_a_drain_deadline_that_passed_in_one_drain_does_not_shorten_the_next() -> None:
    house = serving(Fault("infer", "bad_numbers", nth=6), drain_timeout=0.5)
    house.submit(1, n=3)
    house.run()
    assert (house.done("drain_timeout"), house.done("reset_done"), house.model) == (1, 1, "ready")
    request = house.submit(2, n=20)
    house.until("accept_token")
    house.executor.unload()
    house.run()
    assert outcomes([request]) == ["finished"]
    house.close()


def test_a_job_that_hangs_while_the_model_is_drained_does_not_keep_it() -> None:
    house = serving(Fault("infer", "hang", nth=7))
    hung, other = house.submit(1, n=5), house.submit(2, n=5)
    house.until("submit_ok", 3)
    house.executor.unload()
    house.run()
    assert sorted(outcomes([hung, other])) == ["failed", "failed"]
    assert (house.model, house.done("reset_done")) == ("unloaded", 1)
    served(house)


def test_a_reset_of_a_model_that_is_leaving_does_not_bring_it_back() -> None:
    house = serving(Fault("health", "bad"))
    house.submit(1, n=30)
    house.until("accept_token")
    house.executor.unload()
    house.executor.check_health()
    house.run()
    assert (house.model, house.done("warmed")) == ("unloaded", 1)
    served(house)


def test_loading_and_unloading_again_and_again_leaves_nothing() -> None:
    house = serving(load=False)
    models = [small_manifest("a", memory=20 << 20), small_manifest("b", memory=20 << 20)]
    house.device._capacity = 32 << 20  # both at once would not fit
    for number in range(6):
        house.manifest = models[number % 2]
        house.load().run(LOADED)
        request = house.submit(5, n=3)
        house.run()
        assert outcomes([request]) == ["finished"]
        house.close()
        house.requests.clear()


# ---- what is refused


def test_what_makes_no_sense_is_refused_and_changes_nothing() -> None:
    house = serving()
    before = house.executor.snapshot()
    with pytest.raises(ActionRefused, match=r"load\(\) refused: `model is unloaded` does not hold"):
        house.executor.load(Manifest(**{**attrs.asdict(MODEL, recurse=False), "name": "other"}))
    with pytest.raises(ActionRefused, match=r"restart\(\) refused: `device is offline` does not hold"):
        house.executor.restart()
    assert (house.executor.snapshot(), house.executor.manifest) == (before, MODEL)
    house.executor.unload()
    with pytest.raises(ActionRefused, match=r"unload\(\) refused: `not model.leaving` does not hold"):
        house.executor.unload()
    house.run()
    with pytest.raises(ActionRefused, match=r"unload\(\) refused"):
        house.executor.unload()
    assert not house.executor.possible(Choice("unload", {}))
