"""Reading: text to specs, with the place of everything, whatever form YAML gives it."""

from __future__ import annotations

import pytest

from calfsm.spec.expressions import Compare, Number, Path
from calfsm.spec.model import Alternative, Cell, MachineSpec, Param, Participant, ProfileSpec, Source, SystemSpec
from calfsm.spec.read import Reading, parse_participant, read_spec, read_spec_text
from calfsm.spec.yaml_text import MAX_DEPTH, read_bytes

DOOR = """\
machine: door
params: {most: {serves: 9, explores: 2}}
vars:
  knocks: {int: [0, most]}
states:
  open:   {initial: true}
  closed:
events:
  close: {by: client}
  open:  {by: engine, doc: It is pushed.}
transitions:
  open: {close: closed}
  closed:
    open:
      - {when: knocks > 0, to: open, set: {knocks: knocks - 1}}
      - {else: true, stay: Nobody knocks.}
anywhere:
  close: {stay: It is closed.}
"""


def machine(text: str) -> MachineSpec:
    reading = read_spec_text(text, "door.yaml")
    assert reading.findings == ()
    assert isinstance(reading.spec, MachineSpec)
    return reading.spec


def found(text: str | bytes) -> list[str]:
    reading = read_spec_text(text, "it.yaml") if isinstance(text, str) else structured(text)
    return [f"{finding.place.line}:{finding.place.column} {finding.code}" for finding in reading.findings]


def structured(raw: bytes) -> Reading:
    from calfsm.spec.read import structure

    return structure(read_bytes(raw, "it.yaml"))


def test_a_machine_is_read_as_it_is_written():
    door = machine(DOOR)
    assert door.name == "door"
    assert door.initial == "open"
    assert list(door.states) == ["open", "closed"]
    assert door.params == {"most": Param(9, 2)}
    assert door.events["close"].by is Source.CLIENT
    assert door.cell("open", "close") == Cell((Alternative(to="closed"),))
    assert door.cell("closed", "close") == Cell((Alternative(stay="It is closed."),))
    assert door.cell("open", "open") is None
    first, second = door.transitions["closed"]["open"].alternatives
    assert first.when == Compare(">", Path("knocks"), Number(0))
    assert (second.otherwise, second.stay) == (True, "Nobody knocks.")


def test_the_order_of_the_table_is_that_of_states_and_events():
    assert [(state, event) for state, event, _ in machine(DOOR).cells()] == [
        ("open", "close"),
        ("closed", "close"),
        ("closed", "open"),
    ]


def test_everything_has_its_place():
    places = machine(DOOR).places
    assert str(places.key("states", "closed")) == "door.yaml:7:3"
    assert str(places.value("transitions", "open", "close")) == "door.yaml:12:17"
    assert str(places.value("transitions", "closed", "open", 0, "when")) == "door.yaml:15:16"
    assert str(places.inside(9, "transitions", "closed", "open", 0, "when")) == "door.yaml:15:25"


def test_what_is_not_there_has_the_place_of_what_is_around_it():
    places = machine(DOOR).places
    assert str(places.key("states", "open", "deadline", "after")) == "door.yaml:6:3"
    assert str(places.value("vars", "knocks", "initial")) == "door.yaml:4:11"


@pytest.mark.parametrize(
    ("written", "column"),
    [("knocks > most", 15), ("'knocks > most'", 16), ('"knocks > most"', 16)],
    ids=["plain", "single", "double"],
)
def test_a_place_inside_a_text_counts_its_quote(written, column):
    door = machine(DOOR.replace("{close: closed}", f"{{close: {{to: closed, when: {written}}}}}"))
    start = door.places.value("transitions", "open", "close", "when").column
    assert door.places.inside(9, "transitions", "open", "close", "when").column == start + 9 + (column - 15)


def test_a_place_inside_a_text_of_several_lines_is_where_the_text_begins():
    door = machine(DOOR.replace("{close: closed}", "\n    close:\n      to: closed\n      when: knocks >\n        0"))
    where = ("transitions", "open", "close", "when")
    assert door.places.inside(9, *where) == door.places.value(*where)


def test_a_byte_order_mark_and_foreign_line_ends_are_allowed():
    assert found(b"\xef\xbb\xbf" + DOOR.encode().replace(b"\n", b"\r\n")) == []


def test_a_schema_for_editors_is_passed_over():
    assert found("$schema: machine.schema.json\n" + DOOR) == []


