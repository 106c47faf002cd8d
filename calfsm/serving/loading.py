"""The long operations around a model: is it fit, place it, warm it, take it away, reset (source design 10, 14).

Each is a small sequence of runtime calls that ends in one answer, `finish(ok, why)`, called exactly once. Notifications
of a runtime are hints and may be missing or doubled, so each looks at the status and nothing else; one that never ends
is ended by its deadline, outside.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from calfsm.serving.records import PoolItem
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
    golden = manifest.golden
    if not golden.prompt or not golden.tokens:
        yield "it has no golden prompt and answer to warm up with"
    elif len(golden.prompt) > manifest.prefill_tokens:
        yield f"its golden prompt has {len(golden.prompt)} tokens; one prefill takes {manifest.prefill_tokens}"
    elif len(golden.prompt) + len(golden.tokens) - 1 > manifest.context:
        need = len(golden.prompt) + len(golden.tokens) - 1
        yield f"its golden run needs KV for {need} tokens; a lane holds {manifest.context}"
    strange = [token for token in (*golden.prompt, *golden.tokens) if not 0 <= token < manifest.vocabulary]
    if strange:
        yield f"its golden run has token {strange[0]}; the vocabulary is 0 to {manifest.vocabulary - 1}"


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

    `over` once `finish` was called; while `held`, no further one is started. `poke` may be called at any time and any
    number of times.
    """

    def __init__(self, starts: Iterable[Callable[[], Operation]], notify: Callable[[], None], finish: Finish) -> None:
        self.over = self.held = False
        self._starts = deque(starts)
        self._notify, self._finish = notify, finish
        self._operation: Operation | None = None
        self._advance()
        self.poke()

    @property
    def under_way(self) -> Operation | None:
        """The operation that has not ended, if there is one."""
        pending = self._operation is not None and not self._operation.status().final
        return self._operation if pending else None

    def poke(self) -> bool:
        """Look whether the operation under way has ended, and go on. Says whether it has."""
        moved = False
        while not self.over and self._operation is not None and (status := self._operation.status()).final:
            if status is OperationStatus.FAILED:
                self._end(False, self._operation.detail)
            elif self.held and self._starts:
                break
            else:
                self._advance()
            moved = True
        return moved

    def _advance(self) -> None:
        if not self._starts:
            self._end(True, "")
            return
        try:
            self._operation = self._starts.popleft()()
        except RuntimeFault as fault:
            self._end(False, str(fault))
            return
        self._operation.notify(self._notify)

    def _end(self, ok: bool, why: str) -> None:
        self.over = True
        self._finish(ok, why)


class Warmup:
    """The golden prompt, prefilled and decoded on lane 0, compared token by token; then the lane is emptied again.

    `over` once `finish` was called; while `held`, nothing is looked at or submitted. Raises RuntimeFault when there is
    no memory for its buffers.
    """

    def __init__(self, runtime: Runtime, calbin: Calbin, notify: Callable[[], None], finish: Finish) -> None:
        self.over = self.held = False
        self._runtime, self._notify, self._finish = runtime, notify, finish
        self._golden = calbin.manifest.golden
        self._item = PoolItem(runtime.create_input(calbin), runtime.create_output(calbin))
        self._committed = 0
        self._answers = 0
        self._out = False
        self._submit(TaskType.PREFILL, self._golden.prompt)

    @property
    def under_way(self) -> OutputBuf | None:
        """The job that the device may still be at, if there is one."""
        return self._item.sink if self._out and not self._item.sink.status().final else None

    def poke(self) -> bool:
        """Look whether the job under way has ended, and go on. Says whether it has."""
        status = self._item.sink.status()
        if self.over or self.held or not self._out or not status.final:
            return False
        self._out = False
        if status is OutputStatus.CCU_EXCEPTION:
            self._end(f"the golden run: {self._item.sink.detail or 'CCU exception'}")
            return True
        try:
            self._compare()
        except RuntimeFault as fault:
            self._end(f"the golden run: {fault}")
        return True

    def _submit(self, task: TaskType, tokens: tuple[int, ...]) -> None:
        self._pending = len(tokens)
        self._item.wipe()
        self._item.fill(0, self._committed, tokens)
        self._item.sink.notify(self._notify)
        try:
            answer, why = self._runtime.infer(task, self._item.source, self._item.sink), ""
        except RuntimeFault as fault:
            answer, why = Submit.UNKNOWN, str(fault)
        self._out = answer is not Submit.REJECTED
        if answer is not Submit.OK:
            self._end(f"the golden run could not be submitted: {why or self._runtime.last_error}")

    def _compare(self) -> None:
        """Judge an answer as any other, then against the golden one. May raise RuntimeFault."""
        token = best_token(self._item.sink.logits[0])
        wanted = self._golden.tokens[self._answers]
        if token != wanted:
            found = "not made of numbers" if token is None else token
            self._end(f"golden token {self._answers + 1} is {found}; it must be {wanted}")
            return
        self._answers += 1
        self._committed += self._pending
        last = self._answers == len(self._golden.tokens)
        if not self._commit(self._committed) or (last and not self._commit(0)):
            self._end(f"the KV cache would not commit the golden run: {self._runtime.last_error}")
        elif last:
            self._end("")
        else:
            self._submit(TaskType.DECODE, (token,))

    def _commit(self, length: int) -> bool:
        return self._runtime.kv.apply(0, length)

    def _end(self, why: str) -> None:
        self.over = True
        self._finish(not why, why)


def best_token(logits: object) -> int | None:
    """The token with the greatest score, or None when the scores are not numbers (source design 14)."""
    import numpy as np

    scores = np.asarray(logits)
    if not np.isfinite(scores).all() or scores.max() == scores.min():
        return None
    return int(scores.argmax())
