"""SPIN on an exported model: how fast, in how much memory, and what it counts."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from calfsm.engine.system import System
from calfsm.export import promela

MISSING = [tool for tool in ("spin", "gcc") if shutil.which(tool) is None]

OPTIONS = ("-O3", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR")
"""The fastest that keep every state: partial order reduction finds nothing here and costs time; -DCOLLAPSE and
-DBFS are slower, -DHC4 and bit states lose states."""
DEPTH = 1_000_000
"""Steps that its depth-first search may be deep."""


class Found(NamedTuple):
    """What a search found. `transitions`: as we count them, without the start."""

    states: int
    transitions: int
    seconds: float
    bytes: float


class Spin:
    """A model, compiled. `seconds`: what that took. Raises RuntimeError when it cannot be."""

    def __init__(self, system: System, scope: Mapping[str, int], folder: Path) -> None:
        self._folder = folder
        began = time.perf_counter()
        (folder / "model.pml").write_text(promela(system, scope), encoding="utf-8")
        self._run("spin", "-a", "model.pml")
        self._run("gcc", *OPTIONS, "-o", "pan", "pan.c")
        self.seconds = time.perf_counter() - began

    def search(self, states: int) -> Found:
        """Search, with a hash table for so many states, four slots each. Raises RuntimeError when it was cut off."""
        bits = max(20, (4 * states - 1).bit_length())
        told = self._run("./pan", f"-m{DEPTH}", f"-w{bits}", "-n")
        for lossy in ("max search depth too small", "Search not completed", "out of memory", "hash-compact"):
            if lossy in told:
                raise RuntimeError(f"SPIN says: {lossy}\n{told}")
        # Above 10^8 it rounds what it says: the sum, and then this fails.
        stored, matched = (int(_number(rf"^ *(\d+) states, {what}$", told)) for what in ("stored", "matched"))
        return Found(
            states=stored,
            transitions=stored + matched - 1,
            seconds=_number(r"elapsed time ([\d.]+) seconds", told),
            bytes=_number(r"([\d.]+)\ttotal actual memory usage", told) * (1 << 20),
        )

    def _run(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr


def _number(pattern: str, told: str) -> float:
    found = re.search(pattern, told, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"SPIN does not say {pattern}:\n{told}")
    return float(found[1])
