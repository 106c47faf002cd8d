"""Chaos: random clients on a random device at random times, and what must hold all the same."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable
from typing import Any

import attrs
from serving.serving_rig import PROFILES, Serving, serving

from calfsm.engine.engine import ActionRefused
from calfsm.engine.system import Profile
from calfsm.serving import Rejected
from calfsm.serving.messages import HealthLost, JobHint, Message, OperationHint
from calfsm_calrt import FAULTS, Fault, Timing

Doing = tuple[str, Any]


@attrs.frozen
class Play:
    """One run: how the house is built, what goes wrong, and what its clients do."""

    profile: Profile
    params: dict[str, int]
    timing: Timing
    deadlines: dict[str, float]
    parallel: bool
    faults: tuple[Fault, ...]
    doings: tuple[Doing, ...]


def drawn(seed: int, doings: int, faults: int) -> Play:
    """The play of a seed; smaller numbers give smaller ones."""
    dice = random.Random(seed)
    params = {"requests": dice.randint(1, 8), "lanes": dice.randint(1, 4), "max_resets": dice.randint(1, 3)}
    for name, low, high in (("jobs", 1, 4), ("buffers", 1, 4), ("max_rejects", 1, 3)):
        if dice.random() < 0.5:
            params[name] = dice.randint(low, high)
    short = {name: dice.choice(seconds) for name, seconds in SHORT.items() if dice.random() < 0.12}
    timing = Timing(
        load=dice.choice([0.0, 0.0005, 0.002]),
        store=dice.choice([0.0, 0.0005, 0.002]),
        notice=dice.choice([0.0, 0.0, 0.0, 0.0007, 0.02, 0.3]),
    )
    happen = {(fault.on, fault.nth): fault for fault in (fault_of(dice) for _ in range(faults))}
    return Play(
        profile=PROFILES[dice.random() < 0.7],
        params=params,
        timing=timing,
        deadlines=short,
        parallel=dice.random() < 0.85,
        faults=tuple(happen.values()),
        doings=tuple(doing_of(dice) for _ in range(doings)),
    )


SHORT = {
    "queue_deadline": (0.02, 1.0),
    "request_deadline": (0.02, 1.0),
    "wait_timeout": (0.012, 0.1),
    "drain_timeout": (0.01, 0.5),
    "warm_timeout": (0.02, 1.0),
    "configure_timeout": (1.5, 2.0),
    "release_timeout": (0.25, 0.3, 1.0),
    "reset_timeout": (0.9, 1.0, 1.5),
}
"""Deadlines about as long, in seconds, as what they limit takes."""

KINDS = [(on, kind) for on, kinds in FAULTS.items() for kind in kinds if on != "reset_ccu"]
JOB_KINDS = [pair for pair in KINDS if pair[0] in ("infer", "apply")]


def fault_of(dice: random.Random) -> Fault:
    """Any fault at any call; more of those of what is called most."""
    on, kind = dice.choice(KINDS if dice.random() < 0.4 else JOB_KINDS)
    options: dict[str, Any] = {}
    if kind in ("late", "duplicate", "running_after_done", "ccu_exception"):
        options["delay"] = dice.choice((0.0, 0.001, 0.02, 0.3, 1.0, 4.0, 25.0))
    if on == "infer" and kind in ("late", "ccu_exception"):
        options["blocks"] = dice.random() < 0.5
    if on == "infer" and kind in ("unknown", "exception"):
        options["ran"] = dice.random() < 0.5
    if kind == "bad_numbers":
        options["value"] = dice.choice(("nan", "inf"))  # wrong numbers that look right are for golden runs to find
    often = on in ("infer", "apply", "counters")
    return Fault(on, kind, nth=dice.randint(1, 60) if often else dice.randint(1, 4), **options)


def doing_of(dice: random.Random) -> Doing:
    """Something that a client, the world or an old message does."""
    match dice.choices(("submit", "wait", "cancel", "life", "echo", "old", "crawl"), (8, 8, 3, 1.2, 1, 2, 4))[0]:
        case "submit":
            prompt = tuple(dice.randrange(64) for _ in range(dice.choice((1, 1, 2, 3, 8, 16))))
            return "submit", (prompt, dice.choice((1, 2, 3, 5, 12)))
        case "wait":
            return "wait", dice.choice((0.0, 0.0005, 0.003, 0.01, 0.02, 0.05, 0.3, 1.0, 2.5, 8.0))
        case "life":
            return dice.choice(("load", "load", "load", "unload", "restart", "health", "smoke")), None
        case "crawl":
            return "crawl", dice.randint(1, 9)
        case name:
            return name, dice.randrange(10_000)


def perform(play: Play) -> Serving:
    """Act it, then let everything come to rest with patience: whatever was short before is long enough now."""
    house = serving(
        *play.faults,
        profile=play.profile,
        params=play.params,
        timing=play.timing,
        device={"parallel": play.parallel},
        load=False,
        **play.deadlines,
    )
    heard: list[Message] = []
    rare: list[Message] = []  # no hints, and nothing that would be true of any time
    handle = house.executor.handle

    def listen(message: Message) -> Any:
        heard.append(message)
        if not isinstance(message, (JobHint, OperationHint, HealthLost)):
            rare.append(message)
        return handle(message)

    house.executor.handle = listen  # type: ignore[method-assign]
    acts: dict[str, Callable[[Any], object]] = {
        "submit": lambda given: house.submit(*given[0], n=given[1]),
        "wait": house.run,
        "cancel": lambda which: house.requests and house.executor.cancel(house.requests[which % len(house.requests)]),
        "load": lambda _: house.load(),
        "unload": lambda _: house.executor.unload(),
        "restart": lambda _: house.executor.restart(),
        "health": lambda _: house.executor.check_health(),
        "smoke": lambda _: house.executor.inbox.append(HealthLost("it smokes")),
        "echo": lambda which: heard and house.executor.inbox.append(heard[which % len(heard)]),
        "old": lambda which: rare and house.executor.inbox.append(rare[which % len(rare)]),
        "crawl": lambda count: crawl(house, count),
    }
    for name, given in (("load", None), ("wait", 4.0), *play.doings):
        with contextlib.suppress(Rejected, ActionRefused):
            acts[name](given)
        house.check()
    rest(house)
    assert house.executor.manifest is not None
    said = house.executor.failures | {request.reason for request in house.requests}
    assert {words for words in said if not EXPLAINED.search(words)} == set()
    return house


EXPLAINED = re.compile(
    r"""^$ | planned\ fault | \ passed$ | smokes | cancelled\ by\ its\ client | not\ made\ of\ numbers
    | the\ model\ (was | is\ being)\ unloaded | no\ longer\ fit\ one\ prefill
    | did\ not\ come\ back | ^the\ device\ was\ reset$""",
    re.VERBOSE,
)
"""All that a play gives reason to say: what was planned, what took too long, and what its clients did."""


def crawl(house: Serving, count: int) -> None:
    """Not whole turns, but single messages and choices, so that clients come in between."""
    for _ in range(count):
        if house.executor.inbox:
            house.executor.handle(house.executor.inbox.popleft())
        elif (choice := house.executor.policy.next(house.executor)) is not None:
            house.executor.perform(choice)
        else:
            house.clock.run_next()


def rest(house: Serving) -> Serving:
    """A time limit that is too short for the device may keep it from ever working; so at last it is given time."""
    deadlines = house.executor._deadlines._deadlines
    for key, deadline in deadlines.items():
        deadlines[key] = deadline._replace(seconds=deadline.seconds + 100.0)
    return house.close()
