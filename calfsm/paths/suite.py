"""A suite: sequences of steps with the whole state after each, as values and as JSON Lines.

The first line describes the suite; each further line is a case. A step says what is done (`do`), with which picks and
choices (`with`), who does it (`by`), whether it must be refused (`refused`), and what has changed then (`then`): for
each instance its new values. What `then` does not name has not changed, so the whole state is known after every step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

World = dict[str, dict[str, str]]
"""A whole state: instance (`jobs[0]`, `device`) to its state and variables, in the spec's words."""

FORMAT = 1


class BadSuite(Exception):
    """A suite file that cannot be read: where, and why."""


@attrs.frozen
class SuiteStep:
    """One step of a case."""

    do: str
    arguments: Mapping[str, int] = attrs.field(factory=dict)
    by: str = ""
    refused: bool = False
    then: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{self.do}({arguments})" + (" must be refused" if self.refused else "")


@attrs.frozen
class Case:
    """One sequence from the initial state, and the goals that it is the first to cover. `line`: where it was read."""

    name: str
    covers: tuple[str, ...]
    steps: tuple[SuiteStep, ...]
    line: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Suite:
    """Cases for one machine or system.

    `goals`: how many there are by family; all are covered unless `missing` names them.
    """

    name: str
    kind: str
    digest: str
    scope: Mapping[str, int]
    start: World
    goals: Mapping[str, int]
    missing: tuple[str, ...]
    cases: tuple[Case, ...]

    @property
    def steps(self) -> int:
        """How many steps all cases have."""
        return sum(len(case.steps) for case in self.cases)


def worlds(suite: Suite, case: Case) -> Iterator[tuple[SuiteStep, World]]:
    """Each step of a case, and the whole state after it."""
    world = {who: dict(values) for who, values in suite.start.items()}
    for step in case.steps:
        for who, values in step.then.items():
            world[who].update(values)
        yield step, {who: dict(values) for who, values in world.items()}


def difference(before: World, after: World) -> dict[str, dict[str, str]]:
    """What changed, as a step's `then`."""
    changed = {
        who: {name: value for name, value in values.items() if before[who].get(name) != value}
        for who, values in after.items()
    }
    return {who: values for who, values in changed.items() if values}


def dump(suite: Suite) -> str:
    """The suite as JSON Lines."""
    head = {
        "suite": suite.name,
        "format": FORMAT,
        "kind": suite.kind,
        "digest": suite.digest,
        "scope": dict(suite.scope),
        "goals": dict(suite.goals),
        "missing": list(suite.missing),
        "start": suite.start,
    }
    cases = [
        {"case": case.name, "covers": list(case.covers), "steps": [_step(step) for step in case.steps]}
        for case in suite.cases
    ]
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in (head, *cases))


def _step(step: SuiteStep) -> dict[str, Any]:
    record: dict[str, Any] = {"do": step.do}
    if step.arguments:
        record["with"] = dict(step.arguments)
    if step.by:
        record["by"] = step.by
    if step.refused:
        record["refused"] = True
    if step.then:
        record["then"] = {who: dict(values) for who, values in step.then.items()}
    return record


def load(path: Path | str) -> Suite:
    """Read a suite. Raises BadSuite with the line at fault, OSError when the file cannot be opened."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadSuite(f"{path}: not UTF-8 at byte {error.start}") from None
    return parse(text.split("\n"), str(path))


def parse(lines: Iterable[str], name: str) -> Suite:
    """A suite from its lines; `name` is what errors call it. Raises BadSuite."""
    suite: Suite | None = None
    cases: list[Case] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = _Record(json.loads(line))
            if suite is None:
                suite = _suite(record)
            else:
                cases.append(attrs.evolve(_case(record, suite), line=number))
        except (_Wrong, RecursionError, ValueError) as error:
            why = str(error) if isinstance(error, _Wrong) else f"not JSON: {error}"
            raise BadSuite(f"{name}:{number}: {why}") from None
    if suite is None:
        raise BadSuite(f"{name}: empty; a suite begins with a line that describes it")
    return attrs.evolve(suite, cases=tuple(cases))


def _suite(head: _Record) -> Suite:
    if (format_ := head.integer("format")) != FORMAT:
        raise _Wrong(f"format {format_}; this version reads format {FORMAT}")
    return Suite(
        head.text("suite"),
        head.text("kind"),
        head.text("digest"),
        head.integers("scope"),
        head.world("start"),
        head.integers("goals"),
        head.texts("missing"),
        (),
    )


def _case(record: _Record, suite: Suite) -> Case:
    return Case(
        record.text("case"),
        record.texts("covers", ()),
        tuple(_read_step(_Record(step), suite) for step in record.get("steps", list)),
    )


def _read_step(record: _Record, suite: Suite) -> SuiteStep:
    then = record.world("then", {})
    for who, values in then.items():
        if who not in suite.start:
            raise _Wrong(f"`{who}` is not an instance of this suite")
        for name in values:
            if name not in suite.start[who]:
                raise _Wrong(f"`{who}` has no `{name}` in this suite")
    refused = record.get("refused", bool, False)
    return SuiteStep(record.text("do"), record.integers("with", {}), record.text("by", ""), refused, then)


class _Wrong(Exception):
    """What is wrong with a line, without its place."""


class _Record:
    """One JSON object, read key by key. A key that is missing and has no default, or holds another type, is wrong."""

    def __init__(self, values: object) -> None:
        if not isinstance(values, dict):
            raise _Wrong(f"{_shown(values)} is not a JSON object")
        self._values = values

    def get(self, key: str, kind: type[Any], default: Any = None) -> Any:
        if key not in self._values:
            if default is None:
                raise _Wrong(f"`{key}` is missing")
            return default
        value = self._values[key]
        if type(value) is not kind:
            raise _Wrong(f"`{key}` is {_shown(value)}; it must be {_KINDS[kind]}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        return str(self.get(key, str, default))

    def integer(self, key: str) -> int:
        return int(self.get(key, int))

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        return tuple(_each(key, self.get(key, list, default), str))

    def integers(self, key: str, default: dict[str, int] | None = None) -> dict[str, int]:
        values = self.get(key, dict, default)
        return dict(zip(values, _each(key, values.values(), int), strict=True))

    def world(self, key: str, default: World | None = None) -> World:
        values = self.get(key, dict, default)
        for who, its in values.items():
            if not isinstance(its, dict):
                raise _Wrong(f"`{key}` has {_shown(its)} for `{who}`; it may have {_KINDS[dict]}")
            _each(f"{key}.{who}", its.values(), str)
        return dict(values)


_KINDS = {str: "text", int: "a whole number", bool: "true or false", list: "a list", dict: "an object"}


def _each(key: str, values: Iterable[Any], kind: type[Any]) -> list[Any]:
    listed = list(values)
    for value in listed:
        if type(value) is not kind:
            raise _Wrong(f"`{key}` holds {_shown(value)}; it may hold {_KINDS[kind]}")
    return listed


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"
