"""`calfsm explore`: every reachable state of a system at a scope, and what that says of its properties."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from calfsm.cli import counterexamples, fast, manners, reduction, specs, spread, what_if
from calfsm.cli.fast import progress_line

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.engine.system import System
    from calfsm.explore.compiled.shares import Load
    from calfsm.explore.judging import Whole
    from calfsm.explore.tell import Counterexample

NAME = "explore"
HELP = "visit every reachable state and judge the properties"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which system, at which scope, when to stop, and what if."""
    system = parser.add_argument(
        "system", nargs="?", metavar="SYSTEM", help="a system's file or name; without, each of the project's systems"
    )
    system.complete = manners.FILES  # type: ignore[attr-defined]
    specs.add_scope(parser)
    parser.add_argument("--profile", metavar="NAME", help="the scope of a profile; --scope goes over it")
    parser.add_argument("--max-states", type=specs.positive, metavar="N", help="stop after N states")
    parser.add_argument("--max-seconds", type=specs.positive, metavar="S", help="stop after S seconds")
    parser.add_argument(
        "--liveness",
        action=argparse.BooleanOptionalAction,
        help="judge `eventually`, `home` and what comes back, however many states there are, or leave them out",
    )
    folder = parser.add_argument(
        "--counterexamples", type=_folder, metavar="DIR", help="write each there: a story, diagrams, a suite and a test"
    )
    folder.complete = manners.FOLDERS  # type: ignore[attr-defined]
    parser.add_argument(
        "--fast",
        action="store_true",
        help="compile the search, for scopes of millions of states (pip install 'calfsm[fast]')",
    )
    fast.add_arguments(parser)
    reduction.add_argument(parser)
    spread.add_arguments(parser)
    what_if.add_arguments(parser)
    manners.add_format(parser)
    parser.epilog = """
With --no-liveness only `always` is judged, and the exit code is of that. With --symmetry what is promised to
single instances is not judged, and so not decided; with --on, nothing but `always` is. With --swarm nothing ever holds:
walks can only break it.

exit codes: 0 every property holds; 1 one is broken, or a state is stuck; 2 not decided: the search was stopped, there
were too many states to judge all, or it could not begin.
"""


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("a folder without a name cannot be written to; `.` is the current one")
    return Path(text)


@attrs.frozen
class _Task:
    """What to search, and the spec files that it comes from."""

    system: System
    scope: Mapping[str, int]
    compiled: Compiled
    files: list[Path]


@attrs.frozen
class _Done:
    """A finished search. `remarks` is None where nothing can be said: it was stopped, bent, or is spread."""

    task: _Task
    bent: what_if.Bent
    whole: Whole
    remarks: list[tuple[str, str]] | None
    counterexamples: list[Counterexample]
    loads: list[Load]


def run(args: argparse.Namespace) -> int:
    """Search each system and report."""
    codes, reports = [], []
    reduction.check(args)
    fast.check(args)
    spread.check(args)
    tasks = _wanted(args)
    if args.counterexamples is not None:
        counterexamples.make(args.counterexamples)
    for task in tasks:
        done = _searched(task, args)
        codes.append(_code(done.whole))
        reports.append(_record(done))
        if args.format == "text":
            _tell(done)
        if args.counterexamples is not None:
            _write(done, args.counterexamples, "" if len(tasks) == 1 else f"{task.system.name}_")
    if args.format == "json":
        manners.say_json(reports if len(reports) != 1 else reports[0])
    return manners.FAILS if manners.FAILS in codes else max(codes)


