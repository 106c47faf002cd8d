"""Profiles: every number is for something in the system, and nothing in the system lacks its number."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from calfsm.check.kinds import parameters
from calfsm.check.names import unknown_parameter
from calfsm.check.parts import Machines, all_known
from calfsm.check.values import bound
from calfsm.check.wording import near, owned
from calfsm.spec.findings import Finding
from calfsm.spec.model import Bound, ProfileSpec, SystemSpec
from calfsm.spec.yaml_text import DataPath

Systems = Mapping[str, SystemSpec]


def known_system(profile: ProfileSpec, systems: Collection[str]) -> Iterator[Finding]:
    """A profile is for a system that exists."""
    if profile.system not in systems:
        yield Finding(
            "unknown-system",
            profile.places.value("system"),
            f"there is no system `{profile.system}`",
            "systems are looked for in the given files and in the folder `systems` beside the profile's",
            near(profile.system, systems, f"write `systems/{profile.system}.yaml`"),
        )


def known_parameters(profile: ProfileSpec, systems: Systems, machines: Machines) -> Iterator[Finding]:
    """The parameters of a profile are parameters of the system or of its machines."""
    system = systems.get(profile.system)
    if system is None or not all_known(system, machines):
        return
    space = parameters(system, machines)
    for name in profile.params:
        if name not in space:
            yield unknown_parameter(profile.places, system.name, space, name, ("params", name), key=True)


def filled_ranges(profile: ProfileSpec, systems: Systems, machines: Machines) -> Iterator[Finding]:
    """With a profile's parameters every range still holds a value, and every part an instance."""
    system = systems.get(profile.system)
    if system is None:
        return
    space = {name: param.serves for name, param in parameters(system, machines).items()}
    given = {**space, **profile.params}
    for what, ends in _ranges(system, machines):
        lowest, highest = bound(ends[0], given), bound(ends[1], given)
        changed = [str(end) for end in ends if end in profile.params]
        if changed and lowest is not None and highest is not None and lowest > highest:
            yield Finding(
                "empty-domain",
                profile.places.value("params", changed[0]),
                f"{what} has no value when `{changed[0]}` is {profile.params[changed[0]]}",
                f"its values would run from {lowest} to {highest}",
                f"give `{changed[0]}` a value that leaves one",
            )


def _ranges(system: SystemSpec, machines: Machines) -> Iterator[tuple[str, tuple[Bound, Bound]]]:
    for name, part in system.parts.items():
        yield f"the part `{name}`", (1, part.count)
        machine = machines.get(part.machine)
        for variable, declared in machine.vars.items() if machine is not None else ():
            if declared.integer is not None:
                yield f"`{variable}` of {part.machine}", declared.integer
            if declared.cycle is not None:
                yield f"`{variable}` of {part.machine}", (1, declared.cycle)
    for name, action in system.actions.items():
        for chosen, ends in action.choose.items():
            yield f"`{chosen}` of `{name}`", ends


def deadlines_match(profile: ProfileSpec, systems: Systems, machines: Machines) -> Iterator[Finding]:
    """A profile gives a time for each deadline of the system, and for nothing else."""
    system = systems.get(profile.system)
    if system is None or not all_known(system, machines):
        return
    needed = deadlines_of(system, machines)
    for name in profile.deadlines:
        if name not in needed:
            yield Finding(
                "unknown-deadline",
                profile.places.key("deadlines", name),
                f"{system.name} has no deadline `{name}`",
                owned(system.name, "deadlines", needed),
                near(name, needed, "remove it"),
            )
    for name, wait in needed.items():
        if name not in profile.deadlines:
            place = profile.places.key(*_section(profile, "deadlines"))
            message = f"the profile does not say how long `{name}` is"
            yield Finding("missing-deadline", place, message, wait, f"write `{name}: <seconds>` under `deadlines`")


def _section(profile: ProfileSpec, name: str) -> DataPath:
    return (name,) if (name,) in profile.places.keys else ("profile",)


def deadlines_of(system: SystemSpec, machines: Machines) -> dict[str, str]:
    """The durations that a system needs, each with the first wait that needs it."""
    needed: dict[str, str] = {}
    for part in system.parts.values():
        machine = machines.get(part.machine)
        for name, state in machine.states.items() if machine is not None else ():
            if state.deadline is not None:
                needed.setdefault(state.deadline.after, f"it ends the wait of {part.machine} in `{name}`")
    return needed


def lasting_deadlines(profile: ProfileSpec, systems: Systems, machines: Machines) -> Iterator[Finding]:
    """A deadline lasts."""
    for name, seconds in profile.deadlines.items():
        if not 0 < seconds < float("inf"):
            yield Finding(
                "bad-duration",
                profile.places.value("deadlines", name),
                f"`{name}` lasts {seconds:g} seconds",
                "a deadline is a positive number of seconds: at 0 it would be over before anyone could answer",
                f"write how long to wait: `{name}: 2.0`",
            )


RULES = (known_parameters, filled_ranges, deadlines_match, lasting_deadlines)
