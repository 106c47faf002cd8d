"""`calfsm paths`: test suites from the specs, as JSON Lines, for any implementation."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from calfsm.cli import manners, specs

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.paths.suite import Suite

NAME = "paths"
HELP = "generate test suites from the specs"

FAMILIES = ("action", "async", "timeout", "cancel", "reset", "own", "refusal")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which specs, at which scope, and where to."""
    manners.add_paths(parser)
    specs.add_scope(parser)
    into = parser.add_argument(
        "--into", type=Path, metavar="DIR", default=Path("suites"), help="their folder (default: suites)"
    )
    into.complete = manners.FOLDERS  # type: ignore[attr-defined]
    parser.add_argument("--max-states", type=int, metavar="N", help="cover what a search of N states of a system sees")
    manners.add_format(parser)
    parser.epilog = """
One file a machine and a system, NAME.jsonl. Families: async paths go through a word of the runtime, timeouts through
one of the clock, cancels through one of the client, resets through one of recovery; own decisions are the engine's.
"""


def run(args: argparse.Namespace) -> int:
    """Generate, write, and say what is covered."""
    from calfsm.compile.build import replace
    from calfsm.paths.suite import dump

    compiled = specs.compiled(args.paths, "covered")
    scopes = specs.fitting_all(compiled.systems, args.scope)
    with manners.progress() as show:
        suites = []
        try:
            for suite in generated(compiled, args.scope, scopes, args.max_states):
                show(f"{suite.name}: {suite.steps:,} steps")
                suites.append(suite)
        except ValueError as error:
            raise manners.CannotTry(str(error), "give every part one instance at least") from None
    files = {suite.name: args.into / f"{suite.name}.jsonl" for suite in suites}
    with manners.files_at_hand():
        for suite in suites:
            replace(files[suite.name], dump(suite))
    if args.format == "json":
        manners.say_json(
            [
                {
                    "suite": suite.name,
                    "file": str(files[suite.name]),
                    "cases": len(suite.cases),
                    "steps": suite.steps,
                    "goals": dict(suite.goals),
                    "missing": list(suite.missing),
                }
                for suite in suites
            ]
        )
    else:
        manners.say(coverage(suites))
    cut = f"were not seen within {args.max_states:,} states" if args.max_states else "never happen at this scope"
    for suite in suites:
        if suite.missing:
            manners.note(f"{suite.name}: actions that {cut}: {', '.join(suite.missing)}")
    manners.note(f"{manners.counted(len(suites), 'suite')} in {args.into}")
    if not any(suite.missing for suite in suites):
        return manners.HOLDS
    return manners.NOT_TRIED if args.max_states else manners.FAILS


def generated(
    compiled: Compiled, scope: Mapping[str, int], scopes: Mapping[str, dict[str, int]], max_states: int | None
) -> Iterator[Suite]:
    """A suite for every machine, at what it knows of `scope`, and for every system, at its own of `scopes`."""
    from calfsm.paths.generate import machine_suite, system_suite

    for table in compiled.tables.values():
        known = {row.name for row in table.params}
        yield machine_suite(table, **{name: value for name, value in scope.items() if name in known})
    for name, system in compiled.systems.items():
        yield system_suite(system, scopes[name], max_states=max_states)


def coverage(suites: list[Suite]) -> str:
    """What each suite covers, as a table."""
    rows = [
        (suite.name, suite.kind, len(suite.cases), suite.steps, *(suite.goals.get(family, 0) for family in FAMILIES))
        for suite in suites
    ]
    return manners.table(("suite", "kind", "cases", "steps", *FAMILIES), rows)
