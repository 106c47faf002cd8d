"""An executor on a simulated device, and an auditor that looks over its shoulder after every step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from calfsm.engine.engine import Step
from calfsm.engine.system import Profile
from calfsm.serving import Choice, Executor, Manifest, Outcome, Policy, Request, VirtualClock, run
from calfsm.serving.runtime import TaskType
from calfsm.tables import phase_a, phase_b
from calfsm_calrt import Fault, FaultPlan, SimulatedDevice, Timing, reference, small_manifest

MODEL = small_manifest()
PROFILES = (phase_a.PROFILE, phase_b.PROFILE)
LOADED = 20.0
"""Seconds by which a model without a fault in its way is ready."""


class WhenServing(FaultPlan):
    """A fault that strikes jobs of a model that is ready, and spares golden runs: the first `times` of those jobs."""

    def __init__(self, fault: Fault, times: int) -> None:
        super().__init__()
        self.left = times
        self.house: Serving | None = None
        self._fault = fault

    def strike(self, operation: str, task: TaskType | None = None) -> Fault | None:
        if operation != "infer" or self.house is None or self.house.model != "ready" or self.left == 0:
            return None
        self.left -= 1
        return self._fault


class Audited(Executor):
    """An executor that is checked after every action: against the spec, against the hardware, against itself."""

    def __init__(self, device: SimulatedDevice, clock: VirtualClock, profile: Profile, policy: Policy | None) -> None:
        super().__init__(device, clock, profile=profile, policy=policy)
        self.device = device
        self.wrong: list[str] = []
        self.log: list[tuple[float, str]] = []
        self.failures: set[str] = set()
        """Every word that was ever said of why the model or the device is out of service."""
        self.cancelled: set[Request] = set()
        self.forged = False
        """Whether a test said that a deadline has passed before it had."""
        self._outcomes: dict[Request, Outcome] = {}
        self._admitted: dict[Request, float] = {}
        self._submitted: dict[int, float] = {}
        self._newest = 0
        self._always = [
            (row.name, self.engine.function((), condition.term))
            for row in self.engine.system.always
            for condition in row.conditions
        ]

    def perform(self, choice: Choice) -> Step:
        step = super().perform(choice)
        self.log.append((self.clock.now, step.action))
        self.failures.add(self.failure)
        if step.action == "submit":
            self._submitted[step.arguments["j"]] = self.clock.now
        if step.action in ("wait_timeout", "submit_timeout"):
            waited = self.clock.now - self._submitted[step.arguments["j"]]
            if not self.forged and waited < self.profile.deadlines["wait_timeout"] - 1e-9:
                self.wrong.append(f"{step!r} came after {waited} seconds")
        self.wrong += [f"after {step!r}: {what}" for what in self._mistakes()]
        return step

    def admit(self, slot: int, request: Request, need: int) -> None:
        super().admit(slot, request, need)
        self._admitted[request] = self.clock.now

    def cancel(self, request: Request) -> None:
        super().cancel(request)
        self.cancelled.add(request)

    def _mistakes(self) -> Iterator[str]:
        engine = self.engine
        for name, holds in self._always:
            if not holds():
                yield f"{name} does not hold"
        asked = {
            record.buffer
            for job, record in enumerate(self.jobs)
            if record is not None and str(engine.state("jobs", job)) == "submitting"
        }
        for buffer, item in enumerate(self.pool):
            touched = item is not None and (
                self.device.touching(item.sink.logits) or self.device.touching(item.source.tokens)
            )
            if touched and buffer not in asked and str(engine.state("dma", buffer)) == "quiet":
                yield f"the hardware may touch buffers[{buffer}], which is believed to be quiet"
        for lane in engine.among("kvs", "held", "reserved"):
            believed, true = engine.value("kvs", lane, "length"), self.committed(lane)
            if believed and true is not None and believed != true:
                yield f"kvs[{lane}] is believed to have {believed} tokens; the device has {true}"
        if str(engine.state("model")) == "unloaded" and self.device.memory_in_use():
            yield f"unloaded, and {self.device.memory_in_use()} bytes are in use"
        if self.generation < self._newest:
            yield f"the generation went from {self._newest} to {self.generation}"
        self._newest = self.generation
        for request in self.requests:
            if request is not None and request.outcome is not None:
                if request not in self._outcomes:
                    yield from self._untrue(request)
                first = self._outcomes.setdefault(request, request.outcome)
                if first is not request.outcome:
                    yield f"request {request.id} was {first}, and is {request.outcome}"
        yield from self.device.misuses

    def _untrue(self, request: Request) -> Iterator[str]:
        """What a request that has just ended is told, and what is not so."""
        if request.outcome is Outcome.CANCELLED and request not in self.cancelled:
            yield f"request {request.id} is cancelled, and nobody asked for that"
        if request.outcome is Outcome.EXPIRED and not self.forged:
            limit = self.profile.deadlines[request.reason.removesuffix(" passed").replace(" ", "_")]
            if self.clock.now - self._admitted[request] < limit - 1e-9:
                yield f"request {request.id} has expired before its time"

    def committed(self, lane: int) -> int | None:
        """What the device has committed in a lane; None where it has no lanes."""
        try:
            return int(self.device.kv.committed[lane])
        except Exception:
            return None


@attrs.define(eq=False)
class Serving:
    """One run."""

    clock: VirtualClock
    device: SimulatedDevice
    executor: Audited
    manifest: Manifest
    requests: list[Request] = attrs.field(factory=list)

    def submit(self, *prompt: int, n: int = 4, **options: Any) -> Request:
        request = self.executor.submit(prompt, max_tokens=n, **options)
        self.requests.append(request)
        return request

    def run(self, seconds: float | None = None) -> Serving:
        """Until nothing is left to do, or for some seconds."""
        run(self.executor, self.clock, None if seconds is None else self.clock.now + seconds)
        return self

    def turns(self) -> Iterator[None]:
        """A turn, and another after each call of the clock, until nothing is due."""
        self.executor.pump()
        yield
        while self.clock.run_next():
            self.executor.pump()
            yield

    def until(self, action: str, times: int = 1) -> Serving:
        """One call of the clock after another, one turn after each, until an action was done."""
        wanted = self.done(action) + times
        self.executor.pump()
        while self.done(action) < wanted:
            assert self.clock.run_next(), f"{action} never came; there were {[name for _, name in self.executor.log]}"
            self.executor.pump()
        return self

    def until_state(self, part: str, state: str, index: int = 0) -> Serving:
        """One message or choice after another, not one more, until an instance is in a state."""
        executor = self.executor
        while self.state(part, index) != state:
            if executor.inbox:
                executor.handle(executor.inbox.popleft())
            elif (choice := executor.policy.next(executor)) is not None:
                executor.perform(choice)
            else:
                assert self.clock.run_next(), f"{part}[{index}] was never {state}"
        return self

    def done(self, action: str) -> int:
        return sum(name == action for _, name in self.executor.log)

    def at(self, action: str) -> float:
        """When an action was last done, in seconds."""
        return [time for time, name in self.executor.log if name == action][-1]

    def state(self, part: str, index: int = 0) -> str:
        return str(self.executor.engine.state(part, index))

    @property
    def model(self) -> str:
        return self.state("model")

    @property
    def machine(self) -> str:
        """The device's state, as it is believed."""
        return self.state("device")

    def states(self, part: str) -> list[str]:
        return [self.state(part, index) for index in range(self.executor.engine.count(part))]

    def load(self, manifest: Manifest | None = None) -> Serving:
        self.executor.load(manifest or self.manifest)
        return self

    def check(self) -> Serving:
        """What must hold at any moment, of the run so far."""
        assert self.executor.wrong == []
        for request in self.requests:
            expected = answer(request, self.manifest)
            assert request.tokens == expected[: len(request.tokens)], request
            assert (request.outcome is Outcome.FINISHED) <= (request.tokens == expected), request
            assert (request.outcome is None or request.outcome is Outcome.FINISHED) == (request.reason == ""), request
        return self

    def close(self) -> Serving:
        """Restart and unload until nothing is left; then everything must be back where it was in the beginning."""
        for _ in range(40):
            self.run()
            if self.machine == "offline":
                self.executor.restart()
            elif self.executor.possible(Choice("unload", {})):
                self.executor.unload()
        self.check()
        assert [request for request in self.requests if request.outcome is None] == []
        assert (self.model, self.machine, self.device.memory_in_use()) == ("unloaded", "ready", 0)
        rest = {"requests": "vacant", "jobs": "vacant", "buffers": "absent", "kvs": "vacant", "dma": "quiet"}
        for part, state in rest.items():
            assert set(self.states(part)) == {state}, part
        assert set(self.executor.requests) | set(self.executor.jobs) | set(self.executor.pool) == {None}
        assert self.clock.next_due() is None
        assert not self.executor.inbox
        return self


