"""`python -m tests.bench.explorer`: the searches of the executor, beside SPIN on the exported model.

Everything of a scope runs in turn in the same rounds, so that a disturbance meets all alike: ratios are taken within
each round, and say more than the numbers. Compiling is left out of the time of both and told beside it. What is counted
must agree, or the run fails.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from calfsm.explore.compiled import explore_fast
from calfsm.tables import phase_a, phase_b
from calfsm.tables.executor import SYSTEM
from tests.bench import spin
from tests.bench.rounds import Spread

PHASE_B = phase_b.PROFILE.scope
BESIDE: dict[str, dict[str, int]] = {
    "phase_b": PHASE_B,
    "phase_b, lengths up to 3": {**PHASE_B, "max_length": 3, "chunk": 2, "too_long": 4},
}
"""What SPIN is run on as well: 9.5 and 16 million states."""
GROWING: dict[str, dict[str, int]] = {
    "phase_a": phase_a.PROFILE.scope,
    "phase_b, one request": {**PHASE_B, "requests": 1},
    "phase_b, one lane": {**PHASE_B, "lanes": 1},
    "phase_b": PHASE_B,
    "phase_b, one lane, three requests": {**PHASE_B, "lanes": 1, "requests": 3},
}
"""From 10^5 to some 10^7 states."""
LARGE: dict[str, dict[str, int]] = {"phase_b, three requests": {**PHASE_B, "requests": 3}}
LARGE_STATES = 100_000_000
"""Where the largest search stops: it would find more."""
SIZES = {"phase_a": (135_170, 867_321), "phase_b": (9_460_062, 66_328_776)}
"""States and transitions that are known of a scope."""
PLAIN_STATES = 30_000
"""How far the plain search goes: it is slow, and as fast at the start as later."""
SPEC = Path(__file__).parents[2] / "specs" / "systems" / "executor.yaml"


class Run(NamedTuple):
    """One search.

    `bytes`: by its own account; `resident`: by how many the process grew at most; `ready`: seconds of compiling.
    """

    states: int
    transitions: int
    seconds: float
    bytes: float
    resident: float
    ready: float


def ours(
    scope: Mapping[str, int], threads: int, folder: Path, rounds: int = 1, max_states: int | None = None
) -> list[Run]:
    """The compiled search, some times."""
    found = []
    for _ in range(rounds):
        gc.collect()
        before = _resident(reset=True)
        _, result = explore_fast(
            SYSTEM, scope, engine="compiled", threads=threads, max_states=max_states, cache_folder=folder
        )
        grown = _resident() - before
        whole = result.bytes_per_state * result.states
        found.append(Run(result.states, result.transitions, result.seconds, whole, grown, result.compile_seconds))
    return found


def beside(name: str, scope: Mapping[str, int], threads: list[int], rounds: int, folder: Path) -> Iterator[str]:
    """The rows of one scope: SPIN, and ours beside it."""
    first = {number: ours(scope, number, folder)[0] for number in threads}
    size = first[threads[0]]
    searches: dict[str, list[Run]] = {f"{number} thread{'s' * (number > 1)}": [] for number in threads}
    checker = None if spin.MISSING else spin.Spin(SYSTEM, scope, folder)
    if checker is not None:
        searches["SPIN"] = []
    for turn in range(rounds):
        names = list(searches)
        for search in names[turn % len(names) :] + names[: turn % len(names)]:
            if search == "SPIN":
                assert checker is not None
                told = checker.search(size.states)
                searches[search].append(Run(*told, told.bytes, checker.seconds))
            else:
                searches[search] += ours(scope, int(search.split()[0]), folder)
    counts = {(run.states, run.transitions) for runs in searches.values() for run in runs}
    assert counts == {SIZES.get(name, (size.states, size.transitions))}, f"{name}: {counts}"
    yield f"| **{name}**: {size.states:,} states, {size.transitions:,} transitions | | | | |"
    for search, runs in searches.items():
        rate = Spread.of([run.states / run.seconds / 1e6 for run in runs])
        ready = f"{runs[-1].ready:.1f} s"
        if search == "SPIN":
            times = ""
        else:
            ready = f"{max(run.ready for run in [*runs, first[int(search.split()[0])]]):.1f} s, then {ready}"
            times = ""
            if checker is not None:
                ratios = [theirs.seconds / run.seconds for theirs, run in zip(searches["SPIN"], runs, strict=True)]
                times = f"{_spread(Spread.of(ratios))}, {min(ratios):.1f} to {max(ratios):.1f} in all"
        last = runs[-1]
        memory = f"{last.bytes / last.states:.0f} B"
        if search != "SPIN":
            memory += f" ({max(run.resident for run in runs) / last.states:.0f} B resident)"
        yield f"| {search} | {_spread(rate)} M states/s | {times} | {memory} | {ready} |"


def growing(scopes: Mapping[str, Mapping[str, int]], threads: int, rounds: int, folder: Path) -> Iterator[str]:
    """What a state and a transition cost at scopes of all sizes."""
    for name, scope in scopes.items():
        most = LARGE_STATES if name in LARGE else None
        ours(scope, threads, folder, max_states=1)  # compiles
        runs = ours(scope, threads, folder, rounds if name not in LARGE else 1, most)
        best = min(runs, key=lambda run: run.seconds)
        assert (best.states, best.transitions) == SIZES.get(name, (best.states, best.transitions))
        cost = best.seconds * 1e9
        yield (
            f"| {name} | {best.states:,} | {best.transitions:,} | {cost / best.states:.0f} ns | "
            f"{cost / best.transitions:.1f} ns | {best.bytes / best.states:.0f} B |"
        )


def first_state(rounds: int, folder: Path) -> Spread:
    """Seconds from YAML to the first state, in a process of its own, when the machine code is on disk."""
    command = [sys.executable, "-c", _FIRST, str(SPEC), str(folder)]
    seconds = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - began)
    return Spread.of(seconds[1:])


_FIRST = """
import sys
from pathlib import Path
from calfsm.cli import specs
from calfsm.explore.compiled import explore_fast
from calfsm.tables import phase_b
(system,) = specs.compiled([Path(sys.argv[1])], "explored").systems.values()
explore_fast(system, phase_b.PROFILE.scope, engine="compiled", max_states=1, cache_folder=Path(sys.argv[2]))
"""


def _resident(reset: bool = False) -> int:
    """The most bytes that this process had in memory, since it was reset; 0 where the system does not say."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def _spread(spread: Spread) -> str:
    return f"{spread.median:.2f} ({spread.low:.2f} to {spread.high:.2f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="tools/bench explorer", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement (default 5, at least 2)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--scopes", nargs="+", choices=list(BESIDE), default=list(BESIDE), help="beside SPIN")
    parser.add_argument("--large", action="store_true", help=f"a search of {LARGE_STATES:,} states as well (3 GB)")
    args = parser.parse_args()
    if args.rounds < 2:
        parser.error("a spread needs 2 rounds at least")
    if spin.MISSING:
        print(f"without SPIN: {', '.join(spin.MISSING)} not installed; tools/oracles installs them")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"load {os.getloadavg()[0]:.1f}, {args.rounds} rounds\n")
        print(
            "| search | median (quartiles) | times as fast as SPIN | memory a state | ready in |\n" + "| --- " * 5 + "|"
        )
        for scope in args.scopes:
            for row in beside(scope, BESIDE[scope], args.threads, args.rounds, folder):
                print(row, flush=True)
        print(f"\nfrom YAML to the first state: {_spread(first_state(args.rounds, folder))} s")
        _, plain = explore_fast(SYSTEM, phase_a.PROFILE.scope, engine="plain", max_states=PLAIN_STATES)
        print(f"the plain search: {plain.states / plain.seconds / 1e6:.3f} M states/s")
        print("\n| scope, one thread | states | transitions | a state | a transition | memory a state |")
        print("| --- " * 6 + "|")
        for row in growing({**GROWING, **(LARGE if args.large else {})}, 1, args.rounds, folder):
            print(row, flush=True)
        print(f"\nload {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
