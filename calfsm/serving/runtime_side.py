"""What the executor does to the runtime: the effects of actions, and the judgements that need the device's word.

Nothing here moves a state. An effect starts something; its answer comes back as a message.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from calfsm.engine.engine import Engine, Step
from calfsm.serving.choice import Choice
from calfsm.serving.loading import Finish, Outlasted, Steps, Warmup, best_token, objections
from calfsm.serving.messages import HealthLost, InferAnswered, JobHint, Message
from calfsm.serving.operations import Operations
from calfsm.serving.parallelism import Parallelism
from calfsm.serving.records import PoolItem, Records
from calfsm.serving.runtime import Calbin, EngineSlot, Manifest, Operation, Runtime, RuntimeFault, Submit, TaskType

BANKS = (EngineSlot.PING, EngineSlot.PONG)


class RuntimeSide:
    """One runtime, the calbin on it, and the memory that was lent to it."""

    def __init__(
        self,
        runtime: Runtime,
        engine: Engine,
        records: Records,
        operations: Operations,
        post: Callable[[Message], None],
    ) -> None:
        self.runtime = runtime
        self.generation = 0
        self.parallelism = Parallelism(runtime, engine, records)
        self.effects: dict[str, Callable[[Step], None]] = {
            "runtime.configure": self._configure,
            "runtime.warm": self._warm,
            "runtime.release": self._release,
            "runtime.reset": self._reset,
            "runtime.infer": self._infer,
        }
        self._engine, self._records, self._operations, self._post = engine, records, operations, post
        self._calbin: Calbin | None = None
        self._baseline = 0  # bytes in use before the model was loaded
        self._banks: dict[int, EngineSlot] = {}  # by ticket, for jobs that were handed to the device
        self._uncleared: set[int] = set()  # vacant lanes that the device would not empty

    # ---- judgements

    def objection(self, manifest: Manifest) -> str:
        """Why a model cannot be served here; empty when it can (source design 10.2)."""
        params = self._engine.params
        try:
            found = list(
                objections(
                    manifest, self.runtime, lanes=params["lanes"], context=params["max_length"], chunk=params["chunk"]
                )
            )
            if not found:
                self._calbin = self.runtime.create_calbin(manifest)
        except RuntimeFault as fault:
            found = [str(fault)]
        return "; ".join(found)

    def judge(self, job: int) -> Choice:
        """What becomes of a job whose output is there: accepted, with its KV committed on the device, or not."""
        record = self._records.job(job)
        record.token = best_token(self._records.item(record.buffer).sink.logits[0])
        if record.token is None:
            return Choice("bad_output", {"j": job}, "the output is not made of numbers")
        if not self._commit(record.lane, record.start + len(record.tokens)):
            return Choice("bad_output", {"j": job}, f"the KV cache would not commit: {self.runtime.last_error}")
        return Choice("accept_last" if record.request.is_last(record.token) else "accept_token", {"j": job})

    def can_allocate(self, tokens: int) -> bool:
        """Whether the device has KV for a sequence of `tokens` tokens at all (source design 7). Raises RuntimeFault."""
        return self.runtime.kv.can_allocate(tokens)

    def unhealthy(self) -> str:
        """Why the device says that it is not well; empty when it is."""
        try:
            health = self.runtime.health()
        except RuntimeFault as fault:
            return str(fault)
        return "" if health.ok else health.detail or "the device is not well"

    # ---- what every step leaves behind

    def follow(self, step: Step) -> None:
        """Keep lanes, pool and operations in step with what an action did."""
        self._hold_what_is_over(step)
        match step.action:
            case "load":
                self._baseline = self.runtime.memory_in_use()
                self.parallelism.begin_anew()
            case "submit_ok":
                self.parallelism.look_at_counters()
            case "bad_output":
                self.parallelism.suspect("an output was not valid")
            case "release_lane":
                for change in step.changes:
                    if self._engine.system.parts[change.part].name == "kvs" and not self._commit(change.index, 0):
                        self._uncleared.add(change.index)
            case "retire_job":
                tickets = {record.ticket for record in self._records.jobs if record is not None}
                self._banks = {ticket: bank for ticket, bank in self._banks.items() if ticket in tickets}
            case "rebuilt":
                self._rebuild(step.arguments["b"])
            case "reset_done":
                self.generation += 1
                self._uncleared.clear()
                self._operations.forget("model")  # what was under way went with the reset
                if str(self._engine.state("model")) == "unloading":
                    self._release(step)

    def _hold_what_is_over(self, step: Step) -> None:
        """An operation goes no further than the state that waits for it.

        A device that is being drained is given no golden job, and one that is being reset nothing at all; a release
        that a reset cuts short is begun again after it.
        """
        for change in step.changes:
            part = self._engine.system.parts[change.part].name
            if change.state == change.new_state or part not in ("model", "device"):
                continue
            self._operations.hold(part)
            if str(self._engine.state("model")) == "warming" or str(self._engine.state("device")) == "resetting":
                self._operations.hold("model")

    def _commit(self, lane: int, length: int) -> bool:
        try:
            return self.runtime.kv.apply(lane, length)
        except RuntimeFault:
            return False

    def _rebuild(self, buffer: int) -> None:
        """New memory for an item that came back; where no calbin is configured, it is made when one is."""
        self._records.pool[buffer] = None
        if str(self._engine.state("model")) in ("warming", "ready", "draining"):
            try:
                self._records.pool[buffer] = self._new_item()
            except RuntimeFault as fault:
                self._post(HealthLost(str(fault)))

    def _new_item(self) -> PoolItem:
        calbin = self._present()
        return PoolItem(self.runtime.create_input(calbin), self.runtime.create_output(calbin))

    def _present(self) -> Calbin:
        assert self._calbin is not None
        return self._calbin

    # ---- effects

    def _infer(self, step: Step) -> None:
        record = self._records.job(step.arguments["j"])
        item = self._records.item(record.buffer)
        if record.task is TaskType.PREFILL and record.lane in self._uncleared:
            if not self._commit(record.lane, 0):
                why = f"lane {record.lane} would not be emptied: {self.runtime.last_error}"
                self._post(InferAnswered(record.ticket, Submit.REJECTED, why))
                return
            self._uncleared.discard(record.lane)
        item.sink.notify(partial(self._post, JobHint(record.buffer, record.ticket)))
        bank = self._free_bank(record.ticket)
        try:
            answer, why = self.runtime.infer_with_fixed_task_type(record.task, bank, item.source, item.sink), ""
        except RuntimeFault as fault:
            answer, why = Submit.UNKNOWN, str(fault)
        if answer is not Submit.OK:
            why = why or self.runtime.last_error
        self._post(InferAnswered(record.ticket, answer, why))

    def _free_bank(self, ticket: int) -> EngineSlot:
        """With two slots, the bank that no job has which may still be out."""
        if self.parallelism.slots == 1:
            return EngineSlot.AUTO
        out = self._engine.among("jobs", "submitting", "submitted", "abandoned")
        taken = {self._banks.get(self._records.job(job).ticket) for job in out}
        bank = next((bank for bank in BANKS if bank not in taken), EngineSlot.AUTO)
        self._banks[ticket] = bank
        return bank

    def _configure(self, _: Step) -> None:
        calbin = self._present()
        self._operations.begin("configure", partial(Steps, [lambda: self.runtime.configure(calbin)]))

    def _warm(self, _: Step) -> None:
        self.generation += 1
        self.parallelism.enable()

        def start(notify: Callable[[], None], finish: Finish) -> Warmup:
            for buffer in self._engine.among("buffers", "free"):
                self._records.pool[buffer] = self._new_item()
            return Warmup(self.runtime, self._present(), notify, finish)

        self._operations.begin("warm", start)

    def _release(self, _: Step) -> None:
        """Once what was cut short (a configure, a golden run) is out of the device, drop the calbin and its memory."""
        starts: list[Callable[[], Operation]] = [self.runtime.reset_configuration, self.runtime.clear_dynamic_mem]
        other = self._operations.in_the_way("model")
        if other is not None:
            starts.insert(0, partial(Outlasted, other))
        self._operations.begin("release", partial(Steps, starts), self._not_back)

    def _not_back(self) -> str:
        missing = self.runtime.memory_in_use() - self._baseline
        return f"{missing:,} bytes did not come back" if missing > 0 else ""

    def _reset(self, _: Step) -> None:
        self._operations.begin("reset", partial(Steps, [self.runtime.device_reset]), self.unhealthy)
