"""SystemSpec and the tables of its machines to System."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from calfsm.compile.lower import Instance, Unresolved, Value, lower
from calfsm.compile.machines import bound_term, digest
from calfsm.compile.ownership import ITEM, always, is_free
from calfsm.engine.code import Term
from calfsm.engine.system import (
    ActionRow,
    Condition,
    Fired,
    LeadsToRow,
    PartRow,
    PropertyRow,
    ResourceRow,
    Setting,
    System,
    TallyRow,
)
from calfsm.engine.table import ParamRow, Table
from calfsm.spec.expressions import Aggregate, Both, Expression, Not, Path, Truth, conjuncts, text_of
from calfsm.spec.model import Action, LeadsTo, Participant, Resource, SystemSpec, claims


def compile_system(spec: SystemSpec, tables: Mapping[str, Table]) -> System:
    """The system of a spec that passed its checks; `tables` by machine name."""
    return _Compiler(spec, tables).system()


@attrs.frozen
class _Scope:
    """Names in a system: picks and choices, what an aggregate runs over, definitions, parameters, single parts."""

    compiler: _Compiler
    arguments: Mapping[str, Instance | Value] = attrs.field(factory=dict)
    bound: Mapping[str, Instance] = attrs.field(factory=dict)
    depth: int = 0

    def resolve(self, path: Path) -> Value | Instance | Expression:
        meaning = self._root(path.root)
        if not isinstance(meaning, Value | Instance):
            if path.fields:
                raise Unresolved(str(path))
            return meaning
        for field in path.fields:
            if not isinstance(meaning, Instance):
                raise Unresolved(str(path))
            meaning = self.compiler.field(meaning, field)
        return meaning

    def _root(self, name: str) -> Value | Instance | Expression:
        compiler = self.compiler
        if name in self.bound:
            return self.bound[name]
        if name in self.arguments:
            return self.arguments[name]
        if name in compiler.parts and compiler.spec.parts[name].single:
            return Instance(compiler.parts[name], ("int", 0))
        if name in compiler.spec.define:
            return compiler.spec.define[name]
        if name in compiler.params:  # a part of many may have the name of the parameter that counts it
            return Value(("param", name))
        raise Unresolved(name)

    def states(self, instance: Instance) -> tuple[str, ...]:
        return tuple(row.name for row in self.compiler.rows[instance.part].table.states)

    def aggregate(self, expression: Aggregate) -> Term:
        """Counts that ask each instance about itself become tallies; `all` and `any` are counts compared with 0."""
        part = self.compiler.parts[expression.part]
        where = expression.where
        if expression.kind == "all":
            assert expression.body is not None
            where = _conjunction([where, Not(expression.body)])
        elif expression.kind == "any":
            where = _conjunction([where, expression.body])
        depth = self.depth
        instance = Instance(part, ("bound", depth))
        inner = attrs.evolve(self, bound={**self.bound, expression.variable: instance}, depth=depth + 1)
        condition = lower(where, inner) if where is not None else ("int", 1)
        kept = depth == 0 and _asks_itself(condition, part)
        count = self.compiler.tally(part, condition) if kept else ("count", part, depth, condition)
        match expression.kind:
            case "all":
                return ("==", count, ("int", 0))
            case "any":
                return ("!=", count, ("int", 0))
        return count


def _asks_itself(term: Term, part: int) -> bool:
    """Whether a condition on ("bound", 0) asks that instance of `part` and nobody else: then its count can be kept.

    The instance's own of a `per` part goes by the same number, and is somebody else.
    """
    match term:
        case ("arg" | "tally" | "count", *_):
            return False
        case ("state" | "data", asked, instance, _):
            return bool(asked == part and instance == ("bound", 0))
    operands = [item for item in term[1:] if isinstance(item, tuple) and item and isinstance(item[0], str)]
    return all(_asks_itself(item, part) for item in operands)


def _conjunction(items: Iterable[Expression | None]) -> Expression:
    present = [item for item in items if item is not None]
    return present[0] if len(present) == 1 else Both("and", tuple(present)) if present else Truth(True)


class _Compiler:
    def __init__(self, spec: SystemSpec, tables: Mapping[str, Table]) -> None:
        self.spec = spec
        self.parts = {name: index for index, name in enumerate(spec.parts)}
        self.rows = tuple(
            PartRow(
                name,
                tables[part.machine],
                bound_term(part.count),
                self.parts[part.per] if part.per is not None else -1,
                part.doc,
            )
            for name, part in spec.parts.items()
        )
        self.params = set(spec.params) | {row.name for part in self.rows for row in part.table.params}
        self._tallies: list[TallyRow] = []

    def system(self) -> System:
        spec = self.spec
        content = {
            "name": spec.name,
            "doc": spec.doc,
            "params": tuple(
                ParamRow(name, param.serves, param.explores, param.doc) for name, param in spec.params.items()
            ),
            "parts": self.rows,
            "actions": tuple(self._action(name, action) for name, action in spec.actions.items()),
            "always": tuple(
                PropertyRow(name, tuple(self._condition(item, _Scope(self)) for item in conjuncts(expression)))
                for name, expression in self._always().items()
            ),
            "eventually": tuple(self._leads_to(name, item) for name, item in spec.eventually.items()),
            "fair": spec.fair,
            **({"strongly_fair": spec.strongly_fair} if spec.strongly_fair else {}),
            "home": self._condition(spec.home, _Scope(self)) if spec.home is not None else None,
            "resources": tuple(self._resource(name, item) for name, item in spec.resources.items()),
            "tallies": tuple(self._tallies),
        }
        parts = [(row.name, row.table.digest, row.count, row.per, row.doc) for row in self.rows]
        return System(digest=digest({**content, "parts": parts}), **content)  # type: ignore[arg-type]

    def tally(self, part: int, where: Term) -> Term:
        """A kept count; equal ones are kept once."""
        row = TallyRow(part, where)
        if row not in self._tallies:
            self._tallies.append(row)
        return ("tally", self._tallies.index(row))

    def field(self, instance: Instance, name: str) -> Value | Instance:
        """What `instance.name` means: a variable, what a reference leads to, or the instance's own of a `per` part."""
        table = self.rows[instance.part].table
        for index, row in enumerate(table.variables):
            if row.name == name:
                term = ("data", instance.part, instance.term, index)
                return Instance(self.parts[row.part], term) if row.kind == "ref" else Value(term, row)
        if name in self.parts and self.rows[self.parts[name]].per == instance.part:
            return Instance(self.parts[name], instance.term, through=instance.term[0] == "data")
        raise Unresolved(name)

    def _action(self, name: str, action: Action) -> ActionRow:
        arguments: dict[str, Instance | Value] = {}
        for pick, part in action.pick.items():
            arguments[pick] = Instance(self.parts[part], ("arg", len(arguments)))
        for choice in action.choose:
            arguments[choice] = Value(("arg", len(arguments)))
        scope = _Scope(self, arguments)
        return ActionRow(
            name,
            action.by.value,
            tuple((pick, self.parts[part]) for pick, part in action.pick.items()),
            tuple((choice, bound_term(low), bound_term(high)) for choice, (low, high) in action.choose.items()),
            tuple(self._condition(item, scope) for item in conjuncts(action.when)),
            tuple(self._fired(participant, events, scope) for participant, events in action.fire.items()),
            tuple(self._setting(target, value, scope) for target, value in action.set.items()),
            action.effect,
            action.doc,
        )

    def _condition(self, expression: Expression, scope: _Scope) -> Condition:
        return Condition(text_of(expression), lower(expression, scope))

    def _fired(self, participant: Participant, events: tuple[str, ...], scope: _Scope) -> Fired:
        if participant.every or participant.where:
            part = self.parts[participant.path.root]
            which: Term = ("every",)
            if participant.where:
                variable, target = participant.where
                index = [row.name for row in self.rows[part].table.variables].index(variable)
                which = ("where", index, self._instance(target, scope).term)
        else:
            instance = self._instance(participant.path, scope)
            part, which = instance.part, ("one", instance.term)
        table = self.rows[part].table
        return Fired(str(participant), part, which, tuple(table.event_index(event) for event in events))

    def _instance(self, path: Path, scope: _Scope) -> Instance:
        meaning = scope.resolve(path)
        if not isinstance(meaning, Instance):
            raise Unresolved(str(path))
        return meaning

    def _setting(self, target: str, value: Expression, scope: _Scope) -> Setting:
        *path, variable = target.split(".")
        instance = self._instance(Path(path[0], tuple(path[1:])), scope)
        rows = self.rows[instance.part].table.variables
        index = [row.name for row in rows].index(variable)
        word = text_of(value)
        term = ("int", rows[index].words.index(word)) if word in rows[index].words else lower(value, scope)
        return Setting(target, instance.part, instance.term, index, term)

    def _always(self) -> dict[str, Expression]:
        """What holds in every state: what the spec says, and what follows from its resources."""
        held = dict(self.spec.always)
        for name, resource in self.spec.resources.items():
            held |= always(name, resource)
        return held

    def _resource(self, name: str, spec: Resource) -> ResourceRow:
        part = self.parts[spec.part]
        states = [row.name for row in self.rows[part].table.states]
        return ResourceRow(
            name,
            part,
            tuple(sorted(map(states.index, spec.free))),
            tuple(sorted(map(states.index, spec.aside))),
            tuple(self._variable(holder, variable) for holder, names in spec.held_by.items() for variable in names),
            self._condition(is_free(spec), _Scope(self, {ITEM: Instance(part, ("arg", 0))})),
            self._condition(spec.unless, _Scope(self)) if spec.unless is not None else None,
            spec.doc,
            **claims(name),
        )

    def _variable(self, part: str, name: str) -> tuple[int, int]:
        index = self.parts[part]
        return index, [row.name for row in self.rows[index].table.variables].index(name)

    def _leads_to(self, name: str, spec: LeadsTo) -> LeadsToRow:
        arguments: dict[str, Instance | Value] = {
            pick: Instance(self.parts[part], ("arg", index)) for index, (pick, part) in enumerate(spec.each.items())
        }
        scope = _Scope(self, arguments)
        picks = tuple((pick, self.parts[part]) for pick, part in spec.each.items())
        return LeadsToRow(name, picks, self._condition(spec.source, scope), self._condition(spec.to, scope))
