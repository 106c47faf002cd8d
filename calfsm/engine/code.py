"""Compiled expressions: nested tuples, as generated tables hold them, turned into Python functions once.

A term is `(operator, operand, …)`; integers are the only values, truths are Python's bools:

    ("int", n)  ("param", name)                  constants; parameters are bound when the function is made
    ("var", i)                                   variable i of the machine itself; the function's argument is its data
    ("arg", k)                                   the k-th pick or choice of an action
    ("bound", d)                                 the instance that the d-th enclosing aggregate runs over
    ("data", part, instance, i)                  variable i of an instance
    ("through", instance)                        an instance's own of a `per` part, where the instance is a reference
    ("state", part, instance, (s, …))            whether an instance is in one of the states
    ("in", x, (n, …))                            whether x is one of the integers
    ("not", x)  ("and", x, …)  ("or", x, …)  ("==", x, y) …  ("+", x, y) …
    ("tally", t)                                 an incrementally kept count (see `instances`)
    ("count", part, d, where)                    a count by scanning

An instance is an index, or -1 where a reference is empty; every test that looks through an empty reference is false.
`//` and `%` round down, as Python's do, so a remainder has the sign of its divisor. A function that divides by zero
raises ZeroDivisionError; in a system that is a refusal.

The text given to Python here is made from these tuples alone, never from what a user wrote: names are numbers,
operators come from the closed lists below. Anything else is a TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Term = tuple[Any, ...]
Data = tuple[int, ...]

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
ARITHMETIC = ("+", "-", "*", "//", "%")

_BUILTINS = {"sum": sum, "range": range, "len": len, "sorted": sorted}


class Emitter:
    """Writes one function's text.

    `arguments` and `tallies`: how picks and choices, and tallies, are written, by index.
    """

    def __init__(self, params: Mapping[str, int], arguments: Sequence[str] = (), tallies: Sequence[str] = ()) -> None:
        self._params = params
        self._arguments = arguments
        self._tallies = tallies
        self._temporaries = 0

    def test(self, term: Term) -> str:
        """Text of a truth value."""
        match term:
            case ("not", item):
                return f"(not {self.test(item)})"
            case ("and" | "or" as word, _, *_):
                return "(" + f" {word} ".join(self.test(item) for item in term[1:]) + ")"
        presence: list[str] = []
        text = self._plain(term, presence)
        return f"({' and '.join([*presence, text])})" if presence else text

    def value(self, term: Term, presence: list[str]) -> str:
        """Text of an integer. Conditions for its references to lead somewhere are added to `presence`."""
        return self._number(term, presence) or f"({self.test(term)})"

    def instance(self, term: Term, presence: list[str]) -> str:
        """Text of an instance's index; a reference is tested before it is followed."""
        text = self.value(term, presence)
        if term[0] != "data":
            return text
        self._temporaries += 1
        name = f"t{self._temporaries}"
        presence.append(f"({name} := {text}) >= 0")
        return name

    def _number(self, term: Term, presence: list[str]) -> str:
        """Text of a term that is an integer; empty for any other."""
        match term:
            case ("int", int(number)):
                return f"({number:d})" if number < 0 else f"{number:d}"
            case ("param", str(name)) if name in self._params:
                return self._number(("int", self._params[name]), presence)
            case ("var", int(index)):
                return f"v[{index:d}]"
            case ("arg", int(index)) if 0 <= index < len(self._arguments):
                return self._arguments[index]
            case ("bound", int(depth)):
                return f"b{depth:d}"
            case ("data", int(part), tuple(instance), int(index)):
                return f"D{part:d}[{self.instance(instance, presence)}][{index:d}]"
            case ("through", tuple(instance)):
                return self.instance(instance, presence)
            case ("tally", int(index)) if 0 <= index < len(self._tallies):
                return self._tallies[index]
            case ("count", int(part), int(depth), tuple(where)):
                return f"sum(1 for b{depth:d} in range(len(S{part:d})) if {self.test(where)})"
            case (str(op), left, right) if op in ARITHMETIC:
                return f"({self.value(left, presence)} {op} {self.value(right, presence)})"
        return ""

    def _plain(self, term: Term, presence: list[str]) -> str:
        match term:
            case ("state", int(part), tuple(instance), tuple(states)):
                return _member(f"S{part:d}[{self.instance(instance, presence)}]", states)
            case ("in", item, tuple(numbers)):
                return _member(self.value(item, presence), numbers)
            case (str(op), left, right) if op in COMPARISONS:
                return f"{self.value(left, presence)} {op} {self.value(right, presence)}"
            case ("int" | "param" | "var" | "arg" | "data", _, *_):
                text = self._number(term, presence)
                if text:
                    return f"{text} != 0"
        raise TypeError(f"{term!r} is not a compiled expression")


def _member(item: str, numbers: Sequence[int]) -> str:
    if not all(isinstance(number, int) for number in numbers):
        raise TypeError(f"{numbers!r} are not integers")
    if len(numbers) == 1:
        return f"{item} == {numbers[0]:d}"
    return f"{item} in ({', '.join(f'{number:d}' for number in numbers)},)" if numbers else "False"


def function(arguments: Sequence[str], body: str, names: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """`lambda arguments: body`, seeing `names` only."""
    seen = {"__builtins__": _BUILTINS, **(names or {})}
    made: Callable[..., Any] = eval(f"lambda {', '.join(arguments)}: {body}", seen)
    return made


def guard(term: Term, params: Mapping[str, int]) -> Callable[[Data], bool]:
    """A cell's guard, over the machine's own data."""
    return function(("v",), Emitter(params).test(term))


def update(
    changes: Sequence[tuple[int, Term]], cycles: Mapping[int, int], width: int, params: Mapping[str, int]
) -> Callable[[Data], Data]:
    """A cell's `set`: old data to new data. `cycles`: variable index to modulus, for those that wrap."""
    emitter = Emitter(params)
    changed = dict(changes)
    items = []
    for index in range(width):
        if index not in changed:
            items.append(f"v[{index}]")
            continue
        text = emitter.value(changed[index], [])
        items.append(f"({text}) % {cycles[index]:d}" if index in cycles else f"({text}) + 0")
    return function(("v",), "(" + "".join(item + ", " for item in items) + ")")
