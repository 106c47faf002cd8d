"""States in fewer bits: of each instance only the number of its configuration is kept.

Generated code reads and writes the fields of a state in its words. What is stored and looked up is a *key*: for each
instance, the number that its configuration has among those that it can have (`configurations`). Nothing is lost, and a
configuration that is not among them has a number below zero, so that it is noticed. Often a key is one word where
the state has several. Where that saves no word, a state is its own key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calfsm.explore.compiled.configurations import configurations

if TYPE_CHECKING:
    from calfsm.explore.compiled.layout import Layout, Words

TABLE_BITS = 14
"""An instance of more bits keeps them as they are: its table would crowd out the cache."""


class Numbers(NamedTuple):
    """The numbering of a part's configurations: the number for the bits of each, -1 where it cannot be; and back."""

    of_bits: list[int]
    bits_of: list[int]

    @property
    def size(self) -> int:
        """How many bits a number takes."""
        return (len(self.bits_of) - 1).bit_length()


class Piece(NamedTuple):
    """`bits` bits of word `word` of a state, from `shift` on, and the `size` bits of the key that they become.

    `part`: whose numbers to use, -1 for bits that are kept as they are.
    """

    word: int
    shift: int
    bits: int
    key_word: int
    key_shift: int
    size: int
    part: int


class Coding:
    """The keys of a layout's states, `words` words each. `pieces` is empty where states are their own keys."""

    def __init__(self, layout: Layout) -> None:
        self.words = self.state_words = layout.words
        self.pieces: list[Piece] = []
        self._names = [row.name for row in layout.system.parts]
        self.numbers: dict[int, Numbers] = {}
        if layout.words == 1:
            return
        self.numbers = {part: _numbers(layout, part) for part in range(len(layout.counts)) if _is_small(layout, part)}
        word = shift = 0
        pieces = []
        for part, where, at, bits in _blocks(layout):
            numbers = self.numbers.get(part)
            size = bits if numbers is None else numbers.size
            if shift + size > layout.word_bits:
                word, shift = word + 1, 0
            pieces.append(Piece(where, at, bits, word, shift, size, -1 if numbers is None else part))
            shift += size
        if word + 1 < layout.words:
            self.words, self.pieces = word + 1, pieces

    def key(self, words: Sequence[int]) -> tuple[int, ...]:
        """The key of a state. Raises ValueError for one that cannot be."""
        if not self.pieces:
            return tuple(words)
        key = [0] * self.words
        for piece in self.pieces:
            bits = words[piece.word] >> piece.shift & (1 << piece.bits) - 1
            number = bits if piece.part < 0 else self.numbers[piece.part].of_bits[bits]
            if number < 0:
                raise ValueError(f"none of {self._names[piece.part]} can be like that")
            key[piece.key_word] |= number << piece.key_shift
        return tuple(key)

    def states(self, keys: Words) -> Words:
        """The words of the states of keys, one after the other."""
        if not self.pieces:
            return keys
        found = np.zeros((len(keys), self.state_words), np.int64)
        for piece in self.pieces:
            number = keys[:, piece.key_word] >> piece.key_shift & (1 << piece.size) - 1
            bits = number if piece.part < 0 else np.array(self.numbers[piece.part].bits_of, np.int64)[number]
            found[:, piece.word] |= bits << piece.shift
        return found


def _numbers(layout: Layout, part: int) -> Numbers:
    """The numbers of a part's configurations, whose fields lie from the lowest bit on as in any of its instances."""
    places = layout.instance_places(part, 0)
    bits_of = []
    for state, data in configurations(layout.instances, part):
        values = zip(places, (state, *data), strict=True)
        bits_of.append(sum((value - place.low) << (place.shift - places[0].shift) for place, value in values))
    of_bits = [-1] * (1 << sum(place.bits for place in places))
    for number, bits in enumerate(bits_of):
        of_bits[bits] = number
    return Numbers(of_bits, bits_of)


def _is_small(layout: Layout, part: int) -> bool:
    return sum(place.bits for place in layout.instance_places(part, 0)) <= min(TABLE_BITS, layout.word_bits)


def _blocks(layout: Layout) -> Iterator[tuple[int, int, int, int]]:
    """Part, word, shift and bits of what lies together: all of an instance, or a field of one that is spread out."""
    for part, count in enumerate(layout.counts):
        for index in range(count):
            places = layout.instance_places(part, index)
            if len({place.word for place in places}) == 1:
                yield part, places[0].word, places[0].shift, sum(place.bits for place in places)
            else:
                yield from ((part, place.word, place.shift, place.bits) for place in places)


def text(coding: Coding) -> Iterator[str]:
    """The functions `encoded`, from a state's words to its key's, and `decoded`, back.

    A state that cannot be, and no other, has a negative word in its key.
    """
    for part, numbers in coding.numbers.items():
        yield f"NUMBERS_{part} = np.array({numbers.of_bits}, np.int64)"
        yield f"BITS_{part} = np.array({numbers.bits_of}, np.int64)"
    to_key, to_state = _texts(coding)
    yield from _function("encoded", "s", to_key, coding.state_words)
    yield from _function("decoded", "k", to_state, coding.words)


def _texts(coding: Coding) -> tuple[list[str], list[str]]:
    """The words of a key, by those of its state; and the other way round."""
    if not coding.pieces:
        return ["s" + str(word) for word in range(coding.words)], ["k" + str(word) for word in range(coding.words)]
    keys: list[list[str]] = [[] for _ in range(coding.words)]
    states: list[list[str]] = [[] for _ in range(coding.state_words)]
    for word, shift, bits, key_word, key_shift, size, part in coding.pieces:
        there = f"(s{word} >> {shift} & {(1 << bits) - 1})"
        number = f"(k{key_word} >> {key_shift} & {(1 << size) - 1})"
        if part >= 0:
            there, number = f"NUMBERS_{part}[{there}]", f"BITS_{part}[{number}]"
        keys[key_word].append(f"({there} << {key_shift})")
        states[word].append(f"({number} << {shift})")
    return [" | ".join(items) for items in keys], [" | ".join(items) for items in states]


def _function(name: str, word: str, results: list[str], given: int) -> Iterator[str]:
    arguments = ", ".join(f"{word}{number}" for number in range(given))
    result = "int64" if len(results) == 1 else f"UniTuple(int64, {len(results)})"
    yield f"\n\n@njit('{result}({', '.join(['int64'] * given)})', **INNER)"
    yield f"def {name}({arguments}):"
    yield f"    return {', '.join(results)}\n"
