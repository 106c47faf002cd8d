"""Compiled code says of runs what the plain judging says, on the same states and transitions."""

from __future__ import annotations

import pytest

pytest.importorskip("numba")

from arrays import Arrays, array, edges_of
from engine.naive_system import read
from engine.system_texts import Texts, systems
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kiosk import ENDLESS, kiosk, look_at_lasso
from labelled import Edges, closure, fairness_of, graph_of, look_again, marks
from test_liveness_graphs import dense, edges, labels, states

from calfsm.compile.load import compile_specs
from calfsm.engine.system import Condition, LeadsToRow, System
from calfsm.explore.compiled.graph import arrivals, strays
from calfsm.explore.compiled.liveness import unanswered
from calfsm.explore.compiled.runs import CompiledRuns
from calfsm.explore.home import strays as plain_strays
from calfsm.explore.judging import Whole, explore_whole
from calfsm.explore.liveness import Lasso
from calfsm.explore.liveness import unanswered as plain_unanswered
from calfsm.explore.search import Trace
from calfsm.explore.vacuity import remarks

QUIET = settings(max_examples=200, deadline=None, derandomize=True, database=None)
MADE = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[*HealthCheck],
    phases=[Phase.generate],
)


# ---- graphs


@QUIET
@given(edges | dense, states, states, labels, labels, st.sampled_from((None, 3)))
def test_a_lasso_is_found_where_the_plain_judging_finds_one(
    edges: Edges,
    begins: frozenset[int],
    ends: frozenset[int],
    fair: frozenset[str],
    strong: frozenset[str],
    most: int | None,
) -> None:
    graph = graph_of(edges, **({"max_states": most} if most else {}))
    fairness = fairness_of(graph, fair, strong)
    begin, end = marks(graph, begins), marks(graph, ends)
    plain = plain_unanswered(graph, begin, end, fairness)
    found = unanswered(edges_of(graph), array(begin), array(end), fairness)
    assert (found is None) == (plain is None)
    if found is None or plain is None:
        return
    arrays = edges_of(graph)
    before = arrays.way(found.states[0])
    steps = arrays.between([*before, *found.states[1:]])
    lasso = Lasso(
        Trace(graph.states[0], tuple(map(graph.step, steps))), tuple(map(graph.step, found.cycle)), len(before) - 1
    )
    look_again(edges, begins, ends, fair, strong, lasso)
    assert len(lasso.trace.steps) == len(plain.trace.steps)
    assert bool(lasso.cycle) == bool(plain.cycle)


@QUIET
@given(edges | dense, states, labels, st.sampled_from((None, 3)))
def test_home_is_lost_where_the_plain_judging_loses_it(
    edges: Edges, home: frozenset[int], helpful: frozenset[str], most: int | None
) -> None:
    graph = graph_of(edges, **({"max_states": most} if most else {}))
    there, helps = marks(graph, home), graph.picked(lambda label: label in helpful)
    arrays = edges_of(graph)
    assert strays(arrivals(arrays, helps), arrays.whole, array(there)).tolist() == plain_strays(graph, there, helps)


def test_a_long_way_round_a_large_component_is_found() -> None:
    # A ring of 3,000 states; each third of it is where one action is taken, and another not possible.
    size = 3_000
    ring: Edges = {
        at: {"on": (at + 1) % size, **({"a": size} if at % 3 else {}), **({"b": size} if at > 5 else {})}
        for at in range(size)
    } | {size: {"end": size}}
    graph = graph_of(ring)
    fairness = fairness_of(graph, {"on", "a", "b"})
    found = unanswered(edges_of(graph), array(marks(graph, {0})), array(marks(graph, {size})), fairness)
    assert found is not None
    assert [graph.actions[graph.labels[edge]] for edge in found.cycle] == ["on"] * size
    strict = fairness_of(graph, {"on", "a", "b"}, {"b"})
    assert unanswered(edges_of(graph), array(marks(graph, {0})), array(marks(graph, {size})), strict) is None
    assert closure(ring, {0}) == set(range(size + 1))


# ---- systems that nobody thought of


