"""Where every instance of a system is, and what is kept beside it as it moves.

Beside the states and the data of the instances there are three things: who is in a state (`members`), who refers to
whom (for the participants written `kvs where job == j`), and the counts that guards ask for. They follow every
change, so that asking costs the same whatever the number of instances.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from calfsm.engine import code
from calfsm.engine.code import Data, Emitter, Term
from calfsm.engine.steps import Changed
from calfsm.engine.system import System, TallyRow
from calfsm.engine.table import Outcome, Rows

Referrers = dict[int, set[int]]
"""For an instance that is referred to, those who refer to it."""

Watch = tuple[int, Callable[[int], bool]]
"""A count that is kept, and whether an instance is among the counted."""


class Instances:
    """The state of a system, and functions that look at it.

    Raises ValueError for a part without instances.
    """

    def __init__(self, system: System, params: Mapping[str, int]) -> None:
        self.system = system
        self.params = params
        self.rows: list[Rows] = []
        self.states: list[list[int]] = []
        self.data: list[list[Data]] = []
        self.members: list[list[OrderedDict[int, None]]] = []
        """Instances by part and state, in the order in which they entered it.

        Ordered dicts: the first of a plain dict that is emptied from the front is found behind all that have gone.
        """
        for part in system.parts:
            rows = part.table.rows(**{row.name: params[row.name] for row in part.table.params})
            count = len(self.states[part.per]) if part.per >= 0 else self.constant(part.count)
            if count < 1:
                raise ValueError(
                    f"part {part.name} of {system.name} would have {count} instances; it needs one at least"
                )
            self.rows.append(rows)
            self.states.append([part.table.initial] * count)
            self.data.append([rows.data] * count)
            self.members.append([OrderedDict() for _ in part.table.states])
            self.members[-1][part.table.initial] = OrderedDict.fromkeys(range(count))
        self.domains = [self._domains(part) for part in range(len(system.parts))]
        self.stays: Counter[tuple[int, Outcome]] = Counter()
        """How often each answer that stays was given, by part."""
        self._references: list[list[tuple[int, Referrers]]] = [[] for _ in system.parts]
        self._watches: list[list[Watch]] = [[] for _ in system.parts]
        self._kept = list(
            zip(self.states, self.data, self.members, self._references, self._watches, strict=True)
        )  # by part, as `place` unpacks it
        self._tallied: list[int] = []
        self._names: dict[str, Any] = {"T": self._tallied}
        for number, (states, data, members) in enumerate(zip(self.states, self.data, self.members, strict=True)):
            self._names |= {f"S{number}": states, f"D{number}": data}
            self._names |= {f"M{number}_{state}": those for state, those in enumerate(members)}
        self._tally_texts: list[str] = []
        for row in system.tallies:
            self._tally_texts.append(self._tally(row))

    def place(self, changes: Iterable[Changed]) -> None:
        """Put instances where changes say, with all that is kept beside them, and count the answers that stay."""
        for part, index, state, data, new_state, new_data, outcomes in changes:
            states, datas, members, references, watches = self._kept[part]
            if watches:
                self._count(watches, index, -1)
            if new_state != state:
                states[index] = new_state
                del members[state][index]
                members[new_state][index] = None
            if new_data is not data:
                datas[index] = new_data
                for variable, referrers in references:
                    old, new = data[variable], new_data[variable]
                    if old != new:
                        if old >= 0:
                            referrers[old].discard(index)
                        if new >= 0:
                            referrers.setdefault(new, set()).add(index)
            if watches:
                self._count(watches, index, +1)
            for outcome in outcomes:
                if outcome.stay is not None:
                    self.stays[part, outcome] += 1

    def _count(self, watches: Sequence[Watch], index: int, by: int) -> None:
        for tally, holds in watches:
            if holds(index):
                self._tallied[tally] += by

    def text(self, part: int, index: int) -> str:
        """`jobs[0]`, or `device` where there is one only."""
        name = self.system.parts[part].name
        return name if len(self.states[part]) == 1 else f"{name}[{index}]"

    # ---- making functions

    def emitter(self, names: Sequence[str]) -> Emitter:
        """A writer of functions over `names`, the picks and choices."""
        return Emitter(self.params, names, self._tally_texts)

    def function(self, names: Sequence[str], text: str) -> Callable[..., Any]:
        """What `text` says of the present state, as a function of picks and choices."""
        return code.function(names, text, self._names)

    def condition(self, names: Sequence[str], term: Term) -> Callable[..., bool]:
        """A condition on the present state, as a function of picks and choices."""
        return self.function(names, self.emitter(names).test(term))

    def instance(self, names: Sequence[str], term: Term) -> str:
        """Text that finds an instance, -1 when a reference on the way is empty."""
        return _unless(self.emitter(names), term, "-1")

    def number(self, names: Sequence[str], term: Term) -> str:
        """Text of a value, None when a reference on the way is empty."""
        return _unless(self.emitter(names), term, "None")

    def constant(self, term: Term) -> int:
        """The value of a term of parameters."""
        return int(code.function((), Emitter(self.params).value(term, []))())

    def referrers(self, part: int, variable: int) -> str:
        """Text of who refers to whom through a variable; from now on this is kept."""
        text = f"R{part}_{variable}"
        if text not in self._names:
            referrers: Referrers = {}
            for index, data in enumerate(self.data[part]):
                if data[variable] >= 0:
                    referrers.setdefault(data[variable], set()).add(index)
            self._names[text] = referrers
            self._references[part].append((variable, referrers))
        return text

    def every(self, part: int) -> str:
        """Text of all instances of a part."""
        self._names[f"E{part}"] = range(len(self.states[part]))
        return f"E{part}"

    def _domains(self, part: int) -> list[tuple[int, int]]:
        domains = list(self.rows[part].domains)
        for index, row in enumerate(self.system.parts[part].table.variables):
            if row.kind == "ref":
                domains[index] = (-1, len(self.states[self.system.part_index(row.part)]) - 1)
        return domains

    def _tally(self, row: TallyRow) -> str:
        """Text of a count: the sizes of `members` when it asks for states only, else a number that is kept.

        What may divide by zero is counted by looking at all: nothing may go wrong once a change has begun.
        """
        states = range(len(self.members[row.part]))
        if _asks_states_only(row.where, row.part):
            sizes = [f"len(M{row.part}_{state})" for state in states if _holds_in(state, row.where)]
            return f"({' + '.join(sizes) or '0'})"
        if _divides(row.where):
            text = f"C{len(self._tally_texts)}"
            self._names[text] = self.function((), self.emitter(()).value(("count", row.part, 0, row.where), []))
            return f"{text}()"
        holds = self.condition(("b0",), row.where)
        index = len(self._tallied)
        self._tallied.append(sum(1 for instance in range(len(self.states[row.part])) if holds(instance)))
        self._watches[row.part].append((index, holds))
        return f"T[{index}]"


def _unless(emitter: Emitter, term: Term, otherwise: str) -> str:
    presence: list[str] = []
    text = emitter.value(term, presence)
    return f"({text} if {' and '.join(presence)} else {otherwise})" if presence else text


def _asks_states_only(where: Term, part: int) -> bool:
    match where:
        case ("not" | "and" | "or", *items):
            return all(_asks_states_only(item, part) for item in items)
        case ("state", asked, ("bound", 0), _):
            return bool(asked == part)
    return False


def _holds_in(state: int, where: Term) -> bool:
    """Whether a condition that asks for the state only holds in `state`."""
    match where:
        case ("not", item):
            return not _holds_in(state, item)
        case ("and", *items):
            return all(_holds_in(state, item) for item in items)
        case ("or", *items):
            return any(_holds_in(state, item) for item in items)
    return state in where[3]


def _divides(term: object) -> bool:
    return isinstance(term, tuple) and (term[:1] in (("//",), ("%",)) or any(map(_divides, term)))
