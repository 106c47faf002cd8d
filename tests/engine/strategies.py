"""Valid tables made up by Hypothesis, and the real ones.

A generated table keeps what the checks promise of a real one: one initial state, alternatives that are disjoint,
updates that stay in their domains, stays that move nothing. It has variables of every kind, with bounds that are
integers or parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

from calfsm.engine.code import ARITHMETIC, COMPARISONS, Term
from calfsm.engine.table import AlternativeRow, CellRow, EventRow, ParamRow, StateRow, Table, VariableRow
from calfsm.tables import buffer, device, dma, job, kv, model, request

REAL = tuple(module.TABLE for module in (buffer, device, dma, job, kv, model, request))
"""The tables of the repository's own machines."""

Answers: TypeAlias = st.SearchStrategy[AlternativeRow]

ONE: Term = ("int", 1)
NONE: Term = ("int", -1)
SOURCES = ("client", "engine", "runtime", "clock", "recovery")


@st.composite
def tables(draw: st.DrawFn, *, guards: bool = True) -> Table:
    """A table of two to five states, two to five events and at most four variables.

    `guards`: whether its cells may look at data.
    """
    params = tuple(ParamRow(f"p{i}", draw(st.integers(1, 6)), 1) for i in range(draw(st.integers(0, 2))))
    variables = tuple(draw(_variable(f"v{i}", params)) for i in range(draw(st.integers(0, 4))))
    states, events = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    initial = draw(st.integers(0, states - 1))
    answers = _answers(states, variables, params)
    truths = _truth(variables, params) if guards else None
    return Table(
        name="made",
        doc="",
        digest="",
        params=params,
        variables=variables,
        states=tuple(StateRow(f"s{i}", "", i == initial) for i in range(states)),
        events=tuple(EventRow(f"e{i}", draw(st.sampled_from(SOURCES))) for i in range(events)),
        cells=tuple(draw(st.tuples(*[_cell(i, answers, truths)] * events)) for i in range(states)),
    )


def overrides(table: Table) -> st.SearchStrategy[dict[str, int]]:
    """Values for some parameters of a generated table; a bound below 1 could exclude the initial value."""
    return st.fixed_dictionaries({}, optional={row.name: st.integers(1, 6) for row in table.params})


@st.composite
def _variable(draw: st.DrawFn, name: str, params: Sequence[ParamRow]) -> VariableRow:
    low: Term = ("int", 0)
    match draw(st.sampled_from(("bool", "int", "enum", "ref", "cycle"))):
        case "bool":
            return VariableRow(name, "bool", low, ONE, ("int", draw(st.integers(0, 1))))
        case "int":
            low = ("int", draw(st.integers(-3, 0)))
            return VariableRow(name, "int", low, draw(_bound(params)), draw(st.sampled_from((low, ("int", 0), ONE))))
        case "enum":
            words = ("red", "green", "blue")[: draw(st.integers(1, 3))]
            return VariableRow(
                name, "enum", low, ("int", len(words) - 1), ("int", draw(st.integers(0, len(words) - 1))), words
            )
        case "ref":
            return VariableRow(name, "ref", NONE, NONE, NONE, (), "things")
        case _:
            return VariableRow(name, "cycle", low, ("-", draw(_bound(params)), ONE), low)


def _bound(params: Sequence[ParamRow]) -> st.SearchStrategy[Term]:
    numbers = st.integers(1, 4).map(lambda n: ("int", n))
    return st.one_of(numbers, st.sampled_from([("param", row.name) for row in params])) if params else numbers


