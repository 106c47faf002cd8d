"""The simulated CalRT device: one virtual device in virtual time that can fail in every planned way.

It implements `calfsm.serving.runtime.Runtime`. What is simulated honestly is what the source design worries about:
memory is read and written by the device long after `infer` has answered (4.3), KV lengths are believed (7), one calbin
is configured at a time and its memory comes back in two steps (9, 10.3), and only a device reset that is DONE ends
every hold on host memory (14). The device is single-threaded: all of it runs in the calls made to it and in calls of
its clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from calfsm.serving.clock import VirtualClock
from calfsm.serving.runtime import (
    Calbin,
    EngineSlot,
    Health,
    InputBuf,
    JobCounters,
    Manifest,
    OutputBuf,
    RuntimeFault,
    Submit,
    TaskType,
    Versions,
)

from .buffers import SimulatedCalbin, SimulatedInputBuf, SimulatedOutputBuf
from .checks import wrong_arrays, wrong_contents
from .faults import Fault, FaultPlan
from .jobs import JobEngine, Touch
from .kv import SimulatedKvCache
from .model import model_of, objection
from .operations import SimulatedOperation
from .timing import Timing

VERSIONS = Versions(runtime="0.7.6", driver="1.0.0", firmware="1.0.0")
CAPACITY = 32 << 30


class SimulatedDevice:
    """One simulated device. See `calfsm.serving.runtime.Runtime` for what the calls mean.

    `plan`: the faults to come. `memory_capacity`: bytes. `lanes`: KV lanes of a configured calbin, if not the
    manifest's. `parallel`: whether two jobs can be in flight at all.
    `log_size`: how many `touches` and `misuses` are remembered. Raises ValueError for sizes below 1.
    """

    def __init__(
        self,
        clock: VirtualClock,
        *,
        plan: FaultPlan | None = None,
        timing: Timing | None = None,
        memory_capacity: int = CAPACITY,
        lanes: int | None = None,
        parallel: bool = True,
        versions: Versions = VERSIONS,
        log_size: int = 10_000,
    ) -> None:
        for name, size in (("memory_capacity", memory_capacity), ("lanes", lanes), ("log_size", log_size)):
            if size is not None and size < 1:
                raise ValueError(f"{name} must be 1 or more, got {size}")
        if plan is not None and not isinstance(plan, FaultPlan):
            raise TypeError(f"plan is a FaultPlan (FaultPlan.load reads a file), not {plan!r}")
        self.plan = plan or FaultPlan()
        self.timing = timing or Timing()
        self.generation = 0
        self.last_error = ""
        self._clock = clock
        self._capacity = memory_capacity
        self._lanes = lanes
        self._parallel = parallel
        self._versions = versions
        self._engine = JobEngine(clock, self.timing, log_size)
        self._configured: SimulatedCalbin | None = None
        self._reserved = 0  # bytes of the calbin that is configured or being configured
        self._dropped = 0  # bytes of dropped configurations that were not cleared yet
        self._sick = False
        self._operation: SimulatedOperation | None = None  # configure, reset_configuration, clear_dynamic_mem
        self._reset: SimulatedOperation | None = None  # reset_ccu, device_reset

    @property
    def kv(self) -> SimulatedKvCache:
        """The KV lanes of the configured calbin. Raises RuntimeFault when none is configured."""
        if self._engine.kv is None:
            raise RuntimeFault("no calbin is configured, so there is no KV cache")
        return self._engine.kv

    @property
    def misuses(self) -> deque[str]:
        """What the host did that the hardware does not notice: buffers wiped in flight, starts that do not match."""
        return self._engine.misuses

    @property
    def touches(self) -> deque[Touch]:
        """The device's latest accesses to host arrays, oldest first."""
        return self._engine.touches

    def touching(self, array: Any) -> bool:
        """Whether the hardware may still read or write the memory of a host array, whatever the host believes."""
        return self._engine.touching(array)

    def versions(self) -> Versions:
        """The versions the device was made with."""
        return self._versions

    def health(self) -> Health:
        """Well, unless a fault says otherwise."""
        fault = self.plan.strike("health")
        if fault is not None and fault.fault == "sick":
            self._sick = True
        if self._sick or fault is not None:
            return Health(False, "the device is not well (planned fault)")
        return Health(True)

    def counters(self) -> JobCounters:
        """Jobs accepted and not final, jobs final, and how many more would be taken; from zero after a device reset."""
        drift = 0 if self.plan.strike("counters") is None else 1
        return JobCounters(self._engine.pending + drift, self._engine.finished, self._engine.left)

    def memory_in_use(self) -> int:
        """Bytes reserved, those of dropped configurations that were not cleared included."""
        return self._reserved + self._dropped

    def memory_capacity(self) -> int:
        """Bytes there are."""
        return self._capacity

    def create_calbin(self, manifest: Manifest) -> SimulatedCalbin:
        """Read an artefact. Raises RuntimeFault if it makes no sense, is for another runtime, or could never fit."""
        complaint = objection(manifest)
        if not complaint and manifest.runtime != self._versions.runtime:
            complaint = f"{manifest.name} was built for runtime {manifest.runtime}; this is {self._versions.runtime}"
        if not complaint and manifest.memory > self._capacity:
            complaint = f"{manifest.name} needs {manifest.memory} bytes; the device has {self._capacity}"
        if complaint:
            raise self._fault(complaint)
        self._may_raise("create_calbin")
        return SimulatedCalbin(manifest, self.generation)

    def create_input(self, calbin: Calbin) -> SimulatedInputBuf:
        """A new InputBuf. Raises RuntimeFault for a calbin of another device generation."""
        mine = self._living(calbin)
        self._may_raise("create_input")
        return SimulatedInputBuf(mine, self._engine.wiped)

    def create_output(self, calbin: Calbin) -> SimulatedOutputBuf:
        """A new OutputBuf. Raises RuntimeFault for a calbin of another device generation."""
        mine = self._living(calbin)
        self._may_raise("create_output")
        return SimulatedOutputBuf(mine, self._clock, self.timing.notice, self._engine.wiped)

    def configure(self, calbin: Calbin) -> SimulatedOperation:
        """Place a calbin. FAILED if another is configured, memory is short, it is stale, or the device is busy."""
        complaint = self._stale(calbin) or self._busy()
        if not complaint and self._configured is not None:
            complaint = f"{self._configured.manifest.name} is configured; call reset_configuration first"
        needed = calbin.manifest.memory
        if not complaint and self.memory_in_use() + needed > self._capacity:
            complaint = f"{calbin.manifest.name} needs {needed} bytes; {self._capacity - self.memory_in_use()} are free"
        if complaint:
            return self._failed("configure", complaint)
        assert isinstance(calbin, SimulatedCalbin)
        mine = calbin

        def done(fault: Fault | None) -> str:
            if fault is not None and fault.fault == "fail":
                self._reserved = 0
                return "configure failed (planned fault)"
            manifest = mine.manifest
            self._configured = mine
            self._engine.kv = SimulatedKvCache(self._lanes or manifest.lanes, manifest.context, self.plan, self._refuse)
            self._engine.model = model_of(manifest)
            return ""

        def begin() -> None:
            self._reserved = needed

        return self._run("configure", self.timing.configure, done, begin)

    def reset_configuration(self) -> SimulatedOperation:
        """Drop the configured calbin, its memory stays reserved. FAILED with jobs in flight, or when busy."""
        complaint = self._busy()
        if not complaint and self._engine.pending:
            complaint = f"{self._engine.pending} jobs are in flight; wait for them or reset"
        if complaint:
            return self._failed("reset_configuration", complaint)

        def done(fault: Fault | None) -> str:
            if fault is not None and fault.fault == "fail":
                return "reset_configuration failed (planned fault)"
            self._drop_configuration()
            return ""

        return self._run("reset_configuration", self.timing.reset_configuration, done)

    def clear_dynamic_mem(self) -> SimulatedOperation:
        """Give back the memory of dropped configurations; what is configured stays. FAILED when busy."""
        complaint = self._busy()
        if complaint:
            return self._failed("clear_dynamic_mem", complaint)

        def done(fault: Fault | None) -> str:
            if fault is not None and fault.fault == "fail":
                return "clear_dynamic_mem failed (planned fault)"
            if fault is None or fault.fault != "leak":
                self._dropped = 0
            return ""

        return self._run("clear_dynamic_mem", self.timing.clear_dynamic_mem, done)

    def reset_ccu(self) -> SimulatedOperation:
        """Abort what runs: those jobs end in CCU_EXCEPTION when it is DONE. FAILED while a device reset is under way.

        Jobs that have not started go on afterwards. A reset_ccu that is asked for again replaces the first.
        """
        if self._reset is not None and self._reset.name == "device_reset":
            return self._failed("reset_ccu", "a device reset is under way")

        def done(fault: Fault | None) -> str:
            if fault is not None and fault.fault == "fail":
                return "reset_ccu failed (planned fault)"
            if fault is None or fault.fault != "no_effect":
                self._engine.abort_running("aborted by a CCU reset")
            return ""

        return self._run("reset_ccu", self.timing.reset_ccu, done, resets=True)

    def device_reset(self) -> SimulatedOperation:
        """Reset everything. When it is DONE a new generation has begun; until then jobs run on and touch memory.

        DONE means: no job in flight, no configuration, memory back, healthy, parallel mode off, and every calbin and
        buffer of the old generation useless. Their last status stands for ever. A reset asked for again replaces the
        first, which is FAILED then.
        """

        def done(fault: Fault | None) -> str:
            if fault is not None and fault.fault == "fail":
                return "device_reset failed (planned fault)"
            self._engine.kill_all()
            self._drop_configuration()
            if self._operation is not None:
                self._operation.settle("the device was reset")
                self._operation = None
            self._dropped += self._reserved
            self._reserved = 0
            if fault is None or fault.fault != "leak":
                self._dropped = 0
            self._engine.limit = 1
            self._sick = False
            self.generation += 1
            return ""

        return self._run("device_reset", self.timing.device_reset, done, resets=True)

    def enable_parallel_mode(self, on: bool) -> bool:
        """Take two jobs at a time, or one. False, with `last_error`, if two are not supported. Running jobs go on."""
        if on and not self._parallel:
            return self._refuse("parallel mode is not supported by this device")
        if on and self.plan.strike("enable_parallel_mode") is not None:
            return self._refuse("parallel mode is not supported (planned fault)")
        self._engine.limit = 2 if on else 1
        return True

    def infer(self, task: TaskType, source: InputBuf, sink: OutputBuf) -> Submit:
        """Submit a job to any free bank. REJECTED leaves the reason in `last_error`. Raises RuntimeFault if planned."""
        return self.infer_with_fixed_task_type(task, EngineSlot.AUTO, source, sink)

    def infer_with_fixed_task_type(self, task: TaskType, slot: EngineSlot, source: InputBuf, sink: OutputBuf) -> Submit:
        """`infer` on a given bank; REJECTED if that bank has a job."""
        bank = self._engine.free_bank(slot)
        complaint = self._unfit(task, source, sink)
        if not complaint and self._engine.left == 0:
            complaint = f"{self._engine.pending} jobs are in flight and the limit is {self._engine.limit}"
        if not complaint and bank is None:
            complaint = f"bank {slot.value} has a job in flight"
        if complaint:
            return self._reject(complaint)
        assert bank is not None and isinstance(source, SimulatedInputBuf) and isinstance(sink, SimulatedOutputBuf)
        fault = self.plan.strike("infer", task)
        flaw = "" if fault is None else fault.fault
        if flaw == "reject":
            return self._reject("the device would not take the job (planned fault)")
        unclear = flaw in ("unknown", "exception")
        if fault is None or not unclear or fault.did_run:
            self._engine.accept(task, bank, source, sink, None if unclear else fault)
        if flaw == "exception":
            raise self._fault("infer broke down (planned fault)")
        if flaw == "unknown":
            self.last_error = "infer does not know whether the job was taken (planned fault)"
            return Submit.UNKNOWN
        return Submit.OK

    def _unfit(self, task: TaskType, source: InputBuf, sink: OutputBuf) -> str:
        """Why these buffers cannot be submitted, or an empty string."""
        if self._busy() or self._configured is None or self._engine.kv is None:
            return self._busy() or "no calbin is configured"
        if not isinstance(source, SimulatedInputBuf) or not isinstance(sink, SimulatedOutputBuf):
            return "the buffers were not created by this runtime"
        for side, calbin in (("input", source.calbin), ("output", sink.calbin)):
            if self._stale(calbin):
                return f"the {side} buffer belongs to a {self._stale(calbin)}"
            if calbin is not self._configured:
                return f"the {side} buffer belongs to {calbin.manifest.name}, which is not what is configured"
        for side, buffer in (("input", source), ("output", sink)):
            user = self._engine.user_of(buffer)
            if user is not None:
                return f"the {side} buffer is in flight with job {user.number}"
        if source.sliced:
            return "the input buffer has the slices of its last job; call undo_slice() or reset_all_tensors()"
        manifest = self._configured.manifest
        return wrong_arrays(manifest, source, sink) or wrong_contents(manifest, self._engine.kv.lanes, task, source)

    def _run(
        self,
        name: str,
        seconds: float,
        done: Callable[[Fault | None], str],
        begin: Callable[[], None] = lambda: None,
        *,
        resets: bool = False,
    ) -> SimulatedOperation:
        """Start an operation. `done` does its work in the end and answers why it failed, or an empty string."""
        fault = self.plan.strike(name)
        flaw = "" if fault is None else fault.fault
        if flaw == "exception":
            raise self._fault(f"{name} broke down (planned fault)")
        operation = SimulatedOperation(self._clock, name, self.timing.notice)
        begin()
        if resets:
            if self._reset is not None:
                self._reset.settle(f"replaced by a {name}")
            self._reset = operation
        else:
            self._operation = operation
        delay = 0.0 if fault is None else fault.seconds
        notices = {"duplicate": (0.0, delay), "missed": ()}.get(flaw, (0.0,))

        def end() -> None:
            if resets:
                self._reset = None
            else:
                self._operation = None
            operation.settle(done(fault), notices)

        if flaw != "hang":
            operation.finish_in(seconds + (delay if flaw == "late" else 0.0), end)
        return operation

    def _failed(self, name: str, complaint: str) -> SimulatedOperation:
        self.last_error = f"{name}: {complaint}"
        operation = SimulatedOperation(self._clock, name, self.timing.notice)
        operation.settle(complaint)
        return operation

    def _drop_configuration(self) -> None:
        if self._engine.kv is not None:
            self._engine.kv.drop()
        self._engine.kv = None
        self._engine.model = None
        if self._configured is not None:
            self._dropped += self._reserved
            self._reserved = 0
        self._configured = None

    def _busy(self) -> str:
        under_way = self._reset or self._operation
        return "" if under_way is None else f"{under_way.name} is under way"

    def _stale(self, calbin: Calbin) -> str:
        if not isinstance(calbin, SimulatedCalbin):
            return "calbin that was not created by this runtime"
        if calbin.generation != self.generation:
            return (
                f"calbin of device generation {calbin.generation}, which is gone; "
                f"the device is in generation {self.generation}: create it again"
            )
        return ""

    def _living(self, calbin: Calbin) -> SimulatedCalbin:
        complaint = self._stale(calbin)
        if complaint:
            raise self._fault(complaint)
        assert isinstance(calbin, SimulatedCalbin)
        return calbin

    def _may_raise(self, name: str) -> None:
        if self.plan.strike(name) is not None:
            raise self._fault(f"{name} broke down (planned fault)")

    def _reject(self, why: str) -> Submit:
        self.last_error = why
        return Submit.REJECTED

    def _refuse(self, why: str) -> bool:
        self.last_error = why
        return False

    def _fault(self, why: str) -> RuntimeFault:
        self.last_error = why
        return RuntimeFault(why)