def _searched(task: _Task, args: argparse.Namespace) -> _Done:
    from calfsm.explore.judging import LIVENESS_STATES, explore_whole
    from calfsm.explore.reduced import explore_reduced
    from calfsm.explore.tell import counterexamples as found
    from calfsm.explore.vacuity import remarks
    from calfsm.explore.what_if import states_only

    name = task.system.name
    with manners.progress() as show:
        try:
            bent = what_if.bent(args, task.compiled, task.system, task.scope)
            system = states_only(bent.system) if args.liveness is False else bent.system
            loads: list[Load] = []
            if args.swarm:
                whole = spread.swarmed(system, task.scope, args, show)
            elif args.on:
                done = spread.explored(system, task.scope, args, show)
                whole, loads = done.whole, done.loads
            elif args.fast:
                whole = fast.explored(system, task.scope, args, show)
            else:
                whole = (explore_reduced if args.symmetry else explore_whole)(
                    system,
                    task.scope,
                    liveness_states=None if args.liveness else LIVENESS_STATES,
                    what_if=bent.what_if,
                    max_states=args.max_states,
                    max_seconds=args.max_seconds,
                    progress=lambda now: show(progress_line(name, now)),
                    judging=lambda what: show(f"{name}: judging {what}"),
                )
        except ValueError as error:
            raise manners.CannotTry(str(error), "give every part one instance at least") from None
        said = None
        if whole.result.complete and whole.seen is not None and not what_if.asked(args):
            show(f"{name}: looking for what was never put to the test")
            said = [(remark.about, remark.what) for remark in remarks(whole)]
    return _Done(task, bent, whole, said, found(whole), loads)


def _wanted(args: argparse.Namespace) -> list[_Task]:
    from calfsm.spec.findings import nearest

    path = Path(args.system) if args.system else None
    by_file = path is not None and (path.suffix in manners.SUFFIXES or path.exists())
    files = manners.spec_files([path] if by_file and path else [])
    compiled = specs.compiled(files, "explored")
    systems = dict(compiled.systems)
    if args.system and not by_file:
        if args.system not in systems:
            raise manners.CannotTry(f"no system is called `{args.system}`", nearest(args.system, systems))
        systems = {args.system: systems[args.system]}
    if not systems:
        raise manners.CannotTry("there is no system to explore", "name a system's file")
    chosen: Mapping[str, int] = what_if.suite_scope(args)
    if args.profile:
        profiles = compiled.profiles if not by_file else specs.compiled([], "explored").profiles
        if args.profile not in profiles:
            raise manners.CannotTry(f"no profile is called `{args.profile}`", nearest(args.profile, profiles))
        profile = profiles[args.profile]
        if profile.system not in systems:
            raise manners.CannotTry(
                f"profile {profile.name} is of the system {profile.system}", f"explore {profile.system}"
            )
        systems, chosen = {profile.system: systems[profile.system]}, {**chosen, **profile.scope}
    if len(systems) > 1 and what_if.asked(args):
        raise manners.CannotTry("what-if questions are asked of one system", f"name it; {nearest('', systems)}")
    if args.counterexamples and args.start and (args.without or args.only is not None):
        raise manners.CannotTry(
            "what begins elsewhere cannot be replayed where actions are missing",
            "leave out --counterexamples, or --from, or --without and --only",
        )
    scopes = specs.fitting_all(systems, {**chosen, **args.scope})
    return [_Task(system, scopes[name], compiled, files) for name, system in systems.items()]


def _code(whole: Whole) -> int:
    if whole.broken or whole.result.stuck is not None:
        return manners.FAILS
    return manners.HOLDS if whole.holds else manners.NOT_TRIED


def _write(done: _Done, folder: Path, prefix: str) -> None:
    from calfsm.explore.tell import preceded

    texts: dict[str, str] = {}
    for found in done.counterexamples:
        whole_way = preceded(found, done.bent.way) if done.bent.way is not None else found
        name = f"{prefix}{found.name}"
        texts |= counterexamples.files(done.whole.model, whole_way, name, done.task.files, folder, done.bent.code)
    if texts:
        counterexamples.write(texts, folder)
        manners.note(f"{manners.counted(len(texts), 'file')} written to {folder}")
    else:
        manners.note("nothing is broken; no file is written")


def _verdict_texts(whole: Whole) -> dict[str, str]:
    texts = {name: verdict.value for name, verdict in whole.verdicts.items()}
    return {**texts, **{name: promise.text for name, promise in whole.promises.items()}}


