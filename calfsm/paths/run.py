"""Running a suite against an implementation: every step done, the whole state compared after every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import attrs

from calfsm.engine.machine import Machine
from calfsm.engine.table import Refused, Table, shown
from calfsm.paths.suite import Case, Suite, SuiteStep, World, worlds


class Implementation(Protocol):
    """What a suite can be run against."""

    def begin(self, suite: Suite, case: Case) -> None:
        """Be in the suite's start state. The case is given so that its environment can be staged."""

    def do(self, step: SuiteStep) -> None:
        """Do one step. Raises Refused when it refuses; any other exception is a failure of its own."""

    def world(self) -> World:
        """The whole state."""


@attrs.frozen
class Failure:
    """A step that did not do what it must."""

    case: str
    number: int
    step: str
    why: str

    def __str__(self) -> str:
        return f"{self.case}, step {self.number}, {self.step}: {self.why}"


@attrs.frozen
class Report:
    """What a run found. A case ends at its first failure; the others go on."""

    cases: int
    steps: int
    failures: tuple[Failure, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and something was run."""
        return not self.failures and self.cases > 0


def run_suite(suite: Suite, implementation: Implementation, progress: Callable[[int, int], None] | None = None) -> Report:
    """Run every case."""
    failures: list[Failure] = []
    steps = 0
    for number, case in enumerate(suite.cases, 1):
        done, failure = _run_case(suite, case, implementation)
        steps += done
        if failure is not None:
            failures.append(failure)
        if progress is not None:
            progress(number, len(suite.cases))
    return Report(len(suite.cases), steps, tuple(failures))


def _run_case(suite: Suite, case: Case, implementation: Implementation) -> tuple[int, Failure | None]:
    implementation.begin(suite, case)
    if implementation.world() != suite.start:
        return 0, Failure(case.name, 0, "start", told(suite.start, implementation.world()))
    for number, (step, expected) in enumerate(worlds(suite, case), 1):
        why = _do(implementation, step)
        if not why and (found := implementation.world()) != expected:
            why = told(expected, found)
        if why:
            return number, Failure(case.name, number, str(step), why)
    return len(case.steps), None


def _do(implementation: Implementation, step: SuiteStep) -> str:
    """Why a step failed, or an empty string."""
    try:
        implementation.do(step)
    except Refused as refused:
        return "" if step.refused else str(refused)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it was taken" if step.refused else ""


def told(expected: World, found: World) -> str:
    """How two states differ."""
    parts = [
        f"{who}.{name} is {found.get(who, {}).get(name, 'missing')}, must be {value}"
        for who, values in expected.items()
        for name, value in values.items()
        if found.get(who, {}).get(name) != value
    ]
    parts += [f"{who} is not in the spec" for who in found if who not in expected]
    return "; ".join(parts)


class MachineImplementation:
    """The engine's own Machine, for the suite of one machine."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._machine = Machine(table)

    def begin(self, suite: Suite, case: Case) -> None:
        """A new instance, at the suite's parameters."""
        self._machine = Machine(self._table, **suite.scope)

    def do(self, step: SuiteStep) -> None:
        """Fire the event."""
        self._machine.fire(step.do)

    def world(self) -> World:
        """Its state and variables."""
        values = {row.name: shown(row, value) for row, value in zip(self._table.variables, self._machine.numbers, strict=True)}
        return {self._table.name: {"state": str(self._machine.state), **values}}
