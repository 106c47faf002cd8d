"""The reachable graph, projected onto chosen parts: states that look alike there are one node.

What is then still too much to be read is collapsed further, step by step (`Collapse`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import pairwise

import attrs

from calfsm.engine.engine import Snapshot
from calfsm.engine.table import shown
from calfsm.explore.graph import Graph
from calfsm.explore.systems import Call, SystemModel

STATE = -1
"""The state of an instance, among its variables' indices."""


class Collapse(IntEnum):
    """How much is collapsed; each does what those before it do as well."""

    NOTHING = 0
    INSTANCES = 1
    """Instances of a part are counted, not told apart; of a reference is only said whether it leads somewhere."""
    VARIABLES = 2
    """Variables are left out where none was asked for."""
    CHAINS = 3
    """Where one node leads to one other only, and nothing else leads there, the two are one."""


@attrs.frozen
class Chosen:
    """What is shown of a part: all its instances, or the one at `index`; and of each its state, variables, or one."""

    part: int
    index: int | None = None
    field: int | None = None


Value = tuple[int, ...]
"""What is shown of one instance."""
Key = tuple[tuple[Value, ...], ...]
"""What is shown of a state: for each thing chosen, for each of its instances."""


@attrs.frozen
class Node:
    """States that look alike.

    `looks`: in words, a line for each thing chosen; several looks where a chain is one node, and between them the
    actions that lead from one to the next (`through`). `depth`: steps of the system to the nearest of its states;
    `moves`: edges of the projection to it, None when no way is shown.
    """

    looks: tuple[tuple[str, ...], ...]
    through: tuple[tuple[str, ...], ...]
    states: int
    depth: int
    initial: bool
    moves: int | None = None


@attrs.frozen
class Edge:
    """Everything that leads from one node to another, by index: transitions by the name of their action."""

    source: int
    target: int
    actions: Mapping[str, int]