def promising(texts: Texts, fair: set[int], strongly: set[int]) -> System:
    """A system that promises what its guards ask, if some of its actions are fair."""
    machines, spec = read(*texts.documents)
    system = compile_specs(machines, {spec.name: spec}).systems[spec.name]
    conditions = [condition for action in system.actions for condition in action.guards]
    general = [condition for condition in conditions if "('arg'," not in repr(condition.term)]
    system.eventually = tuple(
        LeadsToRow(f"promise_{i}_{j}", (), begins, ends)
        for i, begins in enumerate(general)
        for j, ends in enumerate(general)
        if i != j
    )
    system.home = general[0] if general else Condition("0 == 0", ("==", ("int", 0), ("int", 0)))
    names = [row.name for row in system.actions]
    system.fair = tuple(names[index] for index in fair if index < len(names))
    system.strongly_fair = tuple(names[index] for index in strongly if index < len(names))
    return system


@MADE
@given(
    texts=systems(),
    word_bits=st.sampled_from((63, 40, 9)),
    fair=st.sets(st.integers(0, 4)),
    strongly=st.sets(st.integers(0, 4), max_size=2),
)
def test_made_up_systems_are_judged_alike(texts: Texts, word_bits: int, fair: set[int], strongly: set[int]) -> None:
    plain = explore_whole(promising(texts, fair, strongly), max_states=60)
    with pytest.MonkeyPatch.context() as patch:
        assert_alike(plain, Arrays(plain, patch, word_bits).whole(plain))


def assert_alike(plain: Whole, compiled: Whole) -> None:
    """Both say the same, and have the same transitions."""
    runs, graph = compiled.runs, plain.graph
    assert isinstance(runs, CompiledRuns)
    arrays = runs.edges
    assert arrays.whole.tolist() == list(graph.whole)
    for state in range(len(graph)):
        mine = sorted(
            (runs.calls[int(arrays.labels[edge])], int(arrays.targets[edge]))
            for edge in range(arrays.first[state], arrays.first[state + 1])
        )
        assert mine == sorted((graph.actions[graph.labels[edge]], graph.targets[edge]) for edge in graph.edges(state))
    for name, promise in plain.promises.items():
        other = compiled.promises[name]
        assert (other.verdict, other.why, other.picks) == (promise.verdict, promise.why, promise.picks)
        assert (other.lasso is None, other.trace is None) == (promise.lasso is None, promise.trace is None)
        if other.lasso is not None and promise.lasso is not None:
            look_at_lasso(compiled, name)
            assert len(other.lasso.trace.steps) == len(promise.lasso.trace.steps)
            assert bool(other.lasso.cycle) == bool(promise.lasso.cycle)
        if other.trace is not None and promise.trace is not None:
            assert len(other.trace.steps) == len(promise.trace.steps)
    assert remarks(compiled) == remarks(plain)


# ---- planted faults

KIOSKS = {
    "as it is": [],
    "a needed action that is missing": [("  repair: {by: recovery, when: till is jammed, fire: {till: repair}}\n", "")],
    "a source that is not fair": [("fair: [engine, recovery]", "fair: [engine]")],
    "a fault that may come again and again": ENDLESS,
    "only the client leads home": [("  repair: {by: recovery, when", "  repair: {by: client, when")],
    "an action that is never possible": [
        ("when: till is open, fire: {c", "when: till is open and till.jams > 5, fire: {c")
    ],
    "a bound that is not reached": [
        ("till is open and till.jams < most", "till is open and till.jams < 1"),
        ("explores: 1}}", "explores: 4}}"),
    ],
    "strong fairness that helps": [*ENDLESS, ("fair: [engine, recovery]", "fair: [recovery]\nstrongly_fair: [serve]")],
    "strong fairness that does not": [
        *ENDLESS,
        ("fair: [engine, recovery]", "fair: [engine]\nstrongly_fair: [repair]"),
    ],
    "fairness that nothing needs": [("fair: [engine, recovery]", "fair: [engine, recovery, clock]")],
}


def test_questions_and_answers_that_would_take_too_long_are_said_not_to_be_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("calfsm.explore.compiled.seen.DIFFERENT", 1)
    plain = explore_whole(kiosk())
    said = [str(remark) for remark in remarks(Arrays(plain, monkeypatch).whole(plain))]
    assert said and all("not asked at this size whether" in text for text in said)
    assert "guard: not asked at this size whether serve: `till is open` is never false" in said
    assert any(text.startswith("machine: not asked at this size whether customer never goes by") for text in said)


@pytest.mark.parametrize("edits", KIOSKS.values(), ids=list(KIOSKS))
def test_the_kiosk_is_judged_alike(edits: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = explore_whole(kiosk(*edits))
    assert_alike(plain, Arrays(plain, monkeypatch).whole(plain))
