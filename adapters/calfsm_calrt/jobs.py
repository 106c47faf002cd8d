"""The job engine of the simulated device: two command banks, one set of compute units, and real DMA.

The life of a job (source design 3, 4.3, 5.2), in virtual time:

    accepted ──load──► loaded ──units free──► started ──compute──► computed ──store──► ended
    SUBMITTED                                 RUNNING                                  DONE or CCU_EXCEPTION

The job reads its input arrays when it starts, and its tokens and positions again when it ends, to write their KV
entries; it writes its logits when it ends. So whoever writes an input array in flight spoils the logits, the KV, or
both, and whoever reads or reuses the logits before the end gets what the device happens to leave there.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import attrs
import numpy as np

from calfsm.serving.clock import Timer, VirtualClock
from calfsm.serving.runtime import EngineSlot, OutputStatus, TaskType

from .buffers import INPUT_ARRAYS, SimulatedInputBuf, SimulatedOutputBuf
from .faults import Fault
from .kv import SimulatedKvCache
from .model import PRIME, Logits, Model
from .timing import Timing

BANKS = (EngineSlot.PING, EngineSlot.PONG)
_LATE = ("late", "ccu_exception")


@attrs.frozen
class Touch:
    """One access of the device to a host array: when (seconds), by which job, `read` or `write`, and which array."""

    time: float
    job: int
    access: str
    array: str


@attrs.frozen(eq=False)
class LaneWork:
    """What a job does in one lane: `count` tokens of batch row `row`, KV entries from `base`, and the scores."""

    row: int
    lane: int
    base: int
    count: int
    logits: Logits


@attrs.define(eq=False)
class Job:
    """A job that the device has accepted. The arrays are the addresses that its DMA was given."""

    number: int
    task: TaskType
    bank: EngineSlot
    source: SimulatedInputBuf
    sink: SimulatedOutputBuf
    fault: Fault | None
    inputs: dict[str, Any] = attrs.field(init=False)
    logits: Any = attrs.field(init=False)
    loaded: bool = False
    started: bool = False
    work: tuple[LaneWork, ...] = ()
    timers: list[Timer] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Latch the addresses: arrays that the host puts in their place later are not what the DMA uses."""
        self.inputs = {name: getattr(self.source, name) for name in INPUT_ARRAYS}
        self.logits = self.sink.logits

    @property
    def flaw(self) -> str:
        """Which fault this job has, or an empty string."""
        return "" if self.fault is None else self.fault.fault

    @property
    def arrays(self) -> list[Any]:
        """Every host array the job may touch."""
        return [*self.inputs.values(), self.logits]


