"""`calfsm verify`: the whole job, from specs to pictures, with a table at the end."""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from calfsm.cli import manners, specs

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.engine.system import Profile, System
    from calfsm.explore.judging import Whole
    from calfsm.explore.search import Progress
    from calfsm.paths.run import Report
    from calfsm.paths.suite import Suite

NAME = "verify"
HELP = "do all of it: check, build, explore, run the paths, walk, draw"

SUITE_STATES = 60_000
"""How much of a system's states its suite is drawn from; where that is not all of them, the table says so."""
QUICK_STATES = 50_000
"""What is explored before anything is compiled, and all that is explored when it is to be quick."""
NAMED = 3
"""Stale modules that are named."""
MOST_STATES = 300_000
"""Where the search ends that is not compiled: at some minutes."""
WALK = {"states": 20_000, "seed": 2026}
WALK_SCOPE = {
    "requests": 4,
    "jobs": 3,
    "buffers": 3,
    "lanes": 3,
    "limit": 2,
    "max_length": 4,
    "chunk": 2,
    "too_long": 5,
    "sequences": 4,
    "slots": 2,
    "capacity": 2,
    "carries": 4,
}
"""Larger than any search here can finish."""


@attrs.frozen
class Finding:
    """One line of the table: `held` is None where there was nothing to judge."""

    stage: str
    what: str
    held: bool | None
    result: str
    seconds: float


