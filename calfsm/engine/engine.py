"""A system, running: `Engine.apply(action, …)` does a whole action or nothing.

No thread, no clock, no device: what the outside must do is handed back as effects. The cost of an action does not depend
on how many instances there are: instances are kept by state, and aggregates that guards read are kept as they move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from calfsm.engine import code
from calfsm.engine.code import Data, Emitter, Term
from calfsm.engine.system import ActionRow, Fired, Setting, System, TallyRow
from calfsm.engine.table import Move, Outcome, Refused, Rows, Word, shown

Snapshot = tuple[Any, ...]
"""A whole state: for each part, the states and then the data of its instances. Hashable."""


class Effect(NamedTuple):
    """Something the outside must do now: its name, and the picks and choices of the action that asks for it."""

    name: str
    arguments: Mapping[str, int]


class Moved(NamedTuple):
    """One move of one instance."""

    part: str
    index: int
    move: Move

    def __str__(self) -> str:
        return f"{self.part}[{self.index}] {self.move.source} -> {self.move.target}"


class Change(NamedTuple):
    """What an action did to one instance: before and after, and the answers that led there."""

    part: int
    index: int
    state: int
    data: Data
    new_state: int
    new_data: Data
    outcomes: Sequence[Outcome]


class Step:
    """What one action did. Values are made when they are asked for; an applied step costs little."""

    __slots__ = ("_action", "_arguments", "_system", "changes")

    def __init__(self, system: System, action: ActionRow, arguments: Sequence[int], changes: list[Change]) -> None:
        self._system, self._action, self._arguments, self.changes = system, action, arguments, changes

    @property
    def action(self) -> str:
        """The action's name."""
        return self._action.name

    @property
    def arguments(self) -> dict[str, int]:
        """Its picks and choices."""
        return dict(zip(argument_names(self._action), self._arguments, strict=True))

    @property
    def moves(self) -> tuple[Moved, ...]:
        """Every event that was taken, in order; stays included."""
        parts = self._system.parts
        return tuple(Moved(parts[change.part].name, change.index, outcome.move) for change in self.changes for outcome in change.outcomes)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What the outside must do now."""
        arguments = self.arguments if self._action.effects else {}
        return tuple(Effect(name, arguments) for name in self._action.effects)

    def __repr__(self) -> str:
        return f"<{call_text(self._action, self._arguments)}: {', '.join(map(str, self.moves))}>"


class ActionRefused(Refused):
    """An action was refused, and nothing has changed.

    `subject`, `state`, `event` and `takes` describe the participant that refused; they are empty when a guard, an empty reference or a
    value outside its domain did, and then `why` says so.
    """

    def __init__(self, action: str, why: str, cause: Refused | None = None) -> None:
        super().__init__(*(cause.subject, cause.state, cause.event, cause.takes, cause.why) if cause else ("", "", "", (), why))
        self.action, self.reason = action, str(cause) if cause else why

    def __str__(self) -> str:
        return f"{self.action} refused: {self.reason}"


def argument_names(action: ActionRow) -> tuple[str, ...]:
    """The names of an action's picks, then of its choices."""
    return tuple(name for name, _ in action.picks) + tuple(name for name, _, _ in action.choices)


def call_text(action: ActionRow, arguments: Sequence[int]) -> str:
    """`prepare(j=0, b=1)`."""
    return f"{action.name}({', '.join(f'{name}={value}' for name, value in zip(argument_names(action), arguments, strict=True))})"


class _Participant(NamedTuple):
    """`find(*arguments)` gives an instance, or -1 when a reference is empty; for `many`, all of them."""

    part: int
    find: Callable[..., Any]
    many: bool
    events: tuple[int, ...]
    cells: list[list[Any]]
    states: list[int]
    data: list[Data]
    row: Fired


class _Setter(NamedTuple):
    part: int
    find: Callable[..., int]
    present: Callable[..., bool]
    variable: int
    value: Callable[..., int]
    domain: tuple[int, int]
    row: Setting