def _record(done: _Done) -> dict[str, Any]:
    from calfsm.explore.search import Result
    from calfsm.explore.tell import Told, ending, stories

    def lines(told: Told) -> list[dict[str, Any]]:
        return [{"do": line.call, "by": line.by, "changes": list(map(str, line.changes))} for line in told]

    whole, result, model = done.whole, done.whole.result, done.whole.model
    told = {found.name: (found, *stories(model, found)) for found in done.counterexamples if found.kind != "stuck"}
    stuck = next((stories(model, found)[0] for found in done.counterexamples if found.kind == "stuck"), None)
    return {
        "system": done.task.system.name,
        "digest": done.task.system.digest,
        "scope": dict(done.task.scope),
        "what_if": done.bent.text,
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "complete": result.complete,
        "stopped": result.stopped,
        "seconds": round(result.seconds, 3),
        **(fast.record(result) if not isinstance(result, Result) else {}),
        "symmetry": reduction.record(whole.symmetry, whole.stands_for),
        "workers": spread.record(done.loads),
        "properties": _verdict_texts(whole),
        "counterexamples": {name: lines(trace) for name, (_, trace, _) in told.items()},
        "cycles": {name: lines(cycle) for name, (found, _, cycle) in told.items() if found.kind == "eventually"},
        "why": {name: {"for": dict(found.picks), "says": ending(model, found)} for name, (found, _, _) in told.items()},
        "stuck": None if stuck is None else [line.call for line in stuck],
        "never_tested": None if done.remarks is None else [{"about": a, "what": w} for a, w in done.remarks],
    }


def _tell(done: _Done) -> None:
    from calfsm.explore.reduced import FOLLOWS
    from calfsm.explore.search import Result, Verdict

    whole, result = done.whole, done.whole.result
    colours = {Verdict.HOLDS: "green", Verdict.BROKEN: "red", Verdict.UNDECIDED: "yellow"}
    at = f" at {specs.shown_scope(done.task.scope)}" if done.task.scope else ""
    manners.say(f"{manners.painted(done.task.system.name, 'bold')}{at}")
    if done.bent.text:
        manners.say(manners.painted(f"what if: {done.bent.text}", "yellow"))
    manners.say(
        f"{manners.counted(result.states, 'state')}, {manners.counted(result.transitions, 'transition')}, "
        f"depth {result.depth}, {result.seconds:.1f} s" + (fast.speed(result) if not isinstance(result, Result) else "")
    )
    for line in (*reduction.lines(whole.symmetry, whole.stands_for), *spread.lines(done.loads)):
        manners.say(line)
    if result.stopped:
        manners.say(manners.painted(f"stopped early: {result.stopped}; what follows is of the states seen", "yellow"))
    texts = _verdict_texts(whole)
    rows = [(name, manners.painted(texts[name], colours[verdict])) for name, verdict in whole.verdicts.items()]
    manners.say(manners.table(("property", "verdict"), rows))
    if isinstance(result, Result) and {promise.why for promise in whole.promises.values()} - {
        "",
        FOLLOWS,
        spread.STATES_ONLY,
    }:
        manners.say("`--liveness` judges them all the same; it takes memory and time")
    for found in done.counterexamples:
        _tell_one(done, found)
    if done.remarks:
        manners.say(f"\n{manners.painted('never put to the test', 'bold')} at this scope:")
        manners.say("\n".join(f"  {about}: {what}" for about, what in done.remarks))


def _tell_one(done: _Done, found: Counterexample) -> None:
    from calfsm.explore.tell import ending, headline, stories

    colon = ":" if found.kind == "stuck" else ""
    manners.say(f"\n{manners.painted(found.name, 'bold', 'red')}{colon} {headline(found)}")
    trace, cycle = stories(done.whole.model, found)
    for line in (*trace, *ending(done.whole.model, found), *cycle):
        manners.say(str(line))
