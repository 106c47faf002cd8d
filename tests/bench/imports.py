"""What importing costs, over starting a bare Python: fresh processes, in turn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter_ns

from tests.bench.rounds import Spread, Times

ROOT = Path(__file__).resolve().parents[2]
BARE = "python -c pass"
STATEMENTS = {
    BARE: "pass",
    "import calfsm": "import calfsm",
    "import calfsm.tables.buffer": "import calfsm.tables.buffer",
}


def measured(rounds: int = 21) -> Times:
    """Nanoseconds from start to end of a process, by what it does. One unmeasured round writes the byte code."""
    times: Times = {name: [] for name in STATEMENTS}
    for number in range(-1, rounds):
        for name, statement in STATEMENTS.items():
            elapsed = _process(statement)
            if number >= 0:
                times[name].append(elapsed)
    return times


def over_bare(times: Times, name: str) -> Spread:
    """How many milliseconds more than a bare Python, round by round."""
    return Spread.of([(one - bare) / 1e6 for one, bare in zip(times[name], times[BARE], strict=True)])


def _process(statement: str) -> int:
    start = perf_counter_ns()
    subprocess.run([sys.executable, "-c", statement], check=True, cwd=ROOT)
    return perf_counter_ns() - start
