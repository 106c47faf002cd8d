"""Where each field of a system's state lies in machine words.

A field is the state of an instance or one of its variables. It gets as many bits as its domain needs and never
crosses a word; nor does an instance that fits into one, whose fields follow one another. Bit 63 of every word stays
clear: signed and unsigned readings of a word agree, and a negative word can mean something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calfsm.engine.engine import Snapshot
from calfsm.engine.instances import Instances
from calfsm.engine.system import System
from calfsm.explore.compiled.coding import Coding

WORD_BITS = 63
"""Bits of a word that hold data."""

Words = npt.NDArray[np.int64]


class CannotCompile(Exception):
    """A system at a scope that cannot be turned into compiled code. The plain search still explores it."""


class Field(NamedTuple):
    """The state of an instance (`variable` -1) or one of its variables."""

    part: int
    number: int
    variable: int


class Place(NamedTuple):
    """Where a field lies: `bits` bits from bit `shift` of word `word`.

    It holds value - `low`; `size` values are possible.
    """

    word: int
    shift: int
    bits: int
    low: int
    size: int

    @property
    def mask(self) -> int:
        """The field's bits, at the bottom of a word."""
        return (1 << self.bits) - 1

    @property
    def values(self) -> range:
        """The field's domain."""
        return range(self.low, self.low + self.size)


class Layout:
    """The fields of a system at a scope, placed.

    `params`: all parameters of the system. `word_bits`: how many bits of each word to use; fewer than WORD_BITS is
    for tests. Raises CannotCompile for a field that does not fit in a word, ValueError for a part without instances.
    """

    def __init__(self, system: System, params: Mapping[str, int], word_bits: int = WORD_BITS) -> None:
        self.system, self.params = system, dict(params)
        self.instances = instances = Instances(system, params)
        self.rows = instances.rows
        self.counts = [len(states) for states in instances.states]
        self.word_bits = word_bits
        self.places: dict[Field, Place] = {}
        word = shift = 0
        for fields in self._domains():
            sizes = [(field, low, self._size(field, low, high)) for field, low, high in fields]
            whole = sum((size - 1).bit_length() for _, _, size in sizes)
            for number, (field, low, size) in enumerate(sizes):
                bits = (size - 1).bit_length()
                if shift + (whole if number == 0 and whole <= word_bits else bits) > word_bits:
                    word, shift = word + 1, 0
                self.places[field] = Place(word, shift, bits, low, size)
                shift += bits
        self.words = word + 1
        self.bits = sum(place.bits for place in self.places.values())
        self._parts = [
            (part, index, self.instance_places(part, index))
            for part, count in enumerate(self.counts)
            for index in range(count)
        ]

    @cached_property
    def coding(self) -> Coding:
        """What is stored of a state."""
        return Coding(self)

    def instance_places(self, part: int, index: int) -> list[Place]:
        """Where an instance's state lies, and then its variables."""
        width = len(self.system.parts[part].table.variables)
        return [self.places[Field(part, index, variable)] for variable in range(-1, width)]

    def _size(self, field: Field, low: int, high: int) -> int:
        size = high - low + 1
        if size < 1:
            raise CannotCompile(f"{self.name(field)} has no values: its domain is {low} to {high}")
        if (size - 1).bit_length() > self.word_bits:
            raise CannotCompile(f"{self.name(field)} has {size} values and does not fit in {self.word_bits} bits")
        return size

    def _domains(self) -> Iterator[list[tuple[Field, int, int]]]:
        """The fields of each instance, with their lowest and highest values."""
        for part, count in enumerate(self.counts):
            states = len(self.system.parts[part].table.states)
            for index in range(count):
                domains = [(0, states - 1), *self.instances.domains[part]]
                yield [(Field(part, index, number - 1), *domain) for number, domain in enumerate(domains)]

    def name(self, field: Field) -> str:
        """`kvs[1].length`, as messages say it."""
        table = self.system.parts[field.part].table
        what = "state" if field.variable < 0 else table.variables[field.variable].name
        return f"{self.instances.text(field.part, field.number)}.{what}"

    def initial(self) -> tuple[int, ...]:
        """The words of the state in which every instance is initial."""
        states, data = self.instances.states, self.instances.data
        return self.pack(tuple(map(tuple, states)) + tuple(map(tuple, data)))

    def pack(self, snapshot: Snapshot) -> tuple[int, ...]:
        """A snapshot in words. Raises ValueError for a value outside its domain."""
        words = [0] * self.words
        parts = len(self.counts)

        def put(place: Place, value: int) -> None:
            if not 0 <= value - place.low < place.size:
                raise ValueError(f"{value} is not in {place.low} to {place.low + place.size - 1}")
            words[place.word] |= (value - place.low) << place.shift

        for part, index, places in self._parts:
            values = snapshot[part][index], *snapshot[parts + part][index]
            for place, value in zip(places, values, strict=True):
                put(place, value)
        return tuple(words)

    def unpack(self, words: Sequence[int] | Words) -> Snapshot:
        """The snapshot that `pack` made words of."""
        states: list[list[int]] = [[] for _ in self.counts]
        data: list[list[tuple[int, ...]]] = [[] for _ in self.counts]
        for part, _, (state, *variables) in self._parts:
            states[part].append(int(words[state.word]) >> state.shift & state.mask)
            data[part].append(tuple((int(words[p.word]) >> p.shift & p.mask) + p.low for p in variables))
        return tuple(map(tuple, states)) + tuple(map(tuple, data))
