"""`calfsm graph`: what is listed, filtered, drawn and refused."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path
from xml.etree import ElementTree

import pytest

from calfsm.render.dot import MARK

pytestmark = pytest.mark.usefixtures("kiosk")


def test_nodes_are_listed_with_states_depth_and_moves(calfsm):
    outcome = calfsm("graph", "kiosk", "--project", "till")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "kiosk at most=1, people=2",
        "27 states in 3 nodes, 2 edges",
        "node  till                     states  depth  moves",
        "   0  till: open                    9      0      0",
        "   1  till: jammed (jams = 1)       9      1      1",
        "   2  till: open (jams = 1)         9      2      2",
    ]


def test_edges_are_listed_by_action_and_speaker(calfsm):
    outcome = calfsm("graph", "specs", "--project", "till", "--edges")
    assert outcome.out.splitlines()[-3:] == [
        "from  to  action  by        transitions",
        "   0   1  jam     runtime             9",
        "   1   2  repair  recovery            9",
    ]


def test_without_a_projection_all_parts_are_shown(calfsm):
    assert "customers[0]: away; customers[1]: away; till: open" in calfsm("graph", "kiosk").out


def test_what_is_named_twice_is_shown_once(calfsm):
    assert calfsm("graph", "kiosk", "--project", "till, till") == calfsm("graph", "kiosk", "--project", "till")


def test_what_was_collapsed_is_said(calfsm):
    outcome = calfsm("graph", "kiosk", "--project", "customers,till", "--most", 12)
    assert outcome.out.splitlines()[1:3] == [
        "27 states in 12 nodes, 27 edges",
        "collapsed: instances are counted, of a reference is only said whether it leads somewhere; "
        "variables are left out",
    ]
    assert "collapsed" not in calfsm("graph", "kiosk", "--project", "customers,till").out
    assert "customers: 2 away" in calfsm("graph", "kiosk", "--collapse", "instances").out


def test_filters_are_said_and_kept_to(calfsm):
    words = ["--where", "till is jammed", "--from", "count(c for c in customers if c is waiting) == 2"]
    outcome = calfsm("graph", "kiosk", "--project", "customers[0]", *words, "--action", "order,leave")
    assert outcome.code == 2
    assert outcome.err.startswith("calfsm: no state is left to be shown\n")
    outcome = calfsm("graph", "kiosk", "--project", "customers[0]", "--where", "till is jammed", "--action", "order")
    assert outcome.out.splitlines()[1:4] == [
        "only where `till is jammed`",
        "only by order",
        "6 of 27 states in 2 nodes, 1 edge",
    ]
    assert "only what leads to where `till is jammed`" in calfsm("graph", "kiosk", "--to", "till is jammed").out


def test_a_search_that_was_stopped_says_so_and_is_no_success(calfsm):
    outcome = calfsm("graph", "kiosk", "--max-states", 5)
    assert outcome.code == 2
    assert "stopped early: the limit of 5 states was reached; this is of the states seen" in outcome.out


def test_a_scope_makes_it_larger_or_smaller(calfsm):
    assert "2 nodes" not in calfsm("graph", "kiosk", "--project", "customers").out
    assert (
        "9 states in 3 nodes, 3 edges" in calfsm("graph", "kiosk", "--project", "customers", "--scope", "people=1").out
    )


@pytest.mark.parametrize(
    ("suffix", "begins"), [("dot", "// Drawn by"), ("svg", "<?xml"), ("mmd", "flowchart TB\n"), ("json", "{\n")]
)
def test_the_ending_of_a_files_name_says_what_is_written(calfsm, suffix, begins):
    outcome = calfsm("graph", "kiosk", "--project", "till", "--into", f"pictures/till.{suffix}")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == f"{Path(f'pictures/till.{suffix}')}: 27 states in 3 nodes, 2 edges\n"
    text = Path(f"pictures/till.{suffix}").read_text("utf-8")
    assert text.startswith(begins)
    assert MARK not in text


def test_a_picture_shows_every_node_every_edge_and_who_speaks(calfsm):
    svg = ElementTree.fromstring(calfsm("graph", "kiosk", "--project", "till", "--format", "svg").out)
    words = {text.strip() for element in svg.iter() if (text := element.text) and text.strip()}
    assert {"jammed (jams = 1)", "9 states", "jam", "repair", "runtime", "recovery"} <= {
        word.replace("\N{NO-BREAK SPACE}", " ") for word in words
    }
    mermaid = calfsm("graph", "kiosk", "--project", "till", "--format", "mermaid").out
    assert '  n0(["till: open<br/>9 states"])' in mermaid.splitlines()
    assert '  n0 -->|"runtime jam"| n1' in mermaid.splitlines()


def test_the_same_question_gives_the_same_picture(calfsm):
    words = ["graph", "kiosk", "--project", "customers,till", "--format", "dot"]
    assert calfsm(*words).out == calfsm(*words).out


def test_as_json_a_program_can_read_it(calfsm):
    said = json.loads(calfsm("graph", "kiosk", "--project", "till.state", "--format", "json").out)
    assert (said["system"], said["states"], said["complete"], said["collapsed"]) == ("kiosk", 27, True, [])
    assert [node["looks"] for node in said["nodes"]] == [[["till: open"]], [["till: jammed"]]]
    assert said["edges"][0] == {"source": 0, "target": 1, "actions": {"jam": 9}}


def test_what_nobody_could_read_is_not_drawn(calfsm):
    outcome = calfsm("graph", "kiosk", "--most", 3, "--into", "all.svg")
    assert outcome.code == 2
    assert "12 nodes and 27 edges are more than can be read, at most 3 and 6\n" in outcome.err
    assert "--most" in outcome.err
    assert not Path("all.svg").exists()


def test_without_the_drawing_program_there_are_dot_and_mermaid(calfsm, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "/nowhere")
    outcome = calfsm("graph", "kiosk", "--project", "till", "--format", "svg")
    assert (outcome.code, outcome.out) == (2, "")
    assert "pip install calfsm[draw]; or write DOT or Mermaid" in outcome.err
    assert calfsm("graph", "kiosk", "--project", "till", "--format", "dot").code == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["kiosc"], "no system is called `kiosc`\n  did you mean `kiosk`?"),
        (["kiosk", "--project", "tils"], "kiosk has no part `tils`\n  did you mean `till`?"),
        (["kiosk", "--project", "customers[2]"], "`customers[2]` is not there at this scope\n  write customers[0] to"),
        (["kiosk", "--project", "customers[0"], "`customers[0` is not there"),
        (["kiosk", "--project", "till.jms"], "till have no `jms`\n  did you mean `jams`?"),
        (["kiosk", "--where", "till is opn"], "--where `till is opn`"),
        (["kiosk", "--from", "till is (open"], "--from `till is (open`"),
        (["kiosk", "--action", "jam,repare"], "`repare` is no action of kiosk\n  did you mean `repair`?"),
        (["kiosk", "--scope", "people=0"], "give every part one instance at least"),
        (["kiosk", "--into", "picture.png"], "what picture.png is to hold is not said"),
        (["kiosk", "--most", "0"], "`0` is not a whole number above 0"),
    ],
)
def test_what_cannot_be_tried_is_said_with_a_way_out(calfsm, words, error):
    outcome = calfsm("graph", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert error in outcome.err
