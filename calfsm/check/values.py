"""A machine's variables tried out: domains, valuations, and the value that an expression has in one.

Only a machine's own expressions are evaluated here: names are variables, parameters and words, and a word is its own
value. A reference ranges over `none` and as many instances as the machine has references, so that any two of them may
be equal or different.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from calfsm.spec.expressions import (
    Aggregate,
    Arithmetic,
    Both,
    Compare,
    Expression,
    Not,
    Number,
    Path,
    Truth,
    Within,
    walk,
)
from calfsm.spec.model import Bound, MachineSpec, Variable

Value = bool | int | str | None
Valuation = Mapping[str, Value]
Params = Mapping[str, int]

_OPERATORS: dict[str, Callable[[Any, Any], Value]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


def evaluator(expression: Expression) -> Callable[[Valuation], Value]:
    """A function from a valuation to the value of an expression that is right in kind.

    The function raises ZeroDivisionError where the expression divides by zero.
    """
    match expression:
        case Number(value=value) | Truth(value=value):
            return lambda valuation: value
        case Path(root="none"):
            return lambda valuation: None
        case Path(root=root):
            return lambda valuation: valuation.get(root, root)
        case Within(subject=Path(root=root), members=members, negated=negated):
            words = frozenset(members)
            return lambda valuation: (valuation[root] in words) != negated
        case Not(item=item):
            inner = evaluator(item)
            return lambda valuation: not inner(valuation)
        case Both(word=word, items=items):
            parts = [evaluator(item) for item in items]
            if word == "and":
                return lambda valuation: all(part(valuation) for part in parts)
            return lambda valuation: any(part(valuation) for part in parts)
        case Compare(op=op, left=left, right=right) | Arithmetic(op=op, left=left, right=right):
            operate, first, second = _OPERATORS[op], evaluator(left), evaluator(right)
            return lambda valuation: operate(first(valuation), second(valuation))
        case Aggregate():
            raise ValueError("a machine has no parts to run over")


def names_in(expression: Expression) -> Iterator[str]:
    """The bare names that an expression mentions."""
    for node in walk(expression):
        if isinstance(node, Path):
            yield node.root


def scales(spec: MachineSpec) -> list[Params]:
    """The values of the parameters: as explored, and as serving where that differs."""
    explored = {name: param.explores for name, param in spec.params.items()}
    serving = {name: param.serves for name, param in spec.params.items()}
    return [explored] if explored == serving else [explored, serving]


def bound(value: Bound, params: Params) -> int | None:
    """A bound as a number; None when it names no parameter."""
    return params.get(value) if isinstance(value, str) else value


def limits(variable: Variable, params: Params) -> tuple[int, int] | None:
    """The lowest and highest value of an int or cycle; None for other kinds and where a parameter is unknown."""
    if variable.integer is not None:
        lowest, highest = (bound(end, params) for end in variable.integer)
    elif variable.cycle is not None:
        period = bound(variable.cycle, params)
        lowest, highest = 0, None if period is None else period - 1
    else:
        return None
    return None if lowest is None or highest is None else (lowest, highest)


def domain(spec: MachineSpec, name: str, params: Params) -> Sequence[Value] | None:
    """Every value of a variable; None when its bounds are not known."""
    variable = spec.vars[name]
    if variable.enum is not None:
        return variable.enum
    if variable.ref is not None:
        like = sum(other.ref == variable.ref for other in spec.vars.values())
        return (None, *(f"{variable.ref}[{i}]" for i in range(like)))
    if variable.boolean is not None:
        return (False, True)
    ends = limits(variable, params)
    return None if ends is None else range(ends[0], ends[1] + 1)


def size(spec: MachineSpec, names: Sequence[str], params: Params) -> int:
    """How many valuations some variables have together; 0 when a domain is empty or not known."""
    product = 1
    for name in names:
        ends = limits(spec.vars[name], params)
        if ends is not None:
            product *= max(0, ends[1] - ends[0] + 1)
        else:
            values = domain(spec, name, params)
            product *= len(values) if values is not None else 0
    return product


def valuations(spec: MachineSpec, names: Sequence[str], params: Params) -> Iterator[Valuation]:
    """Every valuation of some variables, in order, with the parameters beside them."""
    domains = [domain(spec, name, params) or () for name in names]
    for values in itertools.product(*domains):
        yield {**params, **dict(zip(names, values, strict=True))}


def spelt(value: Value) -> str:
    """A value as a spec spells it."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def described(valuation: Valuation, names: Sequence[str]) -> str:
    """`tainted = true and length = 2`."""
    return " and ".join(f"{name} = {spelt(valuation[name])}" for name in names)
