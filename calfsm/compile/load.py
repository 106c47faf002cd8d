"""From spec files to compiled machines and systems, in one call; nothing is compiled that did not pass its checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from calfsm.check import check_files
from calfsm.compile.machines import compile_machine
from calfsm.compile.systems import compile_system
from calfsm.engine.system import Profile, System
from calfsm.engine.table import Table
from calfsm.spec.findings import Finding, Severity
from calfsm.spec.model import MachineSpec, ProfileSpec, SystemSpec


class SpecErrors(Exception):
    """The specs did not pass their checks. `findings` has all of them, warnings included."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(map(str, self.findings)))


@attrs.frozen
class Compiled:
    """A set of specs and what they compile to, by name."""

    machine_specs: Mapping[str, MachineSpec]
    system_specs: Mapping[str, SystemSpec]
    profile_specs: Mapping[str, ProfileSpec]
    tables: Mapping[str, Table]
    systems: Mapping[str, System]
    profiles: Mapping[str, Profile]
    findings: tuple[Finding, ...] = ()


def load(paths: Iterable[Path]) -> Compiled:
    """Read, check and compile spec files. Raises SpecErrors when a check fails, OSError when a file cannot be opened."""
    result = check_files(list(paths))
    if any(finding.severity is Severity.ERROR for finding in result.findings):
        raise SpecErrors(result.findings)
    return compile_specs(result.machines, result.systems, result.profiles, result.findings)


def compile_profile(spec: ProfileSpec) -> Profile:
    """The profile of a spec that passed its checks."""
    return Profile(spec.name, spec.system, spec.doc, dict(spec.params), dict(spec.deadlines), dict(spec.scope))


def compile_specs(
    machines: Mapping[str, MachineSpec],
    systems: Mapping[str, SystemSpec],
    profiles: Mapping[str, ProfileSpec] | None = None,
    findings: Iterable[Finding] = (),
) -> Compiled:
    """Compile specs that passed their checks."""
    tables = {name: compile_machine(spec) for name, spec in machines.items()}
    return Compiled(
        machines,
        systems,
        profiles or {},
        tables,
        {name: compile_system(spec, tables) for name, spec in systems.items()},
        {name: compile_profile(spec) for name, spec in (profiles or {}).items()},
        tuple(findings),
    )
