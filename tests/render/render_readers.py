"""Small readers of DOT and Mermaid that know nothing of how calfsm writes them: what a picture says, read back."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import attrs

Answer = tuple[str, str, tuple[str, ...]]
"""One answer of a cell: guard text, the target or "stay", and what it sets."""


@attrs.define
class Picture:
    """What a picture says. `cells` maps (state, event) to its answers; `stays` are rows of (line, where, because)."""

    states: dict[str, list[str]] = attrs.field(factory=dict)
    initial: str = ""
    speakers: dict[str, str] = attrs.field(factory=dict)
    cells: dict[tuple[str, str], set[Answer]] = attrs.field(factory=dict)
    reasons: dict[tuple[str, str, str], str] = attrs.field(factory=dict)

    def add(self, state: str, line: str, target: str, because: str = "") -> None:
        """One answer, from its line of text."""
        event, guard, sets = self.parts(line)
        answers = self.cells.setdefault((state, event), set())
        assert (guard, target, sets) not in answers, f"said twice: {state} {line}"
        answers.add((guard, target, sets))
        self.reasons[state, event, guard] = because

    def parts(self, line: str) -> tuple[str, str, tuple[str, ...]]:
        """`clock late [g] / a = b, c = d` taken apart."""
        said = re.fullmatch(r"(\w+) (\w+)(?: \[(.*?)\])?(?: ?/ (.*))?", line)
        assert said is not None, line
        speaker, event, guard, sets = said.groups()
        assert self.speakers.setdefault(event, speaker) == speaker
        return event, guard or "", tuple(sets.split(", ")) if sets else ()

    def add_stays(self, rows: list[tuple[str, str, str]]) -> None:
        """The table of stays; `elsewhere` is every state that says nothing else about the event."""
        for line, where, because in rows:
            if where != "elsewhere":
                for state in where.split(", "):
                    self.add(state, line, "stay", because)
        for line, where, because in rows:
            if where == "elsewhere":
                event = self.parts(line)[0]
                for state in [state for state in self.states if (state, event) not in self.cells]:
                    self.add(state, line, "stay", because)


# ---- DOT

_TOKEN = re.compile(
    r'\s+|//[^\n]*|(?P<arrow>->)|(?P<word>[A-Za-z_0-9.]+)|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<mark>[][{};,=<])'
)


@attrs.frozen
class Statement:
    """A node (one id) or an edge (two), with attributes; `where` names the enclosing subgraphs."""

    ids: tuple[str, ...]
    attributes: dict[str, str]
    where: tuple[str, ...]


def dot_tokens(dot: str) -> Iterator[str]:
    at = 0
    while at < len(dot):
        if dot[at] == "<":
            end, depth = at, 0
            while True:
                depth += {"<": 1, ">": -1}.get(dot[end], 0)
                end += 1
                if depth == 0:
                    break
            yield dot[at:end]
            at = end
            continue
        found = _TOKEN.match(dot, at)
        assert found is not None, dot[at : at + 40]
        at = found.end()
        if found["text"] is not None:
            yield '"' + re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), found["text"])
        elif found["arrow"] or found["word"] or found["mark"]:
            yield found[0]


def dot_statements(dot: str) -> list[Statement]:
    """Every node, edge and `name=value` of a DOT text; the latter have no id."""
    tokens = list(dot_tokens(dot))
    statements: list[Statement] = []
    where: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in ("digraph", "subgraph"):
            where.append(_bare(tokens[at + 1]))
            assert tokens[at + 2] == "{"
            at += 3
        elif token == "}":
            where.pop()
            at += 1
        elif token in (";", ","):
            at += 1
        elif tokens[at + 1] == "=":
            statements.append(Statement((), {token: _bare(tokens[at + 2])}, tuple(where)))
            at += 3
        else:
            ids = [token]
            at += 1
            while tokens[at] == "->":
                ids.append(tokens[at + 1])
                at += 2
            attributes = {}
            if tokens[at] == "[":
                at += 1
                while tokens[at] != "]":
                    if tokens[at] == ",":
                        at += 1
                        continue
                    assert tokens[at + 1] == "="
                    attributes[tokens[at]] = _bare(tokens[at + 2])
                    at += 3
                at += 1
            statements.append(Statement(tuple(ids), attributes, tuple(where)))
    assert where == []
    return statements


def _bare(token: str) -> str:
    return token[1:] if token.startswith('"') else token


def label_rows(label: str) -> list[list[str]]:
    """The rows of an HTML-like label, as text; broken lines are joined by a space."""
    tree = ElementTree.fromstring(label[1:-1])
    for broken in list(tree.iter("br")):
        broken.tail = " " + (broken.tail or "")
    return [
        ["".join(cell.itertext()).replace("\xa0", " ").strip() for cell in row.iter("td")] for row in tree.iter("tr")
    ]


def read_dot(dot: str) -> Picture:
    """What a machine's DOT says."""
    picture = Picture()
    statements = [s for s in dot_statements(dot) if "cluster_below" in s.where]
    names: dict[str, str] = {}
    for node in (s for s in statements if len(s.ids) == 1 and s.ids[0] != "start_"):
        (name,), *rows = label_rows(node.attributes["label"])
        names[node.ids[0]] = name
        picture.states[name] = _read_node(picture, name, [row[0] for row in rows])
    for edge in (s for s in statements if len(s.ids) == 2):
        source, target = edge.ids
        if source == "start_":
            picture.initial = names[target]
            continue
        for (line,) in label_rows(edge.attributes["label"]):
            picture.add(names[source], line, names[target])
    table = next(s.attributes["label"] for s in statements if not s.ids and "label" in s.attributes)
    if table != "< >":
        head, *rows = label_rows(table)
        assert head == ["stays: no state changes on", "in", "because"]
        picture.add_stays([(row[0], row[1], row[2]) for row in rows])
    return picture


