"""What the writers need to know of terms: what they read, what they may come to, and what a row of events asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from calfsm.engine.code import ARITHMETIC, Term
from calfsm.engine.table import AlternativeRow, Table

FALSE: Term = ("int", 0)
TRUE: Term = ("int", 1)

Range = tuple[int, int]
"""The lowest and the highest value."""


def both(items: Sequence[Term]) -> Term:
    """The conjunction of conditions."""
    kept = [item for item in items if item != TRUE]
    if FALSE in kept:
        return FALSE
    return ("and", *kept) if len(kept) > 1 else kept[0] if kept else TRUE


def either(items: Sequence[Term]) -> Term:
    """The disjunction of conditions; `x or not x` is true."""
    kept = list(dict.fromkeys(item for item in items if item != FALSE))
    if TRUE in kept or any(("not", item) in kept for item in kept):
        return TRUE
    return ("or", *kept) if len(kept) > 1 else kept[0] if kept else FALSE


def walk(term: Term) -> Iterator[Term]:
    """A term and every term in it."""
    yield term
    for item in _inside(term):
        yield from walk(item)


def _inside(term: Term) -> list[Term]:
    return [item for item in term[1:] if _is_term(item)]


def _is_term(item: object) -> bool:
    return isinstance(item, tuple) and bool(item) and isinstance(item[0], str)


def reads(term: Term) -> set[int]:
    """The variables of the machine itself that a term reads."""
    return {item[1] for item in walk(term) if item[0] == "var"}


def looks(term: Term) -> bool:
    """Whether a term looks at the state of the system, so that its value may change as instances move."""
    return any(item[0] in ("data", "state", "tally", "count") for item in walk(term))


def free(term: Term) -> set[tuple[str, int]]:
    """The picks and choices ("arg", k) and the outer instances ("bound", d) that a term depends on."""
    match term:
        case ("arg" | "bound" as kind, index):
            return {(kind, index)}
        case ("count", _, depth, where):
            return free(where) - {("bound", depth)}
    return {found for item in _inside(term) for found in free(item)}


def substituted(term: Term, values: Mapping[int, Term]) -> Term:
    """A machine's term with terms in place of its variables."""
    if term[0] == "var":
        return values.get(term[1], term)
    return tuple(substituted(item, values) if _is_term(item) else item for item in term)


def span(term: Term, known: Callable[[Term], Range | None]) -> Range | None:
    """The values between which a term stays. `known` answers for what is no arithmetic; None: nothing is known."""
    if term[0] == "int":
        return term[1], term[1]
    if term[0] not in ARITHMETIC:
        return known(term)
    left, right = span(term[1], known), span(term[2], known)
    if term[0] == "%" and right is not None and right[0] > 0:
        return 0, right[1] - 1
    if left is None or right is None:
        return None
    match term[0]:
        case "+":
            return left[0] + right[0], left[1] + right[1]
        case "-":
            return left[0] - right[1], left[1] - right[0]
        case "*":
            ends = [a * b for a in left for b in right]
            return min(ends), max(ends)
        case "//" if right[0] > 0:
            ends = [a // b for a in left for b in right]
            return min(ends), max(ends)
    return None


class Answer(NamedTuple):
    """One answer to an event: its guard, where it leads (None: it stays where it is) and what it sets."""

    guard: Term | None
    target: int | None
    sets: tuple[tuple[int, Term], ...]

    @property
    def idle(self) -> bool:
        """Whether it changes nothing."""
        return self.target is None and not self.sets


class Answers(NamedTuple):
    """States that answer an event alike; `whys` are the reasons for staying."""

    states: tuple[int, ...]
    answers: tuple[Answer, ...]
    whys: tuple[str, ...]


def answers_to(table: Table, event: int) -> list[Answers]:
    """What the states of a machine answer to an event: those that answer alike together, and not those that refuse."""
    found: dict[tuple[Answer, ...], list[int]] = {}
    for state, row in enumerate(table.cells):
        if row[event] is not None:
            found.setdefault(tuple(_answer(state, answer) for answer in row[event] or ()), []).append(state)
    return [Answers(tuple(states), answers, tuple(_whys(table, states, event))) for answers, states in found.items()]


def _answer(state: int, row: AlternativeRow) -> Answer:
    return Answer(row.guard, None if row.target == state else row.target, row.sets)


def _whys(table: Table, states: Sequence[int], event: int) -> list[str]:
    answers = [answer for state in states for answer in table.cells[state][event] or ()]
    return list(dict.fromkeys(answer.stay for answer in answers if answer.stay is not None))


def guards_in_turn(answers: Sequence[Answer]) -> list[Term]:
    """When each answer is the first whose guard holds."""
    turns = []
    before: list[Term] = []
    for answer in answers:
        mine = answer.guard if answer.guard is not None else TRUE
        turns.append(both([*(_not(other) for other in before if not _apart(mine, other)), mine]))
        before.append(mine)
    return turns


def _apart(one: Term, other: Term) -> bool:
    return one == ("not", other) or other == ("not", one)


def _not(term: Term) -> Term:
    if term in (TRUE, FALSE):
        return FALSE if term == TRUE else TRUE
    return term[1] if term[0] == "not" else ("not", term)


def taken(table: Table, state: int, events: Sequence[int], cycles: Mapping[int, int]) -> Term:
    """When an instance in `state` takes events one after the other: a condition on its variables as they are before."""
    return _taken(table, state, events, {}, cycles)


def _taken(
    table: Table, state: int, events: Sequence[int], data: Mapping[int, Term], cycles: Mapping[int, int]
) -> Term:
    cell = table.cells[state][events[0]]
    if cell is None:
        return FALSE
    answers = [_answer(state, row) for row in cell]
    if len(events) == 1:
        return either([substituted(answer.guard, data) if answer.guard is not None else TRUE for answer in answers])
    ways = []
    for answer, turn in zip(answers, guards_in_turn(answers), strict=True):
        after = {**data, **{index: _set(index, substituted(term, data), cycles) for index, term in answer.sets}}
        target = state if answer.target is None else answer.target
        ways.append(both([substituted(turn, data), _taken(table, target, events[1:], after, cycles)]))
    return either(ways)


def _set(index: int, term: Term, cycles: Mapping[int, int]) -> Term:
    return ("%", term, ("int", cycles[index])) if index in cycles else term
