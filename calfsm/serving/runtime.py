"""The runtime protocol: what an executor asks of CalRT, in CalRT's own words (source design 2 to 5, 7, 10, 14).

An adapter implements it. Whatever takes the device time is *started* by a call that returns at once, and answered
later: an `Operation` (configure, warm, release, reset) or an `OutputBuf` (a job) can be asked for its status, waited
for with a timeout, and tells whoever asked to be notified. A blocking SDK is adapted by a worker that completes the
operation.

Four rules bind every adapter:

- **Classify, or say unknown.** `infer` answers `Submit.REJECTED` only when the device certainly never saw the job.
- **Memory is lent.** From an accepted `infer` until the `OutputBuf` is final, the device may read and write the host
  arrays of both buffers at any moment. Nothing but a final status or a verified reset ends that.
- **Answers may be late, doubled or missing.** A notification is a hint; the status is the truth.
- **Who raises says so.** A call raises `RuntimeFault` only where it is said here, and nothing else; whatever starts an
  operation may.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

import attrs

Memory = Any  # numpy.ndarray; not imported here, so that importing the protocol stays cheap


class TaskType(Enum):
    """Which compiled sub-model a job runs. One job is never both (source design 2)."""

    PREFILL = "prefill"
    DECODE = "decode"


class EngineSlot(Enum):
    """Which command bank a job uses (source design 3, 5.2)."""

    AUTO = "auto"
    PING = "ping"
    PONG = "pong"


class Submit(Enum):
    """What `infer` answered (source design 14; the adapter classifies)."""

    OK = "ok"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


class OutputStatus(Enum):
    """What an OutputBuf says of its job. `DONE` and `CCU_EXCEPTION` are final."""

    IDLE = "idle"
    SUBMITTED = "submitted"
    RUNNING = "running"
    DONE = "done"
    CCU_EXCEPTION = "ccu_exception"

    @property
    def final(self) -> bool:
        """Whether the device has let go of the memory."""
        return self in (OutputStatus.DONE, OutputStatus.CCU_EXCEPTION)


class OperationStatus(Enum):
    """What an operation says of itself. `DONE` and `FAILED` are final."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"

    @property
    def final(self) -> bool:
        """Whether nothing more will come of it."""
        return self is not OperationStatus.PENDING


class RuntimeFault(Exception):
    """The runtime raised instead of answering. What it had begun is unknown."""


@attrs.frozen
class Versions:
    """What is installed, for compatibility checks and metric labels (source design 15)."""

    runtime: str
    driver: str
    firmware: str


@attrs.frozen
class Health:
    """What the device says of itself."""

    ok: bool
    detail: str = ""


@attrs.frozen
class JobCounters:
    """The runtime's own counts (source design 5.2): accepted and not final; final; slots left to accept."""

    pending: int
    finished: int
    left: int


@attrs.frozen
class Golden:
    """What a model must answer to a fixed prompt, greedily; run before it is published (source design 10.2)."""

    prompt: tuple[int, ...]
    tokens: tuple[int, ...]


@attrs.frozen
class Manifest:
    """What a model directory says of itself; checked before the device hears of it (source design 10.2).

    `digest` is the SHA-256 of the artefact in hex; `batch` the compiled batch size; `lanes` its KV lanes; `context` the
    longest sequence in tokens; `prefill_tokens` the most tokens one prefill job takes; `memory` the bytes it reserves
    on the device; `runtime` the version it was compiled for.
    """

    name: str
    digest: str
    batch: int
    context: int
    prefill_tokens: int
    vocabulary: int
    memory: int
    runtime: str
    golden: Golden
    lanes: int = 2
    chips: int = 2


class Operation(Protocol):
    """Something the device takes its time over: configure, warm-up reset, release, reset."""

    @property
    def detail(self) -> str:
        """Why it failed, in the runtime's words; empty otherwise."""

    def status(self) -> OperationStatus:
        """Where it stands. Never blocks."""

    def wait(self, timeout: float) -> OperationStatus:
        """Block up to `timeout` seconds; `PENDING` on timeout, which ends nothing."""

    def notify(self, call: Callable[[], None]) -> None:
        """Call `call` when it becomes final (a hint: may be late, doubled or missing)."""


class Calbin(Protocol):
    """A model artefact that the runtime has read (CreateCalbin)."""

    @property
    def manifest(self) -> Manifest:
        """What it says of itself."""


