"""A system at a scope, as both writers see it: numbers, domains, who reaches whom. Refuses what cannot be said."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from calfsm.engine.code import Term
from calfsm.engine.engine import Engine
from calfsm.engine.system import ActionRow, Fired, Setting, System
from calfsm.engine.table import Cell, Rows, Table
from calfsm.export.lowering import Range, reads, span, walk

MOST_VALUATIONS = 1_000_000
"""As many values of a machine's variables are tried for one cell."""


class CannotExport(Exception):
    """The system has no such model at this scope. `message` says why, `fix` the way out."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


class Reached(NamedTuple):
    """One way in which a participant's instance is reached.

    `before`: earlier participants that reach it (True) or not (False), where that is a question. `events`: all that it
    takes, this participant's last.
    """

    before: tuple[tuple[int, bool], ...]
    events: tuple[int, ...]


class Scene:
    """A system with its parameters bound.

    Raises TypeError for a parameter that the system does not have, ValueError for a part without instances, and
    CannotExport for what would not mean the same in a model.
    """

    def __init__(self, system: System, scope: Mapping[str, int] | None) -> None:
        engine = Engine(system, **{**system.exploring(), **(scope or {})})
        self.system = system
        self.params = engine.params
        self.parts = system.parts
        self.rows: list[Rows] = engine.rows
        self.counts = [len(states) for states in engine.states]
        self.ranges = {bound.row.name: bound.ranges for bound in engine.bound_actions()}
        self.tables: dict[str, Table] = {part.table.name: part.table for part in system.parts}
        self._of = {part.table.name: number for number, part in enumerate(system.parts)}
        for name in self.tables:
            self._check_machine(name)
        self._check_divisors()

    def rows_of(self, machine: str) -> Rows:
        """A machine with its parameters bound."""
        return self.rows[self._of[machine]]

    def domain(self, part: int, variable: int) -> Range:
        """The lowest and highest value of a variable of a part."""
        row = self.parts[part].table.variables[variable]
        if row.kind == "ref":
            return -1, self.counts[self.system.part_index(row.part)] - 1
        return self.rows[part].domains[variable]

    def domains(self, machine: str) -> list[Range]:
        """The domains of a machine's variables."""
        part = self._of[machine]
        return [self.domain(part, variable) for variable in range(len(self.tables[machine].variables))]

    def range_of(self, term: Term, action: ActionRow | None = None, machine: str = "") -> Range | None:
        """The values between which a term stays, where that can be told."""

        def known(term: Term) -> Range | None:
            match term:
                case ("param", name):
                    return self.params[name], self.params[name]
                case ("var", index):
                    return self.domains(machine)[index]
                case ("arg", index) if action is not None:
                    allowed = self.ranges[action.name][index]
                    return (allowed.start, allowed.stop - 1) if allowed else None
                case ("data", part, _, index):
                    return self.domain(part, index)
                case ("through", instance):
                    span = self.range_of(instance, action, machine)
                    return span and (max(span[0], 0), span[1])
                case ("tally", index):
                    return 0, self.counts[self.system.tallies[index].part]
                case ("count", part, *_):
                    return 0, self.counts[part]
                case ("state" | "in" | "not" | "and" | "or" | "==" | "!=" | "<" | "<=" | ">" | ">=", *_):
                    return 0, 1
            return None

        return span(term, known)

    def limits(self, setting: Setting, action: ActionRow) -> tuple[int | None, int | None]:
        """The ends of a variable's domain that what an action sets may be beyond."""
        if self.parts[setting.part].table.variables[setting.variable].kind == "cycle":
            return None, None
        low, high = self.domain(setting.part, setting.variable)
        value = self.range_of(setting.value, action)
        if value is None:
            return low, high
        return (low if value[0] < low else None), (high if value[1] > high else None)

    def reached(self, action: ActionRow, number: int) -> list[Reached]:
        """The ways in which the instances of a participant are reached, by who reached them before."""
        fired = action.fired[number]
        earlier = [index for index in range(number) if action.fired[index].part == fired.part]
        ways = []
        for choice in itertools.product((True, False), repeat=len(earlier)):
            there = dict(zip(earlier, choice, strict=True))
            if all(_may(action.fired[index], fired, is_there) for index, is_there in there.items()):
                events = [event for i, is_there in there.items() if is_there for event in action.fired[i].events]
                asked = [(i, is_there) for i, is_there in there.items() if _may(action.fired[i], fired, not is_there)]
                ways.append(Reached(tuple(asked), (*events, *fired.events)))
        return ways

    def terms(self) -> Iterator[Term]:
        """Every term of the system itself."""
        for row in self.system.tallies:
            yield row.where
        for action in self.system.actions:
            yield from (condition.term for condition in action.guards)
            yield from (fired.which[-1] for fired in action.fired if len(fired.which) > 1)
            for setting in action.settings:
                yield from (setting.instance, setting.value)
        for each in self.system.always:
            yield from (condition.term for condition in each.conditions)

    def _check_divisors(self) -> None:
        for term in self.terms():
            for item in walk(term):
                if item[0] in ("//", "%"):
                    divisor = self.range_of(item[2])
                    if divisor is None or divisor[0] <= 0 <= divisor[1]:
                        raise CannotExport(
                            f"{self.system.name} divides by what may be zero", "divide by a number or a parameter"
                        )

    def _check_machine(self, machine: str) -> None:
        """The checks promise this at the parameters of the spec; here it is seen at those of the scope."""
        rows, domains = self.rows_of(machine), self.domains(machine)
        for index, (row, (low, high)) in enumerate(zip(rows.table.variables, domains, strict=True)):
            if not low <= rows.data[index] <= high:
                raise CannotExport(
                    f"`{row.name}` of {machine} begins outside its domain {low} to {high}", "choose another scope"
                )
        for state, cells in enumerate(rows.cells):
            for event, cell in enumerate(cells):
                if cell is not None and cell.only is None:
                    where = f"{machine} in {rows.table.states[state].name} on {rows.table.events[event].name}"
                    _check_cell(rows, cell, domains, _read_by(rows.table, state, event), where)


