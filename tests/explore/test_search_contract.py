"""What a search promises, on models of a few states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calfsm.explore.search import Progress, Result, Trace, Verdict, search

QUIET = settings(max_examples=150, deadline=None, derandomize=True, database=None)


class Graph:
    """States are numbers, an action is the number that it leads to."""

    def __init__(self, edges: Mapping[int, Iterable[int]], start: Iterable[int] = (0,)) -> None:
        self.edges, self.start = {state: list(out) for state, out in edges.items()}, list(start)

    def initial(self) -> Iterable[int]:
        return self.start

    def actions(self, state: int) -> Iterable[int]:
        return self.edges.get(state, [])

    def next(self, state: int, action: int) -> int:
        assert action in self.edges[state]
        return action


LINE = Graph({0: [1], 1: [2], 2: [3], 3: [0]})
DIAMOND = Graph({0: [1, 2], 1: [3], 2: [3], 3: [0]})


def seen(result: Result[int, int]) -> tuple[int, int, int]:
    return result.states, result.transitions, result.depth


def test_a_search_sees_every_reachable_state_and_nothing_else() -> None:
    result = search(Graph({0: [1, 2], 1: [0], 2: [2], 7: [8]}))
    assert list(result.parents) == [0, 1, 2]
    assert seen(result) == (3, 4, 1)
    assert (result.complete, result.holds, result.stopped, result.stuck) == (True, True, "", None)


def test_the_depth_is_the_way_to_the_farthest_state() -> None:
    assert search(LINE).depth == 3
    assert search(DIAMOND).depth == 2
    assert search(Graph({0: [0]})).depth == 0


def test_several_initial_states_are_begun_with_and_counted_once() -> None:
    result = search(Graph({0: [1], 1: [0], 5: [0]}, start=[0, 5, 0]))
    assert seen(result) == (3, 3, 1)
    assert result.trace(1) == Trace(0, ((1, 1),))
    assert result.trace(5) == Trace(5)
    assert result.trace(5).end == 5


def test_a_trace_is_a_shortest_way() -> None:
    result = search(Graph({0: [1, 4], 1: [2], 2: [3], 3: [0], 4: [3]}))
    assert result.trace(3) == Trace(0, ((4, 4), (3, 3)))
    assert result.trace(3).end == 3
    with pytest.raises(KeyError):
        result.trace(9)


def test_a_broken_property_comes_with_a_shortest_counterexample() -> None:
    fork = Graph({0: [1], 1: [2, 3], 2: [4], 3: [0], 4: [0]})
    result = search(fork, {"small": lambda n: n < 3, "any": lambda n: True})
    assert result.verdicts == {"small": Verdict.BROKEN, "any": Verdict.HOLDS}
    assert result.counterexamples == {"small": Trace(0, ((1, 1), (3, 3)))}
    assert (result.complete, result.holds) == (True, False)


def test_a_property_that_is_broken_at_the_start_has_a_counterexample_of_no_step() -> None:
    result = search(LINE, {"never": lambda n: False})
    assert result.counterexamples == {"never": Trace(0)}
    assert seen(result) == (4, 4, 3)


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_the_first_broken_property_ends_a_search_that_asks_for_no_more(broken: int) -> None:
    properties = {"first": lambda n: n != broken, "last": lambda n: n != 3, "always": lambda n: True}
    result = search(LINE, properties, first_only=True)
    assert result.states == broken + 1
    assert result.stopped == "a property is broken"
    assert result.verdicts == {
        "first": Verdict.BROKEN,
        "last": Verdict.UNDECIDED,
        "always": Verdict.UNDECIDED,
    }
    assert list(result.counterexamples) == ["first"]
    assert (result.complete, result.holds) == (False, False)


def test_a_state_without_actions_is_stuck_and_the_way_to_it_is_told() -> None:
    result = search(Graph({0: [1, 2], 1: [3], 2: [0], 3: []}))
    assert result.stuck == Trace(0, ((1, 1), (3, 3)))
    assert (result.complete, result.holds) == (True, False)
    assert search(Graph({})).stuck == Trace(0)


@pytest.mark.parametrize(("limit", "states"), [(1, 1), (2, 2), (3, 3)])
def test_a_search_that_has_seen_enough_states_says_so(limit: int, states: int) -> None:
    result = search(LINE, {"any": lambda n: True}, max_states=limit)
    assert result.states == states
    assert result.stopped == f"the limit of {limit} states was reached"
    assert result.verdicts == {"any": Verdict.UNDECIDED}
    assert not result.complete and not result.holds


def test_a_search_that_saw_all_before_its_limit_is_complete() -> None:
    result = search(LINE, max_states=5)
    assert (result.states, result.stopped, result.holds) == (4, "", True)


def test_a_limit_is_told_with_its_thousands() -> None:
    endless = Graph({n: [n + 1] for n in range(2_000)})
    assert search(endless, max_states=1_000).stopped == "the limit of 1,000 states was reached"


def test_all_states_that_one_state_leads_to_are_seen_before_a_limit_stops_the_search() -> None:
    assert seen(search(Graph({0: [1, 2, 3], 1: [4]}), max_states=2)) == (4, 3, 1)


def clock(monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    """Every look at the clock finds it `step` seconds later."""

    def times() -> Iterator[float]:
        now = 100.0
        while True:
            yield now
            now += step

    monkeypatch.setattr("calfsm.explore.search.time.monotonic", times().__next__)


def test_a_search_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock(monkeypatch, 0.4)
    result = search(LINE, {"any": lambda n: True}, max_seconds=1)
    assert result.stopped == "the limit of 1 seconds was reached"
    assert result.states == 3
    assert result.verdicts == {"any": Verdict.UNDECIDED}
    assert result.seconds == pytest.approx(1.6)


def test_a_search_within_its_time_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    clock(monkeypatch, 0.1)
    assert search(LINE, max_seconds=1).holds


def test_progress_is_told_about_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock(monkeypatch, 0.3)
    told: list[Progress] = []
    search(Graph({n: [(n + 1) % 10] for n in range(10)}), progress=told.append)
    assert [(item.states, item.transitions, item.depth) for item in told] == [(5, 4, 3), (9, 8, 7)]
    assert [item.seconds for item in told] == pytest.approx([1.2, 2.4])
    assert [item.waiting for item in told] == [1, 1]


def test_every_transition_is_visited_once_in_search_order() -> None:
    visited: list[tuple[int, int, int]] = []
    result = search(DIAMOND, visit=lambda *transition: visited.append(transition))
    assert visited == [(0, 1, 1), (0, 2, 2), (1, 3, 3), (2, 3, 3), (3, 0, 0)]
    assert len(visited) == result.transitions


def test_a_property_is_asked_of_every_state_once_and_no_more_when_it_is_broken() -> None:
    asked: list[int] = []

    def holds(state: int) -> bool:
        asked.append(state)
        return state != 2

    search(DIAMOND, {"holds": holds})
    assert asked == [0, 1, 2]


def test_a_verdict_reads_as_a_sentence_would() -> None:
    assert [verdict.value for verdict in Verdict] == ["holds", "broken", "not broken so far"]


def graphs() -> st.SearchStrategy[dict[int, list[int]]]:
    nodes = st.integers(0, 7)
    return st.dictionaries(nodes, st.lists(nodes, max_size=3, unique=True), max_size=8)


@QUIET
@given(graphs())
def test_a_search_finds_what_a_plain_walk_over_the_graph_finds(edges: dict[int, list[int]]) -> None:
    distance = {0: 0}
    layer = [0]
    while layer:
        layer = [after for state in layer for after in edges.get(state, []) if after not in distance]
        distance |= dict.fromkeys(layer, max(distance.values()) + 1)
    result = search(Graph(edges), {"low": lambda n: n < 5})
    assert set(result.parents) == set(distance)
    assert result.depth == max(distance.values())
    assert result.transitions == sum(len(edges.get(state, [])) for state in distance)
    assert {state: len(result.trace(state).steps) for state in distance} == distance
    high = [steps for state, steps in distance.items() if state >= 5]
    assert (result.verdicts["low"] is Verdict.BROKEN) == bool(high)
    if high:
        assert len(result.counterexamples["low"].steps) == min(high)
    dead = [steps for state, steps in distance.items() if not edges.get(state)]
    assert (len(result.stuck.steps) if result.stuck else None) == (min(dead) if dead else None)
