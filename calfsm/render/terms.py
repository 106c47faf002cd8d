"""Compiled expressions back to text, in a machine's own words, so that a picture says exactly what runs."""

from __future__ import annotations

from collections.abc import Collection

from calfsm.engine.code import ARITHMETIC, COMPARISONS, Term
from calfsm.engine.table import Table, VariableRow

_JOINED = ("and", "or")
_TRUTHS = ("not", "in", *_JOINED, *COMPARISONS)
_COMPOUND = (*_TRUTHS, *ARITHMETIC)


def condition(term: Term, table: Table) -> str:
    """A guard as the spec language writes it; reading it again gives an equal term."""
    match term:
        case ("int", int(truth)):
            return "true" if truth else "false"
        case ("not", ("in", subject, members)):
            return _within(subject, members, table, "is not", "not in")
        case ("in", subject, members):
            return _within(subject, members, table, "is", "in")
        case ("not", item):
            return f"not {_wrapped(item, condition(item, table), _COMPOUND)}"
        case ("and" | "or" as word, *items):
            return f" {word} ".join(_wrapped(item, condition(item, table), _JOINED) for item in items)
        case (str(op), left, right) if op in COMPARISONS:
            row = _enumerated(left, table) or _enumerated(right, table)
            return f"{_side(left, table, row)} {op} {_side(right, table, row)}"
    return _number(term, table)


def update(variable: int, term: Term, table: Table) -> str:
    """One `set` of a cell: `tainted = true`."""
    row = table.variables[variable]
    return f"{row.name} = {value(term, table, row)}"


def value(term: Term, table: Table, row: VariableRow | None = None) -> str:
    """What a term amounts to, in the words of the variable `row` that it is compared with or becomes."""
    match term:
        case ("int", int(number)) if row is not None:
            return _word(number, row)
        case ("not" | "and" | "or" | "in", *_):
            return condition(term, table)
        case (str(op), _, _) if op in COMPARISONS:
            return condition(term, table)
    return _number(term, table)


def _word(number: int, row: VariableRow) -> str:
    """A constant as a value of a variable."""
    match row.kind:
        case "bool":
            return "true" if number else "false"
        case "enum":
            return row.words[number]
        case "ref":
            return "none" if number < 0 else f"{row.part}[{number}]"
    return str(number)


def _number(term: Term, table: Table) -> str:
    match term:
        case ("int", int(number)):
            return str(number)
        case ("param", str(name)):
            return name
        case ("var", int(index)):
            return table.variables[index].name
        case (str(op), left, right) if op in ARITHMETIC:
            return f"{_operand(left, table)} {op} {_operand(right, table)}"
    raise TypeError(f"{term!r} is not an expression over a machine's own data")


def _within(subject: Term, members: tuple[int, ...], table: Table, one: str, many: str) -> str:
    row = _enumerated(subject, table)
    words = [_word(member, row) if row else str(member) for member in members]
    text = value(subject, table)
    return f"{text} {one} {words[0]}" if len(words) == 1 else f"{text} {many} {{{', '.join(words)}}}"


def _enumerated(term: Term, table: Table) -> VariableRow | None:
    """The variable that a term reads, when its values have words."""
    match term:
        case ("var", int(index)) if table.variables[index].kind in ("bool", "enum", "ref"):
            return table.variables[index]
    return None


def _side(term: Term, table: Table, row: VariableRow | None) -> str:
    """One side of a comparison. Arithmetic binds closer, so it needs no brackets."""
    return _wrapped(term, value(term, table, row), _TRUTHS)


def _operand(term: Term, table: Table) -> str:
    return _wrapped(term, value(term, table), _COMPOUND)


def _wrapped(term: Term, text: str, operators: Collection[str]) -> str:
    """In brackets when it is made by one of these operators."""
    return f"({text})" if term[0] in operators else text