def _check_cell(rows: Rows, cell: Cell, domains: Sequence[Range], read: Sequence[int], where: str) -> None:
    if math.prod(high - low + 1 for low, high in (domains[index] for index in read)) > MOST_VALUATIONS:
        raise CannotExport(f"{where}: too many values to see that they stay in their domains", "choose a smaller scope")
    data = list(rows.data)
    for values in itertools.product(*(range(domains[index][0], domains[index][1] + 1) for index in read)):
        for index, value in zip(read, values, strict=True):
            data[index] = value
        try:
            outcome = cell.choose(tuple(data))
            after = outcome.update(tuple(data)) if outcome is not None and outcome.update is not None else data
        except ZeroDivisionError:
            raise CannotExport(f"{where}: it may divide by zero", "choose another scope") from None
        for row, value, (low, high) in zip(rows.table.variables, after, domains, strict=True):
            if not low <= value <= high:
                raise CannotExport(f"{where}: `{row.name}` leaves its domain {low} to {high}", "choose another scope")


def _read_by(table: Table, state: int, event: int) -> list[int]:
    found: set[int] = set()
    for answer in table.cells[state][event] or ():
        found |= reads(answer.guard) if answer.guard is not None else set()
        for _, term in answer.sets:
            found |= reads(term)
    return sorted(found)


def _may(earlier: Fired, fired: Fired, is_there: bool) -> bool:
    """Whether an instance of `fired` may be one of `earlier` (or may not be), as far as they say."""
    if earlier.which[0] == "every" or earlier.which == fired.which:
        return is_there
    constants = [which[1][1] for which in (earlier.which, fired.which) if which[0] == "one" and which[1][0] == "int"]
    return not is_there if len(constants) == 2 and constants[0] != constants[1] else True
