"""The KV memory of the simulated device, and the lengths that were committed to it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .faults import FaultPlan
from .model import WIDTH, Ints

UNWRITTEN = -1  # no entry of a model is negative, so reading what was never written always shows


class SimulatedKvCache:
    """KV entries int64 [lanes, context, WIDTH] and committed lengths int64 [lanes] (source design 7).

    It believes its caller: a length that was never written is committed too, and reads what the memory holds.
    """

    def __init__(self, lanes: int, context: int, plan: FaultPlan, refuse: Callable[[str], bool]) -> None:
        self.entries: Ints = np.full((lanes, context, WIDTH), UNWRITTEN, dtype=np.int64)
        self.committed: Ints = np.zeros(lanes, dtype=np.int64)
        self._alive = True
        self._plan = plan
        self._refuse = refuse

    @property
    def lanes(self) -> int:
        """How many lanes there are."""
        return len(self.committed)

    @property
    def context(self) -> int:
        """The longest sequence of a lane, in tokens."""
        return int(self.entries.shape[1])

    def can_allocate(self, tokens: int) -> bool:
        """Whether a sequence of `tokens` tokens fits an empty lane at all."""
        return self._alive and 0 <= tokens <= self.context

    def apply(self, lane: int, length: int) -> bool:
        """Set the committed length of a lane. False, with the device's `last_error`, if not; then nothing changed."""
        if not self._alive:
            return self._refuse("this KV cache is gone with its configuration; ask the runtime for `kv` again")
        if not 0 <= lane < self.lanes:
            return self._refuse(f"lane {lane} is not one of 0 to {self.lanes - 1}")
        if not 0 <= length <= self.context:
            return self._refuse(f"length {length} is not one of 0 to {self.context}")
        if self._plan.strike("apply") is not None:
            return self._refuse(f"apply of length {length} to lane {lane} was refused (planned fault)")
        self.committed[lane] = length
        return True

    def drop(self) -> None:
        """For the device: the configuration is gone."""
        self._alive = False
