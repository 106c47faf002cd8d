"""`calfsm replay`: the steps of a counterexample, or of any suite, done again and told."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from calfsm.cli import manners, specs, suites

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.engine.system import System
    from calfsm.engine.table import Table
    from calfsm.explore.systems import SystemModel
    from calfsm.explore.tell import Counterexample
    from calfsm.paths.replay import Replay
    from calfsm.paths.run import Implementation
    from calfsm.paths.suite import Case, Suite
    from calfsm.render.sequence import Interaction

NAME = "replay"
HELP = "do the steps of a counterexample, or of any suite, again"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which file, on what, and what to draw."""
    file = parser.add_argument("file", type=Path, metavar="FILE", help="a suite: JSON Lines, as in found/NAME.jsonl")
    file.complete = manners.FILES  # type: ignore[attr-defined]
    manners.add_paths(parser, "the specs that it is done with: files, or folders of them")
    parser.add_argument("--case", metavar="NAME", help="this case only, told step by step")
    parser.add_argument(
        "--on",
        choices=("engine", "executor"),
        default="engine",
        help="who does the steps: the engine, or the executor with the simulated device (default: engine)",
    )
    parser.add_argument("--same-specs", action="store_true", help="refuse a file that was written for other specs")
    for name, what in (("--svg", "draw the case there, as SVG"), ("--mermaid", "draw the case there, as Mermaid")):
        picture = parser.add_argument(name, type=Path, metavar="FILE", help=what)
        picture.complete = manners.FILES  # type: ignore[attr-defined]
    manners.add_format(parser)
    parser.epilog = """
A suite of one case is told step by step. Of several cases each is a line, and those that fail are told; --case picks
one. Of a system's case, `always` is judged after every step; what a counterexample to `eventually` or `home` shows
is judged of the whole.

exit codes: 0 every step was done as it is written, and nothing is broken; 1 a step was not, or something is broken;
2 it could not be tried.
"""


@attrs.frozen
class _Done:
    """A case, what became of it, and what is broken on its way. `model` is None for the case of a machine."""

    case: Case
    replay: Replay
    model: SystemModel | None
    broken: list[Counterexample]

    @property
    def well(self) -> bool:
        """Whether it went as it is written, and nothing is broken."""
        return self.replay.failure is None and not self.broken


def run(args: argparse.Namespace) -> int:
    """Do the cases again, tell them, and draw one."""
    suite = suites.load(args.file)
    suite = attrs.evolve(suite, cases=_chosen(suite, args.case, args.file))
    if (args.svg or args.mermaid) and len(suite.cases) != 1:
        raise manners.CannotTry(
            f"{args.file} has {manners.counted(len(suite.cases), 'case')}, and one is drawn", "choose it with --case"
        )
    compiled = specs.compiled(args.paths, "replayed")
    whose = suites.whose(suite, compiled, args.file)
    same = suites.same_specs(suite, whose, args.file, args.same_specs)
    suite = attrs.evolve(suite, scope={**whose.exploring(), **suite.scope})
    with manners.progress() as show, manners.unlogged():
        done = []
        for number, case in enumerate(suite.cases, 1):
            show(f"{args.file}: case {number} of {len(suite.cases)}")
            done.append(_replayed(suite, case, whose, _implementation(args.on, whose, compiled, same)))
    if args.svg or args.mermaid:
        _draw(_interaction(suite, done[0], whose), args)
    if args.format == "json":
        manners.say_json([_record(each) for each in done])
    else:
        _tell(suite, done, args)
    return manners.HOLDS if all(each.well for each in done) else manners.FAILS


def _chosen(suite: Suite, name: str | None, path: Path) -> tuple[Case, ...]:
    from calfsm.spec.findings import nearest

    if not suite.cases:
        raise manners.CannotTry(f"{path} has no case", "write the suite again")
    if name is None:
        return suite.cases
    chosen = tuple(case for case in suite.cases if case.name == name)
    if not chosen:
        raise manners.CannotTry(f"{path} has no case `{name}`", nearest(name, [case.name for case in suite.cases]))
    return chosen[:1]


def _implementation(on: str, whose: System | Table, compiled: Compiled, same: bool) -> Implementation:
    """Who does the steps. What a suite for other specs does not speak of is not compared."""
    from calfsm.engine.system import System
    from calfsm.paths.replay import Narrowed
    from calfsm.paths.run import MachineImplementation, SystemImplementation

    made: Implementation
    if on == "executor":
        made = _executor(whose, compiled)
    elif isinstance(whose, System):
        made = SystemImplementation(whose)
    else:
        made = MachineImplementation(whose)
    return made if same else Narrowed(made)


