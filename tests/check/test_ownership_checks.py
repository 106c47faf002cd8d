"""Leaks that can be seen in the specs alone: the sound yard has no finding, and each planted fault has one."""

from __future__ import annotations

from pathlib import Path

import pytest
from planting import edited
from yard import ITEM, JOB, YARD, yard_specs

from calfsm.check import check_system
from calfsm.compile.load import SpecErrors, load
from calfsm.spec.findings import Severity

RESET = ("  reset: {by: recovery, fire", "  OTHER\n  reset: {by: recovery, fire")


def worn(more: str) -> list[tuple[str, str]]:
    """Edits: an item is worn between its use and its return, and answers `more` then."""
    taken = "taken:  {release: free, spoil: broken, reset: free}"
    then = f"{taken.replace('release: free', 'release: worn')}\n  worn:   {{release: free{more}}}"
    return [("taken: {}, broken: {}", "taken: {}, worn: {}, broken: {}"), (taken, then)]


FAULTS = {
    "a release that is dropped": (
        [("fire: {j: stop, j.item: release}", "when: j.item is taken, fire: {j: stop}")],
        ["error leak: `stop` empties `j.item`, and gives no tool back"],
    ),
    "a release that is dropped, where the reference may be empty": (
        [("fire: {j: stop, j.item: release}", "fire: {j: stop}")],
        ["warning leak: `stop` empties `j.item`, and gives no tool back"],
    ),
    "an item that is taken and not written down": (
        [(", set: {j.item: i}", "")],
        ["error leak: `start` takes a tool, and nobody refers to it afterwards", "warning never-acquired"],
    ),
    "items that are out before anybody comes": (
        [("free: {initial: true}, taken: {}", "free: {}, taken: {initial: true}")],
        ["error leak: each tool is leaked from the start: it begins in `taken`, and nobody holds it"],
    ),
    "a release of what is held on to": (
        [("stop:  {to: idle, set: {item: none}}", "stop:  idle")],
        [
            "error use-after-release: `stop` gives `j.item` back, and its holder goes on referring to it",
            "error use-after-release: `spoil` gives `j.item` back, and its holder goes on referring to it",
        ],
    ),
    "an item that is not acquired": (
        [("fire: {j: start, i: acquire}", "fire: {j: start}")],
        ["error not-acquired: `start` lets `j.item` refer to `i`, and does not acquire it"],
    ),
    "a release that is taken twice": (
        [("free:   {acquire: taken}", "free:   {acquire: taken, release: {stay: It is free.}}")],
        ["warning double-release: `release` gives tool back, and is taken once more in `free`"],
    ),
    "an item that is acquired broken": (
        [("broken: {mend: free}", "broken: {mend: taken}")],
        [
            "error acquired-aside: `mend` takes item from `broken`, where it is set aside, to `taken`",
            "error leak: `mend` takes a tool, and nobody refers to it afterwards",
        ],
    ),
    "an item that is never mended": (
        [("broken: {mend: free}", "broken: {mend: {stay: Nobody can.}}")],
        ["error no-way-back: no path of item leads from `broken` back to `free`"],
    ),
    "a reset that forgets a state": (
        worn(""),
        ["error survives-reset: `reset` takes tool back from `taken`, and leaves it out in `worn`"],
    ),
}


def test_nothing_is_wrong_with_the_yard() -> None:
    assert check_system(*yard_specs()) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault: str) -> None:
    edits, wanted = FAULTS[fault]
    found = [f"{one.severity.value} {one.code}: {one.message}" for one in check_system(*yard_specs(*edits))]
    for text in wanted:
        assert any(one.startswith(text) for one in found), found


SOUND = {
    "an item that is handed to another job": (
        "hand: {by: engine, pick: {j: jobs, k: jobs}, when: j.item is taken and k is idle and k.item == none,"
        " fire: {j: stop, k: start}, set: {k.item: j.item}}"
    ),
    "a reset that says who goes on": "again: {by: recovery, fire: {all jobs: reset, all items: reset}}",
    "an item that is tried out": "test: {by: engine, pick: {i: items}, fire: {i: [acquire, release]}}",
    "an item that is touched and stays out": "touch: {by: engine, pick: {j: jobs}, fire: {j.item: mend}}",
}


@pytest.mark.parametrize("what", SOUND)
def test_what_is_right_is_not_blamed(what: str) -> None:
    assert check_system(*yard_specs((RESET[0], RESET[1].replace("OTHER", SOUND[what])))) == []


def test_a_way_back_that_unless_excuses_is_left_to_exploring() -> None:
    lost = ("broken: {mend: free}", "broken: {mend: {stay: Nobody can.}}")
    excused = ("held_by: {jobs: item}}", "held_by: {jobs: item}, unless: any(i is broken for i in items)}")
    assert [one.code for one in check_system(*yard_specs(lost))] == ["no-way-back"]
    assert check_system(*yard_specs(lost, excused)) == []


def test_a_reset_may_leave_something_out_when_its_row_says_so() -> None:
    codes = [one.code for one in check_system(*yard_specs(*worn(", reset: {stay: A job has it.}")))]
    assert "survives-reset" not in codes


def test_what_is_misspelt_elsewhere_is_blamed_once() -> None:
    edits = [("fire: {j: stop, j.item: release}", "fire: {j: stop, j.itm: release}")]
    assert [one.code for one in check_system(*yard_specs(*edits))] == ["unknown-variable"]


def test_specs_that_leak_are_not_compiled(tmp_path: Path) -> None:
    for name, text in {"job": JOB, "item": ITEM, "yard": YARD.replace(", set: {j.item: i}", "")}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    with pytest.raises(SpecErrors, match=r"yard.yaml:6:\d+: error\[leak\]: `start` takes a tool"):
        load(tmp_path)


EXECUTOR = {
    "a lane that is released and kept": (
        ("request.yaml/transitions/cancelled/release", "job == none, set: {kv: none}", "job == none"),
        None,
    ),
    "a release without the lane": (
        ("executor.yaml/actions/release_lane", "fire: {r: release, r.kv: release}", "fire: {r: release}"),
        "leak",
    ),
    "an exception after which the buffer is not recycled": (
        ("executor.yaml/actions/ccu_exception", "[ccu_exception, recycle]", "ccu_exception"),
        "leak",
    ),
    "a prefill without its buffer": (
        ("executor.yaml/actions/prepare_prefill", "j.buffer: b, ", ""),
        "leak",
    ),
}


@pytest.mark.parametrize("fault", EXECUTOR)
def test_a_fault_planted_in_the_executor_is_seen_when_one_action_shows_it(fault: str) -> None:
    edit, code = EXECUTOR[fault]
    errors = {one.code for one in edited(*edit).findings() if one.severity is Severity.ERROR}
    assert (code in errors) if code else not errors
