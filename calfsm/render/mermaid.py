"""Diagrams as Mermaid: `stateDiagram-v2` for a machine, a flowchart for a system, a sequence for a run.

Mermaid cannot colour the transitions of a state diagram, so each line names its speaker. All text that is not plainly
harmless is written as numeric entities, which Mermaid shows as the characters they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from calfsm.explore.systems import StoryLine
from calfsm.render import look
from calfsm.render.dot import MARK
from calfsm.render.labels import printable
from calfsm.render.model import SPEAKERS, Diagram, Edge, Group, Line, Node, Overview, Part, identifiers
from calfsm.render.sequence import Interaction

_WORDS = """
    accDescr accTitle all as call class classDef classDiagram click concurrent constructor default direction end
    flowchart fork graph hide history href interpolate join left linkStyle note of over parse prototype right root
    scale state stateDiagram style subgraph title toString
"""
RESERVED = frozenset(_WORDS.split())
"""Words that mean something to one of Mermaid's grammars, or to the objects that it keeps states in."""

_HARMLESS = frozenset(" _.,=+*/()[]'!?")


def machine_mermaid(diagram: Diagram) -> str:
    """A machine's states, moves and stays."""
    names = tuple(node.name for node in diagram.nodes)
    ids = _ids(names)
    lines = [
        "stateDiagram-v2",
        f"%% {MARK}. Change the spec, then draw again.",
        f"accTitle: machine {escaped(diagram.name)}",
        f"accDescr: {escaped(diagram.doc or diagram.name)}",
        "direction TB",
        *(line for node, name in zip(diagram.nodes, ids, strict=True) for line in _state(node, name)),
        *(_transition(edge, ids) for edge in diagram.edges),
        *_note(diagram, names, ids),
        f"classDef awaiting fill:{look.AWAITING_FILL}",
        f"classDef ended fill:{look.OUTCOME_FILL},stroke-width:2px",
        *_classes(diagram.nodes, ids),
    ]
    return _joined(lines)


def overview_mermaid(overview: Overview) -> str:
    """A system's parts and references, and for each speaker which parts it moves by which actions."""
    ids = _ids(tuple(part.name for part in overview.parts))
    lines = [
        "flowchart LR",
        f"%% {MARK}. Change the spec, then draw again.",
        f"accTitle: system {escaped(overview.name)}",
        f"accDescr: {escaped(overview.doc or overview.name)}",
        *(f'{name}["{_part(part)}"]' for part, name in zip(overview.parts, ids, strict=True)),
        *_references(overview, ids),
        *_speakers(overview),
    ]
    return _joined(lines)


def escaped(text: str) -> str:
    """Text that no grammar of Mermaid reads anything into."""
    line = " ".join(printable(text).split()) + " "
    return "".join(c if _is_harmless(c, after) else f"#{ord(c)};" for c, after in pairwise(line))


def _is_harmless(character: str, after: str) -> bool:
    """A colon means nothing inside a text when a space follows."""
    return character.isalnum() or character in _HARMLESS or (character == ":" and after == " ")


def sequence_mermaid(shown: Interaction) -> str:
    """A run as a sequence diagram: who speaks, and which instances move. One without a step has its title instead."""
    names = [life.name for life in shown.lifelines]
    lines = ["sequenceDiagram"]
    if not shown.lines:
        lines.append(f"  title {escaped(shown.title)}")
    lines += [f"  actor {speaker} as {escaped(speaker)}" for speaker in shown.speakers]
    lines += [f"  participant p{number} as {escaped(name)}" for number, name in enumerate(names)]
    lines += [f"  {message}" for message in _messages(shown.steps, names)]
    if shown.cycle:
        lines += ["  loop for ever", *(f"    {message}" for message in _messages(shown.cycle, names)), "  end"]
    for beside in (*shown.speakers, *(["p0"] if names else []))[:1]:
        lines += [f"  note over {beside}: {escaped(text)}" for text in shown.ending]
    return "\n".join(lines) + "\n"


def _messages(lines: Iterable[StoryLine], names: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if not line.changes:
            yield f"{line.by}->>{line.by}: {escaped(f'{line.number} {line.call}')}"
        for change in line.changes:
            text = escaped(f"{line.number} {line.call}: {str(change).removeprefix(f'{change.who}: ')}")
            yield f"{line.by}->>p{names.index(change.who)}: {text}"


# ---- a machine


def _state(node: Node, name: str) -> Iterator[str]:
    yield f'state "{escaped(node.name)}" as {name}'
    for mark in node.marks:
        yield f"{name} : {escaped(mark)}"
    for line in node.stays:
        yield f"{name} : stays on {_said(line)}"
    if node.initial:
        yield f"[*] --> {name}"
    if node.final:
        yield f"{name} --> [*]"


def _transition(edge: Edge, ids: Sequence[str]) -> str:
    return f"{ids[edge.source]} --> {ids[edge.target]} : {'<br/>'.join(map(_said, edge.lines))}"


def _said(line: Line) -> str:
    return escaped(f"{line.speaker} {line.text}")


def _note(diagram: Diagram, names: Sequence[str], ids: Sequence[str]) -> Iterator[str]:
    """All stays, beside the initial state; `elsewhere` is where an event has no arrow and no other line here."""
    if not diagram.stays:
        return
    initial = next((name for node, name in zip(diagram.nodes, ids, strict=True) if node.initial), ids[0])
    told = []
    for stay in diagram.stays:
        where = "elsewhere" if stay.elsewhere else f"in {', '.join(names[state] for state in stay.states)}"
        told.append(f"{_said(stay.line)} {escaped(where)}")
    yield f"note right of {initial} : No state changes on<br/>{'<br/>'.join(told)}"


def _classes(nodes: Sequence[Node], ids: Sequence[str]) -> Iterator[str]:
    for node, name in zip(nodes, ids, strict=True):
        if node.outcome or node.final:
            yield f"class {name} ended"
        elif node.awaits:
            yield f"class {name} awaiting"


# ---- a system


def _part(part: Part) -> str:
    moved = (f"{speaker}: {number}" for speaker, number in part.moved_by)
    said = [f"<b>{escaped(part.name)}</b>", escaped(f"machine {part.machine}"), escaped(part.count), *moved]
    return "<br/>".join(said)


def _references(overview: Overview, ids: Sequence[str]) -> Iterator[str]:
    for reference in overview.references:
        source, target = ids[reference.source], ids[reference.target]
        if reference.variable:
            yield f'{source} -. "{escaped(reference.variable)}" .-> {target}'
        else:
            yield f'{source} -- "has its own" --- {target}'


def _speakers(overview: Overview) -> Iterator[str]:
    """A box for each speaker: parts, then the actions that move exactly these."""
    names = [part.name for part in overview.parts]
    for speaker in SPEAKERS:
        rows = [_group(group, names) for group in overview.groups if group.speaker == speaker]
        if rows:
            yield f'by_{speaker}_["{"<br/>".join([f"<b>{speaker} moves</b>", *rows])}"]'
            yield f"style by_{speaker}_ stroke:{look.COLOURS[speaker]},text-align:left"


def _group(group: Group, names: Sequence[str]) -> str:
    parts = ", ".join(names[part] for part in group.parts)
    return escaped(f"{parts}: {', '.join(group.actions)}")


# ---- writing


def _ids(names: tuple[str, ...]) -> tuple[str, ...]:
    return identifiers(names, RESERVED | frozenset(name for name in names if name.startswith("by_")))


def _joined(lines: Sequence[str]) -> str:
    head, *rest = lines
    return "\n".join([head, *(f"  {line}" for line in rest)]) + "\n"
