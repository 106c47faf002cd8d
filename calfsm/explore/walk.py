"""Random walks: the `always` properties at sizes that no search can finish.

Finding nothing proves nothing; it is cheap and often enough.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

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


def walk(
    system: System, scope: Mapping[str, int], *, steps: int, seed: int, restart: int = 400
) -> tuple[SystemModel, Walk]:
    """`steps` random steps from the initial state, begun again every `restart` steps; the same seed walks the same way.

    An action is drawn first, then its picks, so that actions with many picks do not crowd out the others. Where nothing
    is possible it begins again; it ends when nothing ever is.
    """
    model = SystemModel(system, **scope)
    properties = model.properties()
    chance = random.Random(seed)
    start = next(iter(model.initial()))
    state, way = start, list[tuple[Call, Snapshot]]()
    taken = 0
    while True:
        for name, holds in properties.items():
            if not holds(state):
                return model, Walk(taken, name, Trace(start, tuple(way)))
        if taken == steps:
            return model, Walk(taken)
        if len(way) >= restart:
            state, way = start, []
        calls: dict[int, list[Call]] = {}
        for call in model.actions(state):
            calls.setdefault(call[0], []).append(call)
        if calls:
            call = chance.choice(calls[chance.choice(list(calls))])
            state = model.next(state, call)
            way.append((call, state))
            taken += 1
        elif way:
            state, way = start, []
        else:
            return model, Walk(taken)
