"""The real specs with one edit: for planting faults that must be found."""

from __future__ import annotations

from pathlib import Path

from calfsm.compile.load import compile_specs
from calfsm.engine.system import System
from calfsm.spec.model import MachineSpec, SystemSpec
from calfsm.spec.read import read_spec_text

SPECS = Path(__file__).parent.parent / "specs"


def planted(file: str, old: str, new: str) -> System:
    """The executor system with `old` (which must stand there exactly once) replaced by `new` in one spec file."""
    machines: dict[str, MachineSpec] = {}
    systems: dict[str, SystemSpec] = {}
    for path in sorted(SPECS.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if path.name == file:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
            text = text.replace(old, new)
        reading = read_spec_text(text, str(path))
        assert not reading.findings
        if isinstance(reading.spec, MachineSpec):
            machines[reading.spec.name] = reading.spec
        elif isinstance(reading.spec, SystemSpec):
            systems[reading.spec.name] = reading.spec
    return compile_specs(machines, systems).systems["executor"]
