"""A simulated CalRT device in virtual time, found through the entry point group `calfsm.adapters` as `calrt`."""

from __future__ import annotations

from pathlib import Path

from calfsm.serving.clock import VirtualClock
from calfsm.serving.runtime import Golden, Runtime, Versions

from .device import CAPACITY, VERSIONS, SimulatedDevice
from .faults import FAULTS, BadPlan, Fault, FaultPlan
from .jobs import Touch
from .model import golden, reference, small_manifest
from .stage import CalrtStage
from .timing import Timing

NAME = "calrt"

__all__ = [
    "FAULTS",
    "NAME",
    "BadPlan",
    "CalrtStage",
    "Fault",
    "FaultPlan",
    "Golden",
    "SimulatedDevice",
    "Timing",
    "Touch",
    "create_runtime",
    "golden",
    "reference",
    "small_manifest",
]


def create_runtime(
    clock: VirtualClock,
    *,
    plan: FaultPlan | Path | str | None = None,
    timing: Timing | None = None,
    memory_capacity: int = CAPACITY,
    lanes: int | None = None,
    parallel: bool = True,
    versions: Versions = VERSIONS,
) -> Runtime:
    """A simulated device on `clock`; `plan` is a fault plan or the path of one. See `SimulatedDevice` for the rest.

    Raises BadPlan for a plan that cannot be carried out, OSError if its file cannot be read, TypeError for an unknown
    option and ValueError for one out of range.
    """
    if isinstance(plan, (str, Path)):
        plan = FaultPlan.load(plan)
    return SimulatedDevice(
        clock,
        plan=plan,
        timing=timing,
        memory_capacity=memory_capacity,
        lanes=lanes,
        parallel=parallel,
        versions=versions,
    )
