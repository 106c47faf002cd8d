"""A suite: sequences of steps with the whole state after each, as values and as JSON Lines.

The first line describes the suite; each further line is a case. A step says what is done (`do`), with which picks and choices
(`with`), who does it (`by`), whether it must be refused (`refused`), and what has changed then (`then`): for each instance its new
values. What `then` does not name has not changed, so the whole state is known after every step.
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
    """One sequence from the initial state, and the goals that it is the first to cover."""

    name: str
    covers: tuple[str, ...]
    steps: tuple[SuiteStep, ...]


@attrs.frozen
class Suite:
    """Cases for one machine or system. `goals`: how many there are by family; all are covered unless `missing` names them."""

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
    changed = {who: {name: value for name, value in values.items() if before[who].get(name) != value} for who, values in after.items()}
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
    lines = [head, *({"case": case.name, "covers": list(case.covers), "steps": [_step(step) for step in case.steps]} for case in suite.cases)]
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)


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


def load(path: Path) -> Suite:
    """Read a suite. Raises BadSuite with the line at fault, OSError when the file cannot be opened."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadSuite(f"{path}: not UTF-8 at byte {error.start}") from None
    return parse(text.splitlines(), str(path))


def parse(lines: Iterable[str], name: str) -> Suite:
    """A suite from its lines; `name` is what errors call it. Raises BadSuite."""
    records = [(number, _record(line, name, number)) for number, line in enumerate(lines, 1) if line.strip()]
    if not records:
        raise BadSuite(f"{name}: empty; a suite begins with a line that describes it")
    number, head = records[0]
    try:
        if head["format"] != FORMAT:
            raise BadSuite(f"{name}:{number}: format {head['format']}; this version reads format {FORMAT}")
        start = {str(who): {str(k): str(v) for k, v in values.items()} for who, values in head["start"].items()}
        cases = []
        for number, record in records[1:]:
            steps = tuple(
                SuiteStep(str(step["do"]), dict(step.get("with", {})), str(step.get("by", "")), bool(step.get("refused", False)), step.get("then", {}))
                for step in record["steps"]
            )
            strangers = sorted({who for step in steps for who in step.then} - set(start))
            if strangers:
                raise BadSuite(f"{name}:{number}: `{strangers[0]}` is not an instance of this suite")
            cases.append(Case(str(record["case"]), tuple(record.get("covers", ())), steps))
        return Suite(
            str(head["suite"]), str(head["kind"]), str(head["digest"]), dict(head["scope"]), start, dict(head["goals"]), tuple(head["missing"]), tuple(cases)
        )
    except KeyError as error:
        raise BadSuite(f"{name}:{number}: {error} is missing") from None
    except (TypeError, ValueError, AttributeError):
        raise BadSuite(f"{name}:{number}: not shaped as a suite's line is") from None


def _record(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadSuite(f"{name}:{number}: not JSON: {error}") from None
    if not isinstance(record, dict):
        raise BadSuite(f"{name}:{number}: not a JSON object")
    return record
