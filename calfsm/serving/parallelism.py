"""How many jobs may be out at once: what profile and runtime allow; one, once anything was odd (source design 5.2)."""

from __future__ import annotations

import logging

from calfsm.engine.engine import Engine
from calfsm.serving.records import Records
from calfsm.serving.runtime import OutputStatus, Runtime, RuntimeFault

log = logging.getLogger("calfsm.serving")


class Parallelism:
    """Watches the runtime's counters, its statuses and its answers; while all is as it must be, two jobs may be out.

    `slots`: how many may be out now. `doubt`: what was odd, in words; from then on it is one, until a model is loaded
    anew.
    """

    def __init__(self, runtime: Runtime, engine: Engine, records: Records) -> None:
        self.slots = engine.params["limit"]
        self.doubt = ""
        self._runtime, self._engine, self._records = runtime, engine, records

    def begin_anew(self) -> None:
        """A model is being loaded: what was odd before is no longer held against the runtime."""
        self.doubt = ""

    def enable(self) -> None:
        """A model was configured. Switch parallel mode on where the profile has a use for it."""
        limit = self._engine.params["limit"]
        self.slots = limit if limit > 1 and not self.doubt and self._runtime.enable_parallel_mode(True) else 1

    def suspect(self, why: str) -> None:
        """Something was odd: one job at a time from now on."""
        if self._engine.params["limit"] > 1 and not self.doubt:
            self.doubt, self.slots = why, 1
            log.warning("one job at a time from now on: %s", why)

    def look_at_counters(self) -> None:
        """Compare the runtime's count of jobs with the jobs that are out."""
        before = self._unfinished()
        try:
            pending = self._runtime.counters().pending
        except RuntimeFault as fault:
            self.suspect(str(fault))
            return
        after = self._unfinished()
        if not after <= pending <= before:  # between the two looks, jobs may have ended
            self.suspect(f"the runtime counts {pending} pending jobs; {before} are out")

    def look_at_status(self, buffer: int, ticket: int) -> None:
        """Compare the status of a job with what it said before: it never goes back."""
        item = self._records.pool[buffer]
        if item is None or item.ticket != ticket:
            return
        state, status = str(self._engine.state("buffers", buffer)), item.sink.status()
        back = state == "running" and status is OutputStatus.SUBMITTED
        back |= state == "completing" and not status.final
        back |= state == "free" and status in (OutputStatus.SUBMITTED, OutputStatus.RUNNING)
        if back:
            self.suspect(f"buffers[{buffer}] is {state}, and its status has gone back to {status.value}")

    def _unfinished(self) -> int:
        out = self._engine.among("jobs", "submitted", "abandoned")
        return sum(not self._records.item(self._records.job(job).buffer).sink.status().final for job in out)
