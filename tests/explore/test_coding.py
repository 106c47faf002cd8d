"""States in fewer bits: nothing is lost, and nothing that can be is left out."""

from __future__ import annotations

import numpy as np
import pytest
from engine.naive_system import compiled
from engine.system_texts import Texts, systems
from hypothesis import given
from hypothesis import strategies as st
from small_systems import CLOCKS, CLOCKWORK, DESK, LAMP, OFFICE, WORKER
from test_compiled_random import SEARCHING, judged

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import System
from calfsm.explore.compiled.configurations import configurations
from calfsm.explore.compiled.layout import Layout
from calfsm.explore.search import search
from calfsm.explore.systems import SystemModel
from calfsm.tables import phase_b
from calfsm.tables.executor import SYSTEM

STATES = 300


def assert_all_can_be(model: SystemModel, states: list[Snapshot], word_bits: int = 63) -> None:
    """What instances are like in some states is among what they are thought to be, and the states' keys say all."""
    layout = Layout(model.system, model.engine.params, word_bits)
    parts = len(layout.counts)
    possible = [set(configurations(layout.instances, part)) for part in range(parts)]
    for state in states:
        for part, known in enumerate(possible):
            assert set(zip(state[part], state[parts + part], strict=True)) <= known
    keys = np.array([layout.coding.key(layout.pack(state)) for state in states], np.int64)
    assert keys.shape == (len(states), layout.coding.words) and (keys >= 0).all()
    assert len(np.unique(keys, axis=0)) == len(states)
    assert [layout.unpack(words) for words in layout.coding.states(keys).tolist()] == states


@SEARCHING
@given(texts=systems(), word_bits=st.sampled_from((63, 40, 9)))
def test_whatever_an_instance_becomes_was_thought_possible(texts: Texts, word_bits: int) -> None:
    model = SystemModel(judged(texts))
    assert_all_can_be(model, list(search(model, max_states=STATES).parents), word_bits)


@pytest.mark.parametrize("system", [compiled(WORKER, DESK, LAMP, OFFICE), compiled(CLOCKWORK, CLOCKS), SYSTEM])
def test_the_states_of_a_system_fit_into_their_keys(system: System) -> None:
    model = SystemModel(system)
    for word_bits in (63, 20, 12):
        assert_all_can_be(model, list(search(model, max_states=2_000).parents), word_bits)


def test_a_vacant_lane_has_no_length() -> None:
    layout = Layout(SYSTEM, {**SYSTEM.exploring(), **phase_b.PROFILE.scope})
    assert layout.words == 2 and layout.coding.words == 1
    lanes = configurations(layout.instances, SYSTEM.part_index("kvs"))
    vacant = SYSTEM.parts[SYSTEM.part_index("kvs")].table.state_index("vacant")
    assert [data for state, data in lanes if state == vacant] == [(0, 0, -1)]


def test_a_state_that_cannot_be_has_no_key() -> None:
    layout = Layout(SYSTEM, {**SYSTEM.exploring(), **phase_b.PROFILE.scope})
    part = SYSTEM.part_index("kvs")
    words = list(layout.initial())
    length = layout.instance_places(part, 0)[1]
    words[length.word] |= 1 << length.shift
    with pytest.raises(ValueError, match="none of kvs can be like that"):
        layout.coding.key(words)


def test_what_saves_no_word_is_left_as_it_is() -> None:
    layout = Layout(SYSTEM, {**SYSTEM.exploring(), "requests": 1})
    assert layout.words == layout.coding.words == 1
    assert layout.coding.key(layout.initial()) == layout.initial()
