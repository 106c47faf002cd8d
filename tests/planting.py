"""The real specs with one edit: for planting faults that must be found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import attrs

from calfsm.check import check_machine, check_system
from calfsm.compile.load import compile_specs
from calfsm.engine.system import System
from calfsm.spec.findings import Finding
from calfsm.spec.model import MachineSpec, Spec, SystemSpec
from calfsm.spec.read import read_spec_text

SPECS = Path(__file__).parent.parent / "specs"


@attrs.frozen
class Specs:
    """A system and its machines, as they are read. `given`: the name of the one that may be edited."""

    system: SystemSpec
    machines: Mapping[str, MachineSpec]
    given: str

    def findings(self) -> list[Finding]:
        """What the checks say of the system, and of the machine that may be edited."""
        machine = self.machines.get(self.given)
        return [*(check_machine(machine) if machine else []), *check_system(self.system, self.machines)]

    def compiled(self) -> System:
        """What they compile to; meant for specs of which the checks find nothing."""
        return compile_specs(self.machines, {self.system.name: self.system}).systems[self.system.name]


def planted(where: str, old: str, new: str, system: str = "executor") -> System:
    """A system of the repository with one edit, compiled; see `edited`."""
    return edited(where, old, new, system).compiled()


def edited(where: str, old: str, new: str, system: str = "executor") -> Specs:
    """The specs of a system with `old` replaced by `new` in one of their files.

    `where` is the file, or the way to a block in it: `executor.yaml/actions/wait_timeout`. There `old` must stand
    exactly once.
    """
    file, *keys = where.split("/")
    path = next(SPECS.glob(f"*/{file}"))
    text = path.read_text(encoding="utf-8")
    begin, end = block(text, keys)
    assert text.count(old, begin, end) == 1, f"{old!r} stands {text.count(old, begin, end)} times in {where}"
    return gathered(system, read(path, text[:begin] + text[begin:end].replace(old, new) + text[end:]))


def original(system: str = "executor") -> Specs:
    """The specs of a system as they lie in the repository."""
    return gathered(system, on_file(SPECS / "systems" / f"{system}.yaml"))


def gathered(system: str, given: Spec) -> Specs:
    """The specs of a system, one of them given: its own, or of one of its machines."""
    found = given if given.name == system else on_file(SPECS / "systems" / f"{system}.yaml")
    assert isinstance(found, SystemSpec)
    machines = {}
    for name in dict.fromkeys(part.machine for part in found.parts.values()):
        machine = given if given.name == name else on_file(SPECS / "machines" / f"{name}.yaml")
        assert isinstance(machine, MachineSpec)
        machines[name] = machine
    assert given.name in (system, *machines), f"{given.name} is no machine of {system}"
    return Specs(found, machines, given.name)


def block(text: str, keys: Sequence[str]) -> tuple[int, int]:
    """Where the block under some keys begins and ends: a key's line, and those below that stand deeper."""
    begin, end = 0, len(text)
    for depth, key in enumerate(keys):
        margin = "  " * depth
        blocks = re.compile(rf"^{margin}{key}:.*\n(?:{margin} .*\n|\n)*", re.MULTILINE)
        found = [match.span() for match in blocks.finditer(text, begin, end)]
        assert len(found) == 1, f"{key} stands {len(found)} times under {'/'.join(keys[:depth]) or 'the file'}"
        begin, end = found[0]
    return begin, end


@cache
def on_file(path: Path) -> Spec:
    """A spec as it lies in the repository."""
    return read(path, path.read_text(encoding="utf-8"))


def read(path: Path, text: str) -> Spec:
    """What a text says that stands, or might stand, in a file."""
    reading = read_spec_text(text, str(path))
    assert reading.spec is not None and not reading.findings, reading.findings
    return reading.spec
