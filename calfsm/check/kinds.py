"""What kind of value an expression has, judged in the scope where it stands, and what is wrong with it if none.

A machine's scope holds its variables and parameters. A system's scope holds parameters, parts, definitions, and the
instances that an action or an aggregate names. One judge serves both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import attrs

from calfsm.check.wording import near, owned
from calfsm.spec.expressions import (
    Aggregate,
    Arithmetic,
    Both,
    Compare,
    Expression,
    Not,
    Number,
    Path,
    Truth,
    Within,
)
from calfsm.spec.findings import listed
from calfsm.spec.model import MachineSpec, Param, SystemSpec, Variable


@attrs.frozen
class Kind:
    """A kind of value: `int`, `bool`, `none`, an `enum` of words, or an `instance` of a part or a `ref` to one."""

    name: str
    words: tuple[str, ...] = ()
    part: str = ""

    def __str__(self) -> str:
        match self.name:
            case "int":
                return "a number"
            case "bool":
                return "a truth value"
            case "enum":
                return f"one of {listed(self.words, 'or')}"
            case "ref":
                return f"a reference into {self.part}"
            case "instance":
                return f"an instance of {self.part}"
        return "`none`"

    @property
    def points(self) -> bool:
        """Whether it is an instance or leads to one."""
        return self.name in ("ref", "instance")


INT = Kind("int")
BOOL = Kind("bool")
NONE = Kind("none")


def kind_of_variable(variable: Variable) -> Kind:
    """The kind of value that a variable holds."""
    if variable.enum is not None:
        return Kind("enum", words=variable.enum)
    if variable.ref is not None:
        return Kind("ref", part=variable.ref)
    return BOOL if variable.boolean is not None else INT


@attrs.frozen
class Problem:
    """Something wrong inside an expression, at `offset` characters from its start."""

    code: str
    offset: int
    message: str
    because: str = ""
    fix: str = ""


class Unclear(Exception):
    """Raised where a kind cannot be told. Holds the problem, or None when it is found elsewhere already."""

    def __init__(self, problem: Problem | None = None) -> None:
        super().__init__()
        self.problem = problem


class Scope(Protocol):
    """What names mean in one place."""

    def knows(self, name: str) -> bool:
        """Whether a bare name means something here; if not it may be the word of an enum."""

    def resolve(self, path: Path) -> Kind:
        """The kind of what `path` leads to. Raises Unclear."""

    def states(self, kind: Kind) -> Collection[str] | None:
        """The states of what `kind` points to; None when they cannot be known here."""

    def inside(self, aggregate: Aggregate) -> Scope:
        """The scope of the body of an aggregate. Raises Unclear."""


@attrs.frozen
class MachineScope:
    """The names of a machine's guards and updates."""

    spec: MachineSpec

    def knows(self, name: str) -> bool:
        """Whether it is a variable, a parameter or `none`."""
        return name in self.spec.vars or name in self.spec.params or name == "none"

    def resolve(self, path: Path) -> Kind:
        """The kind of a variable, a parameter or `none`."""
        if path.fields:
            message = f"`{path}` looks into another object"
            because = "a machine knows its own variables only; an action of a system can look at several"
            raise Unclear(Problem("wrong-kind", path.offset, message, because, "ask for it in the system's `when`"))
        if path.root in self.spec.vars:
            return kind_of_variable(self.spec.vars[path.root])
        if path.root in self.spec.params:
            return INT
        if path.root == "none":
            return NONE
        raise Unclear(_unknown_name(path, self.spec.name, [*self.spec.vars, *self.spec.params]))

    def states(self, kind: Kind) -> Collection[str] | None:
        """None: a machine cannot see the states of another."""
        return None

    def inside(self, aggregate: Aggregate) -> Scope:
        """Refused: a machine has no parts."""
        message = f"`{aggregate.kind}` runs over a part, and a machine has none"
        fix = "ask for it in the system's `when`"
        raise Unclear(Problem("wrong-kind", aggregate.offset, message, "only a system has parts", fix))


