"""Every way in which the simulated device can be made to fail, and that a device reset heals it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from calrt_rig import DECODE, MANIFEST, PREFILL, Pair, Rig, bare, ready

from calfsm.serving.clock import VirtualClock
from calfsm.serving.runtime import (
    Health,
    JobCounters,
    Operation,
    OperationStatus,
    OutputStatus,
    RuntimeFault,
    Submit,
)
from calfsm_calrt import FAULTS, Fault, FaultPlan, SimulatedDevice, Timing, reference

SUBMITTED, RUNNING, DONE = OutputStatus.SUBMITTED, OutputStatus.RUNNING, OutputStatus.DONE
ANSWER = reference(MANIFEST, [1, 2, 3], 1)
TIMED = ("configure", "reset_configuration", "clear_dynamic_mem", "reset_ccu", "device_reset")


def filled(rig: Rig, lane: int = 0) -> Pair:
    pair = rig.pair()
    pair.fill(lane, 0, [1, 2, 3])
    return pair


def hints(rig: Rig, pair: Pair, until: float = 10) -> list[OutputStatus]:
    """What a client sees who looks at each notification, and only then."""
    seen: list[OutputStatus] = []
    pair.sink.notify(lambda: seen.append(pair.sink.status()))
    rig.clock.run_until(rig.clock.now + until)
    return seen


# infer


def test_a_rejected_job_was_never_seen_and_its_buffer_can_go_again() -> None:
    rig = ready(Fault(on="infer", fault="reject"))
    pair = filled(rig)
    assert rig.submit(pair) is Submit.REJECTED
    assert rig.device.last_error == "the device would not take the job (planned fault)"
    assert not rig.device.touching(pair.source.tokens)
    assert rig.submit(pair) is Submit.OK


def test_an_unknown_submit_may_have_started_the_dma() -> None:
    rig = ready(Fault(on="infer", fault="unknown"))
    pair = filled(rig)
    assert rig.submit(pair) is Submit.UNKNOWN
    assert rig.device.touching(pair.sink.logits)
    assert rig.device.counters().pending == 1
    assert pair.sink.wait(1) is DONE
    assert [pair.token()] == ANSWER


def test_an_unknown_submit_may_have_started_nothing() -> None:
    rig = ready(Fault(on="infer", fault="unknown", ran=False))
    pair = filled(rig)
    assert rig.submit(pair) is Submit.UNKNOWN
    assert not rig.device.touching(pair.sink.logits)
    assert pair.sink.wait(1) is OutputStatus.IDLE


@pytest.mark.parametrize("ran", [True, False])
def test_an_exception_out_of_infer_says_nothing_of_the_dma(ran: bool) -> None:
    rig = ready(Fault(on="infer", fault="exception", ran=ran))
    pair = filled(rig)
    with pytest.raises(RuntimeFault, match="infer broke down"):
        rig.submit(pair)
    assert rig.device.touching(pair.sink.logits) is ran
    assert pair.sink.wait(1) is (DONE if ran else OutputStatus.IDLE)


def test_a_ccu_exception_leaves_rubbish_in_the_logits_and_the_kv() -> None:
    rig = ready(Fault(on="infer", fault="ccu_exception"))
    pair = filled(rig)
    rig.submit(pair)
    assert pair.sink.wait(1) is OutputStatus.CCU_EXCEPTION
    assert pair.sink.detail == "exception on a compute unit (planned fault)"
    assert np.isnan(pair.sink.logits[0]).all()
    assert (rig.device.kv.entries[0, :3] < -1).all()
    assert not rig.device.touching(pair.sink.logits)
    assert rig.device.counters() == JobCounters(pending=0, finished=1, left=2)
    pair.wipe()
    assert pair.sink.status() is OutputStatus.IDLE
    assert pair.sink.detail == ""


def test_a_hung_job_never_ends_and_lets_nobody_else_compute() -> None:
    rig = ready(Fault(on="infer", fault="hang"))
    hung, behind = rig.submitted(0), rig.submitted(1)
    assert hung.sink.wait(1000) is RUNNING
    assert behind.sink.status() is SUBMITTED
    assert rig.device.touching(hung.sink.logits)
    assert rig.device.reset_ccu().wait(1) is OperationStatus.DONE
    assert hung.sink.status() is OutputStatus.CCU_EXCEPTION
    assert behind.sink.wait(1) is DONE


def test_a_late_job_completes_long_after_its_deadline_and_holds_up_the_others() -> None:
    rig = ready(Fault(on="infer", fault="late", delay=30))
    late, behind = rig.submitted(0), rig.submitted(1)
    assert late.sink.wait(29) is RUNNING
    assert behind.sink.status() is SUBMITTED
    assert late.sink.wait(2) is DONE
    assert [late.token()] == ANSWER
    assert behind.sink.wait(1) is DONE


def test_a_late_job_that_does_not_block_is_overtaken() -> None:
    rig = ready(Fault(on="infer", fault="late", delay=30, blocks=False))
    late, behind = rig.submitted(0), rig.submitted(1)
    assert behind.sink.wait(1) is DONE
    assert late.sink.status() is RUNNING
    assert late.sink.wait(30) is DONE
    assert [late.token()] == [behind.token()] == ANSWER


def test_a_late_job_that_a_device_reset_met_never_completes() -> None:
    rig = ready(Fault(on="infer", fault="late", delay=30))
    late = rig.submitted()
    rig.clock.run_until(rig.clock.now + 5)
    rig.reset()
    assert hints(rig, late, until=100) == []
    assert (late.sink.logits == 0).all()


def test_a_duplicate_notification_comes_again_even_after_a_reset() -> None:
    rig = ready(Fault(on="infer", fault="duplicate", delay=3))
    pair = rig.submitted()
    seen: list[OutputStatus] = []
    pair.sink.notify(lambda: seen.append(pair.sink.status()))
    pair.sink.wait(1)
    rig.clock.run_until(rig.clock.now + 0.5)
    rig.reset()
    assert seen == [RUNNING, DONE]
    rig.clock.run_until(rig.clock.now + 10)
    assert seen == [RUNNING, DONE, DONE]


def test_a_missed_notification_leaves_only_the_status() -> None:
    rig = ready(Fault(on="infer", fault="missed"))
    pair = rig.submitted()
    assert hints(rig, pair) == [RUNNING]
    assert pair.sink.status() is DONE
    assert [pair.token()] == ANSWER


@pytest.mark.parametrize(
    ("value", "looks_wrong"),
    [("nan", lambda row: np.isnan(row).all()), ("inf", lambda row: np.isinf(row).all())],
)
def test_bad_numbers_are_not_numbers(value: str, looks_wrong: Callable[[object], bool]) -> None:
    rig = ready(Fault(on="infer", fault="bad_numbers", value=value))
    pair = rig.submitted()
    assert pair.sink.wait(1) is DONE
    assert looks_wrong(pair.sink.logits[0])
    assert (pair.sink.logits[1] == 0).all()  # the row masked off


def test_garbage_looks_like_numbers_but_has_another_winner() -> None:
    rig = ready(Fault(on="infer", fault="bad_numbers", value="garbage"))
    pair = rig.submitted()
    pair.sink.wait(1)
    assert np.isfinite(pair.sink.logits).all()
    assert [pair.token()] != ANSWER


def test_bad_numbers_are_nan_unless_said_otherwise() -> None:
    rig = ready(Fault(on="infer", fault="bad_numbers"))
    pair = rig.submitted()
    pair.sink.wait(1)
    assert np.isnan(pair.sink.logits[0]).all()


def test_a_job_can_be_done_without_ever_having_run() -> None:
    rig = ready(Fault(on="infer", fault="done_without_running"))
    pair = rig.submitted()
    assert hints(rig, pair) == [DONE]
    assert [pair.token()] == ANSWER


def test_a_running_job_can_be_submitted_again() -> None:
    rig = ready(Fault(on="infer", fault="submitted_again"))
    pair = rig.submitted()
    assert hints(rig, pair) == [RUNNING, SUBMITTED, RUNNING, DONE]
    assert [pair.token()] == ANSWER


def test_a_done_job_can_seem_to_run_again_though_its_memory_is_free() -> None:
    rig = ready(Fault(on="infer", fault="running_after_done", delay=2))
    pair = rig.submitted()
    assert hints(rig, pair, until=3) == [RUNNING, DONE, RUNNING]
    assert not rig.device.touching(pair.sink.logits)
    assert rig.device.counters().finished == 1
    assert hints(rig, pair) == [DONE]


def test_a_status_that_comes_too_late_does_not_touch_the_next_job_of_its_buffer() -> None:
    rig = ready(Fault(on="infer", fault="running_after_done", delay=2))
    pair = rig.submitted()
    pair.sink.wait(1)
    rig.step(pair, DECODE, 1, 0, [4])
    for _ in range(5):
        rig.clock.run_until(rig.clock.now + 1)
        assert pair.sink.status() is DONE


def test_a_status_that_comes_too_late_does_not_touch_a_wiped_buffer() -> None:
    rig = ready(Fault(on="infer", fault="running_after_done", delay=2))
    pair = rig.submitted()
    pair.sink.wait(1)
    pair.wipe()
    assert hints(rig, pair) == []
    assert pair.sink.status() is OutputStatus.IDLE


def test_an_early_notice_finds_the_job_still_running() -> None:
    rig = ready(Fault(on="infer", fault="early_notice"))
    pair = rig.submitted()
    assert hints(rig, pair) == [RUNNING, RUNNING, DONE]


# Operations


def start(name: str, *faults: Fault) -> tuple[SimulatedDevice, VirtualClock, Callable[[], Operation]]:
    """A device on which the operation can be started, and how to start it."""
    if name == "configure":
        clock = VirtualClock()
        device = SimulatedDevice(clock, plan=FaultPlan(faults))
        calbin = device.create_calbin(MANIFEST)
        return device, clock, lambda: device.configure(calbin)
    rig = ready(*faults)
    return rig.device, rig.clock, getattr(rig.device, name)


def test_the_operations_named_here_are_all_that_take_their_time() -> None:
    assert sorted(TIMED) == sorted(name for name, kinds in FAULTS.items() if "missed" in kinds and name != "infer")


@pytest.mark.parametrize("name", TIMED)
def test_an_operation_can_fail_after_its_time_and_changes_nothing_then(name: str) -> None:
    device, _, begin = start(name, Fault(on=name, fault="fail"))
    memory, generation = device.memory_in_use(), device.generation
    operation = begin()
    assert operation.status() is OperationStatus.PENDING
    assert operation.wait(60) is OperationStatus.FAILED
    assert operation.detail == f"{name} failed (planned fault)"
    assert (device.memory_in_use(), device.generation) == (memory, generation)
    assert begin().wait(60) is OperationStatus.DONE  # the second try has no fault


@pytest.mark.parametrize("name", TIMED)
def test_an_operation_can_hang_until_a_device_reset_is_done(name: str) -> None:
    device, _, begin = start(name, Fault(on=name, fault="hang"))
    operation = begin()
    assert operation.wait(1000) is OperationStatus.PENDING
    assert operation.detail == ""
    assert device.device_reset().wait(60) is OperationStatus.DONE
    assert operation.status() is OperationStatus.FAILED
    assert operation.detail in ("the device was reset", "replaced by a device_reset")
    assert device.generation == 1
    assert device.memory_in_use() == 0


@pytest.mark.parametrize("name", TIMED)
def test_an_operation_can_be_late(name: str) -> None:
    _, clock, begin = start(name, Fault(on=name, fault="late", delay=50))
    began = clock.now
    operation = begin()
    assert operation.wait(50) is OperationStatus.PENDING
    assert operation.wait(50) is OperationStatus.DONE
    assert clock.now - began == pytest.approx(50 + getattr(Timing(), name))


@pytest.mark.parametrize(("fault", "notices"), [("duplicate", 2), ("missed", 0), ("late", 1)])
@pytest.mark.parametrize("name", TIMED)
def test_the_notification_of_an_operation_can_be_doubled_or_missing(name: str, fault: str, notices: int) -> None:
    _, clock, begin = start(name, Fault(on=name, fault=fault, delay=5 if fault != "missed" else None))
    seen: list[OperationStatus] = []
    operation = begin()
    operation.notify(lambda: seen.append(operation.status()))
    clock.run_until(clock.now + 60)
    assert operation.status() is OperationStatus.DONE
    assert seen == [OperationStatus.DONE] * notices


@pytest.mark.parametrize("name", TIMED)
def test_an_operation_can_raise_and_has_begun_nothing_then(name: str) -> None:
    device, _, begin = start(name, Fault(on=name, fault="exception"))
    memory = device.memory_in_use()
    with pytest.raises(RuntimeFault, match=f"{name} broke down"):
        begin()
    assert device.memory_in_use() == memory
    assert begin().wait(60) is OperationStatus.DONE


def test_memory_that_does_not_come_back_shows_in_use_until_it_does() -> None:
    rig = ready(Fault(on="clear_dynamic_mem", fault="leak", times=2))
    rig.device.reset_configuration().wait(60)
    for expected in (MANIFEST.memory, MANIFEST.memory, 0):
        assert rig.device.clear_dynamic_mem().wait(60) is OperationStatus.DONE
        assert rig.device.memory_in_use() == expected


def test_a_device_reset_may_not_bring_memory_back_either() -> None:
    rig = ready(Fault(on="device_reset", fault="leak"))
    rig.reset()
    assert rig.device.memory_in_use() == MANIFEST.memory
    rig.device.clear_dynamic_mem().wait(60)
    assert rig.device.memory_in_use() == 0


def test_a_ccu_reset_may_have_no_effect() -> None:
    rig = ready(Fault(on="infer", fault="hang"), Fault(on="reset_ccu", fault="no_effect"))
    hung = rig.submitted()
    hung.sink.wait(1)
    assert rig.device.reset_ccu().wait(60) is OperationStatus.DONE
    assert hung.sink.status() is RUNNING
    assert rig.device.touching(hung.sink.logits)
    rig.device.reset_ccu().wait(60)
    assert hung.sink.status() is OutputStatus.CCU_EXCEPTION


@pytest.mark.parametrize("fault", ["fail", "hang"])
def test_a_device_reset_that_is_not_done_ends_no_hold_on_memory(fault: str) -> None:
    rig = ready(Fault(on="infer", fault="hang"), Fault(on="device_reset", fault=fault))
    hung = rig.submitted()
    hung.sink.wait(1)
    rig.device.device_reset().wait(60)
    assert rig.device.touching(hung.sink.logits)
    assert rig.device.counters().pending == 1
    rig.reset()
    assert not rig.device.touching(hung.sink.logits)


# The rest


@pytest.mark.parametrize("name", ["create_calbin", "create_input", "create_output"])
def test_what_is_created_may_fail_to_be(name: str) -> None:
    device = bare(Fault(on=name, fault="exception"))

    def create() -> None:
        calbin = device.create_calbin(MANIFEST)
        device.create_input(calbin)
        device.create_output(calbin)

    with pytest.raises(RuntimeFault, match=f"{name} broke down"):
        create()
    assert device.last_error == f"{name} broke down (planned fault)"
    create()


def test_a_refused_apply_changes_nothing() -> None:
    rig = ready(Fault(on="apply", fault="refuse", nth=2))
    assert rig.device.kv.apply(0, 3)
    assert not rig.device.kv.apply(0, 4)
    assert rig.device.last_error == "apply of length 4 to lane 0 was refused (planned fault)"
    assert rig.device.kv.committed.tolist() == [3, 0, 0, 0]
    assert rig.device.kv.apply(0, 4)


def test_parallel_mode_may_be_unsupported_and_the_limit_stays() -> None:
    rig = ready(Fault(on="enable_parallel_mode", fault="unsupported"), parallel=False)
    assert not rig.device.enable_parallel_mode(True)
    assert rig.device.last_error == "parallel mode is not supported (planned fault)"
    assert rig.device.counters().left == 1


def test_a_bad_answer_about_health_is_one_answer() -> None:
    device = bare(Fault(on="health", fault="bad", nth=2))
    assert [device.health().ok for _ in range(3)] == [True, False, True]


def test_a_sick_device_stays_sick_until_a_device_reset_is_done() -> None:
    rig = ready(Fault(on="health", fault="sick"))
    assert rig.device.health() == Health(False, "the device is not well (planned fault)")
    assert not rig.device.health().ok
    rig.device.reset_ccu().wait(60)
    assert not rig.device.health().ok
    rig.reset()
    assert rig.device.health() == Health(True)


def test_a_drifting_counter_is_one_answer() -> None:
    device = bare(Fault(on="counters", fault="drift"))
    assert [device.counters().pending for _ in range(2)] == [1, 0]


# All of them


@pytest.mark.parametrize(("on", "fault"), [(on, fault) for on, kinds in FAULTS.items() for fault in kinds])
def test_whatever_goes_wrong_strikes_and_a_device_reset_heals_it(on: str, fault: str) -> None:
    plan = FaultPlan((Fault(on=on, fault=fault),))
    clock = VirtualClock()
    device = SimulatedDevice(clock, plan=plan)
    for _ in range(3):  # a fault costs one round at most
        try:
            served = life(device, clock)
        except (RuntimeFault, AssertionError):
            served = False
    assert served
    assert plan.unused() == []
    assert device.memory_in_use() == 0


def life(device: SimulatedDevice, clock: VirtualClock) -> bool:
    """Everything a device is asked for, from a reset on; False or an exception if any of it went wrong."""
    if device.device_reset().wait(60) is not OperationStatus.DONE:
        return False
    device.clear_dynamic_mem().wait(60)
    calbin = device.create_calbin(MANIFEST)
    fine = device.configure(calbin).wait(60) is OperationStatus.DONE
    fine &= device.enable_parallel_mode(True) and device.health().ok and device.counters().pending == 0
    fine &= Rig(clock, device, calbin).decode(0, [1, 2, 3], 4) == reference(MANIFEST, [1, 2, 3], 4)
    for operation in (device.reset_ccu, device.reset_configuration, device.clear_dynamic_mem):
        fine &= operation().wait(60) is OperationStatus.DONE
    return fine and device.memory_in_use() == 0


def test_a_fault_of_a_task_counts_only_jobs_of_that_task() -> None:
    rig = ready(Fault(on="infer", fault="bad_numbers", task="decode", nth=2))
    pair = rig.pair()
    spoilt = []
    for task in (PREFILL, DECODE, PREFILL, DECODE, DECODE):
        rig.step(pair, task, 0, 0, [1])
        spoilt.append(bool(np.isnan(pair.sink.logits[0]).any()))
    assert spoilt == [False, False, False, True, False]


def test_a_job_rejected_for_its_own_faults_is_not_counted() -> None:
    rig = ready(Fault(on="infer", fault="reject", nth=2))
    pair = rig.pair()
    assert rig.submit(pair) is Submit.REJECTED  # all rows are masked off
    pair.fill(0, 0, [1])
    assert rig.submit(pair) is Submit.OK
    pair.sink.wait(1)
    pair.source.undo_slice()
    assert rig.submit(pair) is Submit.REJECTED
    assert "planned fault" in rig.device.last_error
