"""Many instances of one machine, stepped together as numpy arrays.

Variables are bounded, so a machine that stands alone reaches finitely many configurations: a state with its data. They
are numbered once, when the fleet is made, and what each event makes of each is written into two arrays. An instance is
then one integer, and a step of any number of instances is one look-up in each array. Nothing here decides anything by
itself: the arrays are filled by the same `Cell.choose` and updates that `Machine` runs.

A reference is `none` in a machine that stands alone, and what only a system sets keeps its initial value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import index as as_index
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from calfsm.engine.code import Data
from calfsm.engine.naming import unknown
from calfsm.engine.table import Cell, Rows, Table, Word, value_of

Indices: TypeAlias = npt.NDArray[np.intp]
Answers: TypeAlias = npt.NDArray[np.uint8]
Numbers: TypeAlias = Sequence[int] | npt.NDArray[Any]

MAX_CONFIGURATIONS = 200_000
"""The most configurations that a fleet numbers. With twenty events, so many take 36 MB and a few seconds."""

MOVED, STAYED, REFUSED = 0, 1, 2


class FleetStep:
    """What one step did, by instance, in the order in which instances were given.

    The arrays are made when they are asked for.
    """

    __slots__ = ("_answers", "_indices")

    def __init__(self, indices: Indices | None, answers: Answers) -> None:
        self._indices, self._answers = indices, answers

    @property
    def moved(self) -> Indices:
        """The instances that took the event and moved, perhaps to the state that they were in."""
        return self._which(MOVED)

    @property
    def stayed(self) -> Indices:
        """The instances that answered by staying."""
        return self._which(STAYED)

    @property
    def refused(self) -> Indices:
        """The instances that refused the event. Nothing of them has changed."""
        return self._which(REFUSED)

    def _which(self, answer: int) -> Indices:
        places = np.flatnonzero(self._answers == answer)
        return places if self._indices is None else self._indices[places]

    def __repr__(self) -> str:
        moved, stayed, refused = (int(np.count_nonzero(self._answers == answer)) for answer in (MOVED, STAYED, REFUSED))
        return f"<FleetStep: {moved} moved, {stayed} stayed, {refused} refused>"


class Fleet:
    """`count` instances of one machine, each in its initial state.

    >>> from calfsm.tables import buffer
    >>> pool = Fleet(buffer.TABLE, 1000)
    >>> pool.step(buffer.Event.CREATE)
    <FleetStep: 1000 moved, 0 stayed, 0 refused>
    >>> pool.step("acquire", [3, 7]).moved
    array([3, 7])

    Parameters of the spec may be given by name; otherwise their serving values hold. Raises TypeError for an unknown
    parameter, and ValueError when the machine has more than MAX_CONFIGURATIONS configurations or can leave a domain.
    """

    def __init__(self, table: Table, count: int, /, **params: int) -> None:
        if isinstance(count, bool) or (size := as_index(count)) < 0:
            raise ValueError(f"a fleet of {count!r} instances; give 0 or more")
        self.table = table
        self._graph = _explored(table.rows(**params))
        self._at: Indices = np.zeros(size, np.intp)
        self._spare: Indices = np.empty(size, np.intp)
        self._seen: Indices = np.zeros(size, np.intp)
        self._events: dict[object, int] = {}
        for number, member in enumerate(table.event_members):
            self._events[member] = self._events[member.value] = number
        self._stays: Indices = np.zeros(len(table.states) * len(table.events), np.intp)
        self._refusals: Indices = np.zeros_like(self._stays)

    def __len__(self) -> int:
        """How many instances there are."""
        return len(self._at)

    def step(self, event: Word | str | Numbers, indices: Numbers | None = None) -> FleetStep:
        """Fire `event` in the instances `indices`, or in all of them.

        `event` is a member of `table.Event`, its name, or an array of indices into `table.events`, shape (n,), one for
        each instance. `indices` has shape (n,): integers from 0 to len(fleet) - 1, each at most once. An instance that
        refuses is left as it was and reported; the others go on.

        Raises ValueError for an event that the machine does not have, an instance named twice, or a shape that does not
        fit; IndexError for an instance out of range; TypeError for anything but integers. Nothing has changed then.
        """
        chosen = None if indices is None else self._chosen(indices)
        graph = self._graph
        here = self._at if chosen is None else self._at[chosen]
        number = self._event_numbers(event, len(here))
        if isinstance(number, int):
            answers = graph.answers[number].take(here, mode="clip")
            after = graph.after[number].take(here, mode="clip", out=self._spare[: len(here)])
        else:
            cells = number * graph.after.shape[1] + here
            answers = graph.answers.take(cells, mode="clip")
            after = graph.after.take(cells, mode="clip", out=self._spare[: len(here)])
        if answers.any():
            self._count(number, here, answers)
        if chosen is None:
            self._at, self._spare = after, self._at
        else:
            self._at[chosen] = after
        return FleetStep(chosen, answers)

    @property
    def states(self) -> Indices:
        """The state of every instance, as an index into `table.states`; shape (len(fleet),), a copy."""
        return self._graph.states.take(self._at)

    def data(self, name: str) -> npt.NDArray[np.int64]:
        """A variable of every instance; shape (len(fleet),), a copy.

        A bool is 0 or 1, an enum the index of its word, an empty reference -1. Raises KeyError for an unknown variable.
        """
        return self._graph.data[:, self.table.variable_index(name)].take(self._at)

    def state_of(self, index: int) -> Word:
        """The state of one instance, a member of `table.State`. Raises IndexError."""
        return self.table.state_members[int(self._graph.states[self._configuration(index)])]

    def data_of(self, index: int) -> dict[str, int | bool | str | None]:
        """The variables of one instance, by name, in the spec's terms. Raises IndexError."""
        values = self._graph.data[self._configuration(index)].tolist()
        return {row.name: value_of(row, value) for row, value in zip(self.table.variables, values, strict=True)}

    def counts(self) -> dict[str, int]:
        """How many instances are in each state, by its name; states without any included."""
        found = np.bincount(self.states, minlength=len(self.table.states)).tolist()
        return {row.name: number for row, number in zip(self.table.states, found, strict=True)}

    @property
    def stays(self) -> Counter[tuple[Word, Word]]:
        """How often each (state, event) was answered by staying, over all instances."""
        return Counter({(state, event): times for state, event, times in self._counted(self._stays)})

    @property
    def refusals(self) -> Counter[tuple[Word, str]]:
        """How often each (state, event name) was refused, over all instances."""
        return Counter({(state, str(event)): times for state, event, times in self._counted(self._refusals)})

    def __repr__(self) -> str:
        found = ", ".join(f"{number} {name}" for name, number in self.counts().items() if number)
        return f"<Fleet of {len(self)} {self.table.name}: {found or 'none'}>"

    def _count(self, number: int | Indices, here: Indices, answers: Answers) -> None:
        """Add stays and refusals to the counters, by state and event."""
        cells = self._graph.states.take(here) * len(self.table.events) + number
        for answer, counter in ((STAYED, self._stays), (REFUSED, self._refusals)):
            counter += np.bincount(cells[answers == answer], minlength=len(counter))

    def _counted(self, counter: Indices) -> list[tuple[Word, Word, int]]:
        width = len(self.table.events)
        return [
            (self.table.state_members[cell // width], self.table.event_members[cell % width], int(counter[cell]))
            for cell in np.flatnonzero(counter).tolist()
        ]

    def _configuration(self, index: int) -> int:
        number = as_index(index)
        if not 0 <= number < len(self._at):
            raise IndexError(f"{index} is not an instance of this fleet; they are {self._span()}")
        return int(self._at[number])

    def _event_numbers(self, event: object, size: int) -> int | Indices:
        """An event as its index, or an array of indices, checked."""
        if isinstance(event, str | Word):
            number = self._events.get(event)
            if number is None:
                names = [name for name in self._events if isinstance(name, str)]
                raise ValueError(unknown(event, names, self.table.name, "event"))
            return number
        if not isinstance(event, Sequence | np.ndarray) or np.ndim(event) == 0:
            kinds = f"a member of {self.table.name}'s Event, its name, or an array of event indices"
            raise TypeError(f"event is {event!r}; give {kinds}")
        numbers = _integers(event, "event")
        if len(numbers) != size:
            raise ValueError(f"{len(numbers)} events for {size} instances; give one event, or one for each")
        if numbers.size and (numbers.min() < 0 or numbers.max() >= len(self.table.events)):
            last = len(self.table.events) - 1
            raise ValueError(f"an event index is out of range; those of {self.table.name} are 0 to {last}")
        return numbers

    def _chosen(self, indices: object) -> Indices:
        """Instances, checked: in range, and none of them twice."""
        chosen = _integers(indices, "indices")
        if chosen.size and (chosen.min() < 0 or chosen.max() >= len(self._at)):
            bad = chosen[(chosen < 0) | (chosen >= len(self._at))][0]
            raise IndexError(f"{bad} is not an instance of this fleet; they are {self._span()}")
        places = np.arange(len(chosen))
        self._seen[chosen] = places
        twice = self._seen[chosen] != places
        if twice.any():
            raise ValueError(f"instance {chosen[twice][0]} is named twice; step it once, then again")
        return chosen

    def _span(self) -> str:
        return f"0 to {len(self._at) - 1}" if len(self._at) else "none"


class _Graph(NamedTuple):
    """The numbered configurations; number 0 is the initial one.

    `states`, shape (configurations,): state indices. `data`, shape (configurations, variables). `after` and `answers`,
    both of shape (events, configurations): what follows (itself where refused), and MOVED, STAYED or REFUSED.
    """

    states: Indices
    data: npt.NDArray[np.int64]
    after: Indices
    answers: Answers


def _explored(rows: Rows) -> _Graph:
    """Every configuration that events lead to from the initial one.

    Raises ValueError when there are too many, or a variable leaves its domain.
    """
    table = rows.table
    first = (table.initial, rows.data)
    _require_in_domains(rows, *first)
    numbers: dict[tuple[int, Data], int] = {first: 0}
    found = [first]
    after: list[int] = []
    answers: list[int] = []
    for number, (state, data) in enumerate(found):  # grows as it is gone through
        for cell in rows.cells[state]:
            answer, following = _answer(cell, state, data)
            if following not in numbers:
                _require_in_domains(rows, *following)
                if len(found) == MAX_CONFIGURATIONS:
                    many = f"more than {MAX_CONFIGURATIONS} configurations with {_parameters(rows.params)}"
                    raise ValueError(
                        f"{table.name} has {many}; a fleet numbers them all: bound its variables more tightly"
                    )
                numbers[following] = len(found)
                found.append(following)
            after.append(number if answer == REFUSED else numbers[following])
            answers.append(answer)
    shape = len(found), len(table.events)
    return _Graph(
        np.array([state for state, _ in found], np.intp),
        np.array([data for _, data in found], np.int64).reshape(len(found), len(table.variables)),
        np.ascontiguousarray(np.array(after, np.intp).reshape(shape).T),
        np.ascontiguousarray(np.array(answers, np.uint8).reshape(shape).T),
    )


def _answer(cell: Cell | None, state: int, data: Data) -> tuple[int, tuple[int, Data]]:
    """What a cell makes of a configuration."""
    outcome = cell.choose(data) if cell is not None else None
    if outcome is None:
        return REFUSED, (state, data)
    following = outcome.target, outcome.update(data) if outcome.update is not None else data
    return MOVED if outcome.stay is None else STAYED, following


def _require_in_domains(rows: Rows, state: int, data: Data) -> None:
    for row, value, (low, high) in zip(rows.table.variables, data, rows.domains, strict=True):
        if not low <= value <= high:
            where = f"{row.name} of {rows.table.name} would be {value} in {rows.table.states[state].name}"
            raise ValueError(f"{where}; with {_parameters(rows.params)} it is {low} to {high}")


def _parameters(params: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in params.items()) or "no parameters"


def _integers(values: object, what: str) -> Indices:
    """A copy of a one-dimensional array of integers."""
    array = np.array(values)
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {array.shape}; give one dimension")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{what} has dtype {array.dtype}; give integers (for a mask, np.flatnonzero(mask))")
    if array.size and array.dtype.kind == "u" and array.max() > np.iinfo(np.intp).max:
        raise IndexError(f"{array.max()} is out of range")
    return array.astype(np.intp, copy=False)
