"""What stands behind the instances: the client's request in a slot, what a job is about, the memory of a pool item.

The engine says which state they are in; nothing here does.
"""

from __future__ import annotations

import attrs

from calfsm.engine.engine import Engine, Step
from calfsm.serving.runtime import InputBuf, OutputBuf, TaskType
from calfsm.serving.sequence import Request


@attrs.define(eq=False)
class PoolItem:
    """An InputBuf, an OutputBuf and their memory (source design 4.1). `ticket` is that of the job that used it last."""

    source: InputBuf
    sink: OutputBuf
    ticket: int = 0

    def fill(self, lane: int, start: int, tokens: tuple[int, ...]) -> None:
        """Write a job of one sequence into the first row; the other rows stay masked off."""
        count = len(tokens)
        self.source.tokens[0, :count] = tokens
        self.source.positions[0, :count] = range(start, start + count)
        self.source.lanes[0], self.source.starts[0], self.source.counts[0] = lane, start, count

    def wipe(self) -> None:
        """What must be done before it is used again (source design 4.2). Never while the device has it."""
        self.source.undo_slice()
        self.source.reset_all_tensors()
        self.sink.reset_all_tensors()


@attrs.define(eq=False)
class JobRecord:
    """What a job is about. `ticket` never comes back, so that a stale answer is told from a present one.

    `start` is the lane's committed length before it, in tokens; `token` what it answered, once that was judged valid.
    """

    ticket: int
    request: Request
    task: TaskType
    tokens: tuple[int, ...]
    start: int
    lane: int
    buffer: int
    token: int | None = None


class Records:
    """One place for each request, job and buffer of the engine; None where nothing stands behind it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tickets = 0
        self.requests: list[Request | None] = [None] * engine.count("requests")
        self.jobs: list[JobRecord | None] = [None] * engine.count("jobs")
        self.pool: list[PoolItem | None] = [None] * engine.count("buffers")

    def request(self, slot: int) -> Request:
        """The request in a slot that is not vacant."""
        request = self.requests[slot]
        assert request is not None
        return request

    def job(self, index: int) -> JobRecord:
        """The record of a job that is not vacant."""
        record = self.jobs[index]
        assert record is not None
        return record

    def item(self, buffer: int) -> PoolItem:
        """The item of a buffer that a job has."""
        item = self.pool[buffer]
        assert item is not None
        return item

    def slot_of(self, request: Request) -> int | None:
        """Where a request is, or None when its slot is somebody else's or nobody's."""
        return next((slot for slot, other in enumerate(self.requests) if other is request), None)

    def job_of(self, ticket: int) -> int | None:
        """Which job has a ticket, or None when it has ended."""
        return next(
            (job for job, record in enumerate(self.jobs) if record is not None and record.ticket == ticket), None
        )

    def follow(self, step: Step) -> None:
        """Begin and end records as instances come and go; fill and wipe the memory of pool items."""
        arguments = step.arguments
        match step.action:
            case "prepare_prefill":
                tokens = self.request(arguments["r"]).text[: arguments["n"]]
                self._begin(arguments, TaskType.PREFILL, tokens, 0, arguments["k"])
            case "prepare_decode":
                lane = self._engine.value("requests", arguments["r"], "kv")
                tokens = (self.request(arguments["r"]).tokens[-1],)
                self._begin(arguments, TaskType.DECODE, tokens, self._engine.value("kvs", lane, "length"), lane)
        for change in step.changes:
            row = self._engine.system.parts[change.part]
            before, after = row.table.states[change.state].name, row.table.states[change.new_state].name
            match row.name, after:
                case "buffers", "free" if before in ("preparing", "completing"):
                    self.item(change.index).wipe()
                case "buffers", "absent":
                    self.pool[change.index] = None
                case "jobs", "vacant":
                    self.jobs[change.index] = None
                case "requests", "vacant":
                    self.requests[change.index] = None

    def _begin(self, picks: dict[str, int], task: TaskType, tokens: tuple[int, ...], start: int, lane: int) -> None:
        self._tickets += 1
        item = self.item(picks["b"])
        item.ticket = self._tickets
        item.fill(lane, start, tokens)
        record = JobRecord(self._tickets, self.request(picks["r"]), task, tokens, start, lane, picks["b"])
        self.jobs[picks["j"]] = record
