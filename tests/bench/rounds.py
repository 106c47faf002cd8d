"""Measuring several subjects in turn in one process, so that a disturbance meets all of them alike."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter_ns
from typing import NamedTuple

ROUNDS = 21
ROUND_SECONDS = 0.02


class Subject(NamedTuple):
    """Something to time. `run` makes one pass of `events` events."""

    name: str
    run: Callable[[], object]
    events: int


class Spread(NamedTuple):
    """The middle of some measurements and their quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Of two values at least."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


Times = dict[str, list[float]]
"""By subject: nanoseconds for an event, one value a round."""


def measure(subjects: list[Subject], rounds: int = ROUNDS, seconds: float = ROUND_SECONDS) -> Times:
    """Time every subject once a round, for about `seconds` each; the order turns from round to round.

    The collector is off while a subject is timed, and runs between rounds.
    """
    passes = {subject.name: _passes(subject, seconds) for subject in subjects}
    times: Times = {subject.name: [] for subject in subjects}
    for number in range(rounds):
        gc.collect()
        turn = number % len(subjects)
        for subject in subjects[turn:] + subjects[:turn]:
            count = passes[subject.name]
            times[subject.name].append(_timed(subject.run, count) / (count * subject.events))
    return times


def ratios(times: Mapping[str, list[float]], name: str, base: str) -> Spread:
    """How many times `base` a subject takes: the ratio within each round, so that slow rounds cancel out."""
    return Spread.of([one / other for one, other in zip(times[name], times[base], strict=True)])


def _passes(subject: Subject, seconds: float) -> int:
    """How many passes take about `seconds`. Warms the subject up on the way."""
    count = 1
    while (elapsed := _timed(subject.run, count)) < seconds * 1e9 / 4:
        count *= 2
    return max(1, round(count * seconds * 1e9 / elapsed))


def _timed(run: Callable[[], object], count: int) -> int:
    gc.disable()
    try:
        start = perf_counter_ns()
        for _ in range(count):
            run()
        return perf_counter_ns() - start
    finally:
        gc.enable()
