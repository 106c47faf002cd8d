"""The pages in Markdown: an index that shows every picture, and a table of a system's actions."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from calfsm.render.dot import MARK
from calfsm.render.model import Action, Diagram, Line, Overview

_HEADER = f"<!-- {MARK}. Change the spec, then draw again. -->"
_MARKUP = re.compile(r"([\\`*\[\]|~@$]|(?<![^\W_])_|_(?![^\W_]))")  # an underscore inside a word is just that
_BLOCK = re.compile(r"^([#+=-]|\d+(?=[.)]))")  # what at the start of a line begins a heading or a list


def index_page(diagrams: Sequence[Diagram], overviews: Sequence[Overview]) -> str:
    """The index: systems first, then machines."""
    lines = [
        _HEADER,
        "",
        "# Diagrams",
        "",
        "Colours, line styles and the first word of each label tell who speaks; `[…]` is a guard, `/ …` what is set.",
        "Refusals are not drawn. `elsewhere` is every state where the event has no arrow and no other row.",
    ]
    for overview in overviews:
        lines += ["", f"## System {_text(overview.name)}", "", *_system(overview)]
    for diagram in diagrams:
        lines += ["", f"## Machine {_text(diagram.name)}", "", *_machine(diagram)]
    return "\n".join(lines) + "\n"


def actions_page(overview: Overview) -> str:
    """Every action of a system against the parts that take part in it."""
    lines = [_HEADER, "", f"# Actions of {_text(overview.name)}", "", _doc(overview.doc), ""]
    lines += ["Each action happens in all its participants or in none.", ""]
    parts = [part.name for part in overview.parts]
    lines += _table(["action", "by", *parts], (_row(action, len(parts)) for action in overview.actions))
    lines += ["", "## When, and what else", ""]
    lines += _table(["action", "takes", "when", "sets", "effects", ""], map(_details, overview.actions))
    return "\n".join(lines) + "\n"


# ---- the index


def _system(overview: Overview) -> Iterator[str]:
    name = overview.name
    yield from (_doc(overview.doc), "")
    yield f"![parts, references and who moves what in {_text(name)}]({name}.overview.svg)"
    yield ""
    yield f"[Actions]({name}.actions.md) · [DOT]({name}.overview.dot) · [Mermaid]({name}.overview.mmd)"


def _machine(diagram: Diagram) -> Iterator[str]:
    name = diagram.name
    yield from (_doc(diagram.doc), "")
    yield f"![states and moves of {_text(name)}]({name}.svg)"
    yield ""
    yield f"[DOT]({name}.dot) · [Mermaid]({name}.mmd)"
    yield from ("", "<details><summary>States and events in words</summary>", "")
    yield from _table(["state", "", "what it means"], ((n.name, "; ".join(n.marks), n.doc) for n in diagram.nodes))
    yield ""
    said = sorted(_lines(diagram), key=lambda line: line.event)
    events = {line.event: (line.event, line.speaker, line.doc) for line in said}
    yield from _table(["event", "by", "what it means"], events.values())
    yield from ("", "</details>")


def _lines(diagram: Diagram) -> Iterator[Line]:
    for edge in diagram.edges:
        yield from edge.lines
    for stay in diagram.stays:
        yield stay.line


# ---- the actions


def _row(action: Action, parts: int) -> list[str]:
    """What each part takes, participants with their events."""
    fires = [action.fires.get(part, ()) for part in range(parts)]
    cells = ["; ".join(f"{who}: {', '.join(events)}" for who, events in fired) for fired in fires]
    return [action.name, action.speaker, *cells]


def _details(action: Action) -> list[str]:
    when = " and ".join(action.when)
    return [action.name, ", ".join(action.takes), when, ", ".join(action.sets), ", ".join(action.effects), action.doc]


# ---- writing


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _cells(header)
    yield _cells(["---"] * len(header), escape=False)
    for row in rows:
        yield _cells(row)


def _cells(cells: Sequence[str], escape: bool = True) -> str:
    return "| " + " | ".join(_text(cell) if escape else cell for cell in cells) + " |"


def _doc(text: str) -> str:
    return _BLOCK.sub(lambda start: f"&#{ord(start[0][0])};{start[0][1:]}", _text(text)) or "Nothing is said of it."


def _text(text: str) -> str:
    """Text on one line in which Markdown and HTML read nothing."""
    return html.escape(_MARKUP.sub(r"\\\1", " ".join(text.split())), quote=False)
