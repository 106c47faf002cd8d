"""A compiled system as something to search: the engine that serves is the engine that is explored."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

import attrs

from calfsm.engine.engine import Bound, Engine, Snapshot, Step, call_text
from calfsm.engine.system import System
from calfsm.explore.search import Progress, Result, Trace, search

Call = tuple[int, tuple[int, ...]]
"""An action by index, and its picks and choices."""

SystemResult = Result[Snapshot, Call]


class SystemModel:
    """A system at a scope. The engine moves while it is searched; it belongs to the search.

    Raises TypeError for a parameter that the system does not have, ValueError for an empty part.
    """

    def __init__(self, system: System, **scope: int) -> None:
        self.engine = Engine(system, **{**system.exploring(), **scope})
        self.system = system
        self._at = self.engine.snapshot()
        self._bound: list[Bound] = list(self.engine.bound_actions())
        self._calls = [list(itertools.product(*bound.ranges)) for bound in self._bound]
        self._following: tuple[Snapshot, dict[Call, Snapshot]] = ((), {})

    def initial(self) -> Iterable[Snapshot]:
        """The one state in which every instance is initial."""
        return [Engine(self.system, **self.engine.params).snapshot()]

    def actions(self, state: Snapshot) -> Iterable[Call]:
        """The calls that the engine takes in a state, in the order of the spec."""
        self.move_to(state)
        engine = self.engine
        following: dict[Call, Snapshot] = {}
        for index, (bound, calls) in enumerate(zip(self._bound, self._calls, strict=True)):
            for arguments in calls:
                step = engine.attempt(bound, arguments)
                if step is not None:
                    following[index, arguments] = engine.snapshot()
                    engine.undo(step)
        self._following = state, following
        return following

    def next(self, state: Snapshot, action: Call) -> Snapshot:
        """The state after a call. Raises ActionRefused."""
        known, following = self._following
        if known is state and action in following:
            return following[action]
        step = self.step(state, action)
        parts = len(self.system.parts)
        after = [list(instances) for instances in state]
        for change in step.changes:
            after[change.part][change.index] = change.new_state
            after[parts + change.part][change.index] = change.new_data
        return tuple(map(tuple, after))

    def step(self, state: Snapshot, call: Call) -> Step:
        """What one call does in a state, as a value. Raises ActionRefused."""
        self.move_to(state)
        index, arguments = call
        step = self.engine.attempt(self._bound[index], arguments)
        if step is None:
            raise self.engine.why_not(self._bound[index], arguments)
        self.engine.undo(step)
        return step

    def move_to(self, state: Snapshot) -> None:
        """Put the engine into a state."""
        if state is not self._at:
            self.engine.restore(state)
            self._at = state

    def text(self, call: Call) -> str:
        """`prepare(j=0, b=1)`."""
        return call_text(self._bound[call[0]].row, call[1])

    def properties(self) -> dict[str, Callable[[Snapshot], bool]]:
        """The system's `always` properties, over states."""
        return {row.name: self._property([condition.term for condition in row.conditions]) for row in self.system.always}

    def _property(self, terms: list[tuple[object, ...]]) -> Callable[[Snapshot], bool]:
        holds = self.engine.function((), ("and", *terms))

        def judged(state: Snapshot) -> bool:
            self.move_to(state)
            return bool(holds())

        return judged


def explore(
    system: System,
    scope: Mapping[str, int] | None = None,
    *,
    max_states: int | None = None,
    max_seconds: float | None = None,
    first_only: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[SystemModel, SystemResult]:
    """Search a system at a scope (its `explores` values unless given) and judge its `always` properties."""
    model = SystemModel(system, **(scope or {}))
    result = search(
        model, model.properties(), max_states=max_states, max_seconds=max_seconds, first_only=first_only, progress=progress
    )
    return model, result


@attrs.frozen
class StoryLine:
    """One step of a trace in the spec's words: the call, who speaks, and what moved or changed."""

    number: int
    call: str
    by: str
    changes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.number:>3}. {self.call}  [{self.by}]" + "".join(f"\n       {change}" for change in self.changes)


def story(model: SystemModel, trace: Trace[Snapshot, Call]) -> list[StoryLine]:
    """A trace, told: what each action moved, and the variables that changed."""
    lines = []
    state = trace.start
    for number, (call, after) in enumerate(trace.steps, 1):
        action = model.system.actions[call[0]]
        lines.append(StoryLine(number, model.text(call), action.by, tuple(_changes(model, state, after))))
        state = after
    return lines


def _changes(model: SystemModel, before: Snapshot, after: Snapshot) -> Iterator[str]:
    old, new = model.engine.described(before), model.engine.described(after)
    for part, instances in old.items():
        for index, (was, now) in enumerate(zip(instances, new[part], strict=True)):
            who = part if len(instances) == 1 else f"{part}[{index}]"
            texts = [f"{was['state']} -> {now['state']}"] if was["state"] != now["state"] else []
            texts += [f"{name} = {value}" for name, value in now.items() if name != "state" and was[name] != value]
            if texts:
                yield f"{who}: {', '.join(texts)}"
