"""From compiled tables and systems to what their pictures show."""

from __future__ import annotations

from collections.abc import Iterator

from calfsm.engine.system import ActionRow, PartRow, System
from calfsm.engine.table import AlternativeRow, EventRow, Table
from calfsm.render import terms
from calfsm.render.model import (
    SPEAKERS,
    Action,
    Diagram,
    Edge,
    Group,
    Kind,
    Line,
    Node,
    Overview,
    Part,
    Reference,
    Stay,
)
from calfsm.spec.expressions import text_of
from calfsm.spec.model import SystemSpec

RARE = 2
"""A stay in no more states than this is marked in the states themselves; a commoner one stands in the table only."""


def diagram(table: Table) -> Diagram:
    """The picture of a machine. Refusals are not shown."""
    stays = _stays(table)
    return Diagram(table.name, table.doc, _nodes(table, stays), _edges(table), stays)


def overview(system: System, spec: SystemSpec) -> Overview:
    """The picture of a system; `spec` gives the text of what its actions set."""
    parts = tuple(_part(index, row, system) for index, row in enumerate(system.parts))
    actions = tuple(_action(row, spec) for row in system.actions)
    return Overview(system.name, system.doc, parts, tuple(_references(system)), _groups(actions), actions)


# ---- machines


def kind_of(event: EventRow, answer: AlternativeRow) -> Kind:
    """What an answer is. A cancel is what a client says by an event with `cancel` among the words of its name."""
    if answer.stay is not None:
        return Kind.STAY
    if event.by == "client" and "cancel" in event.name.split("_"):
        return Kind.CANCEL
    return {"clock": Kind.TIMEOUT, "recovery": Kind.RESET}.get(event.by, Kind.MOVE)


def _answers(table: Table) -> Iterator[tuple[int, int, AlternativeRow, Line]]:
    for state, event, answer in table.moves():
        yield state, event, answer, _line(table, state, event, answer)


def _line(table: Table, state: int, event: int, answer: AlternativeRow) -> Line:
    row, cell = table.events[event], table.cells[state][event]
    if answer.guard is not None:
        guard = terms.condition(answer.guard, table)
    else:
        guard = "else" if cell is not None and len(cell) > 1 else ""
    sets = tuple(terms.update(variable, term, table) for variable, term in answer.sets)
    return Line(row.by, row.name, kind_of(row, answer), guard, sets, row.doc)


def _edges(table: Table) -> tuple[Edge, ...]:
    """Moves, those between the same states together."""
    found: dict[tuple[int, int], list[Line]] = {}
    for state, _, answer, line in _answers(table):
        if line.kind is not Kind.STAY:
            found.setdefault((state, answer.target), []).append(line)
    return tuple(Edge(source, target, tuple(lines)) for (source, target), lines in found.items())


def _stays(table: Table) -> tuple[Stay, ...]:
    """Stays, those of one event for one reason together, in the order of the events."""
    found: dict[tuple[int, Line, str], list[int]] = {}
    for state, event, answer, line in _answers(table):
        if answer.stay is not None:
            found.setdefault((event, line, answer.stay), []).append(state)
    groups = sorted(found.items(), key=lambda item: (item[0][0], len(item[1])))  # of an event, the commonest last
    last = {event: states for (event, _, _), states in groups}

    def is_rest(event: int, states: list[int]) -> bool:
        return states is last[event] and len(states) > RARE and _is_rest(table, event, states)

    return tuple(
        Stay(line, because, tuple(states), is_rest(event, states)) for (event, line, because), states in groups
    )


def _is_rest(table: Table, event: int, states: list[int]) -> bool:
    """Whether exactly these states are left when those with another answer to the event are taken away."""
    column = [row[event] for row in table.cells]
    return None not in column and all(len(column[state] or ()) == 1 for state in states)


def _nodes(table: Table, stays: tuple[Stay, ...]) -> tuple[Node, ...]:
    return tuple(
        Node(
            row.name,
            row.doc,
            row.initial,
            row.final,
            row.outcome,
            row.awaits,
            row.deadline,
            tuple(stay.line for stay in stays if len(stay.states) <= RARE and index in stay.states),
        )
        for index, row in enumerate(table.states)
    )


# ---- systems


def _part(index: int, row: PartRow, system: System) -> Part:
    moved = [(by, sum(_moves(action, index) for action in system.actions if action.by == by)) for by in SPEAKERS]
    return Part(row.name, row.table.name, _count(row, system), row.doc, tuple(pair for pair in moved if pair[1]))


def _moves(action: ActionRow, part: int) -> bool:
    return any(fired.part == part for fired in action.fired)


def _count(row: PartRow, system: System) -> str:
    if row.per >= 0:
        return f"one for each of {system.parts[row.per].name}"
    match row.count:
        case ("int", 1):
            return "one"
        case ("param", str(name)):
            return f"{name}: serves {system.serving()[name]}, explores {system.exploring()[name]}"
    return str(row.count[1])


def _references(system: System) -> Iterator[Reference]:
    for index, part in enumerate(system.parts):
        for variable in part.table.variables:
            if variable.kind == "ref":
                yield Reference(index, system.part_index(variable.part), variable.name)
        if part.per >= 0:
            yield Reference(part.per, index)


def _groups(actions: tuple[Action, ...]) -> tuple[Group, ...]:
    """Actions by speaker and the set of parts they move; few parts first."""
    found: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for action in actions:
        found.setdefault((action.speaker, tuple(sorted(action.fires))), []).append(action.name)
    order = sorted(found, key=lambda key: (SPEAKERS.index(key[0]), len(key[1]), key[1]))
    return tuple(Group(speaker, parts, tuple(found[speaker, parts])) for speaker, parts in order)


def _action(row: ActionRow, spec: SystemSpec) -> Action:
    written = spec.actions[row.name]
    takes = [f"{pick} of {part}" for pick, part in written.pick.items()]
    takes += [f"{name} in {low} to {high}" for name, (low, high) in written.choose.items()]
    fires: dict[int, list[tuple[str, tuple[str, ...]]]] = {}
    for fired, events in zip(row.fired, written.fire.values(), strict=True):
        fires.setdefault(fired.part, []).append((fired.text, events))
    return Action(
        row.name,
        row.by,
        row.doc,
        tuple(takes),
        tuple(guard.text for guard in row.guards),
        {part: tuple(items) for part, items in fires.items()},
        tuple(f"{target} = {text_of(value)}" for target, value in written.set.items()),
        row.effects,
    )
