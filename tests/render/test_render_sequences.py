"""Runs as sequence diagrams: SVG that can be read, and Mermaid."""

from __future__ import annotations

import random
import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import attrs
import pytest
from kiosk import ENDLESS, kiosk

from calfsm.explore.judging import explore_whole
from calfsm.explore.search import Trace
from calfsm.explore.systems import StoryLine, SystemModel
from calfsm.explore.tell import Counterexample, counterexamples
from calfsm.render import look
from calfsm.render.canvas import width, wrapped
from calfsm.render.dot import MARK
from calfsm.render.mermaid import sequence_mermaid
from calfsm.render.sequence import Interaction, interaction
from calfsm.render.sequence_svg import AGAIN, sequence_svg
from calfsm.tables.executor import SYSTEM

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "render"
SVG = "{http://www.w3.org/2000/svg}"
TWO_OF_EACH = {"requests": 2, "jobs": 2, "buffers": 2, "lanes": 2, "limit": 2}


def drawn(*edits: tuple[str, str], name: str) -> Interaction:
    whole = explore_whole(kiosk(*edits))
    return interaction(whole.model, next(found for found in counterexamples(whole) if found.name == name))


@pytest.fixture(scope="module")
def lasso() -> Interaction:
    return drawn(*ENDLESS, name="everyone_is_served")


@pytest.fixture(scope="module")
def broken() -> Interaction:
    every = '"all(count(d for d in customers if d is served and c is away) == 0 for c in customers)"'
    return drawn(('"till is open or till.jams > 0"', every), name="jams_are_counted")


@pytest.fixture(scope="module")
def long() -> Interaction:
    """A walk of 70 steps, in which nearly everybody moves."""
    model, chance = SystemModel(SYSTEM, **TWO_OF_EACH), random.Random(7)
    start = state = next(iter(model.initial()))
    steps = []
    away = ("unhealthy", "unload", "turn_model_away", "warm_failed", "configure_failed", "give_up", "cancel_waiting")
    for _ in range(70):
        calls = [call for call in model.actions(state) if SYSTEM.actions[call[0]].name not in away]
        calls = [call for call in calls if SYSTEM.actions[call[0]].by != "clock"] or calls
        call = chance.choice(calls)
        state = model.next(state, call)
        steps.append((call, state))
    return interaction(model, Counterexample(SYSTEM.always[0].name, "always", Trace(start, tuple(steps))))


def texts(svg: str) -> list[tuple[str, float, float, float, float]]:
    """Every text, and the box that it takes at most: text, left, top, right, bottom."""
    found = []
    for element in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        text, size = " ".join(element.itertext()), float(element.attrib["font-size"])
        x, y, wide = float(element.attrib["x"]), float(element.attrib["y"]), width(text, size)
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[element.attrib.get("text-anchor", "start")]
        found.append((text, left, y - 0.75 * size, left + wide, y + 0.22 * size))
    return found


def said(svg: str) -> list[str]:
    return [text for text, *_ in texts(svg)]


# ---- SVG


def test_the_picture_of_a_lasso_is_the_golden_one(lasso: Interaction) -> None:
    assert sequence_svg(lasso) == (GOLDEN / "everyone_is_served.svg").read_text("utf-8")


@pytest.mark.parametrize("which", ["lasso", "broken", "long"])
def test_no_two_texts_meet_and_none_leaves_the_picture(which: str, request: pytest.FixtureRequest) -> None:
    svg = sequence_svg(request.getfixturevalue(which))
    root = ElementTree.fromstring(svg)
    boxes = texts(svg)
    for text, left, top, right, bottom in boxes:
        assert left >= 0 and top >= 0, text
        assert right <= float(root.attrib["width"]) and bottom <= float(root.attrib["height"]), text
    for (one, *a), (other, *b) in combinations(boxes, 2):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart, (one, other)


@pytest.mark.parametrize("which", ["lasso", "broken", "long"])
def test_a_picture_needs_nothing_from_elsewhere(which: str, request: pytest.FixtureRequest) -> None:
    svg = sequence_svg(request.getfixturevalue(which))
    assert not re.search(r"href|<script|<style|<image|url\(|@import", svg)
    assert MARK not in svg, "`calfsm render` would take it for one of its own, and remove it"


def test_a_step_is_told_by_number_action_picks_and_what_moved(broken: Interaction) -> None:
    words = said(sequence_svg(broken))
    assert words[(at := words.index("1.")) : at + 3] == ["1.", "order", "c=0"]
    assert "away \N{RIGHTWARDS ARROW} waiting" in words
    assert "waiting \N{RIGHTWARDS ARROW} served" in words


def test_who_breaks_an_invariant_is_marked_by_a_word_and_a_line_and_the_conjunct_stands_below(
    broken: Interaction,
) -> None:
    svg = sequence_svg(broken)
    assert [life.name for life in broken.lifelines if life.blamed] == ["customers[1]"]
    assert said(svg).count("breaks it") == 1
    assert svg.count(f'stroke="{look.BROKEN}"') == 2  # the instance, and the box of what is the matter
    assert "does not hold: see customers[1]" in " ".join(said(svg))