Say = Callable[[str], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which specs, and whether to leave the long searches out."""
    manners.add_paths(parser)
    parser.add_argument(
        "--quick", action="store_true", help=f"explore the first scope only, and {QUICK_STATES:,} states at most"
    )
    manners.add_format(parser)
    parser.epilog = """
exit codes: 0 nothing is broken (what was not judged is marked --); 1 something is; 2 it could not begin.
"""


def run(args: argparse.Namespace) -> int:
    """Do every stage; a stage that fails does not keep the others from being done."""
    with manners.unlogged():
        return _verified(args)


def _verified(args: argparse.Namespace) -> int:
    found: list[Finding] = []
    began = time.monotonic()
    for finding in _stages(args):
        found.append(finding)
        if args.format == "text":
            manners.note(f"{_mark(finding)} {finding.stage}: {finding.what}: {finding.result}")
    held = all(finding.held is not False for finding in found)
    if args.format == "json":
        manners.say_json(
            {"held": held, "seconds": round(time.monotonic() - began, 1), "stages": [attrs.asdict(f) for f in found]}
        )
    else:
        rows = [(_mark(f), f.stage, f.what, f.result, f"{f.seconds:.1f} s") for f in found]
        manners.say(manners.table(("", "stage", "what", "result", "time"), rows))
        words = "everything holds" if held else "not everything holds"
        if held and any(finding.held is None and finding.stage in ("explore", "liveness") for finding in found):
            words = "nothing is broken, and not everything was judged"
        manners.say(manners.painted(f"{words}, {time.monotonic() - began:.0f} s", "green" if held else "red", "bold"))
    return manners.HOLDS if held else manners.FAILS


def _mark(finding: Finding) -> str:
    text, colour = {True: ("ok", "green"), False: ("NO", "red"), None: ("--", "yellow")}[finding.held]
    return manners.painted(text, colour)


def _stages(args: argparse.Namespace) -> Iterator[Finding]:
    clock = _Watch()
    compiled = specs.compiled(args.paths, "verified")
    yield clock.found(
        "check", _listed(compiled), True, f"no errors, {manners.counted(len(compiled.findings), 'warning')}"
    )
    yield _built(compiled, args.paths, clock)
    for system in compiled.systems.values():
        for name, scope in _scopes(compiled, system, args.quick):
            with manners.progress() as show:
                yield from _explored(system, name, scope, args.quick, clock, show)
    yield _machine_paths(compiled, clock)
    for system in compiled.systems.values():
        for profile in _profiles(compiled, system):
            with manners.progress() as show:
                yield _system_paths(system, profile, clock, show)
        with manners.progress() as show:
            yield _walked(system, clock, show)
    yield _drawn(compiled, clock)


class _Watch:
    """Seconds since the last finding."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def found(self, stage: str, what: str, held: bool | None, result: str) -> Finding:
        now = time.monotonic()
        finding = Finding(stage, what, held, result, round(now - self._last, 2))
        self._last = now
        return finding


def _listed(compiled: Compiled) -> str:
    return ", ".join(
        manners.counted(len(things), thing)
        for things, thing in (
            (compiled.tables, "machine"),
            (compiled.systems, "system"),
            (compiled.profiles, "profile"),
        )
    )


def _built(compiled: Compiled, paths: Sequence[Path], clock: _Watch) -> Finding:
    from calfsm.cli import build

    folder = build.default_folder(paths)
    if folder is None:
        return clock.found("build", "tables", None, "this project keeps no tables")
    stale = build.drifts(compiled, folder, whole=not paths)
    if stale:
        names = ", ".join(f"{item.path.name} {item.kind}" for item in stale[:NAMED])
        names += f" and {len(stale) - NAMED} more" if len(stale) > NAMED else ""
        return clock.found("build", str(folder), False, f"{names}: run `calfsm build`")
    return clock.found("build", str(folder), True, "fresh")


def _profiles(compiled: Compiled, system: System) -> list[Profile]:
    return [profile for profile in compiled.profiles.values() if profile.system == system.name]


def _scopes(compiled: Compiled, system: System, quick: bool) -> Iterator[tuple[str, dict[str, int]]]:
    """The scope of every profile; of a system without one, what its parameters explore."""
    named = [(profile.name, specs.fitting(system, profile.scope)) for profile in _profiles(compiled, system)]
    named = named or [("explores", system.exploring())]
    yield from named[:1] if quick else named


def _explored(
    system: System, name: str, scope: dict[str, int], quick: bool, clock: _Watch, show: Say
) -> Iterator[Finding]:
    """What holds of the states, and of the runs."""
    from calfsm.explore.search import Verdict
    from calfsm.explore.tell import counterexamples, told

    whole = _searched(system, name, scope, quick, show)
    result = whole.result
    for found in counterexamples(whole):
        show("")
        manners.note(told(whole.model, found))
    what = f"{system.name}, {name}"
    size = f"{result.states:,} states, {result.transitions:,} transitions, depth {result.depth}"
    broken = [prop for prop, verdict in result.verdicts.items() if verdict is Verdict.BROKEN]
    broken += ["a state is stuck"] if result.stuck is not None else []
    if broken:
        yield clock.found("explore", what, False, f"{size}; broken: {', '.join(broken)}")
    elif not result.complete:
        way_out = "leave out --quick" if quick else "pip install 'calfsm[fast]'"
        yield clock.found("explore", what, None, f"not finished, {size}; {way_out} for all of it")
    else:
        count = manners.counted(len(result.verdicts), "property", "properties")
        judged = f"{count} hold" if result.verdicts else "there is no `always` to judge"
        yield clock.found("explore", what, True, f"{size}; {judged}")
    verdicts = {promise.verdict for promise in whole.promises.values()}
    held = False if Verdict.BROKEN in verdicts else None if Verdict.UNDECIDED in verdicts else True
    texts = [f"{promise} {verdict.text}" for promise, verdict in whole.promises.items()]
    if held and len(texts) > 1:
        texts = [f"{', '.join(whole.promises)} hold"]
    yield clock.found("liveness", what, held, ", ".join(texts) or "nothing is promised")


def _searched(system: System, name: str, scope: dict[str, int], quick: bool, show: Say) -> Whole:
    """A system, searched whole and judged; by compiled code, if it is at hand or worth compiling."""
    from calfsm.cli.fast import progress_line
    from calfsm.explore.judging import explore_whole
    from calfsm.explore.systems import SystemModel

    def progress(now: Progress) -> None:
        show(progress_line(f"{system.name} {name}", now))

    def judging(what: str) -> None:
        show(f"{system.name} {name}: {what}")

    def plainly(most: int) -> Whole:
        # Where it stops, only states are judged.
        return explore_whole(
            system, scope, max_states=most, liveness_states=most - 1, progress=progress, judging=judging
        )

    if importlib.util.find_spec("numba") is None:
        return plainly(QUICK_STATES if quick else MOST_STATES)
    from calfsm.explore.compiled import CannotCompile, Layout, cache
    from calfsm.explore.compiled.whole import explore_whole_fast

    try:
        if not cache.is_kept(Layout(system, SystemModel(system, **scope).engine.params)):
            # A small system is explored before the compiler is done with it.
            whole = plainly(QUICK_STATES)
            if quick or whole.result.complete:
                return whole
            judging("compiling")
        return explore_whole_fast(system, scope, progress=progress, judging=judging)
    except CannotCompile:
        return plainly(QUICK_STATES if quick else MOST_STATES)


def _machine_paths(compiled: Compiled, clock: _Watch) -> Finding:
    from calfsm.paths.generate import machine_suite
    from calfsm.paths.run import MachineImplementation, run_suite

    runs: list[tuple[Suite, Report]] = []
    for table in compiled.tables.values():
        suite = machine_suite(table)
        runs.append((suite, run_suite(suite, MachineImplementation(table))))
    return _reported("every machine", runs, clock)


def _system_paths(system: System, profile: Profile, clock: _Watch, show: Say) -> Finding:
    from calfsm.cli.fast import progress_line
    from calfsm.paths.generate import system_suite
    from calfsm.paths.run import run_suite
    from calfsm.tables.executor import SYSTEM

    what = f"{system.name}, {profile.name}, on the simulated device"
    if system != SYSTEM:
        return clock.found("paths", f"{system.name}, {profile.name}", None, "no implementation of it comes with calfsm")
    from calfsm.paths.executor import ExecutorImplementation

    scope = specs.fitting(system, suite_scope(profile))
    suite = system_suite(
        system,
        scope,
        max_states=SUITE_STATES,
        progress=lambda now: show(progress_line(f"paths of {system.name} {profile.name}", now)),
        covered=lambda some, all_: show(f"paths of {system.name} {profile.name}: {some} of {all_} goals"),
    )
    make_stage = specs.adapter("calrt").CalrtStage
    return _reported(what, [(suite, run_suite(suite, ExecutorImplementation(make_stage, profile)))], clock)


def suite_scope(profile: Profile) -> dict[str, int]:
    """A profile's scope with one request a job: as much as every path needs, and small enough to be covered whole."""
    return {**profile.scope, "requests": profile.scope.get("jobs", 1)}


def _reported(what: str, runs: list[tuple[Suite, Report]], clock: _Watch) -> Finding:
    from calfsm.cli.paths import FAMILIES

    failures = [failure for _, report in runs for failure in report.failures]
    missing = [name for suite, _ in runs for name in suite.missing]
    for failure in failures:
        manners.note(str(failure))
    totals = {family: sum(suite.goals.get(family, 0) for suite, _ in runs) for family in FAMILIES}
    goals = ", ".join(f"{number} {family}" for family, number in totals.items() if number)
    steps, cases = sum(report.steps for _, report in runs), sum(report.cases for _, report in runs)
    text = f"{manners.counted(steps, 'step')} in {manners.counted(cases, 'case')}: {goals}"
    if missing:
        text += f"; never happened: {', '.join(missing)}"
    if failures:
        text += f"; {manners.counted(len(failures), 'failure')}"
    return clock.found("paths", what, not failures and not missing, text)


def _walked(system: System, clock: _Watch, show: Say) -> Finding:
    from calfsm.explore.systems import story
    from calfsm.explore.walk import walk

    known = system.exploring()
    scope = {**known, **{name: value for name, value in WALK_SCOPE.items() if name in known}}
    show(f"random walk through {system.name}")
    model, walked = walk(system, scope, **WALK)
    what = f"{system.name}, random walk"
    if walked.trace is not None:
        manners.note("\n".join(str(line) for line in story(model, walked.trace)))
        return clock.found("properties", what, False, f"{walked.broken} is broken after {walked.states:,} states")
    never = [row.name for index, row in enumerate(system.actions) if index not in walked.taken]
    size = f"{walked.states:,} states, depth {walked.depth}, {len(walked.taken)} of {len(system.actions)} actions"
    missed = f"; never taken: {', '.join(never)}" if 0 < len(never) <= 3 else ""
    at = "the scope that was searched" if scope == known else "a scope too large to search"
    return clock.found("properties", what, True, f"{size}, at {at}; nothing broken{missed}")


def _drawn(compiled: Compiled, clock: _Watch) -> Finding:
    from calfsm import render
    from calfsm.cli.render import default_folder

    folder = default_folder()
    try:
        texts = render.diagrams(compiled)
    except render.CannotDraw as error:
        return clock.found("diagrams", "pictures", None, f"{error.message}: {error.fix}")
    if not folder.is_dir():
        return clock.found("diagrams", "pictures", True, f"{len(texts)} drawn; none committed to compare with")
    with manners.files_at_hand():
        stale = render.stale_files(texts, folder)
    if stale:
        return clock.found("diagrams", str(folder), False, f"{len(stale)} not fresh: run `calfsm render`")
    return clock.found("diagrams", str(folder), True, f"{len(texts)} fresh")
