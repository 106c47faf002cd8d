"""What the states of a reduced search stand for, added up by generated code.

Every state that was found is looked at again: how many states are of its orbit, and, if it was expanded, which actions
are possible there. That repeats a part of the search, with states that are a fraction of the system's, and shares none
of its counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from calfsm.explore.compiled.layout import Layout
from calfsm.explore.compiled.search import Found
from calfsm.explore.quotient import StandsFor

TOGETHER = 1 << 16
"""States that are added up in 63 bits; Python adds the sums."""

_WEIGH = '''
@njit("int64(int64, int64, int64, int64[::1], int64[::1], int64[::1], int64[::1])", **OUTER)
def weigh(first, last, expanded, states, batch, fired, whole):
    """How many states the states `first` to `last` stand for.

    Of the first `expanded` of all states, how often each action is taken where they stand is added to `whole`. `fired`
    is where that is counted for one state; it must be zeros.
    """
    total = 0
    for number in range(first, last):
        {state} = decoded({key})
        stands = orbit({state})
        total += stands
        if number < expanded:
            successors({state}, batch, 0, fired)
            for action in range(LEFT):
                whole[action] += stands * fired[action]
                fired[action] = 0
    return total
'''


def text(layout: Layout) -> str:
    """The function `weigh`, which needs the `orbit` of `canonical`."""
    keys = layout.coding.words
    return _WEIGH.format(
        state=", ".join(f"s{word}" for word in range(layout.words)),
        key=", ".join(f"states[number * {keys} + {word}]" for word in range(keys)),
    )


def stands_for(module: ModuleType, found: Found) -> StandsFor:
    """What the states that a search found and the transitions of those that it expanded stand for."""
    actions = found.layout.system.actions
    batch = np.zeros(module.ROOM * found.layout.words, np.int64)
    fired = np.zeros(len(actions) + 1, np.int64)
    states, times = 0, [0] * len(actions)
    for keys, expanded in zip(found.keys, found.expanded, strict=True):
        flat = keys.reshape(-1)
        for first in range(0, len(keys), TOGETHER):
            whole = np.zeros(len(actions), np.int64)
            last = min(first + TOGETHER, len(keys))
            states += int(module.weigh(first, last, expanded, flat, batch, fired, whole))
            times = [before + int(now) for before, now in zip(times, whole, strict=True)]
    names = [row.name for row in actions]
    return StandsFor(states, sum(times), dict(zip(names, times, strict=True)))


def canonical(module: ModuleType, words: Sequence[int]) -> tuple[int, ...]:
    """The words of the state that stands for the state of some words."""
    form = module.canonical(*words)
    return form if isinstance(form, tuple) else (form,)
