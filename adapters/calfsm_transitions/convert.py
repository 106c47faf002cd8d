"""From a compiled table to a `transitions.Machine`.

What becomes of what:

- a state is a state of the same name; a `final` one is final there too;
- an event is a trigger of the same name, an event that every state refuses included;
- a move is a transition, a move to the same state a reflexive one (its exit and enter callbacks run);
- a stay is an internal transition (`dest=None`): no exit or enter callback runs. Its reason stays behind;
- a refusal is the absence of a transition: `transitions` raises MachineError. An unknown event is its AttributeError;
- variables stay behind. Without guards no state depends on them; what a move should remember goes into a callback.

Send events with `model.trigger(name)`: it works for every event. The methods that `transitions` puts on the model
(`model.acquire()`, `model.is_free()`) are there as well, except where a name is taken: an event called `trigger` or
`is_free` is reached by `trigger` alone.
"""

from __future__ import annotations

import transitions

from calfsm.engine import Table
from calfsm.engine.code import Term
from calfsm.engine.table import shown


class GuardedMachine(ValueError):
    """The machine has a guard, which `transitions` has no table for."""


class Model:
    """What the events are sent to when no model is given: `trigger(event)`, and the state's name in `state`."""


def to_transitions(table: Table, model: object | None = None) -> transitions.Machine:
    """A `transitions.Machine` of `table`. Its model, `model` or a new one, is in the initial state.

    The state is kept in the attribute `state`, or `state_` when an event is called `state` (`machine.model_attribute`
    says which); `machine.get_model_state(model).name` works for both. There are no automatic `to_…` transitions, and
    `machine.model` is the model.

    Raises GuardedMachine, naming the first guard, when the table has one, and ValueError when `model` has a `trigger`
    of its own.
    """
    _require_no_guards(table)
    own = Model() if model is None else model
    if hasattr(own, "trigger"):
        raise ValueError(f"{own!r} has a `trigger` of its own, so no event could be sent to it; give another model")
    names = [row.name for row in table.events]
    machine = transitions.Machine(
        model=None,
        states=[{"name": row.name, "final": row.final} for row in table.states],
        initial=table.states[table.initial].name,
        auto_transitions=False,
        name=table.name,
        model_attribute=_free("state", names),
    )
    for event in names:
        machine.add_transition(event, [], None)  # known, even where every state refuses it
    for state, event_index, answer in table.moves():
        target = None if answer.stay is not None else table.states[answer.target].name
        machine.add_transition(names[event_index], table.states[state].name, target)
    machine.add_model(own)
    return machine


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _require_no_guards(table: Table) -> None:
    for state, event, answer in table.moves():
        if answer.guard is not None:
            where = f"{table.name} in {table.states[state].name} takes {table.events[event].name}"
            text = _text(answer.guard, table)
            raise GuardedMachine(f"{where} only when `{text}`; a machine with guards has no `transitions` form")


def _text(term: Term, table: Table) -> str:
    """A guard in the words of the spec."""
    match term:
        case ("int", number):
            return str(number)
        case ("param", name):
            return str(name)
        case ("var", index):
            return table.variables[index].name
        case ("not", item):
            return f"not {_operand(item, table)}"
        case ("and" | "or" as word, *items):
            return f" {word} ".join(_operand(item, table) for item in items)
        case ("in", item, numbers):
            words = ", ".join(_word(item, ("int", number), table) for number in numbers)
            return f"{_operand(item, table)} in {{{words}}}"
        case (op, left, right):
            return f"{_word(right, left, table)} {op} {_word(left, right, table)}"
    return repr(term)


def _operand(term: Term, table: Table) -> str:
    """A term inside another, in parentheses unless it is a name or a number."""
    text = _text(term, table)
    return text if term[0] in ("int", "param", "var") else f"({text})"


def _word(beside: Term, term: Term, table: Table) -> str:
    """A term beside another; a number beside a variable of words, truths or references is said as its value."""
    match beside, term:
        case ("var", int(index)), ("int", int(number)) if table.variables[index].kind in ("enum", "ref"):
            return shown(table.variables[index], number)
    return _operand(term, table)
