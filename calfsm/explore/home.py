"""Whether home can be reached again from everywhere."""

from __future__ import annotations

from typing import Any

from calfsm.explore.graph import Graph


def strays(graph: Graph[Any, Any], home: bytearray, helpful: bytearray) -> list[int]:
    """The states from which no way of helpful labels leads to a home state, nearest first.

    `home` says for each state whether it is one, `helpful` for each label whether it may be counted on. A state whose
    transitions were not seen may lead anywhere, home too.
    """
    safe = bytearray(there or not whole for there, whole in zip(home, graph.whole, strict=True))
    arrivals = graph.arrivals(helpful)
    queue = [state for state in range(len(graph)) if safe[state]]
    while queue:
        for before in arrivals(queue.pop()):
            if not safe[before]:
                safe[before] = 1
                queue.append(before)
    return [state for state in range(len(graph)) if not safe[state]]
