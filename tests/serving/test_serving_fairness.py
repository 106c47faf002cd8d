"""New work is fair both ways: neither class waits more than a stated number of picks."""

from __future__ import annotations

import pytest
from serving.serving_rig import PROFILES, Serving, outcomes, serving

from calfsm.engine.system import Profile
from calfsm.serving import Policy
from calfsm_calrt import small_manifest

profiles = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
PICKS = {"prepare_prefill": "P", "prepare_decode": "d"}


def picks(house: Serving) -> str:
    """Which class was picked each time: `P` a prefill, `d` a decode."""
    return "".join(PICKS.get(name, "") for _, name in house.executor.log)


@profiles
@pytest.mark.parametrize("max_bypass", [1, 3, 8])
def test_a_prefill_that_waits_is_passed_by_a_stated_number_of_decodes_at_most(
    profile: Profile, max_bypass: int
) -> None:
    house = serving(profile=profile, policy=Policy(max_bypass))
    waited = most = 0
    for number in range(20):
        house.submit(number, n=9)
    log = house.executor.log
    begun = len(log)
    for _ in house.turns():
        for _, name in log[begun:]:
            if name == "prepare_prefill":
                waited = 0
            elif name == "prepare_decode" and any(state == "waiting" for state in house.states("requests")):
                waited += house.executor.engine.first("kvs", "vacant") is not None
                most = max(most, waited)
        begun = len(log)
    assert most <= max_bypass + 2  # a lane may only just have become vacant
    assert outcomes(house.requests) == ["finished"] * 20
    house.close()


@profiles
def test_decodes_are_not_starved_by_prefills_that_keep_coming(profile: Profile) -> None:
    house = serving(profile=profile, policy=Policy(4), params={"lanes": 8}, manifest=small_manifest(lanes=8))
    house.submit(1, n=12)
    house.until("accept_token")
    seen = len(picks(house))
    for number in range(40):
        house.submit(number, n=1)  # each a prefill, and nothing else
    house.run()
    mixed = picks(house)[seen:]
    assert mixed.count("P") == 40
    while_it_decodes = mixed[: mixed.rindex("d") + 1]
    # With both classes there, no prefill goes before a decode but after four decodes.
    assert "PP" not in while_it_decodes if profile.params["jobs"] == 1 else "PPPP" not in while_it_decodes
    assert outcomes(house.requests) == ["finished"] * 41
    house.close()


@profiles
def test_prefills_are_not_starved_by_decodes_that_never_end(profile: Profile) -> None:
    house = serving(profile=profile, policy=Policy(4), params={"lanes": 8}, manifest=small_manifest(lanes=8))
    for number in range(3):
        house.submit(number, n=60)
    house.until("accept_token", 6)
    late = house.submit(9, n=1)
    seen = len(picks(house))
    house.run()
    assert picks(house)[seen:].index("P") <= 4
    assert outcomes([late]) == ["finished"]
    house.close()


def test_a_prefill_without_a_lane_holds_up_no_decode() -> None:
    house = serving(policy=Policy(2), params={"lanes": 2})
    for number in range(4):
        house.submit(number, n=20)
    house.run()
    assert outcomes(house.requests) == ["finished"] * 4
    house.close()


@profiles
def test_those_of_one_class_are_picked_in_the_order_in_which_they_came(profile: Profile) -> None:
    house = serving(profile=profile, params={"lanes": 1})
    ended: list[int] = []
    for number in range(6):
        house.submit(number, n=2, on_token=lambda _, number=number: ended.append(number))
    house.run()
    assert ended == [number for number in range(6) for _ in range(2)]
    house.close()


@profiles
def test_all_that_decode_are_served_in_turns(profile: Profile) -> None:
    house = serving(profile=profile)
    turns: list[int] = []
    for number in range(4):
        house.submit(number, n=20, on_token=lambda _, number=number: turns.append(number))
    house.run()
    together = turns[turns.index(3) : len(turns) - turns[::-1].index(0)]
    for start in range(len(together) - 8):
        assert set(together[start : start + 8]) == {0, 1, 2, 3}
    house.close()


@pytest.mark.parametrize("max_bypass", [0, -1])
def test_a_policy_that_would_starve_decodes_is_refused(max_bypass: int) -> None:
    with pytest.raises(ValueError, match=f"max_bypass is {max_bypass}; it is 1 at least"):
        Policy(max_bypass)
