"""Every generated table, decoded and compared with its YAML: cell by cell, expressions by what they give."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path as FilePath
from typing import Any

import pytest
from arithmetic import OPERATORS

from calfsm.engine.system import Profile, System
from calfsm.engine.table import AlternativeRow, Table, VariableRow
from calfsm.spec.expressions import (
    Arithmetic,
    Both,
    Compare,
    Expression,
    Not,
    Number,
    Path,
    Truth,
    Within,
)
from calfsm.spec.model import Alternative, Bound, MachineSpec, ProfileSpec, SystemSpec, Variable, claims
from calfsm.spec.read import read_spec

SPECS = FilePath(__file__).parents[2] / "specs"
MACHINES = [path.stem for path in sorted((SPECS / "machines").glob("*.yaml"))]
PROFILES = [path.stem for path in sorted((SPECS / "profiles").glob("*.yaml"))]

Values = Mapping[str, Any]
"""Names to values, as the spec has them: bools, integers, words; an empty reference is None."""


def machine(name: str) -> tuple[MachineSpec, Table]:
    spec = read_spec(SPECS / "machines" / f"{name}.yaml").spec
    assert isinstance(spec, MachineSpec)
    table: Table = import_module(f"calfsm.tables.{name}").TABLE
    return spec, table


def written(expression: Expression, values: Values) -> Any:
    """What an expression of a machine gives."""
    match expression:
        case Number(value=value) | Truth(value=value):
            return value
        case Path(root="none"):
            return None
        case Path(root=root):
            return values.get(root, root)  # a name of nothing is a word
        case Not(item=item):
            return not written(item, values)
        case Both(word="and", items=items):
            return all(written(item, values) for item in items)
        case Both(items=items):
            return any(written(item, values) for item in items)
        case Compare(op=op, left=left, right=right) | Arithmetic(op=op, left=left, right=right):
            return OPERATORS[op](written(left, values), written(right, values))
        case Within(subject=subject, members=members, negated=negated):
            return (written(subject, values) in members) is not negated
    raise AssertionError(expression)


def compiled(term: Any, data: tuple[int, ...], params: dict[str, int]) -> int:
    """What a term of a machine gives; truths are 0 and 1."""
    match term:
        case ("int", number):
            return int(number)
        case ("param", str(name)):
            return params[name]
        case ("var", int(index)):
            return data[index]
        case ("in", item, numbers):
            return int(compiled(item, data, params) in numbers)
        case ("not", item):
            return int(not compiled(item, data, params))
        case ("and", *items):
            return int(all(compiled(item, data, params) for item in items))
        case ("or", *items):
            return int(any(compiled(item, data, params) for item in items))
        case (op, left, right):
            return int(OPERATORS[op](compiled(left, data, params), compiled(right, data, params)))
    raise AssertionError(term)


def domain(variable: Variable, params: Mapping[str, int]) -> list[Any]:
    """The values that a variable may have, lowest first."""

    def number(bound: Bound) -> int:
        return bound if isinstance(bound, int) else params[bound]

    match variable.kind:
        case "bool":
            return [False, True]
        case "int":
            assert variable.integer is not None
            low, high = variable.integer
            return list(range(number(low), number(high) + 1))
        case "enum":
            return list(variable.enum or ())
        case "cycle":
            assert variable.cycle is not None
            return list(range(number(variable.cycle)))
    return [None, 0, 1]


def integer(row: VariableRow, value: Any) -> int:
    """A spec's value as a table's integer."""
    if value is None:
        return -1
    return row.words.index(value) if row.kind == "enum" else int(value)


def valuations(spec: MachineSpec, table: Table) -> Iterator[tuple[dict[str, Any], tuple[int, ...]]]:
    """Every valuation at the exploring parameters: as the spec has it, and as the table has it."""
    params = {name: param.explores for name, param in spec.params.items()}
    for values in itertools.product(*(domain(variable, params) for variable in spec.vars.values())):
        numbers = tuple(integer(row, value) for row, value in zip(table.variables, values, strict=True))
        yield {**params, **dict(zip(spec.vars, values, strict=True))}, numbers


def assert_same_answer(spec: MachineSpec, table: Table, state: str, answer: Alternative, row: AlternativeRow) -> None:
    assert table.states[row.target].name == (answer.to if answer.to is not None else state)
    assert row.stay == answer.stay
    assert (row.guard is None) == (answer.when is None)
    assert [table.variables[index].name for index, _ in row.sets] == list(answer.set)
    params = table.exploring()
    for values, data in valuations(spec, table):
        if answer.when is not None:
            assert bool(compiled(row.guard, data, params)) is bool(written(answer.when, values))
        for (index, term), expression in zip(row.sets, answer.set.values(), strict=True):
            variable = table.variables[index]
            assert compiled(term, data, params) == integer(variable, written(expression, values))


@pytest.mark.parametrize("name", MACHINES)
def test_every_cell_of_a_table_answers_as_the_spec_does(name: str) -> None:
    spec, table = machine(name)
    assert [row.name for row in table.states] == list(spec.states)
    assert [row.name for row in table.events] == list(spec.events)
    for state, cells in zip(spec.states, table.cells, strict=True):
        for event, cell in zip(spec.events, cells, strict=True):
            answers = spec.cell(state, event)
            if answers is None:
                assert cell is None, f"{state} refuses {event}"
                continue
            assert cell is not None, f"{state} decides {event}"
            for answer, row in zip(answers.alternatives, cell, strict=True):
                assert_same_answer(spec, table, state, answer, row)


@pytest.mark.parametrize("name", MACHINES)
def test_a_table_has_the_documentation_sources_deadlines_and_parameters_of_its_spec(name: str) -> None:
    spec, table = machine(name)
    assert (table.name, table.doc) == (spec.machine, spec.doc)
    assert [tuple(row) for row in table.params] == [
        (name, param.serves, param.explores, param.doc) for name, param in spec.params.items()
    ]
    assert [tuple(row) for row in table.events] == [
        (name, event.by.value, event.doc) for name, event in spec.events.items()
    ]
    assert [tuple(row) for row in table.states] == [
        (
            name,
            state.doc,
            state.initial,
            state.final,
            state.outcome,
            state.awaits.value if state.awaits else "",
            (state.deadline.after, state.deadline.event) if state.deadline else None,
        )
        for name, state in spec.states.items()
    ]


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("params", ["serving", "exploring"])
def test_a_tables_variables_have_the_domains_and_initial_values_of_its_spec(name: str, params: str) -> None:
    spec, table = machine(name)
    values: dict[str, int] = getattr(table, params)()
    for row, (variable, declared) in zip(table.variables, spec.vars.items(), strict=True):
        assert (row.name, row.kind, row.doc) == (variable, declared.kind, declared.doc)
        assert (row.words, row.part) == (declared.enum or (), declared.ref or "")
        if declared.kind == "ref":
            assert row.low == row.high == row.initial == ("int", -1)
            continue
        allowed = domain(declared, values)
        assert compiled(row.low, (), values) == integer(row, allowed[0])
        assert compiled(row.high, (), values) == integer(row, allowed[-1])
        initial = declared.initial if declared.initial is not None else (declared.boolean or allowed[0])
        assert compiled(row.initial, (), values) == integer(row, initial)


@pytest.mark.parametrize("name", MACHINES)
def test_the_enums_of_a_table_are_its_names_in_order(name: str) -> None:
    spec, table = machine(name)
    module = import_module(f"calfsm.tables.{name}")
    assert (module.State, module.Event) == (table.State, table.Event)
    assert [(member.name, member.value) for member in module.State] == [(state.upper(), state) for state in spec.states]
    assert [(member.name, member.value) for member in module.Event] == [(event.upper(), event) for event in spec.events]


def test_the_executors_parts_actions_and_parameters_are_those_of_its_spec() -> None:
    spec = read_spec(SPECS / "systems" / "executor.yaml").spec
    assert isinstance(spec, SystemSpec)
    system: System = import_module("calfsm.tables.executor").SYSTEM
    assert (system.name, system.doc) == (spec.system, spec.doc)
    assert [tuple(row) for row in system.params] == [
        (name, param.serves, param.explores, param.doc) for name, param in spec.params.items()
    ]
    names = [part.name for part in system.parts]
    assert [(part.name, part.table.name, part.doc, part.per) for part in system.parts] == [
        (name, part.machine, part.doc, names.index(part.per) if part.per else -1) for name, part in spec.parts.items()
    ]
    for row, (name, action) in zip(system.actions, spec.actions.items(), strict=True):
        assert (row.name, row.by, row.effects, row.doc) == (name, action.by.value, action.effect, action.doc)
        assert [(pick, names[part]) for pick, part in row.picks] == list(action.pick.items())
        assert [choice for choice, _, _ in row.choices] == list(action.choose)
        assert [
            (fired.text, tuple(system.parts[fired.part].table.events[event].name for event in fired.events))
            for fired in row.fired
        ] == [(str(participant), events) for participant, events in action.fire.items()]
        assert [
            (setting.text, system.parts[setting.part].table.variables[setting.variable].name)
            for setting in row.settings
        ] == [(target, target.split(".")[-1]) for target in action.set]
    following = [name for item in spec.resources for fault, name in claims(item).items() if fault != "stranded"]
    assert [row.name for row in system.always] == [*spec.always, *following]
    assert [row.name for row in system.resources] == list(spec.resources)
    assert [row.name for row in system.eventually] == list(spec.eventually)
    assert (system.fair, system.strongly_fair) == (spec.fair, spec.strongly_fair)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_has_the_numbers_of_its_spec(name: str) -> None:
    spec = read_spec(SPECS / "profiles" / f"{name}.yaml").spec
    assert isinstance(spec, ProfileSpec)
    profile: Profile = import_module(f"calfsm.tables.{name}").PROFILE
    assert profile == Profile(
        spec.profile, spec.system, spec.doc, dict(spec.params), dict(spec.deadlines), dict(spec.scope)
    )