class Bound:
    """An action with its functions made."""

    __slots__ = ("arguments", "conjuncts", "guard", "participants", "ranges", "row", "setters", "twice")

    def __init__(self, engine: Engine, row: ActionRow) -> None:
        self.row = row
        self.arguments = argument_names(row)
        self.ranges = [range(len(engine.states[part])) for _, part in row.picks] + [
            range(engine.constant(low), engine.constant(high) + 1) for _, low, high in row.choices
        ]
        names = [f"a{index}" for index in range(len(self.arguments))]
        self.guard = engine.function(names, ("and", *(condition.term for condition in row.guards))) if row.guards else None
        self.conjuncts = [engine.function(names, condition.term) for condition in row.guards]
        self.participants = [self._participant(engine, fired, names) for fired in row.fired]
        self.setters = []
        for setting in row.settings:
            presence: list[str] = []
            value = engine.emitter(names).value(setting.value, presence)
            self.setters.append(
                _Setter(
                    setting.part,
                    engine.lambda_of(names, engine.instance(names, setting.instance)),
                    engine.lambda_of(names, " and ".join(presence) or "True"),
                    setting.variable,
                    engine.lambda_of(names, " and ".join([*presence, f"({value}) + 0"])),
                    engine.domains[setting.part][setting.variable],
                    setting,
                )
            )
        parts = [participant.part for participant in self.participants]
        # Whether one instance may be reached by two participants, so that the second must start where the first left it.
        self.twice = len(parts) != len(set(parts))

    @staticmethod
    def _participant(engine: Engine, fired: Fired, names: list[str]) -> _Participant:
        part = fired.part
        many = fired.which[0] != "one"
        match fired.which:
            case ("one", instance):
                find = engine.lambda_of(names, engine.instance(names, instance))
            case ("every",):
                every = range(len(engine.states[part]))
                find = lambda *_: every  # noqa: E731
            case ("where", variable, instance):
                referrers = engine.index_references(part, variable)
                target = engine.lambda_of(names, engine.instance(names, instance))
                find = lambda *arguments: sorted(referrers.get(target(*arguments), ()))  # noqa: E731
            case _:
                raise TypeError(f"{fired.which!r} is not a participant")
        return _Participant(part, find, many, fired.events, engine.rows[part].cells, engine.states[part], engine.data[part], fired)


