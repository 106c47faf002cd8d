"""Counterexamples, told: what went wrong, for whom, and whether things then stand still or go on for ever."""

from __future__ import annotations

import pytest
from kiosk import ENDLESS, kiosk, texts

from calfsm.explore.judging import Whole, explore_whole
from calfsm.explore.search import Trace
from calfsm.explore.tell import Counterexample, counterexamples, ending, escaped, mermaid, preceded, pytest_text, told
from calfsm.explore.what_if import WhatIf, without

NO_REPAIR = ("  repair: {by: recovery, when: till is jammed, fire: {till: repair}}\n", "")
BY_HAND = ("  repair: {by: recovery, when: till is jammed", "  repair: {by: client, when: till is jammed")


def found_in(
    *edits: tuple[str, str], name: str = "everyone_is_served", **options: object
) -> tuple[Whole, Counterexample]:
    whole = explore_whole(kiosk(*edits), **options)  # type: ignore[arg-type]
    return whole, next(found for found in counterexamples(whole) if found.name == name)


def test_a_livelock_is_told_with_the_cycle_that_never_ends() -> None:
    assert told(*found_in(*ENDLESS)).splitlines() == [
        "everyone_is_served is broken for c=0: it may wait for ever; a way to where it does:",
        "  1. order(c=0)  [client]",
        "       customers[0]: away -> waiting",
        "  2. jam()  [runtime]",
        "       till: open -> jammed, jams = 1",
        "it has waited since step 1 (`c is waiting`) for `c is served`",
        "livelock: this can go on for ever; every fair action is taken on the way, or somewhere not possible:",
        "  3. repair()  [recovery]",
        "       till: jammed -> open",
        "  4. jam()  [runtime]",
        "       till: open -> jammed",
    ]


def test_a_standstill_names_what_could_still_happen_and_who_may_stay_away() -> None:
    assert ending(*found_in(NO_REPAIR))[-1] == "standstill: only order can happen, and client may stay away for ever"
    assert ending(*found_in(NO_REPAIR, ("fair: [engine, recovery]", "fair: []")))[-1] == (
        "standstill: only order, serve, jam can happen, and client and engine and runtime may stay away for ever"
    )


def test_a_deadlock_is_a_state_in_which_nothing_can_happen() -> None:
    alone = ("explores: 2}}", "explores: 1}}")
    whole, found = found_in(NO_REPAIR, alone)
    assert ending(whole, found)[-1] == "deadlock: nothing can happen any more"
    stuck = next(other for other in counterexamples(whole) if other.kind == "stuck")
    assert told(whole, stuck).splitlines()[0] == "stuck: a state in which nothing can happen; a shortest way there:"
    assert told(whole, stuck).splitlines()[-1] == "deadlock: nothing can happen any more"


def test_home_is_lost_by_standing_still_by_going_on_or_by_deadlock() -> None:
    everyone = (
        "home: till is open and all(c is not served for c in customers)",
        "home: all(c is waiting for c in customers)",
    )
    assert (
        ending(*found_in(everyone, name="home"))[-1] == "livelock: something can always happen, and nothing leads home"
    )
    assert ending(*found_in(BY_HAND, name="home"))[-1] == "standstill: only the client can act here"
    assert told(*found_in(BY_HAND, name="home")).startswith(
        "home cannot be reached again without the client; a shortest"
    )


@pytest.mark.parametrize(
    ("property_", "whom"),
    [
        ("all(c is not served for c in customers)", ": see customers[0]"),
        ("all(c is away for c in customers if till.jams == 1)", ": see customers[0]"),
        ("all(count(d for d in customers if d is served and c is away) == 0 for c in customers)", ": see customers[1]"),
        ("count(c for c in customers if c is served) < 2", ""),
        ("till is open", ""),
    ],
)
def test_a_broken_invariant_names_the_conjunct_and_the_instances_that_break_it(property_: str, whom: str) -> None:
    whole, found = found_in(
        ('"till is open or till.jams > 0"', f'"till.jams < 9 and ({property_})"'), name="jams_are_counted"
    )
    (text,) = ending(whole, found)
    assert text.startswith("`") and text.endswith(f"` does not hold{whom}")
    assert "till.jams < 9" not in text


