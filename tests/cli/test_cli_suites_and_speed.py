"""`calfsm build`, `paths`, `explore --fast` and `verify`: what they say, and with which exit code."""

from __future__ import annotations

import json
import os

import pytest
from kiosk import texts

from calfsm.paths import load


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


def test_named_specs_outside_of_a_project_are_not_built_into_the_tables_that_ship(calfsm, nowhere):
    for name, text in texts().items():
        (nowhere / name).write_text(text, "utf-8")
    outcome = calfsm("build", ".")
    assert (outcome.code, outcome.out) == (2, "")
    assert "name the package: calfsm build --into PACKAGE/tables" in outcome.err
    verified = json.loads(calfsm("verify", ".", "--quick", "--format", "json").out)
    (built,) = [stage for stage in verified["stages"] if stage["stage"] == "build"]
    assert (built["held"], built["result"]) == (None, "this project keeps no tables")
    assert verified["held"]


def test_a_part_of_a_projects_specs_removes_no_other_table(calfsm, kiosk):
    folder = kiosk / "calfsm" / "tables"
    folder.mkdir(parents=True)
    assert calfsm("build").code == 0
    before = sorted(folder.iterdir())
    machine = next((kiosk / "specs" / "machines").glob("*.yaml"))
    assert calfsm("build", machine).code == 0
    assert sorted(folder.iterdir()) == before
    assert calfsm("build", machine, "--check").code == 0
    machine.rename(machine.with_name("elsewhere.txt"))
    (kiosk / "specs" / "systems" / "kiosk.yaml").unlink()
    outcome = calfsm("build")
    assert outcome.code == 0 and f"{machine.stem}.py (removed)" in outcome.out and "2 removed" in outcome.err


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


def test_the_fast_search_says_what_the_plain_one_says(calfsm, kiosk):
    plain = json.loads(calfsm("explore", "--format", "json").out)
    outcome = calfsm("explore", "--fast", "--format", "json")
    assert outcome.code == 0
    fast = json.loads(outcome.out)
    assert set(fast) - set(plain) == {"compile_seconds", "bytes_per_state", "fired"}
    assert {what: fast[what] for what in plain if what != "seconds"} == {
        what: value for what, value in plain.items() if what != "seconds"
    }
    text = calfsm("explore", "--fast").out
    assert "home                holds" in text and "states/s" in text


def test_the_fast_search_writes_counterexamples_and_asks_what_if(calfsm, kiosk, tmp_path):
    found = {}
    for name in ("plain", "fast"):
        more = ("--fast",) if name == "fast" else ()
        outcome = calfsm("explore", *more, "--without", "repair", "--counterexamples", tmp_path / name)
        assert outcome.code == 1
        found[name] = {path.name: path.read_text() for path in (tmp_path / name).iterdir()}
    assert found["fast"] == found["plain"]
    assert {"everyone_is_served.txt", "home.txt", "stuck.txt"} <= set(found["fast"])


def test_the_fast_search_begins_in_the_initial_state_and_goes_on_from_every_state(calfsm, kiosk):
    for question in (("--fix", "till is open"), ("--from", "way.jsonl")):
        outcome = calfsm("explore", "--fast", *question)
        assert (outcome.code, outcome.out) == (2, "")
        assert "leave out --fast, or --fix and --from" in outcome.err


def test_the_fast_search_takes_threads_and_a_memory_budget(calfsm, kiosk):
    one, two = (
        json.loads(calfsm("explore", "--fast", *more, "--format", "json").out) for more in ((), ("--threads", 2))
    )
    assert (two["states"], two["transitions"], two["properties"]) == (
        one["states"],
        one["transitions"],
        one["properties"],
    )
    assert calfsm("explore", "--fast", "--max-bytes", "64M").code == 0
    little = calfsm("explore", "--fast", "--max-bytes", "1k")
    assert (little.code, little.out) == (2, "")
    assert "--max-bytes is too little to begin with; give " in little.err and "or leave it out" in little.err
    many = calfsm("explore", "--fast", "--threads", 100_000)
    assert (many.code, many.out) == (2, "")
    assert "there is too little memory for 100,000 threads\n  give fewer --threads" in many.err
    for option in (("--threads", 2), ("--max-bytes", "4G")):
        plain = calfsm("explore", *option)
        assert (plain.code, plain.out) == (2, "")
        assert f"{option[0]} is for the compiled search" in plain.err and "add --fast" in plain.err


@pytest.mark.parametrize("size", ["2x", "G", "0", "-1", "1.5G"])
def test_what_is_no_size_is_no_memory_budget(calfsm, kiosk, size):
    outcome = calfsm("explore", "--fast", f"--max-bytes={size}")
    assert outcome.code == 2 and f"`{size}` is not a number of bytes, as 4G, 500M or 1000000" in outcome.err


def test_verify_does_every_stage_of_a_project_of_ones_own(calfsm, kiosk):
    outcome = calfsm("verify", "--quick", "--format", "json")
    verified = json.loads(outcome.out)
    assert outcome.code == 0 and verified["held"]
    stages = ["check", "build", "explore", "liveness", "paths", "properties", "diagrams"]
    assert [stage["stage"] for stage in verified["stages"]] == stages
