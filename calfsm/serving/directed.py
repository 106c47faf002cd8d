"""The directed driver: an executor that is told every action, on a device arranged so that each can happen.

This is how suites are run against the executor. Engine actions are performed; what the runtime, the clock or a client
must bring about is brought about for real: the device is arranged beforehand (a look ahead in the case says how each
call must go), time passes until the executor's own inbox holds a message that *means* the wanted action, and that
message is handled. After every step the executor's state is compared by the runner, and its beliefs are compared with
the hardware here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from calfsm.engine.engine import ActionRefused
from calfsm.engine.system import Profile
from calfsm.serving.choice import Choice
from calfsm.serving.clock import VirtualClock
from calfsm.serving.executor import Executor
from calfsm.serving.messages import Message, OperationHint
from calfsm.serving.runtime import Manifest, Runtime
from calfsm.serving.sequence import Request

STEP = 1_000.0
"""Seconds of virtual time that belong to one step of a case.

Longer than any deadline, so that what ends at step n ends after all before it.
"""
NEVER = 1e9


class Stage(Protocol):
    """A fresh device whose next answers can be arranged; adapters provide it."""

    clock: VirtualClock
    manifest: Manifest

    @property
    def runtime(self) -> Runtime:
        """The device."""

    def arrange(self, call: str, fault: str, **options: Any) -> None:
        """The next `call` of the runtime goes wrong in this way."""

    def as_usual(self, call: str) -> None:
        """The next `call` goes well after all."""

    def touching(self, memory: Any) -> bool:
        """Whether the hardware may still touch a host array, whatever the host believes."""

    def committed(self, lane: int) -> int:
        """The length of a lane that the device takes as committed."""


class MakeStage(Protocol):
    """Makes a stage whose model has what the scope promises."""

    def __call__(self, *, lanes: int, context: int, chunk: int) -> Stage:
        """A fresh one."""


class CannotStage(Exception):
    """Nothing that the executor was told meant the wanted action: it, or the stage, is wrong."""


Planned = Sequence[tuple[str, dict[str, int], str]]
"""A case: (action, picks and choices, who speaks)."""


class Directed:
    """One case on a fresh executor and stage."""

    def __init__(self, make_stage: MakeStage, profile: Profile, scope: dict[str, int], plan: Planned) -> None:
        self.stage = make_stage(lanes=scope["lanes"], context=scope["max_length"], chunk=scope["chunk"])
        self.executor = Executor(self.stage.runtime, self.stage.clock, profile=profile._replace(params=dict(scope)))
        self._plan = list(plan)
        self._at = -1
        self._baseline = self.stage.runtime.memory_in_use()
        self._clients: dict[str, Callable[[dict[str, int]], None]] = {
            "load": lambda _: self.executor.load(self.stage.manifest),
            "unload": lambda _: self.executor.unload(),
            "restart": lambda _: self.executor.restart(),
            "admit": self._admit,
        }

    def do(self, action: str, arguments: dict[str, int], by: str) -> None:
        """Bring one action about. Raises ActionRefused, or CannotStage when it never came."""
        self._at += 1
        self._arrange(action, arguments)
        if action in self._clients:
            self._clients[action](arguments)
        elif by in ("engine", "recovery"):
            self._decide(action, arguments)
        else:
            self._bring_about(action, arguments)
        wrong = list(self.disbeliefs())
        if wrong:
            raise AssertionError("; ".join(wrong))

    def disbeliefs(self) -> Iterator[str]:
        """Where the executor believes what the hardware does not."""
        executor, stage = self.executor, self.stage
        engine = executor.engine
        for index, item in enumerate(executor.pool):
            touched = item is not None and (stage.touching(item.sink.logits) or stage.touching(item.source.tokens))
            asked = any(
                record is not None and record.buffer == index and str(engine.state("jobs", job)) == "submitting"
                for job, record in enumerate(executor.jobs)
            )
            if touched and not asked and str(engine.state("dma", index)) == "quiet":
                yield f"the hardware may touch buffers[{index}], and the executor believes that it is quiet"
        for lane in engine.among("kvs", "held", "reserved"):
            if stage.committed(lane) != engine.value("kvs", lane, "length"):
                believed = engine.value("kvs", lane, "length")
                yield f"kvs[{lane}] has {believed} tokens committed; the device has {stage.committed(lane)}"
        if str(engine.state("model")) == "unloaded" and stage.runtime.memory_in_use() > self._baseline:
            missing = stage.runtime.memory_in_use() - self._baseline
            yield f"the model is unloaded, and {missing:,} bytes have not come back"

    # ---- bringing things about

    def _admit(self, arguments: dict[str, int]) -> None:
        prompt = tuple(range(1, arguments["prompt"] + 1))
        self.executor.admit(arguments["r"], Request(self._at + 1, prompt, NEVER_ENDING, frozenset()), arguments["need"])

    def _decide(self, action: str, arguments: dict[str, int]) -> None:
        executor = self.executor
        if action in ("validate", "turn_model_away"):
            objection = executor.objection()
            if bool(objection) != (action == "turn_model_away"):
                raise CannotStage(f"{action} is wanted; the executor's objection is {objection!r}")
        elif action in ("accept_token", "accept_last") or (
            action == "bad_output" and self._is_completing(arguments["j"])
        ):
            judged = executor.judge(arguments["j"])
            if (judged.action == "bad_output") != (action == "bad_output"):
                raise CannotStage(f"{action} is wanted; the executor judges {judged.action}: {judged.reason}")
        executor.perform(Choice(action, arguments))

    def _is_completing(self, job: int) -> bool:
        return str(self.executor.engine.state("jobs", job)) == "completing"

    def _bring_about(self, action: str, arguments: dict[str, int]) -> None:
        """Let time pass until a message in the inbox means the action, and handle it."""
        executor, clock = self.executor, self.stage.clock
        wanted = Choice(action, arguments)
        if action.startswith("cancel_"):
            request = executor.requests[arguments["r"]]
            assert request is not None
            executor.cancel(request)
        elif action == "unhealthy":
            executor.check_health()
        if not executor.possible(wanted):
            executor.engine.apply(action, **arguments)  # refuses, and says why
        while True:
            hints = [message for message in executor.inbox if isinstance(message, OperationHint)]
            for hint in hints:
                executor.inbox.remove(hint)
                executor.handle(hint)
            for message in executor.inbox:
                if self._means(message, wanted):
                    executor.inbox.remove(message)
                    executor.handle(message)
                    return
            if not hints and not clock.run_next():
                raise CannotStage(f"{action} never came; in the inbox: {list(executor.inbox) or 'nothing'}")

    def _means(self, message: Message, wanted: Choice) -> bool:
        meaning = self.executor.meaning(message)
        return meaning is not None and (meaning.action, dict(meaning.arguments)) == (
            wanted.action,
            dict(wanted.arguments),
        )

    # ---- looking ahead

    def _arrange(self, action: str, arguments: dict[str, int]) -> None:
        """Arrange how the runtime calls that this action leads to will go."""
        stage = self.stage
        match action:
            case "turn_model_away":
                stage.arrange("create_calbin", "exception")
            case "validate":
                self._long("configure", "configure", "fail", {"reset_done"})
            case "configured":
                fate, _ = self._next({"warmed", "warm_failed", "warm_timeout", "cleanup", "reset_done"})
                if fate == "warm_failed":
                    stage.arrange("infer", "reject")
                elif fate == "warm_timeout":
                    stage.arrange("infer", "hang")
            case "model_drained" | "cleanup":
                self._long("release", "reset_configuration", "fail", {"reset_done"})
            case "reset_done" if str(self.executor.engine.state("model")) == "unloading":
                self._long("release", "reset_configuration", "fail", {"reset_done"})
            case "start_reset" | "restart":
                self._long("reset", "device_reset", "fail", set())
            case "submit":
                self._job(arguments["j"])
            case "bad_output" if self._is_completing(arguments["j"]):
                stage.arrange("apply", "refuse")
            case "unhealthy":
                stage.arrange("health", "bad")

    def _long(self, kind: str, call: str, failure: str, otherwise: set[str]) -> None:
        """An operation that ends well, fails, or hangs until its deadline, as the case goes on to say."""
        endings = {"configure": "configured", "release": "released", "reset": "reset_done"}
        fate, _ = self._next({endings[kind], f"{kind}_failed", f"{kind}_timeout"} | otherwise)
        self.stage.as_usual(call)  # whatever was arranged for an operation that a reset cut short
        if fate == f"{kind}_failed":
            self.stage.arrange(call, failure)
        elif fate == f"{kind}_timeout":
            self.stage.arrange(call, "hang")

    def _job(self, job: int) -> None:
        """A job's fate, from its submission to what ends the hardware's hold on its memory."""
        record = self.executor.jobs[job]
        assert record is not None
        answer, _ = self._next({"submit_ok", "submit_rejected", "submit_unknown", "submit_timeout"}, j=job)
        if answer == "submit_rejected":
            self.stage.arrange("infer", "reject")
        elif answer == "submit_unknown":
            self.stage.arrange("infer", "unknown")
        elif answer == "submit_timeout":
            self._end_at("late", self._late_done(record.buffer, self._at))
        else:
            fate, at = self._next({"done", "ccu_exception", "wait_timeout", "abort_in_flight", "reset_done"}, j=job)
            if fate in ("wait_timeout", "abort_in_flight"):
                self._end_at("late", self._late_done(record.buffer, at))
            elif fate in ("done", "ccu_exception"):
                self._end_at("ccu_exception" if fate == "ccu_exception" else "late", at)

    def _late_done(self, buffer: int, after: int) -> int | None:
        """The step at which the device still answers for a buffer, before a reset ends its hold."""
        for number, (action, arguments, _) in enumerate(self._plan[after + 1 :], after + 1):
            if action == "reset_done":
                return None
            if action == "late_done" and arguments["b"] == buffer:
                return number
        return None

    def _end_at(self, fault: str, step: int | None) -> None:
        due = NEVER if step is None else STEP * (step + 1) - self.stage.clock.now
        self.stage.arrange("infer", fault, delay=due, blocks=False)

    def _next(self, actions: set[str], **arguments: int) -> tuple[str, int]:
        """The first of `actions` that comes later in the case with these arguments, and where.

        An action without them counts.
        """
        for number, (action, given, _) in enumerate(self._plan[self._at + 1 :], self._at + 1):
            if action in actions and all(given.get(name, value) == value for name, value in arguments.items()):
                return action, number
        return "", len(self._plan)


NEVER_ENDING = 1_000_000_000
"""More tokens than any case delivers: which one is the last is for the case to say."""

__all__ = ["ActionRefused", "CannotStage", "Directed", "MakeStage", "Stage"]
