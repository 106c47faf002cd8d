"""Resources: leaked, shared, used after release, never free again; each planted fault is found, and told."""

from __future__ import annotations

from typing import Any

import pytest
from planting import planted
from yard import YARD, yard

from calfsm.explore.along import broken_along
from calfsm.explore.compiled import explore_fast
from calfsm.explore.judging import explore_whole
from calfsm.explore.replay import why_broken
from calfsm.explore.search import Trace, Verdict
from calfsm.explore.tell import Counterexample, blamed, calls, counterexamples, ending, headline, preceded, told
from calfsm.explore.what_if import WhatIf, states_only

SHARED, LEAKED, KEPT, STRANDED = (
    f"tool_{claim}" for claim in ("has_one_holder", "is_not_leaked", "is_not_used_after_release", "comes_back")
)
ONE_OF_EACH = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}

NO_RELEASE = ("fire: {j: stop, j.item: release}", "fire: {j: stop}")
NO_MEND = ("  mend:  {by: recovery, pick: {i: items}, when: i is broken, fire: {i: mend}}\n", "")

FAULTS = {
    "a release that is dropped": (
        [NO_RELEASE],
        LEAKED,
        ["start(j=0, i=0)", "stop(j=0)"],
        "items[0] is leaked: it is `taken`, and nobody holds it; stop(j=0), step 2, let go of it, "
        "and jobs[0].item held it",
    ),
    "an item that is taken and not written down": (
        [(", set: {j.item: i}", "")],
        LEAKED,
        ["start(j=0, i=0)"],
        "items[0] is leaked: it is `taken`, and nobody holds it; start(j=0, i=0), step 1, took it for nobody",
    ),
    "items that are out before anybody comes": (
        [("free: {initial: true}, taken: {}", "free: {}, taken: {initial: true}")],
        LEAKED,
        [],
        "items[0] is leaked: it is `taken`, and nobody holds it; it begins so",
    ),
    "a reset that forgets the items": (
        [("all jobs: reset, all items: reset", "all jobs: reset")],
        LEAKED,
        ["start(j=0, i=0)", "reset()"],
        "items[0] is leaked: it is `taken`, and nobody holds it; reset(), step 2, let go of it, "
        "and jobs[0].item held it",
    ),
    "a reference that is written over": (
        [("when: j is idle, fire: {j: start,", "fire: {j: start,")],
        LEAKED,
        ["start(j=0, i=0)", "start(j=0, i=1)"],
        "items[0] is leaked: it is `taken`, and nobody holds it; start(j=0, i=1), step 2, let go of it, "
        "and jobs[0].item held it",
    ),
    "a release of what is held on to": (
        [("stop:  {to: idle, set: {item: none}}", "stop:  idle")],
        KEPT,
        ["start(j=0, i=0)", "stop(j=0)"],
        "items[0] is `free`, and jobs[0].item still refers to it; stop(j=0), step 2, gave it back",
    ),
    "a release of what another holds": (
        [
            (
                "  mend:  {by: recovery, pick",
                "  steal: {by: engine, pick: {i: items}, fire: {i: release}}\n  mend:  {by: recovery, pick",
            )
        ],
        KEPT,
        ["start(j=0, i=0)", "steal(i=0)"],
        "items[0] is `free`, and jobs[0].item still refers to it; steal(i=0), step 2, gave it back",
    ),
    "what is set aside and held on to": (
        [("fire: {j: stop, j.item: spoil}", "fire: {j.item: spoil}")],
        KEPT,
        ["start(j=0, i=0)", "spoil(j=0)"],
        "items[0] is `broken`, and jobs[0].item still refers to it; spoil(j=0), step 2, gave it back",
    ),
    "a reset that forgets the jobs": (
        [("all jobs: reset, all items: reset", "all items: reset")],
        KEPT,
        ["start(j=0, i=0)", "reset()"],
        "items[0] is `free`, and jobs[0].item still refers to it; reset(), step 2, gave it back",
    ),
    "an item that is not acquired": (
        [("fire: {j: start, i: acquire}", "fire: {j: start}")],
        KEPT,
        ["start(j=0, i=0)"],
        "items[0] is `free`, and jobs[0].item still refers to it; start(j=0, i=0), step 1, did not acquire it",
    ),
    "an acquire of a held item": (
        [("taken:  {release: free,", "taken:  {acquire: taken, release: free,")],
        SHARED,
        ["start(j=0, i=0)", "start(j=1, i=0)"],
        "items[0] has 2 holders: jobs[0].item since step 1 and jobs[1].item since step 2",
    ),
}


def found_in(*edits: tuple[str, str], name: str, **options: Any) -> tuple[Any, Counterexample]:
    whole = explore_whole(yard(*edits), **options)
    return whole.model, next(found for found in counterexamples(whole) if found.name == name)


