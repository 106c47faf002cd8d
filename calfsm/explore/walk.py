"""Random walks: the `always` properties at sizes that no search can finish.

A walk remembers where it was, and goes on to where it was not: one that forgets takes nearly all of its steps among the
few states that faults lead back to. Finding nothing proves nothing; it is cheap and often enough. A swarm is many
walks, one for each seed, on as many processes or machines as there are (Holzmann, Joshi and Groce, Swarm Verification,
2008).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import attrs

from calfsm.engine.engine import ActionRefused, Snapshot
from calfsm.engine.system import System
from calfsm.explore.search import Property, Trace
from calfsm.explore.systems import Call, SystemModel


@attrs.frozen
class Walk:
    """What a walk saw: how many states, how deep, by which actions, and a broken property with the way there."""

    seed: int
    states: int
    depth: int
    taken: frozenset[int]
    broken: str = ""
    trace: Trace[Snapshot, Call] | None = None


def walk(system: System, scope: Mapping[str, int], *, states: int, seed: int) -> tuple[SystemModel, Walk]:
    """See `states` states at random, or all there are if they are fewer; the same seed walks the same way.

    From a state it goes on to one that it has not seen: an action is drawn first, then its picks, so that actions with
    many picks do not crowd out the others. Where there is none, it goes on from any state that may still lead to one.
    """
    model = SystemModel(system, **scope)
    properties = model.properties()
    chance = random.Random(seed)
    state = next(iter(model.initial()))
    came: dict[Snapshot, tuple[Snapshot, Call] | None] = {state: None}
    depths = {state: 0}
    taken: set[int] = set()
    deepest, open_states, at = 0, [state], 0

    def done(broken: str = "") -> tuple[SystemModel, Walk]:
        trace = _way(came, state) if broken else None
        return model, Walk(seed, len(came), deepest, frozenset(taken), broken, trace)

    while True:
        for name, holds in properties.items():
            if not holds(state):
                return done(name)
        while True:
            if len(came) >= states:
                return done()
            calls: dict[int, list[Call]] = {}
            for call in model.actions(state):
                if model.next(state, call) not in came:
                    calls.setdefault(call[0], []).append(call)
            if calls:
                break
            # Nothing new is here, and will not be: another one takes its place.
            open_states[at] = open_states[-1]
            open_states.pop()
            if not open_states:
                return done()
            at = chance.randrange(len(open_states))
            state = open_states[at]
        call = chance.choice(calls[chance.choice(list(calls))])
        after = model.next(state, call)
        came[after], depths[after] = (state, call), depths[state] + 1
        taken.add(call[0])
        deepest = max(deepest, depths[after])
        open_states.append(after)
        state, at = after, len(open_states) - 1


def _way(came: Mapping[Snapshot, tuple[Snapshot, Call] | None], state: Snapshot) -> Trace[Snapshot, Call]:
    steps: list[tuple[Call, Snapshot]] = []
    while (before := came[state]) is not None:
        steps.append((before[1], state))
        state = before[0]
    return Trace(state, tuple(reversed(steps)))


@attrs.frozen
class Swarm:
    """What walks saw together. Walks may have seen the same states: `states` are theirs, added up.

    `broken`: for each property that a walk broke, the shortest way there that was found; it need not be a shortest one.
    `never`: actions that no walk took.
    """

    walks: int
    states: int
    depth: int
    broken: dict[str, Trace[Snapshot, Call]]
    never: tuple[str, ...]


Walker = Callable[[int], Walk]
Everywhere = Callable[[Walker, Iterable[int]], Iterator[Walk]]
"""Does a walk for each seed, here or elsewhere, in any order: `map` is one."""


def swarm(
    system: System,
    scope: Mapping[str, int],
    *,
    seeds: Sequence[int],
    states: int,
    everywhere: Everywhere = map,
    progress: Callable[[int], None] | None = None,
) -> tuple[SystemModel, Swarm]:
    """A walk that sees `states` states for each seed. `progress` is told how many walks are done.

    The result depends on the seeds alone, not on where or in which order they walk.
    """
    model = SystemModel(system, **scope)
    walks: list[Walk] = []
    for one in everywhere(partial(_walked, system, dict(scope), states), seeds):
        walks.append(one)
        if progress is not None:
            progress(len(walks))
    broken: dict[str, Trace[Snapshot, Call]] = {}
    for one in sorted(walks, key=lambda one: one.seed):
        if one.trace is not None:
            trace = shortened(model, one.trace, model.properties()[one.broken])
            if one.broken not in broken or len(trace.steps) < len(broken[one.broken].steps):
                broken[one.broken] = trace
    taken = frozenset[int]().union(*(one.taken for one in walks))
    return model, Swarm(
        walks=len(walks),
        states=sum(one.states for one in walks),
        depth=max((one.depth for one in walks), default=0),
        broken=broken,
        never=tuple(row.name for index, row in enumerate(system.actions) if index not in taken),
    )


def _walked(system: System, scope: Mapping[str, int], states: int, seed: int) -> Walk:
    return walk(system, scope, states=states, seed=seed)[1]


def shortened(model: SystemModel, trace: Trace[Snapshot, Call], holds: Property[Snapshot]) -> Trace[Snapshot, Call]:
    """A way to a state in which `holds` does not hold, with what can be left out of `trace` left out.

    Runs of steps are dropped, shorter and shorter ones, and with them those that are refused then, as long as the rest
    still breaks it (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002). In the end no step
    is superfluous.
    """
    run = len(trace.steps)
    while run:
        before = len(trace.steps)
        for at in range(before - run, -1, -run):
            calls = [call for call, _ in trace.steps]
            shorter = _broken(model, trace.start, calls[:at] + calls[at + run :], holds)
            if shorter is not None and len(shorter.steps) < len(trace.steps):
                trace = shorter
        if run > 1 or len(trace.steps) == before:
            run //= 2
    return trace


def _broken(
    model: SystemModel, start: Snapshot, calls: Iterable[Call], holds: Property[Snapshot]
) -> Trace[Snapshot, Call] | None:
    """The way along calls, but for refused ones, up to the first state in which `holds` does not hold; None if none."""
    state, way = start, list[tuple[Call, Snapshot]]()
    for call in calls:
        try:
            state = model.next(state, call)
        except ActionRefused:
            continue
        way.append((call, state))
        if not holds(state):
            return Trace(start, tuple(way))
    return None
