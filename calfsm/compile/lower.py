"""Expressions to terms. What a name means is the scope's business: a machine's and a system's differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import attrs

from calfsm.engine.code import Term
from calfsm.engine.table import VariableRow
from calfsm.spec.expressions import Aggregate, Arithmetic, Both, Compare, Expression, Not, Number, Path, Truth, Within

NONE: Term = ("int", -1)


@attrs.frozen
class Value:
    """What a path means: a term, and the variable that it reads when there is one."""

    term: Term
    variable: VariableRow | None = None


@attrs.frozen
class Instance:
    """A path that leads to an instance of a part.

    `through`: it looks through a reference, to what there is one of `per` instance.
    """

    part: int
    term: Term
    through: bool = False


class Unresolved(Exception):
    """A name without a meaning. The checks report these; compiling trusts that they ran."""


class Scope(Protocol):
    """What names mean."""

    def resolve(self, path: Path) -> Value | Instance | Expression:
        """A value, an instance, or the definition that the name stands for. Raises Unresolved."""

    def states(self, instance: Instance) -> tuple[str, ...]:
        """The states of the machine behind `instance`."""

    def aggregate(self, expression: Aggregate) -> Term:
        """The term of an aggregate."""


def lower(expression: Expression, scope: Scope) -> Term:
    """The term of an expression. Raises Unresolved."""
    match expression:
        case Number(value=value):
            return ("int", value)
        case Truth(value=value):
            return ("int", int(value))
        case Path():
            return _path(expression, scope)
        case Not(item=item):
            return ("not", lower(item, scope))
        case Both(word=word, items=items):
            return (word, *(lower(item, scope) for item in items))
        case Arithmetic(op=op, left=left, right=right):
            return (op, lower(left, scope), lower(right, scope))
        case Compare(op=op, left=left, right=right):
            return (op, *_sides(left, right, scope))
        case Within():
            return _within(expression, scope)
        case Aggregate():
            return scope.aggregate(expression)


def _path(path: Path, scope: Scope) -> Term:
    if path == Path("none"):
        return NONE
    meaning = scope.resolve(path)
    if isinstance(meaning, Instance):
        return ("through", meaning.term) if meaning.through else meaning.term
    if isinstance(meaning, Value):
        return meaning.term
    return lower(meaning, scope)


def _sides(left: Expression, right: Expression, scope: Scope) -> tuple[Term, Term]:
    """Both sides of a comparison; a word beside an enum variable is that word's number."""
    for one, other in ((left, right), (right, left)):
        words = _words(one, scope)
        if words and isinstance(other, Path) and not other.fields and other.root in words:
            number: Term = ("int", words.index(other.root))
            return (lower(left, scope), number) if other is right else (number, lower(right, scope))
    return lower(left, scope), lower(right, scope)


def _words(expression: Expression, scope: Scope) -> tuple[str, ...]:
    if not isinstance(expression, Path) or expression == Path("none"):
        return ()
    try:
        meaning = scope.resolve(expression)
    except Unresolved:
        return ()
    return meaning.variable.words if isinstance(meaning, Value) and meaning.variable else ()


def _within(expression: Within, scope: Scope) -> Term:
    """A test of a state, or of an enum variable.

    What looks through a reference is false when that is empty, `is not` and `not in` too: they ask for the other words.
    """
    meaning = scope.resolve(expression.subject)
    if isinstance(meaning, Instance):
        words = scope.states(meaning)
        through_reference = meaning.term[0] == "data"
    elif isinstance(meaning, Value) and meaning.variable:
        words = meaning.variable.words
        through_reference = meaning.term[0] == "data" and meaning.term[2][0] == "data"
    else:
        raise Unresolved(str(expression.subject))
    numbers = {words.index(word) for word in expression.members}
    if expression.negated and through_reference:
        numbers = set(range(len(words))) - numbers
    asked = tuple(sorted(numbers))
    term: Term = ("in", meaning.term, asked)
    if isinstance(meaning, Instance):
        term = ("state", meaning.part, meaning.term, asked)
    return ("not", term) if expression.negated and not through_reference else term


@attrs.frozen
class MachineScope:
    """Names in a machine: its variables and parameters."""

    variables: tuple[VariableRow, ...]
    params: Mapping[str, object]

    def resolve(self, path: Path) -> Value | Instance | Expression:
        """A variable or a parameter."""
        if not path.fields:
            for index, row in enumerate(self.variables):
                if row.name == path.root:
                    return Value(("var", index), row)
            if path.root in self.params:
                return Value(("param", path.root))
        raise Unresolved(str(path))

    def states(self, instance: Instance) -> tuple[str, ...]:
        """A machine sees no instances."""
        raise Unresolved(str(instance))

    def aggregate(self, expression: Aggregate) -> Term:
        """A machine sees no parts."""
        raise Unresolved(expression.part)
