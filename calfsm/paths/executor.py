"""The executor as an implementation that a suite of its system is run against, on a device that follows the case."""

from __future__ import annotations

from calfsm.engine.system import Profile
from calfsm.explore.systems import flattened
from calfsm.paths.suite import Case, Suite, SuiteStep, World
from calfsm.serving.directed import Directed, MakeStage


class ExecutorImplementation:
    """A fresh executor and stage for each case, at the suite's scope. See `calfsm.paths.run.Implementation`.

    `make_stage` makes the device (an adapter has one); `profile` gives the deadlines, in seconds, and no other number.
    """

    def __init__(self, make_stage: MakeStage, profile: Profile, directed: type[Directed] = Directed) -> None:
        self._make_stage, self._profile, self._directed = make_stage, profile, directed
        self._case: Directed | None = None

    def begin(self, suite: Suite, case: Case) -> None:
        """Start anew. The whole case is given, so that the device can be arranged to follow it."""
        plan = [(step.do, dict(step.arguments), step.by) for step in case.steps]
        self._case = self._directed(self._make_stage, self._profile, dict(suite.scope), plan)

    def do(self, step: SuiteStep) -> None:
        """Bring one action about.

        Raises Refused when the executor refuses it, CannotStage when it never comes, AssertionError when the executor
        believes what the hardware does not.
        """
        self._begun.do(step.do, dict(step.arguments), step.by)

    def world(self) -> World:
        """The executor's whole state."""
        return flattened(self._begun.executor.snapshot())

    @property
    def _begun(self) -> Directed:
        if self._case is None:
            raise RuntimeError("no case was begun")
        return self._case
