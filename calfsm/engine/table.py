"""A machine as data: the compiled table, and the same table bound to parameters and ready to run.

Two forms live here. `Table` is what `calfsm build` writes and `calfsm.compile` makes: names, documentation and nested
tuples, no functions. `Rows` is a Table with its parameters bound and its guards turned into functions; it is made once
per set of parameters and shared by every instance. Neither holds an instance's state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from calfsm.engine import code
from calfsm.engine.code import Data, Term
from calfsm.engine.naming import index_of


class Word(Enum):
    """Base of the generated State and Event enums. Members are compared by identity and hash at C speed."""

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return str(self.value)


class StateRow(NamedTuple):
    """One state: flags as in the spec; `awaits` a source or ""; `deadline` (duration, event) or None."""

    name: str
    doc: str
    initial: bool = False
    final: bool = False
    outcome: bool = False
    awaits: str = ""
    deadline: tuple[str, str] | None = None


class EventRow(NamedTuple):
    """One event and who says it."""

    name: str
    by: str
    doc: str = ""


class ParamRow(NamedTuple):
    """One parameter."""

    name: str
    serves: int
    explores: int
    doc: str = ""


class VariableRow(NamedTuple):
    """One variable: `low` and `high` are terms; `words` the values of an enum; `part` what a ref refers to."""

    name: str
    kind: str
    low: Term
    high: Term
    initial: Term
    words: tuple[str, ...] = ()
    part: str = ""
    doc: str = ""


class AlternativeRow(NamedTuple):
    """One answer of a cell: guard or None, index of the target, reason for staying or None, ((variable, term), …)."""

    guard: Term | None
    target: int
    stay: str | None = None
    sets: tuple[tuple[int, Term], ...] = ()


CellRow = tuple[AlternativeRow, ...] | None


class Table:
    """One machine, compiled. `cells[state][event]` is None where the event is refused."""

    def __init__(
        self,
        *,
        name: str,
        doc: str,
        digest: str,
        params: tuple[ParamRow, ...],
        variables: tuple[VariableRow, ...],
        states: tuple[StateRow, ...],
        events: tuple[EventRow, ...],
        cells: tuple[tuple[CellRow, ...], ...],
        state_type: type[Word] | None = None,
        event_type: type[Word] | None = None,
    ) -> None:
        self.name, self.doc, self.digest = name, doc, digest
        self.params, self.variables, self.states, self.events, self.cells = params, variables, states, events, cells
        self.State: type[Word] = state_type or _enum("State", [row.name for row in states])
        self.Event: type[Word] = event_type or _enum("Event", [row.name for row in events])
        self.state_members: tuple[Word, ...] = tuple(self.State)
        self.event_members: tuple[Word, ...] = tuple(self.Event)
        self.initial = next(index for index, row in enumerate(states) if row.initial)
        self._bound: dict[tuple[tuple[str, int], ...], Rows] = {}

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self.states)} states, {len(self.events)} events>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.content() == other.content()

    def __hash__(self) -> int:
        return hash((self.name, self.digest))

    def content(self) -> tuple[Any, ...]:
        """All that the table says, for comparison."""
        return (self.name, self.doc, self.digest, self.params, self.variables, self.states, self.events, self.cells)

    def state_index(self, name: str) -> int:
        """The index of a state. Raises KeyError."""
        return index_of(self.states, name, self.name, "state")

    def event_index(self, name: str) -> int:
        """The index of an event. Raises KeyError."""
        return index_of(self.events, name, self.name, "event")

    def variable_index(self, name: str) -> int:
        """The index of a variable. Raises KeyError."""
        return index_of(self.variables, name, self.name, "variable")

    def serving(self) -> dict[str, int]:
        """The parameters' serving values."""
        return {row.name: row.serves for row in self.params}

    def exploring(self) -> dict[str, int]:
        """The parameters' exploring values."""
        return {row.name: row.explores for row in self.params}

    def rows(self, /, **params: int) -> Rows:
        """The table bound to its serving parameters, `params` over them.

        Raises TypeError for an unknown parameter or a value that is no integer.
        """
        values = self.serving()
        unknown = sorted(set(params) - set(values))
        if unknown:
            raise TypeError(f"{self.name} has no parameter {unknown[0]!r}; it has {', '.join(values) or 'none'}")
        for name, value in params.items():
            if type(value) is not int:
                raise TypeError(f"parameter {name} of {self.name} is {value!r}; give an integer")
        values.update(params)
        key = tuple(values.items())
        if key not in self._bound:
            self._bound[key] = Rows(self, values)
        return self._bound[key]

    def moves(self) -> Iterator[tuple[int, int, AlternativeRow]]:
        """Every (state, event, answer) of the table, refusals left out."""
        for state, row in enumerate(self.cells):
            for event, cell in enumerate(row):
                for answer in cell or ():
                    yield state, event, answer


class Move(NamedTuple):
    """What one event did to one machine. `stay` is the reason when it changed nothing."""

    machine: str
    event: Word
    source: Word
    target: Word
    stay: str | None = None

    def __str__(self) -> str:
        if self.stay is not None:
            return f"{self.machine} in {self.source} stays on {self.event}: {self.stay}"
        return f"{self.machine}: {self.source} -{self.event}-> {self.target}"


class Outcome:
    """One answer, ready to run."""

    __slots__ = ("guard", "move", "row", "stay", "target", "update")

    def __init__(self, target: int, stay: str | None, guard: Any, update: Any, move: Move) -> None:
        self.target, self.stay, self.guard, self.update, self.move = target, stay, guard, update, move
        self.row: dict[object, Cell] = {}  # the target's row; filled in when all rows exist


