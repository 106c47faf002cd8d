"""Ownership in single actions: who takes a resource refers to it from then on, and who gives it back no longer.

An action happens whole, so that some mistakes can be seen in it alone, whatever went before. What depends on that is
left to exploring.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from calfsm.check.actions import answers, is_many, participants, possible_states, run
from calfsm.check.kinds import SystemScope, Unclear
from calfsm.check.parts import Machines, local_names
from calfsm.check.resources import Owned, sound
from calfsm.check.wording import quoted
from calfsm.spec.expressions import Compare, Expression, Path, Within, conjuncts
from calfsm.spec.findings import Finding, Severity
from calfsm.spec.model import Action, MachineSpec, Participant, SystemSpec
from calfsm.spec.yaml_text import DataPath

NONE = Path("none")


@attrs.frozen
class Written:
    """A place where a holder's reference is written. `sure`: it surely is, and surely referred to something before."""

    path: DataPath
    text: str
    value: Expression
    sure: bool

    @property
    def empties(self) -> bool:
        """Whether the reference is empty afterwards."""
        return self.value == NONE


@attrs.frozen
class Moved:
    """What an action can do to instances of a resource by one participant: states, and where each may lead.

    `held`: the participant is what the reference of a holder leads to.
    """

    participant: Participant
    held: bool
    ways: tuple[tuple[str, frozenset[str]], ...]


@attrs.frozen
class Handling:
    """All that an action does about one resource."""

    owned: Owned
    action: str
    written: list[Written]
    moved: list[Moved]

    def can_give(self) -> bool:
        """Whether it may take an instance from out to free or aside."""
        ways = (way for moved in self.moved for way in moved.ways)
        return any(state not in self.owned.back and after & self.owned.back for state, after in ways)

    def can_take(self) -> bool:
        """Whether it may take an instance from free to out."""
        ways = (way for moved in self.moved for way in moved.ways)
        return any(state in self.owned.resource.free and after - self.owned.back for state, after in ways)


def handled(system: SystemSpec, machines: Machines) -> Iterator[Handling]:
    """What each action does about each resource, as far as all in it is known."""
    for owned in sound(system, machines):
        for name, action in system.actions.items():
            fired = list(participants(system, machines, action))
            involved = [machines.get(system.parts[part].machine) for _, _, part in fired]
            known = all(
                m is not None and set(e) <= m.events.keys() for m, (_, e, _) in zip(involved, fired, strict=True)
            )
            if len(fired) == len(action.fire) and known:
                yield _handling(system, machines, owned, name, action)


def _handling(system: SystemSpec, machines: Machines, owned: Owned, name: str, action: Action) -> Handling:
    scope = SystemScope(system, machines, local_names(action))
    written, moved = list(_set(scope, owned, name, action)), []
    for participant, events, part in participants(system, machines, action):
        machine = machines[system.parts[part].machine]
        for variable in owned.resource.held_by.get(part, ()):
            written += _by_cells(system, name, participant, machine, events, variable)
        if part == owned.resource.part:
            states = possible_states(system, action, participant, machine)
            ways = [(state, frozenset(run(machine, [state], events)[0])) for state in states]
            moved.append(Moved(participant, _held(scope, owned, participant), tuple(way for way in ways if way[1])))
    return Handling(owned, name, written, moved)


def _held(scope: SystemScope, owned: Owned, participant: Participant) -> bool:
    path = participant.path
    if is_many(participant) or not path.fields:
        return False
    return owned.holds(scope.resolve(Path(path.root, path.fields[:-1])).part, path.fields[-1])


def _set(scope: SystemScope, owned: Owned, name: str, action: Action) -> Iterator[Written]:
    """Holders' references in the `set` of an action."""
    for target, value in action.set.items():
        root, *fields = target.split(".")
        try:
            part = scope.resolve(Path(root, tuple(fields[:-1]))).part
        except Unclear:
            continue
        if fields and owned.holds(part, fields[-1]):
            sure = _refers(action, Path(root, tuple(fields)))
            yield Written(("actions", name, "set", target), target, value, sure)


def _by_cells(
    system: SystemSpec,
    name: str,
    participant: Participant,
    machine: MachineSpec,
    events: tuple[str, ...],
    variable: str,
) -> Iterator[Written]:
    """A holder's reference in the cells that a participant answers by."""
    action, path = system.actions[name], participant.path
    possible = answers(system, action, participant, machine, events)
    writing = [answer for answer in possible if variable in answer.set]
    asked = Compare("!=", Path(variable), NONE)
    sure = len(writing) == len(possible) and (
        all(asked in conjuncts(answer.when) for answer in writing)
        or (participant.where is not None and participant.where[0] == variable)
        or (not is_many(participant) and _refers(action, Path(path.root, (*path.fields, variable))))
    )
    text = f"{variable} of {participant}" if is_many(participant) else f"{path}.{variable}"
    for value in {str(answer.set[variable]): answer.set[variable] for answer in writing}.values():
        yield Written(("actions", name, "fire", str(participant)), text, value, sure)


