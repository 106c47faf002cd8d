"""Faults that serving runtimes really had, one test a kind; where a kind is one of order, both orders."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from serving.serving_rig import LOADED, outcomes, serving, struck

from calfsm.engine.engine import ActionRefused, Step
from calfsm.serving import Choice, Rejected
from calfsm.serving.messages import HealthLost, InferAnswered, JobHint, Message, OperationEnded
from calfsm.serving.runtime import OutputStatus, RuntimeFault, Submit
from calfsm.tables import phase_a
from calfsm_calrt import Fault, Timing

HANG = Fault("infer", "hang")


# 1: reuse in flight
@pytest.mark.parametrize("room", [1, 2])
def test_a_buffer_is_not_written_while_the_device_may_touch_it(room: int) -> None:
    house = serving(params={"buffers": room}, timing=Timing(load=0.01, store=0.01))
    for number in range(4):
        house.submit(number, n=6)
    most = 0
    for _ in house.turns():
        held = [item for item in house.executor.pool if item and house.device.touching(item.source.tokens)]
        most = max(most, len(held))
    assert (most, outcomes(house.requests)) == (room, ["finished"] * 4)
    house.close()  # the auditor looked at every step, and the tokens are true


# 2: freed in flight
@pytest.mark.parametrize("end", ["cancel", "deadline"])
def test_a_lane_goes_back_only_when_the_last_job_that_can_write_it_has_ended(end: str) -> None:
    house = serving(params={"lanes": 1}, **({"request_deadline": 0.0015} if end == "deadline" else {}))
    first, second = house.submit(*range(16), n=5), house.submit(2, n=1)
    house.until("status_running")
    if end == "cancel":
        house.executor.cancel(first)
    house.until("cancel_in_flight" if end == "cancel" else "expire_in_flight")
    assert (first.done, house.state("kvs"), house.state("requests", 1)) == (True, "in_flight", "waiting")
    house.until("prepare_prefill")
    names = [name for _, name in house.executor.log]
    assert names.index("discard") < names.index("release_lane") < len(names) - names[::-1].index("prepare_prefill") - 1
    house.run()
    assert outcomes([second]) == ["finished"] if end == "cancel" else second.done
    house.close()


# 3: a timeout is not a completion
@pytest.mark.parametrize("cancelled", ["before", "after", "never"])
def test_a_job_that_timed_out_leaves_its_buffer_in_quarantine_until_it_ends_or_a_reset_is_seen(cancelled: str) -> None:
    house = struck(HANG, times=1)
    request = house.submit(1)
    house.until("status_running")
    buffer = house.states("buffers").index("running")
    if cancelled == "before":
        house.executor.cancel(request)
    house.until("wait_timeout")
    if cancelled == "after":
        house.executor.cancel(request)
    house.executor.pump()
    item = house.executor.pool[buffer]
    assert item is not None and house.device.touching(item.sink.logits)
    assert (house.state("buffers", buffer), house.state("dma", buffer)) == ("quarantined", "active")
    house.until("rebuilt")
    assert (house.state("buffers", buffer), house.executor.pool[buffer]) == ("free", None)
    house.until("warmed")
    assert house.executor.pool[buffer] not in (None, item)
    assert outcomes([request]) == ["cancelled" if cancelled == "before" else "failed"]
    house.run().close()


# 4: a false timeout
@pytest.mark.parametrize("nth", [5, 6, 8])
def test_a_completion_whose_notification_was_lost_is_looked_for_before_anything_is_torn_down(nth: int) -> None:
    house = serving(Fault("infer", "missed", nth=nth))
    for number in range(3):
        house.submit(number)
    house.run()
    assert (outcomes(house.requests), house.executor.missed) == (["finished"] * 3, 1)
    assert (house.done("wait_timeout"), house.done("reset_done")) == (0, 0)
    house.close()


# 5: commit before completion
@pytest.mark.parametrize("ending", ["cancel", "fault", "lost device"])
def test_a_length_is_committed_at_completion_only_and_what_was_not_is_never_read(ending: str) -> None:
    house = serving(*([Fault("infer", "ccu_exception", nth=5)] if ending == "fault" else []), params={"lanes": 1})
    first = house.submit(*range(10))
    house.until("submit_ok")
    assert (house.executor.engine.value("kvs", 0, "length"), house.executor.committed(0)) == (0, 0)
    if ending == "cancel":
        house.executor.cancel(first)
    elif ending == "lost device":
        house.executor.inbox.append(HealthLost("it smokes"))
    second = house.submit(*range(12))
    house.run()
    assert outcomes([first, second]) == [{"cancel": "cancelled", "fault": "failed"}.get(ending, "finished"), "finished"]
    house.close()


# 6: cancelled between launch and commit
@pytest.mark.parametrize("moment", ["submitting", "submitted", "completing"])
@pytest.mark.parametrize("n", [1, 4])
def test_a_cancel_is_looked_at_again_at_the_commit(moment: str, n: int) -> None:
    house = serving(profile=phase_a.PROFILE)
    request = house.submit(1, n=n)
    house.until_state("jobs", moment)
    house.executor.cancel(request)
    house.run()
    assert (outcomes([request]), request.tokens, house.done("accept_token") + house.done("accept_last")) == (
        ["cancelled"],
        [],
        0,
    )
    assert house.done("prepare_decode") == 0
    house.close()


# 7: a leak on abort
@pytest.mark.parametrize("report", ["never", "late", "twice"])
def test_a_lane_is_not_held_for_ever_for_a_report_that_does_not_come(report: str) -> None:
    fault = HANG if report == "never" else Fault("infer", "late", delay=2.5)
    house = struck(fault, times=1, params={"lanes": 1})
    request = house.submit(1)
    house.until("submit_ok")
    ticket = JobHint(house.executor.jobs[0].buffer, house.executor.jobs[0].ticket)  # type: ignore[union-attr]
    house.executor.cancel(request)
    house.run()
    if report == "twice":
        house.executor.inbox.append(ticket)
        house.run()
    assert (outcomes([request]), house.states("kvs")) == (["cancelled"], ["vacant"])
    other = house.submit(1)
    house.run()
    assert outcomes([other]) == ["finished"]
    house.close()


# 8: admission deadlock
@pytest.mark.parametrize("lanes", [1, 2])
def test_completions_are_taken_whatever_waits_at_the_head_of_the_queue(lanes: int) -> None:
    house = serving(params={"lanes": lanes, "requests": 12})
    for number in range(12):
        house.submit(*range(1 + number % 16), n=1 + (number * 7) % 30)
    house.run()
    assert outcomes(house.requests) == ["finished"] * 12
    house.close()


# 9: what never fits
def test_what_needs_more_than_the_whole_pool_is_refused_at_arrival_and_starves_nobody() -> None:
    house = serving()
    waiting = [house.submit(number) for number in range(6)]
    with pytest.raises(Rejected) as caught:
        house.executor.submit([1] * 10, max_tokens=60)
    assert not caught.value.retry
    house.run()
    assert outcomes(waiting) == ["finished"] * 6
    house.close()


# 10 and 27: freed twice, and given to two
def test_a_lane_cannot_be_given_back_twice() -> None:
    house = serving()
    request = house.submit(1, n=1)
    house.until_state("requests", "finished")
    house.executor.perform(Choice("release_lane", {"r": 0}))
    before = house.executor.snapshot()
    with pytest.raises(ActionRefused):
        house.executor.perform(Choice("release_lane", {"r": 0}))
    assert house.executor.snapshot() == before
    first, second = house.submit(2), house.submit(3)
    house.run()
    assert outcomes([request, first, second]) == ["finished"] * 3
    house.close()


# 11: a stale message is no disaster
def test_every_message_about_what_has_ended_is_counted_and_does_nothing() -> None:
    house = serving()
    request = house.submit(1, n=2)
    house.run()
    before = house.executor.snapshot()
    stale = [
        InferAnswered(5, Submit.OK),
        InferAnswered(999, Submit.UNKNOWN, "who is this"),
        JobHint(0, 5),
        JobHint(1, 999),
        OperationEnded(1, "configure", True),
        OperationEnded(2, "warm", False, "too late"),
        OperationEnded(99, "reset", True),
    ]
    house.executor.stale.clear()
    house.executor.inbox.extend(stale)
    house.executor.cancel(request)
    house.run()
    assert house.executor.snapshot() == before
    assert house.executor.stale == {"InferAnswered": 2, "JobHint": 2, "OperationEnded": 3, "CancelAsked": 1}
    assert house.executor.failure == ""
    house.close()


@pytest.mark.parametrize("state", ["configuring", "warming", "unloading"])
def test_the_end_of_an_earlier_operation_is_not_taken_for_the_end_of_this_one(state: str) -> None:
    house = serving(load=False)
    ends = []
    handle = house.executor.handle

    def listen(message: Message) -> Step | None:
        if isinstance(message, OperationEnded):
            ends.append(message)
        return handle(message)

    house.executor.handle = listen  # type: ignore[method-assign]
    house.load().run(LOADED).close()
    house.load()
    if state == "unloading":
        house.run(LOADED)
        house.executor.unload()
    house.until_state("model", state)
    house.executor.pump()
    assert [message.kind for message in ends[:3]] == ["configure", "warm", "release"]
    house.executor.inbox.extend(ends[:3])
    house.executor.pump()
    assert (house.model, house.executor.stale["OperationEnded"]) == (state, 3)
    house.run().close()


# 12: a stale cancel and a new incarnation
def test_a_cancel_of_the_request_before_does_not_end_the_one_in_its_place() -> None:
    house = serving(params={"requests": 1})
    first = house.submit(1, n=1)
    house.until_state("requests", "finished")
    house.executor.cancel(first)
    cancel = house.executor.inbox.pop()
    house.run()
    second = house.submit(1, n=3)
    house.until("submit_ok")
    house.executor.inbox.append(cancel)
    house.run()
    assert outcomes([first, second]) == ["finished", "finished"]
    house.close()


# 13: a deadline decided twice
@pytest.mark.parametrize("first", ["deadline", "start"])
def test_a_request_whose_deadline_passed_is_not_started_and_one_that_started_is_not_dropped(first: str) -> None:
    house = serving(params={"lanes": 1}, queue_deadline=0.01)
    ahead = 16 if first == "deadline" else 8  # its prefill takes half a millisecond a token, and two more copies
    house.submit(*range(ahead), n=2 if first == "deadline" else 1)
    late = house.submit(2, n=1)
    house.run()
    expected = ("expired", [], 1, 1) if first == "deadline" else ("finished", late.tokens, 0, 2)
    found = (outcomes([late])[0], late.tokens, house.done("expire_waiting"), house.done("prepare_prefill"))
    assert found == expected
    house.close()


# 14: a terminal state overwritten
@pytest.mark.parametrize("order", ["cancel, fail", "fail, cancel", "expire, fail"])
def test_the_first_outcome_holds(order: str) -> None:
    options = {"request_deadline": 0.5} if order.startswith("expire") else {}
    house = struck(HANG, times=1, **options)
    request = house.submit(1)
    house.until("submit_ok")
    if order == "cancel, fail":
        house.executor.cancel(request)
    house.run()
    if order == "fail, cancel":
        house.executor.cancel(request)
        house.run()
    outcome = {"cancel, fail": "cancelled", "fail, cancel": "failed", "expire, fail": "expired"}[order]
    assert outcomes([request]) == [outcome]
    assert "wait_timeout" in [name for _, name in house.executor.log]
    house.close()


# 15: deadlines that begin at the wrong moment
def test_a_burst_in_the_queue_does_not_eat_the_device_deadline() -> None:
    house = serving(timing=Timing(prefill_token=0.1), wait_timeout=1.9, queue_deadline=100.0)
    for number in range(40):
        house.submit(number, *range(7), n=1)
    house.run()
    assert outcomes(house.requests) == ["finished"] * 40
    assert house.clock.now > LOADED + 20
    house.close()


# 16: unloaded with work in flight
def test_another_model_waits_until_this_one_has_served_what_it_began() -> None:
    house = serving()
    request = house.submit(1, n=20)
    house.until("accept_token")
    house.executor.unload()
    with pytest.raises(ActionRefused, match="`model is unloaded` does not hold"):
        house.executor.load(house.manifest)
    house.run()
    assert (outcomes([request]), house.model) == (["finished"], "unloaded")
    house.load().run(LOADED)
    assert house.model == "ready"
    house.close()


# 17: a drain that admits
def test_a_model_that_is_drained_admits_nothing_and_is_drained_in_bounded_time() -> None:
    house = serving(drain_timeout=0.5, timing=Timing(decode_step=0.05))
    for number in range(4):
        house.submit(number, n=60)
    house.until("accept_token", 8)
    began = house.clock.now
    house.executor.unload()
    while house.model == "draining":
        with pytest.raises(Rejected) as caught:
            house.executor.submit([1], max_tokens=1)
        assert caught.value.retry
        house.executor.pump()
        house.clock.run_next()
    assert house.at("model_drained") - began < 0.7
    house.run().close()


# 19: unloaded too early
def test_a_model_is_unloaded_only_when_its_memory_is_there_for_the_next() -> None:
    house = serving(load=False)
    house.device._capacity = 1 << 20  # room for one
    house.load().run(LOADED)
    house.executor.unload()
    while house.model != "unloaded":
        with pytest.raises(ActionRefused):
            house.executor.load(house.manifest)
        house.executor.pump()
        house.clock.run_next()
    house.load().run(LOADED)
    assert house.model == "ready"
    house.close()


# 20: a slot lost on a failed submit
@pytest.mark.parametrize("fault", ["reject", "unknown", "exception"])
def test_a_submit_that_fails_loses_no_buffer(fault: str) -> None:
    house = struck(Fault("infer", fault), times=3, params={"max_resets": 4})
    for number in range(6):
        house.submit(number)
    house.run()
    assert outcomes(house.requests).count("failed") == 3
    assert outcomes(house.requests).count("finished") == 3
    assert house.states("buffers") == ["free", "free"]
    house.close()


# 21: counters that drift
def test_what_is_counted_is_counted_from_the_states_and_adds_up_after_refusals() -> None:
    house = serving(params={"requests": 2})
    house.submit(1)
    house.submit(2)
    for _ in range(5):
        with pytest.raises(Rejected):
            house.executor.submit([3], max_tokens=1)
    engine = house.executor.engine
    assert (len(engine.among("requests", "waiting")), len(engine.among("requests", "vacant"))) == (2, 0)
    house.run()
    assert (len(engine.among("requests", "waiting")), len(engine.among("requests", "vacant"))) == (0, 2)
    house.close()


# 23: a reset storm
def test_resets_without_effect_are_not_repeated_for_ever() -> None:
    house = struck(HANG, times=1000)
    for number in range(60):
        house.submit(number)
    house.run()
    assert (house.machine, house.done("start_reset")) == ("offline", 3)
    assert all(request.done for request in house.requests)


# 24: work that crosses a reset
@pytest.mark.parametrize("when", ["before", "after"])
def test_nothing_of_before_a_reset_is_taken_after_it(when: str) -> None:
    house = struck(Fault("infer", "late", delay=2.5), times=1)
    request, other = house.submit(1), house.submit(2)
    house.until("submit_ok")
    late = JobHint(house.executor.jobs[0].buffer, house.executor.jobs[0].ticket)  # type: ignore[union-attr]
    answered = InferAnswered(house.executor.jobs[0].ticket, Submit.OK)  # type: ignore[union-attr]
    house.until("wait_timeout" if when == "before" else "rebuilt")
    assert house.machine == ("resetting" if when == "before" else "ready")
    house.executor.inbox.extend([late, answered])
    house.run()
    assert (outcomes([request, other]), request.tokens) == (["failed", "finished"], [])
    assert house.done("accept_token") + house.done("accept_last") == 4
    house.close()


def test_of_two_jobs_only_the_one_that_hung_is_blamed() -> None:
    house = struck(HANG, times=1)
    first, second = house.submit(1), house.submit(2)
    house.run()
    assert (outcomes([first, second]), house.done("abort_in_flight")) == (["failed", "finished"], 1)
    house.close()


# 25: waiting for the device for ever
@pytest.mark.parametrize("fault", [Fault("device_reset", "hang"), Fault("device_reset", "late", delay=1e6)], ids=str)
def test_a_reset_is_waited_for_in_bounded_time(fault: Fault) -> None:
    house = serving(fault)
    request = house.submit(1)
    house.executor.inbox.append(HealthLost("it smokes"))
    house.run(12)
    assert (house.machine, outcomes([request])) == ("offline", ["failed"])


# 26: idle before its callback ended
def test_a_buffer_is_free_only_after_its_answer_was_used_and_it_was_wiped() -> None:
    house = serving(profile=phase_a.PROFILE)
    wiped: list[tuple[str, bool]] = []

    def on_token(_: int) -> None:
        item = house.executor.pool[0]
        assert item is not None
        wiped.append(
            (item.sink.status().value, bool((item.source.counts == 0).all() and (item.sink.logits == 0).all()))
        )

    house.submit(1, n=3, on_token=on_token)
    house.run()
    assert wiped == [(OutputStatus.IDLE.value, True)] * 3
    house.close()


# 28: finished work that is still charged
def test_what_was_cancelled_leaves_room_in_the_schedule_at_once_though_its_job_is_out() -> None:
    house = serving(params={"lanes": 2})
    first, second = house.submit(1, n=40), house.submit(2, n=40)
    house.until("accept_token", 4)
    house.executor.cancel(first)
    house.executor.cancel(second)
    third = house.submit(3, n=2)
    asked = house.clock.now
    house.run(0.1)
    assert (outcomes([first, second, third])) == ["cancelled", "cancelled", "finished"]
    assert house.at("accept_last") - asked < 0.03
    house.close()


# What an answer of infer may meet


@pytest.mark.parametrize("answer", ["hint first", "answer first"])
def test_a_completion_that_is_heard_of_before_infer_has_answered_is_not_lost(answer: str) -> None:
    house = serving(profile=phase_a.PROFILE)
    request = house.submit(1, n=1)
    house.until_state("jobs", "submitting")
    accepted = house.executor.inbox.popleft()
    house.clock.run_until(house.clock.now + 0.1)
    hints = list(house.executor.inbox)
    assert len(hints) == 3
    house.executor.inbox.clear()
    house.executor.inbox.extend([*hints, accepted] if answer == "hint first" else [accepted, *hints])
    house.run()
    assert (outcomes([request]), house.executor.missed) == (["finished"], 0)
    house.close()


@pytest.mark.parametrize("twice", [True, False])
def test_a_lane_that_the_device_would_not_empty_is_emptied_before_it_is_used_again(twice: bool) -> None:
    # Applies 1 to 5 are the golden run's; 6 commits, and 7 empties the lane.
    faults = [Fault("apply", "refuse", nth=7, times=2 if twice else 1)]
    house = serving(*faults, params={"lanes": 1})
    requests = []
    for number in range(3):
        requests.append(house.submit(number, n=1))
        house.run()
    assert outcomes(requests) == ["finished", "failed" if twice else "finished", "finished"]
    assert (house.done("reset_done"), list(house.device.misuses)) == (0, [])
    if twice:
        assert requests[1].reason.startswith("lane 0 would not be emptied: apply of length 0 to lane 0 was refused")
    house.close()


@pytest.mark.parametrize("call", ["apply", "counters", "health", "can_allocate"])
def test_a_runtime_that_raises_instead_of_answering_breaks_nothing(call: str) -> None:
    house = serving()
    owner: object = house.device.kv if call in ("apply", "can_allocate") else house.device
    original: Callable[..., object] = getattr(owner, call)
    left = [1]

    def breaks(*arguments: object) -> object:
        if left:
            left.pop()
            raise RuntimeFault(f"{call} broke down")
        return original(*arguments)

    setattr(owner, call, breaks)
    for number in range(4):
        try:
            house.submit(number)
        except Rejected as rejected:
            assert (rejected.reason, rejected.retry, call) == ("can_allocate broke down", True, "can_allocate")
    house.executor.check_health()
    house.run()
    assert outcomes(house.requests).count("finished") >= 3
    assert left == []
    house.close()
