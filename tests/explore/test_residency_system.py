"""The system *residency*: what it promises holds for one resident and for two, and planted faults are found."""

from __future__ import annotations

import attrs
import pytest
from acting import at, do, states, strays_without
from planting import original, planted

from calfsm.engine.engine import ActionRefused
from calfsm.engine.system import System
from calfsm.explore.judging import Whole, explore_whole
from calfsm.explore.reduced import explore_reduced
from calfsm.explore.search import Verdict
from calfsm.explore.systems import explore, story
from calfsm.explore.vacuity import remarks

TWO_RESIDENTS = {"capacity": 2, "max_rejects": 0, "max_resets": 0}
"""A composite calbin. The first thing that goes wrong takes the device offline."""
ENDINGS = {"accept_last", "cancel", "expire", "cut", "give_up", "wait_timeout", "reset_done"}
"""What may end a request."""
FAULTS = {
    "turn_away",
    "room_timeout",
    "configure_failed",
    "configure_timeout",
    "warm_failed",
    "warm_timeout",
    "release_failed",
    "release_timeout",
    "submit_rejected",
    "wait_timeout",
    "unhealthy",
}


@pytest.fixture(scope="module")
def system() -> System:
    return original("residency").compiled()


@pytest.fixture(scope="module")
def whole(system: System) -> Whole:
    return explore_whole(system)


def test_everything_holds_when_the_device_holds_one_model(whole: Whole) -> None:
    assert {name for name, verdict in whole.verdicts.items() if verdict is not Verdict.HOLDS} == set()
    assert {"every_request_ends", "every_load_ends", "every_unload_ends", "home"} <= set(whole.verdicts)
    assert (whole.result.states, whole.result.transitions, whole.result.depth) == (39_764, 246_406, 44)


def test_what_is_never_tried_there_takes_two_residents(whole: Whole) -> None:
    untried = remarks(attrs.evolve(whole, runs=None))  # not asked about fairness: that is slow
    assert {remark.what for remark in untried if remark.about == "action"} == {
        f"{action} is never possible" for action in ("load_beside", "switch", "adopt", "unload")
    }
    assert {remark.what for remark in untried if remark.about == "machine"} == {"alias never goes by move from up"}
    assert {remark.what.partition(":")[0] for remark in untried if remark.about == "guard"} == {
        *("load_beside", "switch", "adopt", "unload"),
        "unload_named",
    }
    assert {remark.about for remark in untried} == {"action", "machine", "guard"}


def test_everything_holds_when_the_device_holds_two_models(system: System) -> None:
    whole = explore_reduced(system, TWO_RESIDENTS, liveness_states=0)
    assert set(whole.result.verdicts.values()) == {Verdict.HOLDS}
    stands_for = whole.stands_for
    assert stands_for is not None
    assert (whole.result.states, stands_for.states, stands_for.transitions) == (51_812, 102_844, 724_984)
    assert {row.name for row in system.actions if not stands_for.fired.get(row.name)} == {"start_reset"}


def test_nothing_but_its_own_end_ends_a_request_whoever_comes_and_goes(whole: Whole) -> None:
    model = whole.model
    part = model.system.part_index("requests")
    table = model.system.parts[part].table
    open_ = {index for index, row in enumerate(table.states) if row.name in {"waiting", "running", "held"}}
    ended = {index for index, row in enumerate(table.states) if row.outcome}
    for state in whole.result.parents:
        if state[part][0] in open_:
            for call in model.actions(state):
                if model.next(state, call)[part][0] in ended:
                    assert model.system.actions[call[0]].name in ENDINGS


def test_without_further_faults_everything_comes_back_unless_the_device_went_offline(whole: Whole) -> None:
    """Stronger than `home`, which a device that may always go offline always reaches."""
    assert strays_without(whole, FAULTS) == []


# ---- stories


def loaded(number: int) -> tuple[str, ...]:
    return (f"load {number}", *placed(number), "publish")


def placed(number: int) -> tuple[str, ...]:
    return (f"validate {number}", f"place {number}", f"configured {number}", f"warmed {number}")


