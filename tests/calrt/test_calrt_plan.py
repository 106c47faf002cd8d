"""Fault plans: built in code, read from YAML, and refused with the place, the nearest word and the way out."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calfsm_calrt
from calfsm.serving.clock import VirtualClock
from calfsm.serving.runtime import TaskType
from calfsm_calrt import FAULTS, BadPlan, Fault, FaultPlan, create_runtime

PLAN = """\
doc: The third decode job hangs, and memory does not come back twice.
faults:
  - {on: infer, nth: 3, task: decode, fault: hang}
  - {on: clear_dynamic_mem, fault: leak, times: 2}
  - on: infer
    fault: late
    delay: 2
    blocks: false
    task: prefill
"""


def complaints(text: str) -> list[str]:
    with pytest.raises(BadPlan) as bad:
        FaultPlan.read(text, "plan.yaml")
    return str(bad.value).splitlines()


def test_a_plan_reads_as_it_would_be_built() -> None:
    assert FaultPlan.read(PLAN).faults == (
        Fault(on="infer", nth=3, task="decode", fault="hang"),
        Fault(on="clear_dynamic_mem", fault="leak", times=2),
        Fault(on="infer", fault="late", delay=2.0, blocks=False, task="prefill"),
    )


def test_a_plan_can_be_empty() -> None:
    assert FaultPlan.read("faults: []\n").faults == FaultPlan().faults == ()


def test_a_plan_is_loaded_from_a_file_by_the_factory(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("faults: [{on: enable_parallel_mode, fault: unsupported}]\n", encoding="utf-8")
    assert not create_runtime(VirtualClock(), plan=path).enable_parallel_mode(True)
    assert not create_runtime(VirtualClock(), plan=str(path)).enable_parallel_mode(True)


def test_a_file_that_is_not_there_or_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    with pytest.raises(OSError, match=r"plan\.yaml"):
        FaultPlan.load(path)
    path.write_bytes(b"doc: \xff\n")
    with pytest.raises(BadPlan, match=r"plan\.yaml: error\[not-utf8\]: byte 5 is not UTF-8"):
        FaultPlan.load(path)


@pytest.mark.parametrize(
    ("item", "code", "what", "way_out"),
    [
        (
            "{on: infer, fault: ^hagn}",
            "unknown-fault",
            "`hagn` is not a fault of infer",
            "did you mean `hang`? write one of reject",
        ),
        (
            "{on: ^infr, fault: hang}",
            "unknown-operation",
            "`infr` is not an operation",
            "did you mean `infer`? write one of infer",
        ),
        (
            "{on: infer, fault: hang, ^nht: 2}",
            "unknown-key",
            "`nht` is not a key here",
            "did you mean `nth`? write one of on, fault",
        ),
        ("{on: infer, fault: hang, ^fault: late}", "duplicate-key", "`fault` is said twice", "keep one of"),
        ("^{fault: hang}", "missing-key", "the fault has no `on`", "write `on:"),
        ("^{on: infer}", "missing-key", "the fault has no `fault`", "write `fault:"),
        ("{on: infer, fault: hang, nth: ^0}", "bad-value", "`nth` is 0", "calls are counted from 1"),
        ("{on: infer, fault: hang, times: ^-1}", "bad-value", "`times` is -1", "calls are counted from 1"),
        (
            "{on: infer, fault: hang, nth: ^'2'}",
            "bad-value",
            "`nth` must be a whole number, not '2'",
            "write a whole number without quotes",
        ),
        (
            "{on: infer, fault: hang, nth: ^true}",
            "bad-value",
            "`nth` must be a whole number, not True",
            "write a whole number",
        ),
        ("{on: infer, fault: hang, nth: ^2.0}", "bad-value", "`nth` must be a whole number, not 2.0", ""),
        ("{on: infer, fault: hang, nth: ^[2]}", "bad-value", "`nth` is a collection", "write a single value"),
        ("{on: infer, fault: hang, nth: ^!x 2}", "bad-value", "`nth` cannot be read from `2`", "write a plain"),
        ("{on: infer, fault: hang, nth:^ }", "bad-value", "`nth` is empty", "write a value, or leave"),
        ("{on: infer, fault: ^on}", "bad-value", "`fault` cannot be read from `on`", ""),
        ("{on: infer, fault: ^true}", "bad-value", "`fault` must be a word, not True", ""),
        ("{on: infer, fault: late, delay: ^-1}", "bad-value", "`delay` is -1.0", "write seconds, 0 or more;"),
        ("{on: infer, fault: late, delay: ^soon}", "bad-value", "`delay` must be a number, not 'soon'", ""),
        ("{on: infer, fault: hang, task: ^decod}", "bad-value", "`decod` is not a task", "did you mean `decode`"),
        (
            "{on: infer, fault: bad_numbers, value: ^nam}",
            "bad-value",
            "`nam` is not a kind of bad numbers",
            "did you mean `nan`? write one of nan, inf, garb",
        ),
        (
            "{on: infer, fault: hang, ran: ^false}",
            "misplaced-option",
            "hang on infer takes no `ran`",
            "leave it out; it belongs to infer: unknown",
        ),
        ("{on: configure, fault: fail, task: ^decode}", "misplaced-option", "fail on configure takes no `task`", ""),
        ("{on: configure, fault: late, blocks: ^true}", "misplaced-option", "late on configure takes no `block", ""),
        ("{on: infer, fault: hang, ^<<: {}}", "unknown-key", "`<<` is not a key here", ""),
        ("{on: infer, fault: hang, ^[1]: 2}", "unknown-key", "`a collection` is not a key here", ""),
        ("^hang", "wrong-shape", "a fault is a mapping", "write {on: <operation>, fault: <fault>}"),
    ],
)
def test_a_wrong_fault_is_refused_at_its_place_with_the_way_out(item: str, code: str, what: str, way_out: str) -> None:
    """The `^` stands where the error must point."""
    written = f"  - {item}"
    first, second = complaints("faults:\n" + written.replace("^", ""))
    assert first.startswith(f"plan.yaml:2:{written.index('^') + 1}: error[{code}]: {what}")
    assert way_out in second


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "plan.yaml:1:1: error[wrong-shape]: a plan is a mapping with `faults`"),
        ("- {on: infer, fault: hang}", "plan.yaml:1:1: error[wrong-shape]: a plan is a mapping with `faults`"),
        ("doc: nothing", "plan.yaml:1:1: error[wrong-shape]: `faults` must be a list"),
        ("faults: 3", "plan.yaml:1:9: error[wrong-shape]: `faults` must be a list"),
        ("faults: [", "plan.yaml:1:10: error[not-yaml]: this is not YAML: "),
        ("faults: []\n---\nfaults: []", "plan.yaml:2:1: error[not-yaml]: this is not YAML: "),
        ("faults: []\nfaults: []", "plan.yaml:2:1: error[duplicate-key]: `faults` is said twice"),
        ("falts: []\nfaults: []", "plan.yaml:1:1: error[unknown-key]: `falts` is not a key here"),
        ("faults: \x00", "plan.yaml:1:1: error[not-yaml]: this is not YAML: "),
        ("faults: *nobody", "plan.yaml:1:9: error[not-yaml]: this is not YAML: "),
    ],
)
def test_a_text_that_is_no_plan_is_refused_at_its_place(text: str, said: str) -> None:
    lines = complaints(text)
    assert lines[0].startswith(said), lines
    assert len(lines) == 2


def test_all_that_is_wrong_is_said_at_once_in_the_plans_order() -> None:
    lines = complaints(
        "faults:\n- {on: infr, fault: hang, nth: 0}\n- {on: infer, fault: hang}\n- {on: apply, fault: hang}\n"
    )
    assert [line.split(":", 3)[1:3] for line in lines if not line.startswith(" ")] == [
        ["2", "8"],
        ["2", "32"],
        ["4", "22"],
    ]


def test_two_faults_on_one_call_are_refused_where_the_second_is_written() -> None:
    lines = complaints("faults:\n- {on: infer, fault: hang, times: 3}\n- {on: infer, fault: late, nth: 3}\n")
    assert lines == [
        "plan.yaml:3:3: error[collision]: call 3 of infer has two faults, "
        "{on: infer, fault: hang, times: 3} and {on: infer, fault: late, nth: 3}",
        "  a call has one fault: move one with `nth`",
    ]


def test_a_fault_built_in_code_is_refused_in_the_same_words() -> None:
    with pytest.raises(
        ValueError, match=r"fault plan: error\[unknown-fault\]: `leek` is not a fault of device_reset"
    ) as bad:
        Fault(on="device_reset", fault="leek", times=0)
    assert isinstance(bad.value, BadPlan)
    assert [problem.code for problem in bad.value.problems] == ["unknown-fault", "bad-value"]
    with pytest.raises(BadPlan, match="call 1 of apply has two faults"):
        FaultPlan((Fault(on="apply", fault="refuse"), Fault(on="apply", fault="refuse")))


def test_a_fault_prints_as_the_line_of_a_plan_that_reads_back() -> None:
    fault = Fault(on="infer", fault="late", nth=2, delay=0.5, blocks=False, task="decode")
    assert str(fault) == "{on: infer, fault: late, nth: 2, task: decode, delay: 0.5, blocks: false}"
    assert FaultPlan.read(f"faults: [{fault}]").faults == (fault,)


def test_of_two_faults_that_meet_the_first_strikes_and_the_other_is_unused() -> None:
    first, second = Fault(on="infer", fault="hang", nth=2), Fault(on="infer", fault="late", task="decode", nth=2)
    plan = FaultPlan((first, second))
    assert [plan.strike("infer", TaskType.DECODE) for _ in range(3)] == [None, first, None]
    assert plan.unused() == [second]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text_at_all_is_a_plan_or_a_bad_plan(text: str) -> None:
    for candidate in (text, f"faults: [{{on: infer, fault: {text}}}]", f"faults:\n- {text}"):
        try:
            plan = FaultPlan.read(candidate)
        except BadPlan as bad:
            assert bad.problems
        else:
            assert all(fault.on in FAULTS for fault in plan.faults)


def test_the_adapter_needs_no_yaml_until_a_plan_is_read() -> None:
    code = "import sys, calfsm_calrt; sys.exit('yaml' in sys.modules or 'cattrs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0


def test_the_adapter_imports_only_public_names_of_calfsm() -> None:
    allowed = {"calfsm.serving.runtime", "calfsm.serving.clock"}
    for path in Path(calfsm_calrt.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("calfsm"):
                assert node.module in allowed, path.name
