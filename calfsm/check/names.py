"""The names of a machine: each means one thing, and each that is used is declared."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable, Iterator

from calfsm.check.kinds import BOOL, MachineScope, Problem, judge, kind_of_variable
from calfsm.check.values import bound, limits, scales
from calfsm.check.wording import near, owned
from calfsm.check.written import alternatives, part_of
from calfsm.spec.expressions import Expression
from calfsm.spec.findings import Finding, listed
from calfsm.spec.model import Bound, MachineSpec, Variable
from calfsm.spec.yaml_text import DataPath, Places

RESERVED = frozenset(word for word in keyword.kwlist if word.islower()) | {"true", "false", "none"}
"""Words that an expression cannot use as names."""

_WORD = re.compile(r"[a-z][a-z0-9_]*\Z")


def one_initial_state(spec: MachineSpec) -> Iterator[Finding]:
    """Exactly one state is initial."""
    marked = [name for name, state in spec.states.items() if state.initial]
    if not marked:
        yield Finding(
            "no-initial",
            spec.places.key("states"),
            f"{spec.name} does not say where it begins",
            "exactly one state is initial",
            f"write `{next(iter(spec.states), 'STATE')}: {{initial: true}}`, or mark another state",
        )
    for name in marked[1:]:
        yield Finding(
            "many-initial",
            spec.places.key("states", name),
            f"{spec.name} begins in `{marked[0]}` and in `{name}`",
            "exactly one state is initial",
            "remove `initial` from all states but one",
        )


def known_states(spec: MachineSpec) -> Iterator[Finding]:
    """Rows and moves name states that exist."""
    for state in spec.transitions:
        if state not in spec.states:
            yield _unknown_state(spec, state, ("transitions", state), key=True)
    for path, _, alternative in alternatives(spec):
        if alternative.to is not None and alternative.to not in spec.states:
            yield _unknown_state(spec, alternative.to, part_of(spec.places, path, "to"))


def _unknown_state(spec: MachineSpec, name: str, path: DataPath, key: bool = False) -> Finding:
    place = spec.places.key(*path) if key else spec.places.value(*path)
    because = owned(spec.name, "states", spec.states)
    fix = near(name, spec.states, "name one of these, or add the state")
    return Finding("unknown-state", place, f"{spec.name} has no state `{name}`", because, fix)


def known_events(spec: MachineSpec) -> Iterator[Finding]:
    """Rows, `anywhere` and deadlines name events that exist."""
    for path, event, _ in spec.written_cells():
        if event not in spec.events:
            yield _unknown_event(spec, event, (*path, event), key=True)
    for name, state in spec.states.items():
        if state.deadline is not None and state.deadline.event not in spec.events:
            yield _unknown_event(spec, state.deadline.event, ("states", name, "deadline", "event"))


def _unknown_event(spec: MachineSpec, name: str, path: DataPath, key: bool = False) -> Finding:
    place = spec.places.key(*path) if key else spec.places.value(*path)
    because = owned(spec.name, "events", spec.events)
    fix = near(name, spec.events, "name one of these, or add the event")
    return Finding("unknown-event", place, f"{spec.name} has no event `{name}`", because, fix)


def known_parameters(spec: MachineSpec) -> Iterator[Finding]:
    """Bounds name parameters that exist."""
    for name, variable in spec.vars.items():
        for path, end in _bounds(variable):
            if isinstance(end, str) and end not in spec.params:
                yield unknown_parameter(spec.places, spec.name, spec.params, end, ("vars", name, *path))


def _bounds(variable: Variable) -> Iterator[tuple[DataPath, Bound]]:
    if variable.integer is not None:
        yield ("int", 0), variable.integer[0]
        yield ("int", 1), variable.integer[1]
    if variable.cycle is not None:
        yield ("cycle",), variable.cycle
    if (variable.integer is not None or variable.cycle is not None) and variable.initial is not None:
        yield ("initial",), variable.initial


def unknown_parameter(
    places: Places, owner: str, known: Collection[str], name: str, path: DataPath, key: bool = False
) -> Finding:
    """The finding for a bound, or a profile's key, that names no parameter."""
    because = owned(owner, "parameters", known)
    fix = near(name, known, f"write a number, or add `{name}: {{serves: …, explores: …}}` to `params`")
    place = places.key(*path) if key else places.value(*path)
    return Finding("unknown-parameter", place, f"{owner} has no parameter `{name}`", because, fix)


def filled_domains(spec: MachineSpec) -> Iterator[Finding]:
    """Every variable has at least one value, whatever the parameters."""
    for name, variable in spec.vars.items():
        place = spec.places.value("vars", name)
        if variable.enum is not None and not variable.enum:
            fix = "write its words: `enum: [a, b]`"
            yield Finding("empty-domain", place, f"`{name}` of {spec.name} has no value", "its enum has no words", fix)
        for params in scales(spec):
            ends = limits(variable, params)
            if ends is not None and ends[0] > ends[1]:
                because = f"its values would run from {ends[0]} to {ends[1]}"
                fix = "the lowest value comes first, and is not above the highest"
                yield Finding("empty-domain", place, f"`{name}` of {spec.name} has no value", because, fix)
                break


def initial_values(spec: MachineSpec) -> Iterator[Finding]:
    """A variable begins inside its domain."""
    for name, variable in spec.vars.items():
        trouble = _initial_trouble(spec, variable)
        if trouble:
            place = spec.places.value("vars", name, "initial")
            message = f"`{name}` of {spec.name} cannot begin as `{variable.initial}`"
            fix = "give it one of its own values, or leave `initial` out"
            yield Finding("bad-initial", place, message, trouble, fix)


