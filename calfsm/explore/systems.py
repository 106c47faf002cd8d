"""A compiled system as something to search: the engine that serves is the engine that is explored."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

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
