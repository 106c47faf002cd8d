"""Where the parts of a cell stand, in whichever of its three forms it is written."""

from __future__ import annotations

from collections.abc import Iterator

from calfsm.spec.model import Alternative, MachineSpec
from calfsm.spec.yaml_text import DataPath, Key, Places


def alternatives(spec: MachineSpec) -> Iterator[tuple[DataPath, str, Alternative]]:
    """Every alternative as written: (path of the alternative, event, alternative)."""
    for path, event, cell in spec.written_cells():
        for i, alternative in enumerate(cell.alternatives):
            yield alternative_path(spec.places, (*path, event), i), event, alternative


def alternative_path(places: Places, cell: DataPath, index: int) -> DataPath:
    """The path of an alternative: the cell's own, unless the cell is a list."""
    return (*cell, index) if (*cell, index) in places.values else cell


def part_of(places: Places, alternative: DataPath, *steps: Key) -> DataPath:
    """The path of a key of an alternative; the alternative's own in the short form, which has no keys."""
    path = (*alternative, *steps)
    return path if path in places.values else alternative


def row_of(path: DataPath) -> str:
    """How one names where a cell stands: "`free`" or "`anywhere`"."""
    return f"`{path[1]}`" if path[0] == "transitions" else "`anywhere`"
