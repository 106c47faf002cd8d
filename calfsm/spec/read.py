"""Documents to specs: plain data through cattrs into the classes of `model`, every misfit a finding with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, get_args, get_origin

import attrs
import cattrs
from cattrs.errors import (
    AttributeValidationNote,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn, override

from calfsm.spec.expressions import Expression, ExpressionError, parse
from calfsm.spec.expressions import Path as ExpressionPath
from calfsm.spec.findings import Finding, in_file_order, listed, nearest
from calfsm.spec.model import (
    VARIABLE_KINDS,
    Action,
    Alternative,
    Bound,
    Cell,
    Deadline,
    Event,
    LeadsTo,
    MachineSpec,
    Param,
    Part,
    Participant,
    ProfileSpec,
    Resource,
    Source,
    Spec,
    State,
    SystemSpec,
    Variable,
)
from calfsm.spec.yaml_text import DataPath, Document, Key, Places, read_bytes, read_file

KINDS: dict[str, type[Spec]] = {"profile": ProfileSpec, "machine": MachineSpec, "system": SystemSpec}
"""The key that says what a file is, tried in this order: a profile names its system too."""
SCHEMA_KEY = "$schema"
"""Editors read it; nothing else does."""

NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
RENAMED: dict[type, dict[str, str]] = {
    Alternative: {"otherwise": "else"},
    LeadsTo: {"source": "from"},
    Variable: {"boolean": "bool", "integer": "int"},
}
"""Keys whose spelling is taken in Python: field name to key."""


ABOUT_KEYS = ("bad-participant", "duplicate-key")
"""The codes of misfits that are about a key, not about its value."""


@attrs.frozen
class Reading:
    """What one file gave: a spec when its shape was right, and all that is wrong with it."""

    file: str
    spec: Spec | None
    findings: tuple[Finding, ...]


class Misfit(Exception):
    """A value that does not fit where it stands."""

    def __init__(self, code: str, message: str, because: str = "", fix: str = "", offset: int = 0) -> None:
        super().__init__(message)
        self.code, self.message, self.because, self.fix, self.offset = code, message, because, fix, offset


def read_spec(path: FilePath) -> Reading:
    """Read a spec file. Raises OSError when it cannot be opened."""
    return structure(read_file(path))


def read_spec_text(text: str, file: str = "<text>") -> Reading:
    """Read a spec from text, named `file` in its findings."""
    return structure(read_bytes(text.encode(), file))


def structure(document: Document) -> Reading:
    """Give a document its shape."""
    findings = list(document.findings)
    spec: Spec | None = None
    data = document.data
    file = document.places.file
    if data is not None:
        kind = next((k for k in KINDS if isinstance(data, dict) and k in data), None)
        if kind is None:
            keys = list(data) if isinstance(data, dict) else []
            fix = next((nearest(key, KINDS) for key in keys if nearest(key, KINDS).startswith("did")), "")
            findings.append(
                Finding(
                    "no-kind",
                    document.places.value(),
                    "the file does not say what it is",
                    "a spec has one of the keys `machine`, `system` and `profile` at its top",
                    fix or "begin with `machine: NAME`",
                )
            )
        else:
            data = {key: value for key, value in data.items() if key != SCHEMA_KEY}
            try:
                spec = attrs.evolve(_CONVERTER.structure(data, KINDS[kind]), places=document.places)
                findings.extend(_ill_named(spec, document.places))
            except (ClassValidationError, Misfit) as error:
                findings.extend(_located(error, (), document))
    return Reading(file, spec, tuple(in_file_order(findings)))


# ---- cattrs: hooks that are strict where cattrs is kind


def _is(union: Any) -> Callable[[Any], bool]:
    """Whether a type is the `union`, or that or None."""
    return lambda kind: set(get_args(kind)) - {type(None)} == set(get_args(union))


def _text(value: Any, _: Any) -> str:
    if isinstance(value, str):
        return value
    raise _wrong("text", value)


def _integer(value: Any, _: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _wrong("a whole number", value)


def _truth(value: Any, _: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong("`true` or `false`", value)


def _decimal(value: Any, _: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise _wrong("a number", value)


def _bound(value: Any, kind: Any) -> int | str | None:
    if value is None and type(None) in get_args(kind):
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value
    raise _wrong("a whole number or the name of a parameter", value)


def _range(value: Any, _: Any) -> tuple[Any, Any]:
    if isinstance(value, list) and len(value) == 2:
        return _bound(value[0], Bound), _bound(value[1], Bound)
    raise _wrong("a range `[lowest, highest]`", value)


def _source(value: Any, _: Any) -> Source:
    known = [source.value for source in Source]
    if isinstance(value, str) and value in known:
        return Source(value)
    if isinstance(value, str):
        near = nearest(value, known)
        fix = near if near.startswith("did you mean") else "write one of these"
        raise Misfit(
            "unknown-source", f"nobody is called `{value}`", f"who speaks is one of {listed(known, 'or')}", fix
        )
    raise _wrong(f"one of {listed(known, 'or')}", value)


def _expression(value: Any, kind: Any) -> Expression | None:
    if value is None and type(None) in get_args(kind):
        return None
    if isinstance(value, bool):
        return parse("true" if value else "false")
    if isinstance(value, int):
        return parse(str(value))
    text = _text(value, str)
    try:
        return parse(text)
    except ExpressionError as error:
        raise Misfit("bad-expression", error.message, "", error.fix, error.offset) from None


def _cell(value: Any, _: Any) -> Cell:
    if isinstance(value, str):
        return Cell((Alternative(to=value),))
    if isinstance(value, dict):
        return Cell((_CONVERTER.structure(value, Alternative),))
    if isinstance(value, list) and value:
        return Cell(_CONVERTER.structure(value, tuple[Alternative, ...]))
    raise Misfit(
        "wrong-type",
        f"{_shown(value)} is not an answer to an event",
        "",
        "write a state, `{to: STATE, set: {…}}`, `{stay: why nothing changes}`, or a list of these with `when`",
    )


def _events(value: Any, _: Any) -> tuple[str, ...]:
    return _some(value, "an event or a list of events")


def _words(value: Any, _: Any) -> tuple[str, ...]:
    return _some(value, "a word or a list of words")


def _some(value: Any, wanted: str) -> tuple[str, ...]:
    """One word, or a list of one or more."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and value:
        return tuple(_text(item, str) for item in value)
    raise _wrong(wanted, value)


