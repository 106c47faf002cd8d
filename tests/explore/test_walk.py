"""Walks that remember where they were, and swarms of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from engine.naive_system import compiled
from explore.test_exploring_systems import ON_AND_OFF, ONE_OF_EACH, lamps
from explore.test_exploring_systems import states as lit_or_dark

from calfsm.engine.engine import Snapshot
from calfsm.explore.search import Trace
from calfsm.explore.systems import Call, SystemModel, explore
from calfsm.explore.walk import Walk, Walker, swarm, walk
from calfsm.tables.executor import SYSTEM

ONE_IS_DARK = ON_AND_OFF + "always: {one_is_dark: any(x is dark for x in lamps)}\n"


def end_of(model: SystemModel, trace: Trace[Snapshot, Call]) -> Snapshot:
    """The state that a trace leads to when its calls are done again."""
    state = trace.start
    for call, after in trace.steps:
        state = model.next(state, call)
        assert state == after
    return state


def test_the_same_seed_walks_the_same_way_and_another_another() -> None:
    one, same, other = (walk(lamps(ONE_IS_DARK), {"lamps_wanted": 5}, states=99, seed=seed)[1] for seed in (1, 1, 2))
    assert one == same
    assert one.trace != other.trace
    assert one.broken == other.broken == "one_is_dark"


def test_a_walk_that_finds_nothing_has_seen_as_many_states_as_it_was_to() -> None:
    model, found = walk(SYSTEM, ONE_OF_EACH, states=500, seed=3)
    assert (found.states, found.broken, found.trace) == (500, "", None)
    assert model.system is SYSTEM


@pytest.mark.parametrize("seed", range(3))
def test_a_walk_of_enough_states_is_a_whole_search(seed: int) -> None:
    _, whole = explore(SYSTEM, ONE_OF_EACH)
    _, found = walk(SYSTEM, ONE_OF_EACH, states=10**9, seed=seed)
    assert found.states == whole.states
    assert found.depth >= whole.depth


def test_a_walk_replays_to_the_state_that_breaks_the_property() -> None:
    rest = ON_AND_OFF + "always: {not_all_lit: any(x is dark for x in lamps)}\n"
    model, found = walk(lamps(rest), {}, states=99, seed=1)
    assert found.trace is not None
    assert lit_or_dark(model, end_of(model, found.trace)) == ["lit", "lit"]


def test_a_walk_judges_the_state_that_it_begins_in() -> None:
    _, found = walk(lamps(ON_AND_OFF + "always: {light: any(x is lit for x in lamps)}\n"), {}, states=9, seed=1)
    assert (found.states, found.broken, found.trace and found.trace.steps) == (1, "light", ())


def test_a_walk_goes_on_elsewhere_where_nothing_is_possible_and_ends_where_nothing_is_new() -> None:
    once = "actions: {light: {by: client, pick: {x: lamps}, fire: {x: light}}}"
    assert walk(lamps(once), {"lamps_wanted": 3}, states=99, seed=1)[1].states == 2**3
    never = "actions: {dim: {by: client, pick: {x: lamps}, fire: {x: dim}}}"
    assert walk(lamps(never), {}, states=99, seed=1)[1].states == 1


def test_a_walk_goes_deep_where_faults_lead_back_from_everywhere() -> None:
    """Each step on is one of nine; the others lead back to the beginning."""
    steps = "".join(f"  s{n}: {{on: s{n + 1}}}\n" for n in range(30)) + "  s30: {}\n"
    backs = "".join(f"  back_{n}: {{by: runtime, fire: {{way: back}}}}\n" for n in range(8))
    system = compiled(
        f"machine: long\nstates: {{s0: {{initial: true}}, {', '.join(f's{n}: {{}}' for n in range(1, 31))}}}\n"
        f"events: {{on: {{by: engine}}, back: {{by: runtime}}}}\ntransitions:\n{steps}anywhere: {{back: s0}}\n",
        "system: road\nparts: {way: {machine: long}}\nactions:\n  on: {by: engine, fire: {way: on}}\n"
        f"{backs}always: {{it_never_ends: way is not s30}}\n",
    )
    assert walk(system, {}, states=99, seed=1)[1].broken == "it_never_ends"


def test_a_swarm_shows_the_shortest_of_its_ways_without_a_superfluous_step() -> None:
    model, found = swarm(lamps(ONE_IS_DARK), {"lamps_wanted": 6}, seeds=range(5), states=99)
    assert found.walks == 5
    trace = found.broken["one_is_dark"]
    assert [model.text(call).partition("(")[0] for call, _ in trace.steps] == ["light"] * 6
    assert lit_or_dark(model, end_of(model, trace)) == ["lit"] * 6


def test_a_swarm_finds_the_same_wherever_and_in_whatever_order_its_walks_are_done() -> None:
    def backwards(walker: Walker, numbers: Iterable[int]) -> Iterator[Walk]:
        return map(walker, reversed(list(numbers)))

    options = {"seeds": range(6), "states": 60}
    _, one = swarm(lamps(ONE_IS_DARK), {"lamps_wanted": 5}, **options)  # type: ignore[arg-type]
    _, other = swarm(lamps(ONE_IS_DARK), {"lamps_wanted": 5}, **options, everywhere=backwards)  # type: ignore[arg-type]
    assert one == other


def test_a_swarm_tells_what_no_walk_ever_did() -> None:
    rest = ON_AND_OFF.replace("dim:   {by: client,", "dim:   {by: client, when: all(x is lit for x in lamps),")
    told: list[int] = []
    _, found = swarm(lamps(rest), {"lamps_wanted": 30}, seeds=[1, 2], states=20, progress=told.append)
    assert (found.walks, found.states, found.broken, found.never) == (2, 40, {}, ("dim",))
    assert told == [1, 2]
