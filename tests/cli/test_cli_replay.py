"""`calfsm replay`: cases done again, told, judged and drawn."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kiosk import ENDLESS, set_up

import calfsm as package

ROOT = Path(package.__file__).resolve().parents[1]
EARLY = ROOT / "docs" / "examples" / "early_reuse"
SERVED = ("always:\n", "always:\n  nobody_is_served: all(c is not served for c in customers)\n")


@pytest.fixture
def found(calfsm, nowhere: Path) -> Path:
    """Counterexamples of a kiosk: a broken invariant, and a lasso."""
    set_up(Path(), *ENDLESS, SERVED)
    calfsm("explore", "--counterexamples", "found")
    return Path("found")


@pytest.fixture
def suite(calfsm, nowhere: Path) -> Path:
    """A suite of two cases."""
    set_up(Path())
    calfsm("paths", "--into", "suites")
    path = Path("suites/till.jsonl")
    text = path.read_text("utf-8")
    path.write_text(text + text.splitlines()[1].replace("till-1", "till-2") + "\n", "utf-8")
    return path


def edit(path: Path, old: str, new: str) -> Path:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    return path


# ---- what is told


def test_a_broken_invariant_is_told_with_the_step_the_conjunct_and_the_instances(calfsm, found):
    outcome = calfsm("replay", found / "nobody_is_served.jsonl")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines() == [
        "kiosk at most=1, people=2, on the engine",
        "",
        f"nobody_is_served, {found / 'nobody_is_served.jsonl'}:2",
        "  1. order(c=0)  [client]",
        "       customers[0]: away -> waiting",
        "  2. serve(c=0)  [engine]",
        "       customers[0]: waiting -> served",
        "nobody_is_served is broken after step 2:",
        "  `all(c is not served for c in customers)` does not hold: see customers[0]",
    ]


def test_what_is_broken_from_the_first_is_told_so(calfsm, nowhere):
    set_up(Path(), ("always:\n", "always:\n  everyone_waits: all(c is waiting for c in customers)\n"))
    explored = calfsm("explore", "--counterexamples", "found").out
    assert "\neveryone_waits is broken where it begins:\n`all(c is waiting" in explored
    assert "\neveryone_waits is broken where it begins:\n" in calfsm("replay", "found/everyone_waits.jsonl").out
    for picture in ("found/everyone_waits.svg", "found/everyone_waits.mmd"):
        assert "everyone_waits is broken where it begins" in Path(picture).read_text("utf-8")


def test_a_lasso_is_found_again_with_its_cycle_and_for_whom(calfsm, found):
    outcome = calfsm("replay", found / "everyone_is_served.jsonl")
    assert outcome.code == 1
    assert outcome.out.splitlines()[-4:] == [
        "everyone_is_served is broken on this way:",
        "  it has waited since step 1 (`c is waiting`) for `c is served`",
        "  livelock: this can go on for ever; every fair action is taken on the way, or somewhere not possible",
        "  for ever: steps 3 to 4, again and again",
    ]


@pytest.mark.parametrize("name", ["home", "stuck"])
def test_a_lost_home_and_a_stuck_state_are_found_again(calfsm, nowhere, name):
    no_repair = ("  repair: {by: recovery, when: till is jammed, fire: {till: repair}}\n", "")
    set_up(Path(), no_repair, ("explores: 2}}", "explores: 1}}"))
    calfsm("explore", "--counterexamples", "found")
    outcome = calfsm("replay", f"found/{name}.jsonl")
    assert outcome.code == 1
    last = {"home": "standstill: only the client can act here", "stuck": "deadlock: nothing can happen any more"}
    assert outcome.out.splitlines()[-2:] == [f"{name} is broken on this way:", f"  {last[name]}"]


def test_where_the_fault_is_mended_nothing_is_broken_any_more(calfsm, found):
    set_up(Path(), *ENDLESS)
    outcome = calfsm("replay", found / "nobody_is_served.jsonl")
    assert outcome.code == 0
    assert "nobody_is_served.jsonl was written for other specs of kiosk" in outcome.err
    assert outcome.out.splitlines()[-1] == "every step as written; nothing is broken"
    strict = calfsm("replay", found / "nobody_is_served.jsonl", "--same-specs")
    assert (strict.code, strict.out) == (2, "")
    assert "leave --same-specs out" in strict.err


def test_a_step_that_is_refused_is_told_with_the_reason(calfsm, found):
    set_up(Path())
    outcome = calfsm("replay", found / "everyone_is_served.jsonl")
    assert outcome.code == 1
    assert outcome.out.splitlines()[-2:] == [
        "step 4, jam(), is not as written:",
        "  jam() refused: `till.jams < most` does not hold",
    ]
    assert "  3. repair()  [recovery]" in outcome.out


def test_a_state_that_is_another_than_written_is_told(calfsm, found):
    file = edit(found / "nobody_is_served.jsonl", '{"state":"served"}', '{"state":"away"}')
    outcome = calfsm("replay", file)
    assert outcome.code == 1
    assert "step 2, serve(c=0), is not as written:\n  customers[0].state is served, must be away" in outcome.out
    assert "nobody_is_served is broken after step 2:" in outcome.out


def test_what_other_specs_have_besides_is_not_held_against_a_file(calfsm, found):
    set_up(Path(), *ENDLESS, SERVED, ("vars: {jams:", "vars: {mood: {bool: false}, jams:"))
    outcome = calfsm("replay", found / "nobody_is_served.jsonl")
    assert "is not as written" not in outcome.out
    assert "nobody_is_served is broken after step 2:" in outcome.out


def test_as_json_a_program_can_read_it(calfsm, found):
    (said,) = json.loads(calfsm("replay", found / "everyone_is_served.jsonl", "--format", "json").out)
    assert [step["do"] for step in said["steps"]] == ["order(c=0)", "jam()", "repair()", "jam()"]
    assert (said["case"], said["line"], said["failure"]) == ("everyone_is_served", 2, None)
    assert said["broken"]["everyone_is_served"]["for"] == {"c": 0}


def test_the_specs_may_be_named(calfsm, nowhere):
    calfsm("explore", EARLY, "--counterexamples", "found")
    outcome = calfsm("replay", "found/no_use_after_reuse.jsonl", EARLY)
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.startswith("pool, on the engine\n")


# ---- suites


def test_the_cases_of_a_suite_are_a_line_each(calfsm, suite):
    outcome = calfsm("replay", suite)
    assert (outcome.code, outcome.err) == (0, "")
    lines = [line.split() for line in outcome.out.splitlines()]
    assert lines[1] == ["case", "steps", "done", "result"]
    assert [(line[0], line[2:]) for line in lines[2:]] == [("till-1", ["as", "written"]), ("till-2", ["as", "written"])]
    assert calfsm("replay", "suites/kiosk.jsonl").code == 0


def test_an_event_that_another_fires_in_the_file_is_not_done_again(calfsm, suite):
    outcome = calfsm("replay", edit(suite, '"do":"jam","by":"runtime"', '"do":"jam","by":"moon"'))
    assert (outcome.code, outcome.out) == (2, "")
    assert ": jam is done by runtime, not moon\n  write the case again\n" in outcome.err


def test_of_several_cases_those_that_fail_are_told(calfsm, suite):
    text = suite.read_text("utf-8").splitlines()
    suite.write_text("\n".join([*text[:2], text[2].replace('"state":"jammed"', '"state":"open"', 1)]), "utf-8")
    outcome = calfsm("replay", suite)
    assert outcome.code == 1
    assert f"\ntill-2, {suite}:3\n" in outcome.out
    assert f"\ntill-1, {suite}:2\n" not in outcome.out
    assert "is not as written:\n  till.state is jammed, must be open" in outcome.out


def test_one_case_of_several_is_told_and_drawn(calfsm, suite):
    outcome = calfsm("replay", suite, "--case", "till-2", "--svg", "till.svg")
    assert outcome.code == 0
    assert f"\ntill-2, {suite}:3\n  1. " in outcome.out
    assert "<title>till-2</title>" in Path("till.svg").read_text("utf-8")
    undecided = calfsm("replay", suite, "--svg", "other.svg")
    assert (undecided.code, undecided.out) == (2, "")
    assert "has 2 cases, and one is drawn\n  choose it with --case" in undecided.err
    assert not Path("other.svg").exists()


def test_the_executor_does_the_steps_on_the_simulated_device(calfsm, nowhere, monkeypatch):
    monkeypatch.chdir(ROOT)
    suite = nowhere / "executor.jsonl"
    words = ["--scope", "requests=1", "--max-states", "60", "--into", nowhere]
    calfsm("paths", "specs/systems/executor.yaml", *words)
    outcome = calfsm("replay", suite, "--on", "executor")
    assert (outcome.code, outcome.err) == (0, "")
    assert "on the executor" in outcome.out.splitlines()[0]
    assert "is broken" not in outcome.out


def test_the_executor_does_no_other_system(calfsm, found):
    outcome = calfsm("replay", found / "nobody_is_served.jsonl", "--on", "executor")
    assert (outcome.code, outcome.out) == (2, "")
    assert "the executor runs the system executor as it was built, and no other" in outcome.err


# ---- pictures


def test_a_picture_shows_the_way_to_what_is_broken(calfsm, found):
    calfsm("replay", found / "everyone_is_served.jsonl", "--svg", "a/run.svg", "--mermaid", "a/run.mmd")
    assert Path("a/run.svg").read_bytes() == (found / "everyone_is_served.svg").read_bytes()
    assert Path("a/run.mmd").read_bytes() == (found / "everyone_is_served.mmd").read_bytes()


def test_a_picture_of_a_step_that_failed_says_why(calfsm, found):
    set_up(Path())
    calfsm("replay", found / "everyone_is_served.jsonl", "--mermaid", "run.mmd")
    assert "step 4, jam(), is not as written" in Path("run.mmd").read_text("utf-8")


# ---- what cannot be tried


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('"do":"serve"', '"do":"srve"', "nobody_is_served.jsonl:2: step 2: kiosk has no action `srve`"),
        ('"by":"engine"', '"by":"moon"', "nobody_is_served.jsonl:2: step 2: serve is done by engine, not moon"),
        ('{"c":0}', '{"d":0}', "nobody_is_served.jsonl:2: step 1: order takes c, not d"),
        ('"suite":"kiosk"', '"suite":"stand"', "is a suite of the system `stand`, which is not in these specs"),
        ('"kind":"system"', '"kind":"thing"', "is a suite of the thing `kiosk`, which is not in these specs"),
        ('"people":2', '"people":0', "give every part one instance at least"),
        ('"people":2', '"persons":2', "nobody_is_served.jsonl:1: kiosk has no parameter `persons`"),
        ('"steps":[', '"steps":[[],', "nobody_is_served.jsonl:2: [] is not a JSON object"),
        ('{"suite"', 'not json {"suite"', "nobody_is_served.jsonl:1: not JSON"),
        ('"format":1', '"format":9', "this version reads format 1"),
    ],
)
def test_a_bad_file_is_told_by_line_with_a_way_out(calfsm, found, old, new, error):
    outcome = calfsm("replay", edit(found / "nobody_is_served.jsonl", old, new), "--svg", "run.svg")
    assert (outcome.code, outcome.out) == (2, "")
    assert error in outcome.err
    assert outcome.err.splitlines()[-1].startswith("  ")
    assert not Path("run.svg").exists()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl: No such file or directory"),
        (["found/nobody_is_served.jsonl", "--case", "nobody"], "has no case `nobody`\n"),
        (["found/nobody_is_served.jsonl", "--on", "paper"], "invalid choice: 'paper'"),
        ([], "FILE"),
    ],
)
def test_what_cannot_be_tried_is_said(calfsm, found, words, error):
    outcome = calfsm("replay", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert error in outcome.err


def test_a_file_without_a_case_has_nothing_to_be_done_again(calfsm, found):
    file = found / "nobody_is_served.jsonl"
    file.write_text(file.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    assert "has no case" in calfsm("replay", file).err


# ---- the test that is written beside


def test_hypothesis_shrinks_the_written_test_to_the_steps_that_matter(calfsm, found):
    more = ["('order', {'c': 1})", *["('jam', {})", "('repair', {})"] * 2]
    test = edit(found / "test_nobody_is_served.py", "TRACE = [\n", f"TRACE = [\n{', '.join(more)},\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={Path.cwd()}", test],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert done.returncode == 1
    assert "after step 7 it does not hold that all(c is not served for c in customers)" in done.stdout
    shortest = ": [('order', {'c': 0}), ('serve', {'c': 0})]"
    other = ": [('order', {'c': 1}), ('serve', {'c': 1})]"
    assert shortest in done.stdout or other in done.stdout