class Engine:
    """A system's state, and the only thing that may change it.

    Parameters have their serving values unless given. Raises TypeError for an unknown parameter, ValueError for a bad count.
    """

    def __init__(self, system: System, **params: int) -> None:
        self.system = system
        self.params = system.serving()
        for name, value in params.items():
            if name not in self.params:
                raise TypeError(f"{system.name} has no parameter {name!r}; it has {', '.join(self.params)}")
            self.params[name] = value
        self.rows: list[Rows] = []
        self.states: list[list[int]] = []
        self.data: list[list[Data]] = []
        self.members: list[list[dict[int, None]]] = []
        """Instances by part and state, in the order in which they entered it."""
        for part in system.parts:
            rows = part.table.rows(**{row.name: self.params[row.name] for row in part.table.params})
            count = len(self.states[part.per]) if part.per >= 0 else self.constant(part.count)
            if count < 1:
                raise ValueError(f"part {part.name} of {system.name} would have {count} instances; it needs one at least")
            self.rows.append(rows)
            self.states.append([part.table.initial] * count)
            self.data.append([rows.data] * count)
            self.members.append([{} for _ in part.table.states])
            self.members[-1][part.table.initial] = dict.fromkeys(range(count))
        self.domains = [self._domains(index) for index in range(len(system.parts))]
        self._parts = {part.name: index for index, part in enumerate(system.parts)}
        self._names: dict[str, Any] = {f"S{index}": states for index, states in enumerate(self.states)}
        self._names |= {f"D{index}": data for index, data in enumerate(self.data)}
        self._names |= {f"M{part}_{state}": members for part, rows in enumerate(self.members) for state, members in enumerate(rows)}
        self._references: dict[tuple[int, int], dict[int, set[int]]] = {}
        self._watches: list[list[tuple[int, Callable[[int], bool]]]] = [[] for _ in system.parts]
        self._tallied: list[int] = []
        self._names["T"] = self._tallied
        self._tally_texts: list[str] = []
        self._tally_texts += [self._tally(row) for row in system.tallies]
        self._actions = {row.name: Bound(self, row) for row in system.actions}
        self._watched = [
            bool(self._watches[part]) or any(key[0] == part for key in self._references) for part in range(len(system.parts))
        ]
        self._observers: tuple[Callable[[Step], None], ...] = ()
        self.stays: Counter[tuple[str, str, str]] = Counter()
        """How often each (part, state, event) was answered by staying."""
        self.refusals: Counter[str] = Counter()
        """How often each action was refused."""

    # ---- doing

    def apply(self, action: str, /, **arguments: int) -> Step:
        """Do `action` with its picks and choices. Raises ActionRefused, and then nothing has changed.

        Raises TypeError for an unknown action or argument, or one left out. Observers are told when the step is done; what they raise
        follows as an ExceptionGroup, and the step stands.
        """
        bound, values = self._call(action, arguments)
        for value, allowed in zip(values, bound.ranges, strict=True):
            if value not in allowed:
                self.refusals[action] += 1
                raise self._out_of_range(bound, values)
        step = self.attempt(bound, values)
        if step is None:
            self.refusals[action] += 1
            raise self.why_not(bound, values)
        if self._observers:
            self._tell(step)
        return step

    def would(self, action: str, /, **arguments: int) -> bool:
        """Whether `apply` would do it now. Nothing changes and nothing is counted. Raises TypeError as `apply` does."""
        bound, values = self._call(action, arguments)
        if any(value not in allowed for value, allowed in zip(values, bound.ranges, strict=True)):
            return False
        return self.plan(bound, values) is not None

    def _call(self, action: str, arguments: Mapping[str, int]) -> tuple[Bound, list[int]]:
        bound = self._actions.get(action)
        if bound is None:
            raise TypeError(f"{self.system.name} has no action {action!r}{_nearest(action, self._actions)}")
        try:
            values = [arguments[name] for name in bound.arguments]
        except KeyError as missing:
            raise TypeError(f"{action} needs {', '.join(bound.arguments)}; {missing} is missing") from None
        if len(arguments) != len(values):
            unknown = next(name for name in arguments if name not in bound.arguments)
            raise TypeError(f"{action} takes {', '.join(bound.arguments) or 'nothing'}, not {unknown!r}")
        return bound, values

    def attempt(self, bound: Bound, arguments: Sequence[int]) -> Step | None:
        """Do a bound action, or say None and change nothing. Arguments are taken to be in range; nobody is told."""
        changes = self.plan(bound, arguments)
        if changes is None:
            return None
        self._commit(changes)
        return Step(self.system, bound.row, arguments, changes)

    def plan(self, bound: Bound, arguments: Sequence[int]) -> list[Change] | None:
        """What an action would change, or None: something refuses. Looks everything up and changes nothing.

        Arguments are taken to be in range.
        """
        if bound.guard is not None and not bound.guard(*arguments):
            return None
        changes: list[Change] = []
        reached: dict[tuple[int, int], int] | None = {} if bound.twice else None
        for part, find, many, events, cells, states, datas, _ in bound.participants:
            found = find(*arguments)
            for index in found if many else (found,):
                if index < 0:
                    return None
                old_state = state = states[index]
                old_data = data = datas[index]
                position = -1
                if reached is not None:
                    position = reached.get((part, index), -1)
                    if position >= 0:
                        state, data = changes[position].new_state, changes[position].new_data
                outcomes = []
                for event in events:
                    cell = cells[state][event]
                    if cell is None:
                        return None
                    outcome = cell.only
                    if outcome is None:
                        outcome = cell.choose(data)
                        if outcome is None:
                            return None
                        if outcome.update is not None:
                            data = outcome.update(data)
                    state = outcome.target
                    outcomes.append(outcome)
                if position >= 0:
                    earlier = changes[position]
                    changes[position] = Change(part, index, earlier.state, earlier.data, state, data, [*earlier.outcomes, *outcomes])
                    continue
                if reached is not None:
                    reached[part, index] = len(changes)
                changes.append(Change(part, index, old_state, old_data, state, data, outcomes))
        if bound.setters and not self._set(bound, arguments, changes):
            return None
        return changes

    def _set(self, bound: Bound, arguments: Sequence[int], changes: list[Change]) -> bool:
        for part, find, present, variable, value_of, (low, high), _ in bound.setters:
            index = find(*arguments)
            if index < 0 or not present(*arguments):
                return False
            value = value_of(*arguments)
            if not low <= value <= high:
                return False
            for position, change in enumerate(changes):
                if change.part == part and change.index == index:
                    data = change.new_data
                    changes[position] = change._replace(new_data=(*data[:variable], value, *data[variable + 1 :]))
                    break
            else:
                state, data = self.states[part][index], self.data[part][index]
                changes.append(Change(part, index, state, data, state, (*data[:variable], value, *data[variable + 1 :]), ()))
        return True

    def _commit(self, changes: Iterable[Change]) -> None:
        for part, index, state, data, new_state, new_data, outcomes in changes:
            self._place(part, index, state, data, new_state, new_data)
            for outcome in outcomes:
                if outcome.stay is not None:
                    move = outcome.move
                    self.stays[self.system.parts[part].name, str(move.source), str(move.event)] += 1

    def _place(self, part: int, index: int, state: int, data: Data, new_state: int, new_data: Data) -> None:
        """Put one instance where it belongs, and everything that is kept beside it."""
        watched = self._watched[part]
        if watched:
            for tally, holds in self._watches[part]:
                self._tallied[tally] -= holds(index)
        if new_state != state:
            self.states[part][index] = new_state
            members = self.members[part]
            del members[state][index]
            members[new_state][index] = None
        if new_data is not data:
            self.data[part][index] = new_data
        if watched:
            for tally, holds in self._watches[part]:
                self._tallied[tally] += holds(index)
            for (owner, variable), referrers in self._references.items():
                if owner == part and data[variable] != new_data[variable]:
                    if data[variable] >= 0:
                        referrers[data[variable]].discard(index)
                    if new_data[variable] >= 0:
                        referrers.setdefault(new_data[variable], set()).add(index)

    def undo(self, step: Step) -> None:
        """Take back the last step. For searching; stays counted stay counted."""
        for part, index, state, data, new_state, new_data, _ in step.changes:
            self._place(part, index, new_state, new_data, state, data)

    # ---- looking

    def state(self, part: str, index: int = 0) -> Word:
        """The state of an instance, a member of its table's State."""
        number = self._parts[part]
        return self.rows[number].table.state_members[self.states[number][index]]

    def value(self, part: str, index: int, variable: str) -> int:
        """A variable of an instance; a reference is an index, or -1 for `none`."""
        number = self._parts[part]
        names = [row.name for row in self.rows[number].table.variables]
        return self.data[number][index][names.index(variable)]

    def count(self, part: str) -> int:
        """How many instances a part has."""
        return len(self.states[self._parts[part]])

    def among(self, part: str, *states: str) -> list[int]:
        """The instances in one of `states`, longest there first within each state."""
        number = self._parts[part]
        table = self.rows[number].table
        return [index for name in states for index in self.members[number][table.state_index(name)]]

    def first(self, part: str, state: str) -> int | None:
        """The instance that has been in `state` longest, or None."""
        number = self._parts[part]
        return next(iter(self.members[number][self.rows[number].table.state_index(state)]), None)

    def bound_actions(self) -> Iterable[Bound]:
        """The actions, ready for `attempt`, in the spec's order."""
        return self._actions.values()

    def snapshot(self) -> Snapshot:
        """The whole state, as a value."""
        return tuple(map(tuple, self.states)) + tuple(map(tuple, self.data))

    def restore(self, snapshot: Snapshot) -> None:
        """Go to a state that `snapshot` gave."""
        parts = len(self.states)
        for part in range(parts):
            for index, (state, data) in enumerate(zip(snapshot[part], snapshot[parts + part], strict=True)):
                if self.states[part][index] != state or self.data[part][index] != data:
                    self._place(part, index, self.states[part][index], self.data[part][index], state, data)

    def described(self, snapshot: Snapshot | None = None) -> dict[str, list[dict[str, Any]]]:
        """A state in the spec's words: for each part, for each instance, its state and variables."""
        whole = self.snapshot() if snapshot is None else snapshot
        parts = len(self.states)
        described: dict[str, list[dict[str, Any]]] = {}
        for number, part in enumerate(self.system.parts):
            rows = part.table.variables
            described[part.name] = [
                {"state": part.table.states[state].name, **{row.name: shown(row, value) for row, value in zip(rows, data, strict=True)}}
                for state, data in zip(whole[number], whole[parts + number], strict=True)
            ]
        return described

    def holds(self, term: Term) -> bool:
        """Whether a condition without picks holds now. For repeated use, make a `function`."""
        return bool(self.function((), term)())

    def observe(self, observer: Callable[[Step], None]) -> Callable[[], None]:
        """Call `observer` with each applied Step, after it is done. Returns a call that ends it."""
        self._observers = (*self._observers, observer)

        def stop() -> None:
            self._observers = tuple(other for other in self._observers if other is not observer)

        return stop

    def _tell(self, step: Step) -> None:
        errors: list[Exception] = []
        for observer in self._observers:
            try:
                observer(step)
            except Exception as error:
                errors.append(error)
        if errors:
            raise ExceptionGroup(f"{step.action} is done; observers raised", errors)

    # ---- why not

    def why_not(self, bound: Bound, arguments: Sequence[int]) -> ActionRefused:
        """The refusal of an action that `attempt` would not do: the first thing in its way."""
        action = call_text(bound.row, arguments)
        for condition, conjunct in zip(bound.row.guards, bound.conjuncts, strict=True):
            if not conjunct(*arguments):
                return ActionRefused(action, f"`{condition.text}` does not hold")
        reached: dict[tuple[int, int], tuple[int, Data]] = {}
        for participant in bound.participants:
            found = participant.find(*arguments)
            rows = self.rows[participant.part]
            for index in found if participant.many else (found,):
                if index < 0:
                    return ActionRefused(action, f"`{participant.row.text}` leads nowhere: the reference is empty")
                state, data = reached.get((participant.part, index), (participant.states[index], participant.data[index]))
                for event in participant.events:
                    cell = participant.cells[state][event]
                    outcome = cell.choose(data) if cell is not None else None
                    if outcome is None:
                        who = self._instance_text(participant.part, index)
                        return ActionRefused(action, "", rows.refusal(state, data, rows.table.event_members[event], who))
                    state, data = outcome.target, outcome.update(data) if outcome.update else data
                reached[participant.part, index] = state, data
        for setter in bound.setters:
            row = self.rows[setter.part].table.variables[setter.variable]
            if setter.find(*arguments) < 0 or not setter.present(*arguments):
                return ActionRefused(action, f"`{setter.row.text}` cannot be set: a reference is empty")
            value, (low, high) = setter.value(*arguments), setter.domain
            if not low <= value <= high:
                return ActionRefused(action, f"`{setter.row.text}` would be {value}; {row.name} is {low} to {high}")
        return ActionRefused(action, "nothing is in its way")

    def _out_of_range(self, bound: Bound, arguments: Sequence[int]) -> ActionRefused:
        action = call_text(bound.row, arguments)
        for name, value, allowed in zip(bound.arguments, arguments, bound.ranges, strict=True):
            if value not in allowed:
                return ActionRefused(action, f"{name} is {value!r}; it may be {allowed.start} to {allowed.stop - 1}")
        raise AssertionError("every argument is in range")

    def _instance_text(self, part: int, index: int) -> str:
        name = self.system.parts[part].name
        return name if len(self.states[part]) == 1 else f"{name}[{index}]"

    # ---- making functions

    def emitter(self, names: Sequence[str]) -> Emitter:
        """A writer of functions over `names`, the picks and choices."""
        return Emitter(self.params, names, self._tally_texts)

    def function(self, names: Sequence[str], term: Term) -> Callable[..., bool]:
        """A condition over this engine's present state, as a function of picks and choices."""
        return self.lambda_of(names, self.emitter(names).test(term))

    def instance(self, names: Sequence[str], term: Term) -> str:
        """Text that finds an instance, -1 when a reference on the way is empty."""
        presence: list[str] = []
        text = self.emitter(names).value(term, presence)
        return f"({text} if {' and '.join(presence)} else -1)" if presence else text

    def lambda_of(self, names: Sequence[str], text: str) -> Callable[..., Any]:
        """A function that sees this engine's lists."""
        return code.function(names, text, self._names)

    def constant(self, term: Term) -> int:
        """The value of a term of parameters."""
        return int(code.function((), Emitter(self.params).value(term, []))())

    def index_references(self, part: int, variable: int) -> dict[int, set[int]]:
        """Who refers to whom through a variable, kept as it changes."""
        return self._references.setdefault((part, variable), {})

    def _domains(self, part: int) -> list[tuple[int, int]]:
        domains = list(self.rows[part].domains)
        names = {row.name: index for index, row in enumerate(self.system.parts)}
        for index, row in enumerate(self.system.parts[part].table.variables):
            if row.kind == "ref":
                domains[index] = (-1, len(self.states[names[row.part]]) - 1)
        return domains

    def _tally(self, row: TallyRow) -> str:
        """Where a count is kept: in the sizes of `members` when it asks for states only, else in a watched number."""
        match row.where:
            case ("state", part, ("bound", 0), tuple(states)) if part == row.part:
                return "(" + " + ".join(f"len(M{part:d}_{state:d})" for state in states) + ")"
        holds = self.lambda_of(("b0",), self.emitter(()).test(row.where))
        index = len(self._tallied)
        self._tallied.append(sum(1 for instance in range(len(self.states[row.part])) if holds(instance)))
        self._watches[row.part].append((index, holds))
        return f"T[{index}]"


def _nearest(word: str, known: Iterable[str]) -> str:
    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
