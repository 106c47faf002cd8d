"""`calfsm explore`: every reachable state of a system at a scope, and what that says of its properties."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calfsm.cli import manners, specs

if TYPE_CHECKING:
    from calfsm.engine.system import System
    from calfsm.explore.search import Progress
    from calfsm.explore.systems import SystemModel, SystemResult

NAME = "explore"
HELP = "visit every reachable state and judge the properties"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which system, at which scope, and when to stop."""
    system = parser.add_argument(
        "system", nargs="?", metavar="SYSTEM", help="a system's file or name; without, each of the project's systems"
    )
    system.complete = manners.FILES  # type: ignore[attr-defined]
    specs.add_scope(parser)
    parser.add_argument("--profile", metavar="NAME", help="the scope of a profile; --scope goes over it")
    parser.add_argument("--max-states", type=_positive, metavar="N", help="stop after N states")
    parser.add_argument("--max-seconds", type=_positive, metavar="S", help="stop after S seconds")
    manners.add_format(parser)
    parser.epilog = """
exit codes: 0 every property holds in every reachable state; 1 one is broken, or a state is stuck; 2 not decided: the
search was stopped, or could not begin.
"""


def run(args: argparse.Namespace) -> int:
    """Search each system and report."""
    from calfsm.explore.systems import explore

    codes, reports = [], []
    for system, scope in _wanted(args):
        with manners.progress() as show:
            try:
                model, result = explore(
                    system,
                    scope,
                    max_states=args.max_states,
                    max_seconds=args.max_seconds,
                    progress=lambda now: show(progress_line(system.name, now)),  # noqa: B023
                )
            except ValueError as error:
                raise manners.CannotTry(str(error), "give every part one instance at least") from None
        codes.append(_code(result))
        reports.append(_record(system, scope, model, result))
        if args.format == "text":
            _tell(system, scope, model, result)
    if args.format == "json":
        manners.say_json(reports if len(reports) != 1 else reports[0])
    return manners.FAILS if manners.FAILS in codes else max(codes)


def progress_line(name: str, now: Progress) -> str:
    """Where a search stands, on one line."""
    rate = now.states / now.seconds if now.seconds else 0
    return f"{name}: {now.states:,} states, {now.transitions:,} transitions, depth {now.depth}, {rate:,.0f} states/s, {now.seconds:.0f} s"


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number above 0")
    return int(text)


def _wanted(args: argparse.Namespace) -> list[tuple[System, dict[str, int]]]:
    from calfsm.spec.findings import nearest

    path = Path(args.system) if args.system else None
    by_file = path is not None and (path.suffix in manners.SUFFIXES or path.exists())
    compiled = specs.compiled([path] if by_file and path else [], "explored")
    systems = dict(compiled.systems)
    if args.system and not by_file:
        if args.system not in systems:
            raise manners.CannotTry(f"no system is called `{args.system}`", nearest(args.system, systems))
        systems = {args.system: systems[args.system]}
    if not systems:
        raise manners.CannotTry("there is no system to explore", "name a system's file")
    chosen: Mapping[str, int] = {}
    if args.profile:
        profiles = compiled.profiles if not by_file else specs.compiled([], "explored").profiles
        if args.profile not in profiles:
            raise manners.CannotTry(f"no profile is called `{args.profile}`", nearest(args.profile, profiles))
        profile = profiles[args.profile]
        if profile.system not in systems:
            raise manners.CannotTry(f"profile {profile.name} is of the system {profile.system}", f"explore {profile.system}")
        systems, chosen = {profile.system: systems[profile.system]}, profile.scope
    return [(system, specs.fitting(system, {**chosen, **args.scope})) for system in systems.values()]


def _code(result: SystemResult) -> int:
    from calfsm.explore.search import Verdict

    if Verdict.BROKEN in result.verdicts.values() or result.stuck is not None:
        return manners.FAILS
    return manners.HOLDS if result.complete else manners.NOT_TRIED


def _record(system: System, scope: Mapping[str, int], model: SystemModel, result: SystemResult) -> dict[str, Any]:
    from calfsm.explore.systems import story

    return {
        "system": system.name,
        "digest": system.digest,
        "scope": dict(scope),
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "complete": result.complete,
        "stopped": result.stopped,
        "seconds": round(result.seconds, 3),
        "properties": {name: verdict.value for name, verdict in result.verdicts.items()},
        "counterexamples": {
            name: [{"do": line.call, "by": line.by, "changes": list(line.changes)} for line in story(model, trace)]
            for name, trace in result.counterexamples.items()
        },
        "stuck": None if result.stuck is None else [line.call for line in story(model, result.stuck)],
    }


def _tell(system: System, scope: Mapping[str, int], model: SystemModel, result: SystemResult) -> None:
    from calfsm.explore.search import Verdict
    from calfsm.explore.systems import story

    colours = {Verdict.HOLDS: "green", Verdict.BROKEN: "red", Verdict.UNDECIDED: "yellow"}
    at = f" at {specs.shown_scope(scope)}" if scope else ""
    manners.say(f"{manners.painted(system.name, 'bold')}{at}")
    manners.say(
        f"{result.states:,} states, {result.transitions:,} transitions, depth {result.depth}, {result.seconds:.1f} s"
    )
    if result.stopped:
        manners.say(manners.painted(f"stopped early: {result.stopped}; what follows is of the states seen", "yellow"))
    rows = [(name, manners.painted(verdict.value, colours[verdict])) for name, verdict in result.verdicts.items()]
    manners.say(manners.table(("property", "verdict"), rows))
    for name, trace in result.counterexamples.items():
        manners.say(f"\n{manners.painted(name, 'bold', 'red')} is broken; a shortest way there:")
        manners.say("\n".join(str(line) for line in story(model, trace)))
    if result.stuck is not None:
        manners.say(f"\n{manners.painted('stuck', 'bold', 'red')}: a state in which nothing can happen; a shortest way there:")
        manners.say("\n".join(str(line) for line in story(model, result.stuck)))
