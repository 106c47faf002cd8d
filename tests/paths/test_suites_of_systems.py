"""Suites of systems: every action and every answer it can bring about; what of it cannot be, is said."""

from __future__ import annotations

import pytest

from calfsm.engine.engine import Engine
from calfsm.explore.search import Progress, search
from calfsm.explore.systems import SystemModel, flattened
from calfsm.paths.generate import answer_goals, system_suite
from calfsm.paths.run import Failure, SystemImplementation, run_suite, told
from calfsm.paths.suite import Case, Suite, SuiteStep, World, difference, worlds
from calfsm.tables.executor import SYSTEM

ONE_OF_EACH = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}


@pytest.fixture(scope="module")
def suite() -> Suite:
    return system_suite(SYSTEM, ONE_OF_EACH)


def test_a_suite_covers_every_action_and_every_answer_that_one_brings_about(suite: Suite) -> None:
    wanted: set[str] = set()
    model = SystemModel(SYSTEM, **ONE_OF_EACH)
    names = [answer_goals(rows) for rows in model.engine.rows]
    for state in search(model).parents:
        for call in model.actions(state):
            step = model.step(state, call)
            wanted.add(f"action: {step.action}")
            goals = [names[change.part][outcome] for change in step.changes for outcome in change.outcomes]
            wanted |= {f"{family}: {text}" for family, text in goals}
    covered = [goal for case in suite.cases for goal in case.covers]
    assert set(covered) == wanted
    assert len(covered) == len(wanted) == sum(suite.goals.values())
    assert {f"action: {row.name}" for row in SYSTEM.actions} <= wanted
    assert (suite.missing, suite.goals["action"]) == ((), len(SYSTEM.actions))


def test_the_engine_runs_the_suite_of_its_system_green(suite: Suite) -> None:
    report = run_suite(suite, SystemImplementation(SYSTEM))
    assert (report.failures, report.steps, report.passed) == ((), suite.steps, True)


def test_a_step_says_who_does_it_with_what_and_what_it_changes(suite: Suite) -> None:
    admit = next(step for case in suite.cases for step in case.steps if step.do == "admit")
    assert admit == SuiteStep(
        "admit", {"r": 0, "prompt": 1, "need": 1}, "client", False, {"requests": {"state": "waiting"}}
    )
    assert str(admit) == "admit(r=0, prompt=1, need=1)"


def test_the_world_is_known_after_every_step(suite: Suite) -> None:
    engine = Engine(SYSTEM, **suite.scope)
    for step, world in worlds(suite, suite.cases[0]):
        before = flattened(engine.described())
        engine.apply(step.do, **step.arguments)
        assert world == flattened(engine.described())
        assert step.then == difference(before, world)


def test_actions_that_never_happen_at_a_scope_are_named() -> None:
    small = system_suite(SYSTEM, ONE_OF_EACH, max_states=4)
    assert small.goals["action"] + len(small.missing) == len(SYSTEM.actions)
    assert "late_done" in small.missing and "load" not in small.missing


def test_generating_tells_how_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[Progress] = []
    covered: list[tuple[int, int]] = []
    told_of = lambda done, of: covered.append((done, of))  # noqa: E731
    made = system_suite(SYSTEM, ONE_OF_EACH, max_states=50, progress=searched.append, covered=told_of)
    assert covered[-1] == (sum(made.goals.values()),) * 2
    assert [done for done, _ in covered] == sorted(done for done, _ in covered)


def test_the_same_system_gives_the_same_suite(suite: Suite) -> None:
    assert system_suite(SYSTEM, ONE_OF_EACH) == suite


# ---- running


class Broken(SystemImplementation):
    """Goes wrong in one way at one step."""

    def __init__(self, at: str, how: str) -> None:
        super().__init__(SYSTEM)
        self.at, self.how, self.reached = at, how, False

    def begin(self, suite: Suite, case: Case) -> None:
        if self.at == "begin":
            raise OSError("no device")
        super().begin(suite, case)
        self.reached = False

    def do(self, step: SuiteStep) -> None:
        if step.do == self.at and self.how == "raises":
            raise ValueError("what is this?")
        if step.do != self.at or self.how != "does nothing":
            super().do(step)
        self.reached |= step.do == self.at

    def world(self) -> World:
        world = super().world()
        if self.reached and self.how == "loses an instance":
            del world["device"]
        if self.reached and self.how == "has one more":
            world["ghost"] = {"state": "here"}
        if self.reached and self.how == "has a variable more":
            world["device"]["mood"] = "fine"
        if self.reached and self.how == "breaks down":
            raise RuntimeError("lost")
        return world


@pytest.mark.parametrize(
    ("at", "how", "why"),
    [
        ("load", "does nothing", "model.state is unloaded, must be validating"),
        ("load", "raises", "ValueError: what is this?"),
        ("load", "loses an instance", "device.state is missing, must be ready; device.resets is missing, must be 0; "),
        ("load", "has one more", "ghost is not in the spec"),
        ("load", "has a variable more", "device.mood is not in the spec"),
        ("load", "breaks down", "RuntimeError: lost"),
    ],
)
def test_every_way_of_going_wrong_ends_its_case_and_says_so(suite: Suite, at: str, how: str, why: str) -> None:
    report = run_suite(suite, Broken(at, how))
    assert not report.passed
    assert len(report.failures) == len(suite.cases) == report.cases
    for failure, case in zip(report.failures, suite.cases, strict=True):
        step = case.steps[failure.number - 1]
        assert (failure.case, step.do, failure.step) == (case.name, at, str(step))
        assert failure.why.startswith(why)
    assert report.steps == sum(failure.number for failure in report.failures)


def test_an_implementation_that_cannot_begin_fails_every_case_at_its_start(suite: Suite) -> None:
    report = run_suite(suite, Broken("begin", ""))
    assert report.failures == tuple(Failure(case.name, 0, "start", "OSError: no device") for case in suite.cases)
    assert (report.steps, str(report.failures[0])) == (0, "executor-1, step 0, start: OSError: no device")


def test_an_implementation_that_begins_elsewhere_fails_at_its_start(suite: Suite) -> None:
    class Loaded(SystemImplementation):
        def begin(self, suite: Suite, case: Case) -> None:
            super().begin(suite, case)
            self.engine.apply("load")

    report = run_suite(suite, Loaded(SYSTEM))
    assert {failure.why for failure in report.failures} == {"model.state is validating, must be unloaded"}


def test_a_run_of_no_case_has_not_passed(suite: Suite) -> None:
    nothing = Suite("n", "system", "", {}, {}, {}, (), ())
    assert not run_suite(nothing, SystemImplementation(SYSTEM)).passed


def test_equal_worlds_do_not_differ() -> None:
    world = {"a": {"state": "x"}}
    assert told(world, {"a": {"state": "x"}}) == ""
    assert told(world, {"b": {}}) == "a.state is missing, must be x; b is not in the spec"
