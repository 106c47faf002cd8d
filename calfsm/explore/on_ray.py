"""A search, or a swarm of walks, on Ray (`pip install 'calfsm[ray]'`): on the processors of one machine or of many.

Workers are actors; keys go from worker to worker through Ray's object store, and the one who gives the orders sees
counts only. It pays where one machine's memory does not hold the states: see `docs/exploring.md` for what it costs.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import System
from calfsm.explore.compiled import FastResult
from calfsm.explore.compiled.layout import CannotCompile
from calfsm.explore.compiled.shares import Account, Load, Order, Share, Standing, compiled, search_with, together
from calfsm.explore.search import Progress
from calfsm.explore.systems import SystemModel
from calfsm.explore.walk import Walk, Walker

KNOCK_SECONDS = 5
AHEAD = 2
"""Walks that are under way, for each processor."""


class CannotSpread(Exception):
    """Ray is not installed, or cannot be reached."""


@contextmanager
def cluster(workers: int | None = None, address: str | None = None) -> Iterator[Any]:
    """Inside, Ray: the one at `address` (as `auto`), or one of `workers` processes here. Raises CannotSpread.

    One that runs already in this process is used, and left running.
    """
    try:
        import ray
    except ImportError as error:
        raise CannotSpread("Ray is not installed: pip install 'calfsm[ray]'") from error
    _knock(address)
    if ray.is_initialized():
        yield ray
        return
    try:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # an exploration tells nobody of itself
        here: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **here)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise CannotSpread(f"Ray cannot be reached at {address or 'this machine'}: {error}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str | None) -> None:
    """Whether anybody is at an address of a host and a port: Ray itself would try for minutes. Raises CannotSpread."""
    host, _, port = (address or "").rpartition(":")
    if not host or "//" in host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise CannotSpread(f"Ray cannot be reached at {address}: {error}") from None


class _Actors:
    """A Crew of Ray actors."""

    def __init__(self, ray: Any, actors: Sequence[Any]) -> None:
        self._ray, self._actors = ray, actors

    def __len__(self) -> int:
        return len(self._actors)

    def begin(self) -> list[Standing]:
        standings: list[Standing] = self._ray.get([actor.begin.remote() for actor in self._actors])
        return standings

    def round(self, orders: Sequence[Order]) -> list[Standing]:
        # Only references to packages come here; what is in them goes from worker to worker.
        number = len(self._actors)
        done = [
            actor.expand.options(num_returns=1 + number).remote(order)
            for actor, order in zip(self._actors, orders, strict=True)
        ]
        taken = [
            actor.take.remote(*(made[1 + me] for other, made in enumerate(done) if other != me))
            for me, actor in enumerate(self._actors)
        ]
        standings = self._ray.get([made[0] for made in done] + taken)
        return [together(before, after) for before, after in zip(standings[:number], standings[number:], strict=True)]

    def accounts(self) -> list[Account]:
        accounts: list[Account] = self._ray.get([actor.account.remote() for actor in self._actors])
        return accounts

    def look(self, worker: int, number: int) -> tuple[Snapshot, int, int]:
        looked: tuple[Snapshot, int, int] = self._ray.get(self._actors[worker].look.remote(number))
        return looked

    def find(self, state: Snapshot) -> list[int]:
        numbers: list[int] = self._ray.get([actor.find.remote(state) for actor in self._actors])
        return numbers


class _Worker(Share):
    """A share as an actor: what an order leads to is several results, so that each can go its own way.

    It gets ready when it begins: what is wrong then is an answer, and no death of the actor.
    """

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments

    def begin(self) -> Standing:
        super().__init__(*self._arguments)
        return super().begin()

    def expand(self, order: Order) -> Any:
        standing, packages = super().expand(order)
        return (standing, *packages)


def explore_on_ray(
    system: System,
    scope: Mapping[str, int] | None = None,
    *,
    workers: int = 2,
    address: str | None = None,
    symmetry: bool = False,
    max_states: int | None = None,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    first_only: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[SystemModel, FastResult, list[Load]]:
    """`explore_fast` on `workers` workers, each with a processor of its own; and what each of them did.

    `max_bytes`: of all workers together. Raises CannotSpread, CannotCompile, and as `explore_fast` does.
    """
    if workers < 1:
        raise ValueError(f"workers is {workers}; it takes one at least")
    scope = dict(scope or {})
    compiled(system, scope, symmetry, None)  # once, and not by every worker; and what is wrong is said here
    with cluster(workers, address) as ray:
        each = None if max_bytes is None else max_bytes // workers
        actor = ray.remote(num_cpus=1)(_Worker)
        actors = [actor.remote(system, scope, number, workers, each, symmetry) for number in range(workers)]
        try:
            return search_with(
                _Actors(ray, actors),
                system,
                scope,
                symmetry=symmetry,
                max_states=max_states,
                max_seconds=max_seconds,
                first_only=first_only,
                progress=progress,
            )
        except ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, CannotCompile | ValueError):
                raise cause from None
            raise
        except ray.exceptions.RayActorError as error:
            raise CannotSpread(f"a worker was lost: {error}") from error


@contextmanager
def walks_on_ray(workers: int | None = None, address: str | None = None) -> Iterator[Callable[..., Iterator[Walk]]]:
    """Inside, what does a swarm's walks on Ray: give it to `swarm` as `everywhere`. Raises CannotSpread."""
    with cluster(workers, address) as ray:

        def everywhere(walker: Walker, seeds: Iterable[int]) -> Iterator[Walk]:
            shared = ray.put(walker)
            task = ray.remote(num_cpus=1)(_walked)
            most = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            under_way: list[Any] = []
            for seed in seeds:
                if len(under_way) == most:
                    done, under_way = ray.wait(under_way)
                    yield from ray.get(done)
                under_way.append(task.remote(shared, seed))
            while under_way:
                done, under_way = ray.wait(under_way)
                yield from ray.get(done)

        yield everywhere


def _walked(walker: Walker, seed: int) -> Walk:
    return walker(seed)
