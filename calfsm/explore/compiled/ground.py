"""The decision tree of a system at a scope: which calls are possible in a state, found by asking each field once.

Every action starts as one open call. An open call says what it needs next: to know a field, or to have its next pick
filled in. Calls that need the same field share one question, and go on under each of its answers; what cannot happen
under an answer is dropped there, before its other picks are filled in. So `jobs x buffers x lanes` is multiplied out
only where each can play its role.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from calfsm.engine.code import Term
from calfsm.engine.system import ActionRow
from calfsm.explore.compiled.effects import Call, Effect, Machines
from calfsm.explore.compiled.layout import CannotCompile, Field, Layout
from calfsm.explore.compiled.terms import Knowledge, Reader

CALLS = 20_000
"""The most calls a scope may ground to; more would take the compiler minutes."""


class Open(NamedTuple):
    """A call of an action whose first picks and choices are filled in."""

    action: int
    arguments: tuple[int, ...] = ()


class Leaf(NamedTuple):
    """Calls of one action that do the same: its index, their arguments, and what they do."""

    action: int
    arguments: tuple[tuple[int, ...], ...]
    effect: Effect

    @property
    def times(self) -> int:
        """How many calls there are."""
        return len(self.arguments)


class Question(NamedTuple):
    """A field, and what follows from each set of its values. Values in no set lead to nothing."""

    field: Field
    possible: frozenset[int]
    answers: tuple[tuple[frozenset[int], Node], ...]


class Node(NamedTuple):
    """What is possible once some fields are known: calls, and questions that lead to more."""

    leaves: tuple[Leaf, ...]
    questions: tuple[Question, ...]

    @property
    def most(self) -> int:
        """The most successors that any state can have here."""
        return sum(leaf.effect.after is not None for leaf in self.leaves) + sum(
            max(node.most for _, node in question.answers) for question in self.questions
        )


class Need(NamedTuple):
    """A field that must be known better: each set of values goes its own way."""

    field: Field
    sets: tuple[frozenset[int], ...]


class Grounding:
    """All calls of a system at a scope. Raises CannotCompile when there are too many."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.machines = Machines(layout)
        self._actions = [_Action(layout, self.machines, row) for row in layout.system.actions]
        self._calls = 0

    def root(self) -> Node:
        """The tree for any state."""
        return self._node({}, [Open(number) for number in range(len(self._actions))])

    def _node(self, known: Knowledge, calls: list[Open]) -> Node:
        leaves: dict[tuple[int, Effect], list[tuple[int, ...]]] = {}
        asked: dict[Field, list[tuple[Open, Need]]] = {}
        waiting = list(reversed(calls))
        while waiting:
            call = waiting.pop()
            step = self._actions[call.action].step(call.arguments, known)
            match step:
                case Need():
                    asked.setdefault(step.field, []).append((call, step))
                case Effect():
                    self._calls += 1
                    if self._calls > CALLS:
                        raise CannotCompile(f"{self._layout.system.name} has more than {CALLS:,} calls at this scope")
                    leaves.setdefault((call.action, step), []).append(call.arguments)
                case range():
                    waiting += [Open(call.action, (*call.arguments, value)) for value in reversed(step)]
        questions = [self._question(known, field, needs) for field, needs in asked.items()]
        return Node(
            tuple(Leaf(action, tuple(calls), effect) for (action, effect), calls in leaves.items()),
            tuple(question for question in questions if question.answers),
        )

    def _question(self, known: Knowledge, field: Field, needs: list[tuple[Open, Need]]) -> Question:
        possible = frozenset(Reader(self._layout, known).possible(field))
        classes: dict[tuple[int, ...], set[int]] = {}
        for value in sorted(possible):
            key = tuple(next(i for i, those in enumerate(need.sets) if value in those) for _, need in needs)
            classes.setdefault(key, set()).add(value)
        calls = [call for call, _ in needs]
        answers = []
        for values in classes.values():
            node = self._node({**known, field: frozenset(values)}, calls)
            if node.leaves or node.questions:
                answers.append((frozenset(values), node))
        return Question(field, possible, tuple(answers))


