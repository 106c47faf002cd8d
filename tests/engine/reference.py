"""A table interpreted word by word, to hold `Machine` against: no compiled functions, no prepared rows."""

from __future__ import annotations

from typing import Any

from arithmetic import OPERATORS

from calfsm.engine.code import Term
from calfsm.engine.table import AlternativeRow, Table


class Reference:
    """One instance: `state` a name, `data` integers by index."""

    def __init__(self, table: Table, **params: int) -> None:
        self.table = table
        self.params = {**table.serving(), **params}
        self.state = next(row.name for row in table.states if row.initial)
        self.data = [self.value(row.initial) for row in table.variables]

    def fire(self, event: str) -> str:
        """Take an event by name: "moved", "stayed" or "refused"."""
        answer = self.answer(event)
        if answer is None:
            return "refused"
        new = {index: self.value(term) for index, term in answer.sets}
        for index, value in new.items():
            row = self.table.variables[index]
            self.data[index] = value % (self.value(row.high) + 1) if row.kind == "cycle" else value
        self.state = self.table.states[answer.target].name
        return "moved" if answer.stay is None else "stayed"

    def answer(self, event: str) -> AlternativeRow | None:
        """The alternative that an event would take now."""
        cell = self.table.cells[self.table.state_index(self.state)][self.table.event_index(event)]
        return next((answer for answer in cell or () if answer.guard is None or self.value(answer.guard)), None)

    def value(self, term: Term) -> int:
        """A term's value; truths are 0 and 1."""
        match term:
            case ("int", number):
                return int(number)
            case ("param", name):
                return self.params[name]
            case ("var", index):
                return self.data[index]
            case ("in", item, numbers):
                return int(self.value(item) in numbers)
            case ("not", item):
                return int(not self.value(item))
            case ("and", *items):
                return int(all(self.value(item) for item in items))
            case ("or", *items):
                return int(any(self.value(item) for item in items))
            case (op, left, right):
                result: Any = OPERATORS[op](self.value(left), self.value(right))
                return int(result)
        raise AssertionError(f"{term!r} is not a term of a machine")
