"""`calfsm explore --fast`: the compiled search, for scopes that the plain one does not finish."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from calfsm.cli import manners, specs

if TYPE_CHECKING:
    from calfsm.engine.system import System
    from calfsm.explore.compiled import FastResult
    from calfsm.explore.compiled.search import TooFewBytes
    from calfsm.explore.judging import Whole
    from calfsm.explore.search import Progress


def progress_line(name: str, now: Progress) -> str:
    """Where a search stands, on one line."""
    rate = now.states / now.seconds if now.seconds else 0
    found = f"{now.states:,} states, {now.transitions:,} transitions, depth {now.depth}"
    return f"{name}: {found}, {rate:,.0f} states/s, {now.seconds:.0f} s"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a compiled search may use."""
    parser.add_argument("--threads", type=specs.positive, metavar="N", help="with --fast: search on N threads, not 1")
    parser.add_argument(
        "--max-bytes",
        type=_size,
        metavar="BYTES",
        help="with --fast: what states may take, as 4G or 500M; three quarters of what is free, unless given",
    )


def _size(text: str) -> int:
    units = {"k": 10, "m": 20, "g": 30, "t": 40}
    number, shift = (text[:-1], units[text[-1:].lower()]) if text[-1:].lower() in units else (text, 0)
    if not number.isdecimal() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of bytes, as 4G, 500M or 1000000")
    return int(number) << shift


def check(args: argparse.Namespace) -> None:
    """Whether what is asked for can be compiled. Raises CannotTry."""
    for given, name in ((args.threads, "--threads"), (args.max_bytes, "--max-bytes")):
        if given is not None and not (args.fast or args.on):
            raise manners.CannotTry(f"{name} is for the compiled search", "add --fast")
    if args.fast and (args.fix or args.start is not None):
        raise manners.CannotTry(
            "--fast goes on from every state, and begins in the initial one", "leave out --fast, or --fix and --from"
        )


def explored(system: System, scope: Mapping[str, int], args: argparse.Namespace, show: Callable[[str], None]) -> Whole:
    """Search a system by compiled code, and judge all of its properties. Raises CannotTry."""
    from calfsm.explore.compiled import CannotCompile
    from calfsm.explore.compiled.search import TooFewBytes
    from calfsm.explore.compiled.whole import explore_whole_fast

    show(f"{system.name}: compiling")
    try:
        return explore_whole_fast(
            system,
            scope,
            symmetry=args.symmetry,
            threads=args.threads or 1,
            max_states=args.max_states,
            max_seconds=args.max_seconds,
            max_bytes=args.max_bytes,
            progress=lambda now: show(progress_line(system.name, now)),
            judging=lambda what: show(f"{system.name}: {what}"),
        )
    except TooFewBytes as error:
        raise too_little(error, args) from None
    except CannotCompile as error:
        raise manners.CannotTry(f"{system.name} cannot be compiled: {error}", "leave --fast out") from None


def too_little(error: TooFewBytes, args: argparse.Namespace) -> manners.CannotTry:
    """What to say of a search, on threads or on workers, whose memory does not allow for a beginning."""
    if args.max_bytes is not None:
        return manners.CannotTry(str(error).replace("max_bytes", "--max-bytes"), "or leave it out")
    many = manners.counted(args.workers or 2, "worker") if args.on else manners.counted(args.threads or 1, "thread")
    return manners.CannotTry(
        f"there is too little memory for {many}", f"give fewer --{'workers' if args.on else 'threads'}, or free some"
    )


def speed(result: FastResult) -> str:
    """How fast a compiled search was, and what it took."""
    rate = result.states / max(result.seconds, 1e-9)
    return (
        f" ({rate:,.0f} states/s, {result.bytes_per_state:.0f} bytes a state, ready in {result.compile_seconds:.1f} s)"
    )


def record(result: FastResult) -> dict[str, Any]:
    """The same for programs, and how often each action was taken."""
    return {
        "compile_seconds": round(result.compile_seconds, 3),
        "bytes_per_state": round(result.bytes_per_state, 1),
        "fired": result.fired,
    }
