"""The JSON Schema that editors use, and the reader, take the same documents."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest

import calfsm.spec
from calfsm.spec import model
from calfsm.spec.read import KINDS, SCHEMA_KEY, keys_of, structure
from calfsm.spec.yaml_text import Document, Places, read_bytes

FOLDER = Path(calfsm.spec.__file__).parent / "schema"
PROJECT_SPECS = sorted((Path(__file__).parents[2] / "specs").rglob("*.yaml"))
SCHEMAS: dict[str, Any] = {kind: json.loads((FOLDER / f"{kind}.schema.json").read_text("utf-8")) for kind in KINDS}
VALIDATORS = {kind: jsonschema.Draft7Validator(schema) for kind, schema in SCHEMAS.items()}

WHERE_A_CLASS_IS_DESCRIBED = {
    model.MachineSpec: [("machine", None)],
    model.SystemSpec: [("system", None)],
    model.ProfileSpec: [("profile", None)],
    model.Param: [("machine", "param"), ("system", "param")],
    model.Variable: [("machine", "variable")],
    model.State: [("machine", "state")],
    model.Deadline: [("machine", "deadline")],
    model.Event: [("machine", "event")],
    model.Alternative: [("machine", "answer")],
    model.Part: [("system", "part")],
    model.Action: [("system", "action")],
    model.Resource: [("system", "resource")],
    model.LeadsTo: [("system", "leads_to")],
}
NOT_WRITTEN_AS_A_MAPPING = {model.Cell, model.Participant}

MACHINE = """
$schema: machine.schema.json
machine: buffer
doc: One pool item.
params: {max_length: {serves: 32768, explores: 2, doc: How long a lane gets.}}
vars:
  tainted: {bool: false, doc: The runtime reported a fault.}
  length:  {int: [0, max_length], initial: 1}
  colour:  {enum: [red, green], initial: green}
  owner:   {ref: jobs}
  lap:     {cycle: 4}
states:
  free:      {initial: true, doc: In the pool.}
  preparing:
  submitted: {awaits: runtime, deadline: {after: wait_timeout, event: wait_timeout}}
  done:      {outcome: true}
  retired:   {final: true}
events:
  acquire:      {by: engine}
  answer:       {by: runtime, doc: The device is done.}
  wait_timeout: {by: clock}
transitions:
  free: {acquire: preparing}
  preparing:
    acquire: {to: preparing, when: length < max_length, set: {length: length + 1, tainted: false, lap: 2}}
  submitted:
    answer:
      - {when: not tainted, to: done}
      - {else: true, to: retired}
  done:
anywhere:
  answer:       {stay: idle}
  wait_timeout: {stay: idle}
"""
SYSTEM = """
system: executor
doc: Jobs and their buffers.
params: {jobs: {serves: 64, explores: 2}}
parts:
  device:  {machine: device, doc: The only one.}
  jobs:    {machine: job, count: jobs}
  buffers: {machine: buffer, count: 2}
  dma:     {machine: dma, per: buffers}
define:
  in_flight: count(j for j in jobs if j is running)
actions:
  prepare:
    by: engine
    doc: Take a buffer.
    pick:   {j: jobs, b: buffers}
    choose: {n: [1, jobs]}
    when:   device is ready and n <= 2
    fire:   {j: prepare, b: acquire, b.dma: [stop, start]}
    set:    {j.buffer: b}
    effect: runtime.infer
  reset:
    by: recovery
    fire: {device: reset, all buffers: reset, jobs where buffer == device: lose}
    effect: [runtime.reset, metrics]
resources:
  item:
    doc: A buffer that is taken.
    part: buffers
    free: free
    aside: [lost, torn]
    held_by: {jobs: buffer, device: [ping, pong]}
    unless: device is off
always:
  bounded: in_flight <= 2
eventually:
  every_job_ends: {each: {j: jobs}, from: j is running, to: j is done, doc: Nobody waits for ever.}