def _read_node(picture: Picture, name: str, rows: list[str]) -> list[str]:
    """The marks of a node; its moves to itself are added to the picture, its stays stand in the table too."""
    heading, marks = "", []
    for row in rows:
        if row in ("moves to itself on", "stays on"):
            heading = row
        elif heading == "moves to itself on":
            picture.add(name, row, name)
        elif not heading:
            marks.append(row)
    return marks


# ---- Mermaid


def read_mermaid(text: str) -> Picture:
    """What a machine's Mermaid says. It gives no reasons."""
    picture = Picture()
    head, *lines = [line.strip() for line in text.splitlines()]
    assert head == "stateDiagram-v2"
    names: dict[str, str] = {}
    note: list[str] = []
    for line in lines:
        if declared := re.fullmatch(r'state "([^"]*)" as (\w+)', line):
            names[declared[2]] = _plain(declared[1])
            picture.states[_plain(declared[1])] = []
        elif initial := re.fullmatch(r"\[\*\] --> (\w+)", line):
            picture.initial = names[initial[1]]
        elif final := re.fullmatch(r"(\w+) --> \[\*\]", line):
            assert "final" in picture.states[names[final[1]]]
        elif move := re.fullmatch(r"(\w+) --> (\w+) : (.*)", line):
            for said in move[3].split("<br/>"):
                picture.add(names[move[1]], _plain(said), names[move[2]])
        elif noted := re.fullmatch(r"note right of \w+ : (.*)", line):
            note = noted[1].split("<br/>")
        elif described := re.fullmatch(r"(\w+) : (.*)", line):
            if not described[2].startswith("stays on "):
                picture.states[names[described[1]]].append(_plain(described[2]))
        else:
            assert re.match(r"%%|acc(Title|Descr): |direction |classDef |class ", line), line
    picture.add_stays([_noted(_plain(row)) for row in note[1:]])
    return picture


def _noted(row: str) -> tuple[str, str, str]:
    said = re.fullmatch(r"(.*) (?:in ((?:\w+(?:, )?)+)|(elsewhere))", row)
    assert said is not None, row
    return said[1], said[2] or said[3], ""


def _plain(text: str) -> str:
    return re.sub(r"#(\d+);", lambda m: html.unescape(f"&#{m[1]};"), text)
