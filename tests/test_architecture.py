"""The layout is the architecture: imports point one way, and what serves stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

MAY_IMPORT = {
    "spec": set(),
    "check": {"spec"},
    "engine": set(),
    "tables": {"engine"},
    "compile": {"spec", "check", "engine"},
    "explore": {"engine"},
    "serving": {"engine", "tables"},
    "paths": {"engine", "explore", "serving"},
    "render": {"engine", "compile", "spec", "explore"},
    "export": {"engine"},
    "cli": {"spec", "check", "engine", "tables", "compile", "explore", "serving", "paths", "render", "export"},
}
"""Which rooms a room may import, beside itself."""


def imports_of(path: Path) -> set[str]:
    """Every module that a file imports, type-only and local imports included."""
    found: set[str] = set()
    package = ".".join(path.relative_to(ROOT).with_suffix("").parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], base]).rstrip(".")
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_the_rooms_below_it(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room}
    for path in sorted((ROOT / "calfsm" / room).rglob("*.py")):
        for name in imports_of(path):
            parts = name.split(".")
            if parts[0] == "calfsm" and len(parts) > 1 and parts[1] in MAY_IMPORT:
                assert parts[1] in allowed, f"{path.relative_to(ROOT)} imports {name}"


def test_every_room_is_in_the_table_above() -> None:
    rooms = {path.name for path in (ROOT / "calfsm").iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert rooms == set(MAY_IMPORT)


def test_calfsm_never_imports_an_adapter() -> None:
    adapters = {path.name for path in (ROOT / "adapters").iterdir() if path.is_dir()}
    for path in sorted((ROOT / "calfsm").rglob("*.py")):
        for name in imports_of(path):
            assert name.split(".")[0] not in adapters, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize(
    "module", ["calfsm", "calfsm.engine", "calfsm.tables.buffer", "calfsm.tables.executor", "calfsm.cli.main"]
)
def test_importing_what_serves_pulls_in_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not {"yaml", "cattrs", "numpy", "numba", "hypothesis", "graphviz"} & set(done.stdout.split())
