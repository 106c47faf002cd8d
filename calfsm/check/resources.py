"""The resources of a system, and the machines behind them: what is out can be given back, and is given back once.

What the actions of a system do to a resource is judged in `ownership`.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from calfsm.check.kinds import Problem, unknown_part, unknown_reference
from calfsm.check.names import twice
from calfsm.check.parts import Machines
from calfsm.check.reach import answering, moves, reached
from calfsm.check.wording import near, quoted
from calfsm.check.written import alternatives, part_of
from calfsm.spec.findings import Finding, Severity, listed
from calfsm.spec.model import Alternative, MachineSpec, Resource, Source, SystemSpec, claims
from calfsm.spec.yaml_text import DataPath


@attrs.frozen
class Owned:
    """A resource of which every name is known. `machine` is the one whose states are free, aside, or out."""

    name: str
    resource: Resource
    machine: MachineSpec

    @property
    def back(self) -> frozenset[str]:
        """The states in which nobody holds an instance."""
        return frozenset((*self.resource.free, *self.resource.aside))

    @property
    def out(self) -> list[str]:
        """The states in which somebody holds it."""
        return [state for state in self.machine.states if state not in self.back]

    @property
    def free(self) -> str:
        """The free states, as one says them."""
        return listed((f"`{state}`" for state in self.resource.free), "or")

    def holds(self, part: str, variable: str) -> bool:
        """Whether a variable of a part's instances is a reference of a holder."""
        return variable in self.resource.held_by.get(part, ())


def sound(system: SystemSpec, machines: Machines) -> Iterator[Owned]:
    """The resources of which every name is known."""
    for name, resource in system.resources.items():
        part = system.parts.get(resource.part)
        machine = machines.get(part.machine) if part is not None else None
        if machine is not None and not any(_misnamed(system, machines, name, resource)):
            yield Owned(name, resource, machine)