def _number(variables: Sequence[VariableRow], params: Sequence[ParamRow]) -> st.SearchStrategy[Term]:
    """A term that is an integer. Divisors are constants that are not 0."""
    leaves: list[st.SearchStrategy[Term]] = [st.integers(-4, 8).map(lambda n: ("int", n))]
    if variables:
        leaves.append(st.integers(0, len(variables) - 1).map(lambda i: ("var", i)))
    if params:
        leaves.append(st.sampled_from([("param", row.name) for row in params]))

    def grow(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        divisors = st.integers(1, 5).map(lambda n: ("int", n))
        return st.one_of(
            st.tuples(st.sampled_from([op for op in ARITHMETIC if op in "+-*"]), inner, inner),
            st.tuples(st.sampled_from(("//", "%")), inner, divisors),
        )

    return st.recursive(st.one_of(leaves), grow, max_leaves=3)


def _truth(variables: Sequence[VariableRow], params: Sequence[ParamRow]) -> st.SearchStrategy[Term]:
    """A term that is a truth."""
    number = _number(variables, params)
    members = st.lists(st.integers(-1, 3), max_size=3, unique=True).map(tuple)
    leaves: list[st.SearchStrategy[Term]] = [
        st.tuples(st.sampled_from(COMPARISONS), number, number),
        st.tuples(st.just("in"), number, members),
    ]
    bools = [("var", i) for i, row in enumerate(variables) if row.kind == "bool"]
    if bools:
        leaves.append(st.sampled_from(bools))

    def grow(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        return st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(("and", "or", "==", "!=")), inner, inner),
        )

    return st.recursive(st.one_of(leaves), grow, max_leaves=3)


def _cell(state: int, answers: Answers, truths: st.SearchStrategy[Term] | None) -> st.SearchStrategy[CellRow]:
    """Refused, one answer, or alternatives: each guard excludes those before it, and the last may be `else`."""
    only = answers.map(lambda answer: (_at_home(answer, state),))
    if truths is None:
        return st.one_of(st.none(), only, only)
    guarded = st.tuples(st.lists(st.tuples(truths, answers), min_size=1, max_size=2), st.none() | answers)
    return st.one_of(st.none(), only, only, guarded.map(lambda drawn: _alternatives(state, *drawn)))


def _alternatives(
    state: int, guarded: Sequence[tuple[Term, AlternativeRow]], otherwise: AlternativeRow | None
) -> tuple[AlternativeRow, ...]:
    before: list[Term] = []
    answers = []
    for guard, answer in guarded:
        answers.append(_at_home(answer, state)._replace(guard=("and", *before, guard) if before else guard))
        before.append(("not", guard))
    return (*answers, _at_home(otherwise, state)) if otherwise else tuple(answers)


def _at_home(answer: AlternativeRow, state: int) -> AlternativeRow:
    return answer._replace(target=state) if answer.stay is not None else answer


def _answers(states: int, variables: Sequence[VariableRow], params: Sequence[ParamRow]) -> Answers:
    """Answers without a guard; the target of one that stays is still to be put right."""
    number, truth = _number(variables, params), _truth(variables, params)
    values = [_value(row, number, truth) for row in variables]
    changes = [st.tuples(st.just(index), value) for index, value in enumerate(values)]
    sets = (
        st.lists(st.one_of(changes), max_size=2, unique_by=lambda change: change[0]).map(tuple)
        if changes
        else st.just(())
    )
    reasons = st.sampled_from((None, None, None, "it may"))
    return st.builds(AlternativeRow, st.none(), st.integers(0, states - 1), reasons, sets)


def _value(
    row: VariableRow, number: st.SearchStrategy[Term], truth: st.SearchStrategy[Term]
) -> st.SearchStrategy[Term]:
    """What a variable may be set to: always within its domain, by a remainder where it must be."""
    match row.kind:
        case "ref":
            return st.just(NONE)
        case "cycle":
            return number
        case "bool":
            return st.one_of(st.integers(0, 1).map(lambda n: ("int", n)), truth)
    return number.map(lambda term: _within(row, term))


def _within(row: VariableRow, term: Term) -> Term:
    size: Any = ("+", ("-", row.high, row.low), ONE)
    return ("+", row.low, ("%", ("-", term, row.low), size))