def _initial_trouble(spec: MachineSpec, variable: Variable) -> str:
    if variable.initial is None:
        return ""
    if variable.boolean is not None:
        return "the value after `bool:` is where it begins"
    if variable.ref is not None:
        return "" if variable.initial == "none" else "a reference begins empty"
    if variable.enum is not None:
        return "" if variable.initial in variable.enum else f"it is one of {listed(variable.enum, 'or')}"
    for params in scales(spec):
        ends, value = limits(variable, params), bound(variable.initial, params)
        if ends is not None and value is not None and ends[0] <= ends[1] and not ends[0] <= value <= ends[1]:
            return f"its values run from {ends[0]} to {ends[1]}, and this is {value}"
    return ""


def defined_once(spec: MachineSpec) -> Iterator[Finding]:
    """A name of an expression is declared once: as a variable, a parameter, or a word of an enum."""
    for name in spec.params:
        if name in spec.vars:
            yield twice(spec.places, ("params", name), f"`{name}` is a variable and a parameter of {spec.name}")
    for name, variable in spec.vars.items():
        words = variable.enum or ()
        for i, word in enumerate(words):
            path = ("vars", name, "enum", i)
            if word in words[:i]:
                yield twice(spec.places, path, f"`{word}` stands twice among the words of `{name}`", value=True)
            if word in spec.vars or word in spec.params:
                kind = "variable" if word in spec.vars else "parameter"
                yield Finding(
                    "shadowed",
                    spec.places.value(*path),
                    f"the word `{word}` of `{name}` is also a {kind} of {spec.name}",
                    f"an expression that says `{word}` would mean the {kind}",
                    "rename one of them",
                )


def twice(places: Places, path: DataPath, message: str, because: str = "", value: bool = False) -> Finding:
    """The finding for a name that is defined twice."""
    place = places.value(*path) if value else places.key(*path)
    return Finding("defined-twice", place, message, because or "a name means one thing", "rename one of them")


def speakable(spec: MachineSpec) -> Iterator[Finding]:
    """Names that an expression may have to say are not words of the expression language."""
    declared: list[tuple[DataPath, str]] = [(("machine",), spec.name)]
    for section in ("vars", "params", "states"):
        declared += [((section, name), name) for name in getattr(spec, section)]
    yield from reserved(spec.places, declared)
    for name, variable in spec.vars.items():
        for i, word in enumerate(variable.enum or ()):
            place = spec.places.value("vars", name, "enum", i)
            if word in RESERVED:
                yield _reserved(spec.places, ("vars", name, "enum", i), word)
            elif not _WORD.match(word):
                because = "a word is lower-case letters, digits and `_`, and begins with a letter"
                yield Finding("bad-name", place, f"`{word}` is not a word", because, "rename it")


def reserved(places: Places, names: Iterable[tuple[DataPath, str]]) -> Iterator[Finding]:
    """The findings for declared names that are words of the expression language."""
    for path, name in names:
        if name in RESERVED:
            yield _reserved(places, path, name)


def _reserved(places: Places, path: DataPath, name: str) -> Finding:
    place = places.key(*path) if path in places.keys and len(path) > 1 else places.value(*path)
    because = "expressions are written in a part of Python's grammar, where this word is not a name"
    return Finding("reserved-name", place, f"`{name}` cannot be a name", because, f"rename it, say to `{name}_`")


def known_targets(spec: MachineSpec) -> Iterator[Finding]:
    """`set` names variables that exist."""
    for path, _, alternative in alternatives(spec):
        for target in alternative.set:
            if target not in spec.vars:
                place = spec.places.key(*part_of(spec.places, path, "set", target))
                kind = " (it is a parameter, which never changes)" if target in spec.params else ""
                message = f"{spec.name} has no variable `{target}`{kind}"
                because = owned(spec.name, "variables", spec.vars)
                fix = near(target, spec.vars, "add the variable, or set another")
                yield Finding("unknown-variable", place, message, because, fix)


def right_kinds(spec: MachineSpec) -> Iterator[Finding]:
    """Guards are truth values, updates fit their variables, and names in both are known."""
    scope = MachineScope(spec)
    for path, _, alternative in alternatives(spec):
        if alternative.when is not None:
            where = part_of(spec.places, path, "when")
            yield from located(spec.places, where, judge(alternative.when, scope, BOOL))
        for target, update in alternative.set.items():
            variable = spec.vars.get(target)
            wanted = kind_of_variable(variable) if variable is not None else None
            where = part_of(spec.places, path, "set", target)
            yield from located(spec.places, where, judge(update, scope, wanted))


def is_sound(spec: MachineSpec, expression: Expression, target: str = "") -> bool:
    """Whether an expression can be evaluated: a guard, or an update of the variable `target`."""
    variable = spec.vars.get(target)
    wanted = BOOL if not target else kind_of_variable(variable) if variable is not None else None
    return not judge(expression, MachineScope(spec), wanted)


def located(places: Places, path: DataPath, problems: Iterable[Problem]) -> Iterator[Finding]:
    """Problems of the expression at `path`, as findings."""
    for problem in problems:
        place = places.inside(problem.offset, *path)
        yield Finding(problem.code, place, problem.message, problem.because, problem.fix)


def taken_events(spec: MachineSpec) -> Iterator[Finding]:
    """Some cell takes every event."""
    named = {event for _, event, _ in spec.written_cells()}
    for event in spec.events:
        if event not in named:
            yield Finding(
                "untaken-event",
                spec.places.key("events", event),
                f"no state of {spec.name} takes `{event}`",
                "an event that is declared is answered somewhere, in a row or in `anywhere`",
                f"write what a state does on `{event}`, or remove the event",
            )


RULES = (
    one_initial_state,
    known_states,
    known_events,
    known_parameters,
    filled_domains,
    initial_values,
    defined_once,
    speakable,
    known_targets,
    right_kinds,
    taken_events,
)
