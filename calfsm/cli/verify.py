"""`calfsm verify`: the whole job, from specs to pictures, with a table at the end."""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import attrs

from calfsm.cli import manners, specs

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.engine.system import Profile, System
    from calfsm.paths.run import Report
    from calfsm.paths.suite import Suite

NAME = "verify"
HELP = "do all of it: check, build, explore, run the paths, walk, draw"

SUITE_STATES = 60_000
"""How much of a system's states its suite is drawn from; where that is not all of them, the table says so."""
PLAIN_STATES = 300_000
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
    parser.add_argument("--quick", action="store_true", help="explore only scopes that take seconds")
    manners.add_format(parser)


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
    yield _built(compiled, clock)
    for system in compiled.systems.values():
        for name, scope in _scopes(compiled, system, args.quick):
            with manners.progress() as show:
                yield _explored(system, name, scope, clock, show)
        name, scope = next(_scopes(compiled, system, args.quick))
        with manners.progress() as show:
            yield _lived(system, name, scope, clock, show)
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


def _built(compiled: Compiled, clock: _Watch) -> Finding:
    from calfsm.cli import build

    folder = build.default_folder()
    if folder is None:
        return clock.found("build", "tables", None, "this project keeps no tables")
    stale = build.drifts(compiled, folder)
    if stale:
        names = ", ".join(f"{item.path.name} {item.kind}" for item in stale)
        return clock.found("build", str(folder), False, f"{names}: run `calfsm build`")
    return clock.found("build", str(folder), True, "fresh")


def _profiles(compiled: Compiled, system: System) -> list[Profile]:
    return [profile for profile in compiled.profiles.values() if profile.system == system.name]


def _scopes(compiled: Compiled, system: System, quick: bool) -> Iterator[tuple[str, dict[str, int]]]:
    """The scope of every profile; of a system without one, what its parameters explore."""
    named = [(profile.name, specs.fitting(system, profile.scope)) for profile in _profiles(compiled, system)]
    named = named or [("explores", system.exploring())]
    yield from named[:1] if quick else named


def _explored(system: System, name: str, scope: dict[str, int], clock: _Watch, show: Say) -> Finding:
    from calfsm.cli.fast import progress_line
    from calfsm.explore.compiled import explore_fast
    from calfsm.explore.search import Verdict
    from calfsm.explore.systems import story

    fast = importlib.util.find_spec("numba") is not None
    model, result = explore_fast(
        system,
        scope,
        max_states=None if fast else PLAIN_STATES,
        progress=lambda now: show(progress_line(f"{system.name} {name}", now)),
    )
    size = f"{result.states:,} states, {result.transitions:,} transitions, depth {result.depth}"
    broken = [prop for prop, verdict in result.verdicts.items() if verdict is Verdict.BROKEN]
    for prop in broken:
        show("")
        manners.note(f"{prop} is broken; a shortest way there:")
        manners.note("\n".join(str(line) for line in story(model, result.counterexamples[prop])))
    if result.stuck is not None:
        broken.append("a state is stuck")
    held = (
        f"; {manners.counted(len(result.verdicts), 'property', 'properties')} hold"
        if not broken
        else f"; broken: {', '.join(broken)}"
    )
    if not result.verdicts and not broken:
        held = "; there is no `always` to judge"
    if broken or result.complete:
        return clock.found("explore", f"{system.name}, {name}", not broken, size + held)
    return clock.found(
        "explore", f"{system.name}, {name}", None, f"not finished, {size}; pip install 'calfsm[fast]' for all of it"
    )


def _lived(system: System, name: str, scope: dict[str, int], clock: _Watch, show: Say) -> Finding:
    """What must happen some day: `eventually` and `home`, at a scope whose whole graph fits in memory."""
    from calfsm.cli.fast import progress_line
    from calfsm.explore.judging import explore_whole
    from calfsm.explore.search import Verdict
    from calfsm.explore.tell import counterexamples, told

    whole = explore_whole(
        system,
        scope,
        progress=lambda now: show(progress_line(f"{system.name} {name}", now)),
        judging=lambda what: show(f"{system.name} {name}: judging {what}"),
    )
    promises = {promise: verdict.verdict for promise, verdict in whole.promises.items()}
    for found in counterexamples(whole):
        if found.name in promises:
            show("")
            manners.note(told(whole.model, found))
    size = f"{whole.result.states:,} states"
    texts = ", ".join(f"{promise} {verdict.text}" for promise, verdict in whole.promises.items())
    held = None if Verdict.UNDECIDED in promises.values() else True
    if Verdict.BROKEN in promises.values():
        held = False
    return clock.found("liveness", f"{system.name}, {name}", held, f"{size}; {texts or 'nothing is promised'}")


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
    return clock.found("properties", what, True, f"{size}, at a scope too large to search; nothing broken{missed}")


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
