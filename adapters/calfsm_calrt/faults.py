"""Fault plans: which call to the simulated device goes wrong, and how (source design 4, 5, 10, 14).

A plan is data. It is built in code, or read from YAML by `plan_reader`:

    faults:
      - {on: infer, nth: 3, task: decode, fault: hang}
      - {on: clear_dynamic_mem, fault: leak, times: 2}

`nth` counts, from 1, the calls that the device would otherwise have taken; a call that is refused for its own faults is
not counted. With `task` only the jobs of that task are counted. Of two faults that meet on one call the first in the
plan happens, and the other one misses its call.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from pathlib import Path

import attrs

from calfsm.serving.runtime import TaskType

_TIMED = {
    "exception": "the call raises RuntimeFault; nothing was begun",
    "fail": "it ends FAILED after its usual time",
    "hang": "it stays PENDING until a device reset is done",
    "late": "it takes `delay` seconds longer",
    "duplicate": "its notification comes again, `delay` seconds later",
    "missed": "it becomes final, but nobody is notified",
}

FAULTS: dict[str, dict[str, str]] = {
    "infer": {
        "reject": "REJECTED; the device never saw the job",
        "unknown": "UNKNOWN; if `ran`, the job runs as usual all the same",
        "exception": "RuntimeFault is raised; if `ran`, the DMA began and the job runs as usual all the same",
        "ccu_exception": "the job ends in CCU_EXCEPTION, `delay` seconds late; its KV and logits are scribbled over",
        "hang": "the job keeps the compute units and never ends, until a reset",
        "late": "as hang, but it completes after `delay` seconds; without `blocks` other jobs overtake it",
        "duplicate": "the notification of the end comes again, `delay` seconds later",
        "missed": "the job ends, but nobody is notified of it",
        "bad_numbers": "the logits are `value`: nan, inf, or garbage",
        "done_without_running": "the status goes from SUBMITTED to DONE",
        "submitted_again": "the status goes from RUNNING back to SUBMITTED, and to RUNNING again",
        "running_after_done": "`delay` seconds after DONE the status is RUNNING for `delay` seconds, then DONE again",
        "early_notice": "a notification comes while the job still runs, beside the usual ones",
    },
    "create_calbin": {"exception": "RuntimeFault is raised: the artefact cannot be read"},
    "create_input": {"exception": "RuntimeFault is raised: no host memory"},
    "create_output": {"exception": "RuntimeFault is raised: no host memory"},
    "configure": _TIMED,
    "reset_configuration": _TIMED,
    "clear_dynamic_mem": {**_TIMED, "leak": "DONE, but the memory does not come back this time"},
    "reset_ccu": {**_TIMED, "no_effect": "DONE, but what ran is still running"},
    "device_reset": {**_TIMED, "leak": "DONE, but the memory does not come back before a clear_dynamic_mem"},
    "apply": {"refuse": "the KV cache would not; nothing changed"},
    "enable_parallel_mode": {"unsupported": "the mode cannot be switched on"},
    "health": {
        "bad": "this answer says that the device is not well",
        "sick": "from this answer on it is not well, until a device reset is done",
    },
    "counters": {"drift": "this answer counts one pending job too many"},
}

# Which fault takes which option, beside `on`, `fault`, `nth` and `times`, which all take.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "task": ("infer: any fault",),
    "delay": ("late", "duplicate", "running_after_done", "ccu_exception"),
    "ran": ("infer: unknown", "infer: exception"),
    "value": ("bad_numbers",),
    "blocks": ("infer: late", "infer: ccu_exception"),
}
_TASKS = tuple(task.value for task in TaskType)
_VALUES = ("nan", "inf", "garbage")


@attrs.frozen
class Problem:
    """One thing wrong with a plan: a stable code, what it is, the way out, and where (`field` of a fault, `place`)."""

    code: str
    what: str
    way_out: str
    field: str = ""
    index: int | None = None
    place: str = ""

    def __str__(self) -> str:
        """`<place>: error[<code>]: <what>`, and the way out on a line of its own."""
        return f"{self.place or 'fault plan'}: error[{self.code}]: {self.what}\n  {self.way_out}"


class BadPlan(ValueError):
    """A fault plan that cannot be carried out. `problems` has all that is wrong with it, in the plan's order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def nearest(word: str, known: Iterable[str]) -> str:
    """A way out for a word that is not known: the nearest known one, if any is near, and all that are known."""
    known = list(known)
    near = difflib.get_close_matches(word, known, n=1)
    guess = f"did you mean `{near[0]}`? " if near else ""
    return f"{guess}write one of {', '.join(known)}"


def _task_name(task: TaskType | str | None) -> str | None:
    """A task by its name; the enum's members are taken too."""
    return task.value if isinstance(task, TaskType) else task


