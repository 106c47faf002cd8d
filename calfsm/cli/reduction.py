"""`calfsm explore --symmetry`: the argument, and what a report says of the states that the kept ones stand for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from calfsm.cli import manners

if TYPE_CHECKING:
    from calfsm.explore.quotient import StandsFor
    from calfsm.explore.symmetry import Symmetry


def add_argument(parser: argparse.ArgumentParser) -> None:
    """`--symmetry`."""
    parser.add_argument(
        "--symmetry",
        action="store_true",
        help="keep one state of all that differ only in which interchangeable instance is which; `always` and `home`",
    )


def check(args: argparse.Namespace) -> None:
    """Whether what is asked for can be reduced. Raises CannotTry."""
    if args.symmetry and args.start is not None:
        raise manners.CannotTry(
            "what begins elsewhere cannot be reduced by symmetry", "leave out --symmetry, or --from"
        )


def lines(symmetry: Symmetry | None, stands_for: StandsFor | None) -> Iterator[str]:
    """What the states stand for, and what was not used for it; nothing for a search that is not reduced."""
    if symmetry is None or stands_for is None:
        return
    why = f"symmetry of {', '.join(symmetry.names)}" if symmetry.names else "no instances are interchangeable"
    yield f"they stand for {stands_for.states:,} states, {stands_for.transitions:,} transitions ({why})"
    for part, why in symmetry.reasons.items():
        yield manners.painted(f"no symmetry of {part}: {why}", "yellow")


def record(symmetry: Symmetry | None, stands_for: StandsFor | None) -> dict[str, Any] | None:
    """The same for programs."""
    if symmetry is None or stands_for is None:
        return None
    return {
        "of": symmetry.names,
        "not_of": dict(symmetry.reasons),
        "renamings": symmetry.order,
        "states": stands_for.states,
        "transitions": stands_for.transitions,
        "fired": stands_for.fired,
    }
