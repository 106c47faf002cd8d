"""A system interpreted straight from its spec, to hold `Engine` against: dicts and names, nothing compiled or kept.

Every instance is a dict of its state and variables in the spec's words; a reference is `(part, index)` or None. What
looks through an empty reference raises Empty, and the test around it is false.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from arithmetic import OPERATORS

from calfsm.compile.load import compile_specs
from calfsm.engine.engine import Engine
from calfsm.engine.system import System
from calfsm.spec.expressions import Aggregate, Arithmetic, Both, Compare, Expression, Not, Number, Path, Truth, Within
from calfsm.spec.model import Alternative, Bound, MachineSpec, Participant, SystemSpec, Variable
from calfsm.spec.read import read_spec_text

Instance = tuple[str, int]
Names = Mapping[str, Any]


class Empty(Exception):
    """A reference that leads nowhere was looked through."""


class Refusal(Exception):
    """The action is not done."""


class Naive:
    """One system at its exploring parameters. `world`: part to its instances."""

    def __init__(self, machines: Mapping[str, MachineSpec], system: SystemSpec) -> None:
        self.machines, self.system = machines, system
        used = [machines[part.machine] for part in system.parts.values()]
        params = [param for spec in used for param in spec.params.items()] + list(system.params.items())
        self.params = {name: param.explores for name, param in params}
        self.world: dict[str, list[dict[str, Any]]] = {}
        for name, part in system.parts.items():
            count = len(self.world[part.per]) if part.per else self.number(part.count)
            self.world[name] = [self.fresh(machines[part.machine]) for _ in range(count)]

    def number(self, bound: Bound) -> int:
        return bound if isinstance(bound, int) else self.params[bound]

    def fresh(self, spec: MachineSpec) -> dict[str, Any]:
        return {"state": spec.initial, **{name: self.initial(variable) for name, variable in spec.vars.items()}}

    def initial(self, variable: Variable) -> Any:
        if variable.ref is not None:
            return (variable.ref, self.number(variable.initial)) if variable.initial is not None else None
        if variable.initial is not None:
            return variable.initial if variable.kind == "enum" else self.number(variable.initial)
        if variable.kind == "int":
            assert variable.integer is not None
            return self.number(variable.integer[0])
        return {"bool": variable.boolean, "enum": (variable.enum or ("",))[0], "cycle": 0}[variable.kind]

    def spec(self, part: str) -> MachineSpec:
        return self.machines[self.system.parts[part].machine]

    # ---- expressions

    def holds(self, expression: Expression, names: Names) -> bool:
        match expression:
            case Not(item=item):
                return not self.holds(item, names)
            case Both(word="and", items=items):
                return all(self.holds(item, names) for item in items)
            case Both(items=items):
                return any(self.holds(item, names) for item in items)
            case Path(root=root, fields=()) if root not in names and root in self.system.define:
                return self.holds(self.system.define[root], names)
        try:
            return bool(self.value(expression, names))
        except Empty:
            return False

    def value(self, expression: Expression, names: Names) -> Any:
        match expression:
            case Number(value=value) | Truth(value=value):
                return value
            case Path():
                return self.follow(expression, names)
            case Not() | Both():
                return self.holds(expression, names)
            case Arithmetic(op=op, left=left, right=right):
                return OPERATORS[op](self.number_of(left, names), self.number_of(right, names))
            case Compare(op=op, left=left, right=right):
                return OPERATORS[op](self.number_of(left, names), self.number_of(right, names))
            case Within(subject=subject, members=members, negated=negated):
                found = self.follow(subject, names)
                if found is None:
                    raise Empty
                word = self.world[found[0]][found[1]]["state"] if isinstance(found, tuple) else found
                return (word in members) is not negated
            case Aggregate():
                return self.aggregate(expression, names)
        raise AssertionError(expression)

    def number_of(self, expression: Expression, names: Names) -> Any:
        """A value for arithmetic: a test among the operands is judged by itself."""
        if isinstance(expression, Compare | Within | Not | Both):
            return self.holds(expression, names)
        return self.value(expression, names)

    def aggregate(self, expression: Aggregate, names: Names) -> Any:
        chosen = []
        for index in range(len(self.world[expression.part])):
            inner = {**names, expression.variable: (expression.part, index)}
            if expression.where is None or self.holds(expression.where, inner):
                chosen.append(inner)
        if expression.kind == "count":
            return len(chosen)
        assert expression.body is not None
        truths = [self.holds(expression.body, inner) for inner in chosen]
        return all(truths) if expression.kind == "all" else any(truths)

    def follow(self, path: Path, names: Names) -> Any:
        if path.root == "none":
            return None
        if path.root in names:
            found = names[path.root]
        elif path.root in self.system.define:
            return self.value(self.system.define[path.root], names)
        elif path.root in self.world:
            found = (path.root, 0)
        else:
            found = self.params.get(path.root, path.root)
        for field in path.fields:
            if found is None:
                raise Empty
            part, index = found
            instance = self.world[part][index]
            found = instance.get(field, (field, index))
        return found

    # ---- actions

    def apply(self, name: str, arguments: Mapping[str, int]) -> None:
        """Do an action. Raises Refusal, and then nothing has changed."""
        action = self.system.actions[name]
        names: dict[str, Any] = {pick: (part, arguments[pick]) for pick, part in action.pick.items()}
        names |= {choice: arguments[choice] for choice in action.choose}
        after = copy.deepcopy(self.world)
        try:
            if action.when is not None and not self.holds(action.when, names):
                raise Refusal("guard")
            for participant, events in action.fire.items():
                for part, index in self.found(participant, names):
                    for event in events:
                        self.fire(self.spec(part), after[part][index], event)
            for target, expression in action.set.items():
                self.set(after, target, expression, names)
        except (Empty, ZeroDivisionError):
            raise Refusal("empty") from None
        self.world = after

    def found(self, participant: Participant, names: Names) -> list[Instance]:
        part = participant.path.root
        if participant.every:
            return [(part, index) for index in range(len(self.world[part]))]
        if participant.where:
            variable, path = participant.where
            try:
                target = self.follow(path, names)
            except Empty:
                return []  # nobody refers to what is not there
            found = enumerate(self.world[part])
            return [(part, index) for index, it in found if it[variable] is not None and it[variable] == target]
        one = self.follow(participant.path, names)
        if one is None:
            raise Empty
        return [one]

    def fire(self, spec: MachineSpec, instance: dict[str, Any], event: str) -> None:
        cell = spec.cell(instance["state"], event)
        names = {name: value for name, value in instance.items() if name != "state"}
        answer = next((answer for answer in (cell.alternatives if cell else ()) if self.open(answer, names)), None)
        if answer is None:
            raise Refusal(event)
        values = {name: self.number_of(expression, names) for name, expression in answer.set.items()}
        for name, value in values.items():
            instance[name] = self.wrapped(spec.vars[name], value)
        instance["state"] = answer.to if answer.to is not None else instance["state"]

    def open(self, answer: Alternative, names: Names) -> bool:
        return answer.when is None or self.holds(answer.when, names)

    def set(self, after: dict[str, list[dict[str, Any]]], target: str, expression: Expression, names: Names) -> None:
        root, *fields = target.split(".")
        found = self.follow(Path(root, tuple(fields[:-1])), names)
        if found is None:
            raise Empty
        part, index = found
        variable = self.spec(part).vars[fields[-1]]
        value = self.wrapped(variable, self.number_of(expression, names))
        if variable.kind == "int":
            assert variable.integer is not None
            low, high = map(self.number, variable.integer)
            if not low <= value <= high:
                raise Refusal("domain")
        after[part][index][fields[-1]] = value

    def wrapped(self, variable: Variable, value: Any) -> Any:
        if variable.kind == "bool":
            return bool(value)
        if variable.kind == "cycle":
            assert variable.cycle is not None
            return value % self.number(variable.cycle)
        return value

    def described(self) -> dict[str, list[dict[str, str]]]:
        """As `Engine.described` has it."""
        return {
            part: [{name: _text(value) for name, value in instance.items()} for instance in instances]
            for part, instances in self.world.items()
        }


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{value[0]}[{value[1]}]"
    return {None: "none", True: "true", False: "false"}.get(value, str(value)) if not _is_int(value) else str(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def read(*texts: str) -> tuple[dict[str, MachineSpec], SystemSpec]:
    """The machines and the one system in some documents. They are read, and not checked."""
    machines, systems = {}, []
    for text in texts:
        reading = read_spec_text(text)
        assert not reading.findings, "\n".join(map(str, reading.findings))
        if isinstance(reading.spec, MachineSpec):
            machines[reading.spec.name] = reading.spec
        elif isinstance(reading.spec, SystemSpec):
            systems.append(reading.spec)
    (system,) = systems
    return machines, system


def compiled(*texts: str) -> System:
    """The system in some documents."""
    machines, system = read(*texts)
    return compile_specs(machines, {system.name: system}).systems[system.name]


def kept(engine: Engine) -> list[Any]:
    """What an engine keeps beside its states: members, referrers and counts."""
    instances = engine._instances
    members = [[sorted(those) for those in rows] for rows in instances.members]
    referrers = [
        (part, variable, {index: sorted(those) for index, those in kept.items() if those})
        for part, references in enumerate(instances._references)
        for variable, kept in references
    ]
    return [members, referrers, list(instances._tallied), dict(instances.stays), dict(engine.refusals)]


def recomputed(engine: Engine) -> list[Any]:
    """The same from scratch, counters left as they are."""
    instances = engine._instances
    members = [
        [[index for index, state in enumerate(states) if state == number] for number in range(len(rows))]
        for states, rows in zip(instances.states, instances.members, strict=True)
    ]
    referrers = []
    for part, references in enumerate(instances._references):
        for variable, _ in references:
            found: dict[int, list[int]] = {}
            for index, data in enumerate(instances.data[part]):
                if data[variable] >= 0:
                    found.setdefault(data[variable], []).append(index)
            referrers.append((part, variable, found))
    tallied = [0] * len(instances._tallied)
    for part, watches in enumerate(instances._watches):
        for tally, holds in watches:
            tallied[tally] = sum(map(bool, map(holds, range(len(instances.states[part])))))
    return [members, referrers, tallied, dict(instances.stays), dict(engine.refusals)]
