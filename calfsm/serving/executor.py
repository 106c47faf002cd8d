"""The executor: one device, one model, many requests, driven by the compiled `executor` system (source design 3 to 7, 10, 14).

Only the engine moves state. A turn is: handle what has arrived (each message becomes at most one action), then do what the policy
chooses, until there is nothing to do. Every applied step hands back effects; performing them is the rest of this file. All of it runs
on one thread, the owner's; answers reach it through `inbox`.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import attrs

from calfsm.engine.engine import ActionRefused, Engine, Step
from calfsm.engine.system import Profile, System
from calfsm.serving.deadlines import Clock, Deadlines
from calfsm.serving.loading import Finish, Outlasted, Steps, Warmup, best_token, objections
from calfsm.serving.messages import (
    CancelAsked,
    DeadlinePassed,
    HealthLost,
    InferAnswered,
    JobHint,
    Message,
    OperationEnded,
    OperationHint,
)
from calfsm.serving.policy import Choice, Policy
from calfsm.serving.runtime import (
    Calbin,
    EngineSlot,
    InputBuf,
    Manifest,
    Operation,
    OutputBuf,
    OutputStatus,
    Runtime,
    RuntimeFault,
    Submit,
    TaskType,
)
from calfsm.serving.sequence import Outcome, Rejected, Request, checked_prompt
from calfsm.tables.executor import SYSTEM
from calfsm.tables.phase_a import PROFILE

log = logging.getLogger("calfsm.serving")


@attrs.define(eq=False)
class PoolItem:
    """An InputBuf, an OutputBuf and their memory; `ticket` is that of the job that used it last."""

    source: InputBuf
    sink: OutputBuf
    ticket: int = 0


@attrs.define(eq=False)
class JobRecord:
    """What a job is about. `ticket` never comes back, so that a stale answer is told from a present one."""

    ticket: int
    request: Request
    task: TaskType
    tokens: tuple[int, ...]
    start: int
    lane: int
    buffer: int
    token: int | None = None


class Executor:
    """Serves requests on one device.

    `runtime` and `clock` belong together (a simulated device shares its clock). `profile` gives the numbers; `policy` chooses. Raises
    TypeError or ValueError for a profile that the system cannot be built with, KeyError for one without a needed deadline.
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
        self.runtime, self.clock, self.profile = runtime, clock, profile
        self.engine = Engine(system, **profile.params)
        self.policy = policy or Policy()
        self.inbox: deque[Message] = deque()
        self.requests: list[Request | None] = [None] * self.engine.count("requests")
        self.jobs: list[JobRecord | None] = [None] * self.engine.count("jobs")
        self.pool: list[PoolItem | None] = [None] * self.engine.count("buffers")
        self.generation = 0
        """How many times a model was configured. Never goes back."""
        self.manifest: Manifest | None = None
        self.failure = ""
        """Why the model last failed to load or the device went wrong, in words."""
        self.slots = self.engine.params["limit"]
        """How many jobs may be out now: the profile's limit, or 1 where the runtime does not take more."""
        self.stale: Counter[str] = Counter()
        """Messages that changed nothing, by kind."""
        self.missed = 0
        """Completions that were found only because a deadline made the executor look."""
        self.drain_is_over = False
        self._deadlines = Deadlines(system, profile.deadlines, clock, self._deadline_passed)
        self._deferred: list[Message] = []
        self._ids = 0
        self._tickets = 0
        self._calbin: Calbin | None = None
        self._baseline = 0
        self._operations: dict[str, tuple[int, Steps | Warmup | None]] = {"model": (0, None), "device": (0, None)}
        self._serial = 0
        self._effects: dict[str, Callable[[Step], None]] = {
            "runtime.configure": self._configure,
            "runtime.warm": self._warm,
            "runtime.release": self._release,
            "runtime.reset": self._reset,
            "runtime.infer": self._infer,
            "client.deliver": self._deliver,
            "client.end": self._end,
            "policy.end_requests": self._drain_over,
            "policy.out_of_service": self._out_of_service,
        }

    # ---- the client's side

    def load(self, manifest: Manifest) -> None:
        """Begin to load a model. Raises ActionRefused when one is there already, or the device is not ready."""
        self.perform(Choice("load", {}))
        self.manifest, self.failure, self.drain_is_over = manifest, "", False

    def unload(self) -> None:
        """Begin to unload it: new requests are refused, running ones go on until the drain deadline. Raises ActionRefused."""
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
        """Admit a request, or raise Rejected; ValueError for what is not a request. `on_token` is called with each token, in order."""
        tokens = checked_prompt(prompt, max_tokens)
        slot = self.engine.first("requests", "vacant")
        if slot is None:
            raise Rejected(f"{len(self.requests)} requests are waiting or served, and there is room for no more", retry=True)
        need = len(tokens) + max_tokens - 1  # the last token is never fed back, so it needs no KV
        if str(self.engine.state("model")) == "ready" and str(self.engine.state("device")) == "ready":
            if self.manifest is not None and max(tokens) >= self.manifest.vocabulary:
                raise ValueError(f"the prompt holds token {max(tokens)}; the vocabulary is 0 to {self.manifest.vocabulary - 1}")
            if not self.runtime.kv.can_allocate(need):
                raise Rejected(f"the runtime cannot allocate KV for {need} tokens", retry=False)
        request = Request(self._ids + 1, tokens, max_tokens, frozenset(stop), on_token)
        try:
            self.admit(slot, request, need)
        except ActionRefused as refused:
            not_now = "`serving`" in refused.reason
            raise Rejected(f"{len(tokens)} prompt tokens and up to {max_tokens} more: {refused.reason}", retry=not_now) from refused
        self._ids += 1
        return request

    def admit(self, slot: int, request: Request, need: int) -> None:
        """Put a request into a vacant slot; `need` is the KV that it may come to need. Raises ActionRefused."""
        self.perform(Choice("admit", {"r": slot, "prompt": len(request.prompt), "need": need}))
        self.requests[slot] = request

    def cancel(self, request: Request) -> None:
        """Ask for a request to be given up. It is when the next turn comes; of one that has ended, nothing is."""
        self.inbox.append(CancelAsked(request.id))

    def check_health(self) -> bool:
        """Ask the device how it is; if it is not well, it will be drained and reset."""
        health = self.runtime.health()
        if not health.ok:
            self.inbox.append(HealthLost(health.detail))
        return health.ok

    # ---- turns

    def pump(self) -> None:
        """Handle all that has arrived and do all that the policy wants. Returns when only time or the device can go on."""
        while True:
            if self.inbox:
                self.handle(self.inbox.popleft())
                continue
            choice = self.policy.next(self)
            if choice is None:
                return
            self.perform(choice)

    def handle(self, message: Message) -> Step | None:
        """Do what a message means now. None when it means nothing any more, which is counted, or must wait, which it then does."""
        if isinstance(message, OperationHint):
            for serial, operation in self._operations.values():
                if serial == message.serial and operation is not None:
                    operation.poke()
            return None
        choice = self.meaning(message)
        if choice is None:
            if self._must_wait(message):
                self._deferred.append(message)
            else:
                self.stale[type(message).__name__] += 1
            return None
        if isinstance(message, OperationEnded | InferAnswered | HealthLost) and message.why:
            self.failure = message.why
        return self.perform(choice)

    def perform(self, choice: Choice) -> Step:
        """Apply an action and its effects. Raises ActionRefused."""
        step = self.engine.apply(choice.action, **choice.arguments)
        self._reason = choice.reason or step.action.replace("_", " ")
        self._deadlines.follow(step)
        self._remember(step)
        for effect in step.effects:
            self._effects[effect.name](step)
        if self._deferred:
            self.inbox.extend(self._deferred)
            self._deferred.clear()
        self._forget(step)
        return step

    _reason = ""

    # ---- what messages mean

    def meaning(self, message: Message) -> Choice | None:
        """The action that a message asks for in the present state, or None."""
        match message:
            case InferAnswered(job=job, ticket=ticket, answer=answer, why=why):
                record = self.jobs[job]
                if record is None or record.ticket != ticket:
                    return None
                return self._possible(Choice(f"submit_{answer.value}", {"j": job}, why))
            case JobHint(buffer=buffer, ticket=ticket):
                return self._job_news(buffer, ticket)
            case OperationEnded(serial=serial, kind=kind, ok=ok, why=why):
                current = any(serial == known for known, _ in self._operations.values())
                return self._possible(Choice(_ENDINGS[kind, ok], {}, why)) if current else None
            case DeadlinePassed():
                return self._overdue(message)
            case CancelAsked(id=number):
                slot = next((index for index, request in enumerate(self.requests) if request and request.id == number), None)
                if slot is None:
                    return None
                return self._first_possible([Choice(name, {"r": slot}, "cancelled by its client") for name in _CANCELS])
            case HealthLost(why=why):
                return self._possible(Choice("unhealthy", {}, why))
        return None

    def _job_news(self, buffer: int, ticket: int) -> Choice | None:
        item = self.pool[buffer]
        if item is None or item.ticket != ticket:
            return None
        job = next((index for index, record in enumerate(self.jobs) if record and record.ticket == ticket), None)
        status = item.sink.status()
        choices = []
        if status.final:
            if job is not None:
                choices.append(Choice("done" if status is OutputStatus.DONE else "ccu_exception", {"j": job}, item.sink.detail))
            choices.append(Choice("late_done", {"b": buffer}))
        elif status is OutputStatus.RUNNING and job is not None:
            choices.append(Choice("status_running", {"j": job}))
        return self._first_possible(choices)

    def _overdue(self, message: DeadlinePassed) -> Choice | None:
        """A deadline that passed; but first one look at whether the answer is there and only its notification was lost (14)."""
        part = self.engine.system.parts[message.part].name
        if part == "jobs":
            record = self.jobs[message.index]
            news = self._job_news(record.buffer, record.ticket) if record else None
            if news is not None and news.action in ("done", "ccu_exception"):
                self.missed += 1
                return news
        elif part in self._operations and (operation := self._operations[part][1]) is not None:
            waiting = len(self.inbox)
            operation.poke()
            if any(isinstance(other, OperationEnded) for other in list(self.inbox)[waiting:]):
                self.missed += 1
                return None
        reason = f"{self.engine.system.parts[message.part].table.events[message.event].name.replace('_', ' ')} passed"
        return self._first_possible(
            [Choice(name, {pick: message.index} if pick else {}, reason) for name, pick in self._deadlines.actions[message.part, message.event]]
        )

    def _must_wait(self, message: Message) -> bool:
        """Whether a client's or the clock's word comes while `infer` is being asked: its answer comes first."""
        match message:
            case CancelAsked(id=number):
                slot = next((index for index, request in enumerate(self.requests) if request and request.id == number), None)
            case DeadlinePassed(part=part, index=index) if self.engine.system.parts[part].name == "requests":
                slot = index
            case _:
                return False
        if slot is None:
            return False
        job = self.engine.value("requests", slot, "job")
        return job >= 0 and str(self.engine.state("jobs", job)) == "submitting"

    def possible(self, choice: Choice) -> bool:
        """Whether an action would be taken now."""
        return self.engine.would(choice.action, **choice.arguments)

    def _possible(self, choice: Choice) -> Choice | None:
        return choice if self.possible(choice) else None

    def _first_possible(self, choices: Iterable[Choice]) -> Choice | None:
        return next((choice for choice in choices if self.possible(choice)), None)

    # ---- what the policy asks

    def objection(self) -> str:
        """Why the manifest of the model that is being validated cannot be served; empty when it can."""
        assert self.manifest is not None
        params = self.engine.params
        found = list(
            objections(self.manifest, self.runtime, lanes=params["lanes"], context=params["max_length"], chunk=params["chunk"])
        )
        if not found:
            try:
                self._calbin = self.runtime.create_calbin(self.manifest)
            except RuntimeFault as fault:
                found.append(str(fault))
        return "; ".join(found)

    def judge(self, job: int) -> Choice:
        """What becomes of a job whose output is there: accepted, with its KV committed on the device, or not."""
        record = self.jobs[job]
        assert record is not None
        item = self.pool[record.buffer]
        assert item is not None
        record.token = best_token(item.sink.logits[0])
        if record.token is None:
            return Choice("bad_output", {"j": job}, "the output is not made of numbers")
        try:
            committed = self.runtime.kv.apply(record.lane, record.start + len(record.tokens))
        except RuntimeFault:
            committed = False
        if not committed:
            return Choice("bad_output", {"j": job}, f"the KV cache would not commit: {self.runtime.last_error}")
        return Choice("accept_last" if record.request.is_last(record.token) else "accept_token", {"j": job})

    # ---- what steps leave behind

    def _remember(self, step: Step) -> None:
        """Records of what an action began."""
        arguments = step.arguments
        match step.action:
            case "prepare_prefill":
                request = self._request(arguments["r"])
                tokens = request.text[: arguments["n"]]
                self._record(arguments["j"], arguments["b"], request, TaskType.PREFILL, tokens, 0, arguments["k"])
            case "prepare_decode":
                request = self._request(arguments["r"])
                lane = self.engine.value("requests", arguments["r"], "kv")
                start = self.engine.value("kvs", lane, "length")
                self._record(arguments["j"], arguments["b"], request, TaskType.DECODE, (request.tokens[-1],), start, lane)
            case "release_lane":
                for change in step.changes:
                    if self.engine.system.parts[change.part].name == "kvs":
                        self.runtime.kv.apply(change.index, 0)
            case "reset_done":
                self.generation += 1
                self._serial += 1
                self._operations["model"] = self._serial, None  # what was under way went with the reset, and will never answer
                if str(self.engine.state("model")) == "unloading":
                    self._release(step)
            case "released":
                self.pool = [None] * len(self.pool)
            case "rebuilt":
                self._make_item(arguments["b"])

    def _forget(self, step: Step) -> None:
        """Wipe what went back to the pool, and drop records of slots that are vacant again."""
        for change in step.changes:
            row = self.engine.system.parts[change.part]
            state = row.table.states[change.new_state].name
            if row.name == "buffers" and state == "free" and row.table.states[change.state].name in ("preparing", "completing"):
                item = self.pool[change.index]
                assert item is not None
                item.source.undo_slice()
                item.source.reset_all_tensors()
                item.sink.reset_all_tensors()
            elif row.name == "jobs" and state == "vacant":
                self.jobs[change.index] = None
            elif row.name == "requests" and state == "vacant":
                self.requests[change.index] = None

    def _request(self, slot: int) -> Request:
        request = self.requests[slot]
        assert request is not None
        return request

    def _record(
        self, job: int, buffer: int, request: Request, task: TaskType, tokens: tuple[int, ...], start: int, lane: int
    ) -> None:
        self._tickets += 1
        item = self.pool[buffer]
        assert item is not None
        item.ticket = self._tickets
        self.jobs[job] = JobRecord(self._tickets, request, task, tokens, start, lane, buffer)
        count = len(tokens)
        item.source.tokens[0, :count] = tokens
        item.source.positions[0, :count] = range(start, start + count)
        item.source.lanes[0], item.source.starts[0], item.source.counts[0] = lane, start, count

    def _make_item(self, buffer: int) -> None:
        if self._calbin is None or str(self.engine.state("model")) not in ("warming", "ready", "draining"):
            return  # no calbin is configured; the pool is made when one is
        try:
            self.pool[buffer] = PoolItem(self.runtime.create_input(self._calbin), self.runtime.create_output(self._calbin))
        except RuntimeFault as fault:
            self.inbox.append(HealthLost(str(fault)))

    # ---- effects

    def _infer(self, step: Step) -> None:
        job = step.arguments["j"]
        record = self.jobs[job]
        assert record is not None
        item = self.pool[record.buffer]
        assert item is not None
        item.sink.notify(partial(self.inbox.append, JobHint(record.buffer, record.ticket)))
        slot = EngineSlot.AUTO if self.slots == 1 else (EngineSlot.PING, EngineSlot.PONG)[record.buffer % 2]
        try:
            answer, why = self.runtime.infer_with_fixed_task_type(record.task, slot, item.source, item.sink), ""
        except RuntimeFault as fault:
            answer, why = Submit.UNKNOWN, str(fault)
        if answer is not Submit.OK:
            why = why or self.runtime.last_error
        self.inbox.append(InferAnswered(job, record.ticket, answer, why))

    def _deliver(self, step: Step) -> None:
        record = self.jobs[step.arguments["j"]]
        assert record is not None and record.token is not None
        record.request.tokens.append(record.token)
        if record.request.on_token is not None:
            try:
                record.request.on_token(record.token)
            except Exception:
                log.exception("on_token of request %d raised", record.request.id)

    def _end(self, step: Step) -> None:
        for change in step.changes:
            row = self.engine.system.parts[change.part]
            if row.name == "requests" and row.table.states[change.new_state].outcome and change.state != change.new_state:
                request = self._request(change.index)
                request.outcome = Outcome(row.table.states[change.new_state].name)
                request.reason = "" if request.outcome is Outcome.FINISHED else self._reason

    def _configure(self, _: Step) -> None:
        calbin = self._calbin
        assert calbin is not None
        self._baseline = self.runtime.memory_in_use()
        self._begin("configure", partial(Steps, [lambda: self.runtime.configure(calbin)]))

    def _warm(self, _: Step) -> None:
        self.generation += 1
        assert self._calbin is not None
        if self.engine.params["limit"] > 1:
            self.slots = self.engine.params["limit"] if self.runtime.enable_parallel_mode(True) else 1
        for buffer in self.engine.among("buffers", "free"):
            self._make_item(buffer)
        calbin = self._calbin
        self._begin("warm", lambda hint, ended: Warmup(self.runtime, calbin, hint, ended))

    def _release(self, _: Step) -> None:
        """Once what was cut short (a configure, a golden run) is out of the device, drop the configuration and its memory."""
        starts: list[Callable[[], Operation]] = [self.runtime.reset_configuration, self.runtime.clear_dynamic_mem]
        _, earlier = self._operations["model"]
        if earlier is not None and (other := earlier.under_way) is not None:
            starts.insert(0, partial(Outlasted, other))
        self._begin("release", partial(Steps, starts))

    def _reset(self, _: Step) -> None:
        self._begin("reset", partial(Steps, [self.runtime.device_reset]))

    def _begin(self, kind: str, start: Callable[[Callable[[], None], Finish], Steps | Warmup]) -> None:
        """Start a long operation of the model or the device; what that one was doing before is no longer listened to."""
        self._serial += 1
        serial, subject = self._serial, "device" if kind == "reset" else "model"
        self._operations[subject] = serial, None
        operation = start(partial(self.inbox.append, OperationHint(serial)), partial(self._ended, serial, kind))
        self._operations[subject] = serial, operation

    def _ended(self, serial: int, kind: str, ok: bool, why: str) -> None:
        """An operation's own verdict, and what must be seen besides before it is believed."""
        if ok and kind == "release" and self.runtime.memory_in_use() > self._baseline:
            ok, why = False, f"{self.runtime.memory_in_use() - self._baseline:,} bytes did not come back"
        if ok and kind == "reset":
            health = self.runtime.health()
            ok, why = health.ok, health.detail
        self.inbox.append(OperationEnded(serial, kind, ok, why))

    def _drain_over(self, _: Step) -> None:
        self.drain_is_over = True

    def _out_of_service(self, _: Step) -> None:
        log.error("the device is out of service: %s", self.failure or self._reason)

    def _deadline_passed(self, part: int, index: int, event: int) -> None:
        self.inbox.append(DeadlinePassed(part, index, event))

    def snapshot(self) -> dict[str, list[dict[str, Any]]]:
        """The whole state, in the spec's words."""
        return self.engine.described()


_CANCELS = ("cancel_waiting", "cancel_preparing", "cancel_in_flight")
_ENDINGS = {
    ("configure", True): "configured",
    ("configure", False): "configure_failed",
    ("warm", True): "warmed",
    ("warm", False): "warm_failed",
    ("release", True): "released",
    ("release", False): "release_failed",
    ("reset", True): "reset_done",
    ("reset", False): "reset_failed",
}
"""The runtime's answer to a long operation, as an action."""
