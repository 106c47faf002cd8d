"""`eventually` and `home` of whole systems: planted faults are found, with lassos that the engine replays."""

from __future__ import annotations

import pytest
from kiosk import ENDLESS, kiosk, look_at_lasso, replayed
from planting import planted

from calfsm.explore.judging import HOME, Promise, explore_whole
from calfsm.explore.search import Verdict
from calfsm.explore.tell import counterexamples, ending
from calfsm.explore.what_if import without
from calfsm.tables.executor import SYSTEM

SERVED = "everyone_is_served"
ONE_OF_EACH = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}

FAULTS = {
    "a needed action that is missing": (
        [("  repair: {by: recovery, when: till is jammed, fire: {till: repair}}\n", "")],
        ["order(c=0)", "jam()"],
        [],
    ),
    "a source that is not fair": (
        [("fair: [engine, recovery]", "fair: [engine]")],
        ["order(c=0)", "jam()"],
        [],
    ),
    "nobody who is fair": ([("fair: [engine, recovery]", "fair: []")], ["order(c=0)"], []),
    "a fault that may come again and again": (
        ENDLESS,
        ["order(c=0)", "jam()"],
        ["repair()", "jam()"],
    ),
    "a service that stops for good": (
        [("when: till is open, fire: {c: serve}", "when: till is open and till.jams == 0, fire: {c: serve}")],
        ["order(c=0)", "jam()", "repair()"],
        [],
    ),
}


def test_whoever_waits_at_the_kiosk_is_served_in_the_end() -> None:
    whole = explore_whole(kiosk())
    assert whole.promises == {SERVED: Promise(Verdict.HOLDS), HOME: Promise(Verdict.HOLDS)}
    assert whole.holds and whole.broken == []
    assert whole.verdicts == {"jams_are_counted": Verdict.HOLDS, SERVED: Verdict.HOLDS, HOME: Verdict.HOLDS}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_with_a_lasso_that_replays(fault: str) -> None:
    edits, way, cycle = FAULTS[fault]
    whole = explore_whole(kiosk(*edits))
    assert whole.promises[SERVED].verdict is Verdict.BROKEN
    look_at_lasso(whole, SERVED)
    lasso = whole.promises[SERVED].lasso
    assert lasso is not None
    assert [whole.model.text(call) for call, _ in lasso.trace.steps] == way
    assert [whole.model.text(call) for call, _ in lasso.cycle] == cycle
    assert whole.promises[SERVED].picks == {"c": 0}
    assert not whole.holds and SERVED in whole.broken


def test_what_is_possible_now_and_then_is_counted_on_where_it_is_strongly_fair() -> None:
    weakly = explore_whole(kiosk(*ENDLESS))
    assert weakly.promises[SERVED].verdict is Verdict.BROKEN
    strongly = kiosk(*ENDLESS, ("fair: [engine, recovery]", "fair: [recovery]\nstrongly_fair: [serve]"))
    assert strongly.strongly_fair == ("serve",)
    assert explore_whole(strongly).promises[SERVED].verdict is Verdict.HOLDS
    by_source = kiosk(*ENDLESS, ("fair: [engine, recovery]", "fair: [recovery]\nstrongly_fair: [engine]"))
    assert explore_whole(by_source).promises[SERVED].verdict is Verdict.HOLDS


def test_what_is_strongly_fair_for_nothing_is_shown_by_a_lasso_that_is_fair_to_it() -> None:
    system = kiosk(*ENDLESS, ("fair: [engine, recovery]", "fair: [engine, recovery]\nstrongly_fair: [leave, repair]"))
    whole = explore_whole(system)
    assert whole.promises[SERVED].verdict is Verdict.BROKEN
    look_at_lasso(whole, SERVED)
    told = "\n".join(ending(whole.model, counterexamples(whole)[0]))
    assert "somewhere not possible, if strongly fair nowhere possible" in told


@pytest.mark.parametrize(
    ("fair", "holds"),
    [("[serve, repair]", True), ("[serve, leave]", False), ("[repair]", False), ("[serve, recovery]", True)],
)
def test_single_actions_may_be_fair(fair: str, holds: bool) -> None:
    whole = explore_whole(kiosk(("fair: [engine, recovery]", f"fair: {fair}")))
    assert (whole.promises[SERVED].verdict is Verdict.HOLDS) == holds
    if not holds:
        look_at_lasso(whole, SERVED)


def test_fairness_is_of_each_action_with_its_picks_and_not_of_a_source_as_a_whole() -> None:
    whole = explore_whole(kiosk(), {"people": 3})
    assert whole.promises[SERVED].verdict is Verdict.HOLDS


def test_a_client_may_stay_away_for_ever() -> None:
    whole = explore_whole(kiosk(("from: c is waiting, to: c is served", "from: c is away, to: c is waiting")))
    look_at_lasso(whole, SERVED)
    lasso = whole.promises[SERVED].lasso
    assert lasso is not None
    assert (lasso.trace.steps, lasso.cycle) == ((), ())


