"""Leads-to and home on graphs of a few states, where looking at single cycles, or at single states, is wrong."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from labelled import Edges, breaks, closure, graph_of, lasso_of, marks

from calfsm.explore.home import strays
from calfsm.explore.liveness import components, missed

QUIET = settings(max_examples=300, deadline=None, derandomize=True, database=None)


def test_what_is_possible_again_and_again_may_be_put_off_where_it_is_not_always_possible() -> None:
    on_and_off = {0: {"sleep": 1, "go": 2}, 1: {"wake": 0}, 2: {"stay": 2}}
    lasso = lasso_of(on_and_off, begins={0}, ends={2}, fair={"sleep", "wake", "go"})
    assert lasso is not None
    assert [label for label, _ in lasso.cycle] == ["sleep", "wake"]


def test_what_stays_possible_all_around_a_cycle_is_not_put_off() -> None:
    both = {0: {"tick": 1, "go": 2}, 1: {"tock": 0, "go": 2}, 2: {"stay": 2}}
    assert lasso_of(both, begins={0}, ends={2}, fair={"tick", "tock", "go"}) is None
    lasso = lasso_of(both, begins={0}, ends={2}, fair={"tick", "tock"})
    assert lasso is not None and [label for label, _ in lasso.cycle] == ["tick", "tock"]


def test_what_is_strongly_fair_is_taken_where_it_is_possible_now_and_then() -> None:
    on_and_off = {0: {"sleep": 1, "go": 2}, 1: {"wake": 0}, 2: {"stay": 2}}
    assert lasso_of(on_and_off, begins={0}, ends={2}, fair={"sleep", "wake"}, strong={"go"}) is None


def test_a_run_that_keeps_away_from_where_a_strongly_fair_action_is_possible_owes_it_nothing() -> None:
    # 0 -> 1 <-> 2 -> 0 is one component; in 0 "go" is possible, and 1 <-> 2 goes on without 0.
    away = {0: {"in": 1, "go": 9}, 1: {"a": 2}, 2: {"b": 1, "out": 0}, 9: {"end": 9}}
    lasso = lasso_of(away, begins={0}, ends={9}, fair={"in", "a", "b"}, strong={"go"})
    assert lasso is not None and {label for label, _ in lasso.cycle} == {"a", "b"}
    assert lasso_of(away, begins={0}, ends={9}, fair={"in", "a", "b"}, strong={"go", "out"}) is None


def test_two_cycles_that_each_starve_one_action_are_fair_together() -> None:
    # 0 <-> 1 starves "b", 0 <-> 2 starves "a": only the eight is a counterexample, and no simple cycle is.
    eight = {
        0: {"left": 1, "right": 2, "a": 3, "b": 4},
        1: {"back": 0, "b": 4, "a": 1},
        2: {"home": 0, "a": 3, "b": 2},
        3: {"end": 3},
        4: {"end": 4},
    }
    lasso = lasso_of(eight, begins={0}, ends={3, 4}, fair={"left", "right", "back", "home", "a", "b"})
    assert lasso is not None
    assert {label for label, _ in lasso.cycle} >= {"left", "right", "a", "b"}
    halves = [
        {**eight, 0: {label: to for label, to in eight[0].items() if label != gone}} for gone in ("left", "right")
    ]
    for half in halves:
        assert lasso_of(half, begins={0}, ends={3, 4}, fair={"left", "right", "back", "home", "a", "b"}) is None


def test_an_action_that_changes_nothing_is_taken_when_it_is_taken() -> None:
    spinning = {0: {"look": 0, "go": 1}, 1: {"end": 1}}
    assert lasso_of(spinning, begins={0}, ends={1}, fair={"look", "go"}) is None
    lasso = lasso_of(spinning, begins={0}, ends={1}, fair={"look"})
    assert lasso is not None and lasso.cycle == (("look", 0),)


def test_where_only_the_unfair_can_act_the_run_may_end() -> None:
    lasso = lasso_of({0: {"a": 1}, 1: {"client": 2}, 2: {"a": 2}}, begins={0}, ends={2}, fair={"a"})
    assert lasso is not None
    assert (lasso.trace.steps, lasso.cycle, lasso.since) == ((("a", 1),), (), 0)


def test_where_nothing_is_possible_the_run_ends() -> None:
    lasso = lasso_of({0: {"a": 1, "b": 2}, 2: {"a": 2}}, begins={0}, ends={2}, fair={"a", "b"})
    assert lasso is not None and (lasso.trace.end, lasso.cycle) == (1, ())
    assert lasso_of({0: {"a": 1}}, begins={0}, ends={1}, fair={"a"}) is None


def test_a_state_that_is_passed_once_does_not_excuse_those_that_stay() -> None:
    # "go" is impossible in 1, which is on the way to the cycle and not in it.
    hall = {0: {"in": 1}, 1: {"on": 2}, 2: {"a": 3, "go": 9}, 3: {"b": 2, "go": 9}, 9: {"end": 9}}
    assert lasso_of(hall, begins={0}, ends={9}, fair={"in", "on", "a", "b", "go"}) is None


def test_a_cycle_that_is_left_by_an_unfair_step_only_is_a_counterexample() -> None:
    lasso = lasso_of({0: {"spin": 0, "client": 1}, 1: {"spin": 1}}, begins={0}, ends={1}, fair={"spin"})
    assert lasso is not None and lasso.cycle == (("spin", 0),)


def test_a_cycle_through_the_end_is_none() -> None:
    assert lasso_of({0: {"a": 1}, 1: {"b": 0}}, begins={0}, ends={1}, fair=set("ab")) is None


def test_waiting_begins_where_the_beginning_holds_and_not_before() -> None:
    late = {0: {"spin": 0, "start": 1}, 1: {"go": 2}, 2: {"end": 2}}
    assert lasso_of(late, begins={1}, ends={2}, fair={"spin", "start", "go"}) is None
    assert lasso_of(late, begins={7}, ends=set(), fair=set()) is None


def test_a_beginning_behind_another_is_waited_for_from_where_the_shortest_way_begins() -> None:
    way = {0: {"a": 1, "c": 3}, 1: {"b": 2}, 2: {"spin": 2}, 3: {"d": 4}, 4: {"e": 2}}
    lasso = lasso_of(way, begins={1, 4}, ends={9}, fair={"a", "b", "c", "d", "e", "spin"})
    assert lasso is not None
    assert ([label for label, _ in lasso.trace.steps], lasso.since) == (["a", "b"], 1)


def test_a_later_beginning_is_waited_from_where_that_makes_the_way_shorter() -> None:
    way = {0: {"a": 1, "c": 3}, 1: {"b": 5}, 5: {"f": 6}, 6: {"g": 2}, 3: {"d": 4}, 4: {"e": 2}}
    lasso = lasso_of(way, begins={1, 4}, ends=set(), fair=set("abcdefg"))
    assert lasso is not None
    assert ([label for label, _ in lasso.trace.steps], lasso.since) == (["c", "d", "e"], 2)


def test_the_nearest_of_several_cycles_is_shown() -> None:
    two = {0: {"a": 1, "b": 2}, 1: {"c": 3}, 2: {"x": 2}, 3: {"y": 3}}
    for swapped in (two, {**two, 0: {"b": 2, "a": 1}}):
        lasso = lasso_of(swapped, begins={0}, ends=set(), fair=set("abcxy"))
        assert lasso is not None and lasso.cycle == (("x", 2),)
    far_first = {0: {"a": 1, "b": 2}, 1: {"x": 1, "c": 3}, 2: {"d": 4}, 3: {"y": 3}, 4: {"z": 4}}
    lasso = lasso_of(far_first, begins={0}, ends={1}, fair=set("abcdxyz"))
    assert lasso is not None and (len(lasso.trace.steps), lasso.cycle) == (2, (("z", 4),))


def test_where_the_run_may_end_that_is_shown_rather_than_a_nearer_cycle() -> None:
    near = {0: {"spin": 0, "a": 1}, 1: {"b": 2}, 2: {"client": 2}}
    lasso = lasso_of(near, begins={0}, ends=set(), fair={"spin", "b"})
    assert lasso is not None and (lasso.trace.end, lasso.cycle) == (2, ())


def test_one_state_may_lead_to_another_by_several_labels() -> None:
    double = {0: {"a": 1, "b": 1, "go": 2}, 1: {"back": 0, "go": 2}, 2: {"end": 2}}
    assert lasso_of(double, begins={0}, ends={2}, fair={"a", "back", "go"}) is None
    assert lasso_of(double, begins={0}, ends={2}, fair={"a", "b", "back"}) is not None


def test_a_stopped_search_finds_what_it_has_seen_whole_and_nothing_in_what_it_has_not() -> None:
    far = {0: {"a": 1}, 1: {"b": 0, "c": 2}, 2: {"d": 3}, 3: {"e": 3}}
    assert lasso_of(far, begins={0}, ends={9}, fair=set("abcde"), max_states=2) is None
    assert lasso_of(far, begins={0}, ends={9}, fair=set("abde"), max_states=3) is not None
    assert lasso_of(far, begins={0}, ends={9}, fair=set("abcde")) is not None


def test_a_graph_with_too_many_states_is_dropped() -> None:
    line = {n: {"on": n + 1} for n in range(9)} | {9: {"on": 0}}
    assert graph_of(line, limit=9).dropped
    kept = graph_of(line, limit=10)
    assert (kept.dropped, len(kept), sum(kept.whole)) == (False, 10, 10)


def test_a_graph_gives_the_shortest_way_to_a_state() -> None:
    graph = graph_of({0: {"a": 1, "b": 2}, 1: {"c": 3}, 2: {"d": 4}, 3: {}, 4: {"e": 3, "f": 5}})
    assert list(graph.trace(graph.states.index(5)).steps) == [("b", 2), ("d", 4), ("f", 5)]
    assert graph.trace(0).steps == ()
    assert graph.trace(graph.states.index(3)).steps == (("a", 1), ("c", 3))


def test_states_without_transitions_have_none_wherever_they_stand() -> None:
    graph = graph_of({0: {"a": 1, "b": 2, "c": 3}, 2: {"d": 4}})
    assert [len(graph.edges(state)) for state in range(len(graph))] == [3, 0, 1, 0, 0]
    assert [graph.source(edge) for edge in range(4)] == [0, 0, 0, 2]


# ---- home


def test_home_is_lost_where_only_the_client_leads_back() -> None:
    edges = {0: {"client": 1}, 1: {"work": 2, "client": 0}, 2: {"client": 0}}
    graph = graph_of(edges)
    every, ours = graph.picked(lambda label: True), graph.picked(lambda label: label != "client")
    assert strays(graph, marks(graph, {0}), every) == []
    assert [graph.states[state] for state in strays(graph, marks(graph, {0}), ours)] == [1, 2]


def test_what_was_not_seen_may_lead_home() -> None:
    edges = {0: {"a": 1, "b": 2}, 1: {"c": 1}, 2: {"d": 3}, 3: {"e": 3}, 4: {}}
    stopped = graph_of(edges, max_states=4)
    assert list(stopped.whole) == [1, 1, 1, 0]
    assert [stopped.states[state] for state in strays(stopped, marks(stopped, {0}), bytearray(b"\1" * 9))] == [1]


# ---- against a second opinion

LABELS = "abcd"
edges = st.dictionaries(
    st.integers(0, 5), st.dictionaries(st.sampled_from(LABELS), st.integers(0, 5), max_size=3), max_size=6
)
states = st.frozensets(st.integers(0, 5), max_size=4)
labels = st.frozensets(st.sampled_from(LABELS))
dense = st.fixed_dictionaries(
    {n: st.dictionaries(st.sampled_from(LABELS), st.integers(0, 5), min_size=2, max_size=4) for n in range(6)}
)


@QUIET
@given(edges | dense, states, states, labels)
def test_a_lasso_is_found_exactly_where_a_fair_run_exists(
    edges: Edges, begins: frozenset[int], ends: frozenset[int], fair: frozenset[str]
) -> None:
    assert (lasso_of(edges, begins, ends, fair) is not None) == breaks(edges, begins, ends, fair)


@QUIET
@given(dense, st.frozensets(st.integers(1, 5), max_size=2), st.frozensets(st.sampled_from(LABELS), min_size=2))
def test_a_lasso_is_found_exactly_where_a_fair_run_exists_in_dense_graphs(
    edges: Edges, ends: frozenset[int], fair: frozenset[str]
) -> None:
    assert (lasso_of(edges, {0}, ends, fair) is not None) == breaks(edges, {0}, ends, fair)


@QUIET
@given(edges | dense, states, states, labels, labels)
def test_a_lasso_is_found_exactly_where_a_run_is_fair_to_what_must_be_taken_when_possible_again_and_again(
    edges: Edges, begins: frozenset[int], ends: frozenset[int], fair: frozenset[str], strong: frozenset[str]
) -> None:
    assert (lasso_of(edges, begins, ends, fair, strong) is not None) == breaks(edges, begins, ends, fair, strong)


@QUIET
@given(dense, st.frozensets(st.integers(1, 5), max_size=2), labels, st.frozensets(st.sampled_from(LABELS), min_size=1))
def test_strong_fairness_in_dense_graphs(
    edges: Edges, ends: frozenset[int], fair: frozenset[str], strong: frozenset[str]
) -> None:
    assert (lasso_of(edges, {0}, ends, fair, strong) is not None) == breaks(edges, {0}, ends, fair, strong)


@QUIET
@given(edges, states, states)
def test_the_way_to_where_a_run_may_end_is_a_shortest(
    edges: Edges, begins: frozenset[int], ends: frozenset[int]
) -> None:
    steps = {(0, 0 in begins and 0 not in ends): 0}
    queue = list(steps)
    for state, waits in queue:
        for after in edges.get(state, {}).values():
            now = after, after not in ends and (waits or after in begins)
            if now not in steps:
                steps[now] = steps[state, waits] + 1
                queue.append(now)
    dead = [length for (state, waits), length in steps.items() if waits and not edges.get(state)]
    lasso = lasso_of(edges, begins, ends, fair=set(LABELS))
    if dead:
        assert lasso is not None and (len(lasso.trace.steps), lasso.cycle) == (min(dead), ())


@QUIET
@given(edges | dense, states)
def test_components_are_the_sets_of_states_that_reach_each_other(edges: Edges, outside: frozenset[int]) -> None:
    graph = graph_of(edges)
    inside = bytearray(state not in outside for state in graph.states)
    found = [frozenset(graph.states[state] for state in component) for component in components(graph, inside)]
    within = {s: {a: b for a, b in out.items() if b not in outside} for s, out in edges.items() if s not in outside}
    reach = {state: closure(within, {state}) for state in graph.states if state not in outside}
    together = {frozenset(other for other in reach[state] if state in reach[other]) for state in reach}
    assert set(found) == together
    assert sum(map(len, found)) == len(reach)


@QUIET
@given(edges | dense, states, labels)
def test_home_is_lost_exactly_where_no_way_leads_back(
    edges: Edges, home: frozenset[int], helpful: frozenset[str]
) -> None:
    graph = graph_of(edges)
    ours = {state: {a: b for a, b in out.items() if a in helpful} for state, out in edges.items()}
    lost = strays(graph, marks(graph, home), graph.picked(lambda label: label in helpful))
    assert {graph.states[state] for state in lost} == {s for s in graph.states if not closure(ours, {s}) & home}
    assert lost == sorted(lost)


def test_a_component_misses_what_is_possible_everywhere_and_taken_nowhere_inside() -> None:
    graph = graph_of({0: {"a": 1, "go": 2, "now": 2}, 1: {"b": 0, "go": 2}, 2: {}})
    every = graph.picked(lambda label: True)
    assert {graph.actions[label] for label in missed(graph, [0, 1], every)} == {"go"}
    assert {graph.actions[label] for label in missed(graph, [0], every)} == {"a", "go", "now"}
    assert missed(graph, [2], every) == set()
