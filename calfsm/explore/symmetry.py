"""Symmetry reduction: one state stands for all that differ from it only in which interchangeable instance is which.

The renamings of a system are the permutations of its scalarsets (see `scalarsets`), each with every other. States that
a renaming leads to each other are an orbit. A search that keeps one state of each orbit finds the same verdicts on
conditions, at the same depth, and because it is known how many states each one stands for, it knows how many there are
in all. Nothing is guessed: `canonical` gives the same state for exactly the states of one orbit.

The canonical form is the least of a few states of the orbit: those in which the instances of every scalarset stand in
the order of what they hold beside references. Instances that hold the same are tried in each order; those that nobody
can refer to are sorted when all the others are in place. Twins, which are alike in everything and which nobody refers
to, are not tried in each order: exchanging them changes nothing.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from calfsm.engine.engine import Engine, Snapshot
from calfsm.engine.system import Condition
from calfsm.explore.scalarsets import Scalarset, recognised, references
from calfsm.explore.systems import Call

ARRANGEMENTS = 100_000
"""The most orders of instances that may have to be tried for one state; a scalarset that is beyond it is not used."""
RENAMINGS = 10**9
"""The most renamings, likewise. Compiled code adds up orbits in 63 bits."""

Renaming = tuple[tuple[int, ...], ...]
"""For each scalarset, the new number of each of its instances."""
Order = tuple[int, ...]
"""The old numbers of the instances of a scalarset, in their new order."""


class Symmetry:
    """The renamings of an engine's system at its scope. `also`: conditions that they must leave as they are.

    `scalarsets`: those that are used, first those that variables may refer to. `reasons`: by name, for each other part
    of several instances, why not.
    """

    def __init__(self, engine: Engine, also: Iterable[Condition] = ()) -> None:
        self._system = system = engine.system
        known = recognised(engine, also)
        self.scalarsets, beyond = _affordable(known.found)
        self.reasons: Mapping[str, str] = {
            **known.reasons,
            **{
                system.parts[each.parts[0]].name: f"{each.size} instances can be arranged in too many ways"
                for each in beyond
            },
        }
        self.names = [" with ".join(system.parts[part].name for part in each.parts) for each in self.scalarsets]
        """The scalarsets by their parts: `buffers with dma`."""
        self.order = _arrangements(self.scalarsets)
        """How many renamings there are, that which renames nobody included."""
        self._parts = len(system.parts)
        roots = {each.parts[0]: number for number, each in enumerate(self.scalarsets)}
        self.kinds = [[roots.get(kind, -1) for kind in kinds] for kinds in references(system)]
        """For each variable of each part, the scalarset that it refers into, -1 for none."""
        self._plain = [[index for index, kind in enumerate(kinds) if kind < 0] for kinds in self.kinds]
        self._referring = [
            (part, [(index, kind) for index, kind in enumerate(kinds) if kind >= 0])
            for part, kinds in enumerate(self.kinds)
            if max(kinds, default=-1) >= 0
        ]
        self._sets = {part: number for number, each in enumerate(self.scalarsets) for part in each.parts}
        self._referred = sum(each.referred for each in self.scalarsets)

    # ---- states

    def canonical(self, state: Snapshot) -> Snapshot:
        """The state that stands for this one, and for every other of its orbit."""
        return min(self._image(state, orders)[0] for orders in self._arranged(state))

    def orbit(self, state: Snapshot) -> int:
        """How many states the renamings lead this one to, itself included."""
        images = [self._image(state, orders)[0] for orders in self._arranged(state)]
        alike = math.prod(
            math.factorial(times)
            for number in range(len(self.scalarsets))
            for times in Counter(self._twins(state, number)).values()
        )
        return self.order // (images.count(min(images)) * alike)

    def renaming(self, state: Snapshot, other: Snapshot) -> Renaming | None:
        """A renaming that leads one state to another; None when they are of different orbits."""
        (image, before), (same, after) = (
            min(self._image(each, orders) for orders in self._arranged(each)) for each in (state, other)
        )
        if image != same:
            return None
        numbers: list[dict[int, int]] = [dict(zip(*pair, strict=True)) for pair in zip(before, after, strict=True)]
        return tuple(tuple(new[old] for old in range(len(new))) for new in numbers)

    def renamed(self, state: Snapshot, renaming: Renaming) -> Snapshot:
        """A state with its instances renamed."""
        return self._placed(self._rereferred(state, renaming), [_inverse(numbers) for numbers in renaming])

    def renamed_call(self, call: Call, renaming: Renaming) -> Call:
        """A call with the instances that it picks renamed."""
        action, arguments = call
        picked = [self._sets.get(part) for _, part in self._system.actions[action].picks]
        after = [
            value if number is None else renaming[number][value]
            for number, value in zip(picked, arguments, strict=False)
        ]
        return action, (*after, *arguments[len(picked) :])

    # ---- the states that the canonical form is the least of

    def _arranged(self, state: Snapshot) -> Iterator[tuple[Order, ...]]:
        """The orders to try of the scalarsets that variables may refer to."""
        return itertools.product(*(self._orders(state, number) for number in range(self._referred)))

    def _orders(self, state: Snapshot, number: int) -> Iterable[Order]:
        """The orders of a scalarset in which what its instances hold beside references ascends."""
        held = self._contents(state, number, self._plain)
        order = sorted(range(len(held)), key=held.__getitem__)
        if len(set(held)) == len(held):
            return [tuple(order)]
        twins = self._twins(state, number)
        blocks = [tuple(block) for _, block in itertools.groupby(order, held.__getitem__)]
        together = itertools.product(*(_different(block, twins) for block in blocks))
        return [tuple(itertools.chain(*block)) for block in together]

    def _image(self, state: Snapshot, orders: tuple[Order, ...]) -> tuple[Snapshot, tuple[Order, ...]]:
        """A state arranged, what nobody can refer to sorted; and the orders of all scalarsets."""
        state = self._rereferred(state, [_inverse(order) for order in orders])
        for number in range(self._referred, len(self.scalarsets)):
            held = self._contents(state, number)
            orders = (*orders, tuple(sorted(range(len(held)), key=held.__getitem__)))
        return self._placed(state, orders), orders

    def _contents(self, state: Snapshot, number: int, variables: Sequence[Sequence[int]] | None = None) -> list[Any]:
        """For each instance of a scalarset what it holds, in all its parts; of each part some variables, or all."""
        columns: list[Sequence[Any]] = []
        for part in self.scalarsets[number].parts:
            data = state[self._parts + part]
            columns.append(state[part])
            if variables is None:
                columns.append(data)
            else:
                columns += [[values[index] for values in data] for index in variables[part]]
        return list(zip(*columns, strict=True))

    def _twins(self, state: Snapshot, number: int) -> list[Any]:
        """For each instance of a scalarset something that only its twins have too."""
        referred = {
            data[index]
            for part, variables in self._referring
            for index, kind in variables
            if kind == number
            for data in state[self._parts + part]
        }
        held = self._contents(state, number)
        return [index if index in referred else content for index, content in enumerate(held)]

    def _rereferred(self, state: Snapshot, numbers: Sequence[Sequence[int]]) -> Snapshot:
        """A state with new numbers in its references; the instances stay where they are."""
        after = list(state)
        for part, variables in self._referring:
            datas = []
            for data in state[self._parts + part]:
                values = list(data)
                for index, kind in variables:
                    if values[index] >= 0:
                        values[index] = numbers[kind][values[index]]
                datas.append(tuple(values))
            after[self._parts + part] = tuple(datas)
        return tuple(after)

    def _placed(self, state: Snapshot, orders: Iterable[Order]) -> Snapshot:
        """A state with its instances in other places; what they hold stays as it is."""
        after = list(state)
        for each, order in zip(self.scalarsets, orders, strict=True):
            for part in each.parts:
                for column in (part, self._parts + part):
                    there = state[column]
                    after[column] = tuple([there[old] for old in order])
        return tuple(after)


def _affordable(scalarsets: Iterable[Scalarset]) -> tuple[list[Scalarset], list[Scalarset]]:
    """Scalarsets as far as their renamings stay within the limits, those that are referred to first; and the rest."""
    used: list[Scalarset] = []
    beyond: list[Scalarset] = []
    for each in sorted(scalarsets, key=lambda each: (not each.referred, each.size)):
        referred = _arrangements(other for other in (*used, each) if other.referred)
        fits = referred <= ARRANGEMENTS and _arrangements((*used, each)) <= RENAMINGS
        (used if fits else beyond).append(each)
    return used, beyond


def _arrangements(scalarsets: Iterable[Scalarset]) -> int:
    return math.prod(math.factorial(each.size) for each in scalarsets)


def _different(block: Order, twins: Sequence[Any]) -> Iterator[Order]:
    """The orders of some instances, of those that differ only in the order of twins one."""
    if not block:
        yield ()
    for first in {twins[each]: each for each in reversed(block)}.values():
        for rest in _different(tuple(each for each in block if each != first), twins):
            yield (first, *rest)


def _inverse(order: Sequence[int]) -> Order:
    """The new numbers of an order, or the order of new numbers."""
    inverse = [0] * len(order)
    for new, old in enumerate(order):
        inverse[old] = new
    return tuple(inverse)
