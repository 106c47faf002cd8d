"""Whatever goes wrong on the device, wherever: each request ends once, with true tokens, and nothing leaks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from serving.serving_rig import LOADED, PROFILES, Serving, outcomes, serving

from calfsm.engine.system import Profile
from calfsm_calrt import FAULTS, Fault

NOT_USED = {"reset_ccu"}
"""What the executor never asks for."""


def every_fault() -> Iterator[Fault]:
    """Every fault of every operation that is used, with each way to have it, at an early and at a later call."""
    for on, kinds in FAULTS.items():
        if on in NOT_USED:
            continue
        for kind in kinds:
            for options in variants(on, kind):
                for nth in places(on):
                    yield Fault(on, kind, nth=nth, **options)  # type: ignore[arg-type]


def variants(on: str, kind: str) -> list[dict[str, object]]:
    if kind == "late":
        spans = [{"delay": 0.5}, {"delay": 5.0}, {"delay": 50.0}]
        return [{**span, "blocks": blocks} for span in spans for blocks in (True, False)] if on == "infer" else spans
    if kind == "ccu_exception":
        return [{}, {"delay": 1.0}, {"delay": 1.0, "blocks": False}]
    if on == "infer" and kind in ("unknown", "exception"):
        return [{"ran": True}, {"ran": False}]
    if kind == "bad_numbers":
        return [{"value": "nan"}, {"value": "inf"}]  # garbage looks right: only a golden run can find it
    if kind in ("duplicate", "running_after_done"):
        return [{"delay": 0.0}, {"delay": 0.0015}, {"delay": 1.0}]
    return [{}]


def places(on: str) -> tuple[int, ...]:
    """Which calls: of jobs also the golden run's, a first prefill, the last decodes; of KV also releases."""
    return {"infer": (1, 3, 5, 6, 8, 11), "apply": (1, 5, 6, 7, 9, 10, 13), "counters": (1, 4)}.get(on, (1, 2))


def live(house: Serving) -> None:
    """Everything that an executor does: load, serve, be cancelled, be asked for its health, unload, and again."""
    for _ in range(2):
        while house.model == "unloaded" and house.machine == "ready":
            house.load().run(LOADED * 3)
        if house.model == "ready":
            house.executor.check_health()
            house.run(0.5)
        if house.model == "ready" and house.machine == "ready":
            for number in range(5):
                house.submit(number, number + 1, n=4)
            house.run(0.02)
            house.executor.cancel(house.requests[-1])
        house.run()
        house.close()


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@pytest.mark.parametrize("fault", list(every_fault()), ids=str)
def test_every_fault_anywhere_ends_every_request_once_and_leaves_nothing(fault: Fault, profile: Profile) -> None:
    house = serving(fault, profile=profile, load=False)
    live(house)
    if fault.on == "enable_parallel_mode" and profile.params["limit"] == 1:
        assert house.device.plan.unused() == [fault]  # not asked for
    elif fault.on not in ("create_input", "create_output", "device_reset"):
        assert house.device.plan.unused() == []
    assert len(house.requests) >= 5
    assert house.done("give_up_device") == 0


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@pytest.mark.parametrize("second", ["fail", "exception", "hang", "late", "missed", "duplicate", "leak"])
@pytest.mark.parametrize("first", ["hang", "ccu_exception", "unknown", "bad_numbers"])
def test_a_reset_that_goes_wrong_after_a_fault_ends_every_request_too(
    first: str, second: str, profile: Profile
) -> None:
    options = {"delay": 30.0} if second == "late" else {}
    house = serving(Fault("infer", first, nth=6), Fault("device_reset", second, **options), profile=profile)  # type: ignore[arg-type]
    for number in range(6):
        house.submit(number, n=6)
    house.run()
    works = second in ("missed", "duplicate", "leak")
    assert house.machine == ("ready" if works else "offline")
    assert outcomes(house.requests).count("finished") == (5 if works else 0)
    if not works:
        reasons = {request.reason for request in house.requests}
        assert any(reason.startswith("the device is out of service: ") for reason in reasons), reasons
    house.close()


