"""Generated successors are the engine's, in systems that nobody thought of."""

from __future__ import annotations

from engine.naive_system import read
from engine.system_texts import Texts, systems
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interpreted import Interpreted, assert_same

from calfsm.compile.load import compile_specs
from calfsm.engine.system import PropertyRow, System
from calfsm.explore.search import search
from calfsm.explore.systems import SystemModel

SEARCHING = settings(
    max_examples=80, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
STATES = 25


def judged(texts: Texts) -> System:
    """The system, with the guards that ask nobody in particular as its properties."""
    machines, spec = read(*texts.documents)
    system = compile_specs(machines, {spec.name: spec}).systems[spec.name]
    conditions = [condition for action in system.actions for condition in action.guards]
    general = [condition for condition in conditions if "('arg'," not in repr(condition.term)]
    system.always = tuple(PropertyRow(f"property_{i}", (condition,)) for i, condition in enumerate(general))
    return system


@SEARCHING
@given(texts=systems(), word_bits=st.sampled_from((63, 40, 9)))
def test_the_generated_text_does_what_the_engine_does(texts: Texts, word_bits: int) -> None:
    model = SystemModel(judged(texts))
    interpreted = Interpreted(model, word_bits)
    for state in list(search(model, max_states=STATES).parents)[:STATES]:
        assert_same(model, interpreted, state)
