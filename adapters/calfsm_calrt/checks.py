"""What the device refuses at `infer`, before it has seen the job. Each check answers why, or an empty string."""

from __future__ import annotations

from typing import Any

import numpy as np

from calfsm.serving.runtime import Manifest, TaskType

from .buffers import SimulatedInputBuf, SimulatedOutputBuf


def wrong_arrays(manifest: Manifest, source: SimulatedInputBuf, sink: SimulatedOutputBuf) -> str:
    """Arrays of another type or shape than the calbin was compiled for."""
    rows = (manifest.batch,)
    tokens = (manifest.batch, manifest.prefill_tokens)
    wanted: dict[str, tuple[Any, tuple[int, ...], type[np.generic]]] = {
        "tokens": (source.tokens, tokens, np.int32),
        "positions": (source.positions, tokens, np.int32),
        "lanes": (source.lanes, rows, np.int32),
        "starts": (source.starts, rows, np.int32),
        "counts": (source.counts, rows, np.int32),
        "logits": (sink.logits, (manifest.batch, manifest.vocabulary), np.float32),
    }
    for name, (array, shape, kind) in wanted.items():
        if not isinstance(array, np.ndarray):
            return f"{name} must be a numpy array, not {type(array).__name__}"
        if array.shape != shape or array.dtype != kind:
            return f"{name} must be {np.dtype(kind)} {list(shape)}, not {array.dtype} {list(array.shape)}"
    return ""


def wrong_contents(manifest: Manifest, lanes: int, task: TaskType, source: SimulatedInputBuf) -> str:
    """Counts, lanes, lengths, positions or tokens that the task cannot take.

    A row masked off (count 0) may hold anything.
    """
    most = 1 if task is TaskType.DECODE else manifest.prefill_tokens
    used: dict[int, int] = {}
    for row, count in enumerate(source.counts.tolist()):
        if not 0 <= count <= most:
            return f"row {row}: counts is {count}; a {task.value} job takes 0 to {most} tokens a row"
        if count == 0:
            continue
        lane, start = int(source.lanes[row]), int(source.starts[row])
        if not 0 <= lane < lanes:
            return f"row {row}: lane {lane} is not one of 0 to {lanes - 1}"
        if lane in used:
            return f"row {row}: lane {lane} is row {used[lane]}'s already; a job takes a lane once"
        used[lane] = row
        if start < 0 or start + count > manifest.context:
            return f"row {row}: {start} + {count} tokens do not fit the context of {manifest.context}"
        strange = _outside(source.tokens[row, :count], manifest.vocabulary)
        if strange is not None:
            return f"row {row}: token {strange} is not one of 0 to {manifest.vocabulary - 1}"
        strange = _outside(source.positions[row, :count], manifest.context)
        if strange is not None:
            return f"row {row}: position {strange} is not one of 0 to {manifest.context - 1}"
    if not used:
        return "all rows are masked off (counts are 0); a job needs one row at least"
    return ""


def _outside(numbers: Any, end: int) -> int | None:
    wrong = numbers[(numbers < 0) | (numbers >= end)]
    return int(wrong[0]) if len(wrong) else None
