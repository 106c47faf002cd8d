"""The executor: one device, one model, many requests, on the compiled `executor` system (source design 3-7, 10, 14).

Only the engine moves state. A turn is: handle what has arrived (each message becomes at most one action), then do what
the policy chooses, until there is nothing to do. What stands behind the instances is kept in `records`, what a message
means is said by `meanings`, and what the device must do is done by `runtime_side`; this file has the client's side, and
the turns.

All of it runs on one thread, the owner's. Only `cancel` may be called from another: it appends to `inbox`, as the
answers of a runtime do.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from calfsm.engine.engine import Engine, Step
from calfsm.engine.system import Profile, System
from calfsm.serving.choice import Choice
from calfsm.serving.deadlines import Clock, Deadlines
from calfsm.serving.meanings import Meanings
from calfsm.serving.messages import (
    CancelAsked,
    DeadlinePassed,
    HealthLost,
    JobHint,
    Message,
    OperationEnded,
    OperationHint,
)
from calfsm.serving.operations import Operations
from calfsm.serving.policy import Policy
from calfsm.serving.profiles import fitting
from calfsm.serving.records import JobRecord, PoolItem, Records
from calfsm.serving.runtime import Manifest, Runtime, RuntimeFault
from calfsm.serving.runtime_side import RuntimeSide
from calfsm.serving.sequence import Outcome, Rejected, Request, checked
from calfsm.tables.executor import SYSTEM
from calfsm.tables.phase_a import PROFILE

log = logging.getLogger("calfsm.serving")


class Executor:
    """Serves requests on one device.

    `runtime` and `clock` belong together (a simulated device shares its clock). `profile` gives the numbers, its
    deadlines in seconds; `policy` chooses. Raises TypeError or ValueError for a profile that cannot be
    served with, ValueError for a system that asks for effects which nobody here performs.
    """

    def __init__(
        self,
        runtime: Runtime,
        clock: Clock,
        *,
        profile: Profile = PROFILE,
        policy: Policy | None = None,
        system: System = SYSTEM,
    ) -> None:
        fitting(profile, system)
        self.runtime, self.clock, self.profile = runtime, clock, profile
        self.engine = Engine(system, **profile.params)
        self.policy = policy or Policy()
        self.inbox: deque[Message] = deque()
        self.manifest: Manifest | None = None
        self.failure = ""
        """Why the model or the device is out of service, in words; empty again once the model is ready."""
        self.stale: Counter[str] = Counter()
        """Messages that changed nothing, by kind."""
        self.missed = 0
        """Answers that were found only because a deadline made the executor look."""
        self.drain_is_over = False
        """Whether the model that is being drained has had the time for it."""
        self._records = Records(self.engine)
        self._deadlines = Deadlines(system, profile.deadlines, clock, self.inbox.append)
        self._operations = Operations(self.inbox.append)
        self._meanings = Meanings(self.engine, self._records, self._operations, self._deadlines)
        self._runtime_side = RuntimeSide(runtime, self.engine, self._records, self._operations, self.inbox.append)
        self._waiting: list[Message] = []  # until `infer` has answered
        self._ids = 0
        self._pumping = False
        self._effects: dict[str, Callable[[Step, str], None]] = {
            "client.deliver": self._deliver,
            "client.end": self._end,
            "policy.end_requests": self._drain_over,
            "policy.out_of_service": self._out_of_service,
        }
        known = {*self._effects, *self._runtime_side.effects}
        unknown = {effect for action in system.actions for effect in action.effects} - known
        if unknown:
            raise ValueError(f"{system.name} asks for effects that nobody performs: {', '.join(sorted(unknown))}")

    # ---- what there is

    @property
    def requests(self) -> Sequence[Request | None]:
        """The request in each slot."""
        return self._records.requests

    @property
    def jobs(self) -> Sequence[JobRecord | None]:
        """What each job is about."""
        return self._records.jobs

    @property
    def pool(self) -> Sequence[PoolItem | None]:
        """The memory of each buffer."""
        return self._records.pool

    @property
    def generation(self) -> int:
        """How many times the device was reset or a model was configured. Never goes back."""
        return self._runtime_side.generation

    @property
    def slots(self) -> int:
        """How many jobs may be out now: the profile's limit, or 1 where the runtime takes no more or is doubted."""
        return self._runtime_side.parallelism.slots

    @property
    def doubt(self) -> str:
        """What was odd about the runtime, so that it gets one job at a time; else empty (source design 5.2)."""
        return self._runtime_side.parallelism.doubt

    @property
    def in_a_turn(self) -> bool:
        """Whether `pump` is at work, so that who asks was called by it."""
        return self._pumping

    def snapshot(self) -> dict[str, list[dict[str, Any]]]:
        """The whole state, in the spec's words."""
        return self.engine.described()

    # ---- the client's side

    def load(self, manifest: Manifest) -> None:
        """Begin to load a model. Raises ActionRefused when one is there already, or the device is not ready."""
        if not isinstance(manifest, Manifest):
            raise TypeError(f"a model is loaded by its Manifest, not by {manifest!r}")
        self.perform(Choice("load", {}))
        self.manifest, self.failure = manifest, ""

    def unload(self) -> None:
        """Begin to unload it: new requests are refused, running ones go on until the drain deadline.

        Raises ActionRefused when there is nothing to unload, or it is being unloaded already.
        """
        self.perform(Choice("unload", {}))

    def restart(self) -> None:
        """Bring a device that is out of service back, by a reset. Raises ActionRefused when it is in service."""
        self.perform(Choice("restart", {}))

    def submit(
        self,
        prompt: Sequence[int],
        *,
        max_tokens: int,
        stop: Iterable[int] = (),
        on_token: Callable[[int], None] | None = None,
    ) -> Request:
        """Admit a request (source design 7). `on_token` is called with each token, in order; what it raises is logged.

        Raises Rejected when it cannot be taken, now or ever, and then nothing is queued; ValueError or TypeError for
        what is not a request.
        """
        request = checked(self._ids + 1, prompt, max_tokens, stop, on_token)
        slot = self.engine.first("requests", "vacant")
        if slot is None:
            total = len(self.requests)
            raise Rejected(f"{total} requests are waiting or served, and there is room for no more", retry=True)
        if not self._meanings.possible(Choice("admit", {"r": slot, "prompt": 1, "need": 1})):
            model, device = self.engine.state("model"), self.engine.state("device")
            raise Rejected(f"nothing is served now: the model is {model}, the device is {device}", retry=True)
        if self.manifest is not None and max(request.prompt) >= self.manifest.vocabulary:
            highest = self.manifest.vocabulary - 1
            raise ValueError(f"the prompt holds token {max(request.prompt)}; the vocabulary is 0 to {highest}")
        if not self._meanings.possible(
            Choice("admit", {"r": slot, "prompt": len(request.prompt), "need": request.need})
        ):
            chunk, longest = self.engine.params["chunk"], self.engine.params["max_length"]
            raise Rejected(
                f"{len(request.prompt)} prompt tokens and KV for {request.need} never fit: "
                f"a prefill takes {chunk} tokens, and a lane holds {longest}",
                retry=False,
            )
        try:
            fits = self._runtime_side.can_allocate(request.need)
        except RuntimeFault as fault:
            raise Rejected(str(fault), retry=True) from fault
        if not fits:
            raise Rejected(f"the runtime cannot allocate KV for {request.need} tokens", retry=False)
        self.admit(slot, request, request.need)
        self._ids = request.id
        return request

    def admit(self, slot: int, request: Request, need: int) -> None:
        """Put a request into a vacant slot. `need`: tokens of KV that it may come to need. Raises ActionRefused."""
        self.perform(Choice("admit", {"r": slot, "prompt": len(request.prompt), "need": need}))
        self._records.requests[slot] = request

    def cancel(self, request: Request) -> None:
        """Ask for a request to be given up; it is at the next turn. For one that has ended, nothing happens."""
        self.inbox.append(CancelAsked(request))

    def check_health(self) -> bool:
        """Ask the device how it is. If it is not well it will be drained and reset (source design 14)."""
        why = self._runtime_side.unhealthy()
        if why:
            self.inbox.append(HealthLost(why))
        return not why

    # ---- turns

    def pump(self) -> None:
        """Handle all that has arrived and do all that the policy wants. Returns when only time or the device can go on.

        Called from inside a turn (by a client's callback) it does nothing: the turn goes on when the callback returns.
        """
        if self._pumping:
            return
        self._pumping = True
        try:
            while True:
                if self.inbox:
                    self.handle(self.inbox.popleft())
                elif (choice := self.policy.next(self)) is not None:
                    self.perform(choice)
                else:
                    return
        finally:
            self._pumping = False

    def handle(self, message: Message) -> Step | None:
        """Do what a message means now. None when it means nothing any more, which is counted, or when it must wait."""
        match message:
            case OperationHint(serial=serial):
                self.stale["OperationHint"] += not self._operations.poke(serial)
                return None
            case DeadlinePassed() if self._deadlines.stands(message):
                found = self._look(message)
                if not self._deadlines.stands(message):
                    self.missed += 1
                    return found
            case JobHint(buffer=buffer, ticket=ticket):
                self._runtime_side.parallelism.look_at_status(buffer, ticket)
        choice = self.meaning(message)
        if isinstance(message, OperationEnded):
            self._operations.hear(message)
        if choice is not None:
            return self.perform(choice)
        if self._meanings.must_wait(message):
            self._waiting.append(message)
        else:
            self.stale[type(message).__name__] += 1
        return None

    def perform(self, choice: Choice) -> Step:
        """Apply an action and its effects. Raises ActionRefused, and then nothing has changed."""
        step = self.engine.apply(choice.action, **choice.arguments)
        self._deadlines.follow(step)
        self._records.follow(step)
        self._runtime_side.follow(step)
        self._note(step, choice.reason)
        self.inbox.extend(self._waiting)
        self._waiting.clear()
        for effect in step.effects:
            if effect.name in self._effects:
                self._effects[effect.name](step, choice.reason or choice.action.replace("_", " "))
            else:
                self._runtime_side.effects[effect.name](step)
        return step

    def meaning(self, message: Message) -> Choice | None:
        """The action that a message asks for in the present state, or None."""
        return self._meanings.of(message)

    def possible(self, choice: Choice) -> bool:
        """Whether an action would be taken now."""
        return self._meanings.possible(choice)

    def _look(self, message: DeadlinePassed) -> Step | None:
        """Before anything is called lost: is its answer there, and only the notification lost (source design 14)?"""
        part = self.engine.system.parts[message.part].name
        record = self.jobs[message.index] if part == "jobs" else None
        if record is not None:
            news = self.meaning(JobHint(record.buffer, record.ticket))
            return self.perform(news) if news is not None and news.action != "status_running" else None
        if self._operations.look(part):
            self._deadlines.again(message)
        return None

    def _note(self, step: Step, reason: str) -> None:
        """Keep in words why the model or the device is out of service."""
        for change in step.changes:
            part = self.engine.system.parts[change.part]
            if change.state == change.new_state or part.name not in ("model", "device"):
                continue
            state = part.table.states[change.new_state].name
            if part.name == "model" and state == "draining":
                self.drain_is_over = False
            if part.name == "model" and state == "ready":
                self.failure = ""
            elif state in ("failed", "draining", "offline") and reason:
                self.failure = reason

    # ---- what the policy asks

    def objection(self) -> str:
        """Why the manifest of the model that is being validated cannot be served; empty when it can."""
        assert self.manifest is not None
        return self._runtime_side.objection(self.manifest)

    def judge(self, job: int) -> Choice:
        """What becomes of a job whose output is there: accepted, with its KV committed on the device, or not."""
        return self._runtime_side.judge(job)

    # ---- effects that the client sees

    def _deliver(self, step: Step, _: str) -> None:
        record = self._records.job(step.arguments["j"])
        assert record.token is not None
        record.request.tokens.append(record.token)
        if record.request.on_token is not None:
            try:
                record.request.on_token(record.token)
            except Exception:
                log.exception("on_token of request %d raised", record.request.id)

    def _end(self, step: Step, reason: str) -> None:
        for change in step.changes:
            row = self.engine.system.parts[change.part]
            state = row.table.states[change.new_state]
            if row.name == "requests" and state.outcome and change.state != change.new_state:
                request = self._records.request(change.index)
                request.outcome = Outcome(state.name)
                request.reason = "" if request.outcome is Outcome.FINISHED else reason

    def _drain_over(self, _: Step, __: str) -> None:
        self.drain_is_over = True

    def _out_of_service(self, _: Step, reason: str) -> None:
        log.error("the device is out of service: %s", self.failure or reason)
