"""The canonical form of a state as generated code: the method of `calfsm.explore.symmetry`, on words.

Two instances are exchanged by a few shifts and masks, and by renaming the references to them. With exchanges the
scalarsets that variables may refer to are sorted by what their instances hold beside references, instances that hold
the same are tried in each order, the others are sorted at the end, and of all that were tried the least words are kept.
How often these were come by tells how many renamings leave the state as it is, and so how many states it stands for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from calfsm.explore.compiled.layout import WORD_BITS, Field, Layout, Place
from calfsm.explore.symmetry import Symmetry

_REDUCE = '''
@njit("void(int64, int64[::1])", **OUTER)
def reduce(n, batch):
    """Put canonical forms in the place of the first `n` states of a batch."""
    for k in range(n):
        {words} = canonical({loaded})
{stores}
'''


def text(layout: Layout, symmetry: Symmetry) -> Iterator[str]:
    """The functions `canonical` and `orbit` of the words of a state, and `reduce` of a batch of states."""
    return _Writer(layout, symmetry).text()


class _Writer:
    def __init__(self, layout: Layout, symmetry: Symmetry) -> None:
        self._layout, self._symmetry = layout, symmetry
        self._sizes = [each.size for each in symmetry.scalarsets]
        self._referred = [number for number, each in enumerate(symmetry.scalarsets) if each.referred]
        self._others = [number for number, each in enumerate(symmetry.scalarsets) if not each.referred]
        self._s, self._t = self._words("s"), self._words("t")

    def text(self) -> Iterator[str]:
        """All functions, each after those that it calls."""
        for number in self._referred:
            for last in range(1, self._sizes[number]):
                for first in range(last):
                    yield from self._exchange(number, first, last)
        for number in self._others:
            for last in range(1, self._sizes[number]):
                yield from self._exchange(number, last - 1, last)
        for number in range(len(self._sizes)):
            yield from self._sorted(number)
        yield from self._lesser()
        below = "arranged"
        yield from self._arranged(below)
        for number in reversed(self._referred):
            for count in range(2, self._sizes[number] + 1):
                name = f"least_{number}_{count}"
                yield from self._least(name, below, number, count)
                below = name
        yield from self._canonical(below)
        yield from self._orbit(below)
        words = range(self._layout.words)
        yield _REDUCE.format(
            words=self._s,
            loaded=", ".join(f"batch[k * WORDS + {word}]" for word in words),
            stores="\n".join(f"        batch[k * WORDS + {word}] = s{word}" for word in words),
        )

    # ---- functions

    def _function(
        self, name: str, times: bool = False, given: int = 1, result: str = "", options: str = "INNER"
    ) -> Iterator[str]:
        """The head of a function of the words of a state, or of `given` times words and times."""
        words = self._layout.words
        arguments = ["int64"] * (words if given == 1 else given * (words + 1))
        count = words + times
        result = result or ("int64" if count == 1 else f"UniTuple(int64, {count})")
        yield f'\n@njit("{result}({", ".join(arguments)})", **{options})'
        yield f"def {name}({self._s if given == 1 else f'{self._s}, times, {self._t}, more'}):"

    def _exchange(self, number: int, first: int, last: int) -> Iterator[str]:
        """Two instances of a scalarset change their places, and references to them follow."""
        yield from self._function(_exchange(number, first, last))
        moved: dict[tuple[int, int, int], int] = {}
        for one, other in zip(self._fields(number, first), self._fields(number, last), strict=True):
            key = one.word, other.word, other.shift - one.shift
            moved[key] = moved.get(key, 0) | one.mask << one.shift
        for (word, other_word, distance), mask in moved.items():
            yield f"    x = (s{word} ^ {_shifted(f's{other_word}', distance)}) & {mask}"
            yield f"    s{word} ^= x"
            yield f"    s{other_word} ^= {_shifted('x', -distance)}"
        for place in self._references(number):
            one_value, other_value = first - place.low, last - place.low
            yield f"    x = (s{place.word} >> {place.shift}) & {place.mask}"
            yield f"    if x == {one_value} or x == {other_value}:"
            yield f"        s{place.word} ^= {(one_value ^ other_value) << place.shift}"
        yield f"    return {self._s}\n"

    def _sorted(self, number: int) -> Iterator[str]:
        """The instances of a scalarset in order, by exchanging neighbours."""
        yield from self._function(f"sorted_{number}")
        for end in range(self._sizes[number] - 1, 0, -1):
            for first in range(end):
                yield f"    if {_less(self._held(number, first + 1), self._held(number, first))}:"
                yield f"        {self._s} = {_exchange(number, first, first + 1)}({self._s})"
        yield f"    return {self._s}\n"

    def _lesser(self) -> Iterator[str]:
        """Of two states the lesser, and how often it was come by; both times together for the same."""
        s, t = self._s.split(", "), self._t.split(", ")
        yield from self._function("lesser", times=True, given=2)
        yield f"    if {_less(s, t)}:"
        yield f"        return {self._s}, times"
        yield f"    if {_same(s, t)}:"
        yield f"        return {self._s}, times + more"
        yield f"    return {self._t}, more\n"

    def _arranged(self, name: str) -> Iterator[str]:
        """A state whose scalarsets that are referred to are in their places, with the others in order."""
        yield from self._function(name, times=True)
        for number in self._others:
            yield f"    {self._s} = sorted_{number}({self._s})"
        yield f"    return {self._s}, 1\n"

    def _least(self, name: str, below: str, number: int, count: int) -> Iterator[str]:
        """The least state, and how often, with the first `count` instances of a scalarset in every order that fits.

        Each of those that hold the same as the last of them takes its place; `below` does the rest.
        """
        last = count - 1
        first, best = self._words("f"), self._words("b")
        yield from self._function(name, times=True)
        yield f"    {first}, each = {below}({self._s})"
        yield f"    {best}, times = {first}, each"
        for other in range(last):
            yield f"    if {_same(self._held(number, other), self._held(number, last))}:"
            yield f"        {self._t} = {_exchange(number, other, last)}({self._s})"
            yield f"        if {_same(self._t.split(', '), self._s.split(', '))}:"
            yield f"            {self._t}, more = {first}, each"
            yield "        else:"
            yield f"            {self._t}, more = {below}({self._t})"
            yield f"        {best}, times = lesser({best}, times, {self._t}, more)"
        yield f"    return {best}, times\n"

    def _canonical(self, below: str) -> Iterator[str]:
        yield from self._function("canonical", options="OUTER")
        yield from self._begun(below)
        yield f"    return {self._s}\n"

    def _orbit(self, below: str) -> Iterator[str]:
        yield from self._function("orbit", result="int64")
        yield from self._begun(below)
        for number in self._others:
            yield "    run = 1"
            for last in range(1, self._sizes[number]):
                alike = _same(self._held(number, last - 1), self._held(number, last))
                yield f"    run = run + 1 if {alike} else 1"
                yield "    times *= run"
        yield f"    return {self._symmetry.order} // times\n"

    def _begun(self, below: str) -> Iterator[str]:
        for number in self._referred:
            yield f"    {self._s} = sorted_{number}({self._s})"
        yield f"    {self._s}, times = {below}({self._s})"

    # ---- what they read

    def _words(self, letter: str) -> str:
        return ", ".join(f"{letter}{word}" for word in range(self._layout.words))

    def _fields(self, number: int, instance: int, references: bool = True) -> list[Place]:
        """Where an instance of a scalarset lies, in all parts, with its references or without."""
        kinds = self._symmetry.kinds
        return [
            self._layout.places[Field(part, instance, variable)]
            for part in self._symmetry.scalarsets[number].parts
            for variable in range(-1, len(kinds[part]))
            if references or variable < 0 or kinds[part][variable] < 0
        ]

    def _references(self, number: int) -> Iterator[Place]:
        """Where all references into a scalarset lie."""
        for part, kinds in enumerate(self._symmetry.kinds):
            for variable, kind in enumerate(kinds):
                if kind == number:
                    for instance in range(self._layout.counts[part]):
                        yield self._layout.places[Field(part, instance, variable)]

    def _held(self, number: int, instance: int) -> list[str]:
        """What the instances of a scalarset are sorted by: numbers that are the same for the same content.

        Without references where others may refer to the instances, for those change as these do.
        """
        return list(_numbers(self._fields(number, instance, references=number in self._others)))


def _exchange(number: int, first: int, last: int) -> str:
    return f"exchange_{number}_{first}_{last}"


def _shifted(word: str, distance: int) -> str:
    return f"({word} >> {distance})" if distance > 0 else f"({word} << {-distance})" if distance < 0 else word


def _numbers(places: Iterable[Place]) -> Iterator[str]:
    """Numbers made of fields, as few as may be."""
    masks: dict[tuple[int, int], int] = {}
    filled = 0
    for place in places:
        if filled + place.bits > WORD_BITS:
            yield _number(masks)
            masks, filled = {}, 0
        key = place.word, place.shift - filled
        masks[key] = masks.get(key, 0) | place.mask << place.shift
        filled += place.bits
    yield _number(masks)


def _number(masks: dict[tuple[int, int], int]) -> str:
    pieces = [_shifted(f"(s{word} & {mask})", distance) for (word, distance), mask in masks.items()]
    return f"({' | '.join(pieces)})"


def _same(left: Sequence[str], right: Sequence[str]) -> str:
    return " and ".join(f"{one} == {other}" for one, other in zip(left, right, strict=True))


def _less(left: Sequence[str], right: Sequence[str]) -> str:
    """Whether numbers come before others, the first that differ deciding."""
    found = f"{left[-1]} < {right[-1]}"
    for one, other in reversed(list(zip(left[:-1], right[:-1], strict=True))):
        found = f"{one} < {other} or ({one} == {other} and ({found}))"
    return found
