"""One action of the executor system: what it costs beside one event of one `transitions` machine, and with many jobs.

`submit_unknown` moves a job, its buffer, the hardware's hold on that buffer, its request, its KV lane (two events) and
the device. `submit_ok` moves a job, its buffer, the hardware's hold and its KV lane. Each `apply` is timed by itself;
what it did is undone outside the clock, so every one meets the same state.

With many jobs there are two measurements: the same ten jobs again and again, which shows what the engine does, and
another job each time, from all over the range, which adds what it costs to fetch memory that is in no cache.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from itertools import cycle
from statistics import fmean
from time import perf_counter_ns
from typing import Any

from calfsm.engine.engine import Engine
from calfsm.tables import executor
from tests.bench import peers
from tests.bench.rounds import Times

JOBS = (10, 100, 1_000, 10_000, 100_000)
ACTIONS = ("submit_ok", "submit_unknown")
APPLIES = 500
"""How many applies are timed in a round, for one action and one size."""
BARE = "transitions, one event"


def measured(sizes: tuple[int, ...] = JOBS, rounds: int = 15) -> Times:
    """Nanoseconds of one action, by "action, jobs", and of one bare event: each the mean of a round."""
    subjects: dict[str, Iterator[int]] = {BARE: _events()}
    for jobs in sizes:
        engine = ready(jobs)
        for action in ACTIONS:
            subjects[label(action, jobs)] = _applies(engine, action, [jobs // 10 * number for number in range(10)])
            if jobs > 10:
                subjects[label(action, jobs, scattered=True)] = _applies(engine, action, _scattered(jobs))
    times: Times = {name: [] for name in subjects}
    names = list(subjects)
    for number in range(rounds):
        gc.collect()
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            times[name].append(_round(subjects[name]))
    return times


def label(action: str, jobs: int, *, scattered: bool = False) -> str:
    """How a subject is called in the results."""
    return f"{action}, {jobs:,} jobs{', another each time' if scattered else ''}"


def labels(action: str, sizes: tuple[int, ...] = JOBS) -> list[str]:
    """An action's subjects: first with the fewest jobs, then the same ten of more, then another each time."""
    return [label(action, jobs) for jobs in sizes] + [
        label(action, jobs, scattered=True) for jobs in sizes if jobs > 10
    ]


def ready(jobs: int) -> Engine:
    """A system in which `jobs` jobs have been handed to the runtime, and none of them has been answered."""
    engine = Engine(executor.SYSTEM, requests=jobs, jobs=jobs, buffers=jobs, lanes=jobs, limit=jobs)
    for action in ("load", "validate", "configured", "warmed"):
        engine.apply(action)
    for index in range(jobs):
        engine.apply("admit", r=index, prompt=1, need=1)
        engine.apply("prepare_prefill", r=index, j=index, b=index, k=index, n=1)
        engine.apply("submit", j=index)
    return engine


def _round(subject: Iterator[int]) -> float:
    gc.disable()
    try:
        return fmean(next(subject) for _ in range(APPLIES))
    finally:
        gc.enable()


def _scattered(jobs: int) -> list[int]:
    """Every job once, far from the one before: the stride shares no divisor with any of the sizes."""
    return [number * 7_919 % jobs for number in range(jobs)]


def _applies(engine: Engine, action: str, jobs: list[int]) -> Iterator[int]:
    """The time of one apply after another, in nanoseconds."""
    for job in cycle(jobs):
        start = perf_counter_ns()
        step = engine.apply(action, j=job)
        elapsed = perf_counter_ns() - start
        engine.undo(step)
        yield elapsed


def _events() -> Iterator[int]:
    """The same for one event of the `transitions` ring."""
    fire: Callable[[], Any] = peers.transitions_ring().next
    while True:
        start = perf_counter_ns()
        fire()
        yield perf_counter_ns() - start
