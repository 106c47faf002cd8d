"""Models as they are written; what they are not written for; and that no text of a user's gets out of its comment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from export_oracles import by_rumur, by_search, by_spin, with_oracles
from made_systems import compiled

from calfsm.engine.system import System
from calfsm.export import FORMATS, CannotExport, murphi, promela
from calfsm.export.names import RESERVED, Names, comment
from calfsm.tables.executor import SYSTEM

GOLDEN = Path(__file__).parents[1] / "golden" / "export"

HOSTILE = [
    "*/ assert(false) /*",
    "two\nlines\r\n--\x0b\x85\u2028begin",
    "ends in a backslash \\",
    "bell\x07 nul\x00 escape\x1b[31m",
    "\"quoted\" 'words' and // slashes ??/",
    "#define true false",
    "待機中 é ∀ ≔",
]


def hostile(text: str) -> System:
    """A system that says `text` wherever text can be said."""
    machine = """\
machine: thing
states: {idle: {initial: true}, busy: {}}
events: {go: {by: engine}}
transitions: {idle: {go: busy}, busy: {go: {stay: REASON}}}
"""
    system = """\
system: place
parts: {things: {machine: thing, count: 2}}
actions: {go: {by: engine, pick: {t: things}, when: t is idle or t is busy, fire: {t: go}}}
always: {fine: "all(t in {idle, busy} for t in things)"}
"""
    made = compiled(machine, system)
    table = made.parts[0].table
    table.doc = made.doc = text
    table.states = tuple(row._replace(doc=text) for row in table.states)
    table.events = tuple(row._replace(doc=text) for row in table.events)
    table.cells = tuple(
        tuple(tuple(a._replace(stay=a.stay and text) for a in cell) if cell else cell for cell in row)
        for row in table.cells
    )
    made.parts = tuple(part._replace(doc=text) for part in made.parts)
    made.actions = tuple(
        row._replace(
            doc=text,
            effects=(text,),
            guards=tuple(guard._replace(text=text) for guard in row.guards),
            fired=tuple(fired._replace(text=text) for fired in row.fired),
        )
        for row in made.actions
    )
    made.always = tuple(
        row._replace(conditions=tuple(each._replace(text=text) for each in row.conditions)) for row in made.always
    )
    return made


def reserved_everywhere() -> System:
    """A system in which everything is called by a word that is none to call things by in some language."""
    machines = [
        """\
machine: if
params: {rule: {serves: 2, explores: 2}, stdin: {serves: 1, explores: 1}}
vars:
  state: {int: [0, rule]}
  int: {bool: false}
  now: {cycle: 2}
  register: {enum: [end, od, end_]}
  it: {ref: active}
  x_do: {ref: unix}
states: {init: {initial: true}, timeout: {}, end: {}}
events: {skip: {by: engine}, skip_: {by: engine}, assert: {by: engine}}
transitions:
  init: {skip: {to: timeout, set: {state: state + 1, now: now + 1}, when: state < rule}, assert: end}
  timeout: {skip_: {to: init, set: {register: od, int: not int}}}
  end: {skip: {to: init, set: {register: end_, it: none, x_do: none}}}
""",
        """\
machine: if_
vars: {do: {ref: do}, number: {int: [0, 1]}}
states: {init: {initial: true}, type: {}}
events: {array: {by: engine}}
transitions: {init: {array: type}, type: {array: {to: init, set: {do: none}}}}
""",
    ]
    system = """\
system: system
params: {enum: {serves: 2, explores: 2}}
parts:
  do: {machine: if}
  active: {machine: if_, count: enum}
  unix: {machine: if_, per: active}
  long: {machine: if_}
actions:
  never: {by: engine, pick: {it: active, none_: active}, choose: {now: [0, 1]}, fire: {do: skip}, set: {do.it: it}}
  always: {by: engine, pick: {x_active: active}, fire: {x_active: array, do: skip_}, set: {x_active.do: do}}
  rule: {by: engine, pick: {end: unix}, fire: {end: array, active where do == do: array}, set: {do.x_do: end}}
  ruleset: {by: engine, when: do.state > 0 or do.int, fire: {do: assert}}
always:
  max: "count(u for u in unix if any(a.do == do and a is type for a in active)) < 2"
  assert: do.it != do.x_do or do.register in {od, end_}
