"""What if: other systems, other beginnings, other ways to go on; and whether a counterexample still is one."""

from __future__ import annotations

import pytest
from kiosk import ENDLESS, kiosk

from calfsm.explore.judging import HOME, explore_whole
from calfsm.explore.replay import STUCK, why_broken
from calfsm.explore.search import Verdict, search
from calfsm.explore.systems import SystemModel
from calfsm.explore.what_if import WhatIf, changed, only, without
from calfsm.tables.executor import SYSTEM

SCOPE = {"people": 2, "most": 1}
SERVED = "everyone_is_served"


def test_a_system_without_an_action_is_the_same_but_for_it() -> None:
    system = kiosk()
    less = without(system, ["jam", "leave"])
    assert [row.name for row in less.actions] == ["order", "serve", "repair"]
    assert changed(less, actions=system.actions) == system
    assert [row.name for row in only(system, ["client", "engine"]).actions] == ["order", "serve", "leave"]


def test_a_fault_that_cannot_happen_breaks_nothing() -> None:
    assert explore_whole(kiosk(*ENDLESS)).broken == [SERVED]
    assert explore_whole(without(kiosk(*ENDLESS), ["jam"])).holds


def test_a_search_may_begin_elsewhere() -> None:
    system = kiosk()
    whole = explore_whole(system)
    jammed = next(state for state in whole.result.parents if not whole.model.condition(system.home.term)(state))
    later = explore_whole(system, what_if=WhatIf(start=jammed))
    assert next(iter(later.result.parents)) == jammed
    assert later.result.trace(jammed).steps == ()


def test_states_in_which_what_is_held_does_not_hold_are_seen_and_not_gone_on_from() -> None:
    system = kiosk()
    held = next(row for row in system.always if row.name == "jams_are_counted").conditions[0].term
    assert explore_whole(system, what_if=WhatIf(held=held)).result.states == explore_whole(system).result.states
    nobody = ("==", ("count", 0, 0, ("state", 0, ("bound", 0), (1,))), ("int", 0))  # nobody is waiting
    whole = explore_whole(system, what_if=WhatIf(held=nobody))
    waiting = [state for state in whole.result.parents if 1 in state[0]]
    assert waiting and all(list(whole.model.actions(state)) for state in waiting)
    assert all(2 not in state[0] for state in whole.result.parents)
    assert whole.result.stuck is None
    assert whole.result.complete
    # What happens after somebody waits was not looked at: it is not held against anyone.
    assert {name: promise.verdict for name, promise in whole.promises.items()} == dict.fromkeys(
        [SERVED, HOME], Verdict.HOLDS
    )


def test_a_search_that_is_gone_on_from_nowhere_sees_where_it_begins() -> None:
    result = search(SystemModel(kiosk()), go_on=lambda state: False)
    assert (result.states, result.transitions, result.stuck, result.complete) == (1, 0, None, True)


# ---- replaying


def test_a_lasso_is_none_any_more_where_its_end_comes_where_it_does_not_close_or_where_it_is_not_fair() -> None:
    trace, cycle = [("order", {"c": 0}), ("jam", {})], [("repair", {}), ("jam", {})]
    args = SERVED, trace, cycle, {"c": 0}
    assert why_broken(kiosk(*ENDLESS), SCOPE, *args) == "this can go on for ever, and it never holds that c is served"
    assert why_broken(kiosk(), SCOPE, *args) == ""
    assert why_broken(kiosk(*ENDLESS), SCOPE, SERVED, trace, cycle[:1], {"c": 0}) == ""
    assert why_broken(kiosk(*ENDLESS), SCOPE, SERVED, trace, cycle, {"c": 1}) == ""
    assert why_broken(kiosk(*ENDLESS), SCOPE, SERVED, trace, [], {"c": 0}) == ""
    unfair = kiosk(*ENDLESS, ("fair: [engine, recovery]", "fair: [engine]"))
    nothing = "nothing more needs to happen, and it never holds that c is served"
    assert why_broken(unfair, SCOPE, SERVED, trace, [], {"c": 0}) == nothing
    served = [("repair", {}), ("serve", {"c": 0}), ("leave", {"c": 0}), ("order", {"c": 0}), ("jam", {})]
    assert why_broken(kiosk(*ENDLESS), SCOPE, SERVED, trace, served, {"c": 0}) == ""


def test_a_wait_that_ended_on_the_way_is_none() -> None:
    way = [("order", {"c": 0}), ("serve", {"c": 0}), ("leave", {"c": 0}), ("jam", {})]
    assert why_broken(kiosk(*ENDLESS), SCOPE, SERVED, way, [("repair", {}), ("jam", {})], {"c": 0}) == ""


def test_a_fair_action_that_is_taken_on_the_cycle_is_not_put_off() -> None:
    idle = without(kiosk(("by: recovery, when: till is jammed, fire", "by: recovery, fire")), ["serve", "jam"])
    assert why_broken(idle, SCOPE, SERVED, [("order", {"c": 0})], [("repair", {})], {"c": 0}).startswith("this can go")
    assert why_broken(idle, SCOPE, SERVED, [("order", {"c": 0})], [], {"c": 0}) == ""


def test_an_invariant_is_broken_where_it_is_on_the_way() -> None:
    broken = kiosk(("or till.jams > 0", "or till.jams > 1"))
    trace = [("jam", {}), ("repair", {})]
    assert why_broken(broken, SCOPE, "jams_are_counted", trace) == (
        "after step 1 it does not hold that (till is open) or (till.jams > 1)"
    )
    assert why_broken(kiosk(), SCOPE, "jams_are_counted", trace) == ""


def test_home_is_found_again_or_not() -> None:
    by_hand = kiosk(("repair: {by: recovery, when: till is jammed", "repair: {by: client, when: till is jammed"))
    assert why_broken(by_hand, SCOPE, HOME, [("jam", {})]).startswith("without the client it never holds again that")
    assert why_broken(kiosk(), SCOPE, HOME, [("jam", {})]) == ""


def test_a_state_is_stuck_or_not() -> None:
    once = without(kiosk(), ["leave", "jam"])
    way = [("order", {"c": c}) for c in (0, 1)] + [("serve", {"c": c}) for c in (0, 1)]
    assert why_broken(once, SCOPE, STUCK, way) == "nothing can happen any more"
    assert why_broken(kiosk(), SCOPE, STUCK, way) == ""


def test_what_there_is_not_cannot_be_replayed() -> None:
    with pytest.raises(KeyError):
        why_broken(kiosk(), SCOPE, "no_such_property", [])
    with pytest.raises(TypeError, match="has no action 'fly'"):
        why_broken(kiosk(), SCOPE, SERVED, [("fly", {})])


def test_every_counterexample_of_the_executor_is_one_when_it_is_replayed() -> None:
    from calfsm.explore.tell import calls, counterexamples

    patient = without(SYSTEM, ["unhealthy", "expire_waiting", "give_up"])
    scope = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}
    whole = explore_whole(patient, scope)
    found = counterexamples(whole)
    assert found
    for each in found:
        trace, cycle = calls(whole.model, each.trace.steps), calls(whole.model, each.cycle)
        assert why_broken(patient, scope, each.name, trace, cycle, each.picks)