fair: [engine, runtime, clock, recovery]
strongly_fair: [prepare]
home: device is ready
"""
PROFILE = """
profile: phase-a
system: executor
doc: One device.
params: {jobs: 1}
deadlines: {wait_timeout: 2.0, queue_deadline: 10}
scope: {jobs: 1}
"""
DOCUMENTS = {"machine": MACHINE, "system": SYSTEM, "profile": PROFILE}


def data_of(text: str) -> Any:
    document = read_bytes(text.encode(), "sample.yaml")
    assert not document.findings
    return document.data


SAMPLES = {kind: data_of(text) for kind, text in DOCUMENTS.items()}


def schema_takes(kind: str, data: Any) -> bool:
    return bool(VALIDATORS[kind].is_valid(data))


def reader_takes(data: Any) -> bool:
    """Whether the shape is right. What an expression says is text to a schema."""
    return all(
        finding.code == "bad-expression" for finding in structure(Document(Places("sample.yaml"), data)).findings
    )


def described(kind: str, definition: str | None) -> Any:
    return SCHEMAS[kind]["definitions"][definition] if definition else SCHEMAS[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_each_schema_is_itself_valid(kind: str) -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMAS[kind])


@pytest.mark.parametrize("cls", WHERE_A_CLASS_IS_DESCRIBED, ids=lambda cls: cls.__name__)
def test_the_schema_has_exactly_the_keys_that_the_reader_takes(cls: type[Any]) -> None:
    for kind, definition in WHERE_A_CLASS_IS_DESCRIBED[cls]:
        schema = described(kind, definition)
        also = {SCHEMA_KEY} if cls in KINDS.values() else set()
        assert set(schema["properties"]) == set(keys_of(cls)) | also
        assert schema["additionalProperties"] is False


@pytest.mark.parametrize("cls", WHERE_A_CLASS_IS_DESCRIBED, ids=lambda cls: cls.__name__)
def test_the_schema_wants_exactly_the_keys_that_the_reader_wants(cls: type[Any]) -> None:
    spelt = dict(zip((field.name for field in attrs.fields(cls) if field.name != "places"), keys_of(cls), strict=True))
    wanted = {spelt[field.name] for field in attrs.fields(cls) if field.default is attrs.NOTHING}
    for kind, definition in WHERE_A_CLASS_IS_DESCRIBED[cls]:
        assert set(described(kind, definition).get("required", [])) == wanted


def test_no_class_of_the_model_is_left_out_of_the_schema() -> None:
    classes = {value for value in vars(model).values() if isinstance(value, type) and attrs.has(value)}
    of_the_model = {cls for cls in classes if cls.__module__ == model.__name__}
    assert of_the_model == set(WHERE_A_CLASS_IS_DESCRIBED) | NOT_WRITTEN_AS_A_MAPPING


@pytest.mark.parametrize("kind", ["machine", "system"])
def test_the_schema_names_the_sources_that_the_model_has(kind: str) -> None:
    assert SCHEMAS[kind]["definitions"]["source"]["enum"] == [source.value for source in model.Source]


def test_what_two_schemas_share_they_say_alike() -> None:
    machine, system = SCHEMAS["machine"]["definitions"], SCHEMAS["system"]["definitions"]
    for name in ("name", "doc", "bound", "param"):
        assert machine[name] == system[name]


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_has_words_for_the_editor_to_show(kind: str) -> None:
    for holder in (SCHEMAS[kind], *SCHEMAS[kind].get("definitions", {}).values()):
        for key, schema in holder.get("properties", {}).items():
            while "description" not in schema and "$ref" in schema:
                schema = SCHEMAS[kind]["definitions"][schema["$ref"].rpartition("/")[2]]
            assert schema.get("description") or key in {"else"} or schema.get("title"), key


@pytest.mark.parametrize("kind", KINDS)
def test_both_take_a_document_that_uses_every_key(kind: str) -> None:
    assert structure(Document(Places("sample.yaml"), SAMPLES[kind])).findings == ()
    assert list(VALIDATORS[kind].iter_errors(SAMPLES[kind])) == []


def test_both_take_every_spec_of_the_project() -> None:
    for path in PROJECT_SPECS:
        data = data_of(path.read_text("utf-8"))
        assert reader_takes(data), path
        assert list(VALIDATORS[kind_in(path)].iter_errors(data)) == [], path


def test_every_spec_of_the_project_names_its_schema_for_editors() -> None:
    for path in PROJECT_SPECS:
        first = path.read_text("utf-8").splitlines()[0]
        label, _, target = first.partition("$schema=")
        assert label == "# yaml-language-server: ", path
        assert (path.parent / target).resolve() == FOLDER / f"{kind_in(path)}.schema.json"


def kind_in(path: Path) -> str:
    return next(kind for kind in KINDS if kind in data_of(path.read_text("utf-8")))


BAD = {
    "an unknown key at the top": ("machine", {"machin": "buffer"}, ()),
    "a state with an unknown key": ("machine", {"starts": True}, ("states", "free")),
    "a name with a capital": ("machine", {"Free": {}}, ("states",)),
    "an event that nobody says": ("machine", {"lost": None}, ("events",)),
    "an unknown source": ("machine", {"by": "nobody"}, ("events", "acquire")),
    "a parameter without its small value": ("machine", {"depth": {"serves": 8}}, ("params",)),
    "a variable of two kinds": ("machine", {"cycle": 3}, ("vars", "tainted")),
    "a variable of no kind": ("machine", {"x": {"doc": "what?"}}, ("vars",)),
    "a range of three": ("machine", {"x": {"int": [0, 1, 2]}}, ("vars",)),
    "an answer that moves and stays": ("machine", {"acquire": {"to": "free", "stay": "why"}}, ("anywhere",)),
    "an answer that does neither": ("machine", {"acquire": {"when": "tainted"}}, ("anywhere",)),
    "when and else together": (
        "machine",
        {"acquire": [{"to": "free", "when": "tainted", "else": True}]},
        ("anywhere",),
    ),
    "an else that is false": ("machine", {"acquire": [{"to": "free", "else": False}]}, ("anywhere",)),
    "no alternatives": ("machine", {"acquire": []}, ("anywhere",)),
    "a bare word among alternatives": ("machine", {"acquire": ["free"]}, ("anywhere",)),
    "a part of no machine": ("system", {"x": {"count": 2}}, ("parts",)),
    "an action in which nobody takes part": ("system", {"fire": {}}, ("actions", "prepare")),
    "a participant that cannot be read": ("system", {"every buffer": "reset"}, ("actions", "reset", "fire")),
    "an effect that is a sentence": ("system", {"effect": "do it now"}, ("actions", "reset")),
    "a resource that nobody holds": ("system", {"held_by": {}}, ("resources", "item")),
    "a resource that is never free": ("system", {"free": []}, ("resources", "item")),
    "a property that leads nowhere": ("system", {"x": {"from": "true"}}, ("eventually",)),
    "a fair number": ("system", {"fair": [3]}, ()),
    "one who is fair, without a list": ("system", {"strongly_fair": "clock"}, ()),
    "a parameter that is a fraction": ("profile", {"jobs": 1.5}, ("params",)),
    "a deadline in words": ("profile", {"wait_timeout": "soon"}, ("deadlines",)),
}


@pytest.mark.parametrize("what", BAD)
def test_both_refuse(what: str) -> None:
    kind, keys, path = BAD[what]
    data = copy.deepcopy(SAMPLES[kind])
    place = data
    for step in path:
        place = place[step]
    place.update(keys)
    assert not reader_takes(data)
    assert not schema_takes(kind, data)


DataPath = tuple[Any, ...]


def paths_in(data: Any, path: DataPath = ()) -> Iterator[DataPath]:
    """The path of every value in `data`, outside in."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, item in inner:
        if key != SCHEMA_KEY:
            yield (*path, key)
            yield from paths_in(item, (*path, key))


