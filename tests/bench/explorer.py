"""`python -m tests.bench.explorer`: the searches of the executor beside one another, states and transitions a second.

Every search of a scope runs in this process, one after the other, in as many rounds as asked; the median counts, and
ratios of one run say more than its numbers. What is counted must agree, or the run fails. A search by another tool can
be put beside ours through `OTHERS`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from calfsm.explore.compiled import FastResult, explore_fast
from calfsm.tables import phase_a, phase_b
from calfsm.tables.executor import SYSTEM

SCOPES: dict[str, dict[str, int]] = {
    "phase_a": phase_a.PROFILE.scope,
    "phase_b": phase_b.PROFILE.scope,
    "phase_b, three requests": {**phase_b.PROFILE.scope, "requests": 3},
}
SIZES = {"phase_a": (135_170, 867_321), "phase_b": (9_460_062, 66_328_776)}
"""States and transitions that are known of a scope."""
PLAIN_STATES = 30_000
"""How far the plain search goes: it is slow, and as fast at the start as later."""
MOST_STATES = 20_000_000

Other = Callable[[Mapping[str, int]], tuple[int, int, float] | None]
"""A search by another tool: states, transitions and seconds at a scope, or None where it cannot."""

OTHERS: dict[str, Other] = {}
"""By the name of the program that must be installed, as `spin`."""


class Line(NamedTuple):
    """One search of one scope.

    `compile_seconds` before the first round, `kept_seconds` before the last: then the code was on disk.
    """

    scope: str
    search: str
    states: int
    transitions: int
    stopped: str
    seconds: float
    compile_seconds: float
    kept_seconds: float
    bytes_per_state: float

    def __str__(self) -> str:
        rate, moves = self.states / self.seconds / 1e6, self.transitions / self.seconds / 1e6
        size = f"{self.bytes_per_state:.0f} B/state" if self.bytes_per_state else ""
        compiling = f"ready in {self.compile_seconds:.1f} s, then {self.kept_seconds:.1f} s" if size else ""
        counts = f"{self.states:>12,} states {self.transitions:>13,} transitions"
        speed = f"{rate:>7.3f} M states/s {moves:>7.3f} M transitions/s"
        return f"{self.scope:30} {self.search:12} {counts} {speed}  {size:12} {compiling} {self.stopped}".rstrip()


def measured(rounds: int, names: list[str], threads: list[int]) -> Iterator[Line]:
    """Every search of every scope."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            scope = SCOPES[name]
            yield _line(name, "plain", [explore_fast(SYSTEM, scope, engine="plain", max_states=PLAIN_STATES)[1]])
            for number in threads:
                found = [_compiled(scope, number, Path(folder)) for _ in range(rounds)]
                line = _line(name, f"{number} thread" + "s" * (number > 1), found)
                if not line.stopped and name in SIZES:
                    assert (line.states, line.transitions) == SIZES[name], f"{line} is not {SIZES[name]}"
                yield line
            for program, other in OTHERS.items():
                result = other(scope) if shutil.which(program) else None
                if result is not None:
                    states, transitions, seconds = result
                    yield Line(name, program, states, transitions, "", seconds, 0.0, 0.0, 0.0)


def _compiled(scope: Mapping[str, int], threads: int, folder: Path) -> FastResult:
    options = {"threads": threads, "max_states": MOST_STATES, "cache_folder": folder}
    return explore_fast(SYSTEM, scope, engine="compiled", **options)[1]  # type: ignore[arg-type]


def _line(scope: str, search: str, found: list[FastResult]) -> Line:
    first = found[0]
    sizes = {(result.states, result.transitions, result.depth) for result in found if result.complete}
    assert len(sizes) <= 1, f"{search} of {scope} found {sizes}"
    return Line(
        scope=scope,
        search=search,
        states=first.states,
        transitions=first.transitions,
        stopped=first.stopped,
        seconds=statistics.median(result.seconds for result in found),
        compile_seconds=first.compile_seconds,
        kept_seconds=found[-1].compile_seconds,
        bytes_per_state=first.bytes_per_state,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.explorer", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--scopes", nargs="+", choices=list(SCOPES), default=list(SCOPES)[:3])
    args = parser.parse_args()
    for line in measured(args.rounds, args.scopes, args.threads):
        print(line, flush=True)


if __name__ == "__main__":
    main()
