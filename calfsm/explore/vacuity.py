"""What a search has not put to the test: what never happened, and what would have held whatever had happened.

A verdict "holds" says little where the property had nothing to say. Remarks never change a verdict. They are made of
complete searches only: what was not seen yet may still come.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs

from calfsm.engine.code import Term
from calfsm.engine.engine import Snapshot
from calfsm.engine.steps import argument_names
from calfsm.engine.system import ActionRow, Condition, System
from calfsm.explore.judging import Whole, fair_labels, instances, marked
from calfsm.explore.liveness import unanswered
from calfsm.explore.search import Verdict
from calfsm.explore.systems import SystemModel

FAIRNESS_STATES = 50_000
"""With more states than this, it is not asked whether each source's fairness matters: that judges all again."""


@attrs.frozen
class Remark:
    """Something that was never put to the test. `about`: what kind of thing; `what`: which, and what of it."""

    about: str
    what: str

    def __str__(self) -> str:
        return f"{self.about}: {self.what}"


def remarks(whole: Whole) -> list[Remark]:
    """Everything that a complete search has not put to the test; nothing of one that was stopped."""
    if not whole.result.complete:
        return []
    model = whole.model
    taken = {call[0] for call in whole.graph.actions} if len(whole.graph.targets) else _taken(whole)
    found: list[Remark] = []
    for index, action in enumerate(model.system.actions):
        if index not in taken:
            found.append(Remark("action", f"{action.name} is never possible"))
    found += _machines(whole)
    questions = [*_guards(model, taken), *_properties(model)]
    _ask(model, whole.result.parents, questions)
    found += [Remark(question.about, text) for question in questions if (text := question.answer())]
    return [*found, *_fairness(whole)]


@attrs.define
class _Question:
    """A condition of which both answers are expected, somewhere: what to say when one of them never came.

    Asked with every choice of `ranges` for which `given` holds.
    """

    about: str
    holds: Callable[..., bool]
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
        """Ask it of the present state."""
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


def _ask(model: SystemModel, states: Iterable[Snapshot], questions: Iterable[_Question]) -> None:
    left = [question for question in questions if question.open]
    for number, state in enumerate(states):
        if not left:
            return
        model.move_to(state)
        for question in left:
            question.ask()
        if number % 64 == 0:
            left = [question for question in left if question.open]


def _taken(whole: Whole) -> set[int]:
    """The actions taken, without a graph: nothing but the ways to the states is kept, so the states are asked."""
    model, found = whole.model, set[int]()
    everything = len(model.system.actions)
    for parent in whole.result.parents.values():
        if parent is not None:
            found.add(parent[1][0])
    for state in whole.result.parents:
        if len(found) == everything:
            break
        found |= {call[0] for call in model.actions(state)}
    return found


# ---- machines


def _machines(whole: Whole) -> Iterator[Remark]:
    """States never entered, moves out of the others never made, and bounds never reached; by machine."""
    model, system = whole.model, whole.model.system
    entered: list[set[int]] = []
    highest: list[list[int]] = []
    for part in range(len(system.parts)):
        entered.append(set().union(*{state[part] for state in whole.result.parents}))
        groups = {state[len(system.parts) + part] for state in whole.result.parents}
        datas = set().union(*groups)
        highest.append([max(data[bound.index] for data in datas) for bound in _bounds(model, part)])
    for name in dict.fromkeys(row.table.name for row in system.parts):
        of_it = [part for part, row in enumerate(system.parts) if row.table.name == name]
        table = system.parts[of_it[0]].table
        here = set().union(*(entered[part] for part in of_it))
        away = [row.name for state, row in enumerate(table.states) if state not in here]
        if away:
            yield Remark("machine", f"{name} is never {_listed(away)}")
        for event, word in enumerate(table.events):
            missing = [text for state in sorted(here) for text in _unmade(model, of_it, state, event)]
            if missing:
                yield Remark("machine", f"{name} never goes by {word.name} from {_listed(missing)}")
        for position, bound in enumerate(_bounds(model, of_it[0])):
            top = max(highest[part][position] for part in of_it)
            if top < bound.high:
                yield Remark("bound", f"{name}.{bound.name} never exceeds {top}; its highest value is {bound.high}")


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


def _guards(model: SystemModel, taken: set[int]) -> Iterator[_Question]:
    """Conjuncts of guards, each asked where those before it hold."""
    for index, (action, bound) in enumerate(zip(model.system.actions, model.engine.bound_actions(), strict=True)):
        names = argument_names(action)
        for number, condition in enumerate(action.guards):
            before = [other.term for other in action.guards[:number]]
            ranges = (
                bound.ranges if _reads_arguments(("and", *before, condition.term)) else [(r[0],) for r in bound.ranges]
            )
            yield _Question(
                "guard",
                model.engine.function(names, condition.term),
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


def _properties(model: SystemModel) -> Iterator[_Question]:
    system = model.system
    for row in system.always:
        for condition in row.conditions:
            yield from _breakable(model, row.name, condition)
    for leads in system.eventually:
        names = [name for name, _ in leads.picks]
        picked = [range(len(model.engine.states[part])) for _, part in leads.picks]
        waits: Term = ("and", leads.source.term, ("not", leads.target.term))
        text = f"{leads.name}: nobody ever waits: `{leads.source.text}` never holds before its end does"
        yield _Question("property", model.engine.function(names, waits), text, "", picked)


def _breakable(model: SystemModel, name: str, condition: Condition) -> Iterator[_Question]:
    """What would have to happen before a conjunct of an `always` property could be broken.

    For `all(… for x in part if asked)`: `asked` holds for somebody. For `one or other`: neither holds by itself.
    """
    match condition.term:
        case ("==", counted, ("int", 0)) if (asked := _asked(model.system, counted)) is not None:
            text = f"{name}: nobody is ever asked: what follows `if` never holds in `{condition.text}`"
            yield _Question("property", model.engine.function((), ("!=", asked, ("int", 0))), text)
        case ("or", *sides):
            texts = _sides(condition.text, len(sides))
            for side, text in zip(sides, texts, strict=True):
                yield _Question("property", model.engine.function((), side), "", f"{name}: {text} always holds")


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
    """Sources whose fairness no `eventually` property that holds has any need of."""
    model, graph, system = whole.model, whole.graph, whole.model.system
    kept = [row for row in system.eventually if whole.promises[row.name].verdict is Verdict.HOLDS]
    if not kept or len(graph) > FAIRNESS_STATES:
        return
    asked: list[tuple[Any, Any]] = [
        (marked(model, graph, row.source.term, picks), marked(model, graph, row.target.term, picks))
        for row in kept
        for picks in instances(model, row)
    ]
    for source in system.fair:
        others = fair_labels(model, graph, [other for other in system.fair if other != source])
        if all(unanswered(graph, begins, ends, others) is None for begins, ends in asked):
            yield Remark("fairness", f"what holds would hold as well if {source} were not fair")
