"""The suite that is drawn from the spec, run against the executor on a device that follows each case."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from calfsm.engine.engine import Step
from calfsm.paths.executor import ExecutorImplementation
from calfsm.paths.generate import system_suite
from calfsm.paths.run import Report, run_suite
from calfsm.paths.suite import Suite
from calfsm.serving.directed import CannotStage, Directed
from calfsm.serving.records import PoolItem, Records
from calfsm.serving.runtime_side import RuntimeSide
from calfsm.tables import phase_a, phase_b
from calfsm.tables.executor import SYSTEM
from calfsm_calrt import CalrtStage


@functools.cache
def suite() -> Suite:
    return system_suite(SYSTEM, {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1})


@functools.cache
def larger_suite() -> Suite:
    scope = {"requests": 2, "jobs": 2, "buffers": 2, "lanes": 2, "limit": 2, "max_length": 2}
    return system_suite(SYSTEM, scope, max_states=20_000)


def found(suite: Suite, directed: type[Directed] = Directed) -> Report:
    profile = phase_a.PROFILE if suite.scope["limit"] == 1 else phase_b.PROFILE
    return run_suite(suite, ExecutorImplementation(CalrtStage, profile, directed))


@pytest.mark.parametrize("make", [suite, larger_suite])
def test_the_executor_does_every_step_of_the_suite(make: Callable[[], Suite]) -> None:
    report = found(make())
    assert [str(failure) for failure in report.failures] == []
    assert report.passed
    assert report.steps == make().steps


@pytest.mark.parametrize("make", [suite, larger_suite])
def test_the_suite_has_every_action_of_the_system(make: Callable[[], Suite]) -> None:
    assert make().goals["action"] == len(SYSTEM.actions)
    assert make().missing == ()
    assert {step.do for case in make().cases for step in case.steps} == {action.name for action in SYSTEM.actions}


# ---- planted bugs are found


def test_a_step_that_is_not_done_is_found() -> None:
    class Skips(Directed):
        def do(self, action: str, arguments: dict[str, int], by: str) -> None:
            if action != "release_lane":
                super().do(action, arguments, by)

    failures = found(suite(), Skips).failures
    assert failures
    assert all(
        "kvs.state is held, must be vacant" in failure.why
        for failure in failures
        if failure.step.startswith("release_lane")
    )
    assert any(failure.step.startswith("release_lane") for failure in failures)


def test_an_item_that_is_not_wiped_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PoolItem, "wipe", lambda self: None)
    whys = [failure.why for failure in found(suite()).failures]
    assert any("undo_slice() or reset_all_tensors()" in why for why in whys), whys


def test_memory_that_is_freed_while_the_device_has_it_is_found() -> None:
    class Frees(Directed):
        """A host that takes a timeout for the end of the hardware's hold."""

        def do(self, action: str, arguments: dict[str, int], by: str) -> None:
            super().do(action, arguments, by)
            if action == "wait_timeout":
                engine = self.executor.engine
                snapshot = list(engine.snapshot())
                snapshot[engine.system.part_index("dma")] = (0,)
                engine.restore(tuple(snapshot))
                if wrong := list(self.disbeliefs()):
                    raise AssertionError("; ".join(wrong))

    whys = [failure.why for failure in found(suite(), Frees).failures]
    assert any("the hardware may touch buffers[0], and the executor believes that it is quiet" in why for why in whys)


def test_a_length_that_the_device_was_not_told_of_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RuntimeSide, "_commit", lambda self, lane, length: True)
    whys = [failure.why for failure in found(suite()).failures]
    assert any("kvs[0] has 1 tokens committed; the device has 0" in why for why in whys), whys


def test_memory_that_is_not_looked_after_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_half(self: RuntimeSide, _: Step) -> None:
        from calfsm.serving.loading import Steps

        self._operations.begin(
            "release", lambda notify, finish: Steps([self.runtime.reset_configuration], notify, finish)
        )

    monkeypatch.setattr(RuntimeSide, "_release", only_half)
    whys = [failure.why for failure in found(suite()).failures]
    assert any("the model is unloaded, and 1,048,576 bytes have not come back" in why for why in whys), whys


def test_a_record_that_outlives_its_job_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Records, "job_of", lambda self, ticket: None)
    assert any("never came" in failure.why for failure in found(suite()).failures)


def test_what_cannot_be_brought_about_is_said_with_what_there_is_instead() -> None:
    directed = Directed(CalrtStage, phase_a.PROFILE, dict(suite().scope), [])
    directed.do("load", {}, "client")
    directed.stage.arrange("create_calbin", "exception")
    with pytest.raises(CannotStage, match="validate is wanted; the executor's objection is 'create_calbin broke down"):
        directed.do("validate", {}, "engine")


def test_nothing_is_done_before_a_case_was_begun() -> None:
    with pytest.raises(RuntimeError, match="no case was begun"):
        ExecutorImplementation(CalrtStage, phase_a.PROFILE).world()
