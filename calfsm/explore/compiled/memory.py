"""Memory: how much there is, and arrays that take theirs only as they are filled."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

UNKNOWN = 4 << 30
"""Bytes that are taken to be free on a system that does not say."""


def reserved(count: int, kind: type[np.generic]) -> npt.NDArray[Any]:
    """An array of `count` zeros that takes memory where it is touched, in large pages where the system has them.

    So an array can be made as long as it may ever have to be, and never has to be copied to grow. Raises MemoryError.
    """
    size = max(1, count * np.dtype(kind).itemsize)
    try:
        room = mmap.mmap(-1, size)
    except OSError as error:
        raise MemoryError(f"{size:,} bytes cannot be reserved: {error}") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            room.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(room, kind, count)


def free() -> int:
    """Bytes that are free for this process, as far as the system says."""
    limits = []
    with suppress(OSError, ValueError):
        (line,) = [line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:")]
        limits.append(int(line.split()[1]) << 10)
    with suppress(OSError, ValueError):  # "max", outside of a container
        group = Path("/sys/fs/cgroup")
        limits.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    with suppress(OSError, ValueError, AttributeError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return max(0, min(limits, default=UNKNOWN))