def serving(
    *faults: Fault,
    profile: Profile = phase_b.PROFILE,
    manifest: Manifest = MODEL,
    timing: Timing | None = None,
    policy: Policy | None = None,
    params: dict[str, int] | None = None,
    load: bool = True,
    device: dict[str, Any] | None = None,
    **deadlines: float,
) -> Serving:
    """An executor; unless told otherwise with a model that is ready."""
    profile = profile._replace(
        params={**profile.params, **(params or {})}, deadlines={**profile.deadlines, **deadlines}
    )
    clock = VirtualClock()
    simulated = SimulatedDevice(clock, plan=FaultPlan(faults), timing=timing, **(device or {}))
    made = Serving(clock, simulated, Audited(simulated, clock, profile, policy), manifest)
    if load:
        made.load().run(LOADED)
        assert made.model == "ready", made.executor.failure
    return made


def answer(request: Request, manifest: Manifest = MODEL) -> list[int]:
    """What a request must be answered, were nothing in its way."""
    tokens = reference(manifest, request.prompt, request.max_tokens)
    ends = [place for place, token in enumerate(tokens) if token in request.stop]
    return tokens[: ends[0] + 1] if ends else tokens


def outcomes(requests: Sequence[Request]) -> list[str]:
    return [request.outcome.value if request.outcome else "" for request in requests]


def struck(fault: Fault, times: int, **options: Any) -> Serving:
    """A house whose next `times` jobs have a fault."""
    house = serving(**options)
    plan = WhenServing(fault, times)
    plan.house, house.device.plan = house, plan
    return house
