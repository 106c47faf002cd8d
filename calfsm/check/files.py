"""Checking files: reading all of them, bringing in what they name, and judging everything together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import attrs

from calfsm.check.names import twice
from calfsm.check.parts import said_in, unused
from calfsm.check.rules import check_machine, check_profile, check_system
from calfsm.check.values import names_in
from calfsm.check.written import alternatives
from calfsm.spec.findings import Finding, Place, Severity, in_file_order
from calfsm.spec.model import MachineSpec, ProfileSpec, Spec, SystemSpec
from calfsm.spec.read import KINDS, Reading, structure
from calfsm.spec.yaml_text import read_file

_S = TypeVar("_S", bound=Spec)

FOLDERS = {"machine": "machines", "system": "systems"}
"""Where a file's neighbours of a kind are looked for: in this folder, beside the file or beside its folder."""
EXAMPLES = "examples"
"""A folder of this name is passed over in the folder around it: what it holds is shown, neither served nor drawn."""


@attrs.frozen
class CheckResult:
    """What checking found, and the specs by name. A spec with errors is among them if it could be read at all."""

    findings: tuple[Finding, ...]
    machines: Mapping[str, MachineSpec]
    systems: Mapping[str, SystemSpec]
    profiles: Mapping[str, ProfileSpec]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that fail the check."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    @property
    def ok(self) -> bool:
        """Whether nothing fails the check; there may be warnings."""
        return not self.errors


def check_files(paths: Iterable[Path | str]) -> CheckResult:
    """Read and judge spec files; a folder stands for all `*.yaml` in it, but for those in a folder of EXAMPLES.

    Never raises: what is wrong is a finding. The machines that a system names, and the system that a profile names, are
    looked for among the files, and then in the folders `machines` and `systems` beside them; what is brought in this
    way is judged as well.
    """
    desk = _Desk()
    for path in _unfolded(paths):
        desk.read(path)
    desk.bring_in()
    return desk.judge()


