"""Drawing specs: every machine and system as Graphviz DOT, SVG and Mermaid, and pages that show them.

`extract` turns compiled tables into a plain `model`; `dot`, `mermaid` and `page` write it down; `svg` has DOT drawn.
Everything comes out the same on every machine, so the pictures are committed and compared.
"""

from __future__ import annotations

from collections.abc import Collection

from calfsm.compile.load import Compiled
from calfsm.render.dot import machine_dot, overview_dot
from calfsm.render.extract import diagram, overview
from calfsm.render.folder import Stale, stale_files, write_files
from calfsm.render.mermaid import machine_mermaid, overview_mermaid
from calfsm.render.page import actions_page, index_page
from calfsm.render.svg import CannotDraw, draw_svg

FORMATS = ("dot", "svg", "mermaid")
"""What can be drawn."""

__all__ = ["FORMATS", "CannotDraw", "Stale", "diagrams", "draw_svg", "stale_files", "write_files"]


def diagrams(compiled: Compiled, formats: Collection[str] = FORMATS, pages: bool = True) -> dict[str, str]:
    """File name to text of everything there is to draw, and of the `pages` that show it. Raises CannotDraw for SVG."""
    machines = [diagram(table) for table in compiled.tables.values()]
    systems = [overview(system, compiled.system_specs[name]) for name, system in compiled.systems.items()]
    files: dict[str, str] = {}
    for machine in machines:
        files |= _drawn(machine.name, machine_dot(machine), machine_mermaid(machine), formats)
    for system in systems:
        files |= _drawn(f"{system.name}.overview", overview_dot(system), overview_mermaid(system), formats)
    if pages:
        files |= {f"{system.name}.actions.md": actions_page(system) for system in systems}
        files["README.md"] = index_page(machines, systems)
    return files


def _drawn(name: str, dot: str, mermaid: str, formats: Collection[str]) -> dict[str, str]:
    files = {}
    if "dot" in formats:
        files[f"{name}.dot"] = dot
    if "svg" in formats:
        files[f"{name}.svg"] = draw_svg(dot)
    if "mermaid" in formats:
        files[f"{name}.mmd"] = mermaid
    return files
