"""The reachable graph projected: what looks alike is one node, and what was collapsed is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from kiosk import ENDLESS, kiosk

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import System
from calfsm.explore.graph import Graph
from calfsm.explore.projection import STATE, Chosen, Collapse, Projection, Shown, project
from calfsm.explore.search import search
from calfsm.explore.systems import Call, SystemModel
from calfsm.tables.executor import SYSTEM

CUSTOMERS, TILL = 0, 1
SMALL = {"requests": 1, "jobs": 2, "buffers": 2, "lanes": 1, "limit": 2}


def searched(system: System, **scope: int) -> tuple[SystemModel, Graph[Snapshot, Call]]:
    model = SystemModel(system, **scope)
    graph: Graph[Snapshot, Call] = Graph(model.initial())
    graph.close(search(model, visit=graph.visit, max_states=20_000).complete)
    return model, graph


@pytest.fixture(scope="module")
def kiosks() -> tuple[SystemModel, Graph[Snapshot, Call]]:
    return searched(kiosk())


@pytest.fixture(scope="module")
def executors() -> tuple[SystemModel, Graph[Snapshot, Call]]:
    return searched(SYSTEM, **SMALL)


def looks(shown: Projection) -> list[str]:
    return ["; ".join(look) for node in shown.nodes for look in node.looks]


def arrows(shown: Projection) -> set[tuple[str, str, str]]:
    names = ["; ".join(node.looks[0]) for node in shown.nodes]
    return {(names[edge.source], action, names[edge.target]) for edge in shown.edges for action in edge.actions}


def test_states_that_look_alike_are_one_node_and_actions_are_counted_on_its_edges(kiosks) -> None:
    model, graph = kiosks
    shown = project(model, graph, [Chosen(TILL)])
    assert looks(shown) == ["till: open", "till: jammed (jams = 1)", "till: open (jams = 1)"]
    assert [node.states for node in shown.nodes] == [9, 9, 9]
    assert [(node.depth, node.moves, node.initial) for node in shown.nodes] == [
        (0, 0, True),
        (1, 1, False),
        (2, 2, False),
    ]
    assert [(edge.source, edge.target, edge.actions) for edge in shown.edges] == [
        (0, 1, {"jam": 9}),
        (1, 2, {"repair": 9}),
    ]


def test_a_projection_is_what_every_transition_projected_one_by_one_gives(executors) -> None:
    model, graph = executors
    jobs, buffers = (model.system.part_index(name) for name in ("jobs", "buffers"))
    shown = project(model, graph, [Chosen(jobs), Chosen(buffers)], collapse=Collapse.VARIABLES)
    states = {name: [row.name for row in model.system.parts[name].table.states] for name in (jobs, buffers)}

    def look(state: Snapshot) -> str:
        lines = []
        for part, name in ((jobs, "jobs"), (buffers, "buffers")):
            counted = sorted(Counter(state[part]).items())
            lines.append(f"{name}: {', '.join(f'{count} {states[part][it]}' for it, count in counted)}")
        return "; ".join(lines)

    seen = list(map(look, graph.states))
    assert dict(zip(looks(shown), [node.states for node in shown.nodes], strict=True)) == Counter(seen)
    wanted = {
        (seen[state], model.system.actions[graph.actions[graph.labels[edge]][0]].name, seen[graph.targets[edge]])
        for state in range(len(graph))
        for edge in graph.edges(state)
    }
    assert arrows(shown) == {(one, action, other) for one, action, other in wanted if one != other}


def test_instances_are_told_apart_or_counted(kiosks) -> None:
    model, graph = kiosks
    apart = project(model, graph, [Chosen(CUSTOMERS)])
    counted = project(model, graph, [Chosen(CUSTOMERS)], collapse=Collapse.INSTANCES)
    assert looks(apart)[1] == "customers[0]: waiting; customers[1]: away"
    assert (len(apart.nodes), apart.collapsed) == (9, ())
    assert looks(counted) == [
        "customers: 2 away",
        "customers: 1 away, 1 waiting",
        "customers: 2 waiting",
        "customers: 1 away, 1 served",
        "customers: 1 waiting, 1 served",
        "customers: 2 served",
    ]
    assert counted.collapsed == (Collapse.INSTANCES,)


def test_a_reference_that_is_counted_leads_somewhere_or_nowhere(executors) -> None:
    model, graph = executors
    jobs = Chosen(model.system.part_index("jobs"))
    assert any("buffer = buffers[1]" in look for look in looks(project(model, graph, [jobs])))
    counted = looks(project(model, graph, [jobs], collapse=Collapse.INSTANCES))
    assert "jobs: 1 vacant, 1 preparing (buffer set)" in counted
    assert not any("buffers[" in look for look in counted)


def test_one_instance_or_one_variable_can_be_looked_at(kiosks) -> None:
    model, graph = kiosks
    assert looks(project(model, graph, [Chosen(CUSTOMERS, 1)])) == [
        "customers[1]: away",
        "customers[1]: waiting",
        "customers[1]: served",
    ]
    assert looks(project(model, graph, [Chosen(TILL, field=STATE)])) == ["till: open", "till: jammed"]
    assert looks(project(model, graph, [Chosen(TILL, field=0)])) == ["till: jams = 0", "till: jams = 1"]


def test_as_little_is_collapsed_as_leaves_few_enough(kiosks) -> None:
    model, graph = kiosks
    both = [Chosen(CUSTOMERS), Chosen(TILL)]
    sizes = {most: project(model, graph, both, most=most) for most in (27, 18, 12, 1)}
    assert {most: (len(shown.nodes), shown.collapsed) for most, shown in sizes.items()} == {
        27: (27, ()),
        18: (18, (Collapse.INSTANCES,)),
        12: (12, (Collapse.INSTANCES, Collapse.VARIABLES)),
        1: (12, (Collapse.INSTANCES, Collapse.VARIABLES)),
    }


def test_a_variable_that_was_asked_for_is_not_left_out(kiosks) -> None:
    model, graph = kiosks
    shown = project(model, graph, [Chosen(TILL, field=0)], collapse=Collapse.CHAINS)
    assert "till: jams = 1" in looks(shown)


def test_a_chain_becomes_one_node_that_tells_its_steps(kiosks) -> None:
    model, graph = kiosks
    ring = project(model, graph, [Chosen(TILL)], most=1)
    assert [node.looks for node in ring.nodes] == [(("till: open",), ("till: jammed",))]
    assert [(edge.source, edge.target, edge.actions) for edge in ring.edges] == [(0, 0, {"repair": 9})]
    till = [Chosen(TILL, field=STATE), Chosen(TILL, field=0)]
    (node,) = project(model, graph, till, most=1).nodes
    assert node.looks == (
        ("till: open", "till: jams = 0"),
        ("till: jammed", "till: jams = 1"),
        ("till: open", "till: jams = 1"),
    )
    assert (node.through, node.states, node.depth, node.initial) == ((("jam",), ("repair",)), 27, 0, True)
    assert project(model, graph, till, most=1).edges == ()


def test_only_some_states_are_shown_and_only_what_leads_from_and_to_some(kiosks) -> None:
    model, graph = kiosks
    system = kiosk()

    def till_is(state: str) -> Shown:
        index = system.parts[TILL].table.state_index(state)
        return Shown(where=lambda snapshot: snapshot[TILL][0] == index)

    shown = project(model, graph, [Chosen(CUSTOMERS, 0)], of=till_is("jammed"))
    assert arrows(shown) == {
        ("customers[0]: away", "order", "customers[0]: waiting"),
        ("customers[0]: served", "leave", "customers[0]: away"),
    }
    assert [node.moves for node in shown.nodes] == [None, None, None]
    jammed = till_is("jammed").where
    since = project(model, graph, [Chosen(TILL)], of=Shown(since=jammed))
    until = project(model, graph, [Chosen(TILL)], of=Shown(until=jammed))
    assert looks(since) == ["till: jammed (jams = 1)", "till: open (jams = 1)"]
    assert looks(until) == ["till: open", "till: jammed (jams = 1)"]
    assert looks(project(model, graph, [Chosen(TILL)], of=Shown(since=jammed, until=jammed))) == [
        "till: jammed (jams = 1)"
    ]


def test_between_two_conditions_is_what_is_passed_before_either_holds_again(kiosks) -> None:
    model, graph = kiosks

    def first_is(state: str) -> Callable[[Snapshot], bool]:
        index = model.system.parts[CUSTOMERS].table.state_index(state)
        return lambda snapshot: snapshot[CUSTOMERS][0] == index

    first = [Chosen(CUSTOMERS, 0)]
    between = project(model, graph, first, of=Shown(since=first_is("away"), until=first_is("served")))
    assert arrows(between) == {
        ("customers[0]: away", "order", "customers[0]: waiting"),
        ("customers[0]: waiting", "serve", "customers[0]: served"),
        ("customers[0]: served", "leave", "customers[0]: away"),
    }
    between = project(model, graph, first, of=Shown(since=first_is("waiting"), until=first_is("served")))
    assert looks(between) == ["customers[0]: waiting", "customers[0]: served"]
    assert arrows(between) == {("customers[0]: waiting", "serve", "customers[0]: served")}


def test_only_some_actions_are_shown_and_the_nodes_that_they_touch(kiosks) -> None:
    model, graph = kiosks
    shown = project(model, graph, [Chosen(TILL)], of=Shown(actions={"repair"}))
    assert arrows(shown) == {("till: jammed (jams = 1)", "repair", "till: open (jams = 1)")}
    assert len(shown.nodes) == 2
    assert project(model, graph, [Chosen(TILL)], of=Shown(actions=set())).nodes == ()


def test_edges_to_the_node_itself_are_shown_when_asked_for(kiosks) -> None:
    model, graph = kiosks
    shown = project(model, graph, [Chosen(TILL)], of=Shown(selfs=True))
    assert ("till: open", "order", "till: open") in arrows(shown)


def test_a_search_that_was_stopped_is_projected_as_far_as_it_went() -> None:
    model = SystemModel(kiosk(*ENDLESS))
    graph: Graph[Snapshot, Call] = Graph(model.initial())
    graph.close(search(model, visit=graph.visit, max_states=3).complete)
    shown = project(model, graph, [Chosen(CUSTOMERS), Chosen(TILL)])
    assert sum(node.states for node in shown.nodes) == len(graph) < 27
