"""`calfsm check`: what it prints, where, and what it exits with."""

from __future__ import annotations

import json
import os
import types
from pathlib import Path

import pytest

import calfsm.check
from calfsm.cli.check import workflow_command
from calfsm.cli.sarif import uri
from calfsm.spec.findings import Finding, Place, Severity

BAD = """\
machine: lamp
states: {off: {initial: true, colour: red}, on: {}}
events: {press: {by: nobody}}
transitions: {off: {press: on}, on: {press: off}}
"""


@pytest.fixture
def bad(nowhere):
    Path("lamp.yaml").write_text(BAD, "utf-8")
    return Path("lamp.yaml")


@pytest.fixture
def warned(project, monkeypatch):
    """A project in which the check finds one warning, and no error."""
    finding = Finding("redundant", Place("a.yaml", 3, 5), "said twice", "", "remove it", Severity.WARNING)
    monkeypatch.setattr(calfsm.check, "check_files", lambda paths: types.SimpleNamespace(findings=(finding,)))
    return project


def test_a_good_spec_holds(calfsm, project):
    outcome = calfsm("check")
    assert (outcome.code, outcome.out) == (0, "1 file checked: no errors, no warnings\n")
    assert outcome.err == ""


def test_every_finding_is_printed_as_it_speaks_and_then_counted(calfsm, bad):
    outcome = calfsm("check", bad)
    assert outcome.code == 1
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    assert lines[0] == "lamp.yaml:2:31: error[unknown-key]: `colour` is not a key of a state"
    assert lines[1].startswith("  its keys are ")
    assert "lamp.yaml:3:22: error[unknown-source]" in outcome.out
    assert lines[-1] == "1 file checked: 2 errors, no warnings"


def test_a_warning_is_shown_and_does_not_fail(calfsm, warned):
    outcome = calfsm("check")
    assert outcome.code == 0
    assert "a.yaml:3:5: warning[redundant]: said twice\n  remove it\n" in outcome.out
    assert outcome.out.endswith("1 file checked: no errors, 1 warning\n")


def test_a_finding_is_printed_as_it_prints_itself(calfsm, bad):
    from calfsm.check import check_files

    printed = calfsm("check", bad).out.splitlines()[:-1]
    assert printed == "\n".join(str(finding) for finding in check_files([bad]).findings).splitlines()


def test_what_a_hostile_spec_says_does_nothing_to_the_terminal(calfsm, nowhere):
    Path("odd.yaml").write_text('machine: x\n"\\e[2J\\b": 1\n', "utf-8")
    outcome = calfsm("check", "odd.yaml")
    assert outcome.code == 1
    assert "\x1b" not in outcome.out
    assert "`\\x1b[2J\\x08` is not a key" in outcome.out


def test_severities_are_coloured_where_colour_is_wanted(calfsm, bad, monkeypatch):
    plain = calfsm("check", bad).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = calfsm("check", bad).out
    assert "\x1b[31;1merror[unknown-key]\x1b[0m" in coloured
    assert "\x1b" not in plain
    for code in ("\x1b[31;1m", "\x1b[1m", "\x1b[31m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain


# ---- for programs


def test_json_says_everything_that_text_says(calfsm, bad):
    outcome = calfsm("check", bad, "--format", "json")
    report = json.loads(outcome.out)
    assert outcome.code == 1
    assert (report["files"], report["errors"], report["warnings"]) == (["lamp.yaml"], 2, 0)
    first = report["findings"][0]
    assert first["code"] == "unknown-key"
    assert first["severity"] == "error"
    assert (first["file"], first["line"], first["column"]) == ("lamp.yaml", 2, 31)
    assert first["message"] == "`colour` is not a key of a state"
    assert first["because"] and first["fix"]


def test_json_of_a_good_spec_is_a_report_without_findings(calfsm, project):
    outcome = calfsm("check", "--format", "json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["findings"] == []


def test_sarif_points_each_result_at_its_rule_and_place(calfsm, bad):
    outcome = calfsm("check", bad, "--format", "sarif")
    log = json.loads(outcome.out)
    assert outcome.code == 1
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["unknown-key", "unknown-source"]
    assert all(rule["shortDescription"]["text"] != rule["id"] for rule in rules)
    first = run["results"][0]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("unknown-key", 0, "error")
    assert first["message"]["text"].startswith("`colour` is not a key of a state\n")
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "lamp.yaml"},
                "region": {"startLine": 2, "startColumn": 31},
            }
        }
    ]
    assert outcome.err == "1 file checked: 2 errors, no warnings\n"


