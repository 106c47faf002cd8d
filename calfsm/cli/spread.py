"""`calfsm explore --on ray` and `--swarm`: a search on several machines, and random walks where no search ends."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from calfsm.cli import manners, specs
from calfsm.cli.fast import progress_line, too_little

if TYPE_CHECKING:
    from calfsm.engine.system import System
    from calfsm.explore.compiled.shares import Load
    from calfsm.explore.judging import Whole

WALK_STATES = 20_000
"""States that a walk of a swarm sees, unless --max-states says otherwise."""
STATES_ONLY = "only states are seen here, and not what follows on what"
"""Why what one state cannot show is not judged of a search that is spread."""


@attrs.frozen
class Spread:
    """A search on several workers, and what each of them did."""

    whole: Whole
    loads: list[Load]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to search, on how many workers, and how many walks."""
    group = parser.add_argument_group("spread")
    group.add_argument(
        "--on", choices=["ray"], help="spread the compiled search, or a swarm, over workers (pip install 'calfsm[ray]')"
    )
    group.add_argument("--workers", type=specs.positive, metavar="N", help="with --on: on N workers, not 2")
    group.add_argument("--address", metavar="WHERE", help="with --on: a cluster that runs already, as `auto`")
    group.add_argument(
        "--swarm",
        type=specs.positive,
        metavar="N",
        help=f"N random walks instead of a search, of --max-states states each (default: {WALK_STATES:,})",
    )
    group.add_argument("--seed", type=int, metavar="N", help="with --swarm: the first walk's; those after it count on")


def check(args: argparse.Namespace) -> None:
    """Whether what is asked for goes together. Raises CannotTry."""
    for given, name in ((args.workers, "--workers"), (args.address, "--address")):
        if given is not None and args.on is None:
            raise manners.CannotTry(f"{name} is for what is spread", "add --on ray")
    if args.seed is not None and not args.swarm:
        raise manners.CannotTry("--seed is for random walks", "add --swarm N")
    bent = args.fix or args.start is not None
    if (args.on or args.swarm) and bent:
        raise manners.CannotTry(
            "what is spread goes on from every state, and begins in the initial one",
            "leave out --on and --swarm, or --fix and --from",
        )
    if (args.on or args.swarm) and args.liveness:
        raise manners.CannotTry(f"nothing but `always` can be judged: {STATES_ONLY}", "leave out --liveness")
    if args.swarm and (args.fast or args.symmetry or args.max_seconds is not None):
        raise manners.CannotTry("a swarm walks as it is", "leave out --fast, --symmetry and --max-seconds")
    if args.on and args.threads is not None:
        raise manners.CannotTry("each worker is one thread", "leave out --threads; say --workers")


def explored(system: System, scope: Mapping[str, int], args: argparse.Namespace, show: Callable[[str], None]) -> Spread:
    """Search a system on Ray. Raises CannotTry."""
    from calfsm.explore.compiled import CannotCompile
    from calfsm.explore.compiled.search import TooFewBytes
    from calfsm.explore.judging import Whole, undecided
    from calfsm.explore.on_ray import CannotSpread, explore_on_ray

    show(f"{system.name}: compiling, and waiting for workers")
    try:
        model, result, loads = explore_on_ray(
            system,
            scope,
            workers=args.workers or 2,
            address=args.address,
            symmetry=args.symmetry,
            max_states=args.max_states,
            max_seconds=args.max_seconds,
            max_bytes=args.max_bytes,
            progress=lambda now: show(progress_line(system.name, now)),
        )
    except TooFewBytes as error:
        raise too_little(error, args) from None
    except CannotCompile as error:
        raise manners.CannotTry(f"{system.name} cannot be compiled: {error}", "leave --on out") from None
    except CannotSpread as error:
        raise manners.CannotTry(str(error), "leave --on out") from None
    promises = undecided(system, STATES_ONLY)
    return Spread(Whole(model, result, promises, None, None, result.symmetry, result.stands_for), loads)


def swarmed(system: System, scope: Mapping[str, int], args: argparse.Namespace, show: Callable[[str], None]) -> Whole:
    """Walk through a system at random. Raises CannotTry."""
    import time
    from contextlib import nullcontext

    from calfsm.explore.judging import Whole, undecided
    from calfsm.explore.on_ray import CannotSpread, walks_on_ray
    from calfsm.explore.search import Result, Verdict
    from calfsm.explore.walk import swarm

    began = time.monotonic()
    first = args.seed or 0
    places = walks_on_ray(args.workers or 2, args.address) if args.on else nullcontext(map)
    show(f"{system.name}: walking")
    try:
        with places as everywhere:
            model, found = swarm(
                system,
                scope,
                seeds=range(first, first + args.swarm),
                states=args.max_states or WALK_STATES,
                everywhere=everywhere,
                progress=lambda done: show(f"{system.name}: {done} of {args.swarm} walks"),
            )
    except CannotSpread as error:
        raise manners.CannotTry(str(error), "leave --on out") from None
    never = f"; never taken: {', '.join(found.never)}" if found.never else "; every action was taken"
    result = Result(
        states=found.states,
        transitions=found.states - found.walks,
        depth=found.depth,
        verdicts={row.name: Verdict.BROKEN if row.name in found.broken else Verdict.UNDECIDED for row in system.always},
        counterexamples=found.broken,
        stuck=None,
        stopped=f"{manners.counted(found.walks, 'random walk')}, which may meet and prove nothing{never}",
        seconds=time.monotonic() - began,
        parents={},
    )
    return Whole(model, result, undecided(system, STATES_ONLY), None, None)


def lines(loads: list[Load]) -> Iterator[str]:
    """What each worker did, as a table, and how even that was; nothing for a search that was not spread."""
    if not loads:
        return
    rows = [
        (number, f"{load.states:,}", f"{load.transitions:,}", f"{load.sent / 1e6:,.1f} MB", f"{load.busy:.1f} s")
        for number, load in enumerate(loads)
    ]
    yield manners.table(("worker", "states", "transitions", "sent to others", "busy"), rows)
    yield f"the fullest worker has {_balance(loads):.2f} times the mean"


def record(loads: list[Load]) -> list[dict[str, Any]] | None:
    """The same for programs."""
    return [attrs.asdict(load) for load in loads] or None


def _balance(loads: list[Load]) -> float:
    most, whole = max(load.states for load in loads), sum(load.states for load in loads)
    return most * len(loads) / whole
