"""A system explored whole by compiled code: all verdicts, lassos, remarks, and where it stops."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("numba")

from kiosk import ENDLESS, kiosk, look_at_lasso, replayed

from calfsm.engine.system import System
from calfsm.explore.compiled import CannotCompile
from calfsm.explore.compiled.whole import explore_whole_fast
from calfsm.explore.judging import HOME, Whole, explore_whole
from calfsm.explore.search import Verdict
from calfsm.explore.vacuity import remarks

SERVED = "everyone_is_served"
SCOPE = {"people": 3, "most": 2}
JAMMED = [*ENDLESS, ("  repair: {by: recovery, when", "  repair: {by: client, when")]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for generated modules, shared by the tests of this file."""
    return tmp_path_factory.mktemp("modules")


def judged(system: System, modules: Path, **options: int) -> Whole:
    return explore_whole_fast(system, SCOPE, cache_folder=modules, **options)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_all_that_is_promised_is_judged_on_any_number_of_threads(threads: int, modules: Path) -> None:
    plain, fast = explore_whole(kiosk(), SCOPE), judged(kiosk(), modules, threads=threads)
    assert fast.holds and fast.promises == plain.promises
    assert remarks(fast) == remarks(plain)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_livelock_and_a_state_without_a_way_home_are_shown(threads: int, modules: Path) -> None:
    plain, fast = explore_whole(kiosk(*JAMMED), SCOPE), judged(kiosk(*JAMMED), modules, threads=threads)
    assert fast.broken == plain.broken == [SERVED, HOME]
    assert fast.result.stuck is None
    look_at_lasso(fast, SERVED)
    for name in (SERVED, HOME):
        mine, other = fast.promises[name], plain.promises[name]
        assert mine.picks == other.picks
        for ways in ((mine.trace, other.trace), (mine.lasso and mine.lasso.trace, other.lasso and other.lasso.trace)):
            if ways[0] is not None and ways[1] is not None:
                replayed(fast, ways[0].steps)
                assert len(ways[0].steps) == len(ways[1].steps)
    assert remarks(fast) == remarks(plain)


def test_a_stopped_search_never_says_that_a_promise_holds(modules: Path) -> None:
    few = judged(kiosk(), modules, max_states=5)
    assert {promise.text for promise in few.promises.values()} == {"not broken so far"}
    assert not few.holds and remarks(few) == []


def test_what_there_is_no_memory_for_is_not_judged(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calfsm.explore.compiled.whole.free", lambda: 10_000)
    whole = judged(kiosk(), modules)
    assert whole.result.complete and not whole.holds
    assert {promise.verdict for promise in whole.promises.values()} == {Verdict.UNDECIDED}
    assert all("MB more" in promise.text for promise in whole.promises.values())


def test_what_there_is_no_time_for_is_not_judged(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = iter(range(0, 10_000, 60))
    monkeypatch.setattr("calfsm.explore.compiled.whole.time", SimpleNamespace(monotonic=lambda: next(later)))
    whole = judged(kiosk(), modules, max_seconds=100)
    assert whole.result.complete
    assert {promise.text for promise in whole.promises.values()} == {"not judged: the limit of 100 seconds was reached"}


def test_a_system_that_promises_nothing_is_judged_by_its_states(modules: Path) -> None:
    plain = kiosk(
        ("eventually:\n  everyone_is_served: {each: {c: customers}, from: c is waiting, to: c is served}\n", ""),
        ("fair: [engine, recovery]\n", ""),
        ("home: till is open and all(c is not served for c in customers)\n", ""),
    )
    whole = judged(plain, modules)
    assert (whole.promises, whole.runs, whole.holds) == ({}, None, True)
    assert remarks(whole) == remarks(explore_whole(plain, SCOPE))
    with pytest.raises(TypeError, match="no graph"):
        assert whole.graph


def test_with_symmetry_only_states_are_judged_and_the_rest_is_said_not_to_be(modules: Path) -> None:
    whole = judged(kiosk(), modules, symmetry=True)
    assert whole.stands_for is not None and whole.stands_for.states > whole.result.states
    assert whole.verdicts == {
        "jams_are_counted": Verdict.HOLDS, SERVED: Verdict.UNDECIDED, HOME: Verdict.UNDECIDED
    }  # fmt: skip
    assert all(promise.why for promise in whole.promises.values())


def test_a_promise_that_may_divide_by_zero_is_left_to_the_plain_search(modules: Path) -> None:
    dividing = kiosk(("home: till is open", "home: 6 // till.jams == 2 and till is open"))
    with pytest.raises(CannotCompile, match="may divide by zero"):
        judged(dividing, modules)
