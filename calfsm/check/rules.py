"""All rules, and the three ways to apply them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from calfsm.check import actions, choice, decisions, names, ownership, parts, profiles, reach, resources
from calfsm.spec.findings import Finding, in_file_order
from calfsm.spec.model import MachineSpec, ProfileSpec, SystemSpec

MACHINE_RULES = (*names.RULES, *choice.RULES, *reach.RULES, *decisions.RULES)
SYSTEM_RULES = (*parts.RULES, *actions.RULES, *resources.RULES, *ownership.RULES)
PROFILE_RULES = profiles.RULES


MOST_CELLS = 100_000
"""A machine whose states and events have more pairs than these is not judged."""


def check_machine(spec: MachineSpec) -> list[Finding]:
    """Everything wrong with a machine by itself, in file order."""
    cells = len(spec.states) * len(spec.events)
    if cells > MOST_CELLS:
        message = f"{spec.name} has {len(spec.states):,} states and {len(spec.events):,} events"
        because = f"a table of more than {MOST_CELLS:,} cells is not read by people, and is not judged"
        return [Finding("too-large", spec.places.value("machine"), message, because, "split it into several machines")]
    return in_file_order(finding for rule in MACHINE_RULES for finding in rule(spec))


def check_system(
    system: SystemSpec, machines: Mapping[str, MachineSpec], others: Collection[str] = ()
) -> list[Finding]:
    """Everything wrong with a system, in file order.

    `machines` are by name; they are not judged themselves. `others` names machines that exist and are not among them:
    they are not called unknown, and what they would tell is passed over.
    """
    findings = [finding for rule in SYSTEM_RULES for finding in rule(system, machines)]
    return in_file_order([*parts.known_machines(system, {**machines, **dict.fromkeys(others)}), *findings])


def check_profile(
    profile: ProfileSpec,
    systems: Mapping[str, SystemSpec],
    machines: Mapping[str, MachineSpec],
    others: Collection[str] = (),
) -> list[Finding]:
    """Everything wrong with a profile, in file order.

    `systems` and `machines` are by name. `others` names systems that exist and are not among them.
    """
    findings = [finding for rule in PROFILE_RULES for finding in rule(profile, systems, machines)]
    return in_file_order([*profiles.known_system(profile, {**systems, **dict.fromkeys(others)}), *findings])
