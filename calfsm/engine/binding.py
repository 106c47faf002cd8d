"""An action of a system made ready to run: its functions made, its participants' answers looked up beforehand.

What is unpacked on the way of every action is a plain tuple (`Route`, `Way`, `Changed`): Python unpacks those at
twice the speed of a NamedTuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calfsm.engine.code import Data
from calfsm.engine.instances import Instances
from calfsm.engine.steps import Changed, argument_names
from calfsm.engine.system import ActionRow, Fired, Setting
from calfsm.engine.table import Cell, Outcome

Update = Callable[[Data], Data]

Route = tuple[int, Update | None, tuple[Outcome, ...]]
"""Where events lead from one state, when that is the same whatever the data: to which state, what becomes of the data,
and the answers on the way."""

Walk = Callable[[int, Data], tuple[int, Data, Sequence[Outcome]] | None]

Way = tuple[int, list[int], list[Data], list[Route | None], Walk]
"""A participant: its part, that part's states and data, its routes by state, and its `walk` where there is no route."""


class Participant(NamedTuple):
    """Who takes which events."""

    part: int
    events: tuple[int, ...]
    cells: list[list[Cell | None]]
    row: Fired

    def route(self, state: int) -> Route | None:
        """The route from a state; None when an event is refused there, or its answer has a guard."""
        outcomes: list[Outcome] = []
        for event in self.events:
            cell = self.cells[state][event]
            if cell is None or cell.outcomes[0].guard is not None:
                return None
            outcomes.append(cell.outcomes[0])
            state = outcomes[-1].target
        return state, _one_after_another([outcome.update for outcome in outcomes]), tuple(outcomes)

    def walk(self, state: int, data: Data) -> tuple[int, Data, Sequence[Outcome]] | None:
        """Where its events lead, each from where the one before left; None when one is refused."""
        outcomes = []
        for event in self.events:
            cell = self.cells[state][event]
            outcome = cell.choose(data) if cell is not None else None
            if outcome is None:
                return None
            if outcome.update is not None:
                data = outcome.update(data)
            state = outcome.target
            outcomes.append(outcome)
        return state, data, outcomes


class Setter(NamedTuple):
    """A variable that is set, and its lowest and highest value."""

    part: int
    variable: int
    low: int
    high: int
    row: Setting