def known_names(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Resources name parts, states and references that exist, each once."""
    for name, resource in system.resources.items():
        yield from _misnamed(system, machines, name, resource)


def _misnamed(system: SystemSpec, machines: Machines, name: str, resource: Resource) -> Iterator[Finding]:
    path = ("resources", name)
    part = system.parts.get(resource.part)
    if part is None:
        yield _at(system, (*path, "part"), unknown_part(resource.part, system))
    elif part.machine in machines:
        yield from _misnamed_states(system, machines[part.machine], path, resource)
    for holder, variables in resource.held_by.items():
        if holder not in system.parts:
            yield _at(system, (*path, "held_by", holder), unknown_part(holder, system), key=True)
        elif system.parts[holder].machine in machines:
            machine = machines[system.parts[holder].machine]
            yield from _misnamed_references(system, machine, (*path, "held_by", holder), variables, resource.part)


def _misnamed_states(system: SystemSpec, machine: MachineSpec, path: DataPath, resource: Resource) -> Iterator[Finding]:
    seen: set[str] = set()
    for key, states in (("free", resource.free), ("aside", resource.aside)):
        for i, state in enumerate(states):
            if state not in machine.states:
                message = f"{machine.name} has no state `{state}`"
                fix = near(state, machine.states, "name one of these")
                because = f"its states are {listed(machine.states)}"
                yield _at(system, (*path, key, i), Problem("unknown-state", 0, message, because, fix))
            elif state in seen:
                message = f"`{state}` is named twice"
                yield _again(system, (*path, key, i), message, "a state is free, or aside, or neither")
            seen.add(state)


def _misnamed_references(
    system: SystemSpec, machine: MachineSpec, path: DataPath, variables: tuple[str, ...], part: str
) -> Iterator[Finding]:
    for i, variable in enumerate(variables):
        declared = machine.vars.get(variable)
        if declared is None or declared.ref is None:
            yield _at(system, (*path, i), unknown_reference(variable, machine))
        elif declared.ref != part and part in system.parts:
            message = f"`{variable}` of {machine.name} refers into {declared.ref}, and the resource is of {part}"
            yield _at(system, (*path, i), Problem("wrong-kind", 0, message, "", f"name a reference into {part}"))
        elif variable in variables[:i]:
            yield _again(system, (*path, i), f"`{variable}` is named twice", "each holder's reference counts once")


def _again(system: SystemSpec, path: DataPath, message: str, because: str) -> Finding:
    return Finding("defined-twice", system.places.value(*path), message, because, "leave one of them out")


def _at(system: SystemSpec, path: DataPath, problem: Problem, key: bool = False) -> Finding:
    place = system.places.key(*path) if key else system.places.value(*path)
    return Finding(problem.code, place, problem.message, problem.because, problem.fix)


def named_once(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """No other property has the name of one that follows from a resource."""
    for name in system.resources:
        for section in ("always", "eventually"):
            for claim in set(claims(name).values()) & getattr(system, section).keys():
                message = f"`{claim}` follows from the resource `{name}`"
                because = "it is judged without being written"
                yield twice(system.places, (section, claim), message, because)


# ---- the machine of a resource


def begins_unheld(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """An instance begins where nobody holds it: at first every reference is empty."""
    for owned in sound(system, machines):
        initial = owned.machine.initial
        if initial not in owned.back:
            yield Finding(
                "leak",
                system.places.value("resources", owned.name, "free"),
                f"each {owned.name} is leaked from the start: it begins in `{initial}`, and nobody holds it",
                "every reference is empty at first",
                f"name `{initial}` in `free` or in `aside`, or begin in {owned.free}",
            )


def ways_back(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """From every state some path of the machine leads to a free one. Where `unless` excuses it, that is explored."""
    for owned in sound(system, machines):
        if owned.resource.unless is not None:
            continue
        ways = moves(owned.machine)
        for state in reached(ways, [owned.machine.initial]):
            if not reached(ways, [state]).intersection(owned.resource.free):
                yield Finding(
                    "no-way-back",
                    owned.machine.places.key("states", state),
                    f"no path of {owned.machine.name} leads from `{state}` back to {owned.free}",
                    f"{owned.name} can become free again from every state",
                    f"write a cell that leads back, or name `{state}` in `free` if it is given back there",
                )


def freed_before_acquired(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """What is set aside becomes free before it is acquired."""
    for owned in sound(system, machines):
        machine = owned.machine
        for path, event, alternative, state in _answers(machine):
            if state in owned.resource.aside and alternative.to in owned.out:
                yield Finding(
                    "acquired-aside",
                    machine.places.value(*part_of(machine.places, path, "to")),
                    f"`{event}` takes {machine.name} from `{state}`, where it is set aside, to `{alternative.to}`",
                    f"{owned.name} is acquired in {owned.free} only",
                    f"move it to {owned.free} first, or name `{state}` in `free`",
                )


def released_once(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """An event by which we give something back is refused where it is back already."""
    for owned in sound(system, machines):
        machine, releases = owned.machine, _releases(owned, Source.ENGINE)
        for path, event, alternative in alternatives(machine):
            again = [s for s in answering(machine, path, event) if s in owned.back and alternative.to in (None, s)]
            if event in releases and again:
                yield Finding(
                    "double-release",
                    machine.places.key(*path),
                    f"`{event}` gives {owned.name} back, and is taken once more in {quoted(again)}",
                    "a second release by mistake is not seen then; what an engine event does not decide is refused",
                    f"leave `{event}` out where it is back already",
                    Severity.WARNING,
                )


def resets_reach_all(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """A reset that takes an instance back from one state does so from every state, or says in its row why not."""
    for owned in sound(system, machines):
        machine = owned.machine
        for event, states in _releases(owned, Source.RECOVERY).items():
            for state in owned.out:
                cell = machine.cell(state, event)
                if event in machine.transitions.get(state, {}) or cell is None:
                    continue
                if all(answer.to in owned.back for answer in cell.alternatives):
                    continue
                yield Finding(
                    "survives-reset",
                    machine.places.key(
                        *(("transitions", state) if state in machine.transitions else ("states", state))
                    ),
                    f"`{event}` takes {owned.name} back from {quoted(states)}, and leaves it out in `{state}`",
                    f"`{state}` leaves `{event}` to `anywhere`, which speaks for states in which nothing is out",
                    f"write what `{event}` does in the row of `{state}`, if only `{event}: {{stay: <who goes on>}}`",
                )


def _releases(owned: Owned, by: Source) -> dict[str, list[str]]:
    """The events of a source that give an instance back, and from where."""
    found: dict[str, list[str]] = {}
    for _, event, alternative, state in _answers(owned.machine):
        declared = owned.machine.events.get(event)
        if declared is not None and declared.by is by and state in owned.out and alternative.to in owned.back:
            found.setdefault(event, [])
            if state not in found[event]:
                found[event].append(state)
    return found


def _answers(machine: MachineSpec) -> Iterator[tuple[DataPath, str, Alternative, str]]:
    """Every alternative in every state that it answers for."""
    for path, event, alternative in alternatives(machine):
        for state in answering(machine, path, event):
            yield path, event, alternative, state


RULES = (
    known_names,
    named_once,
    begins_unheld,
    ways_back,
    freed_before_acquired,
    released_once,
    resets_reach_all,
)