def test_a_sound_resource_has_four_properties_and_all_hold() -> None:
    whole = explore_whole(yard())
    assert whole.verdicts == dict.fromkeys((SHARED, LEAKED, KEPT, STRANDED), Verdict.HOLDS)
    assert whole.holds and counterexamples(whole) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_by_a_shortest_trace_and_told(fault: str) -> None:
    edits, name, way, story = FAULTS[fault]
    model, found = found_in(*edits, name=name)
    assert [model.text(call) for call, _ in found.trace.steps] == way
    assert ending(model, found)[0] == story
    assert ending(model, found)[-1].startswith("`all(count(holder for holder in jobs if holder.item == item)")
    assert blamed(model, found)[0] == "items[0]"
    assert why_broken(model.system, model.engine.params, name, calls(model, found.trace.steps))


def test_everyone_who_is_leaked_is_told_of() -> None:
    model, found = found_in(("free: {initial: true}, taken: {}", "free: {}, taken: {initial: true}"), name=LEAKED)
    assert [line.partition(" is")[0] for line in ending(model, found)[:-1]] == ["items[0]", "items[1]"]


def test_the_one_instance_of_a_part_goes_by_its_name() -> None:
    one = [("count: people", "count: 1"), ("machine: item, count: 2", "machine: item, count: 1")]
    model, found = found_in(NO_RELEASE, *one, name=LEAKED)
    assert ending(model, found)[0].endswith("let go of it, and jobs.item held it")
    assert ending(model, found)[0].startswith("items is leaked")


# ---- what never comes back


def test_what_nobody_mends_never_comes_back() -> None:
    model, found = found_in(NO_MEND, name=STRANDED)
    assert told(model, found).splitlines() == [
        "tool_comes_back is broken for tool=0: it cannot be free again without the client; "
        "a shortest way to where that is so:",
        "  1. start(j=0, i=0)  [client]",
        "       jobs[0]: idle -> working, item = items[0]",
        "       items[0]: free -> taken",
        "  2. spoil(j=0)  [runtime]",
        "       jobs[0]: working -> idle, item = none",
        "       items[0]: taken -> broken",
        "items[0] is `broken` since step 2, held by nobody",
        "livelock: something can always happen, and nothing leads back",
    ]
    assert blamed(model, found) == ["items[0]"]


def test_what_only_the_client_gives_back_does_not_come_back() -> None:
    edits = [("by: engine,   pick: {j: jobs}, fire: {j: stop", "by: client,   pick: {j: jobs}, fire: {j: stop")]
    gone = ("  spoil: {by: runtime,  pick: {j: jobs}, fire: {j: stop, j.item: spoil}}\n", "")
    by_hand = ("  reset: {by: recovery, fire", "  reset: {by: client, fire")
    model, found = found_in(*edits, gone, by_hand, name=STRANDED)
    assert ending(model, found)[0] == "items[0] is `taken` since step 1, held by jobs[0].item"
    assert explore_whole(yard(*edits, gone)).holds, "a reset gives it back"


def test_unless_excuses_the_states_in_which_it_holds() -> None:
    excused = ("held_by: {jobs: item}}", "held_by: {jobs: item}, unless: any(i is broken for i in items)}")
    assert explore_whole(yard(NO_MEND, excused)).promises[STRANDED].verdict is Verdict.HOLDS
    elsewhere = ("held_by: {jobs: item}}", "held_by: {jobs: item}, unless: any(i is taken for i in items)}")
    promise = explore_whole(yard(NO_MEND, elsewhere)).promises[STRANDED]
    assert promise.verdict is Verdict.BROKEN, "that it may hold again later is no excuse"


def test_what_is_excused_is_no_counterexample_when_it_is_replayed() -> None:
    excused = ("held_by: {jobs: item}}", "held_by: {jobs: item}, unless: any(i is broken for i in items)}")
    whole = explore_whole(yard(NO_MEND))
    model, found = whole.model, counterexamples(whole)[0]
    way = calls(model, found.trace.steps)
    why = why_broken(model.system, model.engine.params, STRANDED, way, picks={"tool": 0})
    assert why == "without the client it never holds again that item is free"
    assert not why_broken(model.system, model.engine.params, STRANDED, way, picks={"tool": 1}), "another item is free"
    assert not why_broken(yard(NO_MEND, excused), model.engine.params, STRANDED, way, picks={"tool": 0})


def test_unless_may_speak_of_a_part_called_item() -> None:
    text = YARD.replace("parts: {", "parts: {item: {machine: job}, ")
    text = text.replace("held_by: {jobs: item}}", "held_by: {jobs: item}, unless: item is working}")
    (row,) = yard((YARD, text)).resources
    assert row.back is not None and row.back.term == ("state", 2, ("arg", 0), (0,))
    assert row.unless is not None and row.unless.term == ("state", 0, ("int", 0), (1,))


def test_it_is_judged_along_one_way_too() -> None:
    model, found = found_in(NO_MEND, name=STRANDED)
    (again,) = broken_along(model, found.trace, STRANDED)
    assert (again.name, again.kind, again.picks) == (found.name, found.kind, found.picks)
    assert headline(again) == headline(found)
    assert broken_along(model, Trace(found.trace.start, found.trace.steps[:1]), STRANDED) == []


def test_above_the_limit_of_states_it_is_not_judged_and_leaks_are() -> None:
    whole = explore_whole(yard(NO_RELEASE), liveness_states=3)
    assert whole.promises[STRANDED].text == "not judged: more than 3 states"
    assert whole.verdicts[LEAKED] is Verdict.BROKEN and not whole.holds


