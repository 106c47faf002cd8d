"""The buffers of the simulated device: host arrays, and what is known of the job that uses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from calfsm.serving.clock import VirtualClock
from calfsm.serving.runtime import Manifest, OutputStatus

from .operations import wait_until

INPUT_ARRAYS = ("tokens", "positions", "lanes", "starts", "counts")


@attrs.frozen(eq=False)
class SimulatedCalbin:
    """A model artefact read by the device in one of its generations; a device reset makes it useless."""

    manifest: Manifest
    generation: int


class SimulatedInputBuf:
    """Host memory a job reads. See `calfsm.serving.runtime.InputBuf` for shapes.

    A job leaves its slices set; until `undo_slice` or `reset_all_tensors` the next job is rejected
    (source design 4.2). Both write host memory whether or not the device is reading it, as the real ones do;
    doing so in flight is noted in `SimulatedDevice.misuses`.
    """

    def __init__(self, calbin: SimulatedCalbin, wiped: Callable[[object, str], None]) -> None:
        manifest = calbin.manifest
        self.calbin = calbin
        self.sliced = False
        self._wiped = wiped
        self.tokens: Any = np.zeros((manifest.batch, manifest.prefill_tokens), dtype=np.int32)
        self.positions: Any = np.zeros((manifest.batch, manifest.prefill_tokens), dtype=np.int32)
        self.lanes: Any = np.zeros(manifest.batch, dtype=np.int32)
        self.starts: Any = np.zeros(manifest.batch, dtype=np.int32)
        self.counts: Any = np.zeros(manifest.batch, dtype=np.int32)

    def undo_slice(self) -> None:
        """Forget the slices set for the last job."""
        self._wiped(self, "undo_slice")
        self.sliced = False

    def reset_all_tensors(self) -> None:
        """Wipe all arrays with zeros and forget the slices."""
        self._wiped(self, "reset_all_tensors")
        for name in INPUT_ARRAYS:
            getattr(self, name)[...] = 0
        self.sliced = False


class SimulatedOutputBuf:
    """Host memory a job writes, float32 [batch, vocabulary], and the face of that job.

    The status is the device's and always true, unless a fault says otherwise. After a device reset it stays for ever at
    what it last was: no answer comes any more.
    """

    def __init__(
        self, calbin: SimulatedCalbin, clock: VirtualClock, notice: float, wiped: Callable[[object, str], None]
    ) -> None:
        manifest = calbin.manifest
        self.calbin = calbin
        self.logits: Any = np.zeros((manifest.batch, manifest.vocabulary), dtype=np.float32)
        self.job = 0  # the number of the last job; the device's numbers start at 1
        self._clock = clock
        self._notice = notice
        self._wiped = wiped
        self._status = OutputStatus.IDLE
        self._detail = ""
        self._listeners: list[Callable[[], None]] = []

    @property
    def detail(self) -> str:
        """The device's words for an exception; empty otherwise."""
        return self._detail

    def status(self) -> OutputStatus:
        """Where the job stands."""
        return self._status

    def wait(self, timeout: float) -> OutputStatus:
        """Move the clock until the job is final, by `timeout` seconds at most; see `operations.wait_until`.

        An idle buffer has nothing to wait for: the time passes and it is still IDLE.
        """
        wait_until(self._clock, lambda: self._status.final, timeout)
        return self._status

    def notify(self, call: Callable[[], None]) -> None:
        """Have the clock make `call` at each change of status of the job under way, or of the next if there is none.

        If the job is final already, the call is made once, soon. It is forgotten when the job is final.
        """
        if self._status.final:
            self._clock.call_later(self._notice, call)
        else:
            self._listeners.append(call)

    def reset_all_tensors(self) -> None:
        """Wipe the logits with zeros. A finished job is forgotten (IDLE); one in flight goes on."""
        self._wiped(self, "reset_all_tensors")
        self.logits[...] = 0
        if self._status.final:
            self._status = OutputStatus.IDLE
            self._detail = ""

    def begin(self, job: int) -> None:
        """For the device: a job was accepted."""
        self.job = job
        self._detail = ""
        self.change(OutputStatus.SUBMITTED)

    def change(self, status: OutputStatus, detail: str = "") -> None:
        """For the device: take a status that is not final, and hint at it."""
        self._status = status
        self._detail = detail
        self.hint()

    def hint(self) -> None:
        """For the device: notify, whether or not anything changed."""
        for call in self._listeners:
            self._clock.call_later(self._notice, call)

    def end(self, status: OutputStatus, detail: str, notices: tuple[float, ...]) -> None:
        """For the device: take a final status. Hints go out after each delay of `notices`; listeners are forgotten."""
        self._status = status
        self._detail = detail
        for delay in notices:
            for call in self._listeners:
                self._clock.call_later(self._notice + delay, call)
        self._listeners = []

    def flicker(self, job: int, status: OutputStatus) -> None:
        """For the device: show another status of a job that is over, if nobody has used the buffer since."""
        if self.job != job or self._status is OutputStatus.IDLE:
            return
        if status.final:
            self.end(status, self._detail, (0.0,))
        else:
            self.change(status, self._detail)