class InputBuf(Protocol):
    """Host memory a job reads. Arrays must not move or be written from an accepted `infer` until the job is final.

    `tokens` and `positions`: int32 [batch, prefill_tokens]; `lanes`, `starts` (committed length before the job) and
    `counts` (tokens in this job; 0 masks a lane off): int32 [batch].
    """

    tokens: Memory
    positions: Memory
    lanes: Memory
    starts: Memory
    counts: Memory

    def undo_slice(self) -> None:
        """UndoSlice: forget the tensor slices set for the last job."""

    def reset_all_tensors(self) -> None:
        """ResetAllTensors: wipe contents and CSRs. Required before the item goes back to its pool (4.2)."""


class OutputBuf(Protocol):
    """Host memory a job writes, and the face of the job itself. `logits`: float32 [batch, vocabulary].

    A device reset that ends a job leaves its last status, final or not, standing for ever.
    """

    logits: Memory

    @property
    def detail(self) -> str:
        """The runtime's words for an exception; empty otherwise."""

    def status(self) -> OutputStatus:
        """Where the job stands. Never blocks."""

    def wait(self, timeout: float) -> OutputStatus:
        """Block up to `timeout` seconds for a final status; otherwise the present one. A timeout ends nothing."""

    def notify(self, call: Callable[[], None]) -> None:
        """Call `call` at each change of status of the job under way (a hint: late, doubled, missing)."""

    def reset_all_tensors(self) -> None:
        """Wipe contents."""


class KvCache(Protocol):
    """The device's KV lanes and the lengths that the runtime believes committed (source design 7)."""

    @property
    def lanes(self) -> int:
        """How many lanes the configured calbin has."""

    def can_allocate(self, tokens: int) -> bool:
        """Whether a sequence of `tokens` fits an empty lane at all (canAllocate). May raise RuntimeFault."""

    def apply(self, lane: int, length: int) -> bool:
        """Set the committed length of a lane, in tokens (Apply). False: the runtime would not, and nothing changed.

        May raise RuntimeFault.
        """


class Runtime(Protocol):
    """One virtual device and the calbin configured on it."""

    @property
    def kv(self) -> KvCache:
        """The KV lanes of the configured calbin. Raises RuntimeFault when none is configured."""

    @property
    def last_error(self) -> str:
        """Why the runtime last said REJECTED, FAILED or False, in its own words; empty when it never did."""

    def versions(self) -> Versions:
        """Runtime, driver and firmware versions."""

    def health(self) -> Health:
        """The device's own verdict. May raise RuntimeFault, which is one too."""

    def counters(self) -> JobCounters:
        """The runtime's job counts. May raise RuntimeFault."""

    def memory_in_use(self) -> int:
        """Bytes reserved on the device."""

    def memory_capacity(self) -> int:
        """Bytes there are."""

    def create_calbin(self, manifest: Manifest) -> Calbin:
        """CreateCalbin: read an artefact. Raises RuntimeFault if it cannot be read or does not fit."""

    def configure(self, calbin: Calbin) -> Operation:
        """Place the calbin on the device."""

    def create_input(self, calbin: Calbin) -> InputBuf:
        """A new InputBuf with backing memory of its own. Raises RuntimeFault when there is none."""

    def create_output(self, calbin: Calbin) -> OutputBuf:
        """A new OutputBuf with backing memory of its own. Raises RuntimeFault when there is none."""

    def enable_parallel_mode(self, on: bool) -> bool:
        """EnableParallelMode: accept a second job while one runs. False: not supported."""

    def infer(self, task: TaskType, source: InputBuf, sink: OutputBuf) -> Submit:
        """Submit a job without waiting. May raise RuntimeFault, which the caller must take as UNKNOWN."""

    def infer_with_fixed_task_type(self, task: TaskType, slot: EngineSlot, source: InputBuf, sink: OutputBuf) -> Submit:
        """`infer` on a given command bank."""

    def reset_configuration(self) -> Operation:
        """ResetConfiguration: drop the configured calbin. The first half of a release (10.3)."""

    def clear_dynamic_mem(self) -> Operation:
        """ClearDynamicMem: give its memory back. The second half of a release; check `memory_in_use` after it."""

    def reset_ccu(self) -> Operation:
        """ResetCCU: abort what runs on the compute units. The configured calbin stays."""

    def device_reset(self) -> Operation:
        """Reset the whole device. Ends every hold on host memory when it is DONE, and only then."""