@attrs.frozen
class SystemScope:
    """The names of a system, and the instances and numbers named locally (by `pick`, `choose`, `each`, `for`)."""

    system: SystemSpec
    machines: Mapping[str, MachineSpec]
    local: Mapping[str, Kind] = attrs.field(factory=dict)
    _unfolding: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, Param]:
        """The parameters of the system and of its machines; the system's values hold."""
        return parameters(self.system, self.machines)

    def machine(self, part: str) -> MachineSpec | None:
        """The machine of a part, if both are known."""
        found = self.system.parts.get(part)
        return self.machines.get(found.machine) if found is not None else None

    def knows(self, name: str) -> bool:
        """Whether a bare name means something in this system."""
        system = self.system
        return (
            name in self.local or name in system.parts or name in system.define or name == "none" or name in self.params
        )

    def resolve(self, path: Path) -> Kind:
        """The kind of what a path leads to, a field at a time."""
        kind = self._root(path)
        for field in path.fields:
            kind = self._follow(kind, field, path)
        if kind.points and kind.part not in self.system.parts:
            raise Unclear  # whoever names the part is blamed
        return kind

    def states(self, kind: Kind) -> Collection[str] | None:
        """The states of the machine that `kind` points to."""
        machine = self.machine(kind.part)
        return machine.states if machine is not None else None

    def inside(self, aggregate: Aggregate) -> SystemScope:
        """This scope with the variable of an aggregate in it."""
        if aggregate.part not in self.system.parts:
            raise Unclear(unknown_part(aggregate.part, self.system, aggregate.offset))
        return self.naming({aggregate.variable: Kind("instance", part=aggregate.part)})

    def naming(self, names: Mapping[str, Kind]) -> SystemScope:
        """This scope with more names in it."""
        return attrs.evolve(self, local={**self.local, **names})

    def _root(self, path: Path) -> Kind:
        name, system = path.root, self.system
        if name in self.local:
            return self.local[name]
        if name == "none":
            return NONE
        if name in system.parts and system.parts[name].single:
            return Kind("instance", part=name)
        if name in system.define:
            return self._definition(name)
        if name in self.params:
            return INT
        if name in system.parts:
            message = f"`{name}` is a part of many instances, not one of them"
            fix = f"name one with `pick: {{x: {name}}}`, or write `all(… for x in {name})`"
            raise Unclear(Problem("wrong-kind", path.offset, message, "", fix))
        known = [*self.local, *system.parts, *system.define, *self.params]
        raise Unclear(_unknown_name(path, system.name, known))

    def _definition(self, name: str) -> Kind:
        if name in self._unfolding:
            raise Unclear  # the ring is a finding of its own
        scope = SystemScope(self.system, self.machines, {}, (*self._unfolding, name))
        kind = Judge(scope).kind(self.system.define[name])
        if kind is None:
            raise Unclear
        return kind

    def _follow(self, kind: Kind, field: str, path: Path) -> Kind:
        if not kind.points:
            message = f"`{path}` asks {kind} for its `{field}`"
            raise Unclear(Problem("wrong-kind", path.offset, message, "only an instance has variables"))
        machine = self.machine(kind.part)
        if machine is None:
            raise Unclear
        if field in machine.vars:
            return kind_of_variable(machine.vars[field])
        beside = [name for name, part in self.system.parts.items() if part.per == kind.part]
        if field in beside:
            return Kind("instance", part=field)
        known = [*machine.vars, *beside]
        message = f"`{path}`: {machine.name} has no variable `{field}`"
        because = owned(machine.name, "variables", machine.vars)
        fix = near(field, known, "name one of these, or add the variable to the machine")
        raise Unclear(Problem("unknown-variable", path.offset, message, because, fix))


def parameters(system: SystemSpec, machines: Mapping[str, MachineSpec]) -> Mapping[str, Param]:
    """The parameters of a system and of its machines, in one space of names; the system's values hold."""
    found: dict[str, Param] = {}
    for part in system.parts.values():
        if part.machine in machines:
            found.update(machines[part.machine].params)
    return {**found, **system.params}