@attrs.frozen
class Fault:
    """One fault of a plan. `delay` is in seconds. Raises BadPlan if it is not one the device knows (see FAULTS)."""

    on: str
    fault: str
    nth: int = 1
    times: int = 1
    task: str | None = attrs.field(default=None, converter=_task_name)
    delay: float | None = None
    ran: bool | None = None
    value: str | None = None
    blocks: bool | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse what makes no sense, all of it at once."""
        problems = list(_mistyped(self)) or list(_problems(self))
        if problems:
            raise BadPlan(problems)

    @property
    def seconds(self) -> float:
        """The delay; unless given 1 second, and none for an exception."""
        if self.delay is None:
            return 0.0 if self.fault == "ccu_exception" else 1.0
        return self.delay

    @property
    def did_run(self) -> bool:
        """Whether the job runs although the caller was not told so; yes unless given."""
        return self.ran is not False

    @property
    def does_block(self) -> bool:
        """Whether a late job keeps the compute units; yes unless given."""
        return self.blocks is not False

    def __str__(self) -> str:
        """The fault as a line of a plan."""
        fields = attrs.asdict(self, filter=lambda field, value: value != field.default)
        return "{" + ", ".join(f"{name}: {_plain(value)}" for name, value in fields.items()) + "}"


def _as_tuple(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    made = tuple(faults)
    for index, fault in enumerate(made):
        if not isinstance(fault, Fault):
            what = f"{fault!r} is not a Fault"
            raise BadPlan(
                [Problem("wrong-type", what, "build it with Fault(…), or read the plan from YAML", index=index)]
            )
    return made


@attrs.define
class FaultPlan:
    """The faults of one run, and how often each has struck. Raises BadPlan if two certainly meet on one call.

    A plan counts calls, so it serves one run of one device.
    """

    faults: tuple[Fault, ...] = attrs.field(default=(), converter=_as_tuple)
    _seen: list[int] = attrs.field(init=False, factory=list)
    _struck: list[int] = attrs.field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        """Refuse faults that hide each other."""
        problems = list(_collisions(self.faults))
        if problems:
            raise BadPlan(problems)
        self._seen = [0] * len(self.faults)
        self._struck = [0] * len(self.faults)

    @classmethod
    def read(cls, text: str, name: str = "fault plan") -> FaultPlan:
        """The plan written in YAML `text`; `name` is what errors call it. Raises BadPlan with line and column."""
        from .plan_reader import read_faults  # only here, so that a plan built in code needs no YAML

        return read_faults(text, name)

    @classmethod
    def load(cls, path: Path | str) -> FaultPlan:
        """The plan in a UTF-8 file. Raises BadPlan, or OSError if the file cannot be read."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as broken:
            problem = Problem("not-utf8", f"byte {broken.start} is not UTF-8", "save the plan as UTF-8")
            raise BadPlan([attrs.evolve(problem, place=str(path))]) from broken
        return cls.read(text, str(path))

    def strike(self, operation: str, task: TaskType | None = None) -> Fault | None:
        """For the device: count a call, and say which fault it has."""
        due = None
        for index, fault in enumerate(self.faults):
            if fault.on != operation or (fault.task is not None and (task is None or fault.task != task.value)):
                continue
            self._seen[index] += 1
            if due is None and fault.nth <= self._seen[index] < fault.nth + fault.times:
                self._struck[index] += 1
                due = fault
        return due

    def unused(self) -> list[Fault]:
        """The faults that never struck: at the end of a run, a sign that the plan missed what it was written for."""
        return [fault for fault, struck in zip(self.faults, self._struck, strict=True) if not struck]


_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "on": ("a word", (str,)),
    "fault": ("a word", (str,)),
    "nth": ("a whole number", (int,)),
    "times": ("a whole number", (int,)),
    "task": ("a task", (str,)),
    "delay": ("a number of seconds", (int, float)),
    "ran": ("true or false", (bool,)),
    "value": ("a word", (str,)),
    "blocks": ("true or false", (bool,)),
}
"""What the fields of a fault are made of, in words and in types."""


def _mistyped(fault: Fault) -> Iterable[Problem]:
    for name, (words, types) in _TYPES.items():
        value = getattr(fault, name)
        optional = value is None and name not in ("on", "fault", "nth", "times")
        if not optional and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
            yield Problem("wrong-type", f"`{name}` is {value!r}", f"write {words}", name)


def _problems(fault: Fault) -> Iterable[Problem]:
    if fault.on not in FAULTS:
        yield Problem("unknown-operation", f"`{fault.on}` is not an operation", nearest(fault.on, FAULTS), "on")
    elif fault.fault not in FAULTS[fault.on]:
        what = f"`{fault.fault}` is not a fault of {fault.on}"
        yield Problem("unknown-fault", what, nearest(fault.fault, FAULTS[fault.on]), "fault")
    else:
        yield from _misplaced(fault)
    for name, count in (("nth", fault.nth), ("times", fault.times)):
        if count < 1:
            yield Problem("bad-value", f"`{name}` is {count}", "calls are counted from 1: write 1 or more", name)
    if fault.delay is not None and not (math.isfinite(fault.delay) and fault.delay >= 0):
        what = f"`delay` is {fault.delay}"
        yield Problem("bad-value", what, "write seconds, 0 or more; for something that never ends use `hang`", "delay")
    if fault.task is not None and fault.task not in _TASKS:
        yield Problem("bad-value", f"`{fault.task}` is not a task", nearest(fault.task, _TASKS), "task")
    if fault.value is not None and fault.value not in _VALUES:
        what = f"`{fault.value}` is not a kind of bad numbers"
        yield Problem("bad-value", what, nearest(fault.value, _VALUES), "value")


def _misplaced(fault: Fault) -> Iterable[Problem]:
    takers = (fault.fault, f"{fault.on}: {fault.fault}", f"{fault.on}: any fault")
    for name, allowed in _OPTIONS.items():
        if getattr(fault, name) is not None and not any(taker in allowed for taker in takers):
            what = f"{fault.fault} on {fault.on} takes no `{name}`"
            yield Problem("misplaced-option", what, f"leave it out; it belongs to {', '.join(allowed)}", name)


def _collisions(faults: tuple[Fault, ...]) -> Iterable[Problem]:
    for index, later in enumerate(faults):
        for earlier in faults[:index]:
            same = (later.on, later.task) == (earlier.on, earlier.task)
            if same and later.nth < earlier.nth + earlier.times and earlier.nth < later.nth + later.times:
                call = max(later.nth, earlier.nth)
                what = f"call {call} of {later.on} has two faults, {earlier} and {later}"
                yield Problem("collision", what, "a call has one fault: move one with `nth`", index=index)
                break


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