VALUES = [
    True,
    False,
    0,
    7,
    1.5,
    "word",
    "Two Words",
    "a.b",
    "",
    [],
    ["a"],
    ["a", 1],
    [1, 2, 3],
    {},
    {"a": 1},
    {"to": "free"},
]
KEYS = [
    "doc",
    "by",
    "to",
    "stay",
    "when",
    "else",
    "count",
    "per",
    "initial",
    "x",
    "Free",
    "all x",
    "a where b == c",
    "sources",
]


def changed_in_one_place(data: Any, path: DataPath) -> Iterator[tuple[str, Any]]:
    """`data` with the value at `path` replaced, and for a key also dropped, renamed, or given a neighbour."""
    *outer, last = path

    def copied() -> tuple[Any, Any]:
        whole = copy.deepcopy(data)
        place = whole
        for step in outer:
            place = place[step]
        return whole, place

    for value in VALUES:
        whole, place = copied()
        place[last] = value
        yield f"is {value!r}", whole
    if isinstance(last, int):
        return
    whole, place = copied()
    del place[last]
    yield "is gone", whole
    for key in KEYS:
        whole, place = copied()
        place[key] = place.pop(last)
        yield f"is called {key}", whole
        whole, place = copied()
        place[key] = 7
        yield f"stands beside {key}: 7", whole


@pytest.mark.parametrize("kind", KINDS)
def test_both_agree_on_every_document_with_one_thing_changed(kind: str) -> None:
    takes = {True: 0, False: 0}
    for path in paths_in(SAMPLES[kind]):
        for what, data in changed_in_one_place(SAMPLES[kind], path):
            reads = reader_takes(data)
            assert schema_takes(kind, data) == reads, (path, what)
            takes[reads] += 1
    assert takes[True] > 50 and takes[False] > 50, "the sweep saw documents of both sorts"


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_left_empty_that_the_schema_takes_the_reader_takes_too(kind: str) -> None:
    for *outer, last in paths_in(SAMPLES[kind]):
        data = copy.deepcopy(SAMPLES[kind])
        place = data
        for step in outer:
            place = place[step]
        place[last] = None
        assert reader_takes(data) or not schema_takes(kind, data), data
