"""Which configurations an instance can have, its state and data together, by looking at it alone.

Of an instance, every event that some action may fire at it and every setting is followed, from the initial
configuration on. What an action asks of others is taken to hold, and a value that comes from elsewhere to be any. So
what is found is more than what is reachable and never less; most of what the domains allow is not in it all the same: a
lane that is vacant has no length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, product
from typing import Any

from calfsm.engine.binding import Participant
from calfsm.engine.code import Data, Term
from calfsm.engine.instances import Instances
from calfsm.engine.system import ActionRow

Configuration = tuple[int, Data]
"""A state and the values of all variables."""

Values = frozenset[int] | None
"""The values that a term may have; None: nobody knows."""

Role = tuple[Any, ...]
"""A participant's `which`: how an action names an instance."""

VALUES = 256
"""Larger sets of values are not kept."""

_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def configurations(instances: Instances, part: int) -> list[Configuration]:
    """Every configuration that an instance of a part can have, in order."""
    rows = instances.rows[part]
    ways = [way for row in instances.system.actions for way in _ways(instances, row, part)]
    found = {(rows.table.initial, rows.data)}
    waiting = list(found)
    while waiting:
        before = waiting.pop()
        for way in ways:
            new = set(way.after(before)) - found
            found |= new
            waiting += new
    return sorted(found)


def _ways(instances: Instances, row: ActionRow, part: int) -> Iterator[_Way]:
    """The ways in which an action may touch an instance of a part: as one, several or none of those that it names."""
    named = [fired.which for fired in row.fired if fired.part == part and fired.which[0] != "every"]
    named += [("one", setting.instance) for setting in row.settings if setting.part == part]
    different = list(dict.fromkeys(named))
    for roles in chain.from_iterable(combinations(different, size) for size in range(len(different) + 1)):
        way = _Way(instances, row, part, frozenset(roles))
        if way.touches:
            yield way


class _Way:
    """What an action does to an instance that plays some roles in it: the terms that lead to the instance."""

    def __init__(self, instances: Instances, row: ActionRow, part: int, roles: frozenset[Role]) -> None:
        self._instances, self._row, self._part, self._roles = instances, row, part, roles
        self._fired = [
            Participant(fired.part, fired.events, instances.rows[part].cells, fired)
            for fired in row.fired
            if fired.part == part and (fired.which[0] == "every" or fired.which in roles)
        ]
        self._settings = [
            setting for setting in row.settings if setting.part == part and ("one", setting.instance) in roles
        ]

    @property
    def touches(self) -> bool:
        """Whether it does anything at all."""
        return bool(self._fired or self._settings)

    def after(self, before: Configuration) -> Iterator[Configuration]:
        """The configurations in which it may leave an instance; none where it plainly cannot happen."""
        seen = _Seen(self._instances, self._row, self._part, self._roles, before)
        if not seen.possible():
            return
        state, data = before
        try:
            for participant in self._fired:
                answer = participant.walk(state, data)
                if answer is None:
                    return
                state, data, _ = answer
        except ZeroDivisionError:
            return
        settable = [list(range(low, high + 1)) if low <= high else [] for low, high in self._domains]
        choices: list[Sequence[int]] = [[value] for value in data]
        for setting in self._settings:
            values, _ = seen.value(setting.value)
            allowed = settable[setting.variable]
            cycle = self._instances.rows[self._part].cycles.get(setting.variable)
            if values is not None and cycle is not None:
                values = frozenset(value % cycle for value in values)
            choices[setting.variable] = allowed if values is None else [value for value in allowed if value in values]
        for after in product(*choices):
            # A value outside its domain is the compiled search's to notice.
            if all(low <= value <= high for value, (low, high) in zip(after, self._domains, strict=True)):
                yield state, after

    @cached_property
    def _domains(self) -> list[tuple[int, int]]:
        return self._instances.domains[self._part]


