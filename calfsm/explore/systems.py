"""A compiled system as something to search: the engine that serves is the engine that is explored."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

import attrs

from calfsm.engine.code import Term
from calfsm.engine.engine import Bound, Changed, Engine, Snapshot, Step, call_text
from calfsm.engine.system import System
from calfsm.engine.table import Outcome
from calfsm.explore.search import Progress, Result, Trace, search

Call = tuple[int, tuple[int, ...]]
"""An action by index, and its picks and choices."""

SystemResult = Result[Snapshot, Call]


class SystemModel:
    """A system at a scope. The engine moves while it is searched; it belongs to the search.

    Raises TypeError for a parameter that the system does not have, ValueError for an empty part.
    """

    def __init__(self, system: System, /, **scope: int) -> None:
        self.engine = Engine(system, **{**system.exploring(), **scope})
        self.system = system
        self._at = self.engine.snapshot()
        self._bound: list[Bound] = list(self.engine.bound_actions())
        self._candidates = [_Candidates(self.engine, bound) for bound in self._bound]
        self._following: tuple[Snapshot, dict[Call, Snapshot]] = ((), {})
        self.answers: set[Outcome] = set()
        """Every answer of an instance in a call that was offered."""

    def initial(self) -> Iterable[Snapshot]:
        """The one state in which every instance is initial."""
        return [Engine(self.system, **self.engine.params).snapshot()]

    def actions(self, state: Snapshot) -> Iterable[Call]:
        """The calls that the engine takes in a state, in the order of the spec."""
        self.move_to(state)
        engine = self.engine
        following: dict[Call, Snapshot] = {}
        for index, (bound, candidates) in enumerate(zip(self._bound, self._candidates, strict=True)):
            for arguments in candidates.now():
                changes = engine.plan(bound, arguments)
                if changes is not None:
                    following[index, arguments] = _patched(state, changes)
                    for change in changes:
                        self.answers.update(change[6])
        self._following = state, following
        return following

    def next(self, state: Snapshot, action: Call) -> Snapshot:
        """The state after a call. Raises ActionRefused."""
        known, following = self._following
        if known is state and action in following:
            return following[action]
        return _patched(state, self._planned(state, action))

    def step(self, state: Snapshot, call: Call) -> Step:
        """What one call does in a state, as a value. Raises ActionRefused."""
        return Step(self.system, self.system.actions[call[0]], call[1], self._planned(state, call))

    def _planned(self, state: Snapshot, call: Call) -> list[Changed]:
        self.move_to(state)
        index, arguments = call
        bound = self._bound[index]
        changes = self.engine.plan(bound, arguments)
        if changes is None:
            raise self.engine.why_not(bound, arguments)
        return changes

    def move_to(self, state: Snapshot) -> None:
        """Put the engine into a state."""
        if state is not self._at:
            self.engine.restore(state)
            self._at = state

    def text(self, call: Call) -> str:
        """`prepare(j=0, b=1)`."""
        return call_text(self._bound[call[0]].row, call[1])

    def instance(self, part: int, index: int) -> str:
        """`jobs[0]`, and `device` where there is one only."""
        name = self.system.parts[part].name
        return name if len(self.engine.states[part]) == 1 else f"{name}[{index}]"

    def properties(self) -> dict[str, Callable[[Snapshot], bool]]:
        """The system's `always` properties, over states."""
        return {
            row.name: self.condition(("and", *(condition.term for condition in row.conditions)))
            for row in self.system.always
        }

    def condition(self, term: Term, picks: Mapping[str, int] | None = None) -> Callable[[Snapshot], bool]:
        """Whether a condition holds, over states, for some picks. One that divides by zero does not hold there."""
        holds = self.engine.function(tuple(picks or ()), term)
        values = tuple((picks or {}).values())

        def judged(state: Snapshot) -> bool:
            self.move_to(state)
            try:
                return bool(holds(*values))
            except ZeroDivisionError:
                return False

        return judged


def _patched(state: Snapshot, changes: Iterable[Changed]) -> Snapshot:
    """A snapshot with changes made to it; what they do not touch is shared."""
    after = list(state)
    parts = len(after) // 2
    for part, index, old_state, old_data, new_state, new_data, _ in changes:
        if new_state != old_state:
            whole = after[part]
            after[part] = (*whole[:index], new_state, *whole[index + 1 :])
        if new_data is not old_data:
            whole = after[parts + part]
            after[parts + part] = (*whole[:index], new_data, *whole[index + 1 :])
    return tuple(after)