def test_somebody_who_never_moves_but_is_to_blame_has_a_lifeline(broken: Interaction) -> None:
    moved = {change.who for line in broken.lines for change in line.changes}
    assert "customers[1]" not in moved


def test_a_lasso_says_from_where_on_it_waits_who_waits_and_what_goes_on_for_ever(lasso: Interaction) -> None:
    words = said(sequence_svg(lasso))
    assert [life.name for life in lasso.lifelines if life.blamed] == ["customers[0]"]
    assert words.index("1.") < words.index("it waits from here on") < words.index("2.")
    assert {"waits", "loop for ever"} <= set(words)


@pytest.mark.parametrize("waiting", [0, 1, 2])
def test_it_is_said_once_from_where_on_it_waits(lasso: Interaction, waiting: int) -> None:
    words = said(sequence_svg(attrs.evolve(lasso, waiting=waiting)))
    assert words.count("it waits from here on") == 1
    assert words.index("it waits from here on") < words.index(f"{waiting + 1}.")


def test_in_a_long_run_it_is_said_again_who_is_who_and_in_which_state(long: Interaction) -> None:
    words = said(sequence_svg(long))
    assert len(long.lifelines) == 12
    assert words.count("model") == 1 + (len(long.lines) - 1) // AGAIN
    assert words.count("client") == words.count("model")


def test_the_colours_of_speakers_are_those_of_the_other_pictures(lasso: Interaction) -> None:
    svg = sequence_svg(lasso)
    for speaker in ("client", "runtime", "recovery"):
        assert f'<tspan fill="{look.COLOURS[speaker]}" font-weight="bold">{speaker}</tspan>' in svg
    assert look.COLOURS["clock"] not in svg


def test_a_step_that_changes_nothing_goes_back_to_who_speaks(lasso: Interaction) -> None:
    idle = attrs.evolve(lasso, steps=(StoryLine(1, "order(c=0)", "client", ()),), cycle=())
    assert sequence_svg(idle).count(" h16 v8 h-10") == 1


def test_a_run_of_no_step_and_nobody_is_still_a_picture() -> None:
    svg = sequence_svg(Interaction("nothing", "", (), ()))
    assert "nothing" in said(svg)


def test_what_stands_in_a_text_means_nothing_to_xml(lasso: Interaction) -> None:
    hostile = attrs.evolve(lasso, title='<b>&amp; "quoted" \x07 ]]> 待機中', subtitle="</text><script>")
    words = said(sequence_svg(hostile))
    assert '<b>&amp; "quoted" \N{REPLACEMENT CHARACTER} ]]> 待機中' in words
    assert "</text><script>" in words


def test_texts_break_between_words_and_are_never_taken_for_narrower_than_they_are() -> None:
    text = "one two three four"
    assert wrapped(text, 12, width("one two three", 12)) == ["one two three", "four"]
    assert wrapped("unbreakable", 12, 1) == ["unbreakable"]
    assert wrapped("", 12, 100) == []
    assert width("待", 10) >= 10 and width("W", 10) >= 9.4 and width("i", 10) >= 2.7


# ---- Mermaid


def test_a_sequence_diagram_has_a_loop_for_the_cycle(lasso: Interaction) -> None:
    assert sequence_mermaid(lasso).splitlines() == [
        "sequenceDiagram",
        "  actor client as client",
        "  actor runtime as runtime",
        "  actor recovery as recovery",
        "  participant p0 as customers[0]",
        "  participant p1 as till",
        "  client->>p0: 1 order(c=0): away #45;#62; waiting",
        "  runtime->>p1: 2 jam(): open #45;#62; jammed, jams = 1",
        "  loop for ever",
        "    recovery->>p1: 3 repair(): jammed #45;#62; open",
        "    runtime->>p1: 4 jam(): open #45;#62; jammed",
        "  end",
        "  note over client: it has waited since step 1 (#96;c is waiting#96;) for #96;c is served#96;",
        "  note over client: livelock: this can go on for ever#59; every fair action is taken on the way, or somewhere"
        " not possible",
    ]


def test_a_step_that_changes_nothing_is_a_message_to_oneself(lasso: Interaction) -> None:
    idle = attrs.evolve(lasso, steps=(StoryLine(1, "order(c=0)", "client", ()),), cycle=())
    assert "  client->>client: 1 order(c=0)\n" in sequence_mermaid(idle)


def test_a_diagram_of_no_step_at_all_has_its_title_and_its_end(lasso: Interaction) -> None:
    assert sequence_mermaid(Interaction("nothing", "", (), ())) == "sequenceDiagram\n  title nothing\n"
    alone = attrs.evolve(lasso, title="it is broken where it begins", steps=(), cycle=(), ending=("see customers[0]",))
    assert sequence_mermaid(alone).splitlines() == [
        "sequenceDiagram",
        "  title it is broken where it begins",
        "  participant p0 as customers[0]",
        "  participant p1 as till",
        "  note over p0: see customers[0]",
    ]