RESET = ("start_reset", "reset_done", "rebuilt 0")


def test_a_replaced_model_ends_what_it_began_and_the_new_one_serves_who_waited(system: System) -> None:
    engine = at(system, *loaded(0), "admit 0", "admit 1", "start 0 0", requests=3, jobs=2)
    do(engine, "replace 1", "validate 1")
    for refused in ("admit 2", "start 1 1", "place 1", "drained 0"):
        with pytest.raises(ActionRefused):
            do(engine, refused)
    do(engine, "submit 0", "device_done 0", "done 0", "accept_token 0", "step 0 0")  # it goes on while it drains
    do(engine, "submit 0", "device_done 0", "done 0", "accept_last 0", "release 0", "drained 0", "released 0")
    do(engine, "place 1", "configured 1", "warmed 1", "publish", "start 1 0")
    assert states(engine, "models") == ["unloaded", "ready"]
    assert states(engine, "requests") == ["finished", "running", "vacant"]


def test_a_failed_load_leaves_nothing_and_the_old_model_comes_back(system: System) -> None:
    engine = at(system, *loaded(0), "replace 1", "validate 1", "drained 0", "released 0", "place 1", "configured 1")
    do(engine, "warm_failed 1")
    assert (states(engine, "models"), states(engine, "alias")) == (["unloaded", "failed"], ["down"])
    assert not engine.would("load", m=0)  # the memory of the other one has not come back
    do(engine, "let_go", "cleanup 1", "released 1", *loaded(0), "admit 0")
    assert (states(engine, "models"), states(engine, "memory")) == (["ready", "unloaded"], ["placed", "absent"])


def test_a_load_that_is_called_off_waits_for_the_call_that_is_under_way(system: System) -> None:
    engine = at(system, "load 0", "validate 0", "place 0", "unload_named 0")
    assert not engine.would("cleanup", m=0)
    do(engine, "configured_in_vain 0", "cleanup 0", "released 0")
    assert (states(engine, "models"), states(engine, "memory")) == (["unloaded", "unloaded"], ["absent", "absent"])


def test_the_alias_moves_in_one_step_when_both_are_there(system: System) -> None:
    engine = at(system, *loaded(0), "admit 0", "start 0 0", "load_beside 1", *placed(1), capacity=2, requests=2)
    do(engine, "switch 1")
    assert (states(engine, "models"), states(engine, "alias")) == (["draining", "ready"], ["up"])
    do(engine, "admit 1", "submit 0", "device_done 0", "done 0", "accept_token 0", "step 0 0")
    assert engine.value("requests", 0, "model") == 0


def test_a_completion_of_a_job_of_another_model_touches_nothing(system: System) -> None:
    engine = at(system, *loaded(0), "admit 0", "start 0 0", "submit 0", "wait_timeout 0", "device_done_late 0", *RESET)
    do(engine, "retire 0", "unload_named 0", "cleanup 0", "released 0", *loaded(1), "admit 0", "start 0 0", "submit 0")
    before = {part: states(engine, part) for part in (row.name for row in system.parts)}
    assert (before["jobs"], before["completions"]) == (["submitted"], ["old"])
    do(engine, "late_done 0")
    assert {part: states(engine, part) for part in before} == {**before, "completions": ["empty"]}


def test_a_prepared_job_does_not_survive_a_reset_or_an_unload(system: System) -> None:
    engine = at(system, *loaded(0), "admit 0", "start 0 0", "unhealthy", "start_reset", "reset_done")
    assert not engine.would("submit", r=0)
    do(engine, "validate 0", "place 0", "configured 0", "warmed 0", "publish", "unload_named 0")
    assert not engine.would("drained", m=0)  # what is prepared counts
    do(engine, "drop_stale 0", "drained 0")


def test_a_written_completion_is_not_taken_for_a_hang(system: System) -> None:
    engine = at(system, *loaded(0), "admit 0", "start 0 0", "submit 0")
    assert engine.would("wait_timeout", r=0)
    do(engine, "device_done 0")
    assert not engine.would("wait_timeout", r=0)


# ---- faults


