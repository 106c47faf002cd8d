"""Stories on the engine, as calls written as text; and what comes back when nothing goes wrong any more."""

from __future__ import annotations

from collections.abc import Collection

from calfsm.engine.engine import Engine
from calfsm.engine.system import System
from calfsm.explore.home import strays
from calfsm.explore.judging import CLIENT, Whole, marked


def at(system: System, *calls: str, **scope: int) -> Engine:
    """The system after some calls; `scope` goes over what its parameters explore."""
    engine = Engine(system, **{**system.exploring(), **scope})
    do(engine, *calls)
    return engine


def do(engine: Engine, *calls: str) -> None:
    """Some calls: each an action, its picks and its choices, in the order of the spec (`start 0 1`).

    Raises ActionRefused.
    """
    rows = {row.name: row for row in engine.system.actions}
    for call in calls:
        action, *arguments = call.split()
        row = rows[action]
        names = [name for name, *_ in (*row.picks, *row.choices)]
        engine.apply(action, **dict(zip(names, map(int, arguments), strict=True)))


def states(engine: Engine, part: str) -> list[str]:
    """The states of all instances of a part."""
    return [engine.state(part, index).value for index in range(engine.count(part))]


def strays_without(whole: Whole, actions: Collection[str]) -> list[int]:
    """The states from which nobody but the client, or one of these actions, can lead home again."""
    model, graph = whole.model, whole.graph
    assert model.system.home is not None
    rows = [model.system.actions[index] for index, _ in graph.actions]
    helpful = bytearray(row.by != CLIENT and row.name not in actions for row in rows)
    return strays(graph, marked(model, graph, model.system.home.term, {}), helpful)