class Bound:
    """An action with its functions made.

    `find` gives the instances of each participant, in one go; -1 stands where a reference is empty. `targets` and
    `values` likewise give what is set to what; a value is None where a reference is empty.
    """

    __slots__ = (
        "_instances",
        "_twice",
        "_ways",
        "allowed",
        "arguments",
        "conjuncts",
        "find",
        "guard",
        "participants",
        "ranges",
        "row",
        "setters",
        "targets",
        "values",
    )

    def __init__(self, instances: Instances, row: ActionRow) -> None:
        self._instances = instances
        self.row = row
        self.arguments = argument_names(row)
        self.ranges = [range(len(instances.states[part])) for _, part in row.picks] + [
            range(instances.constant(low), instances.constant(high) + 1) for _, low, high in row.choices
        ]
        self.allowed = list(zip(self.arguments, self.ranges, strict=True))
        names = [f"a{index}" for index in range(len(self.arguments))]
        guard = ("and", *(condition.term for condition in row.guards))
        self.guard = instances.condition(names, guard) if row.guards else None
        self.conjuncts = [instances.condition(names, condition.term) for condition in row.guards]

        def together(texts: list[str]) -> Callable[..., tuple[Any, ...]]:
            return instances.function(names, f"({''.join(f'{text}, ' for text in texts)})")

        self.participants = [
            Participant(fired.part, fired.events, instances.rows[fired.part].cells, fired) for fired in row.fired
        ]
        self.find = together([_found(instances, names, fired) for fired in row.fired])
        self._ways = [_way(instances, participant) for participant in self.participants]
        self.setters = [
            Setter(setting.part, setting.variable, *instances.domains[setting.part][setting.variable], setting)
            for setting in row.settings
        ]
        self.targets = together([instances.instance(names, setting.instance) for setting in row.settings])
        self.values = together([_value(instances, names, setting) for setting in row.settings])
        parts = [fired.part for fired in row.fired]
        # Whether an instance may be reached by two participants: then the second must start where the first left it.
        self._twice = len(parts) != len(set(parts))

    def plan(self, arguments: Sequence[int]) -> list[Changed] | None:
        """What the action would change, or None: something refuses. Looks everything up and changes nothing.

        Arguments are taken to be in range. What divides by zero refuses.
        """
        try:
            if self.guard is not None and not self.guard(*arguments):
                return None
            changes: list[Changed] = []
            reached: dict[tuple[int, int], tuple[int, Data]] | None = {} if self._twice else None
            for (part, states, datas, routes, walk), found in zip(self._ways, self.find(*arguments), strict=True):
                for index in found:
                    if index < 0:
                        return None
                    state, data = states[index], datas[index]
                    if reached is not None:
                        state, data = reached.get((part, index), (state, data))
                    route = routes[state]
                    if route is not None:
                        new_state, update, outcomes = route
                        new_data = data if update is None else update(data)
                        changes.append((part, index, state, data, new_state, new_data, outcomes))
                    else:
                        answer = walk(state, data)
                        if answer is None:
                            return None
                        changes.append((part, index, state, data, *answer))
                    if reached is not None:
                        reached[part, index] = changes[-1][4:6]
            if reached is not None and len(reached) != len(changes):
                changes = _joined(changes)
            if self.setters and not self._set(arguments, changes):
                return None
        except ZeroDivisionError:
            return None
        return changes

    def _set(self, arguments: Sequence[int], changes: list[Changed]) -> bool:
        """Add what the action sets to `changes`; False when a reference is empty or a value outside its domain."""
        where = {(change[0], change[1]): position for position, change in enumerate(changes)}
        targets, values = self.targets(*arguments), self.values(*arguments)
        for setter, index, value in zip(self.setters, targets, values, strict=True):
            part, variable, low, high, _ = setter
            if index < 0 or value is None or not low <= value <= high:
                return False
            position = where.setdefault((part, index), len(changes))
            if position == len(changes):
                state, data = self._instances.states[part][index], self._instances.data[part][index]
                changes.append((part, index, state, data, state, data, ()))
            _, _, state, old, new_state, data, outcomes = changes[position]
            data = (*data[:variable], value, *data[variable + 1 :])
            changes[position] = (part, index, state, old, new_state, data, outcomes)
        return True


def _one_after_another(updates: Sequence[Update | None]) -> Update | None:
    there = [update for update in updates if update is not None]
    if len(there) < 2:
        return there[0] if there else None

    def update(data: Data) -> Data:
        for each in there:
            data = each(data)
        return data

    return update


def _joined(changes: list[Changed]) -> list[Changed]:
    """One change for each instance: from before the first of its changes to after the last."""
    joined: dict[tuple[int, int], Changed] = {}
    for change in changes:
        part, index, _, _, new_state, new_data, outcomes = change
        before = joined.get((part, index))
        if before is not None:
            _, _, state, data, _, _, earlier = before
            change = (part, index, state, data, new_state, new_data, (*earlier, *outcomes))
        joined[part, index] = change
    return list(joined.values())


def _way(instances: Instances, participant: Participant) -> Way:
    part = participant.part
    routes = [participant.route(state) for state in range(len(participant.cells))]
    return part, instances.states[part], instances.data[part], routes, participant.walk


def _found(instances: Instances, names: list[str], fired: Fired) -> str:
    """Text of the instances that a participant is."""
    match fired.which:
        case ("one", instance):
            return f"({instances.instance(names, instance)},)"
        case ("every",):
            return instances.every(fired.part)
        case ("where", variable, instance):
            # Nobody is found under -1: nobody refers to what an empty reference leads to.
            return f"sorted({instances.referrers(fired.part, variable)}.get({instances.instance(names, instance)}, ()))"
    raise TypeError(f"{fired.which!r} is not a participant")


def _value(instances: Instances, names: list[str], setting: Setting) -> str:
    """Text of what a variable is set to. What wraps, wraps."""
    cycle = instances.rows[setting.part].cycles.get(setting.variable)
    term = ("+", setting.value, ("int", 0))  # a truth becomes 0 or 1
    return instances.number(names, term if cycle is None else ("%", term, ("int", cycle)))
