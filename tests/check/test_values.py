"""Machine expressions are evaluated as Python would evaluate them, over every value that a variable may have."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calfsm.check.values import described, domain, evaluator, scales, size, valuations
from calfsm.spec.expressions import parse
from calfsm.spec.model import MachineSpec, Param, Variable

SPEC = MachineSpec(
    "lane",
    states={},
    events={},
    params={"most": Param(serves=9, explores=2)},
    vars={
        "hot": Variable(boolean=True),
        "length": Variable(integer=(0, "most")),
        "turn": Variable(cycle=3),
        "side": Variable(enum=("left", "right")),
        "first": Variable(ref="jobs"),
        "second": Variable(ref="jobs"),
        "other": Variable(ref="beds"),
        "odd": Variable(integer=(0, "unheard_of")),
        "none_at_all": Variable(integer=(3, 1)),
    },
)
EXPLORED, SERVING = scales(SPEC)


def value(text: str, **valuation: object) -> object:
    return evaluator(parse(text))({"most": 2, **valuation})  # type: ignore[dict-item]


def test_parameters_have_two_scales_unless_they_are_the_same():
    assert (EXPLORED, SERVING) == ({"most": 2}, {"most": 9})
    assert scales(MachineSpec("m", states={}, events={}, params={"n": Param(3, 3)})) == [{"n": 3}]
    assert scales(MachineSpec("m", states={}, events={})) == [{}]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("hot", [False, True]),
        ("length", [0, 1, 2]),
        ("turn", [0, 1, 2]),
        ("side", ["left", "right"]),
        ("none_at_all", []),
    ],
)
def test_a_domain_holds_every_value(name, values):
    assert list(domain(SPEC, name, EXPLORED) or ()) == values
    assert size(SPEC, [name], EXPLORED) == len(values)


def test_two_references_can_be_equal_different_and_empty():
    assert domain(SPEC, "first", {}) == (None, "jobs[0]", "jobs[1]")
    assert domain(SPEC, "other", {}) == (None, "beds[0]")
    pairs = [(v["first"], v["second"]) for v in valuations(SPEC, ["first", "second"], {})]
    assert len(pairs) == 9
    assert {a == b for a, b in pairs if a and b} == {True, False}


def test_a_domain_without_a_bound_is_not_known():
    assert domain(SPEC, "odd", EXPLORED) is None
    assert size(SPEC, ["odd", "hot"], EXPLORED) == 0
    assert list(valuations(SPEC, ["odd", "hot"], EXPLORED)) == []


def test_a_huge_domain_is_counted_without_being_built():
    variables = {"n": Variable(integer=(0, 10**19)), "m": Variable(cycle=10**19)}
    huge = MachineSpec("m", states={}, events={}, vars=variables)
    assert size(huge, ["n", "m"], {}) == (10**19 + 1) * 10**19


def test_valuations_come_in_order_with_the_parameters_beside_them():
    assert list(valuations(SPEC, ["hot", "side"], EXPLORED)) == [
        {"most": 2, "hot": False, "side": "left"},
        {"most": 2, "hot": False, "side": "right"},
        {"most": 2, "hot": True, "side": "left"},
        {"most": 2, "hot": True, "side": "right"},
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("length + 1 <= most", True),
        ("0 < length < 2", True),
        ("length // 2 == 0 and length % 2 == 1", True),
        ("not hot or side == right", False),
        ("side is left", True),
        ("side is not left", False),
        ("side in {right, left}", True),
        ("side not in {right}", True),
        ("first == none", True),
        ("first != second", True),
        ("-length * 3", -3),
        ("true", True),
    ],
)
def test_an_expression_has_its_value(text, expected):
    valuation = {"length": 1, "hot": True, "side": "left", "first": None, "second": "jobs[0]"}
    assert value(text, **valuation) is expected or value(text, **valuation) == expected


def test_and_and_or_look_no_further_than_they_have_to():
    assert value("length != 0 and 4 // length > 1", length=0) is False
    assert value("length == 0 or 4 // length > 1", length=0) is True
    with pytest.raises(ZeroDivisionError):
        value("4 // length > 1", length=0)


def test_a_valuation_is_described_as_a_spec_spells_it():
    valuation = {"hot": True, "length": 2, "first": None, "side": "left", "most": 2}
    names = ["hot", "length", "first", "side"]
    assert described(valuation, names) == "hot = true and length = 2 and first = none and side = left"


COMPARISONS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


@st.composite
def arithmetic(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["a", "b", "0", "1", "2", "7"]))
    op = draw(st.sampled_from(["+", "-", "*", "//", "%"]))
    return f"({draw(arithmetic(depth=depth - 1))} {op} {draw(arithmetic(depth=depth - 1))})"


@settings(derandomize=True, database=None, deadline=None)
@given(left=arithmetic(), right=arithmetic(), op=COMPARISONS, a=st.integers(-3, 3), b=st.integers(-3, 3))
def test_arithmetic_is_pythons(left, right, op, a, b):
    text = f"{left} {op} {right}"
    try:
        expected = eval(text, {"a": a, "b": b})
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            value(text, a=a, b=b)
    else:
        assert value(text, a=a, b=b) == expected
