"""The engine does what a plain interpreter of the spec does, in systems that nobody thought of."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive_system import Naive, Refusal, kept, read, recomputed
from system_texts import Texts, systems

from calfsm.compile.load import compile_specs
from calfsm.engine.engine import ActionRefused, Engine

SEARCHING = settings(
    max_examples=120, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@SEARCHING
@given(texts=systems(), data=st.data())
def test_the_engine_does_what_the_spec_says(texts: Texts, data: st.DataObject) -> None:
    machines, spec = read(*texts.documents)
    system = compile_specs(machines, {spec.name: spec}).systems[spec.name]
    engine = Engine(system, **system.exploring())
    naive = Naive(machines, spec)
    assert engine.described() == naive.described()
    for _ in range(data.draw(st.integers(5, 25), label="steps")):
        action = data.draw(st.sampled_from(list(texts.arguments)))
        sizes = {name: len(naive.world[part]) - 1 if part else 2 for name, part in texts.arguments[action].items()}
        arguments = {name: data.draw(st.integers(0, size), label=name) for name, size in sizes.items()}
        before, beside = engine.snapshot(), kept(engine)
        possible = engine.would(action, **arguments)
        assert (engine.snapshot(), kept(engine)) == (before, beside)
        try:
            naive.apply(action, arguments)
        except Refusal:
            assert not possible
            try:
                engine.apply(action, **arguments)
            except ActionRefused as refusal:
                assert "nothing is in its way" not in str(refusal)
            else:
                raise AssertionError(f"{action} was taken") from None
            assert engine.snapshot() == before
        else:
            assert possible
            step = engine.apply(action, **arguments)
            assert engine.described() == naive.described()
            after = engine.snapshot()
            engine.undo(step)
            assert engine.snapshot() == before
            assert kept(engine)[:3] == beside[:3]
            engine.restore(after)
            assert engine.described() == naive.described()
        assert kept(engine) == recomputed(engine)