def test_sarif_of_a_good_spec_is_a_run_without_results(calfsm, project):
    (run,) = json.loads(calfsm("check", "--format", "sarif").out)["runs"]
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


def test_a_place_in_sarif_is_a_uri():
    assert uri("specs/a b#1.yaml") == "specs/a%20b%231.yaml"
    assert uri("/tmp/lämp.yaml") == "file:///tmp/l%C3%A4mp.yaml"
    assert uri("\udcff.yaml") == "%FF.yaml"


def test_github_annotates_each_place_and_prints_nothing_else(calfsm, bad):
    outcome = calfsm("check", bad, "--format", "github")
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(
        "::error file=lamp.yaml,line=2,col=31,title=unknown-key::`colour` is not a key of a state%0A"
    )
    assert outcome.err == "1 file checked: 2 errors, no warnings\n"


def test_github_commands_escape_what_would_end_them():
    finding = Finding("gap", Place("a,b:c%.yaml", 1, 2), "100%: a,\r\nb", "", "::error::x", Severity.WARNING)
    assert workflow_command(finding) == (
        "::warning file=a%2Cb%3Ac%25.yaml,line=1,col=2,title=gap::100%25: a,%0D%0Ab%0A::error::x"
    )


# ---- what cannot be tried


@pytest.mark.parametrize("format", ["text", "json", "sarif", "github"])
def test_a_missing_file_cannot_be_tried_whatever_the_format(calfsm, nowhere, format):
    outcome = calfsm("check", "missing.yaml", "--format", format)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("calfsm: missing.yaml: No such file or directory\n")


def test_a_folder_without_specs_cannot_be_tried(calfsm, nowhere):
    outcome = calfsm("check", ".")
    assert (outcome.code, outcome.out) == (2, "")
    assert "holds no spec" in outcome.err


def test_one_missing_file_among_good_ones_cannot_be_tried(calfsm, project):
    outcome = calfsm("check", "specs", "missing.yaml")
    assert (outcome.code, outcome.out) == (2, "")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_cannot_be_tried(calfsm, bad):
    bad.chmod(0)
    outcome = calfsm("check", bad)
    assert (outcome.code, outcome.out) == (2, "")
    assert "lamp.yaml: the file cannot be read: Permission denied" in outcome.err


def test_a_file_that_goes_away_while_it_is_read_cannot_be_tried(calfsm, project, monkeypatch):
    def read(self: Path, *args: object, **kwargs: object) -> object:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", read)
    outcome = calfsm("check")
    assert (outcome.code, outcome.out) == (2, "")
    assert "lamp.yaml: the file cannot be read: Permission denied" in outcome.err


def test_a_dangling_link_among_the_specs_is_not_passed_over(calfsm, project):
    (project / "specs" / "machines" / "gone.yaml").symlink_to("nowhere.yaml")
    outcome = calfsm("check")
    assert (outcome.code, outcome.out) == (2, "")
    assert "gone.yaml" in outcome.err


# ---- what can be tried, and is wrong


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "not-utf-8"),
        (b"\x00\x01\x02", "not-yaml"),
        (b"", "empty"),
        (b"machine: [", "not-yaml"),
        (b"just words", "no-kind"),
        (b"- a\n- b\n", "no-kind"),
        (b"[" * 100 + b"]" * 100, "too-deep"),
        (b"machine: &a [*a, *a]", "alias-bomb"),
        (b"x" * 1_000_001, "too-large"),
    ],
)
def test_a_file_that_is_no_spec_is_a_finding_and_no_crash(calfsm, nowhere, content, code):
    Path("strange.yaml").write_bytes(content)
    outcome = calfsm("check", "strange.yaml")
    assert outcome.code == 1
    assert f"error[{code}]" in outcome.out
    assert outcome.err == ""
