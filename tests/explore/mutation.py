"""What tells of an edit of the real specs, beside the same specs without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import attrs
from planting import Specs, original

from calfsm.engine.system import System
from calfsm.explore.judging import Whole, explore_whole
from calfsm.explore.vacuity import remarks
from calfsm.spec.findings import Severity

Scope = Mapping[str, int]


def compiled(specs: Specs) -> System:
    """The system of specs without errors."""
    assert not [str(finding) for finding in specs.findings() if finding.severity is Severity.ERROR]
    return specs.compiled()


def news(whole: Whole, scope: Scope) -> set[str]:
    """What was never put to the test, and was without the edit."""
    return {str(remark) for remark in remarks(whole)} - _remarks(whole.model.system.name, tuple(scope.items()))


def same(whole: Whole, scope: Scope) -> bool:
    """Whether there are the same states and transitions as without the edit.

    A search meets them in the order of the spec, so that whole graphs are the same, number for number.
    """
    graph, other = whole.graph, _unedited(whole.model.system.name, tuple(scope.items())).graph
    return all(
        getattr(graph, what) == getattr(other, what) for what in ("states", "first", "actions", "labels", "targets")
    )


@cache
def _unedited(system: str, scope: tuple[tuple[str, int], ...]) -> Whole:
    return explore_whole(original(system).compiled(), dict(scope))


@cache
def _remarks(system: str, scope: tuple[tuple[str, int], ...]) -> frozenset[str]:
    return frozenset(str(remark) for remark in remarks(_unedited(system, scope)))


def without_one_event(system: str = "executor") -> Iterator[tuple[str, Specs]]:
    """A system's specs without one of the events that one of its actions fires, each in turn, and what is left out."""
    specs = original(system)
    for name, action in specs.system.actions.items():
        for who, events in action.fire.items():
            for number, event in enumerate(events):
                rest = {**action.fire, who: (*events[:number], *events[number + 1 :])}
                less = attrs.evolve(action, fire={who: left for who, left in rest.items() if left})
                actions = {**specs.system.actions, name: less}
                yield f"{name}: {who}: {event}", attrs.evolve(specs, system=attrs.evolve(specs.system, actions=actions))
