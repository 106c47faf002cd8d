"""What a search has not put to the test: what never happened, and what would have held whatever had happened.

A verdict "holds" says little where the property had nothing to say. Remarks never change a verdict. They are made of
complete searches only: what was not seen yet may still come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from calfsm.engine.code import Term
from calfsm.engine.steps import argument_names
from calfsm.engine.system import ActionRow, Condition, System
from calfsm.engine.table import Table
from calfsm.explore.judging import Whole, fairness, instances
from calfsm.explore.search import Verdict
from calfsm.explore.seen import Question, Seen, read_by
from calfsm.explore.systems import SystemModel


@attrs.frozen
class Remark:
    """Something that was never put to the test. `about`: what kind of thing; `what`: which, and what of it."""

    about: str
    what: str

    def __str__(self) -> str:
        return f"{self.about}: {self.what}"


def remarks(whole: Whole) -> list[Remark]:
    """Everything that a complete search has not put to the test; nothing of one that was stopped."""
    model, seen = whole.model, whole.seen
    if not whole.result.complete or seen is None:
        return []
    taken = seen.taken()
    found: list[Remark] = []
    for index, action in enumerate(model.system.actions):
        if index not in taken:
            found.append(Remark("action", f"{action.name} is never possible"))
    found += _machines(whole, seen)
    questions = [*_guards(model, taken), *_properties(model)]
    left = seen.ask(questions)
    found += [Remark(question.about, text) for question in questions if (text := _said(question, question in left))]
    return [*found, *_fairness(whole)]


NOT_ASKED = "not asked at this size"
"""What is said of a question for which there are too many states."""


def _said(question: Question, is_left: bool) -> str:
    if is_left:
        return f"{NOT_ASKED} whether {question.never_true or question.never_false}"
    return question.answer()


# ---- machines


def _machines(whole: Whole, seen: Seen) -> Iterator[Remark]:
    """States never entered, moves out of the others never made, and bounds never reached; by machine."""
    model, system = whole.model, whole.model.system
    parts: dict[str, list[int]] = {}
    for part, row in enumerate(system.parts):
        parts.setdefault(row.table.name, []).append(part)
    entered = {name: sorted(set().union(*(seen.entered(part) for part in of_it))) for name, of_it in parts.items()}

    def missing() -> set[int]:
        return {
            part
            for name, of_it in parts.items()
            if any(_unmoved(model, of_it, entered[name], event) for event in range(len(_table(model, of_it).events)))
            for part in of_it
        }

    answered = seen.answer(missing)
    for name, of_it in parts.items():
        table = _table(model, of_it)
        away = [row.name for state, row in enumerate(table.states) if state not in entered[name]]
        if away:
            yield Remark("machine", f"{name} is never {_listed(away)}")
        for event, word in enumerate(table.events):
            texts = _unmoved(model, of_it, entered[name], event)
            if texts:
                left = "" if answered else f"{NOT_ASKED} whether "
                yield Remark("machine", f"{left}{name} never goes by {word.name} from {_listed(texts)}")
        for bound in _bounds(model, of_it[0]):
            top = max(seen.highest(part, bound.index) for part in of_it)
            if top < bound.high:
                yield Remark("bound", f"{name}.{bound.name} never exceeds {top}; its highest value is {bound.high}")


def _table(model: SystemModel, of_it: Sequence[int]) -> Table:
    return model.system.parts[of_it[0]].table


def _unmoved(model: SystemModel, of_it: Sequence[int], states: Sequence[int], event: int) -> list[str]:
    """Where an event never led anybody, of the states that were entered."""
    return [text for state in states for text in _unmade(model, of_it, state, event)]


def _unmade(model: SystemModel, of_it: Sequence[int], state: int, event: int) -> Iterator[str]:
    """The state, when nothing in its cell was ever answered; else where the moves that were not would have led."""
    cells = [model.engine.rows[part].cells[state][event] for part in of_it]
    alternatives = list(zip(*(cell.outcomes for cell in cells if cell is not None), strict=True))
    moves = [outcomes for outcomes in alternatives if outcomes[0].stay is None]
    unmade = [outcomes[0].move for outcomes in moves if not model.answers.intersection(outcomes)]
    if unmade and not model.answers.intersection(outcome for outcomes in alternatives for outcome in outcomes):
        yield str(unmade[0].source)
    else:
        yield from (f"{move.source} to {move.target}" for move in unmade)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@attrs.frozen
class _Bound:
    index: int
    name: str
    low: int
    high: int


def _bounds(model: SystemModel, part: int) -> list[_Bound]:
    variables = model.system.parts[part].table.variables
    domains = model.engine.rows[part].domains
    return [_Bound(i, row.name, *domains[i]) for i, row in enumerate(variables) if row.kind == "int"]


# ---- guards


def _guards(model: SystemModel, taken: set[int]) -> Iterator[Question]:
    """Conjuncts of guards, each asked where those before it hold."""
    for index, (action, bound) in enumerate(zip(model.system.actions, model.engine.bound_actions(), strict=True)):
        names = argument_names(action)
        for number, condition in enumerate(action.guards):
            before = [other.term for other in action.guards[:number]]
            ranges = (
                bound.ranges if _reads_arguments(("and", *before, condition.term)) else [(r[0],) for r in bound.ranges]
            )
            yield Question(
                "guard",
                model.engine.function(names, condition.term),
                read_by(model.system, condition.term, *before),
                f"{action.name}: `{condition.text}` is never true" if index not in taken else "",
                f"{action.name}: `{condition.text}` is never false{_where(action, number)}",
                ranges,
                model.engine.function(names, ("and", *before)) if before else None,
            )


def _where(action: ActionRow, number: int) -> str:
    return " where what stands before it holds" if number else ""


def _reads_arguments(term: object) -> bool:
    return isinstance(term, tuple) and (term[:1] == ("arg",) or any(map(_reads_arguments, term)))


# ---- properties


def _properties(model: SystemModel) -> Iterator[Question]:
    system = model.system
    for row in system.always:
        for condition in row.conditions:
            yield from _breakable(model, row.name, condition)
    for leads in system.eventually:
        names = [name for name, _ in leads.picks]
        picked = [range(len(model.engine.states[part])) for _, part in leads.picks]
        waits: Term = ("and", leads.source.term, ("not", leads.target.term))
        text = f"{leads.name}: nobody ever waits: `{leads.source.text}` never holds before its end does"
        yield Question("property", model.engine.function(names, waits), read_by(system, waits), text, "", picked)


def _breakable(model: SystemModel, name: str, condition: Condition) -> Iterator[Question]:
    """What would have to happen before a conjunct of an `always` property could be broken.

    For `all(… for x in part if asked)`: `asked` holds for somebody. For `one or other`: neither holds by itself.
    """
    match condition.term:
        case ("==", counted, ("int", 0)) if (asked := _asked(model.system, counted)) is not None:
            text = f"{name}: nobody is ever asked: what follows `if` never holds in `{condition.text}`"
            holds = model.engine.function((), ("!=", asked, ("int", 0)))
            yield Question("property", holds, read_by(model.system, asked), text)
        case ("or", *sides):
            texts = _sides(condition.text, len(sides))
            for side, text in zip(sides, texts, strict=True):
                holds = model.engine.function((), side)
                yield Question("property", holds, read_by(model.system, side), "", f"{name}: {text} always holds")


def _asked(system: System, counted: Term) -> Term | None:
    """The count of those whom `all(… if asked)` speaks of, from the count of those who break it."""
    match counted:
        case ("tally", index):
            part, where, depth = *system.tallies[index], 0
        case ("count", part, depth, where):
            pass
        case _:
            return None
    match where:
        case ("and", asked, ("not", _)):
            return ("count", part, depth, asked)
    return None


def _sides(text: str, count: int) -> list[str]:
    """The sides of an `or`, as the spec writes them; by number where its text does not tell them apart."""
    sides, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "({") - (character in ")}")
        if depth == 0 and text.startswith(" or ", at):
            sides.append(text[begin:at])
            begin = at + 4
    sides.append(text[begin:])
    if len(sides) == count:
        return [f"`{_bare(side)}`" for side in sides]
    return [f"side {number} of `{text}`" for number in range(1, count + 1)]


def _bare(text: str) -> str:
    """Without the parentheses around all of it."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if at == len(text) - 1 and text[0] == "(" else text
    return text


# ---- fairness


def _fairness(whole: Whole) -> Iterator[Remark]:
    """What is fair, and no `eventually` property that holds has any need of it."""
    model, runs, system = whole.model, whole.runs, whole.model.system
    kept = [row for row in system.eventually if whole.promises[row.name].verdict is Verdict.HOLDS]
    named = [*system.fair, *system.strongly_fair]
    if not kept or not named or runs is None:
        return
    if len(runs) > runs.fairness_states:
        yield Remark("fairness", f"{NOT_ASKED} whether what holds would hold as well without it")
        return
    asked: list[tuple[Any, Any]] = [
        (runs.marks(row.source.term, picks), runs.marks(row.target.term, picks))
        for row in kept
        for picks in instances(model, row)
    ]
    for name in named:
        others = fairness(system, runs.calls, without=name)
        if all(runs.unanswered(begins, ends, others) is None for begins, ends in asked):
            yield Remark("fairness", f"what holds would hold as well if {name} were not fair")
