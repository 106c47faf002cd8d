"""Virtual time, and the driver that moves it."""

from __future__ import annotations

import pytest
from serving.serving_rig import MODEL, outcomes, serving

from calfsm.serving import VirtualClock, run
from calfsm_calrt import Fault, SimulatedDevice


def test_calls_are_made_in_the_order_of_their_times_and_then_of_their_asking() -> None:
    clock = VirtualClock()
    made: list[str] = []
    for delay, name in ((2.0, "c"), (1.0, "a"), (2.0, "d"), (1.0, "b")):
        clock.call_later(delay, lambda name=name: made.append(f"{name} at {clock.now}"))  # type: ignore[misc]
    while clock.run_next():
        pass
    assert made == ["a at 1.0", "b at 1.0", "c at 2.0", "d at 2.0"]
    assert (clock.now, clock.next_due()) == (2.0, None)


def test_a_call_that_was_cancelled_is_never_made_and_is_not_due() -> None:
    clock = VirtualClock()
    made: list[str] = []
    first = clock.call_later(1.0, lambda: made.append("first"))
    clock.call_later(2.0, lambda: made.append("second"))
    first.cancel()
    first.cancel()
    assert clock.next_due() == 2.0
    clock.run_until(5.0)
    assert (made, clock.now) == (["second"], 5.0)


def test_time_stands_where_it_was_told_to_and_calls_beyond_wait() -> None:
    clock = VirtualClock()
    made: list[float] = []
    clock.call_later(1.0, lambda: made.append(clock.now))
    clock.call_later(1.5, lambda: made.append(clock.now))
    clock.run_until(1.0)
    assert (made, clock.now, clock.next_due()) == ([1.0], 1.0, 1.5)
    clock.run_until(0.5)
    assert clock.now == 1.0


def test_what_is_asked_for_in_the_past_is_due_now() -> None:
    clock = VirtualClock()
    clock.run_until(3.0)
    made: list[float] = []
    clock.call_at(1.0, lambda: made.append(clock.now))
    clock.call_later(-1.0, lambda: made.append(clock.now))
    assert clock.next_due() == 3.0
    clock.run_until(3.0)
    assert made == [3.0, 3.0]


def test_a_call_may_ask_for_another() -> None:
    clock = VirtualClock()
    made: list[float] = []

    def again() -> None:
        made.append(clock.now)
        if len(made) < 3:
            clock.call_later(0.5, again)

    clock.call_later(0.0, again)
    clock.run_until(10.0)
    assert made == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("moments", [[20.0], [0.0, 0.001, 1.0, 2.0005, 2.01, 20.0]])
def test_a_run_may_be_cut_anywhere_and_goes_on_as_if_it_had_not_been(moments: list[float]) -> None:
    whole, cut = serving(load=False), serving(load=False)
    whole.load().run()
    cut.load()
    for moment in moments:
        run(cut.executor, cut.clock, moment)
        assert cut.clock.now == moment
    assert cut.executor.log == whole.executor.log


def test_a_run_is_the_same_whenever_it_is_run() -> None:
    def played() -> list[tuple[float, str]]:
        house = serving(Fault("infer", "hang", nth=9), Fault("apply", "refuse", nth=20))
        for number in range(12):
            house.submit(number, n=6)
        house.run(0.05)
        house.executor.cancel(house.requests[7])
        house.run()
        assert "" not in outcomes(house.requests)
        return house.executor.log

    assert played() == played()


def test_a_device_of_another_clock_never_answers_and_is_given_up_in_time() -> None:
    house = serving(load=False)
    house.device._clock = VirtualClock()
    house.load().run(60)
    assert (house.model, house.machine) == ("failed", "offline")
    assert isinstance(house.device, SimulatedDevice) and house.manifest is MODEL
