"""From spec files to compiled machines and systems, in one call; nothing is compiled that did not pass its checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import attrs

from calfsm.check import check_files
from calfsm.compile.machines import compile_machine
from calfsm.compile.systems import compile_system
from calfsm.engine.system import Profile, System
from calfsm.engine.table import Table
from calfsm.spec.findings import Finding, Severity
from calfsm.spec.model import MachineSpec, ProfileSpec, Spec, SystemSpec


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


def load(paths: Iterable[Path] | Path | str) -> Compiled:
    """Read, check and compile spec files, a folder standing for all in it.

    Raises SpecErrors when a check fails; a file that cannot be opened is a finding too.
    """
    result = check_files([Path(paths)] if isinstance(paths, str | Path) else list(paths))
    findings = [*result.findings, *_one_module_each(result.machines, result.systems, result.profiles)]
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise SpecErrors(findings)
    return compile_specs(result.machines, result.systems, result.profiles, result.findings)


def _one_module_each(
    machines: Mapping[str, MachineSpec], systems: Mapping[str, SystemSpec], profiles: Mapping[str, ProfileSpec]
) -> Iterator[Finding]:
    """Machines, systems and profiles become modules side by side, so that no two of them may share a name."""
    seen: dict[str, Spec] = {}
    specs: list[Spec] = [*machines.values(), *systems.values(), *profiles.values()]
    for spec in specs:
        module = module_name(spec.name)
        other = seen.setdefault(module, spec)
        if other is not spec:
            message = f"{_kind(spec)} {spec.name} and {_kind(other)} {other.name} would both be the module `{module}`"
            because = f"{other.name} is defined in {other.places.file}"
            place = spec.places.value(_kind(spec))
            yield Finding("defined-twice", place, message, because, "rename one of them")


def module_name(name: str) -> str:
    """The module of a machine, system or profile. A profile may be called `phase-a`; a module may not."""
    return name.replace("-", "_")


def _kind(spec: Spec) -> str:
    match spec:
        case MachineSpec():
            return "machine"
        case SystemSpec():
            return "system"
    return "profile"


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