def test_states_only_leaves_out_what_comes_back_and_tells_of_leaks_as_ever() -> None:
    whole = explore_whole(states_only(yard(NO_RELEASE, NO_MEND)))
    assert whole.promises == {}
    (found,) = counterexamples(whole)
    assert ending(whole.model, found)[0].startswith("items[0] is leaked")


# ---- several holders


TWO_HANDS = [
    ("held_by: {jobs: item}}", "held_by: {jobs: [item, spare]}}"),
    (
        "  reset: {by: recovery, fire",
        "  swap:  {by: engine, pick: {j: jobs}, when: j.item != none and j.spare == none, fire: {j.item: mend},"
        " set: {j.spare: j.item, j.item: none}}\n  reset: {by: recovery, fire",
    ),
    ("reset: {to: idle, set: {item: none}}", "reset: {to: idle, set: {item: none, spare: none}}"),
]


def test_a_resource_may_pass_from_one_reference_to_another() -> None:
    whole = explore_whole(yard(*TWO_HANDS))
    assert whole.holds
    swapped = [state for state in whole.result.parents if any(spare >= 0 for _, spare in state[2])]
    assert swapped, "the other hand has held one"


def test_two_references_of_one_holder_are_two_holders() -> None:
    copied = (TWO_HANDS[1][0], TWO_HANDS[1][1].replace(", j.item: none}", "}"))
    model, found = found_in(TWO_HANDS[0], copied, TWO_HANDS[2], name=SHARED)
    assert ending(model, found)[0] == "items[0] has 2 holders: jobs[0].item since step 1 and jobs[0].spare since step 2"


# ---- the search as compiled code, and a way that was gone before


def test_the_compiled_search_judges_what_follows_from_resources() -> None:
    pytest.importorskip("numba")
    _, result = explore_fast(yard(NO_RELEASE), {"people": 2}, engine="compiled")
    assert result.verdicts == {SHARED: Verdict.HOLDS, LEAKED: Verdict.BROKEN, KEPT: Verdict.HOLDS}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_search_that_begins_broken_says_so(fault: str) -> None:
    edits, name, *_ = FAULTS[fault]
    model, found = found_in(*edits, name=name)
    again = explore_whole(model.system, what_if=WhatIf(found.trace.end))
    (begun,) = [other for other in counterexamples(again) if other.name == name]
    assert begun.trace.steps == ()
    wanted = "jobs[0].item since step 0 and jobs[1].item since step 0" if name == SHARED else "it begins so"
    assert ending(again.model, begun)[0].endswith(wanted)


def test_a_way_before_is_counted_in() -> None:
    model, found = found_in(NO_RELEASE, name=LEAKED)
    (call, after), *_ = found.trace.steps
    rest = Counterexample(found.name, found.kind, Trace(after, found.trace.steps[1:]))
    assert ending(model, preceded(rest, Trace(found.trace.start, ((call, after),)))) == ending(model, found)


# ---- the real specs


PLANTED = {
    "a release that is dropped": (
        ("executor.yaml/actions/release_lane", "fire: {r: release, r.kv: release}", "fire: {r: release}"),
        "kv_lane_is_not_leaked",
        "kvs is leaked: it is `held`, and nobody holds it; release_lane(r=0), step 8, let go of it, "
        "and requests.kv held it",
    ),
    "a release that is repeated": (
        ("request.yaml/transitions/cancelled/release", ", set: {kv: none}}", "}"),
        "kv_lane_is_not_used_after_release",
        "kvs is `vacant`, and requests.kv still refers to it; release_lane(r=0), step 8, gave it back",
    ),
    "a reset that forgets the lanes": (
        ("executor.yaml/actions/reset_done", "all kvs: reset, ", ""),
        "kv_lane_is_not_leaked",
        "kvs is leaked: it is `held`, and nobody holds it; reset_done(), step 10, let go of it, "
        "and requests.kv held it",
    ),
    "a buffer that is acquired from quarantine": (
        ("buffer.yaml/transitions/quarantined", "{to: free, set: {tainted: false}}", "{to: preparing}"),
        "pool_item_is_not_leaked",
        "buffers is leaked: it is `preparing`, and nobody holds it; rebuilt(b=0), step 7, took it for nobody",
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_fault_planted_in_the_executor_is_found_and_told(fault: str) -> None:
    edit, name, story = PLANTED[fault]
    whole = explore_whole(states_only(planted(*edit)), ONE_OF_EACH)
    found = next(found for found in counterexamples(whole) if found.name == name)
    assert ending(whole.model, found)[0] == story


def test_a_lane_that_no_reset_empties_never_comes_back() -> None:
    whole = explore_whole(
        planted("kv.yaml/transitions/unknown", "reset: vacant", "reset: {stay: For ever.}"), ONE_OF_EACH
    )
    found = next(found for found in counterexamples(whole) if found.name == "kv_lane_comes_back")
    assert found.picks == {"kv_lane": 0}
    assert ending(whole.model, found)[0].startswith("kvs is `unknown` since step ")