def _refers(action: Action, reference: Path) -> bool:
    """Whether a reference is surely not empty when an action happens: it is asked so, or looked through."""
    for condition in conjuncts(action.when):
        match condition:
            case Compare(op="!=", left=left, right=right) if {left, right} == {reference, NONE}:
                return True
            case Within(subject=subject, negated=False) if _leads(reference, subject):
                return True
    return any(not is_many(fired) and _leads(reference, fired.path) for fired in action.fire)


def _leads(reference: Path, path: Path) -> bool:
    """Whether a path is a reference, or looks through it."""
    return path.root == reference.root and path.fields[: len(reference.fields)] == reference.fields


# ---- rules


def given_back(system: SystemSpec, handling: Handling) -> Iterator[Finding]:
    """Who lets a resource go gives it back, or hands it to another holder."""
    of = handling.owned
    if handling.can_give() or not all(one.empties for one in handling.written):
        return
    for one in handling.written:
        otherwise = "" if one.sure else "; or leave the update out, if the reference is empty by then"
        yield Finding(
            "leak",
            system.places.key(*one.path),
            f"`{handling.action}` empties `{one.text}`, and gives no {of.name} back",
            f"what it referred to stays out, and nobody holds it; it would be back in {quoted(sorted(of.back))}",
            f"fire an event that gives it back{otherwise}",
            Severity.ERROR if one.sure else Severity.WARNING,
        )


def taken_for_somebody(system: SystemSpec, handling: Handling) -> Iterator[Finding]:
    """Who takes a resource refers to it from then on."""
    of = handling.owned
    if any(not one.empties for one in handling.written) or len(handling.moved) != 1:
        return
    (moved,) = handling.moved
    if moved.ways and all(state in of.back and after.isdisjoint(of.back) for state, after in moved.ways):
        holders = [f"{part}.{name}" for part, names in of.resource.held_by.items() for name in names]
        yield Finding(
            "leak",
            system.places.key("actions", handling.action, "fire", str(moved.participant)),
            f"`{handling.action}` takes a {of.name}, and nobody refers to it afterwards",
            f"it is held by {quoted(holders)}",
            "let its holder refer to it: `set: {HOLDER.REFERENCE: INSTANCE}`",
        )


def let_go(system: SystemSpec, handling: Handling) -> Iterator[Finding]:
    """Who gives a resource back no longer refers to it."""
    of = handling.owned
    if handling.written or len(handling.moved) != 1 or not handling.moved[0].held:
        return
    (moved,) = handling.moved
    ways = [after for state, after in moved.ways if state in of.out]
    if ways and all(after <= of.back for after in ways):
        path = moved.participant.path
        yield Finding(
            "use-after-release",
            system.places.key("actions", handling.action, "fire", str(path)),
            f"`{handling.action}` gives `{path}` back, and its holder goes on referring to it",
            f"whoever acquires the {of.name} next would share it",
            f"empty the reference: `set: {{{path}: none}}`, or in a cell that the action fires",
        )


def acquired(system: SystemSpec, handling: Handling) -> Iterator[Finding]:
    """Who begins to refer to a resource acquires it, or has it from its holder."""
    of = handling.owned
    if handling.can_take() or any(one.empties for one in handling.written):
        return
    for one in handling.written:
        if str(one.value) in system.actions[handling.action].pick:
            yield Finding(
                "not-acquired",
                system.places.key(*one.path),
                f"`{handling.action}` lets `{one.text}` refer to `{one.value}`, and does not acquire it",
                f"a {of.name} is acquired in {of.free}; if it is out, it has a holder already",
                f"fire an event on `{one.value}` that takes it, or empty the reference of its holder",
            )


def balanced(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """What each action does about each resource adds up."""
    for handling in handled(system, machines):
        for rule in (given_back, taken_for_somebody, let_go, acquired):
            yield from rule(system, handling)


def acquired_somewhere(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Some action acquires each resource."""
    handlings = list(handled(system, machines))
    for name in system.resources:
        of_it = [handling for handling in handlings if handling.owned.name == name]
        if len(of_it) == len(system.actions) and all(one.empties for handling in of_it for one in handling.written):
            yield Finding(
                "never-acquired",
                system.places.key("resources", name),
                f"no action of {system.name} acquires a {name}",
                "no reference that could hold one is ever set to an instance, so there is nothing to judge",
                "write the action, or remove the resource",
                Severity.WARNING,
            )


RULES = (balanced, acquired_somewhere)
