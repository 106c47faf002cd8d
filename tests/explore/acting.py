"""Stories on the engine: calls written as text, and the states that they lead to."""

from __future__ import annotations

from calfsm.engine.engine import Engine
from calfsm.engine.system import System


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
