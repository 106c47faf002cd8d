"""YAML text to plain data, with the place of every key and value.

A small, strict dialect: one document; no tags, no merge keys; plain `true` and `false` are the only booleans, so `on`,
`off`, `yes` and `no` are the words they look like; keys are words. What is outside the dialect is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import yaml

from calfsm.spec.findings import Finding, Place

MAX_BYTES = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 100_000

Key = str | int
DataPath = tuple[Key, ...]

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+([eE][-+]?[0-9]+)?\Z")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@attrs.frozen
class Places:
    """Where each key and value of a document stands, by its path from the root (`("states", "free")`)."""

    file: str
    keys: dict[DataPath, Place] = attrs.field(factory=dict, repr=False)
    values: dict[DataPath, Place] = attrs.field(factory=dict, repr=False)
    insets: dict[DataPath, int] = attrs.field(factory=dict, repr=False)
    """For a value written on one line: how far its text begins behind its place (1 behind a quote)."""

    def key(self, *path: Key) -> Place:
        """The place of the key at `path`, or of the nearest enclosing one that exists."""
        return self._nearest(self.keys, path)

    def value(self, *path: Key) -> Place:
        """The place of the value at `path`, or of the nearest enclosing one that exists."""
        return self._nearest(self.values, path)

    def inside(self, offset: int, *path: Key) -> Place:
        """The place of the character at `offset` of the text at `path`; of the text when it runs over several lines."""
        place = self.value(*path)
        inset = self.insets.get(path)
        return place if inset is None else Place(place.file, place.line, place.column + inset + offset)

    def _nearest(self, table: dict[DataPath, Place], path: DataPath) -> Place:
        for end in range(len(path), -1, -1):
            place = table.get(path[:end]) or self.values.get(path[:end])
            if place:
                return place
        return Place(self.file)


@attrs.define
class Document:
    """What reading one text gave: `data` is None when there is nothing to structure."""

    places: Places
    data: Any = None
    findings: list[Finding] = attrs.field(factory=list)


def read_file(path: Path) -> Document:
    """Read a file. Raises OSError when it cannot be opened; everything else is a finding."""
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    return read_bytes(raw, str(path))


def read_bytes(raw: bytes, file: str) -> Document:
    """Read UTF-8 bytes (a byte-order mark is allowed); `file` names them in findings."""
    document = Document(Places(file))
    if len(raw) > MAX_BYTES:
        document.findings.append(
            Finding(
                "too-large",
                Place(file),
                f"the file is larger than {MAX_BYTES:,} bytes",
                "a spec is written by people for people; a file of this size is not one",
                "split it into one machine or system a file",
            )
        )
        return document
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        good = raw[: error.start]
        line = good.count(b"\n") + 1
        column = len(good.rpartition(b"\n")[2].decode("utf-8-sig", "replace")) + 1
        document.findings.append(
            Finding(
                "not-utf-8",
                Place(file, line, column),
                f"byte 0x{raw[error.start]:02x} is not UTF-8",
                "specs are UTF-8 text",
                "save the file as UTF-8",
            )
        )
        return document
    _read_text(text, document)
    return document


def _read_text(text: str, document: Document) -> None:
    file = document.places.file
    try:
        too_deep = _too_deep(text, file)
        if too_deep:
            document.findings.append(too_deep)
            return
        roots = list(yaml.compose_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        document.findings.append(_syntax(error, text, file))
        return
    if not roots or roots[0] is None or _is_null(roots[0]):
        document.findings.append(
            Finding(
                "empty",
                Place(file),
                "the file holds nothing",
                "a spec starts with `machine: NAME`, `system: NAME` or `profile: NAME`",
                "write one, or begin with `calfsm new machine NAME`",
            )
        )
        return
    if len(roots) > 1:
        document.findings.append(
            Finding(
                "many-documents",
                _mark(roots[1], file),
                "a second document begins here",
                "a file holds one machine, system or profile",
                "move it to a file of its own",
            )
        )
    builder = _Builder(document)
    data = builder.build(roots[0], ())
    document.data = None if builder.stopped else data


def _too_deep(text: str, file: str) -> Finding | None:
    """Nesting is measured on the flat event stream, so that a hostile file cannot exhaust the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                return _nested(_mark(event, file))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return None


def _nested(place: Place) -> Finding:
    return Finding(
        "too-deep",
        place,
        f"nesting is deeper than {MAX_DEPTH} levels",
        "no part of a spec is nested more than a handful of levels",
        "check for brackets that were never closed",
    )