@pytest.mark.parametrize(("on", "kind"), sorted((on, kind) for on in NOT_USED for kind in FAULTS[on]))
def test_what_is_not_used_cannot_go_wrong(on: str, kind: str) -> None:
    fault = Fault(on, kind)
    house = serving(fault)
    live(house.close())
    assert house.device.plan.unused() == [fault]


# ---- one by one: what exactly comes of it


@pytest.mark.parametrize(
    ("fault", "reason", "resets"),
    [
        (Fault("infer", "reject", nth=6), "the device would not take the job (planned fault)", 0),
        (Fault("infer", "unknown", nth=6), "infer does not know whether the job was taken (planned fault)", 1),
        (Fault("infer", "exception", nth=6), "infer broke down (planned fault)", 1),
        (Fault("infer", "ccu_exception", nth=6), "exception on a compute unit (planned fault)", 1),
        (Fault("infer", "hang", nth=6), "wait timeout passed", 1),
        (Fault("infer", "late", nth=6, delay=5), "wait timeout passed", 1),
        (Fault("infer", "bad_numbers", nth=6), "the output is not made of numbers", 1),
        (Fault("infer", "bad_numbers", nth=6, value="inf"), "the output is not made of numbers", 1),
        (Fault("apply", "refuse", nth=6), "the KV cache would not commit: apply of length 1", 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_only_the_request_whose_job_failed_fails_and_it_is_told_why(
    fault: Fault, reason: str, resets: int, profile: Profile
) -> None:
    house = serving(fault, profile=profile)
    for number in range(5):
        house.submit(number, n=5)
    house.run()
    failed = [request for request in house.requests if request.outcome.value != "finished"]  # type: ignore[union-attr]
    assert [request.reason.split(" to lane")[0] for request in failed] == [reason.split(" to lane")[0]]
    assert (house.machine, house.model, house.done("reset_done")) == ("ready", "ready", resets)
    house.close()


@pytest.mark.parametrize(
    "kind", ["duplicate", "missed", "done_without_running", "submitted_again", "running_after_done", "early_notice"]
)
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_strange_notifications_and_statuses_cost_nobody_anything(kind: str, profile: Profile) -> None:
    house = serving(Fault("infer", kind, nth=6, times=6), profile=profile)
    for number in range(5):
        house.submit(number, n=5)
    house.run()
    assert outcomes(house.requests) == ["finished"] * 5
    assert house.done("reset_done") == 0
    house.close()


# ---- two in flight only while nothing is odd


@pytest.mark.parametrize(
    ("fault", "doubt"),
    [
        (Fault("counters", "drift", nth=2), "the runtime counts 3 pending jobs; 2 are out"),
        (Fault("infer", "submitted_again", nth=6), "is running, and its status has gone back to submitted"),
        (Fault("infer", "bad_numbers", nth=6), "an output was not valid"),
    ],
    ids=str,
)
def test_a_runtime_that_gives_reason_to_doubt_gets_one_job_at_a_time_until_the_next_load(
    fault: Fault, doubt: str, caplog: pytest.LogCaptureFixture
) -> None:
    house = serving(fault)
    for number in range(6):
        house.submit(number, n=6)
    house.run()
    assert doubt in house.executor.doubt
    assert (house.executor.slots, len([line for line in caplog.messages if "one job at a time" in line])) == (1, 1)
    for number in range(4):
        house.submit(number, n=6)
    for _ in house.turns():
        assert house.device._engine.pending <= 1
    assert set(outcomes(house.requests[-4:])) == {"finished"}
    house.close().load().run(LOADED)
    assert (house.executor.doubt, house.executor.slots) == ("", 2)


def test_one_in_flight_leaves_nothing_to_doubt() -> None:
    house = serving(Fault("counters", "drift", times=100), profile=PROFILES[0])
    house.submit(1)
    house.run()
    assert (house.executor.doubt, house.executor.slots) == ("", 1)
    house.close()
