"""What-if questions of `calfsm explore`: the arguments that bend a system, a search, or where it begins."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from calfsm.cli import manners, suites
from calfsm.cli.conditions import conditions

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.engine.code import Term
    from calfsm.engine.engine import Snapshot
    from calfsm.engine.system import System
    from calfsm.explore.search import Trace
    from calfsm.explore.systems import Call
    from calfsm.explore.what_if import BentModel, WhatIf


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--without`, `--only`, `--fix` and `--from`."""
    group = parser.add_argument_group("what if")
    group.add_argument(
        "--without", action="append", default=[], metavar="ACTION", help="as if there was no such action"
    )
    group.add_argument("--only", metavar="SOURCE,…", help="as if nobody but these sources did anything")
    group.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="EXPR",
        help="go on only from states in which this holds; again for more that must hold",
    )
    start = group.add_argument(
        "--from", type=Path, dest="start", metavar="FILE", help="begin where the one case of this suite ends"
    )
    start.complete = manners.FILES  # type: ignore[attr-defined]


@attrs.frozen
class Bent:
    """What is searched instead. `text`: how, for people; `code`: how, as a call on `SYSTEM`, where actions are gone.

    `way`: the steps to where it begins, where that is not the initial state.
    """

    system: System
    what_if: WhatIf | None = None
    text: str = ""
    code: str = ""
    way: Trace[Snapshot, Call] | None = None


def asked(args: argparse.Namespace) -> bool:
    """Whether anything is bent."""
    return bool(args.without or args.only is not None or args.fix or args.start is not None)


def suite_scope(args: argparse.Namespace) -> Mapping[str, int]:
    """The scope of the suite that is begun from. Raises CannotTry."""
    return suites.load(args.start).scope if args.start is not None else {}


def bent(args: argparse.Namespace, compiled: Compiled, system: System, scope: Mapping[str, int]) -> Bent:
    """The system and the search that are asked for. Raises CannotTry."""
    from calfsm.explore.what_if import BentModel, WhatIf, only, without

    texts, code, changed, held, way = [], "SYSTEM", system, None, None
    terms: list[Term] = []
    if args.start is not None:
        way = _way(args.start, compiled, system, scope)
        texts.append(f"begun where {args.start} ends")
    if args.fix:
        changed, terms = conditions([("--fix", text) for text in args.fix], compiled, system)
        held = ("and", *terms)
        both = args.fix[0] if len(args.fix) == 1 else " and ".join(f"({text})" for text in args.fix)
        texts.append(f"gone on with only while `{both}` holds")
    if args.without:
        _known(args.without, [row.name for row in system.actions], f"action of {system.name}")
        changed, code = without(changed, args.without), f"without({code}, {args.without!r})"
        texts.append(f"without {', '.join(args.without)}")
    if args.only is not None:
        sources = [source.strip() for source in args.only.split(",") if source.strip()]
        _known(sources, sorted({row.by for row in system.actions}), f"source of an action of {system.name}")
        changed, code = only(changed, sources), f"only({code}, {sources!r})"
        texts.append(f"only {', '.join(sources)} acting" if sources else "nobody acting")
    start = way.end if way is not None else None
    what_if = WhatIf(start, held) if start is not None or held is not None else None
    for text, term in zip(args.fix, terms, strict=True):
        _holds_at_first(text, BentModel(changed, WhatIf(start, term), **scope))
    return Bent(changed, what_if, "; ".join(texts), code if code != "SYSTEM" else "", way)


def _known(names: Iterable[str], known: list[str], what: str) -> None:
    from calfsm.spec.findings import nearest

    for name in names:
        if name not in known:
            raise manners.CannotTry(f"`{name}` is no {what}", nearest(name, known))


def _holds_at_first(text: str, model: BentModel) -> None:
    """Refuse what would end the search in its first state. Raises CannotTry."""
    if not all(map(model.go_on, model.initial())):
        raise manners.CannotTry(
            f"`--fix {text}` does not hold where the search begins",
            "write what holds there, or begin elsewhere with --from",
        )


# ---- where to begin


def _way(path: Path, compiled: Compiled, system: System, scope: Mapping[str, int]) -> Trace[Snapshot, Call]:
    """The steps of the one case of a suite, done again; every state on the way must be as it is written."""
    from calfsm.paths.replay import Narrowed, replay, way
    from calfsm.paths.run import SystemImplementation

    suite = suites.load(path)
    if (suite.kind, suite.name) != ("system", system.name):
        raise manners.CannotTry(f"{path} is a suite of the {suite.kind} {suite.name}", f"name one of {system.name}")
    if len(suite.cases) != 1:
        raise manners.CannotTry(f"{path} has {manners.counted(len(suite.cases), 'case')}", "leave one in it")
    suites.whose(suite, compiled, path)
    engine = SystemImplementation(system)
    same = suites.same_specs(suite, system, path)
    suite, (case,) = attrs.evolve(suite, scope=scope), suite.cases
    failure = replay(suite, case, engine if same else Narrowed(engine)).failure
    if failure is not None:
        raise manners.CannotTry(
            f"{suites.at(path, case)}: step {failure.number}, {failure.step}, cannot be done as it is written: "
            f"{failure.why}",
            "write the case again, for these specs and this scope",
        )
    return way(system, scope, case.steps)