def unknown_part(name: str, system: SystemSpec, offset: int = 0) -> Problem:
    """The problem of a part that a system does not have."""
    because = owned(system.name, "parts", system.parts)
    fix = near(name, system.parts, "name one of these, or add the part")
    return Problem("unknown-part", offset, f"{system.name} has no part `{name}`", because, fix)


def unknown_reference(name: str, machine: MachineSpec) -> Problem:
    """The problem of a reference that a machine does not have."""
    references = [known for known, variable in machine.vars.items() if variable.ref is not None]
    because = owned(machine.name, "references", references)
    fix = near(name, references, "name one of these")
    return Problem("unknown-variable", 0, f"{machine.name} has no reference `{name}`", because, fix)


def _unknown_name(path: Path, owner: str, known: Collection[str]) -> Problem:
    message = f"`{path.root}` means nothing in {owner}"
    because = f"the names known here are {listed(known)}" if known else "no names are known here"
    return Problem("unknown-name", path.offset, message, because, near(path.root, known, "declare it, or remove it"))


def judge(expression: Expression, scope: Scope, wanted: Kind | None = None) -> list[Problem]:
    """Everything that is wrong with an expression in a scope; `wanted` is the kind that its place asks for."""
    found = Judge(scope)
    if wanted is None:
        found.kind(expression)
    else:
        found.fits(expression, wanted)
    return found.problems


