"""`calfsm explore --fast`: the compiled search, for scopes that the plain one does not finish."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calfsm.cli import manners, specs, what_if

if TYPE_CHECKING:
    from calfsm.engine.system import System
    from calfsm.explore.compiled import FastResult
    from calfsm.explore.search import Progress
    from calfsm.explore.systems import SystemModel


def progress_line(name: str, now: Progress) -> str:
    """Where a search stands, on one line."""
    rate = now.states / now.seconds if now.seconds else 0
    found = f"{now.states:,} states, {now.transitions:,} transitions, depth {now.depth}"
    return f"{name}: {found}, {rate:,.0f} states/s, {now.seconds:.0f} s"


def run(args: argparse.Namespace, tasks: Sequence[tuple[System, Mapping[str, int]]]) -> int:
    """Search each system by compiled code, and report in the terms of `calfsm explore`."""
    from calfsm.explore.compiled import CannotCompile, explore_fast

    if args.liveness or args.counterexamples is not None or what_if.asked(args):
        raise manners.CannotTry("--fast judges the states of a system as it is, and nothing else", "leave --fast out")
    codes, reports = [], []
    for system, scope in tasks:
        with manners.progress() as show:
            show(f"{system.name}: compiling")
            try:
                model, result = explore_fast(
                    system,
                    scope,
                    engine="compiled",
                    max_states=args.max_states,
                    max_seconds=args.max_seconds,
                    progress=lambda now: show(progress_line(system.name, now)),  # noqa: B023
                )
            except CannotCompile as error:
                raise manners.CannotTry(f"{system.name} cannot be compiled: {error}", "leave --fast out") from None
            except ValueError as error:
                raise manners.CannotTry(str(error), "give every part one instance at least") from None
        codes.append(_code(result))
        reports.append(_record(system, scope, result))
        if args.format == "text":
            _tell(system, scope, model, result)
    if args.format == "json":
        manners.say_json(reports if len(reports) != 1 else reports[0])
    return manners.FAILS if manners.FAILS in codes else max(codes)


def _code(result: FastResult) -> int:
    from calfsm.explore.search import Verdict

    if Verdict.BROKEN in result.verdicts.values() or result.stuck is not None:
        return manners.FAILS
    return manners.HOLDS if result.complete else manners.NOT_TRIED


def _record(system: System, scope: Mapping[str, int], result: FastResult) -> dict[str, Any]:
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
        "compile_seconds": round(result.compile_seconds, 3),
        "bytes_per_state": round(result.bytes_per_state, 1),
        "properties": {name: verdict.value for name, verdict in result.verdicts.items()},
        "fired": result.fired,
    }


def _tell(system: System, scope: Mapping[str, int], model: SystemModel, result: FastResult) -> None:
    from calfsm.explore.systems import story

    at = f" at {specs.shown_scope(scope)}" if scope else ""
    manners.say(f"{manners.painted(system.name, 'bold')}{at}")
    manners.say(
        f"{result.states:,} states, {result.transitions:,} transitions, depth {result.depth}, {result.seconds:.1f} s "
        f"({result.states / max(result.seconds, 1e-9):,.0f} states/s, {result.bytes_per_state:.0f} bytes a state, "
        f"ready in {result.compile_seconds:.1f} s)"
    )
    if result.stopped:
        manners.say(manners.painted(f"stopped early: {result.stopped}; what follows is of the states seen", "yellow"))
    rows = [(name, verdict.value) for name, verdict in result.verdicts.items()]
    rows += [(row.name, "not judged: leave --fast out") for row in system.eventually]
    rows += [("home", "not judged: leave --fast out")] if system.home is not None else []
    manners.say(manners.table(("property", "verdict"), rows))
    never = [action for action, times in result.fired.items() if not times]
    if never:
        manners.say(f"never taken: {', '.join(never)}")
    for name, trace in result.counterexamples.items():
        manners.say(f"\n{manners.painted(name, 'bold', 'red')} is broken; a shortest way there:")
        manners.say("\n".join(str(line) for line in story(model, trace)))
    if result.stuck is not None:
        manners.say(f"\n{manners.painted('stuck', 'bold', 'red')}: nothing can happen; a shortest way there:")
        manners.say("\n".join(str(line) for line in story(model, result.stuck)))
