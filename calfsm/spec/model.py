"""What a document says, as values: one attrs class for each thing that a spec can name.

Mappings keep file order. Nothing here judges: names may be unknown, cells may be missing; `calfsm.check` finds that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

import attrs

from calfsm.spec.expressions import Expression, Path
from calfsm.spec.yaml_text import Places


class Source(Enum):
    """Who speaks: the one that makes an event or action happen."""

    CLIENT = "client"
    ENGINE = "engine"
    RUNTIME = "runtime"
    CLOCK = "clock"
    RECOVERY = "recovery"

    @property
    def outside(self) -> bool:
        """Whether it speaks without asking if we are ready. Only `engine` is our own decision."""
        return self is not Source.ENGINE


Bound = int | str
"""An integer, or the name of a parameter."""


@attrs.frozen
class Param:
    """A bound with two values: the one that serves, and the small one that is explored."""

    serves: int
    explores: int
    doc: str = ""


@attrs.frozen
class Variable:
    """Bounded data of a machine. Exactly one of the five kinds is given; `kind` tells which."""

    boolean: bool | None = None
    integer: tuple[Bound, Bound] | None = None
    enum: tuple[str, ...] | None = None
    ref: str | None = None
    cycle: Bound | None = None
    initial: Bound | None = None
    doc: str = ""

    @property
    def kind(self) -> str:
        """`bool`, `int`, `enum`, `ref` or `cycle`."""
        return next(kind for kind, field in VARIABLE_KINDS.items() if getattr(self, field) is not None)


VARIABLE_KINDS = {"bool": "boolean", "int": "integer", "enum": "enum", "ref": "ref", "cycle": "cycle"}
"""The kinds of variable, as spelt in YAML, and their fields in `Variable`."""


@attrs.frozen
class Deadline:
    """How long a state may last: `after` names a duration of the profile, `event` what the clock then says."""

    after: str
    event: str


@attrs.frozen
class State:
    """One state. `outcome`: the object's life ended here and its slot may be used again; `final`: it never leaves."""

    initial: bool = False
    final: bool = False
    outcome: bool = False
    awaits: Source | None = None
    deadline: Deadline | None = None
    doc: str = ""


@attrs.frozen
class Event:
    """One event and who says it."""

    by: Source
    doc: str = ""


@attrs.frozen
class Alternative:
    """One answer of a cell: move `to` a state, or `stay` for a reason; `when` it holds, or `otherwise` (`else`)."""

    to: str | None = None
    stay: str | None = None
    when: Expression | None = None
    otherwise: bool = False
    set: Mapping[str, Expression] = attrs.field(factory=dict)


@attrs.frozen
class Cell:
    """What one state answers to one event."""

    alternatives: tuple[Alternative, ...]


@attrs.frozen
class MachineSpec:
    """One object's life."""

    machine: str
    states: Mapping[str, State]
    events: Mapping[str, Event]
    doc: str = ""
    vars: Mapping[str, Variable] = attrs.field(factory=dict)
    params: Mapping[str, Param] = attrs.field(factory=dict)
    transitions: Mapping[str, Mapping[str, Cell]] = attrs.field(factory=dict)
    anywhere: Mapping[str, Cell] = attrs.field(factory=dict)
    places: Places = attrs.field(default=Places("<memory>"), eq=False, repr=False)

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine

    @property
    def initial(self) -> str:
        """The initial state; the first state when none is marked."""
        return next((name for name, state in self.states.items() if state.initial), next(iter(self.states)))

    def cell(self, state: str, event: str) -> Cell | None:
        """What `state` answers to `event`: its own row, else `anywhere`, else None (refused)."""
        own = self.transitions.get(state, {}).get(event)
        return own if own is not None else self.anywhere.get(event)

    def cells(self) -> Iterator[tuple[str, str, Cell]]:
        """Every decided (state, event), `anywhere` filled in, in table order."""
        for state in self.states:
            for event in self.events:
                cell = self.cell(state, event)
                if cell is not None:
                    yield state, event, cell

    def written_cells(self) -> Iterator[tuple[tuple[str, ...], str, Cell]]:
        """Every cell as written: (path of its mapping, event, cell)."""
        for state, row in self.transitions.items():
            for event, cell in row.items():
                yield ("transitions", state), event, cell
        for event, cell in self.anywhere.items():
            yield ("anywhere",), event, cell


