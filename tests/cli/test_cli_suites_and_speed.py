"""`calfsm build`, `paths`, `explore --fast` and `verify`: what they say, and with which exit code."""

from __future__ import annotations

import json
import os

import pytest
from kiosk import texts

from calfsm.paths import load


@pytest.fixture
def kiosk(nowhere):
    for name, text in texts().items():
        place = nowhere / "specs" / ("systems" if name == "kiosk.yaml" else "machines")
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, "utf-8")
    return nowhere


def test_a_pipe_among_the_specs_does_not_stop_the_check(calfsm, kiosk):
    os.mkfifo(kiosk / "specs" / "machines" / "pipe.yaml")
    assert calfsm("check").code == 0


def test_build_writes_modules_that_are_fresh_until_a_spec_changes(calfsm, kiosk):
    assert calfsm("build", "--into", "tables").code == 0
    assert calfsm("build", "--into", "tables", "--check").code == 0
    machine = next((kiosk / "specs" / "machines").glob("*.yaml"))
    machine.write_text(machine.read_text("utf-8").replace("doc: ", "doc: Now ", 1), "utf-8")
    outcome = calfsm("build", "--into", "tables", "--check")
    assert outcome.code == 1
    assert "stale" in outcome.out and "\n+" in outcome.out and "\n-" in outcome.out


def test_build_without_a_place_for_its_tables_cannot_be_tried(calfsm, kiosk):
    outcome = calfsm("build")
    assert (outcome.code, outcome.out) == (2, "")
    assert "name the package: calfsm build --into PACKAGE/tables" in outcome.err


def test_paths_writes_a_suite_for_every_machine_and_system(calfsm, kiosk):
    outcome = calfsm("paths", "--format", "json")
    assert outcome.code == 0
    written = json.loads(outcome.out)
    assert {suite["suite"] for suite in written} >= {"kiosk"}
    for suite in written:
        assert load(kiosk / suite["file"]).steps == suite["steps"] > 0


def test_paths_that_were_cut_short_say_so_and_do_not_say_never(calfsm, kiosk):
    outcome = calfsm("paths", "--max-states", "1")
    assert outcome.code == 2
    assert "were not seen within 1 states" in outcome.err


def test_a_part_without_instances_cannot_be_tried_by_any_command(calfsm, kiosk):
    for command in (("paths",), ("explore",), ("explore", "--fast")):
        outcome = calfsm(*command, "--scope", "people=0")
        assert outcome.code == 2
        assert "it needs one at least" in outcome.err


def test_the_fast_search_judges_the_states_and_says_what_it_leaves_out(calfsm, kiosk):
    plain = json.loads(calfsm("explore", "--format", "json").out)
    outcome = calfsm("explore", "--fast", "--format", "json")
    assert outcome.code == 0
    fast = json.loads(outcome.out)
    for what in ("states", "transitions", "depth", "complete"):
        assert fast[what] == plain[what]
    text = calfsm("explore", "--fast").out
    assert "home                not judged: leave --fast out" in text


def test_the_fast_search_takes_no_what_if(calfsm, kiosk):
    outcome = calfsm("explore", "--fast", "--without", "repair")
    assert (outcome.code, outcome.out) == (2, "")
    assert "leave --fast out" in outcome.err


def test_verify_does_every_stage_of_a_project_of_ones_own(calfsm, kiosk):
    outcome = calfsm("verify", "--quick", "--format", "json")
    verified = json.loads(outcome.out)
    assert outcome.code == 0 and verified["held"]
    stages = ["check", "build", "explore", "liveness", "paths", "properties", "diagrams"]
    assert [stage["stage"] for stage in verified["stages"]] == stages
