"""Terms become Python text of numbers and known operators, and nothing else ever does."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calfsm.engine import code
from calfsm.engine.code import ARITHMETIC, COMPARISONS, Emitter, Term
from calfsm.engine.engine import Engine
from calfsm.tables import buffer, device, dma, executor, job, kv, model, request

QUIET = settings(max_examples=150, deadline=None, derandomize=True, database=None)
TABLES = [module.TABLE for module in (buffer, device, dma, job, kv, model, request)]
NODES = (
    ast.Expression,
    ast.Lambda,
    ast.arguments,
    ast.arg,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.FloorDiv,
    ast.Mod,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.Store,
    ast.Subscript,
    ast.Tuple,
    ast.Call,
    ast.GeneratorExp,
    ast.comprehension,
    ast.NamedExpr,
)
NAME = re.compile(r"v|[abtSDT]\d*|M\d+_\d+|sum|range|len")


def assert_harmless(text: str) -> None:
    """Numbers, known operators and numbered names; calls of sum, range and len only."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        assert isinstance(node, NODES), ast.dump(node)
        if isinstance(node, ast.Name):
            assert NAME.fullmatch(node.id), node.id
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name) and node.func.id in ("sum", "range", "len")
        if isinstance(node, ast.Constant):
            assert type(node.value) in (int, bool)


def terms() -> st.SearchStrategy[Term]:
    """Any term of a system with two parts, two arguments and a tally."""
    small = st.integers(0, 2)
    instances = st.one_of(st.tuples(st.just("arg"), st.integers(0, 1)), st.tuples(st.just("bound"), small))
    values: st.SearchStrategy[Term] = st.one_of(
        st.tuples(st.just("int"), st.integers(-(10**20), 10**20)),
        st.tuples(st.just("param"), st.sampled_from(("p", "q"))),
        st.tuples(st.just("var"), small),
        st.tuples(st.just("arg"), st.integers(0, 1)),
        st.tuples(st.just("data"), small, instances, small),
        st.tuples(st.just("data"), small, st.tuples(st.just("data"), small, instances, small), small),
        st.tuples(st.just("through"), st.tuples(st.just("data"), small, instances, small)),
    )
    states = st.lists(small, max_size=3).map(tuple)
    tests: st.SearchStrategy[Term] = st.one_of(
        st.tuples(st.just("state"), small, instances, states), st.tuples(st.just("in"), values, states)
    )

    def grow(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        number = st.one_of(values, st.tuples(st.sampled_from(ARITHMETIC), values, values), inner)
        return st.one_of(
            st.tuples(st.just("not"), inner),
            st.lists(inner, min_size=1, max_size=3).map(lambda items: ("and", *items)),
            st.lists(inner, min_size=1, max_size=3).map(lambda items: ("or", *items)),
            st.tuples(st.sampled_from(COMPARISONS), number, number),
            st.tuples(
                st.sampled_from(COMPARISONS), st.tuples(st.just("count"), small, small, inner), st.just(("tally", 0))
            ),
        )

    return st.recursive(tests, grow, max_leaves=8)


@QUIET
@given(terms())
def test_any_term_becomes_text_of_numbers_and_known_operators(term: Term) -> None:
    assert_harmless(Emitter({"p": -3, "q": 4}, ("a0", "a1"), ("T[0]",)).test(term))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.name))
def test_the_guards_and_updates_of_the_tables_become_harmless_text(table: Any) -> None:
    emitter = Emitter(table.serving())
    for _, _, answer in table.moves():
        for term in (answer.guard, *(term for _, term in answer.sets)):
            if term is not None:
                assert_harmless(emitter.value(term, []))


def test_the_conditions_of_the_executor_become_harmless_text() -> None:
    system = executor.SYSTEM
    engine = Engine(system, **system.exploring())
    for action in system.actions:
        names = [f"a{index}" for index in range(len(action.picks) + len(action.choices))]
        emitter = engine._instances.emitter(names)
        for condition in action.guards:
            assert_harmless(emitter.test(condition.term))
    for row in system.always:
        for condition in row.conditions:
            assert_harmless(engine._instances.emitter(()).test(condition.term))


HOSTILE = "__import__('os')"


@pytest.mark.parametrize(
    "term",
    [
        (),
        ("int",),
        ("int", "1"),
        ("int", HOSTILE),
        ("int", 1.5),
        ("int", None),
        ("param", "unknown"),
        ("param", HOSTILE),
        ("param", 0),
        ("var", HOSTILE),
        ("var", "0"),
        ("arg", HOSTILE),
        ("arg", 2),
        ("arg", -1),
        ("bound", "0"),
        ("bound", HOSTILE),
        ("data", 0, ("arg", 0), HOSTILE),
        ("data", HOSTILE, ("arg", 0), 0),
        ("data", 0, HOSTILE, 0),
        ("data", 0, ("arg", 0)),
        ("state", 0, ("arg", 0), HOSTILE),
        ("state", 0, ("arg", 0), (HOSTILE,)),
        ("state", 0, ("arg", 0), (0, "1")),
        ("state", HOSTILE, ("arg", 0), (0,)),
        ("state", 0, ("run", HOSTILE), (0,)),
        ("in", ("var", 0), (HOSTILE,)),
        ("in", ("var", 0), HOSTILE),
        ("in", HOSTILE, (0,)),
        ("through",),
        ("through", HOSTILE),
        ("tally", 1),
        ("tally", -1),
        ("tally", HOSTILE),
        ("count", 0, 0, HOSTILE),
        ("count", 0, HOSTILE, ("in", ("var", 0), (0,))),
        ("count", HOSTILE, 0, ("in", ("var", 0), (0,))),
        ("not",),
        ("not", HOSTILE),
        ("not", ("var", 0), ("var", 0)),
        ("and",),
        ("or",),
        ("and", ("var", 0), HOSTILE),
        ("==", ("var", 0)),
        ("==", ("var", 0), HOSTILE),
        ("is", ("var", 0), ("var", 0)),
        ("**", ("var", 0), ("var", 0)),
        ("+", ("var", 0), HOSTILE),
        (HOSTILE, ("var", 0), ("var", 0)),
        HOSTILE,
        [],
        None,
        7,
    ],
    ids=repr,
)
def test_what_is_no_term_is_a_type_error(term: Any) -> None:
    emitter = Emitter({"p": 1}, ("a0", "a1"), ("T[0]",))
    with pytest.raises(TypeError):
        emitter.test(term)
    with pytest.raises(TypeError):
        emitter.value(term, [])


