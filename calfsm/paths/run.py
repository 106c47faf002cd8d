"""Running a suite against an implementation: every step done, the whole state compared after every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

import attrs

from calfsm.engine.engine import Engine
from calfsm.engine.machine import Machine
from calfsm.engine.system import System
from calfsm.engine.table import Refused, Table, shown
from calfsm.explore.systems import flattened
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


def run_suite(
    suite: Suite, implementation: Implementation, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Run every case."""
    failures: list[Failure] = []
    steps = 0
    for number, case in enumerate(suite.cases, 1):
        done, failure = run_case(suite, case, implementation)
        steps += done
        if failure is not None:
            failures.append(failure)
        if progress is not None:
            progress(number, len(suite.cases))
    return Report(len(suite.cases), steps, tuple(failures))


def run_case(
    suite: Suite, case: Case, implementation: Implementation, seen: Callable[[World], None] | None = None
) -> tuple[int, Failure | None]:
    """Run one case up to its first failure: how many steps were tried, and the failure.

    `seen` is called with the state at the start and after every step, as far as the implementation tells it.
    """
    why = _why(lambda: implementation.begin(suite, case), False, implementation, suite.start, seen)
    if why:
        return 0, Failure(case.name, 0, "start", why)
    for number, (step, expected) in enumerate(worlds(suite, case), 1):
        why = _why(partial(implementation.do, step), step.refused, implementation, expected, seen)
        if why:
            return number, Failure(case.name, number, str(step), why)
    return len(case.steps), None


def _why(
    do: Callable[[], None],
    refused: bool,
    implementation: Implementation,
    expected: World,
    seen: Callable[[World], None] | None,
) -> str:
    """Why something that was done, or the state after it, is not as it must be; empty when it is."""
    refusal: Refused | None = None
    try:
        try:
            do()
        except Refused as error:
            refusal = error
        found = implementation.world()
        different = list(differences(expected, found))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if refusal is not None and not refused:
        return str(refusal)
    if seen is not None:
        seen(found)
    taken = ["it was taken"] if refused and refusal is None else []
    return "; ".join([*taken, *different])


def told(expected: World, found: World) -> str:
    """How two states differ; empty when they do not."""
    return "; ".join(differences(expected, found))


def differences(expected: World, found: World) -> Iterator[str]:
    """Each value of `found` that is not as expected. Raises TypeError for what is not a state."""
    if not isinstance(found, dict) or not all(isinstance(values, dict) for values in found.values()):
        raise TypeError(f"world() gave {found!r}; give instances to their values, as in {expected!r}")
    for who, values in expected.items():
        for name, value in values.items():
            if found.get(who, {}).get(name) != value:
                is_ = found.get(who, {}).get(name, "missing")
                yield f"{who}.{name} is {is_ if isinstance(is_, str) else repr(is_)}, must be {value}"
    for who, values in found.items():
        if who not in expected:
            yield f"{who} is not in the spec"
        else:
            yield from (f"{who}.{name} is not in the spec" for name in values if name not in expected[who])


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
        rows = zip(self._table.variables, self._machine.numbers, strict=True)
        values = {row.name: shown(row, value) for row, value in rows}
        return {self._table.name: {"state": str(self._machine.state), **values}}


class SystemImplementation:
    """The engine, for the suite of a system."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.engine = Engine(system)

    def begin(self, suite: Suite, case: Case) -> None:
        """A new engine, at the suite's scope."""
        self.engine = Engine(self._system, **suite.scope)

    def do(self, step: SuiteStep) -> None:
        """Apply the action."""
        self.engine.apply(step.do, **step.arguments)

    def world(self) -> World:
        """Its whole state."""
        return flattened(self.engine.described())