class _Action:
    """What the calls of one action need to know, in order."""

    def __init__(self, layout: Layout, machines: Machines, row: ActionRow) -> None:
        self._layout, self._machines, self._row = layout, machines, row
        self._guards = [part for condition in row.guards for part in _conjuncts(condition.term)]
        self._ranges = [range(layout.counts[part]) for _, part in row.picks] + [
            range(layout.instances.constant(low), layout.instances.constant(high) + 1) for _, low, high in row.choices
        ]
        instances: list[Term] = [fired.which[-1] for fired in row.fired if fired.which[0] in ("one", "where")]
        instances += [setting.instance for setting in row.settings]
        self._instances = list(dict.fromkeys(instances))
        self._states = [
            any(fired.which == ("one", ("arg", number)) for fired in row.fired)
            or any(term[0] == "state" and term[2] == ("arg", number) for term in self._guards)
            for number in range(len(row.picks))
        ]
        self._asks = {term: _arguments(term) for term in (*self._guards, *self._instances)}

    def step(self, arguments: Sequence[int], known: Knowledge) -> Need | Effect | range | None:
        """What comes next: a field to know, the effect, values for the next argument, or None: it cannot happen."""
        given = len(arguments)
        reader = Reader(self._layout, known, arguments)
        ready = [term for term in self._guards if self._asks[term] < given]
        if any(reader.test(term) is False for term in ready):
            return None
        needs = self._needs(reader, arguments, ready)
        if needs is not None:
            return needs
        if self._refused(reader, given):
            return None
        if given < len(self._ranges):
            return self._ranges[given]
        return Call(self._machines, self._row, arguments, known).effect()

    def _needs(self, reader: Reader, arguments: Sequence[int], ready: Sequence[Term]) -> Need | None:
        for number, (_, part) in enumerate(self._row.picks[: len(arguments)]):
            field = Field(part, arguments[number], -1)
            if self._states[number] and len(reader.possible(field)) > 1:
                return _each(reader, field)
        if not self._row.picks and self._row.fired and self._row.fired[0].which[0] == "one":
            # Nobody was picked: who acts is the first participant.
            for _, index in reader.cases(self._row.fired[0].which[1]):
                field = Field(self._row.fired[0].part, index, -1)
                if len(reader.possible(field)) > 1:
                    return _each(reader, field)
        for term in ready:
            field_and_states = _asked_state(reader, term)
            if field_and_states is not None:
                return _split(reader, *field_and_states)
        for term in self._instances:
            if self._asks[term] < len(arguments):
                reference = self._open_reference(reader, term)
                if reference is not None:
                    return _each(reader, reference)
        for part, index, events in self._certain(reader, len(arguments)):
            field = Field(part, index, -1)
            refusing = self._machines.refusing(part, events)
            if not refusing.isdisjoint(reader.possible(field)) and not refusing.issuperset(reader.possible(field)):
                return _split(reader, field, refusing)
        return None

    def _refused(self, reader: Reader, given: int) -> bool:
        return any(
            self._machines.refusing(part, events).issuperset(reader.possible(Field(part, index, -1)))
            for part, index, events in self._certain(reader, given)
        ) or any(
            not reader.cases(fired.which[1])
            for fired in self._row.fired
            if fired.which[0] == "one" and self._asks[fired.which[1]] < given
        )

    def _certain(self, reader: Reader, given: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Participants that are known, and that no participant before them can be.

        They start from the state they are in.
        """
        moved: set[tuple[int, int]] = set()
        uncertain: set[int] = set()
        for fired in self._row.fired:
            cases = []
            if fired.which[0] == "one" and self._asks[fired.which[1]] < given:
                cases = reader.cases(fired.which[1])
            if len(cases) != 1:
                uncertain.add(fired.part)
                continue
            instance = fired.part, cases[0][1]
            if fired.part not in uncertain and instance not in moved:
                yield *instance, fired.events
            moved.add(instance)

    def _open_reference(self, reader: Reader, term: Term) -> Field | None:
        """The first reference on the way to an instance whose value is not known."""
        if term[0] != "data":
            return None
        _, part, inner, variable = term
        before = self._open_reference(reader, inner)
        if before is not None:
            return before
        for _, index in reader.cases(inner):
            field = Field(part, index, variable)
            if len(reader.possible(field)) > 1:
                return field
        return None


def _conjuncts(term: Term) -> list[Term]:
    return [inner for item in term[1:] for inner in _conjuncts(item)] if term[0] == "and" else [term]


def _arguments(term: object) -> int:
    """The last argument that a term asks, -1 for none."""
    if not isinstance(term, tuple):
        return -1
    if term[:1] == ("arg",):
        return int(term[1])
    return max((_arguments(item) for item in term), default=-1)


def _asked_state(reader: Reader, term: Term) -> tuple[Field, frozenset[int]] | None:
    """The field that a guard asks, and the values that it asks for, when it only asks for the state of one instance."""
    if term[0] == "not":
        return _asked_state(reader, term[1])
    if term[0] != "state":
        return None
    _, part, instance, states = term
    cases = reader.cases(instance)
    if len(cases) != 1 or cases[0][0] is not True:
        return None
    field = Field(part, cases[0][1], -1)
    inside = frozenset(states).intersection(reader.possible(field))
    return (field, inside) if 0 < len(inside) < len(reader.possible(field)) else None


def _each(reader: Reader, field: Field) -> Need:
    return Need(field, tuple(frozenset([value]) for value in sorted(reader.possible(field))))


def _split(reader: Reader, field: Field, values: frozenset[int]) -> Need:
    possible = frozenset(reader.possible(field))
    return Need(field, (possible & values, possible - values))