class _Seen:
    """An action's terms in a state of which the configuration of one instance is known, and its roles."""

    def __init__(
        self,
        instances: Instances,
        row: ActionRow,
        part: int,
        roles: frozenset[Role],
        configuration: Configuration,
    ) -> None:
        self._instances, self._row, self._part, self._roles = instances, row, part, roles
        self._state, self._data = configuration

    def possible(self) -> bool:
        """Whether nothing that is known speaks against the action."""
        row = self._row
        if any(self.test(condition.term) is False for condition in row.guards):
            return False
        named = [fired.which[1] for fired in row.fired if fired.which[0] == "one"]
        named += [setting.instance for setting in row.settings]
        if any(self._nobody(term) for term in named):
            return False
        return all(self._refers(role[1], role[2]) for role in self._roles if role[0] == "where")

    def _refers(self, variable: int, leader: Term) -> bool:
        """Whether the instance may refer to a leader."""
        leaders, _ = self.value(leader)
        own = self._data[variable]
        return own >= 0 and (leaders is None or own in leaders)

    def value(self, term: Term) -> tuple[Values, bool]:
        """The values that a term may have, and whether it is certain to have one: no reference is empty."""
        match term:
            case ("int", int(number)):
                return frozenset([number]), True
            case ("param", str(name)):
                return frozenset([self._instances.params[name]]), True
            case ("arg", int(index)):
                return _kept(self._range(index)), True
            case ("data", int(part), instance, int(variable)):
                if self._is_own(part, instance):
                    return frozenset([self._data[variable]]), True
                if self._nobody(instance):
                    return frozenset(), False
                low, high = self._instances.domains[part][variable]
                return _kept(range(low, high + 1)), False
            case ("through", instance):
                values, _ = self.value(instance)
                return None if values is None else frozenset(value for value in values if value >= 0), False
            case ("tally", _) | ("count", *_) | ("bound", _):
                return None, True
            case (str(op), left, right) if op in _OPERATORS:
                return self._calculated(op, left, right)
            case (("not" | "and" | "or" | "state" | "in"), *_):
                truth = self.test(term)
                return frozenset([0, 1] if truth is None else [int(truth)]), True
        raise TypeError(f"{term!r} is not a compiled expression")

    def test(self, term: Term) -> bool | None:
        """Whether a condition holds; None: nobody knows. What looks through an empty reference does not hold."""
        match term:
            case ("not", item):
                truth = self.test(item)
                return None if truth is None else not truth
            case ("and", *items):
                truths = [self.test(item) for item in items]
                return False if False in truths else None if None in truths else True
            case ("or", *items):
                truths = [self.test(item) for item in items]
                return True if True in truths else None if None in truths else False
            case ("state", int(part), instance, tuple(states)):
                if self._is_own(part, instance):
                    return self._state in states
                return False if self._nobody(instance) else None
            case ("in", item, tuple(numbers)):
                values, sure = self.value(item)
                return None if values is None else _all_or_none({value in numbers for value in values}, sure)
        values, sure = self.value(term)
        return None if values is None else _all_or_none({value != 0 for value in values}, sure)

    def _calculated(self, op: str, left: Term, right: Term) -> tuple[Values, bool]:
        (lefts, sure), (rights, also) = self.value(left), self.value(right)
        if lefts == frozenset() or rights == frozenset():
            return frozenset(), False
        if lefts is None or rights is None or len(lefts) * len(rights) > VALUES:
            return None, False
        if op in ("//", "%") and 0 in rights:
            rights, also = rights - {0}, False
        return frozenset(int(_OPERATORS[op](a, b)) for a in lefts for b in rights), sure and also

    def _is_own(self, part: int, instance: Term) -> bool:
        return part == self._part and ("one", instance) in self._roles

    def _nobody(self, instance: Term) -> bool:
        """Whether a term is certain to lead to no instance."""
        values, _ = self.value(instance)
        return values is not None and all(value < 0 for value in values)

    def _range(self, argument: int) -> range:
        picks = self._row.picks
        if argument < len(picks):
            return range(len(self._instances.states[picks[argument][1]]))
        _, low, high = self._row.choices[argument - len(picks)]
        return range(self._instances.constant(low), self._instances.constant(high) + 1)


def _kept(values: range) -> Values:
    return frozenset(values) if len(values) <= VALUES else None


def _all_or_none(truths: set[bool], sure: bool) -> bool | None:
    if True not in truths:
        return False
    return True if sure and False not in truths else None
