"""Terms evaluated as far as they can be: to a constant where what is known suffices, else to the text of an expression.

The meaning is that of `calfsm.engine.code.Emitter`: a test that looks through an empty reference is false. What is
not known is which value a field has; a reference is followed by asking for each value that it may have, so that no
text computes an address. The text reads fields from words (`s0`, `s1`, …), compares and adds; it divides only by what
cannot be zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from calfsm.engine.code import ARITHMETIC, COMPARISONS, Term
from calfsm.explore.compiled.layout import CannotCompile, Field, Layout

Truth = bool | str
"""What is known of a condition: whether it holds, or the text that tells."""

Knowledge = Mapping[Field, frozenset[int]]
"""The values that fields may have here; a field that is not in it may have any."""

_LARGEST = 1 << 62


class Number(NamedTuple):
    """An integer expression: its text, and the range of its values. One value: a constant."""

    text: str
    low: int
    high: int

    @property
    def constant(self) -> bool:
        """Whether it has one value."""
        return self.low == self.high


def constant(value: int) -> Number:
    """A constant."""
    return Number(f"({value})" if value < 0 else str(value), value, value)


def every(items: Iterable[Truth], word: str = "and") -> Truth:
    """A conjunction. With `word` "&", all of its items are asked, without a branch."""
    texts: list[str] = []
    for item in items:
        if item is False:
            return False
        if item is not True and item not in texts:
            texts.append(item)
    return True if not texts else texts[0] if len(texts) == 1 else "(" + f" {word} ".join(texts) + ")"


def some(items: Iterable[Truth], word: str = "or") -> Truth:
    """A disjunction, likewise."""
    texts: list[str] = []
    for item in items:
        if item is True:
            return True
        if item is not False and item not in texts:
            texts.append(item)
    return False if not texts else texts[0] if len(texts) == 1 else "(" + f" {word} ".join(texts) + ")"


def negated(item: Truth) -> Truth:
    """Its negation."""
    return f"(not {item})" if isinstance(item, str) else not item


class Reader:
    """Evaluates terms of a system in a state of which something is known.

    `arguments`: the picks and choices that are known; `word`: how the words that are read are called.
    """

    def __init__(
        self,
        layout: Layout,
        known: Knowledge,
        arguments: Sequence[int] = (),
        word: str = "s",
        own: Sequence[Number] = (),
    ) -> None:
        self._layout, self._known, self._arguments, self._word, self._own = layout, known, arguments, word, own

    # ---- fields

    def possible(self, field: Field) -> Collection[int]:
        """The values that a field may have."""
        return self._known.get(field) or self._layout.places[field].values

    def field(self, field: Field) -> Number:
        """A field's value."""
        place, possible = self._layout.places[field], self.possible(field)
        low, high = min(possible), max(possible)
        if low == high:
            return constant(low)
        raw = f"(({self._word}{place.word} >> {place.shift}) & {place.mask})"
        return Number(raw if place.low == 0 else f"({raw} + {place.low})", low, high)

    def among(self, field: Field, values: Iterable[int]) -> Truth:
        """Whether a field has one of some values."""
        possible = frozenset(self.possible(field))
        inside = possible.intersection(values)
        if not inside or inside == possible:
            return bool(inside)
        outside = possible - inside
        place = self._layout.places[field]
        raw = f"(({self._word}{place.word} >> {place.shift}) & {place.mask})"
        for members, operator in ((inside, "=="), (outside, "!=")):
            if len(members) == 1:
                at = f"{self._word}{place.word} & {place.mask << place.shift}"
                return f"(({at}) {operator} {(min(members) - place.low) << place.shift})"
        if place.size <= 62:
            return f"((({sum(1 << (value - place.low) for value in inside)} >> {raw}) & 1) != 0)"
        return "(" + " or ".join(f"{raw} == {value - place.low}" for value in sorted(inside)) + ")"

    # ---- terms

    def cases(self, term: Term, bound: Sequence[int] = ()) -> list[tuple[Truth, int]]:
        """The instances that a term may mean, each with when it does. In no case: a reference on the way is empty."""
        match term:
            case ("int", int(index)):
                return [(True, index)]
            case ("arg", int(argument)):
                return [(True, self._arguments[argument])]
            case ("bound", int(depth)):
                return [(True, bound[depth])]
            case ("data", int(part), instance, int(variable)):
                found: list[tuple[Truth, int]] = []
                for when, index in self.cases(instance, bound):
                    field = Field(part, index, variable)
                    values = [value for value in self.possible(field) if value >= 0]
                    found += [(every([when, self.among(field, [value])]), value) for value in values]
                return found
        raise CannotCompile(f"{term!r} is not an instance")

    def value(self, term: Term, bound: Sequence[int] = ()) -> tuple[Truth, Number]:
        """An integer, and whether it is there: no reference on the way is empty."""
        match term:
            case ("int", int(number)):
                return True, constant(number)
            case ("param", str(name)):
                return True, constant(self._layout.params[name])
            case ("var", int(index)):
                return True, self._own[index]
            case ("arg", int(index)):
                return True, constant(self._arguments[index])
            case ("bound", int(depth)):
                return True, constant(bound[depth])
            case ("data", int(part), instance, int(variable)):
                return self._data(part, instance, variable, bound)
            case ("through", instance):
                cases = self.cases(instance, bound)
                return self._chosen(cases, [constant(index) for _, index in cases])
            case ("tally", int(index)):
                row = self._layout.system.tallies[index]
                return True, self._count(row.part, 0, row.where, ())
            case ("count", int(part), int(depth), where):
                return True, self._count(part, depth, where, bound)
            case (str(op), left, right) if op in ARITHMETIC:
                there, a = self.value(left, bound)
                also, b = self.value(right, bound)
                return every([there, also]), _arithmetic(op, a, b)
        truth = self.test(term, bound)
        return True, constant(int(truth)) if isinstance(truth, bool) else Number(f"(1 if {truth} else 0)", 0, 1)

    def test(self, term: Term, bound: Sequence[int] = ()) -> Truth:
        """A truth."""
        match term:
            case ("not", item):
                return negated(self.test(item, bound))
            case ("and", *items):
                return every([self.test(item, bound) for item in items])
            case ("or", *items):
                return some([self.test(item, bound) for item in items])
            case ("state", int(part), instance, tuple(states)):
                return self._asked(part, instance, -1, states, bound)
            case ("in", ("data", int(part), instance, int(variable)), tuple(numbers)):
                return self._asked(part, instance, variable, numbers, bound)
            case ("in", item, tuple(numbers)):
                there, number = self.value(item, bound)
                if number.constant:
                    return every([there, number.low in numbers])
                return every([there, some([compared("==", number, constant(other)) for other in numbers])])
            case ("==" | "!=" as op, (("tally" | "count"), *_) as counted, ("int", 0)):
                truths = self._counted(counted, bound)
                return negated(some(truths)) if op == "==" else some(truths)
            case ("==" | "!=" as op, ("data", int(part), instance, int(variable)), other):
                there, number = self.value(other, bound)
                if number.constant:
                    asked = []
                    for when, index in self.cases(instance, bound):
                        same = self.among(Field(part, index, variable), [number.low])
                        asked.append(every([when, same if op == "==" else negated(same)]))
                    return every([there, some(asked)])
            case ("==" | "!=" as op, left, ("data", *_) as right) if left[0] in ("int", "arg", "bound"):
                return self.test((op, right, left), bound)
        match term:
            case (str(op), left, right) if op in COMPARISONS:
                there, a = self.value(left, bound)
                also, b = self.value(right, bound)
                return every([there, also, compared(op, a, b)])
            case ("int" | "param" | "var" | "arg" | "data", *_):
                there, a = self.value(term, bound)
                return every([there, compared("!=", a, constant(0))])
        raise CannotCompile(f"{term!r} is not a compiled expression")

    def _asked(self, part: int, instance: Term, variable: int, values: Sequence[int], bound: Sequence[int]) -> Truth:
        """Whether a field of an instance has one of some values; not where no instance is."""
        cases = self.cases(instance, bound)
        return some(every([when, self.among(Field(part, index, variable), values)]) for when, index in cases)

    def _data(self, part: int, instance: Term, variable: int, bound: Sequence[int]) -> tuple[Truth, Number]:
        cases = self.cases(instance, bound)
        return self._chosen(cases, [self.field(Field(part, index, variable)) for _, index in cases])

    @staticmethod
    def _chosen(cases: Sequence[tuple[Truth, int]], numbers: Sequence[Number]) -> tuple[Truth, Number]:
        """The number of the case that holds, and whether one does."""
        if not cases:
            return False, constant(0)
        if cases[0][0] is True:
            return True, numbers[0]
        text = " + ".join(f"({number.text} if {when} else 0)" for (when, _), number in zip(cases, numbers, strict=True))
        low, high = min(number.low for number in numbers), max(number.high for number in numbers)
        return some([when for when, _ in cases]), constant(low) if low == high else Number(f"({text})", low, high)

    def _count(self, part: int, depth: int, where: Term, bound: Sequence[int]) -> Number:
        truths = self._holding(part, depth, where, bound)
        sure, texts = truths.count(True), [truth for truth in truths if isinstance(truth, str)]
        return Number("(" + " + ".join([str(sure), *texts]) + ")", sure, sure + len(texts)) if texts else constant(sure)

    def _counted(self, term: Term, bound: Sequence[int]) -> list[Truth]:
        if term[0] == "tally":
            row = self._layout.system.tallies[term[1]]
            return self._holding(row.part, 0, row.where, ())
        return self._holding(term[1], term[2], term[3], bound)

    def _holding(self, part: int, depth: int, where: Term, bound: Sequence[int]) -> list[Truth]:
        return [self.test(where, (*bound[:depth], index)) for index in range(self._layout.counts[part])]


