"""`calfsm explore`: what is said, what is written, and with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kiosk import ENDLESS, set_up

import calfsm as package
from calfsm.paths.suite import load

ROOT = Path(package.__file__).resolve().parents[1]

NO_REPAIR = ("  repair: {by: recovery, when: till is jammed, fire: {till: repair}}\n", "")


@pytest.fixture
def endless(nowhere: Path) -> Path:
    set_up(nowhere, *ENDLESS)
    return nowhere


def test_every_verdict_is_in_the_table_and_all_is_well(calfsm, kiosk):
    outcome = calfsm("explore", "kiosk")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "kiosk at most=1, people=2"
    assert lines[2:] == [
        "property            verdict",
        "jams_are_counted    holds",
        "everyone_is_served  holds",
        "home                holds",
    ]


def test_a_broken_promise_is_told_with_its_cycle_and_is_a_failure(calfsm, endless):
    outcome = calfsm("explore")
    assert outcome.code == 1
    assert "everyone_is_served  broken" in outcome.out
    assert "home                holds" in outcome.out
    assert "\neveryone_is_served is broken for c=0: it may wait for ever; a way to where it does:\n" in outcome.out
    assert "livelock: this can go on for ever;" in outcome.out
    assert "  4. jam()  [runtime]" in outcome.out


def test_as_json_everything_can_be_read_by_a_program(calfsm, endless):
    outcome = calfsm("explore", "--format", "json")
    said = json.loads(outcome.out)
    assert outcome.code == 1
    assert said["properties"] == {"jams_are_counted": "holds", "everyone_is_served": "broken", "home": "holds"}
    assert [step["do"] for step in said["counterexamples"]["everyone_is_served"]] == ["order(c=0)", "jam()"]
    assert [step["do"] for step in said["cycles"]["everyone_is_served"]] == ["repair()", "jam()"]
    assert said["why"]["everyone_is_served"]["for"] == {"c": 0}
    assert said["never_tested"] == []
    assert (said["stuck"], said["what_if"]) == (None, "")


def test_a_lost_home_and_a_stuck_state_are_told(calfsm, nowhere):
    set_up(nowhere, NO_REPAIR, ("explores: 2}}", "explores: 1}}"))
    outcome = calfsm("explore")
    assert outcome.code == 1
    assert "\nhome cannot be reached again without the client; a shortest way to where that is so:\n" in outcome.out
    assert "\nstuck: a state in which nothing can happen; a shortest way there:\n" in outcome.out
    assert outcome.out.count("deadlock: nothing can happen any more") == 2


def test_what_was_never_put_to_the_test_is_listed_and_changes_no_exit_code(calfsm, nowhere):
    set_up(nowhere, ("till.jams < most,", "till.jams < 0,"))
    outcome = calfsm("explore")
    assert outcome.code == 0
    assert outcome.out.splitlines()[6:] == [
        "",
        "never put to the test at this scope:",
        "  action: jam is never possible",
        "  action: repair is never possible",
        "  machine: till is never jammed",
        "  machine: till never goes by jam from open",
        "  bound: till.jams never exceeds 0; its highest value is 1",
        "  guard: serve: `till is open` is never false",
        "  guard: jam: `till is open` is never false",
        "  guard: jam: `till.jams < 0` is never true",
        "  guard: repair: `till is jammed` is never true",
        "  property: jams_are_counted: `till is open` always holds",
        "  fairness: what holds would hold as well if recovery were not fair",
    ]


def test_a_stopped_search_decides_nothing(calfsm, kiosk):
    outcome = calfsm("explore", "--max-states", "3")
    assert outcome.code == 2
    assert outcome.out.count("not broken so far") == 3
    assert "never put to the test" not in outcome.out


def test_too_many_states_leave_promises_unjudged_and_that_is_no_success(calfsm, kiosk, monkeypatch):
    monkeypatch.setattr("calfsm.explore.judging.LIVENESS_STATES", 4)
    outcome = calfsm("explore")
    assert outcome.code == 2
    assert "everyone_is_served  not judged: more than 4 states" in outcome.out
    assert "`--liveness` judges them all the same" in outcome.out
    assert calfsm("explore", "--liveness").code == 0


def test_promises_may_be_left_out(calfsm, endless):
    outcome = calfsm("explore", "--no-liveness")
    assert outcome.code == 0
    assert "everyone_is_served" not in outcome.out
    assert "jams_are_counted  holds" in outcome.out


def test_one_state_is_counted_as_one(calfsm, kiosk):
    assert "1 state, no transitions, depth 0, " in calfsm("explore", "--max-states", "1").out


def test_each_of_several_systems_takes_the_parameters_that_it_knows(calfsm, kiosk):
    text = Path("specs/systems/kiosk.yaml").read_text("utf-8")
    Path("specs/systems/stand.yaml").write_text(
        text.replace("system: kiosk", "system: stand").replace("people", "guests"), "utf-8"
    )
    for command in (("explore", "--max-states", "10"), ("paths",)):
        told = json.loads(calfsm(*command, "--scope", "people=1,most=1", "--format", "json").out)
        if command == ("paths",):
            told = [{"system": suite["suite"], "scope": load(Path(suite["file"])).scope} for suite in told]
        scopes = {report["system"]: report["scope"] for report in told}
        assert scopes["kiosk"] == {"most": 1, "people": 1}
        assert scopes["stand"] == {"most": 1, "guests": 2}
        outcome = calfsm(*command, "--scope", "peeple=1")
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err == "calfsm: no system has a parameter `peeple`\n  did you mean `people`?\n"


# ---- counterexamples as files


def test_a_counterexample_is_written_as_five_files(calfsm, endless):
    outcome = calfsm("explore", "--counterexamples", "found/here")
    assert outcome.code == 1
    assert outcome.err == f"5 files written to {Path('found/here')}\n"
    names = [
        "everyone_is_served.jsonl",
        "everyone_is_served.mmd",
        "everyone_is_served.svg",
        "everyone_is_served.txt",
        "test_everyone_is_served.py",
    ]
    assert sorted(path.name for path in Path("found/here").iterdir()) == names
    assert Path("found/here/everyone_is_served.mmd").read_text("utf-8").startswith("sequenceDiagram\n")
    story = Path("found/here/everyone_is_served.txt").read_text("utf-8")
    assert story in outcome.out
    suite = load(Path("found/here/everyone_is_served.jsonl"))
    assert [step.do for step in suite.cases[0].steps] == ["order", "jam", "repair", "jam"]
    assert suite.cases[0].steps[0].then == {"customers[0]": {"state": "waiting"}}


def test_the_written_test_fails_until_the_fault_is_mended(calfsm, endless):
    calfsm("explore", "--counterexamples", "found")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={endless}", "found"]

    def tested() -> subprocess.CompletedProcess[str]:
        environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=endless)

    before = tested()
    assert before.returncode == 1
    assert "this can go on for ever, and it never holds that c is served" in before.stdout
    set_up(endless)
    assert tested().returncode == 0


def test_counterexamples_of_several_systems_do_not_overwrite_each_other(calfsm, endless):
    text = Path("specs/systems/kiosk.yaml").read_text("utf-8")
    Path("specs/systems/stand.yaml").write_text(text.replace("system: kiosk", "system: stand"), "utf-8")
    calfsm("explore", "--counterexamples", "found")
    names = {path.name for path in Path("found").glob("*.txt")}
    assert names == {"kiosk_everyone_is_served.txt", "stand_everyone_is_served.txt"}
    assert calfsm("explore", "--without", "jam").code == 2


def test_where_nothing_is_broken_nothing_is_written(calfsm, kiosk):
    outcome = calfsm("explore", "--counterexamples", "found")
    assert (outcome.code, outcome.err) == (0, "nothing is broken; no file is written\n")
    assert list(Path("found").iterdir()) == []


def test_files_appear_all_or_not_at_all(calfsm, endless):
    Path("found/test_everyone_is_served.py").mkdir(parents=True)
    outcome = calfsm("explore", "--counterexamples", "found")
    assert outcome.code == 2
    assert "found/test_everyone_is_served.py" in outcome.err
    assert [path.name for path in Path("found").iterdir()] == ["test_everyone_is_served.py"]


def test_a_folder_that_cannot_be_one_is_not_written_to(calfsm, endless):
    Path("plain").write_text("", "utf-8")
    for folder in ("plain", "plain/below"):
        outcome = calfsm("explore", "--counterexamples", folder)
        assert (outcome.code, outcome.out) == (2, "")  # nothing was searched
        assert f"calfsm: {folder}: " in outcome.err and "see whether it is there, and yours to use" in outcome.err
    assert Path("plain").read_text("utf-8") == ""


def test_a_folder_without_a_name_is_none(calfsm, endless):
    outcome = calfsm("explore", "--counterexamples", "")
    assert (outcome.code, outcome.out) == (2, "")
    assert "a folder without a name cannot be written to" in outcome.err


# ---- what if


def test_without_an_action_it_may_hold(calfsm, endless):
    outcome = calfsm("explore", "--without", "jam")
    assert outcome.code == 0
    assert outcome.out.splitlines()[1] == "what if: without jam"
    assert "never put to the test" not in outcome.out
    assert "what if: without jam, leave" in calfsm("explore", "--without", "jam", "--without", "leave").out


def test_with_some_sources_only_others_do_nothing(calfsm, kiosk):
    outcome = calfsm("explore", "--only", "client,engine", "--format", "json")
    assert json.loads(outcome.out)["what_if"] == "only client, engine acting"
    assert outcome.code == 0


def test_with_no_source_nobody_acts(calfsm, kiosk):
    assert "\nwhat if: nobody acting\n" in calfsm("explore", "--only", "").out


def test_what_is_fixed_keeps_the_search_where_it_holds(calfsm, endless):
    free = json.loads(calfsm("explore", "--format", "json").out)
    fixed = json.loads(
        calfsm(
            "explore", "--format", "json", "--fix", "count(c for c in customers if c is waiting) < 2 and till is open"
        ).out
    )
    assert fixed["states"] < free["states"]
    assert fixed["properties"]["everyone_is_served"] == "holds"
    assert fixed["digest"] == free["digest"]
    assert calfsm("explore", "--fix", "1 // (1 - till.jams) == 1").code == 0


def test_what_is_fixed_twice_must_hold_both_times(calfsm, endless):
    one, other = "count(c for c in customers if c is waiting) < 2", "till is open"
    both = json.loads(calfsm("explore", "--format", "json", "--fix", one, "--fix", other).out)
    same = json.loads(calfsm("explore", "--format", "json", "--fix", f"{one} and {other}").out)
    assert both["states"] == same["states"]
    assert both["what_if"] == f"gone on with only while `({one}) and ({other})` holds"
    assert calfsm("explore", "--fix", "till is opn", "--fix", other).code == 2


def test_what_does_not_hold_where_the_search_begins_cannot_be_fixed(calfsm, endless):
    outcome = calfsm("explore", "--fix", "till is open", "--fix", "till is jammed")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "calfsm: `--fix till is jammed` does not hold where the search begins\n"
        "  write what holds there, or begin elsewhere with --from\n"
    )
    calfsm("explore", "--counterexamples", "found")
    jammed = ["--from", "found/everyone_is_served.jsonl", "--fix", "till is jammed"]
    assert "states" in calfsm("explore", *jammed).out
    elsewhere = calfsm("explore", *jammed[:2], "--fix", "till is open")
    assert (elsewhere.code, elsewhere.out) == (2, "")
    assert "`--fix till is open` does not hold where the search begins" in elsewhere.err


def test_a_search_begins_where_a_case_ends_and_what_it_finds_can_be_begun_from_again(calfsm, endless):
    calfsm("explore", "--counterexamples", "found")
    outcome = calfsm("explore", "--from", "found/everyone_is_served.jsonl", "--counterexamples", "again")
    assert outcome.code == 1
    assert outcome.out.splitlines()[1] == "what if: begun where found/everyone_is_served.jsonl ends"
    suite = load(Path("again/everyone_is_served.jsonl"))
    assert [step.do for step in suite.cases[0].steps] == ["order", "jam", "repair", "jam", "repair", "jam"]
    assert suite.start["customers[0]"] == {"state": "away"}
    assert calfsm("explore", "--from", "again/everyone_is_served.jsonl", "--without", "jam").code == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--without", "jan"], "calfsm: `jan` is no action of kiosk\n  did you mean `jam`?\n"),
        (
            ["--only", "client,enjine"],
            "calfsm: `enjine` is no source of an action of kiosk\n  did you mean `engine`?\n",
        ),
        (["--fix", "till is opn"], "did you mean `open`?"),
        (["--fix", "tilt is open"], "tilt"),
        (["--fix", "till.jams"], "--fix `till.jams`"),
        (
            ["--fix", "till is (open"],
            "--fix `till is (open`, column 9: cannot read `till is (open`\n  close it with `)`\n",
        ),
        (["--fix", "customers[0] is away"], "  write `any(x is away for x in customers)`\n"),
        (["--from", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--from", "specs/systems/kiosk.yaml"], "specs/systems/kiosk.yaml:2: not JSON"),
    ],
)
def test_what_does_not_fit_the_system_cannot_be_tried(calfsm, kiosk, words, error):
    outcome = calfsm("explore", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert error in outcome.err


def test_a_case_that_cannot_be_done_here_cannot_be_begun_from(calfsm, endless):
    calfsm("explore", "--counterexamples", "found")
    set_up(endless)
    outcome = calfsm("explore", "--from", "found/everyone_is_served.jsonl")
    assert outcome.code == 2
    assert "found/everyone_is_served.jsonl was written for other specs of kiosk" in outcome.err
    assert (
        "found/everyone_is_served.jsonl:2: step 4, jam(), cannot be done as it is written: jam() refused:"
        in outcome.err
    )


def test_a_case_whose_states_are_others_here_cannot_be_begun_from(calfsm, endless):
    calfsm("explore", "--counterexamples", "found")
    file = Path("found/everyone_is_served.jsonl")
    file.write_text(file.read_text("utf-8").replace('{"state":"waiting"}', '{"state":"served"}'), "utf-8")
    outcome = calfsm("explore", "--from", file)
    assert (outcome.code, outcome.out) == (2, "")
    assert "step 1, order(c=0), cannot be done as it is written: customers[0].state is waiting, must be served" in (
        outcome.err
    )


def test_a_case_whose_steps_others_do_here_cannot_be_begun_from(calfsm, endless):
    calfsm("explore", "--counterexamples", "found")
    file = Path("found/everyone_is_served.jsonl")
    file.write_text(file.read_text("utf-8").replace('"by":"runtime"', '"by":"moon"', 1), "utf-8")
    outcome = calfsm("explore", "--from", file)
    assert (outcome.code, outcome.out) == (2, "")
    assert "found/everyone_is_served.jsonl:2: step 2: jam is done by runtime, not moon\n" in outcome.err


def test_what_begins_elsewhere_is_not_written_where_actions_are_missing(calfsm, endless):
    calfsm("explore", "--counterexamples", "found")
    words = ["--from", "found/everyone_is_served.jsonl", "--without", "leave", "--counterexamples", "again"]
    assert calfsm("explore", *words).code == 2
