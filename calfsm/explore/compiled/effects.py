"""What one call of an action does to the words of a state, as statements: the plan of `Engine.plan`, made beforehand.

Guards, references and settings are read in the state before (`s0`, `s1`, …). Where it is known what an instance does,
its new values are collected and written together. Where that depends on the state it is in, statements decide at run
time and write into a copy (`t0`, `t1`, …), instance after instance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from calfsm.engine.system import ActionRow, Fired
from calfsm.engine.table import AlternativeRow
from calfsm.explore.compiled.layout import Field, Layout
from calfsm.explore.compiled.terms import (
    Knowledge,
    Number,
    Reader,
    Truth,
    compared,
    constant,
    every,
    negated,
    some,
    wrapped,
)

Writes = tuple[tuple[int, Number], ...]
"""Variables (-1: the state) and their new values."""


class End(NamedTuple):
    """Where events lead: what changes, and the conditions under which a value would leave its domain."""

    writes: Writes
    strays: tuple[Truth, ...] = ()


class Either(NamedTuple):
    """It depends on data."""

    when: str
    then: Tree
    otherwise: Tree


Tree = End | Either | None
"""What events do to one instance from one state; None: it refuses."""

NOTHING = End(())


class Effect(NamedTuple):
    """What a call does when all `conditions` hold: `lines`, and then the words are `after`, None when nothing changes.

    `fallible`: the words of the copy that the lines make negative when they find that the call is refused. `leaving`:
    the lines may set `left` to True: a value would be outside its domain.
    """

    conditions: tuple[str, ...]
    lines: tuple[str, ...]
    fallible: tuple[int, ...]
    leaving: bool
    after: tuple[str, ...] | None


def words_of(block: Iterable[str]) -> tuple[list[str], list[str]]:
    """The words that statements use, and those that they change."""
    text = "\n".join(block)
    used, changed = re.findall(r"\b[st]\d+\b", text), re.findall(r"\b(t\d+) =", text)
    return sorted(set(used)), sorted(set(changed))


class Machines:
    """How the instances of a layout answer events."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.helpers: dict[tuple[str, ...], str] = {}
        """Blocks of statements on words that calls share, and the names of the functions that they become."""
        self._refusing: dict[tuple[int, tuple[int, ...]], frozenset[int]] = {}

    def refusing(self, part: int, events: tuple[int, ...]) -> frozenset[int]:
        """The states in which an instance refuses events whatever its data."""
        key = part, events
        if key not in self._refusing:
            states = range(len(self.layout.system.parts[part].table.states))
            reader = Reader(self.layout, {})
            self._refusing[key] = frozenset(s for s in states if self.answer(reader, part, 0, events, s) is None)
        return self._refusing[key]

    def answers(
        self, reader: Reader, part: int, index: int, events: Sequence[int]
    ) -> list[tuple[frozenset[int], Tree]]:
        """What an instance does, by the states that it may be in; states in which it does the same are together."""
        found: list[tuple[set[int], Tree]] = []
        there: dict[int, Tree] = {}
        for state in sorted(reader.possible(Field(part, index, -1))):
            there[state] = self.answer(reader, part, index, events, state)
        for state, tree in there.items():
            for states, same in found:
                if same == tree:
                    states.add(state)
                    break
            else:
                found.append(({state}, tree))
        # What stays in the state that others move to does the same as they.
        for states, tree in list(found):
            if tree != NOTHING:
                continue
            for state in sorted(states):
                move = End(((-1, constant(state)),))
                for others, same in found:
                    if same == move:
                        others.add(state)
                        states.discard(state)
                        break
            if not states:
                found.remove((states, tree))
        return [(frozenset(states), tree) for states, tree in found]

    def answer(self, reader: Reader, part: int, index: int, events: Sequence[int], state: int) -> Tree:
        """What an instance does from one state."""
        rows = self.layout.rows[part]
        width = len(rows.table.variables)
        before = [reader.field(Field(part, index, variable)) for variable in range(width)]

        def walk(position: int, at: int, data: Sequence[Number], strays: tuple[Truth, ...]) -> Tree:
            if position == len(events):
                writes: list[tuple[int, Number]] = [(-1, constant(at))] if at != state else []
                writes += [(i, new) for i, (old, new) in enumerate(zip(before, data, strict=True)) if new != old]
                return End(tuple(writes), strays)
            cell = rows.table.cells[at][events[position]]
            return tried(position, cell, 0, data, strays) if cell is not None else None

        def tried(
            position: int,
            cell: tuple[AlternativeRow, ...],
            number: int,
            data: Sequence[Number],
            strays: tuple[Truth, ...],
        ) -> Tree:
            if number == len(cell):
                return None
            answer = cell[number]
            own = Reader(self.layout, {}, own=data)
            when = True if answer.guard is None else own.test(answer.guard)
            if when is False:
                return tried(position, cell, number + 1, data, strays)
            after, strayed = self._updated(own, part, answer.sets, data)
            then = walk(position + 1, answer.target, after, strays + strayed)
            if when is True:
                return then
            otherwise = tried(position, cell, number + 1, data, strays)
            return then if then == otherwise else Either(when, then, otherwise)

        return walk(0, state, before, ())

    def _updated(
        self, own: Reader, part: int, sets: Sequence[tuple[int, tuple[object, ...]]], data: Sequence[Number]
    ) -> tuple[Sequence[Number], tuple[Truth, ...]]:
        after, strays = list(data), []
        for variable, term in sets:
            _, number = own.value(term)
            cycle = self.layout.rows[part].cycles.get(variable)
            if cycle is not None:
                number = wrapped(number, cycle)
            low, high = self.layout.instances.domains[part][variable]
            stray = negated(within(number, low, high))
            if stray is not False:
                strays.append(stray)
                mask = (1 << (high - low).bit_length()) - 1
                number = Number(f"((({number.text} - {low}) & {mask}) + {low})", low, high)
            after[variable] = number
        return after, tuple(strays)


