"""The long operations around a model: is it fit, place it, warm it, take it away, reset under it (source design 10, 14).

Each is a small sequence of runtime calls that ends in one answer, `finish(ok, why)`, called exactly once. Notifications of a
runtime are hints and may be missing or doubled, so each looks at the status and nothing else; one that never ends is ended by its
deadline, outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from calfsm.serving.runtime import (
    Calbin,
    Manifest,
    Operation,
    OperationStatus,
    OutputBuf,
    OutputStatus,
    Runtime,
    RuntimeFault,
    Submit,
    TaskType,
)

Finish = Callable[[bool, str], None]


def objections(manifest: Manifest, runtime: Runtime, *, lanes: int, context: int, chunk: int) -> Iterator[str]:
    """Why a model cannot be served here; nothing when it can. The device is not touched (source design 10.2)."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", manifest.digest):
        yield "its digest is not a SHA-256 in hex"
    versions = runtime.versions()
    if manifest.runtime != versions.runtime:
        yield f"it was compiled for runtime {manifest.runtime}; this is {versions.runtime}"
    if manifest.memory > runtime.memory_capacity() - runtime.memory_in_use():
        yield f"it needs {manifest.memory:,} bytes; {runtime.memory_capacity() - runtime.memory_in_use():,} are free"
    for what, promised, has in (
        ("KV lanes", lanes, manifest.lanes),
        ("tokens a sequence", context, manifest.context),
        ("tokens a prefill", chunk, manifest.prefill_tokens),
    ):
        if has < promised:
            yield f"the profile promises {promised} {what}; it has {has}"
    if not manifest.golden.prompt or not manifest.golden.tokens:
        yield "it has no golden prompt and answer to warm up with"


class Outlasted:
    """The end, good or bad, of another operation or of a job: what must be over before the next operation may begin."""

    detail = ""

    def __init__(self, other: Operation | OutputBuf) -> None:
        self._other = other

    def status(self) -> OperationStatus:
        """DONE once the other is final."""
        return OperationStatus.DONE if self._other.status().final else OperationStatus.PENDING

    def wait(self, timeout: float) -> OperationStatus:
        """Wait for the other."""
        self._other.wait(timeout)
        return self.status()

    def notify(self, call: Callable[[], None]) -> None:
        """As the other."""
        self._other.notify(call)


class Steps:
    """Runtime operations one after another; the first that fails ends it.

    `poke` may be called at any time and any number of times.
    """

    def __init__(self, starts: Iterable[Callable[[], Operation]], notify: Callable[[], None], finish: Finish) -> None:
        self._starts = iter(starts)
        self._notify, self._finish = notify, finish
        self._operation: Operation | None = None
        self._over = False
        self._advance()

    @property
    def under_way(self) -> Operation | None:
        """The operation that has not ended, if there is one."""
        pending = self._operation is not None and not self._operation.status().final
        return self._operation if pending else None

    def poke(self) -> None:
        """Look whether the operation under way has ended."""
        if self._over or self._operation is None:
            return
        status = self._operation.status()
        if status is OperationStatus.DONE:
            self._advance()
        elif status is OperationStatus.FAILED:
            self._end(False, self._operation.detail)

    def _advance(self) -> None:
        try:
            start = next(self._starts, None)
            if start is None:
                self._end(True, "")
                return
            self._operation = start()
        except RuntimeFault as fault:
            self._end(False, str(fault))
            return
        self._operation.notify(self._notify)

    def _end(self, ok: bool, why: str) -> None:
        self._over = True
        self._finish(ok, why)


class Warmup:
    """The golden prompt, prefilled and decoded on lane 0, compared token by token; then the lane is emptied again."""

    def __init__(self, runtime: Runtime, calbin: Calbin, notify: Callable[[], None], finish: Finish) -> None:
        self._runtime, self._calbin, self._notify, self._finish = runtime, calbin, notify, finish
        self._golden = calbin.manifest.golden
        self._committed = 0
        self._answers = 0
        self._over = False
        try:
            self.source, self.sink = runtime.create_input(calbin), runtime.create_output(calbin)
        except RuntimeFault as fault:
            self._end(False, str(fault))
            return
        self._submit(TaskType.PREFILL, self._golden.prompt)

    @property
    def under_way(self) -> OutputBuf | None:
        """The job that the device may still be at, if there is one."""
        return self.sink if self._out and not self.sink.status().final else None

    _out = False

    def poke(self) -> None:
        """Look whether the job under way has ended."""
        if self._over or not self._out:
            return
        status = self.sink.status()
        if status is OutputStatus.CCU_EXCEPTION:
            self._end(False, self.sink.detail or "CCU exception")
        elif status is OutputStatus.DONE:
            self._out = False
            self._compare()

    def _submit(self, task: TaskType, tokens: tuple[int, ...]) -> None:
        self._pending = len(tokens)
        self.source.reset_all_tensors()
        self.sink.reset_all_tensors()
        self.source.tokens[0, : len(tokens)] = tokens
        self.source.positions[0, : len(tokens)] = range(self._committed, self._committed + len(tokens))
        self.source.lanes[0], self.source.starts[0], self.source.counts[0] = 0, self._committed, len(tokens)
        self.sink.notify(self._notify)
        try:
            answer = self._runtime.infer(task, self.source, self.sink)
        except RuntimeFault as fault:
            answer, why = Submit.UNKNOWN, str(fault)
        else:
            why = self._runtime.last_error
        self._out = answer is not Submit.REJECTED
        if answer is not Submit.OK:
            self._end(False, f"the golden run could not be submitted: {why}")

    def _compare(self) -> None:
        token = best_token(self.sink.logits[0])
        wanted = self._golden.tokens[self._answers]
        if token != wanted:
            self._end(False, f"golden token {self._answers + 1} is {token}; it must be {wanted}")
            return
        self._answers += 1
        self._committed += self._pending
        if not self._runtime.kv.apply(0, self._committed):
            self._end(False, f"the KV cache would not commit the golden run: {self._runtime.last_error}")
        elif self._answers < len(self._golden.tokens):
            self._submit(TaskType.DECODE, (token,))
        else:
            self._end(self._runtime.kv.apply(0, 0), self._runtime.last_error)

    def _end(self, ok: bool, why: str) -> None:
        self._over = True
        self._finish(ok, "" if ok else why)


def best_token(logits: object) -> int | None:
    """The token with the greatest score, or None when the scores are not numbers (source design 14)."""
    import numpy as np

    scores = np.asarray(logits)
    if not np.isfinite(scores).all() or scores.max() == scores.min():
        return None
    return int(scores.argmax())
