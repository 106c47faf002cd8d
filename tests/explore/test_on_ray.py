"""The same search, and the same walks, on two local workers of Ray."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator

import pytest
from engine.naive_system import compiled
from small_systems import CLOCKS, CLOCKWORK
from test_shares import ONE_OF_EACH, counts

from calfsm.explore.compiled import explore_fast
from calfsm.explore.compiled.layout import CannotCompile
from calfsm.explore.on_ray import CannotSpread, cluster, explore_on_ray, walks_on_ray
from calfsm.explore.walk import swarm
from calfsm.tables.executor import SYSTEM

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def two_workers() -> Iterator[None]:
    with cluster(workers=2):
        yield


@pytest.mark.usefixtures("two_workers")
def test_two_workers_find_what_one_search_finds_and_what_they_did_is_told() -> None:
    _, alone = explore_fast(SYSTEM, ONE_OF_EACH, engine="compiled")
    _, spread, loads = explore_on_ray(SYSTEM, ONE_OF_EACH, workers=2, max_bytes=1 << 26)
    assert counts(spread) == counts(alone)
    assert sum(load.states for load in loads) == alone.states
    assert all(load.sent > 0 and 0 < load.states < alone.states for load in loads)


@pytest.mark.usefixtures("two_workers")
def test_a_broken_property_is_told_by_as_short_a_way() -> None:
    system = compiled(CLOCKWORK, CLOCKS)
    _, alone = explore_fast(system, engine="compiled")
    _, spread, _ = explore_on_ray(system, workers=2, max_bytes=1 << 26)
    assert spread.counterexamples
    assert counts(spread) == counts(alone)


@pytest.mark.usefixtures("two_workers")
def test_walks_see_the_same_there_as_here() -> None:
    options = {"seeds": range(3), "states": 300}
    _, here = swarm(SYSTEM, ONE_OF_EACH, **options)  # type: ignore[arg-type]
    with walks_on_ray() as everywhere:
        _, there = swarm(SYSTEM, ONE_OF_EACH, **options, everywhere=everywhere)  # type: ignore[arg-type]
    assert there == here


@pytest.mark.usefixtures("two_workers")
def test_what_a_worker_cannot_do_is_said_as_if_it_was_here() -> None:
    with pytest.raises(ValueError, match="max_bytes is too little to begin with"):
        explore_on_ray(SYSTEM, ONE_OF_EACH, workers=2, max_bytes=2)
    with pytest.raises(ValueError, match="workers is 0; it takes one at least"):
        explore_on_ray(SYSTEM, ONE_OF_EACH, workers=0)


def test_without_ray_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(CannotSpread, match=r"Ray is not installed: pip install 'calfsm\[ray\]'"):
        explore_on_ray(SYSTEM, ONE_OF_EACH)


def test_where_no_cluster_is_it_says_so_at_once() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(CannotSpread, match=f"Ray cannot be reached at {address}: "), cluster(address=address):
            pass


def test_without_numba_it_says_how_to_install_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(CannotCompile, match="numba is not installed"):
        explore_on_ray(SYSTEM, ONE_OF_EACH)