_WHERE = re.compile(r"(\w+)\s+where\s+(\w+)\s*==\s*([\w.]+)\Z")
_DOTTED = re.compile(r"[a-z]\w*(\.[a-z]\w*)*\Z")


def parse_participant(text: str) -> Participant:
    """`j`, `j.buffer.dma`, `all buffers`, or `kvs where job == j`. Raises Misfit."""
    text = text.strip()
    if text.startswith("all ") and NAME.match(text[4:].strip()):
        return Participant(ExpressionPath(text[4:].strip()), every=True)
    where = _WHERE.match(text)
    if where and _DOTTED.match(where[3]):
        root, *fields = where[3].split(".")
        return Participant(ExpressionPath(where[1]), where=(where[2], ExpressionPath(root, tuple(fields))))
    if _DOTTED.match(text):
        root, *fields = text.split(".")
        return Participant(ExpressionPath(root, tuple(fields)))
    raise Misfit(
        "bad-participant",
        f"`{text}` does not name who takes part",
        "",
        "write `NAME`, `NAME.REFERENCE`, `all PART` or `PART where VARIABLE == NAME`",
    )


def _fire(value: Any, _: Any) -> dict[Participant, tuple[str, ...]]:
    if not isinstance(value, dict) or not value:
        raise _wrong("a mapping of participants to events", value)
    fired: dict[Participant, tuple[str, ...]] = {}
    errors: list[Exception] = []
    for key, events in value.items():
        try:
            participant = parse_participant(key)
            if participant in fired:
                raise Misfit("duplicate-key", f"`{participant}` takes part twice", "", "write its events as one list")
            fired[participant] = _events(events, None)
        except Misfit as misfit:
            misfit.add_note(_Step(key))
            errors.append(misfit)
    if errors:
        raise IterableValidationError("participants", errors, dict)
    return fired


class _Step(str):
    """A step of a path, as a note on an exception; a str because Python wants notes to be."""

    key: Key

    def __new__(cls, key: Key) -> _Step:
        step = super().__new__(cls, key)
        step.key = key
        return step


def _wrong(wanted: str, value: Any) -> Misfit:
    return Misfit("wrong-type", f"expected {wanted}, found {_shown(value)}", "", f"write {wanted}")


