"""A simulated device made ready, and the few steps that every test of it takes."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from calfsm.serving.clock import VirtualClock
from calfsm.serving.runtime import EngineSlot, Manifest, OperationStatus, OutputStatus, Submit, TaskType
from calfsm_calrt import Fault, FaultPlan, SimulatedDevice, Timing, small_manifest
from calfsm_calrt.buffers import SimulatedCalbin, SimulatedInputBuf, SimulatedOutputBuf

PREFILL, DECODE = TaskType.PREFILL, TaskType.DECODE
AUTO, PING, PONG = EngineSlot.AUTO, EngineSlot.PING, EngineSlot.PONG
MANIFEST = small_manifest()


@attrs.frozen(eq=False)
class Pair:
    source: SimulatedInputBuf
    sink: SimulatedOutputBuf

    def fill(self, lane: int, start: int, tokens: Sequence[int], row: int = 0) -> None:
        """Write one row. The rows not written stay masked off."""
        count = len(tokens)
        self.source.tokens[row, :count] = tokens
        self.source.positions[row, :count] = range(start, start + count)
        self.source.lanes[row] = lane
        self.source.starts[row] = start
        self.source.counts[row] = count

    def wipe(self) -> None:
        self.source.undo_slice()
        self.source.reset_all_tensors()
        self.sink.reset_all_tensors()

    def token(self, row: int = 0) -> int:
        return int(self.sink.logits[row].argmax())


@attrs.frozen(eq=False)
class Rig:
    clock: VirtualClock
    device: SimulatedDevice
    calbin: SimulatedCalbin

    def pair(self) -> Pair:
        return Pair(self.device.create_input(self.calbin), self.device.create_output(self.calbin))

    def submit(self, pair: Pair, task: TaskType = PREFILL, slot: EngineSlot = AUTO) -> Submit:
        return self.device.infer_with_fixed_task_type(task, slot, pair.source, pair.sink)

    def submitted(self, lane: int = 0, tokens: Sequence[int] = (1, 2, 3), slot: EngineSlot = AUTO) -> Pair:
        """A prefill that the device has just accepted, in an empty lane."""
        pair = self.pair()
        pair.fill(lane, 0, tokens)
        assert self.submit(pair, PREFILL, slot) is Submit.OK, self.device.last_error
        return pair

    def step(self, pair: Pair, task: TaskType, lane: int, start: int, tokens: Sequence[int]) -> int:
        """One job from empty buffers to its token, not committed."""
        pair.wipe()
        pair.fill(lane, start, tokens)
        assert self.submit(pair, task) is Submit.OK, self.device.last_error
        assert pair.sink.wait(60) is OutputStatus.DONE
        return pair.token()

    def decode(self, lane: int, prompt: Sequence[int], tokens: int) -> list[int]:
        """Greedy decoding as it should be done: one prefill, then decode jobs, each committed when it is done."""
        pair = self.pair()
        answer = [self.step(pair, PREFILL, lane, 0, prompt)]
        length = len(prompt)
        assert self.device.kv.apply(lane, length)
        while len(answer) < tokens:
            answer.append(self.step(pair, DECODE, lane, length, answer[-1:]))
            length += 1
            assert self.device.kv.apply(lane, length)
        return answer

    def reset(self) -> None:
        assert self.device.device_reset().wait(60) is OperationStatus.DONE


def bare(*faults: Fault, timing: Timing | None = None, **options: object) -> SimulatedDevice:
    """A device with nothing configured."""
    return SimulatedDevice(VirtualClock(), plan=FaultPlan(faults), timing=timing, **options)  # type: ignore[arg-type]


def ready(
    *faults: Fault,
    manifest: Manifest = MANIFEST,
    parallel: bool = True,
    timing: Timing | None = None,
    plan: FaultPlan | None = None,
    lanes: int | None = None,
    memory_capacity: int = 32 << 20,
) -> Rig:
    """A device with `manifest` configured and, unless told otherwise, parallel mode on."""
    clock = VirtualClock()
    device = SimulatedDevice(
        clock, plan=plan or FaultPlan(faults), timing=timing, lanes=lanes, memory_capacity=memory_capacity
    )
    calbin = device.create_calbin(manifest)
    assert device.configure(calbin).wait(60) is OperationStatus.DONE
    if parallel:
        assert device.enable_parallel_mode(True)
    return Rig(clock, device, calbin)