class Cell:
    """One cell, ready to run: `only` when the answer is the same whatever the data and sets nothing."""

    __slots__ = ("only", "outcomes")

    def __init__(self, outcomes: tuple[Outcome, ...]) -> None:
        self.outcomes = outcomes
        first = outcomes[0]
        self.only = first if len(outcomes) == 1 and first.guard is None and first.update is None else None

    def choose(self, data: Data) -> Outcome | None:
        """The answer whose guard holds, or None: the cell refuses."""
        for outcome in self.outcomes:
            if outcome.guard is None or outcome.guard(data):
                return outcome
        return None


class Rows:
    """A table with its parameters bound: what Machine, Fleet and Engine step through.

    `cells[state][event]` by index; `by_event[state]` by Event member or name; `domains[i]` is (lowest, highest) of
    variable i; `data` the initial values.
    """

    def __init__(self, table: Table, params: Mapping[str, int]) -> None:
        self.table = table
        self.params = dict(params)
        self.domains = tuple((_constant(row.low, params), _constant(row.high, params)) for row in table.variables)
        self.cycles = {
            i: high + 1
            for i, (row, (_, high)) in enumerate(zip(table.variables, self.domains, strict=True))
            if row.kind == "cycle"
        }
        self.data: Data = tuple(_constant(row.initial, params) for row in table.variables)
        self.cells: list[list[Cell | None]] = [
            [self._cell(state, event, cell) for event, cell in enumerate(row)] for state, row in enumerate(table.cells)
        ]
        self.by_event: list[dict[object, Cell]] = []
        for row in self.cells:
            named: dict[object, Cell] = {}
            for member, cell in zip(table.event_members, row, strict=True):
                if cell is not None:
                    named[member] = named[member.value] = cell
            self.by_event.append(named)
        for row in self.cells:
            for cell in row:
                for outcome in cell.outcomes if cell else ():
                    outcome.row = self.by_event[outcome.target]

    def _cell(self, state: int, event: int, cell: CellRow) -> Cell | None:
        if cell is None:
            return None
        table = self.table
        outcomes = []
        for answer in cell:
            move = Move(
                table.name,
                table.event_members[event],
                table.state_members[state],
                table.state_members[answer.target],
                answer.stay,
            )
            guard = code.guard(answer.guard, self.params) if answer.guard is not None else None
            update = code.update(answer.sets, self.cycles, len(table.variables), self.params) if answer.sets else None
            outcomes.append(Outcome(answer.target, answer.stay, guard, update, move))
        return Cell(tuple(outcomes))

    def takes(self, state: int, data: Data) -> list[str]:
        """The events that would move (not merely be stayed on) in a state, by name."""
        found = []
        for row, cell in zip(self.table.events, self.cells[state], strict=True):
            outcome = cell.choose(data) if cell is not None else None
            if outcome is not None and outcome.stay is None:
                found.append(row.name)
        return found

    def refusal(self, state: int, data: Data, event: object, who: str = "") -> Refused:
        """Why `event` is refused there, as an exception to raise."""
        table = self.table
        name = str(event)
        takes = tuple(self.takes(state, data))
        if event not in table.event_members and not (
            isinstance(event, str) and name in {row.name for row in table.events}
        ):
            return Refused(
                who or table.name, table.states[state].name, name, takes, f"{table.name} has no event {event!r}"
            )
        return Refused(who or table.name, table.states[state].name, name, takes, self._why(state, data, name))

    def _why(self, state: int, data: Data, event: str) -> str:
        if self.cells[state][self.table.event_index(event)] is None or not data:
            return ""
        values = ", ".join(
            f"{row.name} = {shown(row, value)}" for row, value in zip(self.table.variables, data, strict=True)
        )
        return f"its guard does not hold with {values}"


def value_of(row: VariableRow, value: int) -> int | bool | str | None:
    """A variable's value as a Python value: a bool, an enum's word, None for an empty reference, else an integer."""
    match row.kind:
        case "bool":
            return bool(value)
        case "enum":
            return row.words[value]
        case "ref":
            return None if value < 0 else value
    return value


def shown(row: VariableRow, value: int) -> str:
    """A variable's value in the spec's words."""
    if row.kind == "bool":
        return "true" if value else "false"
    if row.kind == "enum":
        return row.words[value]
    if row.kind == "ref":
        return "none" if value < 0 else f"{row.part}[{value}]"
    return str(value)


class Refused(Exception):
    """An event was refused, and nothing has changed. `takes`: the events that would move.

    An implementation of one's own that a suite is run against may raise it with a text alone, or with nothing.
    """

    def __init__(
        self, subject: str = "refused", state: str = "", event: str = "", takes: tuple[str, ...] = (), why: str = ""
    ) -> None:
        self.subject, self.state, self.event, self.takes, self.why = subject, state, event, takes, why
        super().__init__(subject, state, event, takes, why)

    def __str__(self) -> str:
        if not self.event:
            return self.subject
        because = f" ({self.why})" if self.why else ""
        *most, last = self.takes or ("nothing",)
        takes = f"{', '.join(most)} or {last}" if most else last
        return f"{self.subject} in {self.state} refuses {self.event}{because}; it takes {takes}"


def _enum(name: str, members: list[str]) -> type[Word]:
    made: Any = Word(name, {member.upper(): member for member in members})  # type: ignore[call-arg]
    return made  # type: ignore[no-any-return]


def _constant(term: Term, params: Mapping[str, int]) -> int:
    return int(code.function((), code.Emitter(params).value(term, []))())