@attrs.frozen
class Projection:
    """Nodes in the order in which the search came to them, edges in that of their ends, and what was collapsed."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    collapsed: tuple[Collapse, ...]


@attrs.frozen
class Shown:
    """Which of the states and transitions are looked at.

    `since`: what can be reached from such states; `until`: what leads to such. Both: what lies between them, on ways
    that end in the first of the latter, and do not come through one of the former again.
    """

    where: Callable[[Snapshot], bool] | None = None
    since: Callable[[Snapshot], bool] | None = None
    until: Callable[[Snapshot], bool] | None = None
    actions: Collection[str] | None = None
    selfs: bool = False


def project(
    model: SystemModel,
    graph: Graph[Snapshot, Call],
    chosen: Sequence[Chosen],
    *,
    most: int | None = None,
    collapse: Collapse | None = None,
    of: Shown | None = None,
) -> Projection:
    """The projection of a closed graph.

    `collapse`: how much; without, as little as leaves at most `most` nodes, or everything if nothing does. Where only
    some actions are shown, nodes that none of them leaves or reaches are not.
    """
    of = of or Shown()
    kept = _kept(model, graph, of)
    collapsed, numbers, nodes = [], *_nodes(graph, _Look(model, chosen, Collapse.NOTHING), kept)
    for level in (Collapse.INSTANCES, Collapse.VARIABLES):
        if _enough(level, nodes, most, collapse):
            break
        numbers, fewer = _nodes(graph, _Look(model, chosen, level), kept)
        collapsed += [level] if len(fewer) < len(nodes) else []
        nodes = fewer
    edges = _edges(model, graph, numbers, of)
    if of.actions is not None:
        nodes, edges = _touched(nodes, edges)
    if not _enough(Collapse.CHAINS, nodes, most, collapse):
        fewer, edges = _chained(nodes, edges)
        collapsed += [Collapse.CHAINS] if len(fewer) < len(nodes) else []
        nodes = fewer
    return Projection(_measured(nodes, edges), edges, tuple(collapsed))


def _enough(level: Collapse, nodes: Sequence[Node], most: int | None, collapse: Collapse | None) -> bool:
    """Whether `level` need not be done."""
    return level > collapse if collapse is not None else most is None or len(nodes) <= most


# ---- which states and transitions


def _kept(model: SystemModel, graph: Graph[Snapshot, Call], of: Shown) -> bytearray:
    """For each state, whether it is looked at."""
    kept = _marked(graph, of.where)
    begins, ends = _marked(graph, of.since), _marked(graph, of.until)
    if of.since is not None:
        stop = ends if of.until is not None else None
        after = _reached(kept, begins, stop, lambda state: (graph.targets[edge] for edge in graph.edges(state)))
    else:
        after = kept
    if of.until is None:
        return after
    stop = begins if of.since is not None else None
    before = _reached(kept, ends, stop, graph.arrivals(bytearray(b"\1" * len(graph.actions))))
    return bytearray(one and other for one, other in zip(after, before, strict=True))


def _marked(graph: Graph[Snapshot, Call], holds: Callable[[Snapshot], bool] | None) -> bytearray:
    return bytearray(b"\1" * len(graph)) if holds is None else bytearray(map(holds, graph.states))


def _reached(
    kept: bytearray, begins: bytearray, stop: bytearray | None, following: Callable[[int], Iterable[int]]
) -> bytearray:
    """Those of the kept states that can be reached, through kept ones, from `begins`, not going on from `stop`."""
    reached = bytearray(keeps and begin for keeps, begin in zip(kept, begins, strict=True))
    waiting = [state for state, is_there in enumerate(reached) if is_there]
    while waiting:
        state = waiting.pop()
        for after in () if stop is not None and stop[state] else following(state):
            if kept[after] and not reached[after]:
                reached[after] = 1
                waiting.append(after)
    return reached


# ---- nodes and edges


class _Look:
    """What a state looks like, as a key and in words."""

    def __init__(self, model: SystemModel, chosen: Sequence[Chosen], level: Collapse) -> None:
        self._model, self._chosen = model, chosen
        self._parts = len(model.system.parts)
        first = next(iter(model.initial()))
        self._first = first[self._parts :]
        self._plain = level >= Collapse.INSTANCES
        self._fields = [self._fields_of(each, level) for each in chosen]
        self._known: list[dict[Hashable, tuple[Value, ...]]] = [{} for _ in chosen]

    def _fields_of(self, each: Chosen, level: Collapse) -> tuple[int, ...]:
        if each.field is not None:
            return (each.field,)
        variables = len(self._model.system.parts[each.part].table.variables)
        return (STATE,) if level >= Collapse.VARIABLES else tuple(range(STATE, variables))

    def key(self, state: Snapshot) -> Key:
        """Equal for states that look alike."""
        found = []
        for number, (each, known) in enumerate(zip(self._chosen, self._known, strict=True)):
            of_part = state[each.part], state[self._parts + each.part]
            values = known.get(of_part)
            if values is None:
                values = known[of_part] = self._values(number, *of_part)
            found.append(values)
        return tuple(found)

    def _values(self, number: int, states: Sequence[int], data: Sequence[Sequence[int]]) -> tuple[Value, ...]:
        each, fields = self._chosen[number], self._fields[number]
        rows = self._model.system.parts[each.part].table.variables

        def value(index: int, field: int) -> int:
            if field == STATE:
                return states[index]
            found = data[index][field]
            return min(found, 0) if self._plain and rows[field].kind == "ref" else found

        indices = range(len(states)) if each.index is None else [each.index]
        values = tuple(tuple(value(index, field) for field in fields) for index in indices)
        return tuple(sorted(values)) if self._plain else values

    def words(self, key: Key) -> tuple[str, ...]:
        """A line for each thing chosen; one for each instance where they are told apart."""
        return tuple(line for number, values in enumerate(key) for line in self._lines(number, values))

    def _lines(self, number: int, values: Sequence[Value]) -> Iterator[str]:
        each = self._chosen[number]
        name = self._model.system.parts[each.part].name
        if each.index is not None:
            name = f"{name}[{each.index}]"
        texts = [self._value_in_words(number, value) for value in values]
        if len(texts) == 1:
            yield f"{name}: {texts[0]}"
        elif self._plain:
            yield f"{name}: {', '.join(f'{count} {text}' for text, count in Counter(texts).items())}"
        else:
            yield from (f"{name}[{index}]: {text}" for index, text in enumerate(texts))

    def _value_in_words(self, number: int, value: Value) -> str:
        """State, then variables; those that are as at first are not worth a word, unless they were asked for."""
        each, table = self._chosen[number], self._model.system.parts[self._chosen[number].part].table
        words = []
        for field, found in zip(self._fields[number], value, strict=True):
            if field == STATE:
                words.append(table.states[found].name)
                continue
            row, first = table.variables[field], self._first[each.part][0][field]
            as_at_first = found == (min(first, 0) if self._plain and row.kind == "ref" else first)
            if each.field is not None or not as_at_first:
                is_set = self._plain and row.kind == "ref" and found >= 0
                words.append(f"{row.name} {'set' if is_set else f'= {shown(row, found)}'}")
        return f"{words[0]} ({', '.join(words[1:])})" if len(words) > 1 else words[0]


def _nodes(graph: Graph[Snapshot, Call], look: _Look, kept: bytearray) -> tuple[list[int], list[Node]]:
    """For each state the node that it is in, -1 for none; and the nodes."""
    numbers, keys, counts, depths = [], dict[Key, int](), list[int](), list[int]()
    for state, keeps, depth in zip(graph.states, kept, graph.depths, strict=True):
        if not keeps:
            numbers.append(-1)
            continue
        number = keys.setdefault(look.key(state), len(keys))
        if number == len(counts):
            counts.append(0)
            depths.append(depth)
        counts[number] += 1
        numbers.append(number)
    return numbers, [
        Node((look.words(key),), (), counts[number], depths[number], depths[number] == 0)
        for key, number in keys.items()
    ]


def _edges(model: SystemModel, graph: Graph[Snapshot, Call], numbers: Sequence[int], of: Shown) -> tuple[Edge, ...]:
    actions = [model.system.actions[call[0]].name for call in graph.actions]
    wanted = graph.picked(lambda call: of.actions is None or model.system.actions[call[0]].name in of.actions)
    found: dict[tuple[int, int], Counter[str]] = {}
    for state, source in enumerate(numbers):
        if source < 0:
            continue
        for edge in graph.edges(state):
            label, target = graph.labels[edge], numbers[graph.targets[edge]]
            if target >= 0 and wanted[label] and (of.selfs or target != source):
                found.setdefault((source, target), Counter())[actions[label]] += 1
    order = {row.name: number for number, row in enumerate(model.system.actions)}
    return tuple(
        Edge(*ends, dict(sorted(counted.items(), key=lambda item: order[item[0]])))
        for ends, counted in sorted(found.items())
    )


# ---- what is left of them


def _touched(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[list[Node], tuple[Edge, ...]]:
    """Without the nodes that no edge leaves or reaches."""
    there = sorted({end for edge in edges for end in (edge.source, edge.target)})
    return _renumbered(nodes, edges, [[number] for number in there])


def _chained(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[list[Node], tuple[Edge, ...]]:
    """With every chain as one node."""
    before: dict[int, set[int]] = {number: set() for number in range(len(nodes))}
    after: dict[int, set[int]] = {number: set() for number in range(len(nodes))}
    for edge in edges:
        if edge.source != edge.target:
            before[edge.target].add(edge.source)
            after[edge.source].add(edge.target)
    next_ = {
        number: target
        for number, targets in after.items()
        if len(targets) == 1 and len(before[target := min(targets)]) == 1 and not nodes[target].initial
    }
    inner = set(next_.values())
    chains = []
    for number in range(len(nodes)):
        if number not in inner:
            chain = [number]
            while chain[-1] in next_:
                chain.append(next_[chain[-1]])
            chains.append(chain)
    looped = set(range(len(nodes))) - {number for chain in chains for number in chain}  # a ring that nothing enters
    return _renumbered(nodes, edges, sorted([*chains, *([number] for number in looped)]))


def _renumbered(
    nodes: Sequence[Node], edges: Sequence[Edge], groups: Sequence[Sequence[int]]
) -> tuple[list[Node], tuple[Edge, ...]]:
    """Each group of nodes, which lie one behind the other, as one; edges inside a group become part of it."""
    of = {number: index for index, group in enumerate(groups) for number in group}
    actions = {(edge.source, edge.target): tuple(edge.actions) for edge in edges}
    merged = []
    for group in groups:
        looks = tuple(look for number in group for look in nodes[number].looks)
        through = tuple(actions[pair] for pair in pairwise(group))
        states, first = sum(nodes[number].states for number in group), nodes[group[0]]
        merged.append(attrs.evolve(first, looks=looks, through=through, states=states))
    inside = {pair for group in groups for pair in pairwise(group)}
    left = tuple(
        attrs.evolve(edge, source=of[edge.source], target=of[edge.target])
        for edge in edges
        if (edge.source, edge.target) not in inside and edge.source in of and edge.target in of
    )
    return merged, left


def _measured(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[Node, ...]:
    """With the number of edges on a shortest way from an initial node to each."""
    moves = {number: 0 for number, node in enumerate(nodes) if node.initial}
    waiting = deque(moves)
    following: dict[int, list[int]] = {}
    for edge in edges:
        following.setdefault(edge.source, []).append(edge.target)
    while waiting:
        here = waiting.popleft()
        for after in following.get(here, ()):
            if after not in moves:
                moves[after] = moves[here] + 1
                waiting.append(after)
    return tuple(attrs.evolve(node, moves=moves.get(number)) for number, node in enumerate(nodes))
