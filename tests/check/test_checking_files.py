"""Files are read together, with what they name, and judged together."""

from __future__ import annotations

from pathlib import Path

import pytest

from calfsm.check import check_files
from calfsm.spec.yaml_text import MAX_BYTES

LAMP = """\
machine: lamp
vars: {warm: {bool: false}}
states: {dark: {initial: true}, lit: {}}
events: {press: {by: client}}
transitions: {dark: {press: lit}, lit: {press: dark}}
"""
ROOM = """\
system: room
parts: {lamps: {machine: lamp, count: 2}}
actions: {press: {by: client, pick: {x: lamps}, fire: {x: press}}}
"""
NIGHT = """\
profile: night
system: room
"""


@pytest.fixture
def specs(tmp_path, monkeypatch):
    """The folder of a project: `machines/lamp.yaml`, `systems/room.yaml`, `profiles/night.yaml`."""
    for path, text in (("machines/lamp", LAMP), ("systems/room", ROOM), ("profiles/night", NIGHT)):
        write(tmp_path / f"{path}.yaml", text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


def found(*paths: str) -> list[str]:
    return [f"{finding.place} {finding.code}" for finding in check_files(paths).findings]


def test_a_system_brings_in_its_machines_and_a_profile_its_system(specs):
    result = check_files(["profiles/night.yaml"])
    assert result.findings == ()
    assert (list(result.machines), list(result.systems), list(result.profiles)) == (["lamp"], ["room"], ["night"])


def test_machines_may_stand_in_a_folder_beside_the_system(specs):
    write(specs / "room.yaml", ROOM)
    assert found("room.yaml") == []


def test_a_folder_stands_for_all_in_it_but_what_lies_in_its_examples(specs):
    without = found(".")
    write(specs / "examples" / "wrong.yaml", "machine: wrong")
    assert found(".") == without
    assert found("examples") != []


def test_machines_that_are_not_needed_are_not_read_out(specs):
    write(specs / "machines" / "other.yaml", "machine: other")
    write(specs / "machines" / "broken.yaml", "{")
    assert found("systems/room.yaml") == []


def test_what_is_brought_in_is_judged(specs):
    write(specs / "machines" / "lamp.yaml", LAMP.replace("press: dark", "press: drak"))
    assert found("profiles/night.yaml") == ["machines/lamp.yaml:5:48 unknown-state"]


def test_a_machine_that_is_brought_in_is_not_blamed_for_what_other_systems_may_use(specs):
    assert found("systems/room.yaml") == []
    assert found("systems/room.yaml", "machines/lamp.yaml") == ["machines/lamp.yaml:2:8 unused"]


def test_a_folder_stands_for_the_specs_in_it(specs):
    write(specs / "machines" / "notes.txt", "not a spec")
    assert found(".") == ["machines/lamp.yaml:2:8 unused"]


def test_a_file_that_is_given_twice_is_read_once(specs):
    assert found("machines/lamp.yaml", "./machines/../machines/lamp.yaml") == []


def test_findings_come_in_the_order_of_files_and_lines(specs):
    write(specs / "a.yaml", "machine: a\nstates: {x: {initial: true}}\nevents: {e: {by: client}}\n")
    write(specs / "b.yaml", "machine: b\nsates: {}\n")
    assert found("b.yaml", "a.yaml") == [
        "a.yaml:2:10 dead-end",
        "a.yaml:3:10 untaken-event",
        "b.yaml:1:1 missing-key",
        "b.yaml:1:1 missing-key",
        "b.yaml:2:1 unknown-key",
    ]


@pytest.mark.parametrize("broken", ["machine: lamp\nstates: {on: {hue: red}}", "{", ""], ids=["shape", "yaml", "empty"])
def test_a_machine_that_cannot_be_read_is_not_called_unknown(specs, broken):
    write(specs / "machines" / "lamp.yaml", broken)
    assert {code.split()[0].split(":")[0] for code in found("systems/room.yaml")} == {"machines/lamp.yaml"}


def test_a_system_that_cannot_be_read_is_not_called_unknown(specs):
    write(specs / "systems" / "room.yaml", "system: room")
    assert found("profiles/night.yaml") == ["systems/room.yaml:1:1 missing-key"] * 2


def test_a_file_that_is_not_there_is_a_finding(specs):
    (finding,) = check_files(["machines/lmap.yaml"]).findings
    assert str(finding) == (
        "machines/lmap.yaml:1:1: error[unreadable]: the file cannot be read: No such file or directory\n"
        "  check its name"
    )


def test_a_name_that_no_file_can_have_is_a_finding(specs):
    (finding,) = check_files(["lamp\0.yaml"]).findings
    assert finding.code == "unreadable"


def test_a_file_of_more_than_a_megabyte_is_not_looked_into(specs):
    (specs / "large.yaml").write_bytes(LAMP.encode() + b"#" * MAX_BYTES)
    (finding,) = check_files(["large.yaml"]).findings
    assert str(finding) == (
        "large.yaml:1:1: error[too-large]: the file is larger than 1,000,000 bytes\n"
        "  a spec is written by people for people; a file of this size is not one\n"
        "  split it into one machine or system a file"
    )


def test_a_machine_of_too_many_cells_is_not_judged(specs):
    states = "".join(f"  s{i}: {{}}\n" for i in range(400))
    events = "".join(f"  e{i}: {{by: client}}\n" for i in range(400))
    write(specs / "wide.yaml", f"machine: wide\nstates:\n{states}events:\n{events}")
    (finding,) = check_files(["wide.yaml"]).findings
    assert str(finding) == (
        "wide.yaml:1:10: error[too-large]: wide has 400 states and 400 events\n"
        "  a table of more than 100,000 cells is not read by people, and is not judged\n"
        "  split it into several machines"
    )


def test_warnings_do_not_fail_the_check(specs):
    result = check_files(["."])
    assert result.ok
    assert result.errors == ()
    assert len(result.findings) == 1


def test_errors_fail_the_check(specs):
    write(specs / "b.yaml", "machine: b\n")
    result = check_files(["."])
    assert not result.ok
    assert {finding.code for finding in result.errors} == {"missing-key"}


def test_of_two_machines_with_one_name_the_first_is_used(specs):
    write(specs / "machines" / "again.yaml", LAMP.replace("press", "push"))
    result = check_files(["systems/room.yaml", "machines/lamp.yaml", "machines/again.yaml"])
    assert list(result.machines["lamp"].events) == ["press"]
    assert [finding.code for finding in result.errors] == ["defined-twice"]
