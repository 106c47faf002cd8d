"""Level by level, whoever searches: threads that share memory (`search`), or workers that do not (`shares`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from calfsm.explore.search import Progress

NUMBERS = (1 << 32) - 1
"""States that 32 bits can number."""


class NoRoom(Exception):
    """The memory budget does not allow for more states."""


class Team(Protocol):
    """Searchers, each with states of its own."""

    def counts(self) -> list[int]:
        """How many states each has found."""

    def expanded(self) -> list[int]:
        """How many of them each has expanded."""

    def transitions(self) -> int:
        """How many transitions all have taken."""

    def broken(self) -> bool:
        """Whether any has found a broken property."""

    def round(self, ends: Sequence[int], most: int, begins: bool) -> None:
        """Each expands a chunk of its states up to its end, until `most` more are found, and takes in what the others
        have for it. `begins`: a level begins, which ends there. Raises NoRoom."""


def by_levels(
    team: Team,
    max_states: int | None,
    max_seconds: float | None,
    first_only: bool,
    progress: Callable[[Progress], None] | None,
) -> str:
    """Search to the end, or to a limit: which one. Raises NoRoom."""
    began = told = time.monotonic()
    depth = -1

    def enough() -> bool:
        return first_only and team.broken()

    def behind(ends: Sequence[int]) -> bool:
        return any(done < end for done, end in zip(team.expanded(), ends, strict=True))

    while behind(team.counts()) and not enough():
        depth += 1
        ends, begins = team.counts(), True
        while behind(ends):
            most = NUMBERS if max_states is None else max(1, (max_states - sum(team.counts())) // len(ends))
            team.round(ends, most, begins)
            begins, found = False, sum(team.counts())
            if max_states is not None and found >= max_states:
                return f"the limit of {max_states:,} states was reached"
            if enough():
                return "a property is broken"
            now = time.monotonic()
            if max_seconds is not None and now - began >= max_seconds:
                return f"the limit of {max_seconds:g} seconds was reached"
            if progress is not None and now - told >= 1:
                told = now
                progress(Progress(found, team.transitions(), depth, found - sum(ends), now - began))
    return ""