class Judge:
    """Finds kinds, and collects what is wrong on the way. A kind that cannot be told is None and blamed once."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.problems: list[Problem] = []

    def kind(self, expression: Expression) -> Kind | None:
        """The kind of a whole expression."""
        match expression:
            case Number():
                return INT
            case Truth():
                return BOOL
            case Path():
                return self._resolve(expression)
            case Within():
                self._membership(expression)
            case Not(item=item):
                self._condition(item, "`not`")
            case Both(word=word, items=items):
                for item in items:
                    self._condition(item, f"`{word}`")
            case Compare():
                self._comparison(expression)
            case Arithmetic(op=op, left=left, right=right):
                self._number(left, f"`{op}`")
                self._number(right, f"`{op}`")
                return INT
            case Aggregate():
                self._aggregate(expression)
                return INT if expression.kind == "count" else BOOL
        return BOOL

    def fits(self, expression: Expression, wanted: Kind) -> None:
        """Judge an expression that stands where a value of a kind is wanted."""
        if self._is_word(expression, wanted):
            return
        kind = self.kind(expression)
        if kind is None or _same(kind, wanted):
            return
        message = f"this is {kind}, and {wanted} is wanted here"
        fix = _as_condition(expression, kind) if wanted == BOOL else ""
        self._blame("wrong-kind", expression, message, "", fix)

    def _resolve(self, path: Path) -> Kind | None:
        try:
            return self._scope.resolve(path)
        except Unclear as unclear:
            if unclear.problem is not None:
                self.problems.append(unclear.problem)
            return None

    def _condition(self, expression: Expression, asker: str) -> None:
        kind = self.kind(expression)
        if kind is not None and kind != BOOL:
            message = f"{asker} wants truth values, and this is {kind}"
            self._blame("wrong-kind", expression, message, "", _as_condition(expression, kind))

    def _number(self, expression: Expression, asker: str) -> None:
        kind = self.kind(expression)
        if kind is not None and kind != INT:
            self._blame("wrong-kind", expression, f"{asker} wants numbers, and this is {kind}")

    def _membership(self, test: Within) -> None:
        kind = self._resolve(test.subject)
        if kind is None:
            return
        if kind.name == "enum":
            self._words(test, kind)
        elif kind.points:
            self._states(test, kind)
        else:
            message = f"`is` and `in` ask an instance for its state; `{test.subject}` is {kind}"
            self._blame("wrong-kind", test, message, "", "write `==`")

    def _words(self, test: Within, kind: Kind) -> None:
        for word in test.members:
            if word not in kind.words:
                message = f"`{test.subject}` is never `{word}`"
                self._blame("wrong-kind", test, message, f"it is {kind}", near(word, kind.words, "write one of these"))

    def _states(self, test: Within, kind: Kind) -> None:
        states = self._scope.states(kind)
        if states is None:
            if isinstance(self._scope, MachineScope):
                message = f"a machine cannot see the state of what `{test.subject}` refers to"
                self._blame("wrong-kind", test, message, "", "ask for it in the system's `when`")
            return
        for word in test.members:
            if word == "none" and kind.name == "ref":
                op = "!=" if test.negated else "=="
                message = f"`none` is not a state of what `{test.subject}` refers to"
                self._blame("unknown-state", test, message, "", f"write `{test.subject} {op} none`")
            elif word not in states:
                message = f"`{test.subject}` is never in a state `{word}`"
                because = f"its states are {listed(states)}"
                self._blame("unknown-state", test, message, because, near(word, states, "name one of these"))

    def _comparison(self, test: Compare) -> None:
        left, right = test.left, test.right
        if test.op not in ("==", "!="):
            self._number(left, f"`{test.op}`")
            self._number(right, f"`{test.op}`")
            return
        for word, other in ((left, right), (right, left)):
            if isinstance(word, Path) and not word.fields and not self._scope.knows(word.root):
                kind = self.kind(other)
                if kind is not None and kind.name == "enum" and isinstance(other, Path):
                    self._enum_word(word, other, kind)
                    return
                if kind is not None:
                    self._resolve(word)
                return
        kinds = self.kind(left), self.kind(right)
        if kinds[0] is None or kinds[1] is None or _comparable(kinds[0], kinds[1]):
            return
        self._blame("wrong-kind", test, f"{kinds[0]} is compared with {kinds[1]}", "they are never equal")

    def _enum_word(self, word: Path, other: Path, kind: Kind) -> None:
        if word.root not in kind.words:
            message = f"`{other}` is never `{word.root}`"
            self._blame("wrong-kind", word, message, f"it is {kind}", near(word.root, kind.words, "write one of these"))

    def _is_word(self, expression: Expression, wanted: Kind) -> bool:
        """Whether an expression is one word that stands for a value of a wanted enum; a wrong word is blamed."""
        if wanted.name != "enum" or not isinstance(expression, Path) or expression.fields:
            return False
        if self._scope.knows(expression.root):
            return False
        if expression.root not in wanted.words:
            message = f"`{expression}` is not one of its words"
            fix = near(expression.root, wanted.words, "write one of these")
            self._blame("wrong-kind", expression, message, f"it is {wanted}", fix)
        return True

    def _aggregate(self, expression: Aggregate) -> None:
        try:
            inner = Judge(self._scope.inside(expression))
        except Unclear as unclear:
            if unclear.problem is not None:
                self.problems.append(unclear.problem)
            return
        if expression.body is not None:
            inner._condition(expression.body, f"`{expression.kind}`")
        if expression.where is not None:
            inner._condition(expression.where, "`if`")
        self.problems += inner.problems

    def _blame(self, code: str, node: Expression, message: str, because: str = "", fix: str = "") -> None:
        self.problems.append(Problem(code, node.offset, message, because, fix))


def _same(kind: Kind, wanted: Kind) -> bool:
    if wanted.name == "ref":
        return kind == NONE or (kind.points and kind.part == wanted.part)
    if wanted.name == "enum":
        return kind.name == "enum" and set(kind.words) <= set(wanted.words)
    return kind == wanted


def _comparable(left: Kind, right: Kind) -> bool:
    if left.points and right.points:
        return left.part == right.part
    if NONE in (left, right):
        return left.points or right.points
    if left.name == right.name == "enum":
        return bool(set(left.words) & set(right.words))
    return left == right


def _as_condition(expression: Expression, kind: Kind) -> str:
    """How one would ask a value that is not a truth value."""
    if not isinstance(expression, Path):
        return "compare it with something"
    if kind == INT:
        return f"write `{expression} > 0`, or what is meant"
    if kind.name == "enum":
        return f"write `{expression} == {kind.words[0]}`, or what is meant" if kind.words else ""
    if kind.points:
        return f"write `{expression} is <state>`"
    return ""
