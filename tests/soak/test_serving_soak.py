"""The chaos of tests/serving for as long as there is patience: CALFSM_SOAK_PLAYS plays (10,000 unless given).

A play is known by its number: `CALFSM_SOAK_FIRST=4711 CALFSM_SOAK_PLAYS=1` plays that one again.
"""

from __future__ import annotations

import os
import random

from serving.serving_chaos import drawn, perform
from serving.serving_rig import LOADED, outcomes, serving

from calfsm_calrt import small_manifest


def test_no_play_of_many_loses_a_request_or_leaks() -> None:
    first = int(os.environ.get("CALFSM_SOAK_FIRST", "0"))
    for number in range(first, first + int(os.environ.get("CALFSM_SOAK_PLAYS", "10000"))):
        dice = random.Random(number)
        play = drawn(number, dice.randint(5, 150), dice.randint(0, 20))
        try:
            perform(play)
        except BaseException as error:
            error.add_note(f"play {number}: CALFSM_SOAK_FIRST={number} CALFSM_SOAK_PLAYS=1")
            raise


def test_a_thousand_loads_and_unloads_leave_nothing() -> None:
    house = serving(load=False)
    for number in range(1000):
        house.manifest = small_manifest(seed=number % 7)
        house.load().run(LOADED)
        house.submit(number % 64, n=3)
        house.run()
        assert outcomes(house.requests) == ["finished"]
        house.close()
        house.requests.clear()
    assert house.executor.generation == 1000


def test_a_long_day_of_requests_is_served_to_the_last() -> None:
    house = serving()
    dice = random.Random(0)
    for _ in range(5000):
        prompt = [dice.randrange(64) for _ in range(dice.randint(1, 16))]
        house.submit(*prompt, n=dice.randint(1, 20))
        house.run(dice.choice((0.0, 0.01, 0.1)))
        while len([request for request in house.requests if not request.done]) > 40:
            house.run(0.1)
    house.run()
    assert set(outcomes(house.requests)) == {"finished"}
    house.close()