def test_a_conjunct_that_divides_by_zero_is_told_so() -> None:
    assert ending(
        *found_in(('"till is open or till.jams > 0"', "1 // (1 - till.jams) > 0"), name="jams_are_counted")
    ) == ["`(1 // (1 - till.jams)) > 0` divides by zero"]


def test_a_sequence_diagram_has_a_loop_for_the_cycle() -> None:
    assert mermaid(*found_in(*ENDLESS)).splitlines()[:12] == [
        "sequenceDiagram",
        "  actor s0 as client",
        "  actor s1 as runtime",
        "  actor s2 as recovery",
        "  participant p0 as customers[0]",
        "  participant p1 as till",
        "  s0->>p0: 1 order(c=0)#58; away #45;#62; waiting",
        "  s1->>p1: 2 jam()#58; open #45;#62; jammed, jams = 1",
        "  loop for ever",
        "    s2->>p1: 3 repair()#58; jammed #45;#62; open",
        "    s1->>p1: 4 jam()#58; open #45;#62; jammed",
        "  end",
    ]


def test_a_step_that_changes_nothing_is_a_message_to_oneself() -> None:
    whole, found = found_in(*ENDLESS)
    idle = (found.trace.steps[0][0], found.trace.start)
    lines = mermaid(whole, Counterexample(found.name, "stuck", type(found.trace)(found.trace.start, (idle,))))
    assert "  s0->>s0: 1 order(c=0)\n" in lines


def test_a_diagram_of_no_step_at_all_is_still_one() -> None:
    whole, found = found_in(('"till is open or till.jams > 0"', "till is jammed"), name="jams_are_counted")
    assert mermaid(whole, found) == "sequenceDiagram\n"
    assert told(whole, found).splitlines()[-1] == "`till is jammed` does not hold"


def test_nothing_in_a_text_means_anything_to_mermaid() -> None:
    assert escaped("a; b: c # d -> `e`") == "a#59; b#58; c #35; d #45;#62; #96;e#96;"


def test_a_counterexample_that_began_elsewhere_is_told_from_the_beginning() -> None:
    whole, found = found_in(*ENDLESS)
    way = Trace(found.trace.start, found.trace.steps[:1])
    later = explore_whole(kiosk(*ENDLESS), what_if=WhatIf(start=way.end))
    again = preceded(next(other for other in counterexamples(later) if other.kind == "eventually"), way)
    assert again == found
    assert told(later, again) == told(whole, found)


def run_test_of(whole: Whole, found: Counterexample, specs: dict[str, str], tmp_path, bent: str = "") -> None:
    for name, text in specs.items():
        (tmp_path / name).write_text(text, "utf-8")
    text = pytest_text(whole, found, list(specs), bent)
    names: dict[str, object] = {"__file__": str(tmp_path / "test_it.py")}
    exec(compile(text, "test_it.py", "exec"), names)
    test = names[f"test_{found.name}"]
    assert callable(test)
    test()


@pytest.mark.parametrize("bent", ["", "without(system, ['leave'])"])
def test_the_test_of_a_counterexample_fails_with_the_fault_and_passes_without_it(tmp_path, bent: str) -> None:
    system = kiosk(*ENDLESS)
    whole = explore_whole(without(system, ["leave"]) if bent else system)
    found = next(other for other in counterexamples(whole) if other.name == "everyone_is_served")
    with pytest.raises(AssertionError, match="this can go on for ever"):
        run_test_of(whole, found, texts(*ENDLESS), tmp_path, bent)
    run_test_of(whole, found, texts(), tmp_path, bent)
