"""`calfsm new`: what it writes passes the checks, and nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from calfsm import spec
from calfsm.spec.model import MachineSpec, ProfileSpec, SystemSpec
from calfsm.spec.read import read_spec


def test_a_new_machine_is_written_to_the_project_and_passes_the_checks(calfsm, project):
    outcome = calfsm("new", "machine", "fetch")
    assert (outcome.code, outcome.out) == (0, "specs/machines/fetch.yaml\n")
    assert "calfsm check specs/machines/fetch.yaml" in outcome.err
    checked = calfsm("check", "specs/machines/fetch.yaml")
    assert (checked.code, checked.out) == (0, "1 file checked: no errors, no warnings\n")


def test_a_new_machine_shows_what_a_life_is_made_of(calfsm, project):
    calfsm("new", "machine", "fetch")
    fetch = read_spec(Path("specs/machines/fetch.yaml")).spec
    assert isinstance(fetch, MachineSpec)
    assert fetch.name == "fetch"
    assert any(state.awaits and state.deadline for state in fetch.states.values())
    assert {event.by.value for event in fetch.events.values()} == {"client", "engine", "runtime", "clock", "recovery"}
    assert any(a.when for _, _, cell in fetch.written_cells() for a in cell.alternatives)
    assert fetch.anywhere
    assert fetch.params and fetch.vars


def test_without_a_project_one_begins_here(calfsm, nowhere):
    assert calfsm("new", "machine", "fetch").out == "specs/machines/fetch.yaml\n"
    assert calfsm("check").code == 0


def test_below_a_project_the_spec_goes_to_the_projects_folder(calfsm, project, monkeypatch):
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    outcome = calfsm("new", "machine", "fetch")
    assert Path(outcome.out.strip()).resolve() == project / "specs" / "machines" / "fetch.yaml"
    assert (project / "specs" / "machines" / "fetch.yaml").is_file()


def test_into_names_another_folder_and_makes_it(calfsm, nowhere):
    assert calfsm("new", "machine", "fetch", "--into", "a/b").out == "a/b/fetch.yaml\n"
    assert Path("a/b/fetch.yaml").is_file()


def test_a_system_and_a_profile_follow_from_the_machine_and_pass_the_checks(calfsm, nowhere):
    assert calfsm("new", "machine", "fetch").code == 0
    assert calfsm("new", "system", "fetching").out == "specs/systems/fetching.yaml\n"
    assert calfsm("new", "profile", "small-one").out == "specs/profiles/small-one.yaml\n"
    checked = calfsm("check")
    assert (checked.code, checked.out) == (0, "3 files checked: no errors, no warnings\n")
    system, profile = (
        read_spec(Path(f"specs/{name}.yaml")).spec for name in ("systems/fetching", "profiles/small-one")
    )
    assert isinstance(system, SystemSpec)
    assert isinstance(profile, ProfileSpec)
    assert list(system.actions) == ["request", "recycle", "cancel", "answer", "timeout", "reset"]
    assert profile.deadlines == {"answer_timeout": 1.0}
    assert profile.params == {"max_tries": 3, "items": 16}
    assert profile.scope == {"max_tries": 2, "items": 2}


def test_a_system_of_one_machine_among_several_is_asked_for_by_name(calfsm, project):
    calfsm("new", "machine", "fetch")
    outcome = calfsm("new", "system", "s")
    assert outcome.code == 2
    assert outcome.err == "calfsm: of which machine?\n  write `--of NAME`; there are fetch and lamp\n"
    assert calfsm("new", "system", "s", "--of", "lamp").code == 0
    assert "{machine: lamp, count: items}" in Path("specs/systems/s.yaml").read_text()


def test_a_system_of_an_unknown_machine_brings_the_nearest(calfsm, project):
    outcome = calfsm("new", "system", "s", "--of", "lmap")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean `lamp`?" in outcome.err


def test_a_profile_needs_a_system(calfsm, project):
    outcome = calfsm("new", "profile", "p")
    assert outcome.code == 2
    assert "no system that can be read" in outcome.err
    assert "calfsm new system NAME" in outcome.err


def test_editors_find_the_schema_by_the_first_line(calfsm, nowhere):
    calfsm("new", "machine", "fetch")
    path = Path("specs/machines/fetch.yaml")
    label, _, target = path.read_text("utf-8").splitlines()[0].partition("=")
    assert label == "# yaml-language-server: $schema"
    assert (path.parent / target).resolve().name == "machine.schema.json"
    assert (path.parent / target).is_file()


def test_the_schema_is_named_relatively_where_the_project_holds_it(calfsm, project, monkeypatch):

    package = project / "calfsm" / "spec"
    package.mkdir(parents=True)
    monkeypatch.setattr(spec, "__file__", str(package / "__init__.py"))
    calfsm("new", "machine", "fetch")
    first = Path("specs/machines/fetch.yaml").read_text("utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=../../calfsm/spec/schema/machine.schema.json"


# ---- nothing is lost


def test_a_file_that_is_there_is_never_overwritten(calfsm, project):
    before = Path("specs/machines/lamp.yaml").read_bytes()
    outcome = calfsm("new", "machine", "lamp")
    assert (outcome.code, outcome.out) == (2, "")
    assert "lamp.yaml is there already" in outcome.err
    assert Path("specs/machines/lamp.yaml").read_bytes() == before


def test_a_dangling_link_is_not_written_through(calfsm, nowhere):
    Path("x.yaml").symlink_to("elsewhere.yaml")
    assert calfsm("new", "machine", "x", "--into", ".").code == 2
    assert not Path("elsewhere.yaml").exists()


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("Fetch", "write `fetch`"),
        ("my-fetch", "write `my_fetch`"),
        ("../../etc/passwd", "write `etc_passwd`"),
        ("/tmp/x", "write `tmp_x`"),
        ("9lives", "write `lives`"),
        ("a b", "write `a_b`"),
        ("a\nb", "write `a_b`"),
        ("设备", ""),
        ("", ""),
        ("a" * 300, "write `" + "a" * 60 + "`"),
    ],
)
def test_a_name_that_is_not_one_is_refused_with_the_nearest_that_is(calfsm, nowhere, name, fix):
    outcome = calfsm("new", "machine", name)
    assert (outcome.code, outcome.out) == (2, "")
    assert "is not a name" in outcome.err
    assert fix in outcome.err
    assert list(nowhere.iterdir()) == []


def test_a_folder_that_is_a_file_cannot_be_written_to(calfsm, nowhere):
    Path("file").write_text("")
    outcome = calfsm("new", "machine", "fetch", "--into", "file")
    assert (outcome.code, outcome.out) == (2, "")
    assert "file" in outcome.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_is_not_ours_cannot_be_written_to(calfsm, nowhere):
    Path("theirs").mkdir(mode=0o500)
    outcome = calfsm("new", "machine", "fetch", "--into", "theirs")
    assert (outcome.code, outcome.out) == (2, "")
    assert "Permission denied" in outcome.err


@pytest.mark.parametrize("words", [(), ("machine",), ("robot", "x"), ("machine", "x", "y")])
def test_half_a_command_shows_its_usage(calfsm, nowhere, words):
    outcome = calfsm("new", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("usage: calfsm new")


@pytest.mark.parametrize(("kind", "name"), [("machine", "true"), ("system", "for"), ("profile", "none")])
def test_a_word_of_the_language_cannot_be_a_name(calfsm, project, kind, name):
    outcome = calfsm("new", kind, name)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"calfsm: `{name}` is a word of the language and cannot be a name\n  write `{name}_`\n"
    assert not Path(f"specs/{kind}s/{name}.yaml").exists()


# ---- what stands beside


def test_a_system_is_of_the_machine_that_stands_beside_it(calfsm, project):
    calfsm("new", "machine", "fetch", "--into", "mine")
    assert calfsm("new", "system", "fetching", "--into", "mine").code == 0
    assert "{machine: fetch, count: items}" in Path("mine/fetching.yaml").read_text("utf-8")
    assert calfsm("new", "profile", "small", "--into", "mine").code == 0
    checked = calfsm("check", "mine")
    assert (checked.code, checked.out) == (0, "3 files checked: no errors, no warnings\n")


def test_a_machine_of_the_project_can_still_be_named_and_a_folder_in_folders_is_seen(calfsm, project):
    calfsm("new", "machine", "fetch", "--into", "mine/machines")
    assert calfsm("new", "system", "one", "--into", "mine").code == 0
    assert "{machine: fetch, count: items}" in Path("mine/one.yaml").read_text("utf-8")
    assert calfsm("new", "system", "other", "--of", "lamp", "--into", "mine").code == 0
    assert "{machine: lamp, count: items}" in Path("mine/other.yaml").read_text("utf-8")


def test_where_nothing_stands_beside_the_projects_machine_is_taken(calfsm, project):
    assert calfsm("new", "system", "s", "--into", "empty").code == 0
    assert "{machine: lamp, count: items}" in Path("empty/s.yaml").read_text("utf-8")