def _executor(whose: System | Table, compiled: Compiled) -> Implementation:
    from calfsm.paths.executor import ExecutorImplementation
    from calfsm.tables import phase_a
    from calfsm.tables.executor import SYSTEM

    if whose != SYSTEM:
        raise manners.CannotTry(
            f"the executor runs the system {SYSTEM.name} as it was built, and no other",
            "leave `--on executor` out" + ("; or run `calfsm build` first" if whose.name == SYSTEM.name else ""),
        )
    profiles = [profile for profile in compiled.profiles.values() if profile.system == SYSTEM.name]
    return ExecutorImplementation(specs.adapter("calrt").CalrtStage, (profiles or [phase_a.PROFILE])[0])


def _replayed(suite: Suite, case: Case, whose: System | Table, implementation: Implementation) -> _Done:
    from calfsm.engine.system import System
    from calfsm.explore.along import broken_along
    from calfsm.explore.systems import SystemModel
    from calfsm.paths.replay import replay, way

    done = replay(suite, case, implementation)
    if not isinstance(whose, System):
        return _Done(case, done, None, [])
    try:
        model = SystemModel(whose, **suite.scope)
    except ValueError as error:
        raise manners.CannotTry(f"{error}", "give every part one instance at least") from None
    taken = way(whose, suite.scope, case.steps[: len(done.lines)])
    whole = case.name if done.failure is None else ""
    return _Done(case, done, model, broken_along(model, taken, whole))


# ---- telling


def _tell(suite: Suite, done: Sequence[_Done], args: argparse.Namespace) -> None:
    at = f" at {specs.shown_scope(suite.scope)}" if suite.scope else ""
    manners.say(f"{manners.painted(suite.name, 'bold')}{at}, on the {args.on}")
    if len(done) > 1:
        rows = [(each.case.name, len(each.replay.lines), _verdict(each)) for each in done]
        manners.say(manners.table(("case", "steps done", "result"), rows))
    for each in done:
        if len(done) == 1 or not each.well:
            manners.say(f"\n{manners.painted(each.case.name, 'bold')}, {suites.at(args.file, each.case)}")
            for line in (*map(str, each.replay.lines), *_matter(each)):
                manners.say(line)


def _verdict(each: _Done) -> str:
    said = [f"{found.name} is broken" for found in each.broken]
    if each.replay.failure is not None:
        said.append(f"step {each.replay.failure.number} is not as written")
    return "; ".join(said) or "as written"


def _matter(each: _Done) -> list[str]:
    """What is the matter with a case, or that nothing is."""
    from calfsm.explore.tell import ending

    failure, said = each.replay.failure, []
    for found in each.broken:
        assert each.model is not None
        after = f"after step {len(found.trace.steps)}" if found.trace.steps else "where it begins"
        where = after if found.kind == "always" else "on this way"
        said.append(manners.painted(f"{found.name} is broken {where}:", "red", "bold"))
        said += [f"  {text.removesuffix(':')}" for text in ending(each.model, found)]
        if found.cycle:
            said.append(f"  for ever: steps {len(found.trace.steps) + 1} to {len(found.steps)}, again and again")
    if failure is not None:
        said.append(manners.painted(f"step {failure.number}, {failure.step}, is not as written:", "yellow", "bold"))
        said.append(f"  {failure.why}")
    return said or [manners.painted("every step as written; nothing is broken", "green")]


def _record(each: _Done) -> dict[str, Any]:
    from calfsm.explore.tell import ending

    failure = each.replay.failure
    return {
        "case": each.case.name,
        "line": each.case.line,
        "steps": [
            {"do": line.call, "by": line.by, "changes": list(map(str, line.changes))} for line in each.replay.lines
        ],
        "failure": None if failure is None else {"step": failure.number, "do": failure.step, "why": failure.why},
        "broken": {
            found.name: {"after": len(found.trace.steps), "for": dict(found.picks), "says": ending(each.model, found)}
            for found in each.broken
            if each.model is not None
        },
    }


# ---- drawing


def _interaction(suite: Suite, each: _Done, whose: System | Table) -> Interaction:
    """The way to what is broken first, or all that was done."""
    from calfsm.engine.table import Table
    from calfsm.explore.systems import SystemModel
    from calfsm.render.sequence import Interaction, interaction, lifelines, system_and_scope, tables

    if each.broken and each.model is not None:
        return interaction(each.model, each.broken[0])
    replay = each.replay
    of = {suite.name: whose} if isinstance(whose, Table) else tables(SystemModel(whose, **suite.scope))
    failure = replay.failure
    ending = () if failure is None else (f"step {failure.number}, {failure.step}, is not as written: {failure.why}",)
    return Interaction(
        each.case.name,
        system_and_scope(suite.name, suite.scope),
        lifelines(of, replay.first, replay.last, replay.lines),
        replay.lines,
        ending=ending,
    )


def _draw(shown: Interaction, args: argparse.Namespace) -> None:
    from calfsm.compile.build import replace
    from calfsm.render.mermaid import sequence_mermaid
    from calfsm.render.sequence_svg import sequence_svg

    with manners.files_at_hand():
        if args.svg:
            replace(args.svg, sequence_svg(shown))
        if args.mermaid:
            replace(args.mermaid, sequence_mermaid(shown))
