"""Random walks: the `always` properties at sizes that no search can finish. Finding nothing proves nothing; it is cheap and often enough."""

from __future__ import annotations

import random

import attrs

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import System
from calfsm.explore.search import Trace
from calfsm.explore.systems import Call, SystemModel


@attrs.frozen
class Walk:
    """What a walk saw: its steps, and the first broken property with the way there."""

    steps: int
    broken: str = ""
    trace: Trace[Snapshot, Call] | None = None


def walk(system: System, scope: dict[str, int], *, steps: int, seed: int, restart: int = 400) -> tuple[SystemModel, Walk]:
    """`steps` random steps from the initial state, begun again every `restart` steps; the same seed walks the same way.

    An action is drawn first, then its picks, so that actions with many picks do not crowd out the others.
    """
    model = SystemModel(system, **scope)
    properties = model.properties()
    chance = random.Random(seed)
    start = next(iter(model.initial()))
    state, way = start, list[tuple[Call, Snapshot]]()
    for number in range(steps):
        calls: dict[int, list[Call]] = {}
        for call in model.actions(state):
            calls.setdefault(call[0], []).append(call)
        if not calls or len(way) >= restart:
            state, way = start, []
            continue
        call = chance.choice(calls[chance.choice(list(calls))])
        state = model.next(state, call)
        way.append((call, state))
        for name, holds in properties.items():
            if not holds(state):
                return model, Walk(number + 1, name, Trace(start, tuple(way)))
    return model, Walk(steps)