@pytest.mark.parametrize("limit", [3, 8])
def test_with_too_many_states_nothing_is_said_of_runs(limit: int) -> None:
    whole = explore_whole(kiosk(), liveness_states=limit)
    assert {promise.text for promise in whole.promises.values()} == {f"not judged: more than {limit} states"}
    assert {promise.verdict for promise in whole.promises.values()} == {Verdict.UNDECIDED}
    assert whole.result.holds and not whole.holds
    assert len(whole.graph) == 0


def test_the_graph_has_every_state_and_every_transition_of_the_search() -> None:
    whole = explore_whole(SYSTEM, ONE_OF_EACH)
    assert whole.graph.states == list(whole.result.parents)
    assert len(whole.graph.targets) == whole.result.transitions
    for number in (0, 1, 700, 5_000):
        assert whole.graph.trace(number) == whole.result.trace(whole.graph.states[number])


def test_with_just_enough_states_runs_are_judged() -> None:
    states = explore_whole(kiosk()).result.states
    assert explore_whole(kiosk(), liveness_states=states).holds


def test_a_stopped_search_never_says_that_a_promise_holds() -> None:
    whole = explore_whole(kiosk(), max_states=5)
    assert {promise.verdict for promise in whole.promises.values()} == {Verdict.UNDECIDED}
    assert {promise.text for promise in whole.promises.values()} == {"not broken so far"}


def test_a_stopped_search_tells_of_the_lasso_it_has_seen() -> None:
    whole = explore_whole(kiosk(("fair: [engine, recovery]", "fair: []")), max_states=5)
    assert whole.promises[SERVED].verdict is Verdict.BROKEN
    look_at_lasso(whole, SERVED)


def test_a_system_without_promises_keeps_no_graph() -> None:
    plain = kiosk(
        ("eventually:\n  everyone_is_served: {each: {c: customers}, from: c is waiting, to: c is served}\n", ""),
        ("fair: [engine, recovery]\n", ""),
        ("home: till is open and all(c is not served for c in customers)\n", ""),
    )
    whole = explore_whole(plain)
    assert (whole.promises, len(whole.graph.targets), whole.holds) == ({}, 0, True)


# ---- home


def test_home_must_be_reached_without_the_client() -> None:
    whole = explore_whole(kiosk(("home: till is open", "home: any(c is waiting for c in customers) and till is open")))
    trace = whole.promises[HOME].trace
    assert trace is not None and trace.steps == ()


def test_a_state_without_a_way_home_comes_with_a_shortest_way_there() -> None:
    whole = explore_whole(
        kiosk(("  repair: {by: recovery, when: till is jammed", "  repair: {by: client, when: till is jammed"))
    )
    trace = whole.promises[HOME].trace
    assert trace is not None
    assert [whole.model.text(call) for call, _ in trace.steps] == ["jam()"]
    replayed(whole, trace.steps)


# ---- the executor


def test_a_reset_of_the_executor_that_never_comes_is_found() -> None:
    never = planted(
        "executor.yaml", "when: busy == 0 and device.resets < max_resets,", "when: busy == 0 and busy == 1,"
    )
    whole = explore_whole(never, ONE_OF_EACH)
    trace = whole.promises[HOME].trace
    assert trace is not None
    assert whole.model.text(trace.steps[-1][0]) == "unhealthy()"
    replayed(whole, trace.steps)
    assert whole.promises["every_request_ends"].verdict is Verdict.HOLDS


def test_every_request_of_the_executor_ends_and_home_is_reached_again_from_everywhere() -> None:
    whole = explore_whole(SYSTEM, ONE_OF_EACH)
    assert {"every_request_ends", HOME} <= set(whole.promises)
    assert {promise.verdict for promise in whole.promises.values()} == {Verdict.HOLDS}
    assert whole.holds


def test_a_request_of_the_executor_that_every_reset_may_send_back_to_the_queue_is_found() -> None:
    before = "    step:     decoding\n    fail:     failed\n    deadline: expired\n    cancel:   cancelled\n"
    bounded = (
        "    reset:\n"
        "      - {when: restarts < max_restarts,  to: waiting, set: {kv: none, restarts: restarts + 1}}\n"
        "      - {when: restarts >= max_restarts, to: failed,  set: {kv: none}}\n"
    )
    system = planted("request.yaml", before + bounded, before + "    reset:    {to: waiting, set: {kv: none}}\n")
    whole = explore_whole(system, ONE_OF_EACH)
    assert whole.broken == ["every_request_ends"]
    look_at_lasso(whole, "every_request_ends")
    lasso = whole.promises["every_request_ends"].lasso
    assert lasso is not None
    assert {"accept_token(j=0)", "unhealthy()", "reset_done()"} <= {whole.model.text(call) for call, _ in lasso.cycle}


def test_a_request_of_the_executor_that_cannot_expire_or_be_given_up_waits_for_ever() -> None:
    patient = without(SYSTEM, ["unhealthy", "expire_waiting", "give_up"])
    whole = explore_whole(patient, ONE_OF_EACH)
    assert whole.promises["every_request_ends"].verdict is Verdict.BROKEN
    assert whole.promises["every_request_ends"].picks == {"r": 0}
    look_at_lasso(whole, "every_request_ends")
