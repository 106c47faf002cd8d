"""What a search has not put to the test is said, and only that."""

from __future__ import annotations

import pytest
from kiosk import ENDLESS, kiosk
from planting import planted

from calfsm.explore.judging import explore_whole
from calfsm.explore.vacuity import remarks
from calfsm.tables.executor import SYSTEM

ONE_OF_EACH = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}

NEVER_SERVED = ("when: till is open, fire: {c: serve}", "when: till is open and till.jams > 5, fire: {c: serve}")


def said(*edits: tuple[str, str], about: str = "", **options: int) -> list[str]:
    found = remarks(explore_whole(kiosk(*edits), **options))
    return [str(remark) for remark in found if about in ("", remark.about)]


def test_of_a_system_that_is_tried_whole_nothing_is_said() -> None:
    assert said() == []


def test_an_action_that_is_never_possible_is_named_with_the_conjunct_that_keeps_it() -> None:
    assert said(NEVER_SERVED, about="action") == ["action: serve is never possible", "action: leave is never possible"]
    assert said(NEVER_SERVED, about="guard") == ["guard: serve: `till.jams > 5` is never true"]


def test_states_never_entered_and_moves_never_made_are_named_by_machine() -> None:
    assert said(NEVER_SERVED, about="machine") == [
        "machine: customer is never served",
        "machine: customer never goes by serve from waiting",
    ]


def test_a_move_that_one_instance_makes_counts_for_the_machine() -> None:
    assert said(("count: people}, till", "count: people}, spare: {machine: till}, till")) == []


def test_an_alternative_that_is_never_taken_is_named_where_others_of_its_cell_are() -> None:
    two = "[{when: jams < 7, to: open}, {else: true, to: jammed, set: {jams: 0}}]"
    assert said(("jammed: {repair: open,", f"jammed: {{repair: {two},")) == [
        "machine: till never goes by repair from jammed to jammed"
    ]


def test_a_bound_that_is_never_reached_is_named_with_what_is() -> None:
    assert said(
        ("till is open and till.jams < most", "till is open and till.jams < 1"), ("explores: 1}}", "explores: 4}}")
    ) == ["bound: till.jams never exceeds 1; its highest value is 4"]


def test_a_conjunct_that_decides_nothing_is_named() -> None:
    guard = "when: till is open and till.jams < 9 and not (c is away), fire: {c"
    assert said(("when: till is open, fire: {c", guard), about="guard") == [
        "guard: serve: `till.jams < 9` is never false where what stands before it holds"
    ]


def test_a_conjunct_alone_that_is_always_true_is_named() -> None:
    assert said(("by: recovery, when: till is jammed", "by: recovery, when: till.jams < 9"), about="guard") == [
        "guard: repair: `till.jams < 9` is never false"
    ]


@pytest.mark.parametrize(
    ("property_", "expected"),
    [
        (
            "all(c is waiting for c in customers if till.jams > 4)",
            [
                "nobody is ever asked: what follows `if` never holds in "
                "`all(c is waiting for c in customers if till.jams > 4)`"
            ],
        ),
        (
            "all(c is away for c in customers if any(d is away for d in customers if d is served))",
            [
                "nobody is ever asked: what follows `if` never holds in "
                "`all(c is away for c in customers if any(d is away for d in customers if d is served))`"
            ],
        ),
        ("all(till.jams < 9 for c in customers if c is served)", []),
        ("till.jams < 5 or till is jammed", ["`till.jams < 5` always holds"]),
        ("till is jammed or till.jams < 5 or till is open", ["`till.jams < 5` always holds"]),
        ("not (till.jams < 5) or till is jammed or till is open", []),
    ],
)
def test_a_property_that_nothing_could_have_broken_is_named(property_: str, expected: list[str]) -> None:
    found = said(('"till is open or till.jams > 0"', f'"{property_}"'), about="property")
    assert found == [f"property: jams_are_counted: {text}" for text in expected]


def test_an_eventually_that_nobody_ever_waits_for_is_named() -> None:
    found = said(("from: c is waiting, to", "from: c is waiting and till.jams > 7, to"), about="property")
    assert found == [
        "property: everyone_is_served: nobody ever waits: "
        "`(c is waiting) and (till.jams > 7)` never holds before its end does"
    ]


def test_fairness_that_nothing_needs_is_named() -> None:
    for more in ("runtime", "clock"):
        assert said(("fair: [engine, recovery]", f"fair: [engine, recovery, {more}]")) == [
            f"fairness: what holds would hold as well if {more} were not fair"
        ]


def test_an_action_whose_fairness_nothing_needs_is_named() -> None:
    assert said(("fair: [engine, recovery]", "fair: [engine, recovery, jam]\nstrongly_fair: [leave]")) == [
        "fairness: what holds would hold as well if jam were not fair",
        "fairness: what holds would hold as well if leave were not fair",
    ]


def test_what_there_are_too_many_states_for_is_said_not_to_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = explore_whole(kiosk())
    monkeypatch.setattr(type(whole.runs), "__len__", lambda runs: 50_001)
    assert [str(remark) for remark in remarks(whole)] == [
        "fairness: not asked at this size whether what holds would hold as well without it"
    ]


def test_fairness_is_not_spoken_of_where_nothing_holds_by_it() -> None:
    assert said(*ENDLESS, ("fair: [engine, recovery]", "fair: [engine, recovery, clock]"), about="fairness") == []


def test_of_a_stopped_search_nothing_is_said() -> None:
    assert said(NEVER_SERVED, max_states=3) == []


def test_the_same_is_said_when_runs_are_not_judged() -> None:
    assert said(NEVER_SERVED, liveness_states=2) == said(NEVER_SERVED)


def test_what_the_executor_does_not_try_at_the_smallest_scope_is_resets_that_would_find_work() -> None:
    found = [str(remark) for remark in remarks(explore_whole(SYSTEM, ONE_OF_EACH))]
    assert not [text for text in found if text.startswith(("action", "property", "bound"))]
    assert "machine: buffer never goes by reset from preparing, submitted, running or completing" in found


def test_a_planted_guard_that_is_always_true_is_found_in_the_executor() -> None:
    system = planted(
        "executor.yaml", "when: decoding and in_flight < limit\n", "when: decoding and in_flight <= limit\n"
    )
    found = [str(remark) for remark in remarks(explore_whole(system, ONE_OF_EACH))]
    assert "guard: submit: `in_flight <= limit` is never false where what stands before it holds" in found
