"""What-if questions of `calfsm explore`: the arguments that bend a system, a search, or where it begins."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from calfsm.cli import manners

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.engine.code import Term
    from calfsm.engine.engine import Snapshot
    from calfsm.engine.system import System
    from calfsm.explore.search import Trace
    from calfsm.explore.systems import Call
    from calfsm.explore.what_if import WhatIf
    from calfsm.paths.suite import Suite


_FIX = "--fix"
"""As which property the expression is compiled; no property can be called that."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--without`, `--only`, `--fix` and `--from`."""
    group = parser.add_argument_group("what if")
    group.add_argument(
        "--without", action="append", default=[], metavar="ACTION", help="as if there was no such action"
    )
    group.add_argument("--only", metavar="SOURCE,…", help="as if nobody but these sources did anything")
    group.add_argument("--fix", metavar="EXPR", help="go on only from states in which this holds")
    start = group.add_argument(
        "--from", type=Path, dest="start", metavar="FILE", help="begin where the one case of this suite ends"
    )
    start.complete = manners.FILES  # type: ignore[attr-defined]


@attrs.frozen
class Bent:
    """What is searched instead. `text`: how, for people; `code`: how, as a call on `system`, where actions are gone.

    `way`: the steps to where it begins, where that is not the initial state.
    """

    system: System
    what_if: WhatIf | None = None
    text: str = ""
    code: str = ""
    way: Trace[Snapshot, Call] | None = None


def asked(args: argparse.Namespace) -> bool:
    """Whether anything is bent."""
    return bool(args.without or args.only is not None or args.fix is not None or args.start is not None)


def suite_scope(args: argparse.Namespace) -> Mapping[str, int]:
    """The scope of the suite that is begun from. Raises CannotTry."""
    return _suite(args.start).scope if args.start is not None else {}


def bent(args: argparse.Namespace, compiled: Compiled, system: System, scope: Mapping[str, int]) -> Bent:
    """The system and the search that are asked for. Raises CannotTry."""
    from calfsm.explore.what_if import WhatIf, only, without

    texts, code, changed, held, way = [], "system", system, None, None
    if args.start is not None:
        way = _way(args.start, system, scope)
        texts.append(f"begun where {args.start} ends")
    if args.fix is not None:
        changed, held = _held(args.fix, compiled, system)
        texts.append(f"gone on with only while `{args.fix}` holds")
    if args.without:
        _known(args.without, [row.name for row in system.actions], f"action of {system.name}")
        changed, code = without(changed, args.without), f"without({code}, {args.without!r})"
        texts.append(f"without {', '.join(args.without)}")
    if args.only is not None:
        sources = [source.strip() for source in args.only.split(",") if source.strip()]
        _known(sources, sorted({row.by for row in system.actions}), f"source of an action of {system.name}")
        changed, code = only(changed, sources), f"only({code}, {sources!r})"
        texts.append(f"only {', '.join(sources) or 'nobody'} acting")
    start = way.end if way is not None else None
    what_if = WhatIf(start, held) if start is not None or held is not None else None
    return Bent(changed, what_if, "; ".join(texts), code if code != "system" else "", way)


def _known(names: Iterable[str], known: list[str], what: str) -> None:
    from calfsm.spec.findings import nearest

    for name in names:
        if name not in known:
            raise manners.CannotTry(f"`{name}` is no {what}", nearest(name, known))


def _held(text: str, compiled: Compiled, system: System) -> tuple[System, Term]:
    """The system, keeping the counts that the expression needs as well, and the expression."""
    from calfsm.check.kinds import BOOL, SystemScope, judge
    from calfsm.compile.systems import compile_system
    from calfsm.explore.what_if import changed
    from calfsm.spec.expressions import ExpressionError, parse

    spec = compiled.system_specs[system.name]
    try:
        expression = parse(text)
    except ExpressionError as error:
        raise manners.CannotTry(f"--fix `{text}`: {error.message}", error.fix) from None
    for problem in judge(expression, SystemScope(spec, compiled.machine_specs), BOOL):
        because = f"; {problem.because}" if problem.because else ""
        raise manners.CannotTry(f"--fix `{text}`: {problem.message}{because}", problem.fix)
    more = compile_system(attrs.evolve(spec, always={**spec.always, _FIX: expression}), compiled.tables)
    row = next(row for row in more.always if row.name == _FIX)
    counting = changed(more, digest=system.digest, always=tuple(other for other in more.always if other is not row))
    return counting, ("and", *(condition.term for condition in row.conditions))


# ---- where to begin


def _suite(path: Path) -> Suite:
    from calfsm.paths.suite import BadSuite, load

    try:
        with manners.files_at_hand():
            return load(path)
    except BadSuite as error:
        raise manners.CannotTry(str(error), "name a suite of one case, as `--counterexamples` writes it") from None


def _way(path: Path, system: System, scope: Mapping[str, int]) -> Trace[Snapshot, Call]:
    """The steps of the one case of a suite, done again."""
    from calfsm.engine.engine import ActionRefused, Engine
    from calfsm.explore.search import Trace

    suite = _suite(path)
    if (suite.kind, suite.name) != ("system", system.name):
        raise manners.CannotTry(f"{path} is a suite of the {suite.kind} {suite.name}", f"name one of {system.name}")
    if len(suite.cases) != 1:
        raise manners.CannotTry(f"{path} has {manners.counted(len(suite.cases), 'case')}", "leave one in it")
    engine = Engine(system, **scope)
    start, steps = engine.snapshot(), []
    for number, step in enumerate(suite.cases[0].steps, 1):
        if step.refused:
            continue
        try:
            done = engine.apply(step.do, **step.arguments)
        except (ActionRefused, TypeError) as error:
            raise manners.CannotTry(
                f"{path}: step {number}, {step}, cannot be done: {error}", "write the case again, for these specs"
            ) from None
        call = system.action_index(done.action), tuple(done.arguments.values())
        steps.append((call, engine.snapshot()))
    return Trace(start, tuple(steps))