"""
    return compiled(*machines, system.replace("do.it != do.x_do or ", ""))


@pytest.mark.parametrize(("language", "suffix"), [("promela", "pml"), ("murphi", "m")])
def test_a_system_with_something_of_everything_reads_like_this(language: str, suffix: str) -> None:
    system = compiled(*(path.read_text("utf-8") for path in sorted(GOLDEN.glob("*.yaml"))))
    written = (GOLDEN / f"yard.{suffix}").read_text("utf-8")
    assert re.sub(r"digest \w+", f"digest {system.digest}", written) == FORMATS[language](system, None)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_comment_is_one_line_and_ends_where_it_should(text: str) -> None:
    said = comment(text)
    assert said.isprintable() and "*/" not in said and "/*" not in said


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_user_says_stands_in_comments_only(text: str) -> None:
    for write, comments in ((promela, r"(?s)/\*.*?\*/"), (murphi, r"--[^\n]*")):
        said, unsaid = write(hostile(text), None), write(hostile(""), None)
        assert comment(text) in said
        assert re.sub(comments, "", said).split() == re.sub(comments, "", unsaid).split()


def test_a_name_is_never_reserved_and_never_given_twice() -> None:
    names = Names()
    given = [names.claim(word) for word in [*sorted(RESERVED), *sorted(RESERVED), "free", "free", "FREE", "Do"]]
    assert len(set(given)) == len(given)
    assert not {name.lower() for name in given} & RESERVED
    assert given[-4:] == ["free", "free_", "FREE", "Do_"]


def test_names_of_scopes_beside_each_other_may_be_the_same_and_of_scopes_inside_each_other_never() -> None:
    names = Names()
    one, other = names.inner(), names.inner()
    assert (one.claim("r"), other.claim("r"), names.claim("r"), names.claim("s")) == ("r", "r", "r_", "s")
    assert (one.inner().claim("r"), names.inner().claim("s")) == ("r_", "s_")


@pytest.mark.parametrize("write", FORMATS.values())
def test_a_scope_at_which_a_variable_would_leave_its_domain_is_refused(write: object) -> None:
    machine = """\
machine: thing
params: {most: {serves: 3, explores: 3}}
vars: {n: {int: [0, most]}}
states: {idle: {initial: true}}
events: {go: {by: engine}}
transitions: {idle: {go: {to: idle, when: n < 3, set: {n: n + 1}}}}
"""
    system = compiled(machine, "system: s\nparts: {t: {machine: thing}}\nactions: {go: {by: engine, fire: {t: go}}}")
    assert "go" in write(system, None)  # type: ignore[operator]
    with pytest.raises(CannotExport, match=r"thing in idle on go: `n` leaves its domain 0 to 2"):
        write(system, {"most": 2})  # type: ignore[operator]


@pytest.mark.parametrize("write", FORMATS.values())
def test_what_might_divide_by_zero_is_refused(write: object) -> None:
    machine = """\
machine: thing
vars: {n: {int: [0, 2]}}
states: {idle: {initial: true}}
events: {go: {by: engine}}
transitions: {idle: {go: idle}}
"""
    system = compiled(
        machine,
        "system: s\nparts: {t: {machine: thing}}\nactions: {go: {by: engine, when: 2 // t.n > 0, fire: {t: go}}}",
    )
    with pytest.raises(CannotExport, match="s divides by what may be zero"):
        write(system, None)  # type: ignore[operator]


@pytest.mark.parametrize("write", FORMATS.values())
def test_parameters_and_parts_are_asked_of_as_the_engine_does(write: object) -> None:
    with pytest.raises(TypeError, match="executor has no parameter 'job'"):
        write(SYSTEM, {"job": 1})  # type: ignore[operator]
    with pytest.raises(ValueError, match="part jobs of executor would have 0 instances"):
        write(SYSTEM, {"jobs": 0})  # type: ignore[operator]


@pytest.mark.parametrize("write", FORMATS.values())
def test_a_choice_without_a_value_is_no_call(write: object) -> None:
    text = write(SYSTEM, {"too_long": 0})  # type: ignore[operator]
    assert "can_admit(" not in text.partition("active proctype")[2] and 'rule "admit"' not in text


class TestWithOracles:
    pytestmark = with_oracles

    @pytest.mark.parametrize("text", ["".join(HOSTILE)])
    def test_hostile_text_changes_nothing(self, text: str, tmp_path: Path) -> None:
        system = hostile(text)
        found = by_search(system, {})
        assert found == (4, 8, frozenset(), 0, False)
        assert by_spin(system, {}, tmp_path) == by_rumur(system, {}, tmp_path) == found

    def test_reserved_words_are_names_like_any_other(self, tmp_path: Path) -> None:
        system = reserved_everywhere()
        found = by_search(system, {})
        assert found is not None and found.states > 50 and "max" in found.broken
        assert by_spin(system, {}, tmp_path) == found
        assert by_rumur(system, {}, tmp_path) == found
