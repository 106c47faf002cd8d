"""A case done again, step by step, and told as it goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from calfsm.engine.engine import Engine, Snapshot
from calfsm.engine.system import System
from calfsm.explore.search import Trace
from calfsm.explore.systems import Call, StoryLine, changes
from calfsm.paths.run import Failure, Implementation, run_case
from calfsm.paths.suite import Case, Suite, SuiteStep, World


@attrs.frozen
class Replay:
    """What became of a case: the steps that were done, told; the states before and after; the step that failed."""

    lines: tuple[StoryLine, ...]
    first: World
    last: World
    failure: Failure | None


def replay(suite: Suite, case: Case, implementation: Implementation) -> Replay:
    """Do a case again, up to the first step that is not as it is written. A step that fails as it must is told too."""
    states: list[World] = []
    _, failure = run_case(suite, case, implementation, states.append)
    lines = []
    for number, (step, before, after) in enumerate(zip(case.steps, states, states[1:], strict=False), 1):
        lines.append(StoryLine(number, str(step), step.by, changes(before, after)))
    ends = (states[0], states[-1]) if states else (suite.start, suite.start)
    return Replay(tuple(lines), *ends, failure)


def way(system: System, scope: Mapping[str, int], steps: Iterable[SuiteStep]) -> Trace[Snapshot, Call]:
    """The way that some steps go on the engine; those that must be refused are left out. Raises as Engine.apply."""
    engine = Engine(system, **scope)
    start, done = engine.snapshot(), []
    for step in steps:
        if not step.refused:
            applied = engine.apply(step.do, **step.arguments)
            call = system.action_index(applied.action), tuple(applied.arguments.values())
            done.append((call, engine.snapshot()))
    return Trace(start, tuple(done))


class Narrowed:
    """An implementation that shows no instance and no variable that a suite does not speak of.

    For suites that were written for other specs: what these have and those had not is nobody's mistake.
    """

    def __init__(self, implementation: Implementation) -> None:
        self._implementation = implementation
        self._known: World = {}

    def begin(self, suite: Suite, case: Case) -> None:
        """Begin, and note what the suite speaks of."""
        self._known = suite.start
        self._implementation.begin(suite, case)

    def do(self, step: SuiteStep) -> None:
        """Do the step."""
        self._implementation.do(step)

    def world(self) -> World:
        """As much of the whole state as the suite speaks of."""
        return {
            who: {name: value for name, value in values.items() if name in self._known[who]}
            for who, values in self._implementation.world().items()
            if who in self._known
        }
