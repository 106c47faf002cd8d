"""Counterexamples, told: what went wrong, for whom, and whether things then stand still or go on for ever."""

from __future__ import annotations

import pytest
from kiosk import ENDLESS, kiosk, texts

from calfsm.explore.judging import explore_whole
from calfsm.explore.search import Trace
from calfsm.explore.systems import SystemModel
from calfsm.explore.tell import Counterexample, blamed, counterexamples, ending, headline, preceded, pytest_text, told
from calfsm.explore.what_if import WhatIf, without

NO_REPAIR = ("  repair: {by: recovery, when: till is jammed, fire: {till: repair}}\n", "")
BY_HAND = ("  repair: {by: recovery, when: till is jammed", "  repair: {by: client, when: till is jammed")


def found_in(
    *edits: tuple[str, str], name: str = "everyone_is_served", **options: object
) -> tuple[SystemModel, Counterexample]:
    whole = explore_whole(kiosk(*edits), **options)  # type: ignore[arg-type]
    return whole.model, next(found for found in counterexamples(whole) if found.name == name)


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
        "standstill: only order, serve, jam can happen, and client, engine and runtime may stay away for ever"
    )


def test_a_deadlock_is_a_state_in_which_nothing_can_happen() -> None:
    alone = ("explores: 2}}", "explores: 1}}")
    model, found = found_in(NO_REPAIR, alone)
    assert ending(model, found)[-1] == "deadlock: nothing can happen any more"
    stuck = found_in(NO_REPAIR, alone, name="stuck")[1]
    assert told(model, stuck).splitlines()[0] == "stuck: a state in which nothing can happen; a shortest way there:"
    assert told(model, stuck).splitlines()[-1] == "deadlock: nothing can happen any more"


@pytest.mark.parametrize(
    ("kind", "picks", "said"),
    [
        ("always", {}, "is broken where it begins:"),
        ("eventually", {"c": 1}, "is broken for c=1 where it begins: it may wait for ever:"),
        ("home", {"c": 1}, "is broken for c=1 where it begins: it cannot be free again without the client:"),
        ("home", {}, "cannot be reached again without the client from where it begins:"),
        ("stuck", {}, "nothing can happen where it begins:"),
    ],
)
def test_no_way_is_announced_where_there_is_no_step(kind: str, picks: dict[str, int], said: str) -> None:
    assert headline(Counterexample("it", kind, Trace(SystemModel(kiosk()).engine.snapshot(), ()), picks=picks)) == said


def test_who_waits_from_the_first_has_waited_since_the_beginning() -> None:
    waiting = ("states: {away: {initial: true}, waiting: {}", "states: {away: {}, waiting: {initial: true}")
    assert ending(*found_in(*ENDLESS, waiting))[0] == (
        "it has waited since the beginning (`c is waiting`) for `c is served`"
    )


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
    model, found = found_in(
        ('"till is open or till.jams > 0"', f'"till.jams < 9 and ({property_})"'), name="jams_are_counted"
    )
    (text,) = ending(model, found)
    assert text.startswith("`") and text.endswith(f"` does not hold{whom}")
    assert "till.jams < 9" not in text
    assert blamed(model, found) == whom.removeprefix(": see ").split()


def test_a_conjunct_that_divides_by_zero_is_told_so() -> None:
    assert ending(
        *found_in(('"till is open or till.jams > 0"', "1 // (1 - till.jams) > 0"), name="jams_are_counted")
    ) == ["`(1 // (1 - till.jams)) > 0` divides by zero"]


def test_a_counterexample_that_began_elsewhere_is_told_from_the_beginning() -> None:
    model, found = found_in(*ENDLESS)
    way = Trace(found.trace.start, found.trace.steps[:1])
    later = explore_whole(kiosk(*ENDLESS), what_if=WhatIf(start=way.end))
    again = preceded(next(other for other in counterexamples(later) if other.kind == "eventually"), way)
    assert again == found
    assert told(later.model, again) == told(model, found)


def run_test_of(model: SystemModel, found: Counterexample, specs: dict[str, str], tmp_path, bent: str = "") -> None:
    for name, text in specs.items():
        (tmp_path / name).write_text(text, "utf-8")
    text = pytest_text(model, found, list(specs), bent)
    names: dict[str, object] = {"__file__": str(tmp_path / "test_it.py")}
    exec(compile(text, "test_it.py", "exec"), names)
    test = names[f"test_{found.name}"]
    assert callable(test)
    test()


@pytest.mark.parametrize("bent", ["", "without(SYSTEM, ['leave'])"])
def test_the_test_of_a_counterexample_fails_with_the_fault_and_passes_without_it(tmp_path, bent: str) -> None:
    system = kiosk(*ENDLESS)
    whole = explore_whole(without(system, ["leave"]) if bent else system)
    found = next(other for other in counterexamples(whole) if other.name == "everyone_is_served")
    with pytest.raises(AssertionError, match="this can go on for ever"):
        run_test_of(whole.model, found, texts(*ENDLESS), tmp_path, bent)
    run_test_of(whole.model, found, texts(), tmp_path, bent)
