"""A whole fleet through the life of a buffer, and parts of it."""

from __future__ import annotations

import numpy as np

from calfsm.engine.fleet import Fleet
from calfsm.tables import buffer
from tests.bench.peers import CYCLE
from tests.bench.rounds import Subject

COUNT = 100_000
WHOLE = "whole fleet, one event"
EACH = "whole fleet, an event for each"
TENTH = "a tenth of it, by index"
REFUSED = "whole fleet, all refuse"


def subjects() -> list[Subject]:
    """Fleets of COUNT buffers, one life of seven events a pass; the last refuses one event instead."""
    whole, each, part, refusing = (Fleet(buffer.TABLE, COUNT) for _ in range(4))
    events = [np.full(COUNT, buffer.TABLE.event_index(name)) for name in CYCLE]
    tenth = np.random.default_rng(0).permutation(COUNT)[: COUNT // 10]

    def step_whole() -> None:
        for name in CYCLE:
            whole.step(name)

    def step_each() -> None:
        for numbers in events:
            each.step(numbers)

    def step_tenth() -> None:
        for name in CYCLE:
            part.step(name, tenth)

    return [
        Subject(WHOLE, step_whole, len(CYCLE) * COUNT),
        Subject(EACH, step_each, len(CYCLE) * COUNT),
        Subject(TENTH, step_tenth, len(CYCLE) * len(tenth)),
        Subject(REFUSED, lambda: refusing.step("recycle"), COUNT),
    ]