def wrapped(number: Number, modulus: int) -> Number:
    """A number modulo `modulus`, as cycles are."""
    return _arithmetic("%", number, constant(modulus))


def compared(op: str, left: Number, right: Number) -> Truth:
    """A comparison of two numbers."""
    match op:
        case "<":
            sure, never = left.high < right.low, left.low >= right.high
        case "<=":
            sure, never = left.high <= right.low, left.low > right.high
        case ">" | ">=":
            return compared("<" if op == ">" else "<=", right, left)
        case _:
            same = left.constant and right.constant and left.low == right.low
            apart = left.high < right.low or right.high < left.low
            sure, never = (same, apart) if op == "==" else (apart, same)
    return True if sure else False if never else f"({left.text} {op} {right.text})"


def _arithmetic(op: str, a: Number, b: Number) -> Number:
    match op:
        case "+":
            ends = [a.low + b.low, a.high + b.high]
        case "-":
            ends = [a.low - b.high, a.high - b.low]
        case "*":
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        case _:
            if b.low <= 0 <= b.high:
                raise CannotCompile(f"{a.text} {op} {b.text} may divide by zero")
            if op == "//":
                ends = [x // y for x in (a.low, a.high) for y in (b.low, b.high)]
            elif a.constant and b.constant:
                ends = [a.low % b.low]
            elif b.low > 0:
                ends = [a.low, a.high] if a.low >= 0 and a.high < b.low else [0, b.high - 1]
            else:
                ends = [b.low + 1, 0]
    low, high = min(ends), max(ends)
    if -low >= _LARGEST or high >= _LARGEST:
        raise CannotCompile(f"{a.text} {op} {b.text} may exceed 62 bits")
    return constant(low) if low == high else Number(f"({a.text} {op} {b.text})", low, high)
