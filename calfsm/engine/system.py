"""A system as data: parts, actions and properties, compiled. Like `Table`, it holds no functions and no state."""

from __future__ import annotations

from typing import Any, NamedTuple

from calfsm.engine.code import Term
from calfsm.engine.naming import index_of
from calfsm.engine.table import ParamRow, Table


class PartRow(NamedTuple):
    """Instances of one machine: `count` a term, or one per instance of the part with index `per` (-1: none)."""

    name: str
    table: Table
    count: Term = ("int", 1)  # type: ignore[assignment]
    per: int = -1
    doc: str = ""


class Condition(NamedTuple):
    """A truth about the system, and how the spec writes it."""

    text: str
    term: Term


class Fired(NamedTuple):
    """A participant of an action, and the events it takes, in order.

    `which` is ("one", instance term), ("every",), or ("where", variable, instance term): those whose reference
    `variable` leads to it.
    """

    text: str
    part: int
    which: tuple[Any, ...]
    events: tuple[int, ...]


class Setting(NamedTuple):
    """A variable that an action sets, after the events."""

    text: str
    part: int
    instance: Term
    variable: int
    value: Term


class ActionRow(NamedTuple):
    """One action. `guards` are its conjuncts; picks are (name, part), choices (name, lowest, highest)."""

    name: str
    by: str
    picks: tuple[tuple[str, int], ...]
    choices: tuple[tuple[str, Term, Term], ...]
    guards: tuple[Condition, ...]
    fired: tuple[Fired, ...]
    settings: tuple[Setting, ...]
    effects: tuple[str, ...]
    doc: str = ""


class PropertyRow(NamedTuple):
    """An `always` property, in conjuncts."""

    name: str
    conditions: tuple[Condition, ...]


class LeadsToRow(NamedTuple):
    """An `eventually` property; picks as in an action."""

    name: str
    picks: tuple[tuple[str, int], ...]
    source: Condition
    target: Condition


class ResourceRow(NamedTuple):
    """A resource: instances of `part` that others hold, one holder at a time, and give back.

    In a `free` state, or in one where it is set `aside` (both indices), nobody refers to the instance; in any other
    exactly one of the `holders` does: (part, reference variable). `back` is asked of ("arg", 0): whether that is free;
    None: nobody asks. What is named last are the properties that follow: `shared`, `leaked` and `kept` are `always`
    properties; `stranded` says that `back` can hold again in every state without the client, where `unless` does not.
    """

    name: str
    part: int
    free: tuple[int, ...]
    aside: tuple[int, ...]
    holders: tuple[tuple[int, int], ...]
    back: Condition | None
    unless: Condition | None
    doc: str
    shared: str
    leaked: str
    kept: str
    stranded: str


class TallyRow(NamedTuple):
    """A count of the instances of a part that satisfy a condition on themselves, ("bound", 0)."""

    part: int
    where: Term


class Profile(NamedTuple):
    """The numbers of one deployment.

    Parameters over the serving ones, deadlines in seconds, and the scope that it is explored at.
    """

    name: str
    system: str
    doc: str
    params: dict[str, int]
    deadlines: dict[str, float]
    scope: dict[str, int]


class System:
    """One system, compiled."""

    def __init__(
        self,
        *,
        name: str,
        doc: str,
        digest: str,
        params: tuple[ParamRow, ...],
        parts: tuple[PartRow, ...],
        tallies: tuple[TallyRow, ...],
        actions: tuple[ActionRow, ...],
        always: tuple[PropertyRow, ...],
        eventually: tuple[LeadsToRow, ...],
        fair: tuple[str, ...],
        home: Condition | None,
        resources: tuple[ResourceRow, ...] = (),
        strongly_fair: tuple[str, ...] = (),
    ) -> None:
        self.name, self.doc, self.digest, self.params = name, doc, digest, params
        self.parts, self.tallies, self.actions = parts, tallies, actions
        self.always, self.eventually, self.fair, self.home = always, eventually, fair, home
        self.resources, self.strongly_fair = resources, strongly_fair

    def __repr__(self) -> str:
        return f"<System {self.name}: {len(self.parts)} parts, {len(self.actions)} actions>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, System) and self.content() == other.content()

    def __hash__(self) -> int:
        return hash((self.name, self.digest))

    def content(self) -> tuple[Any, ...]:
        """All that the system says, for comparison."""
        return (
            self.name,
            self.doc,
            self.digest,
            self.params,
            self.parts,
            self.tallies,
            self.actions,
            self.always,
            self.eventually,
            self.fair,
            self.home,
            self.resources,
            self.strongly_fair,
        )

    def part_index(self, name: str) -> int:
        """The index of a part. Raises KeyError."""
        return index_of(self.parts, name, self.name, "part")

    def action_index(self, name: str) -> int:
        """The index of an action. Raises KeyError."""
        return index_of(self.actions, name, self.name, "action")

    def serving(self) -> dict[str, int]:
        """All parameters' serving values, the machines' included; the system's own hold where both declare one."""
        values: dict[str, int] = {}
        for part in self.parts:
            values.update(part.table.serving())
        return {**values, **{row.name: row.serves for row in self.params}}

    def exploring(self) -> dict[str, int]:
        """All parameters' exploring values, likewise."""
        values: dict[str, int] = {}
        for part in self.parts:
            values.update(part.table.exploring())
        return {**values, **{row.name: row.explores for row in self.params}}
