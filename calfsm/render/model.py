"""What a picture shows, as plain data: no Graphviz and no Mermaid in here.

`extract` makes these from compiled tables; `dot`, `mermaid` and `page` write them down. Text is kept as it is; each
renderer escapes what its own format would misread.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import attrs

SPEAKERS = ("client", "engine", "runtime", "clock", "recovery")
"""Who may say an event, in the order of the spec language."""


class Kind(Enum):
    """What an answer is to the reader of a review."""

    MOVE = "move"
    CANCEL = "cancel"
    TIMEOUT = "timeout"
    RESET = "reset"
    STAY = "stay"


@attrs.frozen
class Line:
    """One answer of a cell: who says what, under which guard, and what it sets. A `guard` of "" is none."""

    speaker: str
    event: str
    kind: Kind
    guard: str = ""
    sets: tuple[str, ...] = ()
    doc: str = ""

    @property
    def said(self) -> str:
        """The event, its guard in square brackets."""
        return f"{self.event} [{self.guard}]" if self.guard else self.event

    @property
    def text(self) -> str:
        """The whole answer: `rejected [rejects < max_rejects] / rejects = rejects + 1`."""
        return f"{self.said} / {', '.join(self.sets)}" if self.sets else self.said


@attrs.frozen
class Edge:
    """All moves between the same two states. Nodes are given by index."""

    source: int
    target: int
    lines: tuple[Line, ...]

    def voices(self) -> tuple[tuple[str, Kind], ...]:
        """The (speaker, kind) pairs of its lines, each once."""
        return tuple(dict.fromkeys((line.speaker, line.kind) for line in self.lines))


@attrs.frozen
class Stay:
    """An event that changes no state: where, and why. `elsewhere` says that `states` are all that show nothing else."""

    line: Line
    because: str
    states: tuple[int, ...]
    elsewhere: bool = False


@attrs.frozen
class Node:
    """One state. `stays` are the answers worth marking in the node itself; every stay is among the diagram's."""

    name: str
    doc: str = ""
    initial: bool = False
    final: bool = False
    outcome: bool = False
    awaits: str = ""
    deadline: tuple[str, str] | None = None
    stays: tuple[Line, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """What the state is besides its name and being initial, a line each."""
        found = [word for word, holds in (("final", self.final), ("outcome", self.outcome)) if holds]
        if self.awaits:
            found.append(f"awaits {self.awaits}")
        if self.deadline is not None:
            found.append("after {}: {}".format(*self.deadline))
        return tuple(found)


@attrs.frozen
class Diagram:
    """One machine."""

    name: str
    doc: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    stays: tuple[Stay, ...]

    def loops(self, node: int) -> tuple[Line, ...]:
        """The moves of a node to itself."""
        return tuple(line for edge in self.edges if edge.source == edge.target == node for line in edge.lines)

    def voices(self) -> tuple[tuple[str, Kind], ...]:
        """The (speaker, kind) pairs of its edges between states, in the order of SPEAKERS: what a legend explains."""
        used = {voice for edge in self.edges if edge.source != edge.target for voice in edge.voices()}
        return tuple(pair for speaker in SPEAKERS for kind in Kind if (pair := (speaker, kind)) in used)


@attrs.frozen
class Part:
    """One part of a system: its machine, how many there are, and how many actions of each speaker move it."""

    name: str
    machine: str
    count: str
    doc: str = ""
    moved_by: tuple[tuple[str, int], ...] = ()


@attrs.frozen
class Reference:
    """How one part leads to another, by index: a variable's name, or "" for the own one of a `per` part."""

    source: int
    target: int
    variable: str = ""


@attrs.frozen
class Group:
    """Actions of one speaker that move the same parts (by index)."""

    speaker: str
    parts: tuple[int, ...]
    actions: tuple[str, ...]


@attrs.frozen
class Action:
    """One action in words. `fires` maps a part's index to what its instances take: (participant, events)."""

    name: str
    speaker: str
    doc: str
    takes: tuple[str, ...]
    when: tuple[str, ...]
    fires: Mapping[int, tuple[tuple[str, tuple[str, ...]], ...]]
    sets: tuple[str, ...]
    effects: tuple[str, ...]


@attrs.frozen
class Overview:
    """One system."""

    name: str
    doc: str
    parts: tuple[Part, ...]
    references: tuple[Reference, ...]
    groups: tuple[Group, ...]
    actions: tuple[Action, ...]


def identifiers(names: tuple[str, ...], reserved: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """A plain identifier for each name: the name itself, or `s` and its position when a format could misread it."""
    plain = [_is_plain(name) and name not in reserved for name in names]
    taken = {name for name, good in zip(names, plain, strict=True) if good}
    made = []
    for index, (name, good) in enumerate(zip(names, plain, strict=True)):
        made.append(name if good else _free(f"s{index}", taken))
    return tuple(made)


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not name.startswith("_")


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
