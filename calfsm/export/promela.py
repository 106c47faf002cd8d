"""A system as Promela, for SPIN.

One process with one loop. Each call (an action with its picks and choices) is one option of the loop, a `d_step` whose
guard says that every participant takes its events and whose body moves them. Each property is an option that only a
state that breaks it has.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from calfsm.engine.code import Term
from calfsm.engine.steps import argument_names
from calfsm.engine.system import ActionRow, Fired, System
from calfsm.engine.table import Table, VariableRow
from calfsm.export.lowering import FALSE, Answer, answers_to, free, guards_in_turn, looks, reads, taken
from calfsm.export.names import comment
from calfsm.export.scene import Scene
from calfsm.export.writer import ALWAYS, NEVER, NOWHERE, At, Writer, negated, number_text, opened, telling

COUNTING = """\
SPIN stores one state for each state of the system. Its transitions are the calls that are taken in each of them, those
that change nothing included, and one for the start. A state that breaks a property has one transition more for each
that it breaks, and is never stuck; with -DCALLS_ONLY there are no properties.

  spin -a FILE && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c
  ./pan -m1000000 -E -c0     counts, and names the broken properties
  ./pan -m1000000            with -DCALLS_ONLY given to spin: counts, and finds a stuck state (an invalid end state)"""


def promela(system: System, scope: Mapping[str, int] | None = None) -> str:
    """The system at a scope (its `explores` values unless given) as a model for SPIN.

    Raises CannotExport, TypeError for an unknown parameter, and ValueError for a part without instances.
    """
    return _Promela(Scene(system, scope)).model()


class _Promela(Writer):
    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._me = self.names.claim("IT")
        self._takes: dict[tuple[str, tuple[int, ...]], str] = {}
        self._fires: dict[tuple[str, int], str] = {}
        self._counts: dict[tuple[int, Term], str] = {}
        self._macros: list[str] = []
        self._temporaries: dict[str, str] = {}
        self.name_fields()
        self._broken = {row.name: self.names.claim(f"always_{row.name}") for row in scene.system.always}
        self._can = {row.name: self.names.claim(f"can_{row.name}") for row in scene.system.actions}
        self._do = {row.name: self.names.claim(f"do_{row.name}") for row in scene.system.actions}

    def model(self) -> str:
        """The whole text."""
        actions = [line for action in self.scene.system.actions for line in self._action(action)]
        properties = list(self._properties())
        loop = list(self._loop())
        machines = list(self._declared())
        kept = [f"hidden int {name};" for name in self._temporaries.values()]
        kept += [f"hidden byte {name};" for name in self._broken.values()]
        return "\n".join([*self._header(), *machines, *kept, "", *self._macros, *properties, *actions, *loop, ""])

    # ---- terms

    def implied(self, condition: str, text: str) -> str:
        return self.any_of([negated(condition), text])

    def nobody(self, part: int, depth: int, where: Term, at: At) -> str:
        return self.all_of([self.negation(where, inner) for inner in self._each(part, depth, at)])

    def somebody(self, part: int, depth: int, where: Term, at: At) -> str:
        return self.any_of([self.test(where, inner) for inner in self._each(part, depth, at)])

    def number_of(self, part: int, depth: int, where: Term, at: At) -> str:
        if free(("count", part, depth, where)):
            return self._sum(part, depth, where, at)
        if (part, where) not in self._counts:
            name = self.names.claim(f"count_{self.scene.parts[part].name}_{len(self._counts) + 1}")
            self._counts[part, where] = name
            self._macros += [f"#define {name} {self._sum(part, depth, where, at)}", ""]
        return self._counts[part, where]

    def true(self, text: str, variable: tuple[VariableRow, str] | None) -> str:
        return text if variable and variable[0].kind == "bool" else super().true(text, variable)

    def digit(self, text: str) -> str:
        return {ALWAYS: "1", NEVER: "0"}.get(text, f"({opened(text)})")

    def every(self, part: int, made: Callable[[str], str]) -> str:
        return self.all_of([made(str(index)) for index in range(self.scene.counts[part])])

    def _sum(self, part: int, depth: int, where: Term, at: At) -> str:
        digits = [self.digit(self.test(where, inner)) for inner in self._each(part, depth, at)]
        return digits[0] if len(digits) == 1 else f"({' + '.join(digits)})"

    def _each(self, part: int, depth: int, at: At) -> Iterator[At]:
        for index in range(self.scene.counts[part]):
            yield At(at.action, at.arguments, (*at.bounds[:depth], str(index)), at.machine, at.me)

    # ---- what there is

    def _header(self) -> Iterator[str]:
        system = self.scene.system
        yield "/*"
        yield f" * {system.name}{f': {comment(system.doc)}' if system.doc else ''}"
        yield f" * Written by `calfsm export` from the spec with digest {comment(system.digest)}."
        yield " *"
        yield from (f" * {line}".rstrip() for line in COUNTING.splitlines())
        yield " */"
        yield ""
        yield f"#define {self.none} (-1)"
        yield from (f"#define {self.params[name]} {number_text(value)}" for name, value in self.scene.params.items())
        yield ""

    def _declared(self) -> Iterator[str]:
        for machine, table in self.scene.tables.items():
            yield from self._machine_declared(machine, table)
        for number, part in enumerate(self.scene.parts):
            record = self.records[part.table.name]
            yield f"{record} {self.parts[number]}[{self.scene.counts[number]}];{_remark(part.doc)}"
        yield ""

    def _machine_declared(self, machine: str, table: Table) -> Iterator[str]:
        yield f"/* {machine}{f': {comment(table.doc)}' if table.doc else ''} */"
        yield f"mtype:{self.kinds[machine]} = {{"
        last = len(table.states) - 1
        for index, (name, row) in enumerate(zip(self.states[machine], table.states, strict=True)):
            yield f"  {name}{'' if index == last else ','}{_remark(row.doc)}"
        yield "};"
        for names in self.words[machine]:
            yield from (f"#define {name} {number}" for number, name in enumerate(names))
        initial = self.states[machine][table.initial]
        fields = [(f"mtype:{self.kinds[machine]} {self.state_fields[machine]} = {initial}", "")]
        data = self.scene.rows_of(machine).data
        for index, (field, variable) in enumerate(zip(self.fields[machine], table.variables, strict=True)):
            value = self.constant(("int", data[index]), variable, machine) or str(data[index])
            kind = _type(variable.kind, *self.scene.domains(machine)[index])
            fields.append((f"{kind} {field} = {value}", variable.doc))
        yield f"typedef {self.records[machine]} {{"
        for index, (text, doc) in enumerate(fields):
            yield f"  {text}{'' if index == len(fields) - 1 else ';'}{_remark(doc)}"
        yield "};"
        yield ""

    def _properties(self) -> Iterator[str]:
        for row in self.scene.system.always:
            tests = [(self.test(condition.term, NOWHERE), condition.text) for condition in row.conditions]
            yield from self._macro(self.holds[row.name], tests)
            yield ""

    def _loop(self) -> Iterator[str]:
        system = self.scene.system
        yield f"active proctype {self.names.claim(f'system_{system.name}')}() {{"
        yield "  do"
        if system.always:
            yield "#ifndef CALLS_ONLY"
        for row in system.always:
            yield f"  :: d_step {{ !{self.holds[row.name]} -> assert({self._broken[row.name]}) }}"
        if system.always:
            yield "#endif"
        for action in system.actions:
            for values in itertools.product(*self.scene.ranges[action.name]):
                given = f"({', '.join(map(number_text, values))})" if values else ""
                yield f"  :: d_step {{ {self._can[action.name]}{given} -> {self._do[action.name]}({given[1:-1]}) }}"
        yield "  od"
        yield "}"

    # ---- machines

    def taking(self, machine: str, events: tuple[int, ...], record: str) -> str:
        """Text of whether an instance takes events, one after the other."""
        table = self.scene.tables[machine]
        if (machine, events) not in self._takes:
            groups: dict[Term, list[int]] = {}
            for state in range(len(table.states)):
                condition = taken(table, state, events, self.scene.rows_of(machine).cycles)
                if condition != FALSE:
                    groups.setdefault(condition, []).append(state)
            text = self.choosing(table, groups, self._me)
            named = "_".join(table.events[event].name for event in events)
            name = text
            if text not in (ALWAYS, NEVER):
                name = self.names.claim(f"{machine}_takes_{named}")
                self._macros += [f"#define {name}({self._me}) {text if text.startswith('(') else f'({text})'}", ""]
            self._takes[machine, events] = name
        name = self._takes[machine, events]
        return name if name in (ALWAYS, NEVER) else f"{name}({record})"

    def firing(self, machine: str, event: int, record: str) -> str:
        """A statement that gives an event to an instance that takes it."""
        if (machine, event) not in self._fires:
            table = self.scene.tables[machine]
            self._fires[machine, event] = name = self.names.claim(f"{machine}_{table.events[event].name}")
            lines = list(self._event(table, event))
            self._macros += [f"inline {name}({self._me}) {{{_remark(table.events[event].doc)}", *lines, "}", ""]
        return f"{self._fires[machine, event]}({record})"

    def _event(self, table: Table, event: int) -> Iterator[str]:
        options: list[tuple[str, str, str]] = []
        stays: list[str] = []
        at = At(machine=table.name, me=self._me)
        for states, answers, whys in answers_to(table, event):
            why = "; ".join(f"stays: {why}" for why in whys)
            there = self.is_in(table.name, self._me, states)
            for answer, turn in zip(answers, guards_in_turn(answers), strict=True):
                if answer.idle:
                    stays.append(why)
                else:
                    options.append((self.all_of([there, self.test(turn, at)]), self._answer(table, answer, at), why))
        if not options:
            yield f"  skip{_remark('; '.join(dict.fromkeys(stays)))}"
        elif options[0][0] == ALWAYS:
            yield f"  {options[0][1]}{_remark(options[0][2])}"
        else:
            yield "  if"
            yield from (f"  :: {opened(test)} -> {body}{_remark(why)}" for test, body, why in options)
            yield f"  :: else{_remark('; '.join(dict.fromkeys(stays)))}"
            yield "  fi"

    def _answer(self, table: Table, answer: Answer, at: At) -> str:
        """Statements that set what an answer sets, as if all at once, and move."""
        first: list[str] = []
        then: list[str] = []
        done: set[int] = set()
        for index, term in answer.sets:
            text = self.constant(term, table.variables[index], table.name)
            text = text or self.value(self.wrapped(term, table.name, index), at, [])
            if reads(term) & done:
                name = self.temporary(f"next_{len(first) + 1}")
                first.append(f"{name} = {text}")
                text = name
            then.append(f"{self._me}.{self.fields[table.name][index]} = {text}")
            done.add(index)
        if answer.target is not None:
            then.append(f"{self._me}.{self.state_fields[table.name]} = {self.states[table.name][answer.target]}")
        return "; ".join([*first, *then])

    # ---- actions

    def _action(self, action: ActionRow) -> Iterator[str]:
        inner = self.names.inner()
        at = At(action, tuple(inner.claim(name.upper()) for name in argument_names(action)))
        given = ", ".join(at.arguments)
        yield f"/* {action.name}, by {action.by}{f': {comment(action.doc)}' if action.doc else ''} */"
        yield from self._macro(self._can[action.name] + (f"({given})" if given else ""), self.asked(action, at))
        yield f"inline {self._do[action.name]}({given}) {{{_remark(_effects(action))}"
        statements = list(_Body(self, action, at).statements()) or [("skip", "")]
        last = len(statements) - 1
        for index, (text, remark) in enumerate(statements):
            yield f"  {text}{'' if index == last else ';'}{_remark(remark)}"
        yield "}"
        yield ""

    def temporary(self, name: str) -> str:
        """The name of something kept outside the state while an action is done."""
        if name not in self._temporaries:
            self._temporaries[name] = self.names.claim(name)
        return self._temporaries[name]

    def _macro(self, head: str, tests: Sequence[tuple[str, str]]) -> Iterator[str]:
        yield f"#define {head} ( \\"
        for index, (test, text) in enumerate(telling(tests)):
            yield f"  {'&&' if index else '  '} {test}{_remark(text)} \\"
        yield ")"


class _Body:
    """The statements of an action: what is read first, then the events, then what is set."""

    def __init__(self, writer: _Promela, action: ActionRow, at: At) -> None:
        self._writer, self._action, self._at = writer, action, at
        self._first: list[tuple[str, str]] = []
        self._found: dict[Term, str] = {}
        self._number = 0

    def statements(self) -> Iterator[tuple[str, str]]:
        """Statements and remarks."""
        then = [statement for number in range(len(self._action.fired)) for statement in self._participant(number)]
        then += list(self._settings())
        return itertools.chain(self._first, then)

    def _kept(self, kind: str, text: str, remark: str) -> str:
        self._number += 1
        name = self._writer.temporary(f"{kind}_{self._number}")
        self._first.append((f"{name} = {text}", remark))
        return name

    def _instance(self, term: Term, remark: str) -> str:
        """Text of an instance as it was before anything moved."""
        writer = self._writer
        if term not in self._found:
            presence: list[str] = []
            text = writer.value(term, self._at, presence)
            if term[0] == "data":
                there = writer.all_of(presence)
                text = text if there == ALWAYS else f"({opened(there)} -> {text} : {writer.none})"
                text = self._kept("found", text, remark)
            self._found[term] = text
        return self._found[term]

    def _participant(self, number: int) -> Iterator[tuple[str, str]]:
        writer, fired = self._writer, self._action.fired[number]
        remark = writer.remark_on(fired)
        part = writer.parts[fired.part]
        if fired.which[0] == "one":
            yield self._fire(fired, f"{part}[{self._instance(fired.which[1], fired.text)}]"), remark
            return
        for index in range(writer.scene.counts[fired.part]):
            there = self._there(number, index)
            text = self._fire(fired, f"{part}[{index}]")
            yield (text if there == ALWAYS else f"if :: {opened(there)} -> {text} :: else fi"), remark

    def _there(self, number: int, index: int) -> str:
        """Text of whether an instance is a participant that is found by looking for it."""
        writer, fired = self._writer, self._action.fired[number]
        if fired.which[0] == "every":
            return ALWAYS
        _, variable, instance = fired.which
        target = self._instance(instance, fired.text)
        field = writer.fields[writer.machine(fired.part)][variable]
        tests = [f"{target} >= 0"] if instance[0] == "data" else []
        text = writer.all_of([*tests, f"{writer.parts[fired.part]}[{index}].{field} == {target}"])
        if any(earlier.part == fired.part for earlier in self._action.fired[:number]):
            return self._kept("there", text, fired.text)
        return text

    def _fire(self, fired: Fired, record: str) -> str:
        machine = self._writer.machine(fired.part)
        return "; ".join(self._writer.firing(machine, event, record) for event in fired.events)

    def _settings(self) -> Iterator[tuple[str, str]]:
        writer = self._writer
        for setting in self._action.settings:
            machine = writer.machine(setting.part)
            row = writer.scene.parts[setting.part].table.variables[setting.variable]
            text = writer.constant(setting.value, row, machine)
            if text is None:
                text = writer.value(writer.wrapped(setting.value, machine, setting.variable), self._at, [])
                if looks(setting.value):
                    text = self._kept("value", text, setting.text)
            index = self._instance(setting.instance, setting.text)
            field = writer.fields[machine][setting.variable]
            yield f"{writer.parts[setting.part]}[{index}].{field} = {text}", f"set {setting.text}"


def _type(kind: str, low: int, high: int) -> str:
    if kind == "bool":
        return "bool"
    if low >= 0 and high <= 255:
        return "byte"
    return "short" if low >= -32768 and high <= 32767 else "int"


def _remark(text: str) -> str:
    return f"  /* {comment(text)} */" if text else ""


def _effects(action: ActionRow) -> str:
    return f"effects: {', '.join(action.effects)}" if action.effects else ""
