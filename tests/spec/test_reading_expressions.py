"""The expression language: what is in it, what is not, and where an error points."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calfsm.spec.expressions import (
    MAX_DEPTH,
    MAX_LENGTH,
    Aggregate,
    Arithmetic,
    Both,
    Compare,
    Expression,
    ExpressionError,
    Not,
    Number,
    Path,
    Truth,
    Within,
    children,
    parse,
    text_of,
    walk,
)

A, B = Path("a"), Path("b")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("a", A),
        ("  a ", A),
        ("a.b.c", Path("a", ("b", "c"))),
        ("true", Truth(True)),
        ("7", Number(7)),
        ("-a", Arithmetic("-", Number(0), A)),
        ("not a", Not(A)),
        ("a and b and a", Both("and", (A, B, A))),
        ("a or\n b", Both("or", (A, B))),
        ("a < b", Compare("<", A, B)),
        ("a < b <= 3", Both("and", (Compare("<", A, B), Compare("<=", B, Number(3))))),
        ("a + b * 2", Arithmetic("+", A, Arithmetic("*", B, Number(2)))),
        ("a is b", Within(A, ("b",))),
        ("a.b is not c", Within(Path("a", ("b",)), ("c",), negated=True)),
        ("a in {b, c}", Within(A, ("b", "c"))),
        ("a not in {b}", Within(A, ("b",), negated=True)),
        ("count(x for x in a)", Aggregate("count", "x", "a", None, None)),
        ("count(x for x in a if x is b)", Aggregate("count", "x", "a", None, Within(Path("x"), ("b",)))),
        ("all(b for x in a)", Aggregate("all", "x", "a", B, None)),
        ("any(b for x in a if b)", Aggregate("any", "x", "a", B, B)),
    ],
)
def test_an_expression_is_read(text, expression):
    assert parse(text) == expression
    assert parse(text_of(expression)) == expression


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("", 0, "the expression is empty"),
        ("a and", 5, "cannot read `a and`"),
        (" a = b", 3, "cannot read `a = b`"),
        ("a && b", 3, "cannot read `a && b`"),
        ("a and True", 6, "`True` is spelt `true` here"),
        ("a == None", 5, "`None` is spelt `none` here"),
        ("a / b", 0, "`/` would leave the integers"),
        ("a in [b]", 5, "`in` wants a set of words"),
        ("a is 3", 5, "the right of `is` and `in` is made of single words"),
        ("3 is a", 0, "the left of `is` and `in` is the name of an instance"),
        ("é and é[0]", 6, "`é[0]` is not in the expression language"),
        ("  f(a)", 2, "`f(a)` is not in the expression language"),
        ("a if b else c", 0, "`a if b else c` is not in the expression language"),
        ("(yield)", 1, "`yield` is not in the expression language"),
        ("count(a for x in a)", 0, "`count` counts the instances themselves"),
        ("all(a for x in a for y in b)", 0, "`all` runs over one part"),
        ("a" * (MAX_LENGTH + 1), 0, "the expression is longer than 2,000 characters"),
        ("not " * (MAX_DEPTH + 2) + "a", 4 * (MAX_DEPTH + 1), "the expression is nested too deeply"),
    ],
)
def test_what_is_not_in_the_language_is_refused_where_it_stands(text, offset, message):
    with pytest.raises(ExpressionError) as error:
        parse(text)
    assert error.value.offset == offset
    assert error.value.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("items[0] is free", "write `any(x is free for x in items)`"),
        ("a and items[0] not in {b, c}", "write `any(x not in {b, c} for x in items)`"),
        ("items[0].n > 3", "write `any(… for x in items)`"),
        ("items[0].lane is free", "write `any(… for x in items)`"),
        ("a.b[0] is free", "write `any(x is free for x in PART)`"),
    ],
)
def test_a_single_instance_is_not_named(text, fix):
    with pytest.raises(
        ExpressionError, match="is not in the expression language: single instances are not named in"
    ) as error:
        parse(text)
    assert error.value.fix == fix


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("all(", "close it with `)`"),
        ("a in {b", "close it with `}`"),
        ("a = b", "write `==`"),
        ("a b", "use names, integers, "),
        ("a and", "finish it: "),
    ],
)
def test_what_cannot_be_read_has_a_way_out(text, fix):
    with pytest.raises(ExpressionError) as error:
        parse(text)
    assert error.value.fix.startswith(fix)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1_000,
        "-" * 1_900 + "a",
        "f(a" + ".b" * 900 + ")",
        "a" + "()" * 900,
        "a" + "[0]" * 600,
        "a\0b",
        "1if a else b",
    ],
)
@pytest.mark.filterwarnings("error")
def test_hostile_text_is_refused_like_any_other(text):
    with pytest.raises(ExpressionError):
        parse(text)


def test_a_walk_goes_through_everything_outside_in():
    expression = parse("all(not a or b + 1 > 2 for x in p if x is c)")
    assert next(walk(expression)) is expression
    assert {str(node) for node in walk(expression) if isinstance(node, Path)} == {"a", "b", "x"}
    assert children(Number(1)) == ()


NAMES = st.sampled_from(["a", "b", "limit", "j"])
PATHS = st.builds(Path, NAMES, st.lists(NAMES, max_size=2).map(tuple))
LEAVES = st.builds(Number, st.integers(0, 99)) | st.builds(Truth, st.booleans()) | PATHS
MEMBERS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)


def _larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return (
        st.builds(Not, inner)
        | st.builds(Both, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3).map(tuple))
        | st.builds(Compare, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), inner, inner)
        | st.builds(Arithmetic, st.sampled_from(["+", "-", "*", "//", "%"]), inner, inner)
        | st.builds(Within, PATHS, MEMBERS, st.booleans())
        | st.builds(Aggregate, st.sampled_from(["all", "any"]), NAMES, NAMES, inner, st.none() | inner)
        | st.builds(Aggregate, st.just("count"), NAMES, NAMES, st.none(), st.none() | inner)
    )


@settings(derandomize=True, database=None, deadline=None)
@given(st.recursive(LEAVES, _larger, max_leaves=12))
def test_an_expression_that_is_written_out_reads_the_same(expression):
    assert parse(text_of(expression)) == expression


WORDS = st.sampled_from(["a", "b", ".", "(", ")", "{", "}", ",", "is", "in", "not", "and", "or", "for", "if", "1", "é"])
WORDS |= st.sampled_from(["all", "any", "count", "==", "<", "+", "//", "/", "=", "a.b", "all(a for b in c)"])


@settings(derandomize=True, database=None, deadline=None, max_examples=300)
@given(st.text(max_size=60) | st.lists(WORDS).map(" ".join))
def test_any_text_is_read_or_refused(text):
    try:
        expression = parse(text)
    except ExpressionError as error:
        assert 0 <= error.offset <= len(text) + 1
    else:
        assert parse(text_of(expression)) == expression
