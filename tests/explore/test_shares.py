"""A search spread over workers that share no memory is the search of one."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.naive_system import compiled
from small_systems import CLOCKS, CLOCKWORK
from test_compiled import assert_replays

from calfsm.engine.system import System
from calfsm.explore.compiled import FastResult, explore_fast
from calfsm.explore.compiled.shares import Here, Share, search_with
from calfsm.explore.search import Verdict
from calfsm.tables.executor import SYSTEM

ONE_OF_EACH = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}
TWO_LANES = {**ONE_OF_EACH, "requests": 2, "lanes": 2}
ENOUGH = 1 << 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("modules")


def crew(system: System, scope: dict[str, int], workers: int, folder: Path, **more: object) -> Here:
    options = {"max_bytes": ENOUGH, "cache_folder": folder, **more}
    return Here([Share(system, scope, number, workers, **options) for number in range(workers)])  # type: ignore[arg-type]


def counts(result: FastResult) -> dict[str, object]:
    """What must not depend on who searched."""
    lengths = {name: len(trace.steps) for name, trace in result.counterexamples.items()}
    alike = ("states", "transitions", "depth", "fired", "verdicts", "stopped", "stands_for")
    return {**{name: getattr(result, name) for name in alike}, "lengths": lengths}


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_any_number_of_workers_finds_what_one_search_finds(workers: int, symmetry: bool, folder: Path) -> None:
    _, alone = explore_fast(SYSTEM, TWO_LANES, engine="compiled", symmetry=symmetry, cache_folder=folder)
    _, spread, loads = search_with(
        crew(SYSTEM, TWO_LANES, workers, folder, symmetry=symmetry), SYSTEM, TWO_LANES, symmetry=symmetry
    )
    assert counts(spread) == counts(alone)
    assert sum(load.states for load in loads) == alone.states
    assert (sum(load.sent for load in loads) > 0) == (workers > 1)


def test_what_breaks_is_told_by_a_shortest_way_across_workers(folder: Path) -> None:
    system = compiled(CLOCKWORK, CLOCKS)
    _, alone = explore_fast(system, engine="compiled", cache_folder=folder)
    model, spread, _ = search_with(crew(system, {}, 3, folder), system, {})
    assert Verdict.BROKEN in spread.verdicts.values()
    assert counts(spread) == counts(alone)
    for trace in spread.counterexamples.values():
        assert_replays(model, trace)


def test_the_way_to_any_state_that_was_seen_is_told(folder: Path) -> None:
    _, alone = explore_fast(SYSTEM, ONE_OF_EACH, engine="compiled", cache_folder=folder)
    model, spread, _ = search_with(crew(SYSTEM, ONE_OF_EACH, 2, folder), SYSTEM, ONE_OF_EACH)
    assert alone.found is not None
    for state in list(alone.found)[:: alone.states // 7]:
        trace = spread.trace(state)
        assert trace.end == state
        assert len(trace.steps) == len(alone.trace(state).steps)
        assert_replays(model, trace)
    _, cut, _ = search_with(crew(SYSTEM, ONE_OF_EACH, 2, folder), SYSTEM, ONE_OF_EACH, max_states=100)
    with pytest.raises(KeyError):
        cut.trace(list(alone.found)[-1])


def test_limits_stop_it_and_nothing_holds_then(folder: Path) -> None:
    _, spread, _ = search_with(crew(SYSTEM, TWO_LANES, 2, folder), SYSTEM, TWO_LANES, max_states=3_000)
    assert spread.stopped == "the limit of 3,000 states was reached"
    assert set(spread.verdicts.values()) == {Verdict.UNDECIDED}
    _, late, _ = search_with(crew(SYSTEM, TWO_LANES, 2, folder), SYSTEM, TWO_LANES, max_seconds=1e-9)
    assert late.stopped == "the limit of 1e-09 seconds was reached"


def test_a_worker_without_room_stops_all(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"max_bytes is too little to begin with; give [0-9,]+ at least"):
        crew(SYSTEM, TWO_LANES, 2, folder, max_bytes=1)
    _, spread, _ = search_with(crew(SYSTEM, TWO_LANES, 2, folder, max_bytes=350_000), SYSTEM, TWO_LANES)
    assert spread.stopped == "the memory budget of a worker was reached"
    assert set(spread.verdicts.values()) == {Verdict.UNDECIDED}


def test_the_first_broken_property_is_enough_if_so_asked(folder: Path) -> None:
    system = compiled(CLOCKWORK, CLOCKS)
    _, whole, _ = search_with(crew(system, {}, 2, folder), system, {})
    _, first, _ = search_with(crew(system, {}, 2, folder), system, {}, first_only=True)
    assert first.stopped == "a property is broken"
    assert first.states < whole.states
