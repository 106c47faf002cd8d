"""Who is let in. What is not is told why and whether to come again, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from serving.serving_rig import MODEL, Serving, outcomes, serving

from calfsm.engine.engine import ActionRefused
from calfsm.serving import Rejected, Request
from calfsm.serving.messages import HealthLost
from calfsm.serving.runtime import RuntimeFault
from calfsm_calrt import Fault, small_manifest


def rejection(house: Serving, *prompt: int, n: int = 4) -> tuple[str, bool]:
    """Why a request is turned away and whether it may come again; nothing anywhere has changed."""
    before = house.executor.snapshot()
    with pytest.raises(Rejected) as caught:
        house.executor.submit(prompt, max_tokens=n)
    assert house.executor.snapshot() == before
    assert set(house.executor.requests) - set(house.requests) <= {None}
    return caught.value.reason, caught.value.retry


def test_a_full_house_says_so_and_takes_the_next_when_one_has_left() -> None:
    house = serving(params={"requests": 3})
    for number in range(3):
        house.submit(number)
    assert rejection(house, 1) == ("3 requests are waiting or served, and there is room for no more", True)
    house.run()
    house.submit(1)
    house.run()
    assert outcomes(house.requests) == ["finished"] * 4
    house.close()


def test_a_request_that_has_ended_no_longer_counts_though_its_job_is_still_out() -> None:
    house = serving(params={"requests": 2})
    first, _ = house.submit(1), house.submit(2)
    house.until("submit_ok")
    house.executor.cancel(first)
    house.until("discard")
    house.submit(3)
    house.run().close()
    assert outcomes(house.requests) == ["cancelled", "finished", "finished"]


def loading(house: Serving) -> None:
    house.load()


def configuring(house: Serving) -> None:
    house.load().run(0.5)


def warming(house: Serving) -> None:
    house.load().until("configured")


def draining(house: Serving) -> None:
    house.load().run(10)
    house.submit(1, n=40)
    house.run(0.01)
    house.executor.unload()


def unloading(house: Serving) -> None:
    house.load().run(10)
    house.executor.unload()
    house.run(0.1)


def being_drained(house: Serving) -> None:
    house.load().run(10)
    house.executor.handle(HealthLost("it smokes"))


def resetting(house: Serving) -> None:
    being_drained(house)
    house.run(0.1)


@pytest.mark.parametrize(
    ("arrange", "model", "device"),
    [
        (lambda house: None, "unloaded", "ready"),
        (loading, "validating", "ready"),
        (configuring, "configuring", "ready"),
        (warming, "warming", "ready"),
        (draining, "draining", "ready"),
        (unloading, "unloading", "ready"),
        (being_drained, "ready", "draining"),
        (resetting, "ready", "resetting"),
    ],
)
def test_where_nothing_is_served_a_request_is_told_so_and_to_come_again(
    arrange: Callable[[Serving], None], model: str, device: str
) -> None:
    house = serving(load=False)
    arrange(house)
    assert rejection(house, 1) == (f"nothing is served now: the model is {model}, the device is {device}", True)
    house.close()


def test_out_of_service_is_said_too() -> None:
    house = serving(Fault("device_reset", "fail"), Fault("health", "bad"))
    assert not house.executor.check_health()
    house.run()
    assert rejection(house, 1) == ("nothing is served now: the model is ready, the device is offline", True)
    house.close()


@pytest.mark.parametrize(
    ("prompt", "n"), [((1,) * 17, 1), ((1,) * 16, 50), ((1,), 65), ((1,), 10**12), ((1,) * 40_000, 1)]
)
def test_what_never_fits_is_refused_at_arrival_and_never_queued(prompt: tuple[int, ...], n: int) -> None:
    house = serving()
    need = len(prompt) + n - 1
    reason = f"{len(prompt)} prompt tokens and KV for {need} never fit: a prefill takes 16 tokens, and a lane holds 64"
    assert rejection(house, *prompt, n=n) == (reason, False)
    house.close()


def test_what_just_fits_is_served_to_its_last_token() -> None:
    house = serving()
    house.submit(*[1] * 16, n=49)
    house.submit(1, n=64)
    house.run()
    assert outcomes(house.requests) == ["finished", "finished"]
    house.close()


def test_what_never_fits_does_not_hold_up_what_comes_behind_it() -> None:
    house = serving()
    rejection(house, *[1] * 17)
    house.submit(1)
    house.run()
    assert outcomes(house.requests) == ["finished"]


@pytest.mark.parametrize(
    ("prompt", "options", "error", "why"),
    [
        ((), {}, ValueError, "the prompt is empty; it needs one token at least"),
        ((1, -2), {}, ValueError, "the prompt holds token -2; no token is negative"),
        ((1, 64), {}, ValueError, "the prompt holds token 64; the vocabulary is 0 to 63"),
        ((2**40,), {}, ValueError, "the vocabulary is 0 to 63"),
        ((1,), {"n": 0}, ValueError, "max_tokens is 0; it is 1 at least"),
        ((1,), {"n": 2.5}, TypeError, "float"),
        ((1, 2.0), {}, TypeError, "float"),
        (("1",), {}, TypeError, "str"),
        ((1,), {"stop": ["x"]}, TypeError, "str"),
    ],
)
def test_what_is_no_request_is_said_to_be_none(
    prompt: tuple[Any, ...], options: dict[str, Any], error: type[Exception], why: str
) -> None:
    house = serving()
    before = house.executor.snapshot()
    with pytest.raises(error, match=why):
        house.submit(*prompt, **options)
    assert (house.executor.snapshot(), house.requests) == (before, [])


def test_the_capacity_that_counts_is_the_runtimes_too() -> None:
    house = serving()
    house.device.kv.can_allocate = lambda tokens: tokens < 10  # type: ignore[method-assign]
    assert rejection(house, 1, 2, n=9) == ("the runtime cannot allocate KV for 10 tokens", False)
    house.submit(1, 2, n=8)
    house.run().close()
    assert outcomes(house.requests) == ["finished"]


def test_a_runtime_that_cannot_say_what_it_can_allocate_takes_nothing_now() -> None:
    def fails(tokens: int) -> bool:
        raise RuntimeFault("no answer")

    house = serving()
    house.device.kv.can_allocate = fails  # type: ignore[method-assign]
    assert rejection(house, 1) == ("no answer", True)


def test_ids_are_given_once_and_only_to_requests_that_were_taken() -> None:
    house = serving(params={"requests": 1})
    house.submit(1)
    rejection(house, 2)
    house.run()
    house.submit(2)
    house.run()
    assert [request.id for request in house.requests] == [1, 2]


def test_a_model_with_a_larger_vocabulary_is_asked_by_its_own() -> None:
    house = serving(load=False)
    house.load(small_manifest("wide", vocabulary=300)).run(10)
    house.executor.submit([299], max_tokens=1)
    with pytest.raises(ValueError, match="the vocabulary is 0 to 299"):
        house.executor.submit([300], max_tokens=1)


def test_a_cancel_of_a_request_that_another_executor_has_changes_nothing_here() -> None:
    house, other = serving(), serving()
    mine, theirs = house.submit(1), other.submit(1)
    assert mine.id == theirs.id
    house.executor.cancel(theirs)
    house.run()
    assert (outcomes([mine, theirs]), house.executor.stale["CancelAsked"]) == (["finished", ""], 1)


def test_admitting_into_a_slot_that_is_taken_is_refused() -> None:
    house = serving()
    house.submit(1)
    with pytest.raises(ActionRefused, match="`r is vacant` does not hold"):
        house.executor.admit(0, Request(7, (1,), 1, frozenset()), 1)
    house.run().close()


def test_no_request_needs_more_than_the_manifest_has() -> None:
    house = serving(load=False)
    house.load(attrs.evolve(MODEL, context=32)).run()
    assert (house.model, house.executor.failure) == ("unloaded", "the profile promises 64 tokens a sequence; it has 32")
