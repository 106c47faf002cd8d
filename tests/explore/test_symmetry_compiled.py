"""The canonical form as generated code is the one of `Symmetry`, and the search that it reduces is as exact."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from engine.naive_system import compiled
from export.made_systems import made_system
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_systems import DESK, LAMP, OFFICE, WORKER
from test_symmetry import TWO_LANES, assert_replays, some_renaming

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import System
from calfsm.explore.compiled import FastResult, Layout, canonical, explore_fast
from calfsm.explore.search import search
from calfsm.explore.symmetry import Symmetry
from calfsm.explore.systems import SystemModel
from calfsm.tables.executor import SYSTEM

GENERATED = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
LARGE = {"requests": 3, "jobs": 3, "buffers": 2, "lanes": 3, "limit": 2, "max_length": 3}


class Generated:
    """The canonical form of a model's states, from the text that would be compiled."""

    def __init__(self, model: SystemModel, symmetry: Symmetry, word_bits: int = 63) -> None:
        self.layout = Layout(model.system, model.engine.params, word_bits)
        self._names: dict[str, Any] = {"njit": lambda *_, **__: lambda function: function, "INNER": {}, "OUTER": {}}
        exec("\n".join(canonical.text(self.layout, symmetry)), self._names)

    def canonical(self, state: Snapshot) -> Snapshot:
        words = self._names["canonical"](*self.layout.pack(state))
        return self.layout.unpack(words if isinstance(words, tuple) else (words,))

    def orbit(self, state: Snapshot) -> int:
        orbit = self._names["orbit"](*self.layout.pack(state))
        assert isinstance(orbit, int)
        return orbit


def assert_agrees(model: SystemModel, states: list[Snapshot], word_bits: int, random: Random) -> None:
    symmetry = Symmetry(model.engine)
    generated = Generated(model, symmetry, word_bits)
    for state in states:
        form = generated.canonical(state)
        assert symmetry.canonical(form) == symmetry.canonical(state)
        assert generated.canonical(form) == form
        assert generated.canonical(symmetry.renamed(state, some_renaming(symmetry, random))) == form
        assert generated.orbit(state) == symmetry.orbit(state)


@GENERATED
@given(number=st.integers(0, 10_000), word_bits=st.sampled_from((63, 20, 9)), size=st.sampled_from((2, 3, 4)))
def test_generated_canonical_forms_stand_for_their_orbits(number: int, word_bits: int, size: int) -> None:
    model, random = SystemModel(made_system(number), size=size), Random(number)
    states = random.choices(list(search(model, max_states=300).parents), k=6)
    assert_agrees(model, states, word_bits, random)


@pytest.mark.parametrize("word_bits", [63, 17])
def test_the_executors_canonical_forms_stand_for_their_orbits(word_bits: int) -> None:
    model, random = SystemModel(SYSTEM, **LARGE), Random(2026)
    (state,) = model.initial()
    states = []
    for _ in range(300):
        states.append(state)
        state = model.next(state, random.choice(list(model.actions(state))))
    assert_agrees(model, states, word_bits, random)


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for generated modules, shared by the tests of this file."""
    pytest.importorskip("numba")
    return tmp_path_factory.mktemp("modules")


def reduced(system: System, scope: dict[str, int], modules: Path, **more: Any) -> tuple[SystemModel, FastResult]:
    return explore_fast(system, scope, engine="compiled", symmetry=True, cache_folder=modules, **more)


@pytest.mark.parametrize(
    ("system", "scope"),
    [(SYSTEM, TWO_LANES), (compiled(WORKER, DESK, LAMP, OFFICE), {"most": 1, "people": 1, "places": 2})],
    ids=["executor", "every feature"],
)
def test_the_compiled_reduced_search_is_the_plain_one_and_stands_for_the_whole(
    system: System, scope: dict[str, int], modules: Path
) -> None:
    _, whole = explore_fast(system, scope, engine="plain")
    _, plain = explore_fast(system, scope, engine="plain", symmetry=True)
    assert plain.symmetry is not None and plain.stands_for is not None
    assert plain.states < whole.states
    counts = (plain.states, plain.transitions, plain.depth, plain.verdicts, plain.fired, plain.stands_for)
    lengths = {name: len(trace.steps) for name, trace in whole.counterexamples.items()}
    for threads in (1, 2):
        model, fast = reduced(system, scope, modules, threads=threads)
        assert (fast.engine, fast.threads) == ("compiled", threads)
        assert (fast.states, fast.transitions, fast.depth, fast.verdicts, fast.fired, fast.stands_for) == counts
        assert fast.stands_for is not None and fast.found is not None
        assert (fast.stands_for.states, fast.stands_for.transitions) == (whole.states, whole.transitions)
        assert fast.stands_for.fired == whole.fired
        assert (fast.depth, fast.verdicts) == (whole.depth, whole.verdicts)
        assert {name: len(trace.steps) for name, trace in fast.counterexamples.items()} == lengths
        for name, trace in fast.counterexamples.items():
            assert_replays(system, scope, trace)
            assert not model.properties()[name](trace.end)
        last = list(fast.found)[-1]
        for state in (last, plain.symmetry.renamed(last, some_renaming(plain.symmetry, Random(threads)))):
            trace = fast.trace(state)
            assert trace.end == state
            assert_replays(system, scope, trace)


def test_what_has_been_seen_when_a_search_is_stopped_is_weighed(modules: Path) -> None:
    _, few = reduced(SYSTEM, TWO_LANES, modules, max_states=500)
    assert few.stands_for is not None and few.found is not None and few.symmetry is not None
    assert few.stands_for.states == sum(map(few.symmetry.orbit, few.found))
    assert few.transitions < few.stands_for.transitions <= 2 * few.transitions


def test_small_scopes_are_left_to_the_plain_search_with_symmetry_too(tmp_path: Path) -> None:
    _, result = explore_fast(SYSTEM, TWO_LANES, symmetry=True, cache_folder=tmp_path)
    assert result.engine == "plain" and result.stands_for is not None
    assert result.stands_for.states == 10_732