def _shown(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return f"`{str(value).lower()}`"
        case dict():
            return "a mapping" if value else "an empty mapping"
        case list():
            return "a list" if value else "an empty list"
    text = str(value)
    return f"`{text if len(text) <= 40 else text[:37] + '…'}`"


def _alternative(value: Any, kind: type[Alternative]) -> Alternative:
    made: Alternative = _PLAIN_ALTERNATIVE(value, kind)
    if (made.to is None) == (made.stay is None):
        raise Misfit(
            "wrong-shape",
            "an answer moves or stays" + (", not both" if made.to is not None else ""),
            "",
            "write `to: STATE`, or `stay: why nothing changes`",
        )
    if made.when is not None and made.otherwise:
        raise Misfit(
            "wrong-shape",
            "`when` and `else` exclude each other",
            "`else` is what holds when no `when` does",
            "keep one of them",
        )
    if "else" in value and not made.otherwise:
        raise Misfit("wrong-shape", "`else: false` says nothing", "", "write `else: true`")
    return made


def _variable(value: Any, kind: type[Variable]) -> Variable:
    made: Variable = _PLAIN_VARIABLE(value, kind)
    given = [kind for kind, field in VARIABLE_KINDS.items() if getattr(made, field) is not None]
    if len(given) != 1:
        raise Misfit(
            "wrong-shape",
            f"a variable is of one kind; this is {listed(given) or 'of none'}",
            "",
            "write one of `bool: false`, `int: [0, 7]`, `enum: [a, b]`, `ref: PART`, `cycle: 4`",
        )
    return made


def _resource(value: Any, kind: type[Resource]) -> Resource:
    made: Resource = _PLAIN_RESOURCE(value, kind)
    if not made.held_by:
        raise Misfit("wrong-shape", "nobody can hold this", "", "write `held_by: {PART: VARIABLE}`")
    return made


def _mapping(value: Any, kind: Any) -> dict[str, Any]:
    """dict[str, X], with names as keys; every bad entry is reported, not only the first."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong("a mapping", value)
    item_kind = get_args(kind)[1]
    made: dict[str, Any] = {}
    errors: list[Exception] = []
    for key, item in value.items():
        try:
            made[key] = _CONVERTER.structure({} if item is None and attrs.has(item_kind) else item, item_kind)
        except (Misfit, ClassValidationError, IterableValidationError) as error:
            error.add_note(_Step(key))
            errors.append(error)
    if errors:
        raise IterableValidationError("mapping", errors, dict)
    return made


def _sequence_of_words(value: Any, _: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(_text(item, str) for item in value)
    raise _wrong("a list of words", value)


def _speakers(value: Any, _: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(_text(item, str) for item in value)
    raise _wrong("a list of sources and actions", value)


def _effects(value: Any, _: Any) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if isinstance(items, list) and items and all(isinstance(item, str) and _DOTTED.match(item) for item in items):
        return tuple(items)
    raise _wrong("the name of an effect (`runtime.infer`), or a list of them", value)


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    for kind, hook in (
        (str, _text),
        (int, _integer),
        (bool, _truth),
        (float, _decimal),
        (Source, _source),
        (Cell, _cell),
    ):
        converter.register_structure_hook(kind, hook)
    converter.register_structure_hook_func(_is(Bound), _bound)
    converter.register_structure_hook_func(lambda kind: kind == tuple[Bound, Bound], _range)
    converter.register_structure_hook_func(_is(Expression), _expression)
    converter.register_structure_hook_func(lambda kind: get_origin(kind) is get_origin(Mapping[str, int]), _mapping)
    converter.register_structure_hook_func(lambda kind: kind == Mapping[Participant, tuple[str, ...]], _fire)
    converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _words)
    return converter


def _strict(converter: cattrs.Converter, kind: type[Any], **overrides: Any) -> Any:
    attrs.resolve_types(kind)
    renames: dict[str, Any] = {name: override(rename=key) for name, key in RENAMED.get(kind, {}).items()}
    if attrs.has(kind) and "places" in attrs.fields_dict(kind):
        renames["places"] = override(omit=True)
    made = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, **renames, **overrides)

    def structure_mapping(value: Any, wanted: type[Any]) -> Any:
        if not isinstance(value, dict):
            raise _wrong("a mapping", value)
        return made(value, wanted)

    return structure_mapping


def keys_of(kind: type[Any]) -> tuple[str, ...]:
    """The keys that the reader takes for `kind`, as they are spelt in YAML."""
    renamed = RENAMED.get(kind, {})
    return tuple(renamed.get(field.name, field.name) for field in attrs.fields(kind) if field.name != "places")


_CONVERTER = _converter()
_PLAIN_ALTERNATIVE = _strict(_CONVERTER, Alternative)
_PLAIN_VARIABLE = _strict(_CONVERTER, Variable, enum=override(struct_hook=_sequence_of_words))
_CONVERTER.register_structure_hook(Alternative, _alternative)
_CONVERTER.register_structure_hook(Variable, _variable)
_PLAIN_RESOURCE = _strict(_CONVERTER, Resource)
_CONVERTER.register_structure_hook(Resource, _resource)
_CONVERTER.register_structure_hook(Action, _strict(_CONVERTER, Action, effect=override(struct_hook=_effects)))
for _kind in (Deadline, State, Event, Param, Part, LeadsTo, *KINDS.values()):
    _speaking = {name: override(struct_hook=_speakers) for name in ("fair", "strongly_fair")}
    _CONVERTER.register_structure_hook(_kind, _strict(_CONVERTER, _kind, **(_speaking if _kind is SystemSpec else {})))


# ---- errors to findings


def _located(error: BaseException, path: DataPath, document: Document) -> Iterator[Finding]:
    """Every leaf of an exception group, at the place that the notes on the way to it spell out."""
    for note in reversed(getattr(error, "__notes__", [])):
        if isinstance(note, _Step):
            path = (*path, note.key)
        elif isinstance(note, AttributeValidationNote):
            path = (*path, _spelling(note))
        elif isinstance(note, IterableValidationNote):
            path = (*path, note.index)
    if isinstance(error, ClassValidationError | IterableValidationError):
        for inner in error.exceptions:
            yield from _located(inner, path, document)
    elif isinstance(error, ForbiddenExtraKeysError):
        known = keys_of(error.cl)
        for key in sorted(error.extra_fields):
            yield Finding(
                "unknown-key",
                document.places.key(*path, key),
                f"`{key}` is not a key of {_thing(error.cl)}",
                f"its keys are {listed(known)}",
                _way_out(key, known),
            )
    elif isinstance(error, KeyError):
        missing = str(error.args[0])
        yield Finding(
            "missing-key",
            document.places.key(*path[:-1]),
            f"{_at(path[:-1])} does not say `{missing}`",
            "",
            f"write `{missing}: …`",
        )
    elif isinstance(error, Misfit):
        where = document.places.key if error.code in ABOUT_KEYS else document.places.value
        place = document.places.inside(error.offset, *path) if error.offset else where(*path)
        yield Finding(
            error.code, place, f"{_at(path)}: {error.message}" if path else error.message, error.because, error.fix
        )
    else:
        yield Finding("wrong-type", document.places.value(*path), f"{_at(path)}: {error}")


def _way_out(key: str, known: tuple[str, ...]) -> str:
    if " " in key:  # `{by: engine, doc: Old, and new}`: the comma ended the text
        return "a comma ends a value inside `{…}`: quote the text that holds it"
    near = nearest(key, known)
    return near if near.startswith("did") else "remove it"


def _spelling(note: AttributeValidationNote) -> str:
    """The YAML key of the attribute that a note names."""
    for renames in RENAMED.values():
        if note.name in renames:
            return renames[note.name]
    return note.name


def _at(path: DataPath) -> str:
    return "`" + ".".join(str(step) for step in path) + "`" if path else "the file"


_THINGS: dict[type, str] = {
    MachineSpec: "a machine",
    SystemSpec: "a system",
    ProfileSpec: "a profile",
    Alternative: "an answer",
    Variable: "a variable",
    Param: "a parameter",
    Action: "an action",
    LeadsTo: "an `eventually` property",
    Event: "an event",
}


def _thing(kind: type) -> str:
    return _THINGS.get(kind, f"a {kind.__name__.lower()}")


def _ill_named(spec: Spec, places: Places) -> Iterator[Finding]:
    """Names declared in the spec that are not names."""
    kind = next(k for k, cls in KINDS.items() if isinstance(spec, cls))
    declared: list[tuple[DataPath, str]] = [((kind,), spec.name)]
    sections = ("vars", "params", "states", "events", "parts", "define", "actions", "resources", "always", "eventually")
    for section in sections:
        if not isinstance(spec, ProfileSpec):
            declared += [((section, name), name) for name in getattr(spec, section, ())]
    for path, name in declared:
        if not NAME.match(name.replace("-", "_") if isinstance(spec, ProfileSpec) else name):
            yield Finding(
                "bad-name",
                places.value(*path) if path == (kind,) else places.key(*path),
                f"`{name}` is not a name",
                "a name is lower-case letters, digits and `_`, and begins with a letter",
                "rename it",
            )
