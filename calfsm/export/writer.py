"""Terms as text. What Promela and Murphi write alike is here; where they differ, their writers say how.

A term's text is an integer's (`value`) or a truth's (`test`). Where a test looks through references, that they lead
somewhere is tested first and beside it, so that the test is false otherwise; both languages leave off at the first
false one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import attrs

from calfsm.engine.code import ARITHMETIC, COMPARISONS, Term
from calfsm.engine.system import ActionRow, Fired, Setting
from calfsm.engine.table import Table, VariableRow
from calfsm.export.lowering import Range
from calfsm.export.names import Names
from calfsm.export.scene import Scene

ALWAYS, NEVER = "true", "false"


@attrs.frozen
class At:
    """Where a term stands: how picks and choices, instances of aggregates, and the machine itself are written there."""

    action: ActionRow | None = None
    arguments: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    machine: str = ""
    me: str = ""


NOWHERE = At()


class Writer(ABC):
    """Names and terms of one model. `equal` … are the operators of its language."""

    equal, differ, conjoined, disjoined = "==", "!=", "&&", "||"

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.names = names = Names()
        self.none = names.claim("NONE")
        self.params = {name: names.claim(name.upper()) for name in scene.params}
        self.states = {
            machine: [names.claim(f"{machine}_{row.name.upper()}") for row in table.states]
            for machine, table in scene.tables.items()
        }
        self.words = {
            machine: [
                [names.claim(f"{machine}_{row.name}_{word.upper()}") for word in row.words] for row in table.variables
            ]
            for machine, table in scene.tables.items()
        }
        self.records = {machine: names.claim(f"{machine}_record") for machine in scene.tables}
        self.kinds = {machine: names.claim(f"{machine}_state") for machine in scene.tables}
        self.parts = [names.claim(part.name) for part in scene.parts]
        self.holds = {row.name: names.claim(f"holds_{row.name}") for row in scene.system.always}
        self.fields: dict[str, list[str]] = {}
        self.state_fields: dict[str, str] = {}

    def name_fields(self) -> None:
        """Name what records hold, when all else has its name."""
        for machine, table in self.scene.tables.items():
            inner = self.names.inner()
            self.state_fields[machine] = inner.claim("state")
            self.fields[machine] = [inner.claim(row.name) for row in table.variables]

    # ---- truths

    def test(self, term: Term, at: At = NOWHERE) -> str:
        """Text of a truth; one that joins others is in parentheses."""
        match term:
            case ("int", number):
                return ALWAYS if number else NEVER
            case ("not", item):
                return self.negation(item, at)
            case ("and", *items):
                return self.all_of([self.test(item, at) for item in items])
            case ("or", *items):
                return self.any_of([self.test(item, at) for item in items])
            case ("==" | "!=" as op, ("count" | "tally", *_) as counted, ("int", 0)):
                part, depth, where = self.counted(counted)
                return self.nobody(part, depth, where, at) if op == "==" else self.somebody(part, depth, where, at)
        presence: list[str] = []
        text = self._plain(term, at, presence)
        return self.all_of([*presence, text])

    def negation(self, term: Term, at: At) -> str:
        """Text of what is true when `term` is not."""
        match term:
            case ("not", item):
                return self.test(item, at)
            case ("state", part, ("int" | "arg" | "bound", _), states):
                others = [state for state in range(len(self.scene.parts[part].table.states)) if state not in states]
                return self.test(("state", part, term[2], tuple(others)), at)
        return negated(self.test(term, at))

    def all_of(self, texts: Sequence[str]) -> str:
        """The conjunction of truths."""
        return self._joined(texts, self.conjoined, ALWAYS, NEVER)

    def any_of(self, texts: Sequence[str]) -> str:
        """The disjunction of truths."""
        return self._joined(texts, self.disjoined, NEVER, ALWAYS)

    @abstractmethod
    def implied(self, condition: str, text: str) -> str:
        """`text`, where `condition` holds."""

    @abstractmethod
    def nobody(self, part: int, depth: int, where: Term, at: At) -> str:
        """Text of whether no instance satisfies a condition."""

    @abstractmethod
    def somebody(self, part: int, depth: int, where: Term, at: At) -> str:
        """Text of whether an instance satisfies a condition."""

    def counted(self, term: Term) -> tuple[int, int, Term]:
        """Part, depth and condition of a count, kept or not."""
        if term[0] == "tally":
            row = self.scene.system.tallies[term[1]]
            return row.part, 0, row.where
        return term[1], term[2], term[3]

    def member(self, subject: str, chosen: Sequence[str], every: Sequence[str]) -> str:
        """Text of whether `subject` is one of `chosen`, out of `every`."""
        if len(chosen) in (0, len(every)):
            return ALWAYS if chosen else NEVER
        if len(chosen) == len(every) - 1 > 1:
            return f"{subject} {self.differ} {next(name for name in every if name not in chosen)}"
        return self.any_of([f"{subject} {self.equal} {name}" for name in chosen])

    def is_in(self, machine: str, record: str, states: Sequence[int]) -> str:
        """Text of whether a record of a machine is in one of its states."""
        every = self.states[machine]
        return self.member(f"{record}.{self.state_fields[machine]}", [every[state] for state in states], every)

    def _plain(self, term: Term, at: At, presence: list[str]) -> str:
        match term:
            case ("state", part, instance, states):
                return self.is_in(self.machine(part), self.record(part, instance, at, presence), states)
            case ("in", item, numbers):
                subject = self.value(item, at, presence)
                names = self._words_of(item, at)
                return self.any_of([f"{subject} {self.equal} {names[n] if names else n}" for n in numbers])
            case (op, left, right) if op in COMPARISONS:
                one, other = self._beside(left, right, at, presence), self._beside(right, left, at, presence)
                return f"{one} {self._operator(op)} {other}"
            case ("param" | "var" | "arg" | "data", *_):
                return self.true(self.value(term, at, presence), self._variable(term, at))
        raise TypeError(f"{term!r} is not a compiled condition")

    def true(self, text: str, variable: tuple[VariableRow, str] | None) -> str:
        """Text of whether what is no test by itself, a variable as a rule, is not 0."""
        return f"{text} {self.differ} 0"

    def _operator(self, op: str) -> str:
        return {"==": self.equal, "!=": self.differ}.get(op, op)

    def _joined(self, texts: Sequence[str], word: str, neutral: str, final: str) -> str:
        kept = list(dict.fromkeys(text for text in texts if text != neutral))
        if final in kept:
            return final
        return f"({f' {word} '.join(kept)})" if len(kept) > 1 else kept[0] if kept else neutral

    # ---- integers

    def value(self, term: Term, at: At, presence: list[str]) -> str:
        """Text of an integer; conditions for its references to lead somewhere are added to `presence`."""
        match term:
            case ("int", number):
                return str(number) if number >= 0 else f"({number})"
            case ("param", name):
                return self.params[name]
            case ("var", index):
                return f"{at.me}.{self.fields[at.machine][index]}"
            case ("arg", index):
                return at.arguments[index]
            case ("bound", depth):
                return at.bounds[depth]
            case ("data", part, instance, index):
                return f"{self.record(part, instance, at, presence)}.{self.fields[self.machine(part)][index]}"
            case ("through", instance):
                return self._followed(instance, at, presence)
            case ("count" | "tally", *_):
                return self.number_of(*self.counted(term), at)
            case ("//" | "%" as op, left, right):
                return self._divided(op, left, right, at, presence)
            case (op, left, right) if op in ARITHMETIC:
                return f"({self.value(left, at, presence)} {op} {self.value(right, at, presence)})"
        return self.digit(self.test(term, at))

    @abstractmethod
    def number_of(self, part: int, depth: int, where: Term, at: At) -> str:
        """Text of how many instances satisfy a condition."""

    @abstractmethod
    def digit(self, text: str) -> str:
        """A truth as 0 or 1."""

    def record(self, part: int, instance: Term, at: At, presence: list[str]) -> str:
        """Text of an instance's record; a reference is tested before it is followed."""
        return f"{self.parts[part]}[{self._followed(instance, at, presence)}]"

    def _followed(self, instance: Term, at: At, presence: list[str]) -> str:
        text = self.value(instance, at, presence)
        presence += [f"{text} >= 0"] if instance[0] == "data" else []
        return text

    def constant(self, term: Term, variable: VariableRow, machine: str) -> str | None:
        """A number as the variable beside it says it: a word of an enum, or none."""
        if term[0] != "int":
            return None
        if variable.kind == "ref" and term[1] == -1:
            return self.none
        if variable.kind == "enum" and 0 <= term[1] < len(variable.words):
            index = self.scene.tables[machine].variables.index(variable)
            return self.words[machine][index][term[1]]
        return None

    def wrapped(self, term: Term, machine: str, index: int) -> Term:
        """What a variable is set to: what wraps, wraps."""
        cycle = self.scene.rows_of(machine).cycles.get(index)
        return term if cycle is None else ("%", term, ("int", cycle))

    def _beside(self, term: Term, other: Term, at: At, presence: list[str]) -> str:
        variable = self._variable(other, at)
        named = self.constant(term, *variable) if variable else None
        return named or self.value(term, at, presence)

    def _variable(self, term: Term, at: At) -> tuple[VariableRow, str] | None:
        match term:
            case ("var", index):
                return self.scene.tables[at.machine].variables[index], at.machine
            case ("data", part, _, index):
                return self.scene.parts[part].table.variables[index], self.machine(part)
        return None

    def _words_of(self, term: Term, at: At) -> list[str]:
        variable = self._variable(term, at)
        return self.words[variable[1]][self.scene.tables[variable[1]].variables.index(variable[0])] if variable else []

    def _divided(self, op: str, left: Term, right: Term, at: At, presence: list[str]) -> str:
        """Division that rounds down, as the specs have it; C's rounds towards 0, which differs below 0 only."""
        one, other = self.value(left, at, presence), self.value(right, at, presence)
        if self._not_below(left, 0, at) and self._not_below(right, 1, at):
            return f"({one} {'/' if op == '//' else '%'} {other})"
        rest = f"((({one} % {other}) + {other}) % {other})"
        return rest if op == "%" else f"(({one} - {rest}) / {other})"

    def _not_below(self, term: Term, least: int, at: At) -> bool:
        span = self.range_of(term, at)
        return span is not None and span[0] >= least

    def range_of(self, term: Term, at: At) -> Range | None:
        """The values between which a term stays, where that can be told."""
        return self.scene.range_of(term, at.action, at.machine)

    def machine(self, part: int) -> str:
        """The name of a part's machine."""
        return self.scene.parts[part].table.name

    # ---- what rows ask for

    def choosing(self, table: Table, groups: dict[Term, list[int]], me: str) -> str:
        """Text of: in a state of the first group and its condition, or in one of the second and its condition, or …"""
        at = At(machine=table.name, me=me)
        return self.any_of(
            [self.all_of([self.is_in(table.name, me, states), self.test(term, at)]) for term, states in groups.items()]
        )

    # ---- what actions ask for

    def asked(self, action: ActionRow, at: At) -> list[tuple[str, str]]:
        """What must hold for an action to be done, in order: truths, and the spec's text of each."""
        tests = [(self.test(condition.term, at), condition.text) for condition in action.guards]
        for number, fired in enumerate(action.fired):
            tests.append((self._participant(action, number, at), self.remark_on(fired)))
        return [*tests, *((self._settable(setting, action, at), f"set {setting.text}") for setting in action.settings)]

    def remark_on(self, fired: Fired) -> str:
        """A participant and its events, in the spec's words."""
        events = self.scene.parts[fired.part].table.events
        return f"{fired.text}: {', '.join(events[event].name for event in fired.events)}"

    def membership(self, fired: Fired, index: str, at: At) -> str:
        """Text of whether an instance is a participant."""
        presence: list[str] = []
        match fired.which:
            case ("one", instance):
                text = self.value(instance, at, presence)
                if text.isdigit() and index.isdigit():
                    return ALWAYS if text == index else NEVER
                return self.all_of([*presence, f"{index} {self.equal} {text}"])
            case ("where", variable, instance):
                text = self._followed(instance, at, presence)
                field = self.fields[self.machine(fired.part)][variable]
                return self.all_of([*presence, f"{self.parts[fired.part]}[{index}].{field} {self.equal} {text}"])
        return ALWAYS

    @abstractmethod
    def every(self, part: int, made: Callable[[str], str]) -> str:
        """Text of whether what is made of an instance's text holds for all instances of a part."""

    @abstractmethod
    def taking(self, machine: str, events: tuple[int, ...], record: str) -> str:
        """Text of whether an instance takes events, one after the other."""

    def _participant(self, action: ActionRow, number: int, at: At) -> str:
        """Text of whether a participant is there and takes its events."""
        fired = action.fired[number]
        if fired.which[0] == "one":
            presence: list[str] = []
            index = self._followed(fired.which[1], at, presence)
            return self.all_of([*presence, self._reached(action, number, index, at)])
        return self.every(
            fired.part,
            lambda index: self.implied(self.membership(fired, index, at), self._reached(action, number, index, at)),
        )

    def _reached(self, action: ActionRow, number: int, index: str, at: At) -> str:
        """Text of whether an instance takes its events, after those that it takes as an earlier participant."""
        part = action.fired[number].part
        record = f"{self.parts[part]}[{index}]"
        tests = []
        for before, events in self.scene.reached(action, number):
            there = [(self.membership(action.fired[earlier], index, at), wanted) for earlier, wanted in before]
            condition = self.all_of([text if wanted else negated(text) for text, wanted in there])
            tests.append(self.implied(condition, self.taking(self.machine(part), events, record)))
        return self.all_of(tests)

    def _settable(self, setting: Setting, action: ActionRow, at: At) -> str:
        """Text of whether what is set is there, and the value one that it may have."""
        presence: list[str] = []
        self.record(setting.part, setting.instance, at, presence)
        value = self.value(setting.value, at, presence)
        low, high = self.scene.limits(setting, action)
        presence += [f"{value} >= {number_text(low)}"] if low is not None else []
        presence += [f"{value} <= {number_text(high)}"] if high is not None else []
        return self.all_of(presence)


def telling(asked: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """What is asked, without what always holds; one at least."""
    kept = [(test, text) for test, text in asked if test != ALWAYS]
    return kept or [(ALWAYS, "; ".join(text for _, text in asked))]


def number_text(value: int) -> str:
    """An integer where it may stand beside an operator."""
    return str(value) if value >= 0 else f"({value})"


def negated(text: str) -> str:
    """The negation of a truth's text."""
    return {ALWAYS: NEVER, NEVER: ALWAYS}.get(text) or f"!{closed(text)}"


def closed(text: str) -> str:
    """Text in parentheses, unless it is already."""
    return text if _is_closed(text) or " " not in text else f"({text})"


def opened(text: str) -> str:
    """Text without parentheses around all of it."""
    return text[1:-1] if _is_closed(text) else text


def _is_closed(text: str) -> bool:
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return position == len(text) - 1
    return False
