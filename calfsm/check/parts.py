"""The parts, names and expressions of a system."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import attrs

from calfsm.check.kinds import (
    BOOL,
    INT,
    Kind,
    Problem,
    SystemScope,
    Unclear,
    judge,
    parameters,
    unknown_part,
)
from calfsm.check.names import located, reserved, twice, unknown_parameter
from calfsm.check.values import bound
from calfsm.check.wording import near
from calfsm.spec.expressions import Aggregate, Arithmetic, Expression, Number, Path, children, walk
from calfsm.spec.findings import Finding, Severity, listed
from calfsm.spec.model import Action, Bound, MachineSpec, Param, SystemSpec
from calfsm.spec.yaml_text import DataPath

Machines = Mapping[str, MachineSpec]


@attrs.frozen
class Written:
    """An expression of a system where it stands, with the names that are local there, and the kind wanted."""

    path: DataPath
    expression: Expression
    local: Mapping[str, Kind] = attrs.field(factory=dict)
    wanted: Kind | None = BOOL


def picked(names: Mapping[str, str]) -> dict[str, Kind]:
    """The local names of a `pick` or `each`; those of unknown parts lead nowhere and are not blamed again."""
    return {name: Kind("instance", part=part) for name, part in names.items()}


def local_names(action: Action) -> dict[str, Kind]:
    """The names that are local to an action."""
    return {**picked(action.pick), **dict.fromkeys(action.choose, INT)}


def expressions(system: SystemSpec) -> Iterator[Written]:
    """Every expression of a system, the values of `set` aside."""
    for name, definition in system.define.items():
        yield Written(("define", name), definition, wanted=None)
    for name, action in system.actions.items():
        if action.when is not None:
            yield Written(("actions", name, "when"), action.when, local_names(action))
    for name, resource in system.resources.items():
        if resource.unless is not None:
            yield Written(("resources", name, "unless"), resource.unless)
    for name, claim in system.always.items():
        yield Written(("always", name), claim)
    for name, leads in system.eventually.items():
        local = picked(leads.each)
        yield Written(("eventually", name, "from"), leads.source, local)
        yield Written(("eventually", name, "to"), leads.to, local)
    if system.home is not None:
        yield Written(("home",), system.home)


def known_machines(system: SystemSpec, machines: Collection[str]) -> Iterator[Finding]:
    """Parts name machines that exist."""
    for name, part in system.parts.items():
        if part.machine not in machines:
            yield Finding(
                "unknown-machine",
                system.places.value("parts", name, "machine"),
                f"there is no machine `{part.machine}`",
                "machines are looked for in the given files and in the folder `machines` beside the system's",
                near(part.machine, machines, f"write `machines/{part.machine}.yaml`"),
            )


def counted_parts(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """A part's count is a known number of at least one."""
    space = parameters(system, machines)
    for name, part in system.parts.items():
        path = ("parts", name, "count")
        if isinstance(part.count, str) and part.count not in space:
            if all_known(system, machines):
                yield unknown_parameter(system.places, system.name, space, part.count, path)
            continue
        lowest = min(bound(part.count, params) or 0 for params in scaled(space))
        if lowest < 1:
            message = f"the part `{name}` would have {lowest} instances"
            fix = "give it one at least, or leave the part out"
            yield Finding("empty-domain", system.places.value(*path), message, "a part has instances", fix)


def scaled(space: Mapping[str, Param]) -> tuple[dict[str, int], dict[str, int]]:
    """The values of parameters as explored, and as serving."""
    return {n: p.explores for n, p in space.items()}, {n: p.serves for n, p in space.items()}


def all_known(system: SystemSpec, machines: Machines) -> bool:
    """Whether every machine of a system is known, so that a name found nowhere is nowhere."""
    return all(part.machine in machines for part in system.parts.values())