def within(number: Number, low: int, high: int) -> Truth:
    """Whether a number is between two others."""
    return every([compared("<=", constant(low), number), compared("<=", number, constant(high))])


class Call:
    """One call of an action, with its arguments, in a state of which something is known."""

    def __init__(self, machines: Machines, action: ActionRow, arguments: Sequence[int], known: Knowledge) -> None:
        self._machines, self._action, self._arguments = machines, action, arguments
        self._layout, self._known = machines.layout, known
        self._reader = Reader(self._layout, known, arguments)
        self._conditions: list[Truth] = []
        self._lines: list[str] = []
        self._writes: dict[Field, Number] = {}
        self._reached: set[tuple[int, int]] = set()
        self._copied: set[tuple[int, int]] = set()
        self._fallible: set[int] = set()
        self._leaving = False

    def _share(self, start: int) -> None:
        """Make a function of the statements from `start` on, which is the same one wherever the same is done."""
        block = tuple(self._lines[start:])
        if len(block) < 2 or any("left" in line for line in block):
            return
        name = self._machines.helpers.setdefault(block, f"do_{len(self._machines.helpers)}")
        given, changed = words_of(block)
        self._lines[start:] = [f"{', '.join(changed)} = {name}({', '.join(given)})"]

    def effect(self) -> Effect | None:
        """What it does; None when it is refused whatever is not known."""
        self._conditions += [self._reader.test(condition.term) for condition in self._action.guards]
        if False in self._conditions:
            return None
        for fired in self._action.fired:
            start = len(self._lines)
            if not self._fire(fired):
                return None
            self._share(start)
        if not self._set():
            return None
        condition = every(self._conditions)
        if condition is False:
            return None
        conditions = tuple(dict.fromkeys(item for item in self._conditions if isinstance(item, str)))
        copies = [f"t{word} = s{word}" for word in range(self._layout.words)] if self._copied else []
        return Effect(conditions, (*copies, *self._lines), tuple(sorted(self._fallible)), self._leaving, self._after())

    # ---- events

    def _fire(self, fired: Fired) -> bool:
        part = fired.part
        match fired.which:
            case ("one", term):
                cases = self._reader.cases(term)
                if not cases:
                    return False
                ((_, index),) = cases
                return self._take(fired, index)
            case ("every",):
                return all(self._take(fired, index) for index in range(self._layout.counts[part]))
            case ("where", variable, term):
                for _, leader in self._reader.cases(term):
                    for index in range(self._layout.counts[part]):
                        field = Field(part, index, variable)
                        refers = self._reader.among(field, [leader])
                        if refers is True and not self._take(fired, index):
                            return False
                        if isinstance(refers, str):
                            self._take_if(fired, index, refers, {**self._known, field: frozenset([leader])})
                return True
        raise TypeError(f"{fired.which!r} is not a participant")

    def _take(self, fired: Fired, index: int) -> bool:
        """An instance takes events for certain. False: it refuses for certain."""
        part = fired.part
        if (part, index) in self._reached:
            self._copy(part, index)
            self._decide(self._machines.answers(self._copy_reader(), part, index, fired.events), part, index, 0, True)
            return True
        self._reached.add((part, index))
        answers = self._machines.answers(self._reader, part, index, fired.events)
        taking = [(states, tree) for states, tree in answers if tree is not None]
        if not taking:
            return False
        if len(taking) == 1:
            states, tree = taking[0]
            rest: Tree = tree
            needed: list[Truth] = [self._reader.among(Field(part, index, -1), states)]
            while isinstance(rest, Either) and (rest.then is None or rest.otherwise is None):
                needed.append(rest.when if rest.otherwise is None else negated(rest.when))
                rest = rest.then if rest.otherwise is None else rest.otherwise
            if isinstance(rest, End):
                self._conditions += needed
                self._watch(rest.strays, 0)
                for variable, number in rest.writes:
                    self._write(Field(part, index, variable), number)
                return True
        self._copy(part, index)
        self._decide(answers, part, index, 0, False)
        return True

    def _take_if(self, fired: Fired, index: int, refers: str, known: Knowledge) -> None:
        """An instance takes events if it refers to somebody."""
        part = fired.part
        again = (part, index) in self._reached
        self._reached.add((part, index))
        reader = self._copy_reader() if again else Reader(self._layout, known, self._arguments)
        answers = self._machines.answers(reader, part, index, fired.events)
        if all(tree == NOTHING for _, tree in answers):
            return
        self._copy(part, index)
        self._lines.append(f"if {refers}:")
        self._decide(answers, part, index, 1, again)

    def _decide(
        self, answers: Iterable[tuple[frozenset[int], Tree]], part: int, index: int, depth: int, copied: bool
    ) -> None:
        """Statements that find the answer by the instance's state, in the copy when it has moved before."""
        reader = self._copy_reader() if copied else self._reader
        ordered = sorted(answers, key=lambda answer: (answer[1] == NOTHING, answer[1] is None))
        word = "if"
        for number, (states, tree) in enumerate(ordered):
            last = number == len(ordered) - 1
            if last and tree == NOTHING:
                break
            when = reader.among(Field(part, index, -1), states)
            if len(ordered) == 1:
                self._tree(tree, part, index, depth)
                break
            self._line(depth, "else:" if last else f"{word} {when}:")
            self._tree(tree, part, index, depth + 1)
            word = "elif"

    def _tree(self, tree: Tree, part: int, index: int, depth: int) -> None:
        match tree:
            case None:
                word = self._layout.places[Field(part, index, -1)].word
                self._fallible.add(word)
                self._line(depth, f"t{word} = -1")
            case Either(when, then, otherwise):
                self._line(depth, f"if {when}:")
                self._tree(then, part, index, depth + 1)
                self._line(depth, "else:")
                self._tree(otherwise, part, index, depth + 1)
            case End(writes, strays):
                self._watch(strays, depth)
                fields = {Field(part, index, variable): number for variable, number in writes}
                for text in self._assigned(fields) or ["pass"]:
                    self._line(depth, text)

    # ---- settings

    def _set(self) -> bool:
        for setting in self._action.settings:
            cases = self._reader.cases(setting.instance)
            there, number = self._reader.value(setting.value)
            if not cases or there is False:
                return False
            ((_, index),) = cases
            part, variable = setting.part, setting.variable
            cycle = self._layout.rows[part].cycles.get(variable)
            if cycle is not None:
                number = wrapped(number, cycle)
            low, high = self._layout.instances.domains[part][variable]
            self._conditions += [there, within(number, low, high)]
            if number.high < low or number.low > high:
                return False
            number = number._replace(low=max(low, number.low), high=min(high, number.high))
            if number.constant:
                number = constant(number.low)
            field = Field(part, index, variable)
            if (part, index) in self._copied:
                self._lines += self._assigned({field: number})
            else:
                self._write(field, number)
        return True

    # ---- writing

    def _write(self, field: Field, number: Number) -> None:
        if self._reader.field(field) == number:
            self._writes.pop(field, None)
        else:
            self._writes[field] = number

    def _copy(self, part: int, index: int) -> None:
        """From here on, an instance is read and written in the copy."""
        if (part, index) in self._copied:
            return
        self._copied.add((part, index))
        here = {field: number for field, number in self._writes.items() if field[:2] == (part, index)}
        for field in here:
            del self._writes[field]
        self._lines += self._assigned(here)

    def _copy_reader(self) -> Reader:
        return Reader(self._layout, {}, self._arguments, word="t")

    def _after(self) -> tuple[str, ...] | None:
        if not self._writes and not self._copied:
            return None
        word = "t" if self._copied else "s"
        texts = self._placed(self._writes, word)
        return tuple(texts.get(number, f"{word}{number}") for number in range(self._layout.words))

    def _assigned(self, fields: dict[Field, Number]) -> list[str]:
        return [f"t{word} = {text}" for word, text in self._placed(fields, "t").items()]

    def _placed(self, fields: dict[Field, Number], source: str) -> dict[int, str]:
        """The text of each word that new values change."""
        cleared: dict[int, int] = {}
        fixed: dict[int, int] = {}
        texts: dict[int, list[str]] = {}
        for field, number in fields.items():
            place = self._layout.places[field]
            cleared[place.word] = cleared.get(place.word, 0) | place.mask << place.shift
            if number.constant:
                fixed[place.word] = fixed.get(place.word, 0) | (number.low - place.low) << place.shift
            else:
                raw = number.text if place.low == 0 else f"({number.text} - {place.low})"
                texts.setdefault(place.word, []).append(f"(({raw}) << {place.shift})")
        found = {}
        for word, bits in cleared.items():
            # Bit 63 is kept: a word that was made negative stays so.
            items = [f"({source}{word} & {~bits})", *texts.get(word, [])]
            if fixed.get(word):
                items.append(str(fixed[word]))
            found[word] = " | ".join(items) if len(items) > 1 else items[0]
        return found

    def _watch(self, strays: Sequence[Truth], depth: int) -> None:
        """Statements that note a value outside its domain."""
        stray = some(strays)
        if stray is False:
            return
        self._leaving = True
        if stray is True:
            self._line(depth, "left = True")
        else:
            self._line(depth, f"if {stray}:")
            self._line(depth + 1, "left = True")

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)
