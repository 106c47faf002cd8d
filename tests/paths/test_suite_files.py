"""A suite's file: one JSON object a line, read back as it was written, and refused with the line at fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calfsm.paths.suite import BadSuite, Case, Suite, SuiteStep, dump, load, parse

QUIET = settings(max_examples=100, deadline=None, derandomize=True, database=None)

HEAD: dict[str, Any] = {
    "suite": "lamp",
    "format": 1,
    "kind": "machine",
    "digest": "d",
    "scope": {"most": 2},
    "goals": {"own": 2},
    "missing": [],
    "start": {"lamp": {"state": "dark"}},
}
CASE: dict[str, Any] = {
    "case": "lamp-1",
    "covers": ["own: lamp: dark light -> lit"],
    "steps": [{"do": "light", "by": "engine", "then": {"lamp": {"state": "lit"}}}, {"do": "light", "refused": True}],
}


def text(*records: object) -> list[str]:
    return [json.dumps(record) for record in records]


def step(**changes: Any) -> dict[str, Any]:
    return {**CASE, "steps": [CASE["steps"][0], {**CASE["steps"][1], **changes}]}


def test_a_suite_is_read_as_it_is_written() -> None:
    suite = parse(text(HEAD, CASE), "lamp.jsonl")
    assert suite == Suite(
        "lamp",
        "machine",
        "d",
        {"most": 2},
        {"lamp": {"state": "dark"}},
        {"own": 2},
        (),
        (
            Case(
                "lamp-1",
                ("own: lamp: dark light -> lit",),
                (
                    SuiteStep("light", {}, "engine", False, {"lamp": {"state": "lit"}}),
                    SuiteStep("light", {}, "", True, {}),
                ),
            ),
        ),
    )
    assert [json.loads(line) for line in dump(suite).splitlines()] == [HEAD, CASE]
    assert suite.steps == 2


def test_empty_lines_do_not_count_and_what_is_left_out_has_its_default() -> None:
    suite = parse(["", *text(HEAD), "  ", *text({"case": "c", "steps": [{"do": "light"}]}), ""], "s")
    assert suite.cases == (Case("c", (), (SuiteStep("light"),)),)


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
steps = st.builds(
    SuiteStep,
    words,
    st.dictionaries(words, st.integers(), max_size=2),
    words,
    st.booleans(),
    st.dictionaries(st.sampled_from(("a", "b[0]")), st.dictionaries(st.just("state"), words), max_size=2),
)
cases = st.builds(Case, words, st.lists(words, max_size=2).map(tuple), st.lists(steps, max_size=3).map(tuple))
suites = st.builds(
    Suite,
    words,
    words,
    words,
    st.dictionaries(words, st.integers(), max_size=2),
    st.fixed_dictionaries({"a": st.fixed_dictionaries({"state": words}), "b[0]": st.just({"state": "x"})}),
    st.dictionaries(words, st.integers(), max_size=2),
    st.lists(words, max_size=2).map(tuple),
    st.lists(cases, max_size=3).map(tuple),
)


@QUIET
@given(suites)
def test_any_suite_survives_its_file(tmp_path_factory: pytest.TempPathFactory, suite: Suite) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text(dump(suite), encoding="utf-8", newline="\n")
    assert load(path) == suite
    assert dump(load(path)) == dump(suite)


def without(record: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != key}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "empty; a suite begins with a line that describes it"),
        (["", " "], "empty; a suite begins with a line that describes it"),
        (["{"], "1: not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ([*text(HEAD), "", "nonsense"], "3: not JSON: Expecting value: line 1 column 1 (char 0)"),
        (["[" * 100_000], "1: not JSON: maximum recursion depth exceeded"),
        (["[]"], "1: [] is not a JSON object"),
        (["7"], "1: 7 is not a JSON object"),
        (text(HEAD, "lamp"), '2: "lamp" is not a JSON object'),
        (text(without(HEAD, "suite")), "1: `suite` is missing"),
        (text({**HEAD, "format": 2}), "1: format 2; this version reads format 1"),
        (text({**HEAD, "format": True}), "1: `format` is true; it must be a whole number"),
        (text({**HEAD, "format": "1"}), '1: `format` is "1"; it must be a whole number'),
        (text({**HEAD, "suite": None}), "1: `suite` is null; it must be text"),
        (text({**HEAD, "scope": []}), "1: `scope` is []; it must be an object"),
        (text({**HEAD, "scope": {"most": 1.5}}), "1: `scope` holds 1.5; it may hold a whole number"),
        (text({**HEAD, "goals": {"own": "2"}}), '1: `goals` holds "2"; it may hold a whole number'),
        (text({**HEAD, "missing": "none"}), '1: `missing` is "none"; it must be a list'),
        (text({**HEAD, "start": {"lamp": "dark"}}), '1: `start` has "dark" for `lamp`; it may have an object'),
        (text({**HEAD, "start": {"lamp": {"state": 1}}}), "1: `start.lamp` holds 1; it may hold text"),
        (text(HEAD, CASE, without(CASE, "case")), "3: `case` is missing"),
        (text(HEAD, without(CASE, "steps")), "2: `steps` is missing"),
        (text(HEAD, {**CASE, "steps": {}}), "2: `steps` is {}; it must be a list"),
        (text(HEAD, {**CASE, "covers": "all"}), '2: `covers` is "all"; it must be a list'),
        (text(HEAD, {**CASE, "covers": [1]}), "2: `covers` holds 1; it may hold text"),
        (text(HEAD, {**CASE, "steps": ["light"]}), '2: "light" is not a JSON object'),
        (text(HEAD, {**CASE, "steps": [{"by": "engine"}]}), "2: `do` is missing"),
        (text(HEAD, step(do=None)), "2: `do` is null; it must be text"),
        (text(HEAD, step(by=1)), "2: `by` is 1; it must be text"),
        (text(HEAD, step(refused="no")), '2: `refused` is "no"; it must be true or false'),
        (text(HEAD, step(**{"with": {"n": None}})), "2: `with` holds null; it may hold a whole number"),
        (text(HEAD, step(**{"with": {"n": True}})), "2: `with` holds true; it may hold a whole number"),
        (text(HEAD, step(then=[])), "2: `then` is []; it must be an object"),
        (text(HEAD, step(then={"lamp": []})), "2: `then` has [] for `lamp`; it may have an object"),
        (text(HEAD, step(then={"lamp": {"state": 1}})), "2: `then.lamp` holds 1; it may hold text"),
        (text(HEAD, step(then={"lump": {"state": "lit"}})), "2: `lump` is not an instance of this suite"),
        (text(HEAD, step(then={"lamp": {"mood": "fine"}})), "2: `lamp` has no `mood` in this suite"),
    ],
)
def test_a_line_that_is_no_suites_is_refused_with_its_place(lines: list[str], why: str) -> None:
    with pytest.raises(BadSuite) as caught:
        parse(lines, "lamp.jsonl")
    separator = ": " if why.startswith("empty") else ":"
    assert str(caught.value).startswith(f"lamp.jsonl{separator}{why}")


def test_a_number_that_is_too_long_is_refused_with_its_line() -> None:
    with pytest.raises(BadSuite, match=r"lamp.jsonl:1: not JSON: Exceeds the limit"):
        parse(['{"format": ' + "9" * 5_000 + "}"], "lamp.jsonl")


def test_a_file_that_is_not_utf_8_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "lamp.jsonl"
    path.write_bytes(b'{"suite": "\xff"}')
    with pytest.raises(BadSuite, match=r"lamp.jsonl: not UTF-8 at byte 11"):
        load(path)


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "lamp.jsonl")


@pytest.mark.parametrize("line", [0, 1])
@pytest.mark.parametrize("junk", ["", "null", "[]", "{}", '"', "\x00", "{'a': 1}", "\ud800"])
def test_junk_for_a_line_is_never_more_than_a_bad_suite(line: int, junk: str) -> None:
    lines = text(HEAD, CASE)
    lines[line] = junk
    if junk == "" and line == 1:
        assert parse(lines, "s").cases == ()
        return
    with pytest.raises(BadSuite, match=r"^s:\d: "):
        parse(lines, "s")


@QUIET
@given(st.data())
def test_a_value_of_any_other_type_anywhere_is_refused_or_read(data: st.DataObject) -> None:
    """Whatever is put in the place of one value: a suite comes out, or BadSuite."""
    other: Any = data.draw(st.sampled_from([None, True, 0, -1, 1.5, "", "x", [], {}, [[]], {"x": {}}, {"lamp": None}]))
    records: list[Any] = json.loads(json.dumps([HEAD, CASE]))
    spots: list[tuple[Any, Any]] = []

    def visit(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            spots.append((value, key))
            visit(value[key])

    visit(records)
    where, key = data.draw(st.sampled_from(spots))
    where[key] = other
    try:
        suite = parse(text(*records), "s")
    except BadSuite as error:
        assert str(error).startswith(("s:1: ", "s:2: "))
    else:
        assert parse(dump(suite).splitlines(), "s") == suite
