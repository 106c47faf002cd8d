"""Projected graphs as DOT and as Mermaid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from calfsm.explore.projection import Edge, Node, Projection
from calfsm.render import look
from calfsm.render.labels import attributes, digraph, escaped, faint, heading, plain, table, tooltip
from calfsm.render.mermaid import escaped as escaped_for_mermaid
from calfsm.render.model import SPEAKERS

REMARK = "Drawn by `calfsm graph`."
MOST_ACTIONS = 5
"""An edge names no more actions than this, and says how many more there are; its tooltip names all."""


def projection_dot(shown: Projection, title: str, said: Sequence[str], by: Mapping[str, str]) -> str:
    """The picture as Graphviz draws it. `said`: lines below the title; `by`: who speaks in each action."""
    body = [
        *heading(title, *said),
        *(line for number, node in enumerate(shown.nodes) for line in _node(number, node)),
        *(_edge(edge, by) for edge in shown.edges),
    ]
    return digraph(REMARK, title, body, "TB", ranksep=0.45, nodesep=0.35)


def projection_mermaid(shown: Projection, title: str, said: Sequence[str], by: Mapping[str, str]) -> str:
    """The picture as a Mermaid flowchart; each edge names its speakers, since all have one colour there."""
    lines = ["flowchart TB", f"  %% {REMARK}"]
    lines += [
        f"  accTitle: {escaped_for_mermaid(title)}",
        f"  accDescr: {escaped_for_mermaid('; '.join(said) or title)}",
    ]
    for number, node in enumerate(shown.nodes):
        texts = [escaped_for_mermaid(text) for text in (*_texts(node), _count(node))]
        ends = ("([", "])") if node.initial else ("[", "]")
        lines.append(f'  n{number}{ends[0]}"{"<br/>".join(texts)}"{ends[1]}')
    for edge in shown.edges:
        texts = [escaped_for_mermaid(f"{by[name]} {name}") for name in _named(edge)] + _unnamed(edge)
        lines.append(f'  n{edge.source} -->|"{"<br/>".join(texts)}"| n{edge.target}')
    return "\n".join(lines) + "\n"


def _node(number: int, node: Node) -> Iterator[str]:
    rows = []
    for index, texts in enumerate(node.looks):
        if index:
            rows.append(faint(f"\N{DOWNWARDS ARROW} {', '.join(node.through[index - 1])}"))
        rows += [_line(text) for text in texts]
    rows.append(faint(_count(node)))
    label = table([[row] for row in rows])
    weight = attributes(penwidth=2.2 if node.initial else 1)
    yield f"n{number} [label=<{label}>, {weight}, tooltip={tooltip(_distance(node))}];"


def _line(text: str) -> str:
    """`jobs: 1 submitted`, the part in faint letters."""
    name, _, what = text.partition(": ")
    return f"{faint(f'{name}:')} <b>{escaped(what)}</b>"


def _edge(edge: Edge, by: Mapping[str, str]) -> str:
    rows = [_said(by[name], name) for name in _named(edge)] + [plain(text) for text in _unnamed(edge)]
    speakers = [speaker for speaker in SPEAKERS if speaker in {by[name] for name in edge.actions}]
    stroke = attributes(color=":".join(look.COLOURS[speaker] for speaker in speakers), penwidth=1.1)
    tip = tooltip("\n".join(f"{by[name]} {name}: {count:,} transitions" for name, count in edge.actions.items()))
    label = table([[row] for row in rows], 2)
    return f"n{edge.source} -> n{edge.target} [{stroke}, label=<{label}>, tooltip={tip}, labeltooltip={tip}];"


def _said(speaker: str, action: str) -> str:
    return f'<font color="{look.COLOURS[speaker]}">{speaker} <b>{escaped(action)}</b></font>'


def _named(edge: Edge) -> list[str]:
    return list(edge.actions)[: MOST_ACTIONS if len(edge.actions) > MOST_ACTIONS + 1 else None]


def _unnamed(edge: Edge) -> list[str]:
    more = len(edge.actions) - len(_named(edge))
    return [f"and {more} more"] if more else []


def _texts(node: Node) -> Iterator[str]:
    for index, texts in enumerate(node.looks):
        if index:
            yield f"then, by {', '.join(node.through[index - 1])}"
        yield from texts


def _count(node: Node) -> str:
    return "1 state" if node.states == 1 else f"{node.states:,} states"


def _distance(node: Node) -> str:
    return f"{node.depth} steps from the initial state" if node.depth else "the initial state is here"