def parts_beside_parts(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """`per` names another part, which is not itself `per` a third, and excludes `count`."""
    for name, part in system.parts.items():
        if part.per is None:
            continue
        place = system.places.value("parts", name, "per")
        if part.per not in system.parts:
            yield _at(system, ("parts", name, "per"), unknown_part(part.per, system))
        elif part.per == name or system.parts[part.per].per is not None:
            what = "itself" if part.per == name else f"of `{part.per}`, which is one of each itself"
            message = f"the part `{name}` is one of each {what}"
            fix = "write `per: <part>`, where the part has a count"
            yield Finding("per-chain", place, message, "`per` goes one step, to a part that stands by itself", fix)
        if part.count != 1:
            message = f"the part `{name}` has a count and is one of each of `{part.per}`"
            place = system.places.key("parts", name, "count")
            yield Finding("wrong-shape", place, message, "`per` says how many there are", "remove one of them")


def _at(system: SystemSpec, path: DataPath, problem: Problem, key: bool = False) -> Finding:
    place = system.places.key(*path) if key else system.places.inside(problem.offset, *path)
    return Finding(problem.code, place, problem.message, problem.because, problem.fix)


def references_lead_somewhere(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """The references of a part's machine lead into parts that exist."""
    for name, part in system.parts.items():
        machine = machines.get(part.machine)
        for variable, declared in machine.vars.items() if machine is not None else ():
            if declared.ref is not None and declared.ref not in system.parts:
                yield Finding(
                    "unknown-part",
                    system.places.key("parts", name),
                    f"`{variable}` of {part.machine} refers into `{declared.ref}`, which {system.name} does not have",
                    f"its parts are {listed(system.parts)}",
                    f"add the part `{declared.ref}`, or change the `ref` in the machine",
                )


def known_picks(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """`pick` and `each` name parts that exist."""
    for path, names in _picks(system):
        for name, part in names.items():
            if part not in system.parts:
                yield _at(system, (*path, name), unknown_part(part, system))


def _picks(system: SystemSpec) -> Iterator[tuple[DataPath, Mapping[str, str]]]:
    for name, action in system.actions.items():
        yield ("actions", name, "pick"), action.pick
    for name, leads in system.eventually.items():
        yield ("eventually", name, "each"), leads.each


def chosen_ranges(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """The ends of `choose` are known, and the first is not above the second."""
    space = parameters(system, machines)
    for action_name, action in system.actions.items():
        for name, ends in action.choose.items():
            path = ("actions", action_name, "choose", name)
            unknown = [i for i in (0, 1) if isinstance(ends[i], str) and ends[i] not in space]
            for i in unknown if all_known(system, machines) else ():
                yield unknown_parameter(system.places, system.name, space, str(ends[i]), (*path, i))
            if not unknown:
                yield from _empty_range(system, path, name, ends, space)


def _empty_range(
    system: SystemSpec, path: DataPath, name: str, ends: tuple[Bound, Bound], space: Mapping[str, Param]
) -> Iterator[Finding]:
    for params in scaled(space):
        lowest, highest = bound(ends[0], params) or 0, bound(ends[1], params) or 0
        if lowest > highest:
            message = f"nothing can be chosen for `{name}`"
            because = f"its values would run from {lowest} to {highest}"
            yield Finding("empty-domain", system.places.value(*path), message, because, "put the lowest value first")
            return


def defined_once(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """A bare name means one thing. (A part of many may go by the name of the parameter that counts it.)"""
    space = parameters(system, machines)
    for name in system.define:
        if name in system.parts or name in space:
            other = "a part" if name in system.parts else "a parameter"
            yield twice(system.places, ("define", name), f"`{name}` is defined, and is {other} of {system.name}")
    for name, part in system.parts.items():
        if part.single and name in space:
            yield twice(system.places, ("parts", name), f"`{name}` is a part and a parameter of {system.name}")
    for name, action in system.actions.items():
        for chosen in action.choose:
            if chosen in action.pick:
                path = ("actions", name, "choose", chosen)
                yield twice(system.places, path, f"`{name}` picks and chooses a `{chosen}`")
    yield from _parameters_agree(system, machines)


def _parameters_agree(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    first: dict[str, tuple[MachineSpec, Param]] = {}
    for name, part in system.parts.items():
        machine = machines.get(part.machine)
        for param, value in machine.params.items() if machine is not None else ():
            assert machine is not None
            other, known = first.setdefault(param, (machine, value))
            same = (known.serves, known.explores) == (value.serves, value.explores)
            if param not in system.params and not same:
                message = f"`{param}` has one value in {other.name} and another in {machine.name}"
                because = "the machines of a system share their parameters"
                place = system.places.key("parts", name)
                fix = f"give its values in the `params` of {system.name}, or rename one of them"
                yield Finding("defined-twice", place, message, because, fix)


def nothing_shadowed(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Local names do not hide names of the system, nor of one another; parts beside parts hide no variable."""
    space = parameters(system, machines)
    for path, names in _local_declarations(system):
        for name in names:
            if kind := _global_kind(system, space, name):
                yield _shadowed(system, (*path, name), f"`{name}` is named here, and is {kind} of {system.name}")
    for written in (*expressions(system), *updates(system, machines)):
        yield from _shadowed_in(system, space, written)
    for name, part in system.parts.items():
        owner = SystemScope(system, machines).machine(part.per or "")
        if owner is not None and name in owner.vars:
            message = f"`{name}` is a part beside each of `{part.per}`, and a variable of {owner.name}"
            yield _shadowed(system, ("parts", name), message)


def _shadowed(system: SystemSpec, path: DataPath, message: str, offset: int | None = None) -> Finding:
    place = system.places.key(*path) if offset is None else system.places.inside(offset, *path)
    return Finding("shadowed", place, message, "the one would hide the other", "rename one of them")


def _local_declarations(system: SystemSpec) -> Iterator[tuple[DataPath, Iterable[str]]]:
    yield from _picks(system)
    for name, action in system.actions.items():
        yield ("actions", name, "choose"), action.choose


def _global_kind(system: SystemSpec, space: Mapping[str, Param], name: str) -> str:
    if name in system.parts:
        return "a part"
    if name in system.define:
        return "a definition"
    return "a parameter" if name in space else ""


def _shadowed_in(system: SystemSpec, space: Mapping[str, Param], written: Written) -> Iterator[Finding]:
    """Variables of aggregates that hide something."""
    todo: list[tuple[Expression, frozenset[str]]] = [(written.expression, frozenset(written.local))]
    while todo:
        node, outer = todo.pop()
        if isinstance(node, Aggregate):
            name = node.variable
            kind = "named around it" if name in outer else _global_kind(system, space, name)
            if kind:
                message = f"`{node.kind}` names its instances `{name}`, which is {kind} already"
                yield _shadowed(system, written.path, message, node.offset)
            outer |= {name}
        todo += [(child, outer) for child in children(node)]


def updates(system: SystemSpec, machines: Machines) -> Iterator[Written]:
    """The values of every `set`, wanted in the kind of their target; of any kind where the target is wrong."""
    for name, action in system.actions.items():
        local = local_names(action)
        for target, value in action.set.items():
            wanted, _ = target_kind(target, SystemScope(system, machines, local))
            yield Written(("actions", name, "set", target), value, local, wanted)


def target_kind(target: str, scope: SystemScope) -> tuple[Kind | None, Problem | None]:
    """The kind of the variable that `set` names, or what is wrong with the name."""
    root, *fields = target.split(".")
    path = Path(root, tuple(fields))
    if not fields:
        fix = "write `<instance>.<variable>: <value>`"
        return None, Problem("unknown-variable", 0, f"`{target}` does not name a variable of an instance", "", fix)
    try:
        kind = scope.resolve(path)
    except Unclear as unclear:
        return None, unclear.problem
    if kind.name == "instance":
        message = f"`{target}` is {kind}, not a variable"
        return None, Problem("unknown-variable", 0, message, "", f"write `{target}.<variable>: <value>`")
    return kind, None


def right_kinds(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Conditions are truth values, updates fit their variables, and every name in them is known."""
    scope = SystemScope(system, machines)
    for written in (*expressions(system), *updates(system, machines)):
        problems = judge(written.expression, scope.naming(written.local), written.wanted)
        yield from located(system.places, written.path, _believed(problems, system, machines))
    for name, action in system.actions.items():
        for target in action.set:
            _, problem = target_kind(target, scope.naming(local_names(action)))
            for sure in _believed([problem] if problem is not None else [], system, machines):
                yield _at(system, ("actions", name, "set", target), sure, key=True)


def _believed(problems: Iterable[Problem], system: SystemSpec, machines: Machines) -> list[Problem]:
    """Problems, without the names that a machine which is not known may well define."""
    known = all_known(system, machines)
    return [problem for problem in problems if known or problem.code != "unknown-name"]


def definitions_end(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """No definition is made of itself."""
    uses = {name: _definitions_in(system, text) for name, text in system.define.items()}
    for name in uses:
        seen: set[str] = set()
        todo = list(uses[name])
        while todo:
            used = todo.pop()
            if used not in seen:
                seen.add(used)
                todo += uses[used]
        if name in seen:
            message = f"`{name}` is defined by itself"
            because = f"it is made of {listed(sorted(seen))}"
            place = system.places.value("define", name)
            yield Finding("circular", place, message, because, "write one of them without the others")


def _definitions_in(system: SystemSpec, expression: Expression) -> list[str]:
    return [node.root for node in walk(expression) if isinstance(node, Path) and node.root in system.define]


def safe_divisions(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """A system divides by numbers and parameters that are not zero, which can be seen without running it."""
    space = parameters(system, machines)
    for written in (*expressions(system), *updates(system, machines)):
        for node in walk(written.expression):
            if isinstance(node, Arithmetic) and node.op in ("//", "%") and not _never_zero(node.right, space):
                place = system.places.inside(node.right.offset, *written.path)
                message = "this divisor cannot be seen to differ from zero"
                because = "a system divides by a number or a parameter, and neither of its values is 0"
                yield Finding("divides-by-zero", place, message, because, "divide by a parameter")


def _never_zero(divisor: Expression, space: Mapping[str, Param]) -> bool:
    if isinstance(divisor, Number):
        return divisor.value != 0
    if isinstance(divisor, Path) and not divisor.fields and divisor.root in space:
        return 0 not in (space[divisor.root].serves, space[divisor.root].explores)
    return not isinstance(divisor, Path | Arithmetic | Aggregate)  # what is wrong in kind is found elsewhere


def speakable(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Names that an expression may have to say are not words of the expression language."""
    names: list[tuple[DataPath, str]] = [(("system",), system.name)]
    for section in ("params", "parts", "define"):
        names += [((section, name), name) for name in getattr(system, section)]
    for path, local in _local_declarations(system):
        names += [((*path, name), name) for name in local]
    yield from reserved(system.places, names)


def nothing_unused(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Parameters, definitions and local names are used somewhere."""
    said = said_in(system)
    for machine in {part.machine for part in system.parts.values()} & set(machines):
        said |= set(machines[machine].params)
    for name in system.params:
        if name not in said and all_known(system, machines):
            yield unused(system, ("params", name), f"the parameter `{name}`")
    for name in system.define:
        if name not in said:
            yield unused(system, ("define", name), f"the definition `{name}`")
    for action_name, action in system.actions.items():
        said = _said_in_action(action)
        for key, names in (("pick", action.pick), ("choose", action.choose)):
            for name in names:
                if name not in said:
                    yield unused(system, ("actions", action_name, key, name), f"`{name}` of `{action_name}`")
    for claim, leads in system.eventually.items():
        said = {*_roots(leads.source), *_roots(leads.to)}
        for name in leads.each:
            if name not in said:
                yield unused(system, ("eventually", claim, "each", name), f"`{name}` of `{claim}`")


def unused(spec: SystemSpec | MachineSpec, path: DataPath, subject: str) -> Finding:
    """The finding for something that nothing uses."""
    place = spec.places.key(*path)
    return Finding("unused", place, f"{subject} is never used", "", "remove it, or use it", Severity.WARNING)


def said_in(system: SystemSpec) -> set[str]:
    """Every name that a system says: roots and fields of its paths, bounds, and what it sets."""
    said: set[str] = set()
    for part in system.parts.values():
        said.add(str(part.count))
    for resource in system.resources.values():
        said.update(*resource.held_by.values())
    for written in expressions(system):
        said |= set(_names(written.expression))
    for action in system.actions.values():
        said |= _said_in_action(action)
    return said


def _said_in_action(action: Action) -> set[str]:
    said = {str(end) for ends in action.choose.values() for end in ends}
    for expression in (*([action.when] if action.when is not None else []), *action.set.values()):
        said |= set(_names(expression))
    for target in action.set:
        said |= set(target.split("."))
    for participant in action.fire:
        said |= {participant.path.root, *participant.path.fields}
        if participant.where is not None:
            variable, path = participant.where
            said |= {variable, path.root, *path.fields}
    return said


def _names(expression: Expression) -> Iterator[str]:
    for node in walk(expression):
        if isinstance(node, Path):
            yield node.root
            yield from node.fields


def _roots(expression: Expression) -> Iterator[str]:
    return (node.root for node in walk(expression) if isinstance(node, Path))


RULES = (
    counted_parts,
    parts_beside_parts,
    references_lead_somewhere,
    known_picks,
    chosen_ranges,
    defined_once,
    nothing_shadowed,
    right_kinds,
    definitions_end,
    safe_divisions,
    speakable,
    nothing_unused,
)
