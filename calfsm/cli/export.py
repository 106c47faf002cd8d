"""`calfsm export`: a system as a model for another checker."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from calfsm.cli import manners, specs

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.engine.system import System

NAME = "export"
HELP = "write a system as a model for SPIN or Rumur"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which system, for which checker, at which scope, and where to."""
    system = parser.add_argument("system", metavar="SYSTEM", help="a system's file or name")
    system.complete = manners.FILES  # type: ignore[attr-defined]
    parser.add_argument("--to", required=True, choices=("promela", "murphi"), help="the language of the model")
    specs.add_scope(parser)
    parser.add_argument("--profile", metavar="NAME", help="the scope of a profile; --scope goes over it")
    into = parser.add_argument("--into", type=Path, metavar="FILE", help="where to write it; without, it is printed")
    into.complete = manners.FILES  # type: ignore[attr-defined]
    parser.epilog = """
The model says at its beginning how to run it, and how its checker's counts relate to those of `calfsm explore`.

exit codes: 0 it is written; 2 it could not be.
"""


def run(args: argparse.Namespace) -> int:
    """Write one model."""
    from calfsm.compile.build import replace
    from calfsm.export import FORMATS, CannotExport

    system, scope = _wanted(args)
    try:
        text = FORMATS[args.to](system, scope)
    except CannotExport as error:
        raise manners.CannotTry(error.message, error.fix) from None
    except ValueError as error:
        raise manners.CannotTry(str(error), "give every part one instance at least") from None
    if args.into is None:
        manners.say(text.rstrip("\n"))
        return manners.HOLDS
    with manners.files_at_hand():
        replace(args.into, text)
    manners.note(f"{args.into}: {system.name} at {specs.shown_scope(scope)}")
    return manners.HOLDS


def _wanted(args: argparse.Namespace) -> tuple[System, dict[str, int]]:
    path = Path(args.system)
    by_file = path.suffix in manners.SUFFIXES or path.exists()
    compiled = specs.compiled([path] if by_file else [], "exported")
    system = _system(compiled, args.system, by_file)
    chosen = {}
    if args.profile:
        chosen = _scope(compiled if not by_file else specs.compiled([], "exported"), args.profile, system)
    return system, specs.fitting(system, {**chosen, **args.scope})


def _system(compiled: Compiled, wanted: str, by_file: bool) -> System:
    from calfsm.spec.findings import nearest

    systems = compiled.systems
    if by_file:
        if len(systems) != 1:
            found = manners.counted(len(systems), "system")
            raise manners.CannotTry(f"{wanted} holds {found}", "name one: its file, or `calfsm export NAME`")
        return next(iter(systems.values()))
    if wanted not in systems:
        raise manners.CannotTry(f"no system is called `{wanted}`", nearest(wanted, systems))
    return systems[wanted]


def _scope(compiled: Compiled, name: str, system: System) -> dict[str, int]:
    from calfsm.spec.findings import nearest

    if name not in compiled.profiles:
        raise manners.CannotTry(f"no profile is called `{name}`", nearest(name, compiled.profiles))
    profile = compiled.profiles[name]
    if profile.system != system.name:
        raise manners.CannotTry(f"profile {name} is of the system {profile.system}", f"export {profile.system}")
    return dict(profile.scope)
