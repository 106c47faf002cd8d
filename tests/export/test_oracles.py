"""SPIN and Rumur find what the engine's search finds: as many states and transitions, and the same verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from explore.mutants import BY_NAME, ONE_OF_EACH, Broken
from export_oracles import by_rumur, by_search, by_spin, first_error, with_oracles
from made_systems import compiled, made_system
from planting import planted

from calfsm.engine.system import System
from calfsm.tables import batch, phase_a, recovery, residency
from calfsm.tables.executor import SYSTEM

pytestmark = with_oracles

GOLDEN = Path(__file__).parents[1] / "golden" / "export"

FAULTS = [
    "a timeout that does not fault the device",
    "a buffer freed while its job is abandoned",
    "a commit before acceptance",
    "a reset that leaves KV held",
    "an unload with work in flight",
]

SCOPES = {
    "one of each": ONE_OF_EACH,
    "phase a": phase_a.PROFILE.scope,
    "two jobs": {"requests": 1, "jobs": 2, "buffers": 1, "lanes": 1, "limit": 2, "max_length": 1, "too_long": 1},
}


OTHERS: dict[System, dict[str, int]] = {
    batch.SYSTEM: {"max_length": 2, "max_restarts": 0},
    recovery.SYSTEM: {"max_tokens": 1, "max_resets": 1, "max_restarts": 0},
    residency.SYSTEM: {"max_rejects": 0, "max_resets": 0},
}
"""At scopes of some thousand states."""


@pytest.mark.parametrize("name", SCOPES)
def test_the_executor_has_as_many_states_and_transitions(name: str, tmp_path: Path) -> None:
    found = by_search(SYSTEM, SCOPES[name])
    assert found is not None and found.states > 1_000 and not found.broken and not found.stuck
    assert by_spin(SYSTEM, SCOPES[name], tmp_path) == found
    assert by_rumur(SYSTEM, SCOPES[name], tmp_path) == found


@pytest.mark.parametrize("system", OTHERS, ids=lambda system: system.name)
def test_the_systems_beside_it_do_too(system: System, tmp_path: Path) -> None:
    found = by_search(system, OTHERS[system])
    assert found is not None and found.states > 1_000 and not found.broken and not found.stuck
    assert by_spin(system, OTHERS[system], tmp_path) == found
    assert by_rumur(system, OTHERS[system], tmp_path) == found


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_by_all_three(fault: str, tmp_path: Path) -> None:
    verdict, system = BY_NAME[fault].verdict, planted(*BY_NAME[fault].edit)
    found = by_search(system, ONE_OF_EACH)
    assert isinstance(verdict, Broken) and found is not None and verdict.name in found.broken
    assert by_spin(system, ONE_OF_EACH, tmp_path) == found
    assert by_rumur(system, ONE_OF_EACH, tmp_path) == found
    first, steps = first_error(system, ONE_OF_EACH, tmp_path)
    assert first in found.broken and steps == verdict.steps


@pytest.mark.parametrize("number", [0, 13, 25, 60, 93, 117, 126, 147])
def test_a_system_that_nobody_thought_of_means_the_same_to_all_three(number: int, tmp_path: Path) -> None:
    system = made_system(number)
    found = by_search(system, {}, max_states=4_000)
    assert found is not None and found.transitions > 1
    assert by_spin(system, {}, tmp_path) == found
    assert by_rumur(system, {}, tmp_path) == found


def test_a_system_with_something_of_everything_means_the_same_to_all_three(tmp_path: Path) -> None:
    system = compiled(*(path.read_text("utf-8") for path in sorted(GOLDEN.glob("*.yaml"))))
    found = by_search(system, {})
    assert found is not None and found.broken == {"no_loop", "meters_run"}
    assert by_spin(system, {}, tmp_path) == found
    assert by_rumur(system, {}, tmp_path) == found
