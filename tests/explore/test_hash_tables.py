"""A hash table that grows where it is loses nothing, however full it was and wherever its entries had to go."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from interpreted import Interpreted

from calfsm.explore.systems import SystemModel
from calfsm.tables.executor import SYSTEM

BASE = 40
"""Where the table begins: others lie before it."""


@pytest.fixture(params=[63, 12], ids=["one word a key", "several"])
def kernel(request: pytest.FixtureRequest) -> dict[str, Any]:
    return Interpreted(SystemModel(SYSTEM), request.param).names


def entries(kernel: dict[str, Any], count: int, chance: Random) -> list[int]:
    """Different entries, of which some would all like to lie in the lowest line and some in the highest."""
    wanted: set[int] = set()
    while len(wanted) < count:
        entry = ~chance.getrandbits(62)
        if len(wanted) > count // 2 or kernel["home"](entry, 64) in (0, 56):
            wanted.add(entry)
    return sorted(wanted)


def assert_all_there(kernel: dict[str, Any], wanted: list[int], size: int, tables: list[int]) -> None:
    table = tables[BASE : BASE + size]
    assert sorted(entry for entry in table if entry) == wanted
    for entry in wanted:
        line = kernel["home"](entry, size)
        while entry not in table[line : line + 8]:
            assert all(table[line : line + 8]), "where a line is not full, nobody looks any further"
            line = (line - 8) % size


@pytest.mark.parametrize("seed", range(20))
def test_every_entry_is_found_before_and_after(kernel: dict[str, Any], seed: int) -> None:
    chance = Random(seed)
    wanted = entries(kernel, chance.randrange(20, 61), chance)
    tables = [7] * BASE + [0] * 400
    for entry in chance.sample(wanted, len(wanted)):
        kernel["add"](entry, BASE, 64, tables)
    assert_all_there(kernel, wanted, 64, tables)
    for old, size in ((64, 72), (72, 144), (144, 400)):
        rest = [0] * 8 * (kernel["full_lines"](BASE, old, tables) + 2)
        kernel["enlarge"](BASE, old, size, tables, rest)
        assert_all_there(kernel, wanted, size, tables)
    assert tables[:BASE] == [7] * BASE
