"""`calfsm export`: a system as a model for another checker."""

from __future__ import annotations

import argparse
from pathlib import Path

from calfsm.cli import manners, specs

NAME = "export"
HELP = "write a system as a model for SPIN or Rumur"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which system, for which checker, at which scope, and where to."""
    specs.add_system(parser)
    parser.add_argument("--to", required=True, choices=("promela", "murphi"), help="the language of the model")
    specs.add_scope(parser)
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

    _, system, scope = specs.one_system(args, "exported")
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
