"""MachineSpec to Table."""

from __future__ import annotations

import hashlib
from typing import Any

from calfsm.compile.lower import NONE, MachineScope, lower
from calfsm.engine.code import Term
from calfsm.engine.table import AlternativeRow, CellRow, EventRow, ParamRow, StateRow, Table, VariableRow
from calfsm.spec.model import Alternative, Bound, Cell, MachineSpec, Variable


def compile_machine(spec: MachineSpec) -> Table:
    """The table of a machine that passed its checks."""
    variables = tuple(_variable(name, variable) for name, variable in spec.vars.items())
    scope = MachineScope(variables, spec.params)
    states = list(spec.states)

    def alternative(answer: Alternative, state: str) -> AlternativeRow:
        names = [row.name for row in variables]
        return AlternativeRow(
            lower(answer.when, scope) if answer.when is not None else None,
            states.index(answer.to if answer.to is not None else state),
            answer.stay,
            tuple(
                (names.index(name), _enum_word(variables[names.index(name)], value) or lower(value, scope))
                for name, value in answer.set.items()
            ),
        )

    def cell(state: str, answers: Cell | None) -> CellRow:
        return tuple(alternative(answer, state) for answer in answers.alternatives) if answers else None

    content: dict[str, Any] = {
        "name": spec.name,
        "doc": spec.doc,
        "params": tuple(ParamRow(name, param.serves, param.explores, param.doc) for name, param in spec.params.items()),
        "variables": variables,
        "states": tuple(
            StateRow(
                name,
                state.doc,
                name == spec.initial,
                state.final,
                state.outcome,
                state.awaits.value if state.awaits else "",
                (state.deadline.after, state.deadline.event) if state.deadline else None,
            )
            for name, state in spec.states.items()
        ),
        "events": tuple(EventRow(name, event.by.value, event.doc) for name, event in spec.events.items()),
        "cells": tuple(tuple(cell(state, spec.cell(state, event)) for event in spec.events) for state in spec.states),
    }
    return Table(digest=digest(content), **content)


def digest(content: dict[str, Any]) -> str:
    """A short name for what a spec says (not how it is laid out): SHA-256, 16 hex digits."""
    return hashlib.sha256(repr(sorted(content.items())).encode()).hexdigest()[:16]


def bound_term(bound: Bound) -> Term:
    """An integer or a parameter, as a term."""
    return ("int", bound) if isinstance(bound, int) else ("param", bound)


def _enum_word(row: VariableRow, value: object) -> Term | None:
    """`set: {mode: fast}`: a word of the variable's own enum."""
    return ("int", row.words.index(str(value))) if str(value) in row.words else None


def _variable(name: str, spec: Variable) -> VariableRow:
    low: Term = ("int", 0)
    high: Term = ("int", 1)
    words: tuple[str, ...] = ()
    initial: Term = ("int", 0)
    match spec.kind:
        case "bool":
            initial = ("int", int(bool(spec.boolean)))
        case "int":
            assert spec.integer is not None
            low, high = map(bound_term, spec.integer)
            initial = low
        case "enum":
            assert spec.enum is not None
            words, high = spec.enum, ("int", len(spec.enum) - 1)
        case "ref":
            low = high = initial = NONE
        case "cycle":
            assert spec.cycle is not None
            high = ("-", bound_term(spec.cycle), ("int", 1))
    if spec.initial is not None:
        initial = ("int", words.index(str(spec.initial))) if words else bound_term(spec.initial)
    return VariableRow(name, spec.kind, low, high, initial, words, spec.ref or "", spec.doc)
