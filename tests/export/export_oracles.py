"""SPIN and Rumur, run on exported models, and what the engine's own search says of the same system."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from calfsm.engine.system import System
from calfsm.explore.search import search
from calfsm.explore.systems import SystemModel
from calfsm.export import murphi, promela

MISSING = [tool for tool in ("spin", "rumur", "cc") if shutil.which(tool) is None]

with_oracles = [
    pytest.mark.oracle,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; tools/oracles installs them"),
]
"""Marks of a test, or of a module (`pytestmark`), that runs SPIN and Rumur."""


class Found(NamedTuple):
    """What a search found. `breaks`: in how many states properties are broken, counted for each property."""

    states: int
    transitions: int
    broken: frozenset[str]
    breaks: int
    stuck: bool


def by_search(system: System, scope: Mapping[str, int], max_states: int | None = None) -> Found | None:
    """What the engine's search finds; None when there are more states."""
    model = SystemModel(system, **scope)
    result = search(model, max_states=max_states)
    if not result.complete:
        return None
    broken: Counter[str] = Counter()
    properties = model.properties()
    for state in result.parents:
        broken.update(name for name, holds in properties.items() if not holds(state))
    return Found(result.states, result.transitions, frozenset(broken), broken.total(), result.stuck is not None)


def by_spin(system: System, scope: Mapping[str, int], folder: Path) -> Found:
    """What SPIN finds; its transitions are put into the engine's terms, as docs/oracles.md has it."""
    (folder / "model.pml").write_text(promela(system, scope), encoding="utf-8")
    judged = _spin(folder, "-E", "-c0")
    broken = {name.removeprefix("always_") for name in re.findall(r"assertion violated (\w+)", judged)}
    breaks = int(re.findall(r"errors: (\d+)", judged)[0])
    assert broken <= {row.name for row in system.always} and bool(broken) == bool(breaks)
    found = _counts(judged)
    if broken:
        told = _spin(folder, "-c0", only_calls=True)
        assert _counts(told) == (found[0], found[1] - breaks)
    else:
        told = _pan(folder, "-c0")
    return Found(found[0], found[1] - breaks - 1, frozenset(broken), breaks, "invalid end state (" in told)


def by_rumur(system: System, scope: Mapping[str, int], folder: Path) -> Found:
    """What Rumur finds. Invariants become covers: these count the states that they hold in, and stop nothing."""
    text = re.sub(r'^invariant "', 'cover "', murphi(system, scope), flags=re.MULTILINE)
    told = _rumur(folder, text, "--deadlock-detection", "stuck")
    stuck = "\tdeadlock" in told
    if stuck:  # at which Rumur leaves off
        told = _rumur(folder, text, "--deadlock-detection", "off")
    states, transitions = re.findall(r"(\d+) states, (\d+) rules fired", told)[0]
    hits = {name: int(hit or 0) for name, hit in re.findall(r'cover "(\w+)" (?:not hit|hit (\d+) times)', told)}
    assert set(hits) == {row.name for row in system.always}
    broken = {name: int(states) - hit for name, hit in hits.items() if hit != int(states)}
    return Found(int(states), int(transitions), frozenset(broken), sum(broken.values()), stuck)


def first_error(system: System, scope: Mapping[str, int], folder: Path) -> tuple[str, int]:
    """The first invariant that Rumur finds broken, and the length of its trace: the shortest there is."""
    told = _rumur(folder, murphi(system, scope), "--deadlock-detection", "off")
    names = re.findall(r'invariant "(\w+)" failed', told)
    assert len(names) == 1
    return names[0], len(re.findall(r'^Rule "\w+".* fired\.$', told, re.MULTILINE)) if names else 0


def run(folder: Path, *command: str) -> str:
    """What a command prints. It must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def _spin(folder: Path, *options: str, only_calls: bool = False) -> str:
    made = run(folder, "spin", *(["-DCALLS_ONLY"] if only_calls else []), "-a", "model.pml")
    assert not made, made
    run(folder, "cc", "-O0", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
    return _pan(folder, *options)


def _pan(folder: Path, *options: str) -> str:
    done = subprocess.run(
        ["./pan", "-m2000000", "-w20", *options], cwd=folder, capture_output=True, text=True, timeout=300
    )
    told = done.stdout + done.stderr
    assert "Full statespace search" in told, told
    for lossy in ("max search depth too small", "Search not completed", "out of memory", "hash-compact"):
        assert lossy not in told, told
    return told


def _counts(told: str) -> tuple[int, int]:
    """States and transitions, as SPIN counts them."""
    states = re.findall(r"^ *(\d+) states, stored$", told, re.MULTILINE)
    transitions = re.findall(r"^ *(\d+) transitions \(= stored\+matched\)$", told, re.MULTILINE)
    return int(states[0]), int(transitions[0])


def _rumur(folder: Path, text: str, *options: str) -> str:
    (folder / "model.m").write_text(text, encoding="utf-8")
    fixed = ("--value-type", "int32_t", "--symmetry-reduction", "off", "--threads", "1", "--sandbox", "off")
    warned = run(folder, "rumur", *fixed, *options, "--output", "model.c", "model.m")
    assert not warned, warned
    run(folder, "cc", "-O0", "-mcx16", "-o", "checker", "model.c", "-lpthread")
    done = subprocess.run(["./checker"], cwd=folder, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr
