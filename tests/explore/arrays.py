"""What compiled code keeps of a search, made of a plain search: so that both judge the same states and transitions.

The generated text is run by Python, not compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest

from calfsm.explore.compiled import cache, seen
from calfsm.explore.compiled.edges import Numbered
from calfsm.explore.compiled.graph import Edges
from calfsm.explore.compiled.layout import Layout
from calfsm.explore.compiled.runs import CompiledRuns, Module, runs
from calfsm.explore.compiled.seen import CompiledSeen
from calfsm.explore.compiled.whole import questions
from calfsm.explore.graph import Graph
from calfsm.explore.judging import Whole, promises
from calfsm.explore.systems import SystemModel


def interpreted(name: str, text_of: Callable[[bool], str], where: Path | None = None) -> Any:
    """As `cache.made`: the module of a text."""
    names: dict[str, Any] = {
        "njit": lambda *_, **__: lambda function: function,
        "uint32": int,
        "prefetch": lambda *_: None,
    }
    text = re.sub(r"^from (numba|calfsm).*$", "", text_of(False), flags=re.MULTILINE)
    exec(compile(text, "<generated>", "exec"), names)
    mixed = names["mixed"]
    names["mixed"] = lambda word: mixed(int(word)) & 0x7FFFFFFFFFFFFFFF  # no number overflows; any hash will do
    return SimpleNamespace(**names)


def edges_of(graph: Graph[Hashable, Hashable]) -> Edges:
    """The same graph in arrays."""
    parents = [graph.source(edge) if edge >= 0 else 0 for edge in graph._reached_by]
    return Edges(
        np.array(graph.first, np.int64),
        np.array(graph.targets, np.uint32),
        np.array(graph.labels, np.uint16),
        np.array(graph.depths, np.int32),
        np.array(parents, np.uint32),
        np.array(graph.whole, np.uint8),
        len(graph.actions),
    )


def array(marks: bytearray) -> np.ndarray[Any, Any]:
    """Marks of states in an array."""
    return np.frombuffer(marks, np.uint8)


class Arrays:
    """The states of a plain search as compiled code keeps them, and what is made of them."""

    def __init__(self, whole: Whole, patch: pytest.MonkeyPatch, word_bits: int = 63) -> None:
        patch.setattr(cache, "made", interpreted)
        patch.setattr(seen, "SAMPLE", 1)  # so that most is looked for
        graph = whole.graph
        # A model of its own: that of the plain search has taken note of every answer.
        self.model = SystemModel(whole.model.system, **whole.model.engine.params)
        self.layout = Layout(self.model.system, self.model.engine.params, word_bits)
        self.module = Module(self.layout, questions(self.model), None)
        keys = [self.layout.coding.key(self.layout.pack(state)) for state in graph.states]
        edges = edges_of(graph)
        self.states = Numbered(np.array(keys, np.int64).reshape(-1), edges.parents, edges.depths, edges.whole)
        self.transitions = whole.result.transitions
        self.taken = {call[0] for call in graph.actions}

    def runs(self) -> CompiledRuns:
        """The runs, judged by compiled code."""
        found = runs(self.module, self.states, self.transitions)
        assert found is not None
        return found

    def whole(self, plain: Whole) -> Whole:
        """What `plain` says, judged on arrays."""
        fired = {row.name: int(index in self.taken) for index, row in enumerate(self.model.system.actions)}
        found = self.runs()
        verdicts = promises(self.model, found, plain.result.complete)
        saw = CompiledSeen(self.model, self.module, self.states, fired)
        return attrs.evolve(plain, model=self.model, promises=verdicts, runs=found, seen=saw)
