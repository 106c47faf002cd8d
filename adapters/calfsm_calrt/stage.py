"""The simulated device as a stage: its next answers are arranged one at a time, by whoever directs the play."""

from __future__ import annotations

from typing import Any

from calfsm.serving.clock import VirtualClock
from calfsm.serving.runtime import Manifest, TaskType

from .device import SimulatedDevice
from .faults import Fault, FaultPlan
from .model import small_manifest


class Script(FaultPlan):
    """A plan that is written while the play goes on: each operation takes what was arranged for it, once."""

    def __init__(self) -> None:
        super().__init__()
        self._arranged: dict[str, Fault] = {}

    def arrange(self, fault: Fault) -> None:
        """The next call of its operation goes this way."""
        self._arranged[fault.on] = fault

    def forget(self, operation: str) -> None:
        """The next call of an operation goes well after all."""
        self._arranged.pop(operation, None)

    def strike(self, operation: str, task: TaskType | None = None) -> Fault | None:
        """What was arranged."""
        return self._arranged.pop(operation, None)


class CalrtStage:
    """A fresh device and clock, and a model that fits `lanes`, `context` and `chunk`.

    See `calfsm.serving.directed.Stage`.
    """

    def __init__(self, *, lanes: int, context: int, chunk: int) -> None:
        self.clock = VirtualClock()
        self._script = Script()
        self.runtime = SimulatedDevice(self.clock, plan=self._script)
        self.manifest: Manifest = small_manifest(lanes=lanes, context=max(8, context), prefill_tokens=max(4, chunk))

    def arrange(self, call: str, fault: str, **options: Any) -> None:
        """The next `call` has `fault`, one of `calfsm_calrt.FAULTS`. Raises BadPlan."""
        self._script.arrange(Fault(call, fault, **options))

    def as_usual(self, call: str) -> None:
        """The next `call` goes well after all."""
        self._script.forget(call)

    def touching(self, memory: Any) -> bool:
        """Whether the hardware may still touch a host array."""
        return self.runtime.touching(memory)

    def committed(self, lane: int) -> int:
        """The length of a lane that the device takes as committed."""
        return int(self.runtime.kv.committed[lane])
