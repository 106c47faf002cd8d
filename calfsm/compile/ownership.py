"""What follows from a resource, written as one would write it by hand: conditions that hold in every state."""

from __future__ import annotations

from functools import reduce

from calfsm.spec.expressions import Aggregate, Arithmetic, Compare, Expression, Number, Path, Within
from calfsm.spec.model import Resource, claims

ITEM, HOLDER = "item", "holder"
"""What an instance of a resource is called, and what refers to it."""


def always(name: str, resource: Resource) -> dict[str, Expression]:
    """The `always` properties of a resource: it has one holder, is not leaked, and not used after its release."""
    named, holders = claims(name), _holders(resource)
    return {
        named["shared"]: _of_all(resource, Compare("<=", holders, Number(1))),
        named["leaked"]: _of_all(resource, Compare(">=", holders, Number(1)), out=True),
        named["kept"]: _of_all(resource, Compare("==", holders, Number(0)), out=False),
    }


def is_free(resource: Resource) -> Expression:
    """Whether an instance can be acquired."""
    return Within(Path(ITEM), resource.free)


def _of_all(resource: Resource, body: Expression, out: bool | None = None) -> Expression:
    """`body` of every instance; or of those that are out, or are not."""
    where = Within(Path(ITEM), (*resource.free, *resource.aside), negated=out) if out is not None else None
    return Aggregate("all", ITEM, resource.part, body, where)


def _holders(resource: Resource) -> Expression:
    """How many references there are to an instance."""
    counts: list[Expression] = [
        Aggregate("count", HOLDER, part, None, Compare("==", Path(HOLDER, (variable,)), Path(ITEM)))
        for part, variables in resource.held_by.items()
        for variable in variables
    ]
    return reduce(lambda sum_, count: Arithmetic("+", sum_, count), counts)