class JobEngine:
    """Runs jobs in the order of submission, each bank with one job at most.

    `kv` and `model` are those of the configured calbin; without them nothing may be submitted.
    """

    def __init__(self, clock: VirtualClock, timing: Timing, log_size: int) -> None:
        self.kv: SimulatedKvCache | None = None
        self.model: Model | None = None
        self.limit = 1
        self.finished = 0
        self.touches: deque[Touch] = deque(maxlen=log_size)
        self.misuses: deque[str] = deque(maxlen=log_size)
        self._clock = clock
        self._timing = timing
        self._jobs: list[Job] = []  # accepted and not ended, oldest first
        self._computing: Job | None = None
        self._accepted = 0

    @property
    def pending(self) -> int:
        """Jobs accepted and not ended."""
        return len(self._jobs)

    @property
    def left(self) -> int:
        """How many more jobs would be accepted now."""
        return max(0, self.limit - len(self._jobs))

    def free_bank(self, wanted: EngineSlot) -> EngineSlot | None:
        """The bank a job would get, or None if it is taken."""
        taken = {job.bank for job in self._jobs}
        choices = BANKS if wanted is EngineSlot.AUTO else (wanted,)
        return next((bank for bank in choices if bank not in taken), None)

    def user_of(self, buffer: object) -> Job | None:
        """The job in flight that uses a buffer."""
        return next((job for job in self._jobs if buffer is job.source or buffer is job.sink), None)

    def touching(self, array: Any) -> bool:
        """Whether a job in flight may still read or write the memory of a host array."""
        return any(np.may_share_memory(array, mine) for job in self._jobs for mine in job.arrays)

    def wiped(self, buffer: object, how: str) -> None:
        """Note that the host wiped a buffer, if that was in flight."""
        job = self.user_of(buffer)
        if job is not None:
            side = "input" if buffer is job.source else "output"
            self.misuses.append(f"{how} on the {side} of job {job.number}, which is in flight")

    def accept(
        self, task: TaskType, bank: EngineSlot, source: SimulatedInputBuf, sink: SimulatedOutputBuf, fault: Fault | None
    ) -> None:
        """Take a job. The caller has made sure that it may be taken."""
        self._accepted += 1
        job = Job(self._accepted, task, bank, source, sink, fault)
        self._jobs.append(job)
        source.sliced = True
        sink.begin(job.number)
        self._later(job, self._timing.load, self._loaded)

    def abort_running(self, detail: str) -> None:
        """End every job that has started, in CCU_EXCEPTION; the rest goes on."""
        for job in [job for job in self._jobs if job.started]:
            self._except(job, detail)
        self._computing = None
        self._feed()

    def kill_all(self) -> None:
        """Forget every job where it stands. None of them touches anything any more, or answers."""
        for job in self._jobs:
            self._retire(job)
        self._jobs = []
        self._computing = None
        self.finished = 0

    def _later(self, job: Job, seconds: float, step: Any) -> None:
        job.timers.append(self._clock.call_later(seconds, lambda: step(job)))

    def _retire(self, job: Job) -> None:
        for timer in job.timers:
            timer.cancel()

    def _loaded(self, job: Job) -> None:
        job.loaded = True
        self._feed()

    def _feed(self) -> None:
        """Start the oldest job that waits, if the compute units are free and it is loaded."""
        waiting = [job for job in self._jobs if not job.started]
        if self._computing is None and waiting and waiting[0].loaded:
            self._start(waiting[0])

    def _start(self, job: Job) -> None:
        self._computing = job
        job.started = True
        self._read(job)
        if job.flaw != "done_without_running":
            job.sink.change(OutputStatus.RUNNING)
        seconds = self._timing.decode_step
        if job.task is TaskType.PREFILL:
            seconds = self._timing.prefill_token * sum(part.count for part in job.work)
        if job.flaw == "submitted_again":
            self._later(job, seconds * 0.25, lambda job: job.sink.change(OutputStatus.SUBMITTED))
            self._later(job, seconds * 0.5, lambda job: job.sink.change(OutputStatus.RUNNING))
        if job.flaw == "early_notice":
            self._later(job, seconds * 0.5, lambda job: job.sink.hint())
        if job.fault is not None and job.flaw in _LATE and job.fault.does_block:
            seconds += job.fault.seconds
        if job.flaw != "hang":
            self._later(job, seconds, self._computed)

    def _computed(self, job: Job) -> None:
        self._computing = None
        seconds = self._timing.store
        if job.fault is not None and job.flaw in _LATE and not job.fault.does_block:
            seconds += job.fault.seconds
        self._later(job, seconds, self._finish)
        self._feed()

    def _finish(self, job: Job) -> None:
        if job.flaw == "ccu_exception":
            self._except(job, "exception on a compute unit (planned fault)")
            return
        self._write(job)
        self._leave(job)
        notices: tuple[float, ...] = (0.0,)
        if job.fault is not None and job.flaw == "duplicate":
            notices = (0.0, job.fault.seconds)
        if job.fault is not None and job.flaw == "running_after_done":
            delay = job.fault.seconds
            notices = (0.0, delay, 2 * delay)
            self._clock.call_later(delay, lambda: job.sink.flicker(job.number, OutputStatus.RUNNING))
            self._clock.call_later(2 * delay, lambda: job.sink.flicker(job.number, OutputStatus.DONE))
        if job.flaw == "missed":
            notices = ()
        job.sink.end(OutputStatus.DONE, "", notices)

    def _except(self, job: Job, detail: str) -> None:
        """End a started job badly: what it would have written is undefined, so it is made as misleading as can be."""
        assert self.kv is not None
        for part in job.work:
            self.kv.entries[part.lane, part.base : part.base + part.count] = -2 - job.number
            self._touch(job, "write", "logits")
            job.logits[part.row] = np.nan
        self._leave(job)
        job.sink.end(OutputStatus.CCU_EXCEPTION, detail, (0.0,))

    def _leave(self, job: Job) -> None:
        self._retire(job)
        self._jobs.remove(job)
        self.finished += 1

    def _read(self, job: Job) -> None:
        """The DMA in: what the host memory holds *now* is computed. Nonsense wraps; hardware checks nothing."""
        kv, model = self.kv, self.model
        assert kv is not None and model is not None
        for name in INPUT_ARRAYS:
            self._touch(job, "read", name)
        widest = 1 if job.task is TaskType.DECODE else job.inputs["tokens"].shape[1]
        work = []
        for row, wanted in enumerate(job.inputs["counts"]):
            lane = int(job.inputs["lanes"][row]) % kv.lanes
            base = int(kv.committed[lane])
            count = min(max(0, int(wanted)), widest, kv.context - base)
            if count == 0:
                continue
            start = int(job.inputs["starts"][row])
            if start != base:
                self.misuses.append(f"job {job.number} starts lane {lane} at {start}, but {base} tokens are committed")
            fresh = model.entries(job.inputs["tokens"][row, :count], job.inputs["positions"][row, :count])
            prefix = np.concatenate([kv.entries[lane, :base], fresh])
            work.append(LaneWork(row, lane, base, count, model.logits(prefix)))
        job.work = tuple(work)

    def _write(self, job: Job) -> None:
        """The DMA out: KV entries from the tokens that the host memory holds now, and the logits computed before."""
        kv, model = self.kv, self.model
        assert kv is not None and model is not None
        for name in ("tokens", "positions"):
            self._touch(job, "read", name)
        self._touch(job, "write", "logits")
        for part in job.work:
            tokens = job.inputs["tokens"][part.row, : part.count]
            positions = job.inputs["positions"][part.row, : part.count]
            kv.entries[part.lane, part.base : part.base + part.count] = model.entries(tokens, positions)
            job.logits[part.row] = self._spoilt(job, part.logits)

    def _spoilt(self, job: Job, logits: Logits) -> Logits:
        value = "" if job.fault is None or job.flaw != "bad_numbers" else job.fault.value or "nan"
        if value == "garbage":
            # Finite and plausible, with another winner: only comparing with known answers finds it.
            return np.float32(PRIME) - logits
        if value:
            return np.full_like(logits, float(value))
        return logits

    def _touch(self, job: Job, access: str, array: str) -> None:
        self.touches.append(Touch(self._clock.now, job.number, access, array))