def _unfolded(paths: Iterable[Path | str]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            yield from (p for p in sorted(path.rglob("*.yaml")) if EXAMPLES not in p.relative_to(path).parts[:-1])
        else:
            yield path


@attrs.frozen
class _File:
    """A file that was read. `kind` and `name` are what it says it is, even when the rest of it is wrong."""

    reading: Reading
    kind: str
    name: str

    def may_be(self, kind: str) -> bool:
        """Whether it is of a kind, or too broken to tell."""
        return self.kind in (kind, "")


def _read(path: Path) -> _File:
    try:
        document = read_file(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        finding = Finding("unreadable", Place(str(path)), f"the file cannot be read: {reason}", "", "check its name")
        return _File(Reading(str(path), None, (finding,)), "", path.stem)
    data = document.data if isinstance(document.data, dict) else {}
    kind = next((kind for kind in KINDS if kind in data), "")
    name = data.get(kind, path.stem)
    return _File(structure(document), kind, name if isinstance(name, str) else path.stem)


class _Desk:
    """The files read so far, in the order in which they came."""

    def __init__(self) -> None:
        self._files: dict[Path, _File] = {}
        self._given: set[Path] = set()
        self._passed: set[tuple[str, str]] = set()
        """Kind and name of the neighbours that were looked at and not needed."""

    def read(self, path: Path) -> None:
        """Read a file, unless it was read before."""
        where = _resolved(path)
        self._given.add(where)
        if where not in self._files:
            self._files[where] = _read(path)

    def bring_in(self) -> None:
        """Look beside the profiles for their systems, then beside the systems for their machines."""
        for profile in self._specs(ProfileSpec):
            self._look_for({profile.system}, "system", Path(profile.places.file))
        for system in self._specs(SystemSpec):
            self._look_for({part.machine for part in system.parts.values()}, "machine", Path(system.places.file))

    def _look_for(self, names: set[str], kind: str, beside: Path) -> None:
        missing = names - {file.name for file in self._files.values() if file.may_be(kind)}
        for folder in dict.fromkeys((beside.parent / FOLDERS[kind], beside.parent.parent / FOLDERS[kind])):
            for path in sorted(folder.glob("*.yaml")) if missing else ():
                where = _resolved(path)
                found = _read(path) if where not in self._files else None
                if found is not None and found.name in missing and found.may_be(kind):
                    self._files[where] = found
                    missing.discard(found.name)
                elif found is not None:
                    self._passed.add((found.kind, found.name))

    def _specs(self, kind: type[_S]) -> list[_S]:
        return [file.reading.spec for file in self._files.values() if isinstance(file.reading.spec, kind)]

    def _others(self, kind: str) -> list[str]:
        """The names of specs that exist and could not be read, or were not needed."""
        unread = [file.name for file in self._files.values() if file.reading.spec is None and file.may_be(kind)]
        return unread + sorted(name for its_kind, name in self._passed if its_kind == kind)

    def judge(self) -> CheckResult:
        """Judge all that was read."""
        findings = [finding for file in self._files.values() for finding in file.reading.findings]
        machines, systems, profiles = self._specs(MachineSpec), self._specs(SystemSpec), self._specs(ProfileSpec)
        by_name = _by_name(machines)
        findings += [*_named_twice(machines), *_named_twice(systems), *_named_twice(profiles)]
        for machine in machines:
            findings += check_machine(machine)
        for system in systems:
            findings += check_system(system, by_name, self._others("machine"))
        for profile in profiles:
            findings += check_profile(profile, _by_name(systems), by_name, self._others("system"))
        given = {file.name for where, file in self._files.items() if where in self._given}
        findings += _unused_in_machines([machine for machine in machines if machine.name in given], systems)
        return CheckResult(tuple(in_file_order(findings)), by_name, _by_name(systems), _by_name(profiles))


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # a name that no file can have, or links in a ring
        return path


def _by_name(specs: Iterable[_S]) -> dict[str, _S]:
    """Specs by their names; of several with one name the first."""
    found: dict[str, _S] = {}
    for spec in specs:
        found.setdefault(spec.name, spec)
    return found


def _named_twice(specs: Iterable[Spec]) -> Iterator[Finding]:
    first: dict[str, Spec] = {}
    for spec in specs:
        other = first.setdefault(spec.name, spec)
        if other is not spec:
            kind = next(kind for kind, cls in KINDS.items() if isinstance(spec, cls))
            because = f"the other stands in {other.places.value(kind)}"
            yield twice(spec.places, (kind,), f"there are two {kind}s called `{spec.name}`", because, value=True)


def _unused_in_machines(machines: Iterable[MachineSpec], systems: Sequence[SystemSpec]) -> Iterator[Finding]:
    """Variables and parameters of machines that are used in a system, and that neither it nor the machine mentions.

    Machines that were brought in are not asked: other systems, which are not here, may use what this one does not.
    """
    for machine in machines:
        users = [system for system in systems if any(p.machine == machine.name for p in system.parts.values())]
        if not users:
            continue
        said = _said_by(machine).union(*map(said_in, users))
        for section, what in (("vars", "variable"), ("params", "parameter")):
            for name in getattr(machine, section):
                if name not in said:
                    yield unused(machine, (section, name), f"the {what} `{name}` of {machine.name}")


def _said_by(machine: MachineSpec) -> set[str]:
    """Every name that a machine says in guards, updates and bounds."""
    said: set[str] = set()
    for _, _, alternative in alternatives(machine):
        said.update(alternative.set)
        for expression in (*([alternative.when] if alternative.when is not None else []), *alternative.set.values()):
            said.update(names_in(expression))
    for variable in machine.vars.values():
        said.update(str(end) for end in (*(variable.integer or ()), variable.cycle, variable.initial))
    return said
