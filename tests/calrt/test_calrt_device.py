"""The simulated device without planned faults: jobs, memory lent to DMA, configuration, resets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from calrt_rig import AUTO, DECODE, MANIFEST, PING, PONG, PREFILL, Pair, Rig, bare, ready
from hypothesis import given, settings
from hypothesis import strategies as st

from calfsm.serving.clock import VirtualClock
from calfsm.serving.runtime import (
    Health,
    JobCounters,
    OperationStatus,
    OutputStatus,
    Runtime,
    RuntimeFault,
    Submit,
    Versions,
)
from calfsm_calrt import NAME, SimulatedDevice, Timing, create_runtime, reference, small_manifest

PROMPTS = st.lists(st.integers(0, MANIFEST.vocabulary - 1), min_size=1, max_size=12)


def statuses(rig: Rig, pair: Pair, until: float = 1.0) -> list[OutputStatus]:
    """Every status that a client sees who looks after each call of the clock."""
    seen = [pair.sink.status()]
    end = rig.clock.now + until
    while (due := rig.clock.next_due()) is not None and due <= end:
        rig.clock.run_next()
        if pair.sink.status() is not seen[-1]:
            seen.append(pair.sink.status())
    return seen


# Jobs


def test_a_job_is_submitted_then_runs_then_is_done() -> None:
    rig = ready()
    assert statuses(rig, rig.submitted()) == [OutputStatus.SUBMITTED, OutputStatus.RUNNING, OutputStatus.DONE]


def test_a_job_takes_the_time_that_the_timing_says() -> None:
    rig = ready(timing=Timing(load=1, prefill_token=10, store=100, decode_step=1000))
    began = rig.clock.now
    pair = rig.submitted(tokens=[1, 2, 3])
    pair.sink.wait(10_000)
    assert rig.clock.now - began == 1 + 3 * 10 + 100
    pair.wipe()
    pair.fill(0, 3, [4])
    began = rig.clock.now
    rig.submit(pair, DECODE)
    pair.sink.wait(10_000)
    assert rig.clock.now - began == 1 + 1000 + 100


def test_compute_is_one_after_the_other_while_the_copies_overlap() -> None:
    rig = ready(timing=Timing(load=1, prefill_token=10, store=1))
    began = rig.clock.now
    first, second = rig.submitted(0, [1]), rig.submitted(1, [2])
    second.sink.wait(1000)
    assert first.sink.status() is OutputStatus.DONE
    assert rig.clock.now - began == 1 + 10 + 10 + 1


def test_a_timed_out_wait_takes_its_time_and_ends_nothing() -> None:
    rig = ready(timing=Timing(load=1))
    began = rig.clock.now
    pair = rig.submitted()
    assert pair.sink.wait(0.25) is OutputStatus.SUBMITTED
    assert rig.clock.now == began + 0.25
    assert pair.sink.wait(-1) is OutputStatus.SUBMITTED
    assert rig.clock.now == began + 0.25
    assert pair.sink.wait(60) is OutputStatus.DONE


def test_a_wait_without_end_is_refused() -> None:
    rig = ready()
    with pytest.raises(ValueError, match="finite number of seconds, got inf"):
        rig.submitted().sink.wait(float("inf"))


def test_a_wait_inside_a_call_of_the_clock_runs_the_other_calls_nested() -> None:
    rig = ready()
    pair = rig.submitted()
    seen: list[object] = []
    rig.clock.call_later(0, lambda: seen.append(pair.sink.wait(60)))
    rig.clock.call_later(0.0001, lambda: seen.append("another call"))
    rig.clock.run_next()
    assert seen == ["another call", OutputStatus.DONE]


def test_a_client_is_notified_of_each_change_and_never_inside_a_call() -> None:
    rig = ready()
    pair = rig.pair()
    seen: list[OutputStatus] = []
    pair.sink.notify(lambda: seen.append(pair.sink.status()))
    pair.fill(0, 0, [1])
    rig.submit(pair)
    assert seen == []
    rig.clock.run_until(rig.clock.now + 1)
    assert seen == [OutputStatus.SUBMITTED, OutputStatus.RUNNING, OutputStatus.DONE]
    pair.wipe()
    pair.fill(1, 0, [1])
    rig.submit(pair)
    rig.clock.run_until(rig.clock.now + 1)
    assert len(seen) == 3  # the listener was the first job's


def test_who_asks_to_be_notified_after_the_end_is_notified_soon() -> None:
    rig = ready()
    pair = rig.submitted()
    pair.sink.wait(1)
    done = rig.device.reset_configuration()
    done.wait(1)
    seen: list[str] = []
    pair.sink.notify(lambda: seen.append("job"))
    done.notify(lambda: seen.append("operation"))
    assert seen == []
    rig.clock.run_until(rig.clock.now)
    assert seen == ["job", "operation"]


def test_an_idle_output_has_nothing_to_wait_for() -> None:
    rig = ready()
    began = rig.clock.now
    assert rig.pair().sink.wait(2) is OutputStatus.IDLE
    assert rig.clock.now == began + 2


def test_a_batch_job_answers_each_lane_as_if_it_were_alone_and_leaves_masked_rows_untouched() -> None:
    rig = ready(manifest=small_manifest(batch=4))
    pair = rig.pair()
    pair.sink.logits[...] = -7
    pair.fill(5, 0, [1, 2, 3], row=0)
    pair.fill(2, 0, [9], row=3)
    rig.submit(pair)
    pair.sink.wait(1)
    assert [pair.token(0)] == reference(MANIFEST, [1, 2, 3], 1)
    assert [pair.token(3)] == reference(MANIFEST, [9], 1)
    assert (pair.sink.logits[1:3] == -7).all()


def test_the_counters_add_up_at_every_moment() -> None:
    rig = ready()
    assert rig.device.counters() == JobCounters(pending=0, finished=0, left=2)
    first = rig.submitted(0)
    second = rig.submitted(1)
    assert rig.device.counters() == JobCounters(pending=2, finished=0, left=0)
    rig.device.enable_parallel_mode(False)  # more in flight than would be accepted now
    assert rig.device.counters() == JobCounters(pending=2, finished=0, left=0)
    rig.device.enable_parallel_mode(True)
    first.sink.wait(1)
    assert rig.device.counters() == JobCounters(pending=1, finished=1, left=1)
    rig.device.enable_parallel_mode(False)
    assert rig.device.counters() == JobCounters(pending=1, finished=1, left=0)
    second.sink.wait(1)
    assert rig.device.counters() == JobCounters(pending=0, finished=2, left=1)


# Refusals: the device never saw the job


def lane_twice(pair: Pair) -> None:
    pair.fill(1, 0, [1], row=0)
    pair.fill(1, 0, [1], row=1)


def put(name: str, value: int) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        getattr(pair.source, name)[0] = value

    return change


def swap(name: str, array: object) -> Callable[[Pair], None]:
    return lambda pair: setattr(pair.source, name, array)


@pytest.mark.parametrize(
    ("change", "task", "complaint"),
    [
        (put("counts", 17), PREFILL, "row 0: counts is 17; a prefill job takes 0 to 16 tokens a row"),
        (put("counts", 2), DECODE, "row 0: counts is 2; a decode job takes 0 to 1 tokens a row"),
        (put("counts", -1), PREFILL, "row 0: counts is -1"),
        (put("counts", 0), PREFILL, "all rows are masked off"),
        (put("lanes", 4), PREFILL, "row 0: lane 4 is not one of 0 to 3"),
        (put("lanes", -1), PREFILL, "row 0: lane -1 is not one of 0 to 3"),
        (lane_twice, PREFILL, "row 1: lane 1 is row 0's already"),
        (put("starts", 64), DECODE, "row 0: 64 + 1 tokens do not fit the context of 64"),
        (put("starts", -1), DECODE, "row 0: -1 + 1 tokens do not fit the context of 64"),
        (put("tokens", 64), PREFILL, "row 0: token 64 is not one of 0 to 63"),
        (put("positions", -3), PREFILL, "row 0: position -3 is not one of 0 to 63"),
        (swap("tokens", [[1]]), PREFILL, "tokens must be a numpy array, not list"),
        (swap("counts", np.ones(2)), PREFILL, "counts must be int32 [2], not float64 [2]"),
        (swap("lanes", np.ones(3, dtype=np.int32)), PREFILL, "lanes must be int32 [2], not int32 [3]"),
    ],
)
def test_a_job_of_the_wrong_shape_is_rejected_with_the_reason(
    change: Callable[[Pair], None], task: object, complaint: str
) -> None:
    rig = ready()
    pair = rig.pair()
    pair.fill(0, 0, [1])
    change(pair)
    assert rig.device.infer(task, pair.source, pair.sink) is Submit.REJECTED  # type: ignore[arg-type]
    assert complaint in rig.device.last_error
    assert pair.sink.status() is OutputStatus.IDLE
    assert not rig.device.touching(pair.sink.logits)
    assert rig.device.counters() == JobCounters(pending=0, finished=0, left=2)


def test_a_buffer_in_flight_is_rejected_whichever_of_the_two_it_is() -> None:
    rig = ready()
    busy, idle = rig.submitted(0), rig.pair()
    idle.fill(1, 0, [1])
    assert rig.device.infer(PREFILL, idle.source, busy.sink) is Submit.REJECTED
    assert rig.device.last_error == "the output buffer is in flight with job 1"
    assert rig.device.infer(PREFILL, busy.source, idle.sink) is Submit.REJECTED
    assert rig.device.last_error == "the input buffer is in flight with job 1"


def test_a_second_job_is_rejected_until_parallel_mode_is_on() -> None:
    rig = ready(parallel=False)
    rig.submitted(0)
    other = rig.pair()
    other.fill(1, 0, [1])
    assert rig.submit(other, PREFILL, PONG) is Submit.REJECTED
    assert rig.device.last_error == "1 jobs are in flight and the limit is 1"
    assert rig.device.enable_parallel_mode(True)
    assert rig.submit(other, PREFILL, PING) is Submit.REJECTED
    assert rig.device.last_error == "bank ping has a job in flight"
    assert rig.submit(other, PREFILL, AUTO) is Submit.OK
    third = rig.pair()
    third.fill(2, 0, [1])
    assert rig.submit(third) is Submit.REJECTED
    assert rig.device.last_error == "2 jobs are in flight and the limit is 2"


def test_an_input_is_rejected_until_the_slices_of_its_last_job_are_undone() -> None:
    rig = ready()
    pair = rig.submitted()
    pair.sink.wait(1)
    assert rig.submit(pair) is Submit.REJECTED
    assert "slices of its last job" in rig.device.last_error
    pair.source.undo_slice()
    assert rig.submit(pair) is Submit.OK


def test_nothing_runs_while_nothing_is_configured_or_an_operation_is_under_way() -> None:
    rig = ready()
    pair = rig.pair()
    pair.fill(0, 0, [1])
    dropping = rig.device.reset_configuration()
    assert rig.submit(pair) is Submit.REJECTED
    assert rig.device.last_error == "reset_configuration is under way"
    dropping.wait(1)
    assert rig.submit(pair) is Submit.REJECTED
    assert rig.device.last_error == "no calbin is configured"


def test_the_buffers_of_another_model_or_another_runtime_are_rejected() -> None:
    rig = ready()
    other = rig.device.create_calbin(small_manifest("other"))
    source, sink = rig.device.create_input(other), rig.device.create_output(other)
    assert rig.device.infer(PREFILL, source, sink) is Submit.REJECTED
    assert "the input buffer belongs to other, which is not what is configured" in rig.device.last_error
    assert rig.device.infer(PREFILL, object(), sink) is Submit.REJECTED  # type: ignore[arg-type]
    assert rig.device.last_error == "the buffers were not created by this runtime"


# Memory lent to the device


def test_the_device_holds_all_arrays_of_a_job_from_its_acceptance_to_its_end() -> None:
    rig = ready()
    pair = rig.submitted()
    arrays = [pair.sink.logits, pair.source.tokens, pair.source.counts, pair.source.tokens[0, 1:2]]
    assert all(rig.device.touching(array) for array in arrays)
    assert not rig.device.touching(rig.pair().source.tokens)
    pair.sink.wait(1)
    assert not any(rig.device.touching(array) for array in arrays)
    reads = [touch.array for touch in rig.device.touches if touch.access == "read"]
    assert reads == ["tokens", "positions", "lanes", "starts", "counts", "tokens", "positions"]
    assert [touch.array for touch in rig.device.touches if touch.access == "write"] == ["logits"]


def test_tokens_rewritten_before_the_job_starts_spoil_its_answer() -> None:
    rig = ready()
    pair = rig.submitted(tokens=[1, 2, 3])
    pair.source.tokens[0, :3] = [4, 5, 6]
    pair.sink.wait(1)
    assert [pair.token()] == reference(MANIFEST, [4, 5, 6], 1) != reference(MANIFEST, [1, 2, 3], 1)


def test_tokens_rewritten_while_the_job_runs_spoil_what_comes_after_it() -> None:
    rig = ready()
    pair = rig.submitted(tokens=[1, 2, 3])
    while pair.sink.status() is not OutputStatus.RUNNING:
        rig.clock.run_next()
    pair.source.tokens[0, :3] = [4, 5, 6]
    pair.sink.wait(1)
    first = pair.token()
    assert [first] == reference(MANIFEST, [1, 2, 3], 1)
    rig.device.kv.apply(0, 3)
    rig.step(pair, DECODE, 0, 3, [first])
    spoilt = pair.sink.logits[0].copy()
    clean = ready()
    again = clean.pair()
    clean.step(again, PREFILL, 0, 0, [1, 2, 3])
    clean.device.kv.apply(0, 3)
    clean.step(again, DECODE, 0, 3, [first])
    assert not np.array_equal(spoilt, again.sink.logits[0])


def test_an_output_read_or_reused_too_early_is_written_over_by_the_device() -> None:
    rig = ready()
    pair = rig.submitted()
    assert (pair.sink.logits == 0).all()
    pair.sink.logits[...] = 42
    pair.sink.wait(1)
    assert not (pair.sink.logits[0] == 42).any()


def test_nonsense_written_in_flight_is_computed_as_it_stands() -> None:
    rig = ready()
    pair = rig.submitted(tokens=[1, 2, 3])
    for array in (pair.source.tokens, pair.source.positions, pair.source.lanes, pair.source.counts):
        array[...] = -5 if array is not pair.source.counts else 1000
    assert pair.sink.wait(1) is OutputStatus.DONE
    assert np.isfinite(pair.sink.logits).all()


def test_wiping_a_buffer_in_flight_is_done_and_noted() -> None:
    rig = ready()
    pair = rig.submitted(tokens=[1, 2, 3])
    pair.source.reset_all_tensors()
    pair.sink.reset_all_tensors()
    assert list(rig.device.misuses) == [
        "reset_all_tensors on the input of job 1, which is in flight",
        "reset_all_tensors on the output of job 1, which is in flight",
    ]
    assert pair.sink.wait(1) is OutputStatus.DONE
    assert (pair.sink.logits == 0).all()  # the counts were wiped before the device read them


def test_two_buffers_that_share_a_backing_array_spoil_each_other() -> None:
    rig = ready()
    first, second = rig.pair(), rig.pair()
    second.source.tokens = first.source.tokens
    first.fill(0, 0, [1, 2, 3])
    assert rig.submit(first) is Submit.OK
    assert rig.device.touching(second.source.tokens)
    second.fill(1, 0, [7, 8, 9])
    assert rig.submit(second) is Submit.OK
    second.sink.wait(1)
    assert [first.token()] == reference(MANIFEST, [7, 8, 9], 1)


def test_an_array_put_in_place_of_a_latched_one_is_not_what_the_device_reads() -> None:
    rig = ready()
    pair = rig.submitted(tokens=[1, 2, 3])
    pair.source.tokens = np.full_like(pair.source.tokens, 9)
    pair.sink.wait(1)
    assert [pair.token()] == reference(MANIFEST, [1, 2, 3], 1)


@settings(max_examples=40, deadline=None)
@given(PROMPTS, PROMPTS, st.lists(st.booleans(), min_size=12, max_size=12))
def test_two_lanes_in_ping_and_pong_never_cross(one: list[int], other: list[int], order: list[bool]) -> None:
    rig = ready()
    prompts = [one, other]
    pairs = [rig.pair(), rig.pair()]
    answers: list[list[int]] = [[], []]
    for lane, slot in ((0, PING), (1, PONG)):
        pairs[lane].fill(lane, 0, prompts[lane])
        assert rig.submit(pairs[lane], PREFILL, slot) is Submit.OK
    for pick in order:
        lane = int(pick)
        pair, prompt, answer = pairs[lane], prompts[lane], answers[lane]
        assert pair.sink.wait(60) is OutputStatus.DONE
        answer.append(pair.token())
        length = len(prompt) + len(answer) - 1
        rig.device.kv.apply(lane, length)
        pair.wipe()
        pair.fill(lane, length, answer[-1:])
        assert rig.submit(pair, DECODE, (PING, PONG)[lane]) is Submit.OK, rig.device.last_error
    for lane in (0, 1):
        assert answers[lane] == reference(MANIFEST, prompts[lane], len(answers[lane]))
    assert not rig.device.misuses


@settings(max_examples=40, deadline=None)
@given(PROMPTS, PROMPTS, st.floats(0, 1))
def test_an_input_rewritten_at_any_moment_in_flight_spoils_logits_or_kv(
    mine: list[int], theirs: list[int], moment: float
) -> None:
    theirs = (theirs * 12)[: len(mine)]
    if theirs == mine:
        theirs = [(token + 1) % MANIFEST.vocabulary for token in mine]
    clean, spoilt = run_with(mine, mine, moment), run_with(mine, theirs, moment)
    assert not all(np.array_equal(ours, others) for ours, others in zip(clean, spoilt, strict=True))


def run_with(tokens: list[int], rewritten: list[int], moment: float) -> tuple[Any, Any]:
    """Logits and KV of a prefill whose tokens are rewritten at a fraction of its time in flight."""
    rig = ready()
    pair = rig.submitted(0, tokens)
    timing = rig.device.timing
    flight = timing.load + len(tokens) * timing.prefill_token + timing.store
    rig.clock.run_until(rig.clock.now + moment * flight * 0.999)
    pair.source.tokens[0, : len(tokens)] = rewritten
    pair.sink.wait(1)
    return pair.sink.logits[0].copy(), rig.device.kv.entries[0, : len(tokens)].copy()


# KV


def test_a_length_that_was_never_written_reads_what_the_memory_holds() -> None:
    rig = ready()
    assert (rig.device.kv.entries < 0).all()  # no model writes such entries
    rig.device.kv.apply(0, 3)
    assert [rig.step(rig.pair(), DECODE, 0, 3, [1])] != reference(MANIFEST, [1], 1)


def test_a_lane_given_to_another_sequence_forgets_the_first() -> None:
    rig = ready()
    rig.decode(0, [1, 2, 3], 5)
    assert rig.device.kv.apply(0, 0)
    assert rig.decode(0, [9], 5) == reference(MANIFEST, [9], 5)


@pytest.mark.parametrize(
    ("lane", "length", "complaint"),
    [
        (4, 1, "lane 4 is not one of 0 to 3"),
        (-1, 1, "lane -1"),
        (0, 65, "length 65 is not one of 0 to 64"),
        (0, -1, "length -1"),
    ],
)
def test_apply_refuses_what_is_out_of_range_and_changes_nothing(lane: int, length: int, complaint: str) -> None:
    rig = ready()
    rig.device.kv.apply(0, 7)
    assert not rig.device.kv.apply(lane, length)
    assert complaint in rig.device.last_error
    assert rig.device.kv.committed.tolist() == [7, 0, 0, 0]


def test_a_sequence_fits_a_lane_up_to_the_context() -> None:
    kv = ready().device.kv
    assert [kv.can_allocate(tokens) for tokens in (0, 1, 64, 65, -1)] == [True, True, True, False, False]


def test_the_number_of_lanes_is_twice_the_batch_unless_told() -> None:
    assert ready(manifest=small_manifest(batch=4)).device.kv.lanes == 8
    assert ready(lanes=3).device.kv.lanes == 3


def test_there_is_no_kv_without_a_configuration_and_an_old_one_is_dead() -> None:
    rig = ready()
    kv = rig.device.kv
    rig.device.reset_configuration().wait(1)
    assert not kv.apply(0, 1)
    assert "gone with its configuration" in rig.device.last_error
    assert not kv.can_allocate(1)
    with pytest.raises(RuntimeFault, match="no calbin is configured"):
        _ = rig.device.kv


# Configuration and memory


def test_memory_is_reserved_by_configure_and_comes_back_in_two_steps() -> None:
    rig = ready()
    assert rig.device.memory_in_use() == MANIFEST.memory
    assert rig.device.clear_dynamic_mem().wait(1) is OperationStatus.DONE
    assert rig.device.memory_in_use() == MANIFEST.memory  # what is configured stays
    assert rig.device.reset_configuration().wait(1) is OperationStatus.DONE
    assert rig.device.memory_in_use() == MANIFEST.memory
    assert rig.device.clear_dynamic_mem().wait(1) is OperationStatus.DONE
    assert rig.device.memory_in_use() == 0


def test_a_model_does_not_fit_until_the_memory_of_the_last_one_was_cleared() -> None:
    rig = ready(manifest=small_manifest("a", memory=60), memory_capacity=100)
    rig.device.reset_configuration().wait(1)
    next_one = rig.device.create_calbin(small_manifest("b", memory=60))
    refused = rig.device.configure(next_one)
    assert refused.status() is OperationStatus.FAILED
    assert refused.detail == "b needs 60 bytes; 40 are free"
    assert rig.device.memory_in_use() == 60
    rig.device.clear_dynamic_mem().wait(1)
    assert rig.device.configure(next_one).wait(10) is OperationStatus.DONE
    assert rig.device.memory_in_use() == 60


def test_a_second_model_is_refused_while_one_is_configured() -> None:
    rig = ready()
    refused = rig.device.configure(rig.device.create_calbin(small_manifest("other")))
    assert refused.wait(10) is OperationStatus.FAILED
    assert refused.detail == "small is configured; call reset_configuration first"
    assert rig.device.last_error == f"configure: {refused.detail}"


def test_the_same_calbin_can_be_configured_again_with_fresh_kv() -> None:
    rig = ready()
    assert rig.decode(0, [1, 2], 3) == reference(MANIFEST, [1, 2], 3)
    rig.device.reset_configuration().wait(1)
    rig.device.clear_dynamic_mem().wait(1)
    assert rig.device.configure(rig.calbin).wait(10) is OperationStatus.DONE
    assert rig.device.kv.committed.tolist() == [0, 0, 0, 0]
    assert rig.decode(0, [1, 2], 3) == reference(MANIFEST, [1, 2], 3)


def test_operations_that_change_the_configuration_go_one_at_a_time() -> None:
    device = bare()
    calbin = device.create_calbin(MANIFEST)
    first = device.configure(calbin)
    for refused in (device.configure(calbin), device.reset_configuration(), device.clear_dynamic_mem()):
        assert refused.status() is OperationStatus.FAILED
        assert refused.detail == "configure is under way"
    assert first.wait(10) is OperationStatus.DONE


def test_a_configuration_with_jobs_in_flight_is_not_dropped() -> None:
    rig = ready()
    rig.submitted()
    refused = rig.device.reset_configuration()
    assert refused.status() is OperationStatus.FAILED
    assert refused.detail == "1 jobs are in flight; wait for them or reset"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"digest": "00"}, "digest must be 64 hexadecimal digits"),
        ({"runtime": "0.8.0"}, "small was built for runtime 0.8.0; this is 0.7.6"),
        ({"memory": 1 << 40}, f"small needs {1 << 40} bytes; the device has {32 << 30}"),
    ],
)
def test_an_artefact_that_cannot_run_here_is_not_read(change: dict[str, object], complaint: str) -> None:
    device = bare()
    with pytest.raises(RuntimeFault, match=complaint):
        device.create_calbin(attrs.evolve(MANIFEST, **change))  # type: ignore[arg-type]
    assert complaint in device.last_error
    assert device.memory_in_use() == 0


def test_a_calbin_of_another_runtime_is_refused() -> None:
    class Foreign:
        manifest = MANIFEST

    device = bare()
    assert "not created by this runtime" in device.configure(Foreign()).detail
    with pytest.raises(RuntimeFault, match="not created by this runtime"):
        device.create_input(Foreign())


# Resets


def test_after_a_device_reset_a_job_never_writes_and_never_answers() -> None:
    rig = ready(timing=Timing(prefill_token=10))
    pair = rig.submitted()
    rig.clock.run_until(rig.clock.now + 1)
    reset = rig.device.device_reset()
    assert rig.device.touching(pair.sink.logits)  # asking for a reset ends nothing
    assert reset.wait(10) is OperationStatus.DONE
    assert not rig.device.touching(pair.sink.logits)
    pair.sink.logits[...] = 42
    rig.clock.run_until(rig.clock.now + 1000)
    assert (pair.sink.logits == 42).all()
    assert pair.sink.status() is OutputStatus.RUNNING
    assert rig.device.counters() == JobCounters(pending=0, finished=0, left=1)


def test_a_job_may_still_finish_and_write_before_the_device_reset_is_done() -> None:
    rig = ready()
    pair = rig.submitted()
    reset = rig.device.device_reset()
    assert pair.sink.wait(0.5) is OutputStatus.DONE
    assert reset.status() is OperationStatus.PENDING
    assert [pair.token()] == reference(MANIFEST, [1, 2, 3], 1)


def test_after_a_device_reset_everything_of_the_old_generation_is_dead() -> None:
    rig = ready()
    pair, kv = rig.pair(), rig.device.kv
    pair.fill(0, 0, [1])
    rig.reset()
    assert rig.device.generation == 1
    assert rig.device.memory_in_use() == 0
    assert not kv.apply(0, 1)
    stale = rig.device.configure(rig.calbin)
    assert stale.status() is OperationStatus.FAILED
    assert "calbin of device generation 0, which is gone; the device is in generation 1" in stale.detail
    with pytest.raises(RuntimeFault, match="create it again"):
        rig.pair()
    fresh = rig.device.create_calbin(MANIFEST)
    assert rig.device.configure(fresh).wait(10) is OperationStatus.DONE
    assert rig.submit(pair) is Submit.REJECTED
    assert "the input buffer belongs to a calbin of device generation 0" in rig.device.last_error
    again = Rig(rig.clock, rig.device, fresh)
    assert again.decode(0, [1, 2, 3], 5) == reference(MANIFEST, [1, 2, 3], 5)


def test_a_device_reset_ends_a_configure_under_way_and_gives_its_memory_back() -> None:
    clock = VirtualClock()
    device = SimulatedDevice(clock, timing=Timing(configure=100))
    under_way = device.configure(device.create_calbin(MANIFEST))
    assert device.memory_in_use() == MANIFEST.memory
    assert device.device_reset().wait(10) is OperationStatus.DONE
    assert under_way.status() is OperationStatus.FAILED
    assert under_way.detail == "the device was reset"
    assert device.memory_in_use() == 0
    clock.run_until(1000)
    assert under_way.status() is OperationStatus.FAILED
    assert device.memory_in_use() == 0
    with pytest.raises(RuntimeFault):
        _ = device.kv


def test_a_ccu_reset_ends_what_runs_in_an_exception_and_lets_the_rest_go_on() -> None:
    rig = ready(timing=Timing(prefill_token=10))
    running, waiting = rig.submitted(0), rig.submitted(1, [4])
    rig.clock.run_until(rig.clock.now + 1)
    assert waiting.sink.status() is OutputStatus.SUBMITTED
    assert rig.device.reset_ccu().wait(1) is OperationStatus.DONE
    assert running.sink.status() is OutputStatus.CCU_EXCEPTION
    assert running.sink.detail == "aborted by a CCU reset"
    assert np.isnan(running.sink.logits[0]).all()
    assert (rig.device.kv.entries[0, :3] == -3).all()
    assert waiting.sink.wait(60) is OutputStatus.DONE
    assert [waiting.token()] == reference(MANIFEST, [4], 1)
    assert rig.device.counters() == JobCounters(pending=0, finished=2, left=2)
    assert rig.device.memory_in_use() == MANIFEST.memory
    assert rig.decode(2, [7], 3) == reference(MANIFEST, [7], 3)


def test_a_ccu_reset_without_jobs_changes_nothing() -> None:
    rig = ready()
    assert rig.device.reset_ccu().wait(1) is OperationStatus.DONE
    assert rig.decode(0, [7], 3) == reference(MANIFEST, [7], 3)


def test_a_job_is_rejected_while_a_reset_is_under_way() -> None:
    rig = ready()
    pair = rig.pair()
    pair.fill(0, 0, [1])
    reset = rig.device.reset_ccu()
    assert rig.submit(pair) is Submit.REJECTED
    assert rig.device.last_error == "reset_ccu is under way"
    reset.wait(1)
    assert rig.submit(pair) is Submit.OK


def test_a_stronger_reset_replaces_a_weaker_one_and_not_the_other_way_round() -> None:
    rig = ready(timing=Timing(prefill_token=10))
    running = rig.submitted()
    running.sink.wait(1)
    weak = rig.device.reset_ccu()
    strong = rig.device.device_reset()
    assert weak.status() is OperationStatus.FAILED
    assert weak.detail == "replaced by a device_reset"
    assert rig.device.reset_ccu().detail == "a device reset is under way"
    assert strong.wait(0.5) is OperationStatus.PENDING
    assert running.sink.status() is OutputStatus.RUNNING  # the replaced reset does nothing any more
    assert strong.wait(10) is OperationStatus.DONE
    assert rig.device.generation == 1


# The device as an adapter


def test_the_adapter_makes_a_runtime_under_its_name() -> None:
    versions = Versions("0.7.6", "1.2.3", "9")
    runtime: Runtime = create_runtime(VirtualClock(), versions=versions, memory_capacity=5)
    assert NAME == "calrt"
    assert runtime.versions() == versions
    assert runtime.memory_capacity() == 5
    assert runtime.health() == Health(True)


def test_an_option_that_is_not_one_or_out_of_range_is_refused() -> None:
    with pytest.raises(TypeError, match="speed"):
        create_runtime(VirtualClock(), speed=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="lanes must be 1 or more, got 0"):
        SimulatedDevice(VirtualClock(), lanes=0)
    with pytest.raises(ValueError, match=r"Timing\.load must be a number of seconds, 0 or more, got -1"):
        Timing(load=-1)


def test_a_device_without_parallel_mode_says_so_and_takes_one_job() -> None:
    device = bare(parallel=False)
    assert not device.enable_parallel_mode(True)
    assert device.last_error == "parallel mode is not supported by this device"
    assert device.enable_parallel_mode(False)
    assert device.counters().left == 1


def test_the_same_calls_at_the_same_times_give_the_same_run() -> None:
    def run() -> list[object]:
        rig = ready()
        rig.decode(1, [1, 2, 3], 6)
        return [rig.clock.now, *rig.device.touches]

    assert run() == run()