class _Candidates:
    """The calls of one action that are worth an attempt: what plainly refuses is left out before it is tried.

    Only that: instances in states in which the action's guard or the instance itself refuses, and actions whose
    conjuncts on nobody in particular do not hold. The engine still decides every call.
    """

    def __init__(self, engine: Engine, bound: Bound) -> None:
        row = bound.row
        self._ranges = bound.ranges
        general = [condition.term for condition in row.guards if not _asks_arguments(condition.term)]
        self._possible = engine.function((), ("and", *general)) if general else None
        self._picks: list[tuple[list[int], frozenset[int]]] = []
        for number, (_, part) in enumerate(row.picks):
            table = engine.system.parts[part].table
            allowed = set(range(len(table.states)))
            for condition in row.guards:
                match condition.term:
                    case ("state", asked, ("arg", argument), states) if asked == part and argument == number:
                        allowed &= set(states)
            # Whoever takes part first finds the instance in its present state; those after it may not.
            first = next((fired for fired in row.fired if fired.part == part), None)
            if first is not None and first.which == ("one", ("arg", number)):
                allowed &= {state for state, cells in enumerate(table.cells) if cells[first.events[0]] is not None}
            self._picks.append((engine.states[part], frozenset(allowed)))

    def now(self) -> Iterable[tuple[int, ...]]:
        """The calls to try in the engine's present state."""
        if self._possible is not None and not self._possible():
            return ()
        choices: list[Iterable[int]] = []
        for states, allowed in self._picks:
            fit = [index for index, state in enumerate(states) if state in allowed]
            if not fit:
                return ()
            choices.append(fit)
        return itertools.product(*choices, *self._ranges[len(self._picks) :])


def _asks_arguments(term: object) -> bool:
    """Whether a term reads a pick or a choice."""
    return isinstance(term, tuple) and (term[:1] == ("arg",) or any(_asks_arguments(item) for item in term))


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
        model,
        model.properties(),
        max_states=max_states,
        max_seconds=max_seconds,
        first_only=first_only,
        progress=progress,
    )
    return model, result


@attrs.frozen
class InstanceChange:
    """What a step changed of one instance: its state (`was` and `now`; equal where it stayed), and variables."""

    who: str
    was: str
    now: str
    values: Mapping[str, str]

    @property
    def texts(self) -> tuple[str, ...]:
        """The new values of variables: `length = 1`."""
        return tuple(f"{name} = {value}" for name, value in self.values.items())

    def __str__(self) -> str:
        moved = (f"{self.was} -> {self.now}",) if self.was != self.now else ()
        return f"{self.who}: {', '.join((*moved, *self.texts))}"


@attrs.frozen
class StoryLine:
    """One step of a trace in the spec's words: the call, who speaks, and what moved or changed."""

    number: int
    call: str
    by: str
    changes: tuple[InstanceChange, ...]

    def __str__(self) -> str:
        return f"{self.number:>3}. {self.call}  [{self.by}]" + "".join(f"\n       {change}" for change in self.changes)


def story(model: SystemModel, trace: Trace[Snapshot, Call]) -> list[StoryLine]:
    """A trace, told: what each action moved, and the variables that changed."""
    lines = []
    before = flattened(model.engine.described(trace.start))
    for number, (call, state) in enumerate(trace.steps, 1):
        after = flattened(model.engine.described(state))
        action = model.system.actions[call[0]]
        lines.append(StoryLine(number, model.text(call), action.by, changes(before, after)))
        before = after
    return lines


def flattened(described: Mapping[str, list[dict[str, str]]]) -> dict[str, dict[str, str]]:
    """`Engine.described` by instance: `jobs[0]`, and `device` where there is one only."""
    return {
        part if len(instances) == 1 else f"{part}[{index}]": dict(values)
        for part, instances in described.items()
        for index, values in enumerate(instances)
    }


def changes(
    before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]
) -> tuple[InstanceChange, ...]:
    """What differs between two states, each by instance, state and variables in the spec's words."""
    found = []
    for who, now in after.items():
        was = before[who]
        values = {name: value for name, value in now.items() if name != "state" and was[name] != value}
        if values or was["state"] != now["state"]:
            found.append(InstanceChange(who, was["state"], now["state"], values))
    return tuple(found)
