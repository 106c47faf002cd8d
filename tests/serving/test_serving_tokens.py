"""What is served is what the model says: token by token, whatever else is served beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from serving.serving_rig import MODEL, PROFILES, answer, outcomes, serving

from calfsm.engine.system import Profile
from calfsm.serving import Outcome, Request
from calfsm.tables import phase_a, phase_b
from calfsm_calrt import Timing, reference


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_many_requests_are_each_answered_as_if_they_were_alone(profile: Profile) -> None:
    house = serving(profile=profile)
    for number in range(60):
        house.submit(*range(number % 5, number % 5 + 1 + number % 16), n=1 + number % 9)
    house.run()
    assert outcomes(house.requests) == ["finished"] * 60
    assert [request.tokens for request in house.requests] == [answer(request) for request in house.requests]
    assert house.executor.stale.keys() <= {"JobHint", "OperationHint"}
    house.close()


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_the_tokens_do_not_depend_on_the_order_of_the_requests(profile: Profile) -> None:
    prompts = [(1,), (2, 3), (4, 5, 6), (7,), (9, 9, 9, 9)]
    found = []
    for order in (prompts, prompts[::-1], prompts[2:] + prompts[:2]):
        house = serving(profile=profile)
        for prompt in order:
            house.submit(*prompt, n=6)
        house.run().close()
        found.append({request.prompt: request.tokens for request in house.requests})
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_requests_that_come_while_others_are_served_are_answered_too(profile: Profile) -> None:
    house = serving(profile=profile)
    for number in range(12):
        house.submit(number, number + 1, n=5)
        house.run(0.003)
    house.run()
    assert outcomes(house.requests) == ["finished"] * 12
    house.close()


def test_two_jobs_are_in_flight_on_ping_and_pong_and_never_more() -> None:
    house = serving(profile=phase_b.PROFILE)
    most = 0
    for number in range(6):
        house.submit(number, n=6)
    for _ in house.turns():
        most = max(most, house.device.counters().pending)
    assert most == 2
    house.close()


def test_one_job_is_in_flight_where_the_profile_says_so() -> None:
    house = serving(profile=phase_a.PROFILE)
    for number in range(6):
        house.submit(number, n=6)
    for _ in house.turns():
        assert house.device.counters().pending <= 1
    house.close()


def test_more_buffers_than_banks_never_ask_for_a_bank_that_has_a_job() -> None:
    house = serving(params={"jobs": 4, "buffers": 4, "limit": 2})
    for number in range(8):
        house.submit(number, n=6)
    house.run()
    assert outcomes(house.requests) == ["finished"] * 8
    assert house.done("submit_rejected") == 0
    house.close()


def test_two_in_flight_are_faster_than_one() -> None:
    def seconds(profile: Profile) -> float:
        house = serving(profile=profile, timing=Timing(load=0.004, store=0.004))
        began = house.clock.now
        for number in range(8):
            house.submit(number, n=8)
        house.run()
        return house.clock.now - began

    assert seconds(phase_b.PROFILE) < 0.75 * seconds(phase_a.PROFILE)


def test_a_device_without_parallel_mode_gets_one_job_at_a_time() -> None:
    house = serving(profile=phase_b.PROFILE, device={"parallel": False})
    assert house.executor.slots == 1
    for number in range(4):
        house.submit(number, n=4)
    house.run()
    assert outcomes(house.requests) == ["finished"] * 4
    assert house.done("submit_rejected") == 0
    house.close()


def test_tokens_are_streamed_in_order_and_as_they_come() -> None:
    house = serving()
    seen: list[tuple[float, int]] = []
    request = house.submit(1, 2, n=5, on_token=lambda token: seen.append((house.clock.now, token)))
    house.run()
    assert [token for _, token in seen] == request.tokens == reference(MODEL, [1, 2], 5)
    assert len({time for time, _ in seen}) == 5


def test_the_last_token_is_streamed_before_the_request_is_said_to_be_over() -> None:
    house = serving()
    seen: list[Outcome | None] = []
    request: Request = house.submit(1, n=2, on_token=lambda _: seen.append(request.outcome))
    house.run()
    assert (seen, request.outcome) == ([None, None], Outcome.FINISHED)


def test_a_stop_token_ends_the_request_and_is_its_last_token() -> None:
    tokens = reference(MODEL, [3, 1], 8)
    house = serving()
    stopped = house.submit(3, 1, n=8, stop=[tokens[2]])
    at_once = house.submit(3, 1, n=8, stop=tokens)
    never = house.submit(3, 1, n=8, stop=[63 if 63 not in tokens else 62, 1_000_000])
    house.run()
    assert (stopped.tokens, at_once.tokens, never.tokens) == (tokens[:3], tokens[:1], tokens)
    assert outcomes(house.requests) == ["finished"] * 3
    house.close()


def test_max_tokens_is_how_many_tokens_there_are_at_most() -> None:
    house = serving()
    for n in (1, 2, 7, 49):
        house.submit(*range(16), n=n)
    house.run()
    assert [len(request.tokens) for request in house.requests] == [1, 2, 7, 49]
    house.close()


def test_a_callback_that_raises_costs_nobody_a_token(caplog: pytest.LogCaptureFixture) -> None:
    def breaks(token: int) -> None:
        raise RuntimeError(f"cannot take {token}")

    house = serving()
    broken, other = house.submit(1, n=3, on_token=breaks), house.submit(2, n=3)
    house.run()
    assert outcomes([broken, other]) == ["finished", "finished"]
    assert caplog.messages == [f"on_token of request {broken.id} raised"] * 3
    house.close()


def test_a_callback_may_submit_cancel_and_unload() -> None:
    house = serving()

    def on_token(token: int) -> None:
        if len(first.tokens) == 1:
            house.submit(token, n=2)
        if len(first.tokens) == 2:
            house.executor.cancel(other)
        if len(first.tokens) == 3:
            house.executor.unload()

    other = house.submit(9, n=40)
    first = house.submit(1, n=3, on_token=on_token)
    house.run()
    assert outcomes([first, other]) == ["finished", "cancelled"]
    assert outcomes(house.requests[2:]) == ["finished"]
    assert house.model == "unloaded"
    house.close()


def test_a_callback_that_turns_the_crank_itself_changes_nothing() -> None:
    house = serving()
    requests = [house.submit(number, n=4, on_token=lambda _: house.executor.pump()) for number in range(4)]
    house.run()
    assert outcomes(requests) == ["finished"] * 4
    house.close()


def test_serving_is_imported_without_numpy_or_yaml() -> None:
    code = "import sys, calfsm.serving; print(' '.join(sys.modules))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert not {"yaml", "cattrs", "numpy", "numba", "hypothesis", "calfsm_calrt"} & set(done.stdout.split())