@attrs.frozen
class Part:
    """Instances of one machine in a system: one, `count` of them, or one `per` instance of another part."""

    machine: str
    count: Bound = 1
    per: str | None = None
    doc: str = ""

    @property
    def single(self) -> bool:
        """Whether it is one instance, which goes by the name of the part."""
        return self.count == 1 and self.per is None


@attrs.frozen
class Participant:
    """Who takes part in an action: a path (`j`, `j.buffer.dma`, `device`), `all PART`, or `PART where VAR == NAME`.

    For `all` and `where`, `path.root` is the part; `where` is (variable, path of the instance it must refer to).
    """

    path: Path
    every: bool = False
    where: tuple[str, Path] | None = None

    def __str__(self) -> str:
        if self.every:
            return f"all {self.path}"
        if self.where:
            return f"{self.path} where {self.where[0]} == {self.where[1]}"
        return str(self.path)


@attrs.frozen
class Action:
    """Something that moves several instances at once, or none of them."""

    by: Source
    fire: Mapping[Participant, tuple[str, ...]]
    pick: Mapping[str, str] = attrs.field(factory=dict)
    choose: Mapping[str, tuple[Bound, Bound]] = attrs.field(factory=dict)
    when: Expression | None = None
    set: Mapping[str, Expression] = attrs.field(factory=dict)
    effect: tuple[str, ...] = ()
    doc: str = ""


@attrs.frozen
class LeadsTo:
    """Whenever `source` (`from`) holds, `to` holds then or later; `each` as in an action's `pick`."""

    source: Expression
    to: Expression
    each: Mapping[str, str] = attrs.field(factory=dict)
    doc: str = ""


@attrs.frozen
class Resource:
    """Instances of `part` that others acquire and give back, one holder at a time.

    In a `free` state, or in one where it is set `aside`, nobody refers to the instance; in any other exactly one
    reference does, of those in `held_by` (variables, by the part that has them). What is not free can become free
    again without the client; where `unless` holds, that is not asked.
    """

    part: str
    free: tuple[str, ...]
    held_by: Mapping[str, tuple[str, ...]]
    aside: tuple[str, ...] = ()
    unless: Expression | None = None
    doc: str = ""


def claims(resource: str) -> dict[str, str]:
    """The properties that follow from a resource: what would break each, and its name."""
    return {
        "shared": f"{resource}_has_one_holder",
        "leaked": f"{resource}_is_not_leaked",
        "kept": f"{resource}_is_not_used_after_release",
        "stranded": f"{resource}_comes_back",
    }


@attrs.frozen
class SystemSpec:
    """Machines side by side, and the actions that move several of them at once."""

    system: str
    parts: Mapping[str, Part]
    actions: Mapping[str, Action]
    doc: str = ""
    params: Mapping[str, Param] = attrs.field(factory=dict)
    define: Mapping[str, Expression] = attrs.field(factory=dict)
    resources: Mapping[str, Resource] = attrs.field(factory=dict)
    always: Mapping[str, Expression] = attrs.field(factory=dict)
    eventually: Mapping[str, LeadsTo] = attrs.field(factory=dict)
    fair: tuple[str, ...] = ()
    strongly_fair: tuple[str, ...] = ()
    home: Expression | None = None
    places: Places = attrs.field(default=Places("<memory>"), eq=False, repr=False)

    @property
    def name(self) -> str:
        """The system's name."""
        return self.system


@attrs.frozen
class ProfileSpec:
    """The numbers of one deployment of a system.

    `params` over their serving values; `deadlines` in seconds; `scope`: the small parameters at which it is explored.
    """

    profile: str
    system: str
    doc: str = ""
    params: Mapping[str, int] = attrs.field(factory=dict)
    deadlines: Mapping[str, float] = attrs.field(factory=dict)
    scope: Mapping[str, int] = attrs.field(factory=dict)
    places: Places = attrs.field(default=Places("<memory>"), eq=False, repr=False)

    @property
    def name(self) -> str:
        """The profile's name."""
        return self.profile


Spec = MachineSpec | SystemSpec | ProfileSpec
