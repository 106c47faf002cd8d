"""Which instances of a system are interchangeable: those that nothing in it tells from one another.

Instances of a part begin alike and have one machine. What could tell them apart is what the system says: a number put
where an instance is named, the order of two references, a reference compared with an instance of another part, a
reference that leads somewhere from the beginning. Every term is judged by what it is: a number, or an instance of a
part. Where nothing of the kind is found, renaming the instances of a part, and every reference to them, turns states
into states, calls into calls, and leaves every condition as it is. Murphi calls such a part a scalarset (Ip and Dill,
"Better verification through symmetry", 1996); there it is declared, here it is recognised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from calfsm.engine.code import ARITHMETIC, COMPARISONS, Term
from calfsm.engine.engine import Engine
from calfsm.engine.system import ActionRow, Condition, System
from calfsm.engine.table import Table

NUMBER = -1
"""The kind of a term that is a number or a truth; other kinds are parts, whose instances it is one of."""
NONE = -2
"""The kind of `none`."""


@attrs.frozen
class Scalarset:
    """Interchangeable instances, `size` in each of `parts`: a part, and those that there are one of per instance.

    `referred`: whether a variable may refer to one.
    """

    parts: tuple[int, ...]
    size: int
    referred: bool


@attrs.frozen
class Scalarsets:
    """What was recognised. `reasons`: for each other part of several instances, by name, what tells them apart."""

    found: tuple[Scalarset, ...]
    reasons: Mapping[str, str]


def recognised(engine: Engine, also: Iterable[Condition] = ()) -> Scalarsets:
    """The interchangeable instances of an engine's system at its scope. `also`: conditions that must not tell either.

    Of a term that is no compiled expression it raises TypeError.
    """
    judge = _Judge(engine)
    judge.machines()
    judge.actions()
    judge.conditions(also)
    system, roots = engine.system, judge.roots
    found, reasons = [], {}
    for root, part in enumerate(system.parts):
        size = len(engine.states[root])
        if roots[root] != root or size == 1:
            continue
        if root in judge.reasons:
            reasons[part.name] = judge.reasons[root]
        else:
            parts = tuple(number for number in range(len(roots)) if roots[number] == root)
            found.append(Scalarset(parts, size, any(root in kinds for kinds in judge.variables)))
    return Scalarsets(tuple(found), reasons)


def references(system: System) -> list[list[int]]:
    """For each part and each of its variables, its kind: NUMBER, or the part whose instances it numbers.

    Instances of a `per` part are numbered as those of the part that they go with; it is this that stands for both.
    """
    roots = part_roots(system)

    def kind(table: Table, variable: int) -> int:
        row = table.variables[variable]
        return roots[system.part_index(row.part)] if row.kind == "ref" else NUMBER

    return [[kind(part.table, variable) for variable in range(len(part.table.variables))] for part in system.parts]


def part_roots(system: System) -> list[int]:
    """For each part the part whose instances number its own: itself, unless there is one of it per instance."""
    roots: list[int] = []
    for number, part in enumerate(system.parts):
        roots.append(roots[part.per] if part.per >= 0 else number)
    return roots


@attrs.frozen
class _Names:
    """What a term may name: kinds of arguments, of what aggregates run over, of the machine's own variables."""

    where: str
    arguments: Sequence[int] = ()
    bound: tuple[int, ...] = ()
    own: Sequence[int] = ()