def test_the_words_of_yaml_1_1_are_words():
    door = machine(DOOR.replace("vars:\n", "vars:\n  lamp: {enum: [on, off, yes, no]}\n"))
    assert door.vars["lamp"].enum == ("on", "off", "yes", "no")


def test_every_misfit_of_a_file_is_found_at_once():
    text = DOOR.replace("[0, most]", "[0]").replace("client", "cleint").replace("closed}\n", "closed, opne: 3}\n")
    assert found(text) == ["4:17 wrong-type", "9:15 unknown-source", "12:31 wrong-type"]


def test_every_misspelt_participant_is_found_at_once_and_where_it_stands():
    actions = "actions:\n  act: {by: engine, fire: {a b: e, 'all': [e, 3], 'where': []}}\n"
    assert found(f"system: s\nparts: {{a: {{machine: m}}}}\n{actions}") == [
        "4:28 bad-participant",
        "4:43 wrong-type",
        "4:60 wrong-type",
    ]


def test_a_participant_that_is_written_in_two_ways_is_found():
    text = "system: s\nparts: {a: {machine: m}}\nactions:\n  act: {by: engine, fire: {all a: e, 'all  a': f}}\n"
    assert found(text) == ["4:38 duplicate-key"]


@pytest.mark.parametrize(
    ("text", "participant"),
    [
        ("j", Participant(Path("j"))),
        ("j.buffer.dma", Participant(Path("j", ("buffer", "dma")))),
        ("all jobs", Participant(Path("jobs"), every=True)),
        ("kvs where job == j", Participant(Path("kvs"), where=("job", Path("j")))),
        ("kvs where job==j.twin", Participant(Path("kvs"), where=("job", Path("j", ("twin",))))),
    ],
)
def test_a_participant_is_a_path_or_many(text, participant):
    assert parse_participant(text) == participant
    assert parse_participant(str(participant)) == participant


def test_a_system_and_a_profile_are_read_as_they_are_written():
    text = "system: s\nparts: {a: {machine: m}}\nactions: {}\nfair: [clock, go]\nstrongly_fair: [go]\n"
    system = read_spec_text(text).spec
    assert isinstance(system, SystemSpec)
    assert (system.fair, system.strongly_fair) == (("clock", "go"), ("go",))
    assert system.parts["a"].count == 1
    profile = read_spec_text("profile: phase-a\nsystem: s\ndeadlines: {wait: 2, grace: 0.5}\n").spec
    assert isinstance(profile, ProfileSpec)
    assert profile.deadlines == {"wait": 2.0, "grace": 0.5}


def test_a_spec_is_read_from_a_file(tmp_path):
    path = tmp_path / "door.yaml"
    path.write_text(DOOR, "utf-8")
    reading = read_spec(path)
    assert reading.spec == machine(DOOR)
    assert reading.file == str(path)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_spec(tmp_path / "door.yaml")


def test_aliases_are_values_written_again():
    door = machine(DOOR.replace("close: {stay: It is closed.}", "close: &same {stay: It is.}\n  open: *same"))
    assert door.anywhere["open"] == door.anywhere["close"]


def test_aliases_cannot_nest_deeper_than_brackets():
    links = [f"a0: &a0 {'[' * 20}x{']' * 20}"]
    links += [f"a{i}: &a{i} {'[' * 20}*a{i - 1}{']' * 20}" for i in range(1, 100)]
    assert len(links) * 20 > MAX_DEPTH
    assert [code.split()[1] for code in found("\n".join(links))] == ["alias-bomb"]


def test_a_finding_about_anchors_is_not_followed_by_findings_about_what_was_cut_off():
    assert found("machine: door\nstates: &s {open: {doc: *s}}\n") == ["2:9 alias-bomb"]


@pytest.mark.parametrize("brackets", ["[" * 50, "[" * 20_000, "[" * 50 + "]" * 50, "{a: " * 50, "- " * 50])
def test_deep_nesting_is_found_whether_or_not_it_is_closed(brackets):
    assert [code.split()[1] for code in found(f"machine: door\nstates:\n  {brackets}\n")] == ["too-deep"]


@pytest.mark.parametrize("number", ["12345678901234567890", "0x10", "1_000", "1e3", "010", "+", ".5"])
def test_numbers_are_decimal_and_not_too_long(number):
    assert found(DOOR.replace("serves: 9", f"serves: {number}")) == ["2:25 wrong-type"]


@pytest.mark.parametrize("number", ["7", "-7", "+7", "0"])
def test_whole_numbers_may_have_a_sign(number):
    assert machine(DOOR.replace("serves: 9", f"serves: {number}")).params["most"].serves == int(number)
