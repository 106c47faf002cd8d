"""What if: a system without some of its actions, begun elsewhere, or gone on with only while something holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import attrs

from calfsm.engine.code import Term
from calfsm.engine.engine import Snapshot
from calfsm.engine.system import System
from calfsm.explore.systems import SystemModel


@attrs.frozen
class WhatIf:
    """A search bent: begun in `start`, not in the initial state; gone on from states only in which `held` holds."""

    start: Snapshot | None = None
    held: Term | None = None


class BentModel(SystemModel):
    """A system at a scope, searched under a WhatIf."""

    def __init__(self, system: System, what_if: WhatIf, /, **scope: int) -> None:
        super().__init__(system, **scope)
        self._start = what_if.start
        self._held = self.condition(what_if.held) if what_if.held is not None else None

    def initial(self) -> Iterable[Snapshot]:
        """The one state to begin with."""
        return super().initial() if self._start is None else [self._start]

    def go_on(self, state: Snapshot) -> bool:
        """Whether a state is gone on from."""
        return self._held is None or self._held(state)


def without(system: System, names: Collection[str]) -> System:
    """The system as if it had no such actions."""
    return changed(system, actions=tuple(row for row in system.actions if row.name not in names))


def only(system: System, sources: Collection[str]) -> System:
    """The system as if nobody but these sources did anything."""
    return changed(system, actions=tuple(row for row in system.actions if row.by in sources))


def states_only(system: System) -> System:
    """The system as if nothing was said of its runs: only what one state shows is left to judge."""
    resources = tuple(row._replace(back=None) for row in system.resources)
    return changed(system, eventually=(), home=None, resources=resources)


def changed(system: System, **changes: Any) -> System:
    """The system with something else in the place of what it says."""
    names = (
        "name", "doc", "digest", "params", "parts", "tallies", "actions", "always", "eventually", "fair", "home",
        "resources", "strongly_fair",
    )  # fmt: skip
    return System(**{**{name: getattr(system, name) for name in names}, **changes})
