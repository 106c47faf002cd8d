"""What a complete search has seen, for questions about what it has not: `calfsm.explore.vacuity` asks them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import attrs

from calfsm.engine.code import Term
from calfsm.engine.system import System
from calfsm.explore.systems import Call, SystemModel, SystemResult

Kind = tuple[int, int]
"""A part, and a variable of its instances; -1 for their state."""


@attrs.define
class Question:
    """A condition of which both answers are expected, somewhere: what to say when one of them never came.

    Asked with every choice of `ranges` for which `given` holds. `reads`: all that the answer depends on.
    """

    about: str
    holds: Callable[..., bool]
    reads: frozenset[Kind]
    never_true: str = ""
    never_false: str = ""
    ranges: Sequence[Iterable[int]] = ()
    given: Callable[..., bool] | None = None
    was_true: bool = False
    was_false: bool = False

    @property
    def open(self) -> bool:
        """Whether there is still something to find out."""
        return bool((self.never_true and not self.was_true) or (self.never_false and not self.was_false))

    def ask(self) -> None:
        """Ask it of the state that the model is in."""
        for values in itertools.product(*self.ranges):
            try:
                if self.given is None or self.given(*values):
                    if self.holds(*values):
                        self.was_true = True
                    else:
                        self.was_false = True
            except ZeroDivisionError:
                self.was_false = True
            if self.was_true and self.was_false:
                return

    def answer(self) -> str:
        """What to say, or nothing. A condition that was never asked is not spoken of."""
        if not self.was_true and self.was_false:
            return self.never_true
        return self.never_false if self.was_true and not self.was_false else ""


class Seen(Protocol):
    """What was seen. Whatever would take too long says so: None, or the questions that are still open."""

    def taken(self) -> set[int]:
        """The actions that were possible in some state."""

    def entered(self, part: int) -> set[int]:
        """The states that instances of a part were in."""

    def highest(self, part: int, variable: int) -> int:
        """The highest value that a variable of an instance of a part had."""

    def answer(self, missing: Callable[[], set[int]]) -> bool:
        """See to it that `answers` of the model has every answer that was given by instances of the `missing` parts.

        `missing` is asked again whenever answers have come. False: it could not be done.
        """

    def ask(self, questions: Sequence[Question]) -> list[Question]:
        """Ask questions of every state. Those of which it could not be done are given back."""


class PlainSeen:
    """What a plain search has seen. `calls`: those that were taken, if they were kept."""

    def __init__(self, model: SystemModel, result: SystemResult, calls: set[Call]) -> None:
        self._model, self._parents, self._calls = model, result.parents, calls
        self._parts = len(model.system.parts)

    def taken(self) -> set[int]:
        """The actions that were possible in some state."""
        found = {call[0] for call in self._calls}
        everything = len(self._model.system.actions)
        found |= {parent[1][0] for parent in self._parents.values() if parent is not None}
        if not self._calls:  # nothing but the ways to the states was kept
            for state in self._parents:
                if len(found) == everything:
                    break
                found |= {call[0] for call in self._model.actions(state)}
        return found

    def entered(self, part: int) -> set[int]:
        """The states that instances of a part were in."""
        return set().union(*{state[part] for state in self._parents})

    def highest(self, part: int, variable: int) -> int:
        """The highest value that a variable of an instance of a part had."""
        groups = {state[self._parts + part] for state in self._parents}
        return max(int(data[variable]) for data in set().union(*groups))

    def answer(self, missing: Callable[[], set[int]]) -> bool:
        """The model took note of all answers while it was searched."""
        return True

    def ask(self, questions: Sequence[Question]) -> list[Question]:
        """Ask questions of every state, as long as they are open."""
        left = [question for question in questions if question.open]
        for number, state in enumerate(self._parents):
            if not left:
                break
            self._model.move_to(state)
            for question in left:
                question.ask()
            if number % 64 == 0:
                left = [question for question in left if question.open]
        return []


def read_by(system: System, *terms: Term) -> frozenset[Kind]:
    """All that terms may read of a state."""
    return frozenset(kind for term in terms for kind in _kinds(system, term))


def _kinds(system: System, term: object) -> Iterator[Kind]:
    match term:
        case ("tally", int(index)):
            yield from _kinds(system, system.tallies[index].where)
        case ("state", int(part), *_):
            yield part, -1
        case ("data", int(part), _, int(variable)):
            yield part, variable
    if isinstance(term, tuple):
        for item in term:
            yield from _kinds(system, item)