def _syntax(error: yaml.YAMLError, text: str, file: str) -> Finding:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # a character that YAML forbids: the reader knows its position only
        position = getattr(error, "position", 0)
        before = text[:position]
        place = Place(file, before.count("\n") + 1, position - before.rfind("\n"))
        return Finding(
            "not-yaml",
            place,
            "a control character that YAML does not allow",
            "",
            "remove it; it is not visible in most editors",
        )
    place = Place(file, mark.line + 1, mark.column + 1)
    problem = (getattr(error, "problem", None) or "this is not YAML").strip()
    if "nesting depth" in problem:
        return _nested(place)
    lines = text.split("\n")
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: mark.column + 1] or "\\t" in problem:
        column = line.find("\t") + 1 or mark.column + 1
        return Finding(
            "tab",
            Place(file, mark.line + 1, column),
            "a tab where YAML wants spaces",
            "YAML indents with spaces only",
            "replace the tab by spaces",
        )
    context = (getattr(error, "context", None) or "").strip()
    began = getattr(error, "context_mark", None)
    if context and began is not None:
        context += f", which begins at line {began.line + 1}"
    return Finding(
        "not-yaml",
        place,
        f"not YAML: {problem}",
        context,
        "quote text that holds `: `, ` #`, or begins with one of @ ` % & * ! | > [ ] { }",
    )


def _mark(node: Any, file: str) -> Place:
    return Place(file, node.start_mark.line + 1, node.start_mark.column + 1)


def _is_plain(node: Any) -> bool:
    return not node.style  # the C loader says "", the Python one None


def _is_null(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and _is_plain(node) and node.value in ("", "~", "null")


class _Builder:
    """Walks composed nodes once, in file order."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._file = document.places.file
        self._nodes = 0
        self._open: set[int] = set()
        self.stopped = False

    def build(self, node: Any, path: DataPath) -> Any:
        self._document.places.values[path] = _mark(node, self._file)
        if isinstance(node, yaml.ScalarNode) and node.start_mark.line == node.end_mark.line:
            self._document.places.insets[path] = 0 if _is_plain(node) else 1
        self._nodes += 1
        if self._nodes > MAX_NODES or len(path) > MAX_DEPTH or id(node) in self._open:
            if not self.stopped:
                self.stopped = True
                self._find(
                    "alias-bomb",
                    node,
                    f"the anchors of this file expand to more than {MAX_NODES:,} values",
                    "an alias repeats all that its anchor holds, and an anchor that holds itself never ends",
                    "write the values out",
                )
            return None
        if self.stopped:
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                self._refuse_tag(node, "tag:yaml.org,2002:seq")
                return [self.build(item, (*path, i)) for i, item in enumerate(node.value)]
            self._refuse_tag(node, "tag:yaml.org,2002:map")
            return dict(self._pairs(node, path))
        finally:
            self._open.discard(id(node))

    def _pairs(self, node: Any, path: DataPath) -> Iterator[tuple[str, Any]]:
        seen: dict[str, Place] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._find("bad-key", key_node, "a key must be a word", "", "quote it if it is text")
                continue
            key = str(key_node.value)
            place = _mark(key_node, self._file)
            if key == "<<" and _is_plain(key_node):
                self._find(
                    "merge-key",
                    key_node,
                    "`<<` merges another mapping into this one",
                    "what a spec says stands where it is said",
                    "write the keys out",
                )
                continue
            if key in seen:
                self._find(
                    "duplicate-key",
                    key_node,
                    f"`{key}` is written twice",
                    f"it stands at line {seen[key].line} already; YAML itself would keep the last one without a word",
                    "keep one of them, or rename this one",
                )
                continue
            seen[key] = place
            self._document.places.keys[(*path, key)] = place
            yield key, self.build(value_node, (*path, key))

    def _scalar(self, node: Any) -> Any:
        text = str(node.value)
        if not _is_plain(node):
            self._refuse_tag(node, "tag:yaml.org,2002:str")
            return text
        if node.tag.startswith("!") or "python" in node.tag:
            self._refuse_tag(node, "")
            return text
        if text in ("", "~", "null"):
            return None
        if text in ("true", "false"):
            return text == "true"
        if _INTEGER.match(text) and len(text) < 20:
            return int(text)
        if _DECIMAL.match(text):
            return float(text)
        return text

    def _refuse_tag(self, node: Any, usual: str) -> None:
        if node.tag != usual:
            self._find(
                "tag",
                node,
                f"the tag `{node.tag}` is not taken here",
                "a spec holds plain words, numbers, lists and mappings",
                "remove the tag",
            )

    def _find(self, code: str, node: Any, message: str, because: str, fix: str) -> None:
        self._document.findings.append(Finding(code, _mark(node, self._file), message, because, fix))
