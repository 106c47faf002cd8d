"""`python -m tests.bench`: measure everything in one process and print it beside its targets."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import composed, fleets, imports, peers
from tests.bench.rounds import Spread, Times, measure, ratios

AHEAD = {"Automat": 5, "transitions": 50, "sismic": 300, "python-statemachine": 600}
"""How many times the cost of one of our events each library's should be, at least."""
DISTRIBUTIONS = ("numpy", "Automat", "transitions", "sismic", "python-statemachine")


class Line(NamedTuple):
    """One result: a measurement, a figure that has a target, and the target."""

    section: str
    name: str
    measured: Spread
    unit: str
    figure: str = ""
    value: Spread | None = None
    target: str = ""
    met: bool | None = None


def machines(rounds: int) -> Iterator[Line]:
    """`Machine.fire`, by hand, and the libraries."""
    for section, subjects in (("ring of 8 states", peers.ring()), ("life of a buffer", peers.cycle())):
        times = measure(subjects, rounds)
        for name, values in times.items():
            spread = Spread.of(values)
            if name == peers.OURS:
                ratio = ratios(times, name, peers.BY_HAND)
                yield Line(section, name, spread, "ns/event", "of by hand", ratio, "<= 1.5", ratio.median <= 1.5)
                continue
            ratio = ratios(times, name, peers.OURS)
            least = AHEAD.get(name)
            met = None if least is None else ratio.median >= least
            yield Line(section, name, spread, "ns/event", "of ours", ratio, f">= {least}" if least else "", met)


def fleet(rounds: int) -> Iterator[Line]:
    """`Fleet.step`."""
    for name, values in measure(fleets.subjects(), rounds).items():
        spread = Spread.of(values)
        target = name == fleets.WHOLE
        yield Line(
            f"Fleet of {fleets.COUNT:,} buffers",
            name,
            spread,
            "ns/event",
            target="<= 10 ns" if target else "",
            met=spread.median <= 10 if target else None,
        )


def importing(rounds: int) -> Iterator[Line]:
    """Fresh processes."""
    times = imports.measured(rounds)
    for name, values in times.items():
        spread = Spread.of([value / 1e6 for value in values])
        if name == imports.BARE:
            yield Line("import", name, spread, "ms")
            continue
        over = imports.over_bare(times, name)
        yield Line("import", name, spread, "ms", "ms over bare", over, "<= 60", over.median <= 60)


def composing(rounds: int) -> Iterator[Line]:
    """Actions of the executor."""
    times = composed.measured(rounds=rounds)
    section = "one action of the executor (apply only)"
    yield Line(section, composed.BARE, Spread.of(times[composed.BARE]), "ns")
    for action in composed.ACTIONS:
        for name in composed.labels(action):
            yield _composed(section, action, name, times)


def _composed(section: str, action: str, name: str, times: Times) -> Line:
    spread, first = Spread.of(times[name]), composed.labels(action)[0]
    if name == first:
        ratio = ratios(times, name, composed.BARE)
        return Line(section, name, spread, "ns", "of one transitions event", ratio, "< 1", ratio.median < 1)
    ratio = ratios(times, name, first)
    return Line(section, name, spread, "ns", f"of {composed.JOBS[0]} jobs", ratio, "flat")


def table(lines: list[Line]) -> str:
    """The results as a Markdown table, medians with their quartiles."""
    rows = ["| what | median (quartiles) | compared | target | |", "| --- | --- | --- | --- | --- |"]
    section = ""
    for line in lines:
        if line.section != section:
            section = line.section
            rows.append(f"| **{section}** | | | | |")
        compared = f"{_spread(line.value)} {line.figure}" if line.value else ""
        met = {None: "", True: "met", False: "missed"}[line.met]
        rows.append(f"| {line.name} | {_spread(line.measured)} {line.unit} | {compared} | {line.target} | {met} |")
    return "\n".join(rows)


def _spread(spread: Spread) -> str:
    return f"{_number(spread.median)} ({_number(spread.low)} to {_number(spread.high)})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def surroundings() -> dict[str, Any]:
    """What it ran on."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "processors": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "versions": {name: version(name) for name in DISTRIBUTIONS},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def main() -> None:
    """Measure, print, and write JSON when asked to."""
    parser = argparse.ArgumentParser(prog="tools/bench", description="Measure calfsm beside what it is compared with.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    parser.add_argument("--rounds", type=int, default=21, help="rounds of each measurement (default 21, at least 2)")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("a spread needs 2 rounds at least")
    around = surroundings()
    print("\n".join(f"{name}: {value}" for name, value in around.items()), flush=True)
    lines: list[Line] = []
    for part in (importing, machines, fleet, composing):
        lines += part(options.rounds)
    print(f"rounds: {options.rounds}\n\n{table(lines)}")
    if options.json is not None:
        results = [
            {
                **line._asdict(),
                "measured": line.measured._asdict(),
                "value": line.value._asdict() if line.value else None,
            }
            for line in lines
        ]
        text = json.dumps({**around, "rounds": options.rounds, "results": results}, indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
