"""A system as Murphi, for Rumur and CMurphi.

Each action is one rule inside rulesets over its picks and choices. What a machine takes and does is a function and a
procedure on its record, so that rules read as the spec does. Each property is an invariant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from calfsm.engine.code import Term
from calfsm.engine.steps import argument_names
from calfsm.engine.system import ActionRow, Fired, Setting, System
from calfsm.engine.table import Table
from calfsm.export.lowering import TRUE, Answer, answers_to, both, either, free, guards_in_turn, looks, reads
from calfsm.export.names import Names, comment
from calfsm.export.scene import Scene
from calfsm.export.writer import ALWAYS, NEVER, NOWHERE, At, Writer, closed, negated, opened, telling

COUNTING = """\
Rumur's states are those of the system, and the rules that it fires are the calls that are taken in each of them, those
that change nothing included. A state that breaks an invariant is an error, and what follows it is not looked at.

  rumur --value-type int32_t --symmetry-reduction off --deadlock-detection stuck --output FILE.c FILE
  cc -O2 -mcx16 -o checker FILE.c -lpthread && ./checker"""


def murphi(system: System, scope: Mapping[str, int] | None = None) -> str:
    """The system at a scope (its `explores` values unless given) as a model for Rumur.

    Raises CannotExport, TypeError for an unknown parameter, and ValueError for a part without instances.
    """
    return _Murphi(Scene(system, scope)).model()


class _Murphi(Writer):
    equal, differ, conjoined, disjoined = "=", "!=", "&", "|"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.indices = [self.names.claim(f"{part.name}_index") for part in scene.parts]
        self.references = [self.names.claim(f"{part.name}_ref") for part in scene.parts]
        self.me = self.names.claim("it")
        self.copy = self.names.claim("after")
        self._counts: dict[tuple[int, int, Term, tuple[tuple[str, str], ...]], str] = {}
        self._each: dict[tuple[int, int], str] = {}
        self._types_of: dict[str, str] = {}
        self._takes: dict[tuple[str, tuple[int, ...]], str] = {}
        self._fires: dict[tuple[str, int], str] = {}
        self._blocks: list[str] = []
        self.name_fields()

    def model(self) -> str:
        """The whole text."""
        rules = [line for action in self.scene.system.actions for line in self._rule(action)]
        properties = [line for row in self.scene.system.always for line in self._property(row.name)]
        start = list(self._start())
        before = [*self._header(), *self._types(), *self._variables()]
        return "\n".join([*before, *self._blocks, *start, *rules, *properties])

    # ---- terms

    def implied(self, condition: str, text: str) -> str:
        if ALWAYS in (condition, text) or NEVER in (condition, text):
            return self.any_of([negated(condition), text])
        return f"({condition} -> {text})"

    def nobody(self, part: int, depth: int, where: Term, at: At) -> str:
        name, inner = self._inside(part, depth, at)
        match where:
            case ("and", *items, ("not", item)):
                text = self.implied(self.test(both(items), inner), self.test(item, inner))
            case _:
                text = self.negation(where, inner)
        return f"(forall {name}: {self.indices[part]} do {opened(text)} end)"

    def somebody(self, part: int, depth: int, where: Term, at: At) -> str:
        name, inner = self._inside(part, depth, at)
        return f"(exists {name}: {self.indices[part]} do {opened(self.test(where, inner))} end)"

    def number_of(self, part: int, depth: int, where: Term, at: At) -> str:
        given = self._given(("count", part, depth, where), at)
        key = part, depth, where, given
        if key not in self._counts:
            name, inner = self._inside(part, depth, at)
            test = opened(self.test(where, inner))
            counting = self.names.inner().claim("number")
            called = self.names.claim(f"count_{self.scene.parts[part].name}_{len(self._counts) + 1}")
            self._counts[key] = called
            most = self.scene.counts[part]
            self._blocks += [
                f"function {called}({'; '.join(f'{name}: {kind}' for name, kind in given)}): 0..{most};",
                f"var {counting}: 0..{most};",
                "begin",
                f"  {counting} := 0;",
                f"  for {name}: {self.indices[part]} do",
                f"    if {test} then {counting} := {counting} + 1; end;",
                "  end;",
                f"  return {counting};",
                "end;",
                "",
            ]
        return f"{self._counts[key]}({', '.join(name for name, _ in given)})"

    def digit(self, text: str) -> str:
        return {ALWAYS: "1", NEVER: "0"}.get(text, f"({closed(text)} ? 1 : 0)")

    def every(self, part: int, made: Callable[[str], str]) -> str:
        name = self.instance_of(part, 0)
        text = made(name)
        return text if text in (ALWAYS, NEVER) else f"(forall {name}: {self.indices[part]} do {opened(text)} end)"

    def _inside(self, part: int, depth: int, at: At) -> tuple[str, At]:
        """The name of the instance that an aggregate runs over, and the place inside the aggregate."""
        name = self.instance_of(part, depth)
        return name, At(at.action, at.arguments, (*at.bounds[:depth], name), at.machine, at.me)

    def instance_of(self, part: int, depth: int) -> str:
        """The name of what runs over the instances of a part."""
        if (part, depth) not in self._each:
            wanted = f"x_{self.scene.parts[part].name}" + (f"_{depth}" if depth else "")
            self._each[part, depth] = name = self.names.claim(wanted)
            self._types_of[name] = self.indices[part]
        return self._each[part, depth]

    def _given(self, term: Term, at: At) -> tuple[tuple[str, str], ...]:
        """Names and types of the picks, choices and outer instances that a term depends on."""
        written = {"arg": at.arguments, "bound": at.bounds}
        names = [written[kind][index] for kind, index in sorted(free(term))]
        return tuple((name, self._types_of[name]) for name in names)

    # ---- what there is

    def _header(self) -> Iterator[str]:
        system = self.scene.system
        yield f"-- {system.name}{f': {comment(system.doc)}' if system.doc else ''}"
        yield f"-- Written by `calfsm export` from the spec with digest {comment(system.digest)}."
        yield "--"
        yield from (f"-- {line}".rstrip() for line in COUNTING.splitlines())
        yield ""

    def _types(self) -> Iterator[str]:
        yield "const"
        yield f"  {self.none}: -1;"
        yield from (f"  {self.params[name]}: {value};" for name, value in self.scene.params.items())
        for machine in self.scene.tables:
            for names in self.words[machine]:
                yield from (f"  {name}: {number};" for number, name in enumerate(names))
        yield ""
        yield "type"
        for number, part in enumerate(self.scene.parts):
            last = self.scene.counts[number] - 1
            yield f"  {self.indices[number]}: 0..{last};{_remark(part.doc)}"
            yield f"  {self.references[number]}: {self.none}..{last};"
        for machine, table in self.scene.tables.items():
            yield from self._machine_types(machine, table)
        yield ""

    def _machine_types(self, machine: str, table: Table) -> Iterator[str]:
        yield ""
        yield f"  -- {machine}{f': {comment(table.doc)}' if table.doc else ''}"
        yield f"  {self.kinds[machine]}: enum {{"
        last = len(table.states) - 1
        for index, (name, state) in enumerate(zip(self.states[machine], table.states, strict=True)):
            yield f"    {name}{'' if index == last else ','}{_remark(state.doc)}"
        yield "  };"
        yield f"  {self.records[machine]}: record"
        yield f"    {self.state_fields[machine]}: {self.kinds[machine]};"
        for index, (field, row) in enumerate(zip(self.fields[machine], table.variables, strict=True)):
            yield f"    {field}: {self.domain_type(machine, index)};{_remark(row.doc)}"
        yield "  end;"

    def domain_type(self, machine: str, index: int) -> str:
        """The type of a variable."""
        row = self.scene.tables[machine].variables[index]
        if row.kind == "ref":
            return self.references[self.scene.system.part_index(row.part)]
        low, high = self.scene.domains(machine)[index]
        return f"{low}..{high}"

    def _variables(self) -> Iterator[str]:
        yield "var"
        for number, part in enumerate(self.scene.parts):
            yield f"  {self.parts[number]}: array[{self.indices[number]}] of {self.records[part.table.name]};"
        yield ""

    def _start(self) -> Iterator[str]:
        yield 'startstate "start"'
        yield "begin"
        for number, part in enumerate(self.scene.parts):
            machine, table = part.table.name, part.table
            name = self.instance_of(number, 0)
            record = f"{self.parts[number]}[{name}]"
            yield f"  for {name}: {self.indices[number]} do"
            yield f"    {record}.{self.state_fields[machine]} := {self.states[machine][table.initial]};"
            data = self.scene.rows[number].data
            for field, row, value in zip(self.fields[machine], table.variables, data, strict=True):
                text = self.constant(("int", value), row, machine) or str(value)
                yield f"    {record}.{field} := {text};"
            yield "  end;"
        yield "end;"
        yield ""

    def _property(self, name: str) -> Iterator[str]:
        row = next(row for row in self.scene.system.always if row.name == name)
        for condition in row.conditions:
            yield f"-- {comment(condition.text)}"
        texts = [self.test(condition.term, NOWHERE) for condition in row.conditions]
        yield f'invariant "{name}"'
        yield f"  {opened(self.all_of(texts))};"
        yield ""

    # ---- machines

    def taking(self, machine: str, events: tuple[int, ...], record: str) -> str:
        if (machine, events) not in self._takes:
            make = self._takes_one if len(events) == 1 else self._takes_many
            self._takes[machine, events] = make(self.scene.tables[machine], events)
        name = self._takes[machine, events]
        return name if name in (ALWAYS, NEVER) else f"{name}({record})"

    def _takes_one(self, table: Table, events: tuple[int, ...]) -> str:
        """The name of a function that says whether an event is taken; or that it always or never is."""
        at = At(machine=table.name, me=self.me)
        groups: dict[Term, list[int]] = {}
        for states, answers, _ in answers_to(table, events[0]):
            condition = either([answer.guard if answer.guard is not None else TRUE for answer in answers])
            groups.setdefault(condition, []).extend(states)
        if not groups or len(groups.get(TRUE, ())) == len(table.states):
            return ALWAYS if groups else NEVER
        name = self.names.claim(f"{table.name}_takes_{table.events[events[0]].name}")
        lines = [f"  switch {self.me}.{self.state_fields[table.name]}"]
        for condition, group in groups.items():
            names = ", ".join(self.states[table.name][state] for state in sorted(group))
            lines.append(f"  case {names}: return {opened(self.test(condition, at))};")
        lines += ["  end;", "  return false;"]
        head = f"function {name}({self.me}: {self.records[table.name]}): boolean;"
        self._blocks += [head, "begin", *lines, "end;", ""]
        return name

    def _takes_many(self, table: Table, events: tuple[int, ...]) -> str:
        """The name of a function that tries events on a copy."""
        machine, record = table.name, self.records[table.name]
        lines = [f"  {self.copy} := {self.me};"]
        for event in events[:-1]:
            test = self.taking(machine, (event,), self.copy)
            lines += [f"  if {negated(test)} then return false; end;"] if test != ALWAYS else []
            lines.append(f"  {self.firing(machine, event, self.copy)};")
        lines.append(f"  return {self.taking(machine, (events[-1],), self.copy)};")
        name = self.names.claim(f"{machine}_takes_{'_'.join(table.events[event].name for event in events)}")
        head = [f"function {name}({self.me}: {record}): boolean;", f"var {self.copy}: {record};"]
        self._blocks += [*head, "begin", *lines, "end;", ""]
        return name

    def firing(self, machine: str, event: int, record: str) -> str:
        """A statement that gives an event to an instance that takes it."""
        if (machine, event) not in self._fires:
            table = self.scene.tables[machine]
            self._fires[machine, event] = name = self.names.claim(f"{machine}_{table.events[event].name}")
            self._blocks += self._event(table, event, name)
        return f"{self._fires[machine, event]}({record})"

    def _event(self, table: Table, event: int, name: str) -> list[str]:
        inner = self.names.inner()
        declared: list[str] = []
        cases: list[str] = []
        for states, answers, whys in answers_to(table, event):
            names = ", ".join(self.states[table.name][state] for state in states)
            cases.append(f"  case {names}:{_remark('; '.join(f'stays: {why}' for why in whys))}")
            cases += [f"    {line}" for line in self._answers(table, answers, inner, declared)]
        doc = table.events[event].doc
        return [
            *([f"-- {comment(doc)}"] if doc else []),
            f"procedure {name}(var {self.me}: {self.records[table.name]});",
            *declared,
            "begin",
            *([f"  switch {self.me}.{self.state_fields[table.name]}", *cases, "  end;"] if cases else []),
            "end;",
            "",
        ]

    def _answers(self, table: Table, answers: Sequence[Answer], names: Names, declared: list[str]) -> Iterator[str]:
        at = At(machine=table.name, me=self.me)
        if len(answers) == 1:
            yield from self._answer(table, answers[0], names, declared)
            return
        for number, (answer, turn) in enumerate(zip(answers, guards_in_turn(answers), strict=True)):
            guard = answer.guard if answer.guard is not None else TRUE
            last = number == len(answers) - 1 and answer.guard is None
            test = opened(self.test(guard if number else turn, at))
            yield "else" if last else f"{'elsif' if number else 'if'} {test} then"
            yield from (f"  {line}" for line in self._answer(table, answer, names, declared))
        yield "end;"

    def _answer(self, table: Table, answer: Answer, names: Names, declared: list[str]) -> Iterator[str]:
        """Statements that set what an answer sets, as if all at once, and move."""
        at = At(machine=table.name, me=self.me)
        then: list[str] = []
        done: set[int] = set()
        for index, term in answer.sets:
            text = self.constant(term, table.variables[index], table.name)
            text = text or self.value(self.wrapped(term, table.name, index), at, [])
            if reads(term) & done:
                name = names.claim("next")
                declared.append(f"var {name}: {self.domain_type(table.name, index)};")
                yield f"{name} := {text};"
                text = name
            then.append(f"{self.me}.{self.fields[table.name][index]} := {text};")
            done.add(index)
        yield from then
        if answer.target is not None:
            yield f"{self.me}.{self.state_fields[table.name]} := {self.states[table.name][answer.target]};"

    # ---- actions

    def _rule(self, action: ActionRow) -> Iterator[str]:
        yield f"-- {action.name}, by {action.by}{f': {comment(action.doc)}' if action.doc else ''}"
        if action.effects:
            yield f"-- effects: {comment(', '.join(action.effects))}"
        if not all(self.scene.ranges[action.name]):
            yield "-- A choice has no value at this scope."
            yield ""
            return
        inner = self.names.inner()
        names = [inner.claim(name) for name in argument_names(action)]
        types = [self.indices[part] for _, part in action.picks]
        types += [f"{self.value(low, NOWHERE, [])}..{self.value(high, NOWHERE, [])}" for _, low, high in action.choices]
        self._types_of.update(zip(names, types, strict=True))
        at = At(action, tuple(names))
        if names:
            yield f"ruleset {'; '.join(f'{name}: {kind}' for name, kind in zip(names, types, strict=True))} do"
        yield f'rule "{action.name}"'
        yield from self._guard(action, at)
        yield "==>"
        yield from _Body(self, action, at, inner).lines()
        yield "end;"
        if names:
            yield "end;"
        yield ""

    def _guard(self, action: ActionRow, at: At) -> Iterator[str]:
        for index, (test, text) in enumerate(telling(self.asked(action, at))):
            yield f"  {'&' if index else ' '} {test}{_remark(text)}"


class _Body:
    """The body of a rule: what is read first, then the events, then what is set."""

    def __init__(self, writer: _Murphi, action: ActionRow, at: At, names: Names) -> None:
        self._writer, self._action, self._at, self._names = writer, action, at, names
        self._declared: list[str] = []
        self._first: list[str] = []
        self._found: dict[Term, str] = {}

    def lines(self) -> Iterator[str]:
        """Declarations and statements."""
        then = [line for number in range(len(self._action.fired)) for line in self._participant(number)]
        then += [line for setting in self._action.settings for line in self._setting(setting)]
        yield from self._declared
        yield "begin"
        yield from (f"  {line}" for line in (*self._first, *then))

    def _declare(self, kind: str, type_: str) -> str:
        name = self._names.claim(f"{kind}_{len(self._declared) + 1}")
        self._declared.append(f"var {name}: {type_};")
        return name

    def _instance(self, part: int, term: Term, remark: str) -> str:
        """Text of an instance as it was before anything moved."""
        writer = self._writer
        if term not in self._found:
            presence: list[str] = []
            text = writer.value(term, self._at, presence)
            if term[0] == "data":
                name = self._declare("found", writer.references[part])
                there = opened(writer.all_of(presence))
                found = f"{name} := {text};"
                if there != ALWAYS:
                    found = f"if {there} then {found} else {name} := {writer.none}; end;"
                self._first.append(f"{found}{_remark(remark)}")
                text = name
            self._found[term] = text
        return self._found[term]

    def _participant(self, number: int) -> Iterator[str]:
        writer, fired = self._writer, self._action.fired[number]
        part = writer.parts[fired.part]
        yield f"-- {comment(writer.remark_on(fired))}"
        if fired.which[0] == "one":
            index = self._instance(fired.part, fired.which[1], fired.text)
            yield from (f"{text};" for text in self._fire(fired, f"{part}[{index}]"))
            return
        name = writer.instance_of(fired.part, 0)
        events = self._fire(fired, f"{part}[{name}]")
        there = self._there(number, name)
        yield f"for {name}: {writer.indices[fired.part]} do"
        if there == ALWAYS:
            yield from (f"  {text};" for text in events)
        else:
            yield f"  if {opened(there)} then {' '.join(f'{text};' for text in events)} end;"
        yield "end;"

    def _there(self, number: int, index: str) -> str:
        """Text of whether an instance is a participant that is found by looking for it."""
        writer, fired = self._writer, self._action.fired[number]
        if fired.which[0] == "every":
            return ALWAYS
        _, variable, instance = fired.which
        machine = writer.machine(fired.part)
        referred = writer.scene.system.part_index(writer.scene.tables[machine].variables[variable].part)
        target = self._instance(referred, instance, fired.text)
        tests = [f"{target} >= 0"] if instance[0] == "data" else []
        field = writer.fields[machine][variable]
        text = writer.all_of([*tests, f"{writer.parts[fired.part]}[{index}].{field} = {target}"])
        if not any(earlier.part == fired.part for earlier in self._action.fired[:number]):
            return text
        kind = writer.indices[fired.part]
        name = self._declare("there", f"array[{kind}] of boolean")
        self._first.append(f"for {index}: {kind} do {name}[{index}] := {text}; end;{_remark(fired.text)}")
        return f"{name}[{index}]"

    def _fire(self, fired: Fired, record: str) -> list[str]:
        return [self._writer.firing(self._writer.machine(fired.part), event, record) for event in fired.events]

    def _setting(self, setting: Setting) -> Iterator[str]:
        writer = self._writer
        machine = writer.machine(setting.part)
        text = writer.constant(setting.value, writer.scene.tables[machine].variables[setting.variable], machine)
        if text is None:
            text = writer.value(writer.wrapped(setting.value, machine, setting.variable), self._at, [])
            if looks(setting.value):
                name = self._declare("value", writer.domain_type(machine, setting.variable))
                self._first.append(f"{name} := {text};{_remark(setting.text)}")
                text = name
        index = self._instance(setting.part, setting.instance, setting.text)
        field = writer.fields[machine][setting.variable]
        yield f"{writer.parts[setting.part]}[{index}].{field} := {text};{_remark(f'set {setting.text}')}"


def _remark(text: str) -> str:
    return f"  -- {comment(text)}" if text else ""
