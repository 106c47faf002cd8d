"""What a sequence diagram shows, as plain data: who speaks, which instances move, and how it ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from calfsm.engine.table import Table
from calfsm.explore.replay import STUCK
from calfsm.explore.systems import StoryLine, SystemModel, flattened
from calfsm.explore.tell import Counterexample, blamed, ending, headline, stories
from calfsm.render.model import SPEAKERS

World = Mapping[str, Mapping[str, str]]
"""A whole state by instance, in the spec's words."""


@attrs.frozen
class Lifeline:
    """One instance. `first` and `last`: its state and variables before the first step and after the last."""

    name: str
    table: Table
    first: Mapping[str, str]
    last: Mapping[str, str]
    blamed: bool = False


@attrs.frozen
class Interaction:
    """A run, drawn. `cycle`: steps that can go on for ever after `steps`.

    `waiting`: the number of the step after which somebody waits in vain, or None; those who do are blamed.
    """

    title: str
    subtitle: str
    lifelines: tuple[Lifeline, ...]
    steps: tuple[StoryLine, ...]
    cycle: tuple[StoryLine, ...] = ()
    waiting: int | None = None
    ending: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[StoryLine, ...]:
        """Every step, those of the cycle included."""
        return (*self.steps, *self.cycle)

    @property
    def speakers(self) -> tuple[str, ...]:
        """Who says something, in the order of the spec language."""
        said = {line.by for line in self.lines}
        return tuple(speaker for speaker in SPEAKERS if speaker in said)


def interaction(model: SystemModel, found: Counterexample) -> Interaction:
    """A counterexample, to be drawn."""
    steps, cycle = stories(model, found)
    end = found.cycle[-1][1] if found.cycle else found.trace.end
    first, last = (flattened(model.engine.described(state)) for state in (found.trace.start, end))
    colon = ":" if found.name == STUCK else ""
    return Interaction(
        f"{found.name}{colon} {headline(found)}".removesuffix(":"),
        system_and_scope(model.system.name, model.engine.params),
        lifelines(tables(model), first, last, (*steps, *cycle), blamed(model, found)),
        tuple(steps),
        tuple(cycle),
        found.since if found.kind == "eventually" else None,
        tuple(text.removesuffix(":") for text in ending(model, found)),
    )


def lifelines(
    tables: Mapping[str, Table], first: World, last: World, lines: Iterable[StoryLine], blamed: Iterable[str] = ()
) -> tuple[Lifeline, ...]:
    """Those who move or are blamed, in the order of `first`. `tables`: the machine of each instance."""
    guilty = set(blamed)
    shown = guilty | {change.who for line in lines for change in line.changes}
    return tuple(Lifeline(who, tables[who], first[who], last[who], who in guilty) for who in first if who in shown)


def tables(model: SystemModel) -> dict[str, Table]:
    """The machine of each instance."""
    of_part = {part.name: part.table for part in model.system.parts}
    return {who: of_part[who.partition("[")[0]] for who in flattened(model.engine.described())}


def system_and_scope(name: str, scope: Mapping[str, int]) -> str:
    """`executor at jobs=1, buffers=1`."""
    values = ", ".join(f"{key}={value}" for key, value in scope.items())
    return f"{name} at {values}" if values else name
