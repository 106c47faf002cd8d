"""What a caller can get wrong is said at once, and leaves nothing half done."""

from __future__ import annotations

from typing import Any

import pytest

from calfsm.serving import Executor, Profile, VirtualClock, run
from calfsm.tables import phase_a
from calfsm_calrt import BadPlan, Fault, FaultPlan, SimulatedDevice, reference, small_manifest

PROFILE = phase_a.PROFILE


def executor(**options: Any) -> tuple[Executor, VirtualClock]:
    clock = VirtualClock()
    return Executor(SimulatedDevice(clock), clock, **options), clock


@pytest.mark.parametrize("wrong", [None, "small", {"name": "small"}])
def test_what_is_no_manifest_is_not_loaded_and_a_real_one_still_is(wrong: Any) -> None:
    served, clock = executor()
    with pytest.raises(TypeError, match="a model is loaded by its Manifest, not by"):
        served.load(wrong)
    served.load(small_manifest())
    run(served, clock)
    assert str(served.engine.state("model")) == "ready"


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("phase_a", TypeError, "a profile is a Profile, as in calfsm.tables.phase_a.PROFILE, not 'phase_a'"),
        (PROFILE._replace(system="foo"), ValueError, "profile phase_a is of the system foo, not of executor"),
        (PROFILE._replace(deadlines={}), ValueError, "profile phase_a does not say how long configure_timeout is"),
        (
            PROFILE._replace(deadlines={**PROFILE.deadlines, "zz": 1.0}),
            ValueError,
            "executor has no deadline zz; it has",
        ),
        (
            PROFILE._replace(deadlines={**PROFILE.deadlines, "wait_timeout": -1}),
            ValueError,
            "is -1; it is seconds, above 0",
        ),
        (
            PROFILE._replace(deadlines={**PROFILE.deadlines, "wait_timeout": float("nan")}),
            ValueError,
            "is nan; it is seconds",
        ),
        (PROFILE._replace(deadlines={**PROFILE.deadlines, "wait_timeout": "1"}), ValueError, "is '1'; it is seconds"),
        (
            PROFILE._replace(params={**PROFILE.params, "limit": 0}),
            ValueError,
            "parameter limit of profile phase_a is 0",
        ),
    ],
)
def test_a_profile_that_cannot_be_served_with_is_refused(wrong: Profile, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        executor(profile=wrong)


def test_run_inside_a_callback_lets_no_time_pass() -> None:
    served, clock = executor()
    served.load(small_manifest())
    run(served, clock)
    request = served.submit([1], max_tokens=3, on_token=lambda _: run(served, clock))
    run(served, clock)
    assert request.tokens == reference(small_manifest(), [1], 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"nth": 1.5},
        {"nth": True},
        {"nth": "a"},
        {"delay": "1"},
        {"ran": "no"},
        {"task": 3},
        {"on": None},
        {"fault": []},
    ],
)
def test_a_fault_of_the_wrong_type_is_a_bad_plan_that_names_the_field(wrong: dict[str, Any]) -> None:
    (field,) = wrong
    with pytest.raises(BadPlan, match=f"`{field}` is "):
        Fault(**{"on": "infer", "fault": "unknown", **wrong})


def test_a_plan_is_made_of_faults_and_a_device_takes_a_plan() -> None:
    with pytest.raises(BadPlan, match="is not a Fault"):
        FaultPlan([{"on": "infer"}])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="plan is a FaultPlan"):
        SimulatedDevice(VirtualClock(), plan="plan.yaml")  # type: ignore[arg-type]
    with pytest.raises(BadPlan, match="nested too deeply"):
        FaultPlan.read("faults: " + "[" * 3000)