PLANTED: dict[str, tuple[str, str, str, str, list[str], int]] = {
    "a load that is called off before its call has answered": (
        "resident.yaml/transitions/configuring",
        "unload:            {to: configuring, set: {leaving: true}}",
        "unload:            failed",
        "unloaded_is_gone",
        ["cleanup(m=0)", "released(m=0)"],
        6,
    ),
    "a release that is said before the memory was seen to come back": (
        "residency.yaml/actions/released",
        "fire: {m: released, m.memory: free}",
        "fire: {m: released}",
        "unloaded_is_gone",
        ["cleanup(m=0)", "released(m=0)"],
        7,
    ),
    "a new model that is placed while the old one is being released": (
        "residency.yaml/define",
        "m not in {unloaded, validating, checked}",
        "m in {configuring, warming, ready, draining}",
        "residents_fit",
        ["drained(m=0)", "place(m=1)"],
        10,
    ),
    "a drain that counts the KV and not what is prepared": (
        "resident.yaml/transitions/draining",
        "when: jobs_out == 0 and kv_out == 0",
        "when: kv_out == 0",
        "a_leaving_model_idles",
        ["unload_named(m=0)", "drained(m=0)"],
        17,
    ),
    "a prepared job that is current after a reset": (
        "generation_job.yaml/transitions/preparing",
        "reset: {to: preparing, set: {current: false}}",
        "reset: preparing",
        "a_current_job_has_a_model",
        ["start_reset()", "reset_done()"],
        11,
    ),
    "a late completion that is taken for news": (
        "residency.yaml/actions/late_done",
        "fire: {j: late,",
        "fire: {j: done,",
        "a_job_in_hand_is_untouched",
        ["submit(r=0)", "late_done(j=0)"],
        24,
    ),
    "an alias that is published before the golden run": (
        "residency.yaml/actions/publish",
        "when: alias.model is ready,",
        'when: "alias.model in {warming, ready}",',
        "the_alias_serves",
        ["configured(m=0)", "publish()"],
        5,
    ),
    "a replace that goes on admitting": (
        "residency.yaml/actions/replace",
        ", alias: withdraw",
        "",
        "the_alias_serves",
        ["publish()", "replace(new=1)"],
        7,
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_by_a_shortest_trace(fault: str) -> None:
    where, old, new, property_, ending, length = PLANTED[fault]
    model, result = explore(planted(where, old, new, "residency"), first_only=True)
    trace = result.counterexamples[property_]
    calls = [line.call for line in story(model, trace)]
    assert (calls[-2:], len(calls)) == (ending, length)


SERVE_ONE = ("admit 0", "rebuilt 0", "start 0 0", "submit 0", "device_done 0", "done 0", "accept_last 0", "release 0")
LASSOS = {
    "a reset that does not end a release": (
        "resident.yaml/transitions/failed",
        "- {when: jobs_out == 0, to: unloaded}",
        "- {when: jobs_out == 0, stay: The release is still to be answered for.}",
        (*loaded(1), "load_beside 0", "unload 0"),
        ("cleanup 0", "release_failed 0", "start_reset", "reset_done", *placed(1), "publish", *SERVE_ONE, "retire 0"),
        "failed",
    ),
    "a load that waits for room without a deadline": (
        "residency.yaml/actions",
        "  room_timeout: {by: clock, pick: {m: models}, when: m is checked, fire: {m: room_timeout}}\n",
        "",
        (*loaded(1), "load_beside 0", "validate 0"),
        ("unhealthy", "start_reset", "reset_done", *placed(1), "publish", *SERVE_ONE, "retire 0"),
        "checked",
    ),
}


@pytest.mark.parametrize("fault", LASSOS)
def test_one_model_waits_for_ever_while_the_other_gives_the_device_its_budget_back(fault: str) -> None:
    """Lassos that were found where the device holds two: to search for them takes a minute, to replay them does not."""
    where, old, new, way, around, waits = LASSOS[fault]
    engine = at(planted(where, old, new, "residency"), *way, capacity=2)
    before = engine.snapshot()
    do(engine, *around)
    assert engine.snapshot() == before
    assert states(engine, "models") == [waits, "ready"]