class _Judge:
    """Goes through all terms of a system and notes, for each part, the first thing that tells its instances apart."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._system = engine, engine.system
        self.roots = part_roots(engine.system)
        self.variables = references(engine.system)
        self.reasons: dict[int, str] = {}

    # ---- where terms stand

    def machines(self) -> None:
        """Initial values, guards and updates of every part."""
        for part, row in enumerate(self._system.parts):
            table, kinds = row.table, self.variables[part]
            for variable, (kind, value) in enumerate(zip(kinds, self._engine.rows[part].data, strict=True)):
                if kind != NUMBER and value >= 0:
                    name = f"{table.name}.{table.variables[variable].name}"
                    self._apart(kind, f"{name} refers to number {value} from the beginning")
            for state, event, answer in table.moves():
                where = f"{table.name}: {table.events[event].name} in {table.states[state].name}"
                names = _Names(where, own=kinds)
                if answer.guard is not None:
                    self._number(answer.guard, names)
                for variable, term in answer.sets:
                    self._fits(kinds[variable], term, names)

    def actions(self) -> None:
        """Guards, participants and settings of every action, and the properties."""
        system = self._system
        for action in system.actions:
            kinds = [self.roots[part] for _, part in action.picks] + [NUMBER for _ in action.choices]
            self._action(action, kinds)
        for row in system.always:
            for condition in row.conditions:
                self._condition(condition, row.name, ())
        for leads in system.eventually:
            kinds = [self.roots[part] for _, part in leads.picks]
            for condition in (leads.source, leads.target):
                self._condition(condition, leads.name, kinds)
        for resource in system.resources:
            if resource.back is not None:
                self._condition(resource.back, resource.name, [self.roots[resource.part]])
            if resource.unless is not None:
                self._condition(resource.unless, resource.name, ())
        self.conditions([system.home] if system.home is not None else [])

    def conditions(self, conditions: Iterable[Condition]) -> None:
        """Conditions on nobody in particular."""
        for condition in conditions:
            self._condition(condition, "", ())

    def _action(self, action: ActionRow, kinds: Sequence[int]) -> None:
        for condition in action.guards:
            self._condition(condition, action.name, kinds)
        for fired in action.fired:
            names = _Names(f"{action.name}: {fired.text}", kinds)
            match fired.which:
                case ("one", instance):
                    self._instance(fired.part, instance, names)
                case ("where", variable, instance):
                    self._fits(self.variables[fired.part][variable], instance, names)
        for setting in action.settings:
            names = _Names(f"{action.name}: set {setting.text}", kinds)
            self._instance(setting.part, setting.instance, names)
            self._fits(self.variables[setting.part][setting.variable], setting.value, names)

    def _condition(self, condition: Condition, where: str, arguments: Sequence[int]) -> None:
        text = f"`{condition.text}`"
        self._number(condition.term, _Names(f"{where}: {text}" if where else text, arguments))

    # ---- what may stand there

    def _number(self, term: Term, names: _Names) -> None:
        """A number or a truth is wanted: a reference there is one whose number counts."""
        kind = self._kind(term, names)
        if kind >= 0:
            self._apart(kind, f"{names.where} reckons with the numbers of {self._name(kind)}")

    def _instance(self, part: int, term: Term, names: _Names) -> None:
        """An instance of a part is wanted."""
        self._fits(self.roots[part], term, names, none=False)

    def _fits(self, wanted: int, term: Term, names: _Names, none: bool = True) -> None:
        """A value of a kind is wanted."""
        if wanted == NUMBER:
            self._number(term, names)
        else:
            self._alike(wanted, self._kind(term, names), names, none)

    def _alike(self, one: int, other: int, names: _Names, none: bool = True) -> None:
        """Instances of `one` stand beside a value of the kind `other`."""
        if other == one or (other == NONE and none):
            return
        if other >= 0:
            text = f"{names.where} takes {self._name(one)} for {self._name(other)}"
            self._apart(one, text)
            self._apart(other, text)
        else:
            self._apart(one, f"{names.where} names one of {self._name(one)} by its number")

    def _kind(self, term: Term, names: _Names) -> int:
        """What a term is; what stands inside it is judged on the way."""
        match term:
            case ("int", -1):
                return NONE
            case ("int" | "param", _):
                return NUMBER
            case ("var", int(index)):
                return names.own[index]
            case ("arg", int(index)):
                return names.arguments[index]
            case ("bound", int(depth)):
                return names.bound[depth]
            case ("data", int(part), tuple(instance), int(variable)):
                self._instance(part, instance, names)
                return self.variables[part][variable]
            case ("through", tuple(instance)):
                return self._kind(instance, names)
            case ("state", int(part), tuple(instance), _):
                self._instance(part, instance, names)
            case ("in", tuple(item), tuple(numbers)):
                if set(numbers) != {-1}:
                    self._number(item, names)
            case ("not" | "and" | "or", *items):
                for item in items:
                    self._number(item, names)
            case ("==" | "!=", tuple(left), tuple(right)):
                self._same(self._kind(left, names), self._kind(right, names), names)
            case (str(op), tuple(left), tuple(right)) if op in ARITHMETIC or op in COMPARISONS:
                self._number(left, names)
                self._number(right, names)
            case ("tally", int(index)):
                row = self._system.tallies[index]
                self._number(row.where, attrs.evolve(names, bound=(self.roots[row.part],)))
            case ("count", int(part), int(depth), tuple(where)):
                self._number(where, attrs.evolve(names, bound=(*names.bound[:depth], self.roots[part])))
            case _:
                raise TypeError(f"{term!r} is not a compiled expression")
        return NUMBER

    def _same(self, left: int, right: int, names: _Names) -> None:
        """Two values are compared for being the same."""
        if left >= 0:
            self._alike(left, right, names)
        elif right >= 0:
            self._alike(right, left, names)

    def _apart(self, part: int, why: str) -> None:
        self.reasons.setdefault(part, why)

    def _name(self, part: int) -> str:
        return self._system.parts[part].name