@pytest.mark.parametrize(
    "term",
    [("+", ("int", 1), ("int", 2)), ("count", 0, 0, ("var", 0)), ("tally", 0), ("bound", 0)],
    ids=repr,
)
def test_a_number_is_not_a_condition(term: Term) -> None:
    with pytest.raises(TypeError, match="is not a compiled expression"):
        Emitter({}, (), ("T[0]",)).test(term)


def value(term: Term, **names: Any) -> Any:
    """What a term gives, over one machine's data `v` and the parts' lists `S0`, `D0` …"""
    emitter = Emitter({"p": 5, "minus": -5})
    return code.function(("v",), emitter.value(term, []), names)(names.get("v", ()))


def number(n: int) -> Term:
    return ("int", n)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (number(-3), -3),
        (("-", number(-3), number(-4)), 1),
        (("-", number(1), ("-", number(2), number(3))), 2),
        (("*", ("+", number(1), number(2)), number(3)), 9),
        (("//", number(-7), number(2)), -4),
        (("%", number(-7), number(2)), 1),
        (("//", number(7), number(-2)), -4),
        (("%", number(7), number(-2)), -1),
        (("//", ("param", "minus"), number(2)), -3),
        (("-", number(0), ("param", "minus")), 5),
        (("*", ("param", "minus"), ("param", "minus")), 25),
        (("==", ("==", number(1), number(2)), ("==", number(3), number(4))), True),
        (("<", ("<", number(3), number(2)), number(1)), True),
        (("not", ("==", number(1), number(1))), False),
        (("and", ("or", number(0), number(2)), ("not", number(0))), True),
        (("in", number(-1), (-1, 2)), True),
        (("in", number(1), ()), False),
        (("in", ("-", number(3), number(1)), (2,)), True),
    ],
    ids=repr,
)
def test_a_term_gives_what_its_operators_say(term: Term, expected: Any) -> None:
    assert value(term) == expected


@pytest.mark.parametrize("op", ["//", "%"])
def test_dividing_by_zero_is_pythons_error(op: str) -> None:
    with pytest.raises(ZeroDivisionError):
        value((op, number(1), number(0)))


LINKS = {"S0": [1, 0, 1], "D0": [(2, 0), (-1, 7), (1, 9)]}
"""Three instances: the first refers to the third, the third to the second, and the second to nobody."""


def linked(index: int, times: int) -> Term:
    term: Term = ("int", index)
    for _ in range(times):
        term = ("data", 0, term, 0)
    return term


def test_a_reference_is_followed_as_far_as_it_leads() -> None:
    def test(term: Term) -> Any:
        return code.function((), Emitter({}).test(term), LINKS)()

    assert test(("==", ("data", 0, linked(0, 2), 1), number(7)))
    assert not test(("==", ("data", 0, linked(0, 3), 1), number(0)))
    assert not test(("!=", ("data", 0, linked(0, 3), 1), number(0)))
    assert not test(("state", 0, linked(1, 1), (0, 1)))
    assert test(("not", ("state", 0, linked(1, 1), (0, 1))))
    assert test(("==", linked(1, 1), number(-1)))
    assert test(("state", 0, linked(2, 1), (0,)))


def test_counts_within_counts_see_the_instance_around_them() -> None:
    refers_to_it = ("count", 0, 1, ("==", ("data", 0, ("bound", 1), 0), ("bound", 0)))
    wanted = ("count", 0, 0, ("==", refers_to_it, number(1)))
    assert value(wanted, **LINKS) == 2


def test_an_update_keeps_what_it_does_not_set_and_makes_integers_of_truths() -> None:
    sets = [(1, ("==", ("var", 0), number(4))), (2, ("+", ("var", 2), number(2)))]
    update = code.update(sets, {2: 3}, 4, {})
    assert update((4, 9, 2, 8)) == (4, 1, 1, 8)
    assert [type(item) for item in update((4, 9, 2, 8))] == [int, int, int, int]


def test_a_guard_sees_the_data_of_its_machine() -> None:
    guard = code.guard(("<", ("var", 1), ("param", "most")), {"most": 2})
    assert (guard((9, 1)), guard((0, 2))) == (True, False)


def test_a_function_sees_no_builtins_but_the_few_it_is_made_of() -> None:
    with pytest.raises(NameError):
        code.function((), "open('x')")()
