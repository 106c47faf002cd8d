"""What actions did, as values: changes, moves, effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from calfsm.engine.code import Data
from calfsm.engine.system import ActionRow, System
from calfsm.engine.table import Move, Outcome


class Effect(NamedTuple):
    """Something the outside must do now: its name, and the picks and choices of the action that asks for it."""

    name: str
    arguments: Mapping[str, int]


class Moved(NamedTuple):
    """One move of one instance."""

    part: str
    index: int  # type: ignore[assignment]
    move: Move

    def __str__(self) -> str:
        return f"{self.part}[{self.index}] {self.move.source} -> {self.move.target}"


class Change(NamedTuple):
    """What an action did to one instance: before and after, and the answers that led there."""

    part: int
    index: int  # type: ignore[assignment]
    state: int
    data: Data
    new_state: int
    new_data: Data
    outcomes: Sequence[Outcome]


Changed = tuple[int, int, int, Data, int, Data, Sequence[Outcome]]
"""A Change as a plain tuple, which costs a sixth of one."""


class Step:
    """What one action did. Values are made when they are asked for; an applied step costs little."""

    __slots__ = ("_action", "_arguments", "_changed", "_changes", "_system")

    def __init__(self, system: System, action: ActionRow, arguments: Sequence[int], changed: Sequence[Changed]) -> None:
        self._system, self._action, self._arguments, self._changed = system, action, arguments, changed
        self._changes: tuple[Change, ...] | None = None

    @property
    def action(self) -> str:
        """The action's name."""
        return self._action.name

    @property
    def arguments(self) -> dict[str, int]:
        """Its picks and choices."""
        return dict(zip(argument_names(self._action), self._arguments, strict=True))

    @property
    def changes(self) -> tuple[Change, ...]:
        """What it did, one Change for each instance that took part, in the order in which they were reached."""
        if self._changes is None:
            self._changes = tuple(map(Change._make, self._changed))
        return self._changes

    @property
    def moves(self) -> tuple[Moved, ...]:
        """Every event that was taken, stays included: instance by instance, those of one in the order taken."""
        parts = self._system.parts
        return tuple(
            Moved(parts[change.part].name, change.index, outcome.move)
            for change in self.changes
            for outcome in change.outcomes
        )

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What the outside must do now."""
        arguments = self.arguments if self._action.effects else {}
        return tuple(Effect(name, arguments) for name in self._action.effects)

    def __str__(self) -> str:
        return call_text(self._action, self._arguments)

    def __repr__(self) -> str:
        return f"<{call_text(self._action, self._arguments)}: {', '.join(map(str, self.moves))}>"


def argument_names(action: ActionRow) -> tuple[str, ...]:
    """The names of an action's picks, then of its choices."""
    return tuple(name for name, _ in action.picks) + tuple(name for name, _, _ in action.choices)


def call_text(action: ActionRow, arguments: Sequence[int]) -> str:
    """`prepare(j=0, b=1)`."""
    named = zip(argument_names(action), arguments, strict=True)
    return f"{action.name}({', '.join(f'{name}={value}' for name, value in named)})"
