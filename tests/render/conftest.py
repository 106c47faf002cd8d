"""The real specs and the golden one, compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest

from calfsm.compile.load import Compiled, load

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "render"


@pytest.fixture(scope="session")
def real() -> Compiled:
    return load(ROOT / "specs")


@pytest.fixture(scope="session")
def lamp() -> Compiled:
    return load([GOLDEN / "lamp.yaml"])
