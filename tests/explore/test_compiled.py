"""The compiled search finds what the plain search finds: states, transitions, verdicts, shortest traces."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("numba")

from engine.naive_system import compiled
from interpreted import Interpreted
from interpreted import assert_same as assert_agrees
from mutants import BY_NAME, Broken
from planting import planted
from small_systems import CLOCKS, CLOCKWORK, DESK, LAMP, OFFICE, WORKER

from calfsm.engine.engine import Engine, Snapshot
from calfsm.engine.system import System
from calfsm.explore.compiled import CannotCompile, FastResult, Layout, cache, explore_fast
from calfsm.explore.compiled.search import Outcome, search_states
from calfsm.explore.search import Trace, Verdict
from calfsm.explore.search import search as plain_search
from calfsm.explore.systems import Call, SystemModel, story
from calfsm.tables.executor import SYSTEM

ONE_OF_EACH = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}
TWO_LANES = {**ONE_OF_EACH, "lanes": 2}
PHASE_A = {**ONE_OF_EACH, "requests": 2}


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for generated modules, shared by the tests of one run."""
    return tmp_path_factory.mktemp("modules")


@pytest.fixture(scope="module")
def clocks() -> System:
    return compiled(CLOCKWORK, CLOCKS)


def seen(result: FastResult | Outcome) -> set[Snapshot]:
    """Every state that was found."""
    assert result.found is not None
    return set(result.found)


def assert_replays(model: SystemModel, trace: Trace[Snapshot, Call]) -> None:
    """Every step of a trace is one that the engine takes, to the very state."""
    engine = Engine(model.system, **model.engine.params)
    assert engine.snapshot() == trace.start
    bound = list(engine.bound_actions())
    for (index, arguments), after in trace.steps:
        engine.apply(bound[index].row.name, **dict(zip(bound[index].arguments, arguments, strict=True)))
        assert engine.snapshot() == after


def assert_same(fast: FastResult, plain: FastResult) -> None:
    """Both searches found the same."""
    assert (fast.engine, plain.engine) == ("compiled", "plain")
    for what in ("states", "transitions", "depth", "fired", "verdicts", "stopped"):
        assert getattr(fast, what) == getattr(plain, what), what
    assert (fast.stuck is None) == (plain.stuck is None)
    lengths = {name: len(trace.steps) for name, trace in plain.counterexamples.items()}
    assert {name: len(trace.steps) for name, trace in fast.counterexamples.items()} == lengths


@pytest.mark.parametrize("scope", [ONE_OF_EACH, TWO_LANES, PHASE_A], ids=["one of each", "two lanes", "phase a"])
def test_the_executor_is_searched_alike_by_either_engine_on_one_thread_and_on_two(
    scope: dict[str, int], modules: Path
) -> None:
    _, plain = explore_fast(SYSTEM, scope, engine="plain")
    model, one = explore_fast(SYSTEM, scope, engine="compiled", cache_folder=modules)
    _, two = explore_fast(SYSTEM, scope, engine="compiled", threads=2, cache_folder=modules)
    assert one.holds and two.holds
    assert_same(one, plain)
    assert_same(two, plain)
    assert seen(one) == seen(two)
    assert sum(one.fired.values()) == one.transitions
    assert one.found is not None
    for number in range(0, one.states, one.states // 4):
        state = one.found.state((0, number))
        trace = one.trace(state)
        assert trace.end == state and len(trace.steps) == len(two.trace(state).steps)
        assert_replays(model, trace)
    assert len(story(model, one.trace(one.found.state((0, one.states - 1))))) == one.depth


def test_every_feature_of_the_language_is_searched_alike(modules: Path) -> None:
    office = compiled(WORKER, DESK, LAMP, OFFICE)
    scope = {"most": 1, "people": 1, "places": 2}
    _, plain = explore_fast(office, scope, engine="plain")
    model, fast = explore_fast(office, scope, engine="compiled", cache_folder=modules)
    assert_same(fast, plain)
    assert all(fast.fired.values()), "an action that never happens tests nothing"
    assert Verdict.BROKEN in fast.verdicts.values() and Verdict.HOLDS in fast.verdicts.values()
    for trace in fast.counterexamples.values():
        assert_replays(model, trace)


@pytest.mark.parametrize("word_bits", [63, 11])
def test_every_feature_leads_where_the_engine_leads(word_bits: int) -> None:
    model = SystemModel(compiled(WORKER, DESK, LAMP, OFFICE), most=2, people=3, places=2)
    interpreted = Interpreted(model, word_bits)
    states = list(plain_search(model, max_states=3_000).parents)
    for state in Random(2026).sample(states, 150):
        assert_agrees(model, interpreted, state)


@pytest.mark.parametrize("scope", [{"requests": 3, "jobs": 2, "buffers": 3, "lanes": 2, "limit": 2, "max_length": 3}])
def test_the_executor_leads_where_the_engine_leads_at_a_scope_too_large_to_search(scope: dict[str, int]) -> None:
    model = SystemModel(SYSTEM, **scope)
    interpreted = Interpreted(model)
    assert interpreted.layout.words == 2
    random = Random(2026)
    (state,) = model.initial()
    for _ in range(400):
        assert_agrees(model, interpreted, state)
        calls = list(model.actions(state))
        state = model.next(state, random.choice(calls))


def test_states_of_several_words_are_searched_alike(modules: Path) -> None:
    model = SystemModel(SYSTEM, **ONE_OF_EACH)
    wide = Layout(SYSTEM, model.engine.params, word_bits=12)
    assert wide.words > 2
    module = cache.module(wide, modules)
    _, narrow = explore_fast(SYSTEM, ONE_OF_EACH, engine="compiled", cache_folder=modules)
    for threads in (1, 2):
        outcome = search_states(module, wide, threads=threads)
        sizes = len(outcome.found), outcome.transitions, outcome.depth
        assert sizes == (narrow.states, narrow.transitions, narrow.depth)
        assert outcome.fired == list(narrow.fired.values())
        assert seen(outcome) == seen(narrow)


@pytest.mark.parametrize("fault", ["a timeout that does not fault the device", "a reset that leaves KV held"])
def test_a_planted_fault_is_found_by_a_trace_as_short(fault: str, modules: Path) -> None:
    verdict, system = BY_NAME[fault].verdict, planted(*BY_NAME[fault].edit)
    assert isinstance(verdict, Broken)
    for threads in (1, 2):
        model, result = explore_fast(
            system, ONE_OF_EACH, engine="compiled", threads=threads, first_only=True, cache_folder=modules
        )
        assert result.stopped == "a property is broken"
        assert result.verdicts[verdict.name] is Verdict.BROKEN
        trace = result.counterexamples[verdict.name]
        assert len(trace.steps) == verdict.steps
        assert story(model, trace)[-1].call == verdict.call
        assert_replays(model, trace)


def test_a_stuck_state_and_a_broken_property_are_reached_by_shortest_ways(clocks: System, modules: Path) -> None:
    _, plain = explore_fast(clocks, engine="plain")
    for threads in (1, 2, 3):
        model, fast = explore_fast(clocks, engine="compiled", threads=threads, cache_folder=modules)
        assert_same(fast, plain)
        assert fast.stuck is not None and plain.stuck is not None
        assert len(fast.stuck.steps) == len(plain.stuck.steps) == 20
        assert len(fast.counterexamples["not_both_late"].steps) == 13
        assert_replays(model, fast.stuck)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_that_runs_out_of_its_memory_says_so_and_never_says_holds(threads: int, modules: Path) -> None:
    budget = 700_000 if threads == 1 else 900_000
    model, result = explore_fast(
        SYSTEM, PHASE_A, max_bytes=budget, engine="compiled", threads=threads, cache_folder=modules
    )
    assert result.stopped == f"the memory budget of {budget:,} bytes was reached"
    assert set(result.verdicts.values()) == {Verdict.UNDECIDED}
    assert not result.complete and not result.holds
    assert 20_000 <= result.states < 41_000
    assert result.bytes_per_state * result.states <= budget
    assert result.found is not None
    last = result.found.state((0, len(result.found.keys[0]) - 1))
    assert_replays(model, result.trace(last))


def test_limits_stop_a_search_with_what_is_known_so_far(modules: Path) -> None:
    _, few = explore_fast(SYSTEM, PHASE_A, max_states=1_000, engine="compiled", cache_folder=modules)
    assert few.stopped == "the limit of 1,000 states was reached"
    assert 1_000 <= few.states < 1_500 and not few.holds
    assert set(few.verdicts.values()) == {Verdict.UNDECIDED}
    _, short = explore_fast(SYSTEM, PHASE_A, max_seconds=0, engine="compiled", cache_folder=modules)
    assert short.stopped == "the limit of 0 seconds was reached" and not short.complete
    with pytest.raises(ValueError, match="max_bytes is too little to begin with"):
        explore_fast(SYSTEM, PHASE_A, max_bytes=1_000, engine="compiled", cache_folder=modules)


def test_small_scopes_are_left_to_the_plain_search_until_they_are_compiled(clocks: System, tmp_path: Path) -> None:
    assert explore_fast(clocks, cache_folder=tmp_path)[1].engine == "plain"
    assert explore_fast(clocks, engine="compiled", cache_folder=tmp_path)[1].engine == "compiled"
    assert explore_fast(clocks, cache_folder=tmp_path)[1].engine == "compiled"


def test_what_is_damaged_in_the_cache_is_made_anew(clocks: System, tmp_path: Path) -> None:
    _, first = explore_fast(clocks, engine="compiled", cache_folder=tmp_path)
    (module,) = tmp_path.glob("calfsm_*.py")
    text = module.read_text()
    module.write_text(text.replace("+= 1", "+= 2", 1))
    for file in (tmp_path / "__pycache__").iterdir():
        file.write_bytes(b"not machine code")
    _, again = explore_fast(clocks, engine="compiled", cache_folder=tmp_path)
    assert module.read_text() == text
    assert (again.states, again.fired) == (first.states, first.fired)


def test_a_cache_that_cannot_be_written_is_done_without(clocks: System, tmp_path: Path) -> None:
    blocked = tmp_path / "a file"
    blocked.touch()
    _, result = explore_fast(clocks, engine="compiled", cache_folder=blocked)
    assert result.engine == "compiled" and result.states == 121


def test_without_numba_the_plain_search_does_it_or_the_error_says_what_to_install(
    clocks: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(CannotCompile, match=r"numba is not installed: pip install 'calfsm\[fast\]'"):
        explore_fast(clocks, engine="compiled", cache_folder=tmp_path)
    monkeypatch.setattr("calfsm.explore.compiled.PLAIN_STATES", 10)
    _, result = explore_fast(clocks, cache_folder=tmp_path)
    assert result.engine == "plain" and result.complete and result.states == 121


def test_a_variable_that_leaves_its_domain_is_never_searched_wrongly(modules: Path) -> None:
    straying = compiled(CLOCKWORK.replace("{when: at < last, to", "{when: at <= last, to"), CLOCKS)
    with pytest.raises(CannotCompile, match="a variable of clocks leaves its domain"):
        explore_fast(straying, {"last": 3}, engine="compiled", cache_folder=modules)


def test_what_may_divide_by_zero_is_left_to_the_plain_search(tmp_path: Path) -> None:
    ticking = "{by: engine, fire: {left: tick}}"
    dividing = compiled(CLOCKWORK, CLOCKS.replace(ticking, ticking.replace("fire", "when: 6 // right.at == 2, fire")))
    with pytest.raises(CannotCompile, match="may divide by zero"):
        explore_fast(dividing, engine="compiled", cache_folder=tmp_path)


def test_a_state_is_packed_without_loss_and_values_outside_their_domain_are_not() -> None:
    layout = Layout(SYSTEM, {**SYSTEM.exploring(), **PHASE_A})
    engine = Engine(SYSTEM, **layout.params)
    assert layout.initial() == layout.pack(engine.snapshot())
    assert layout.unpack(layout.initial()) == engine.snapshot()
    states, rest = engine.snapshot()[0], engine.snapshot()[1:]
    with pytest.raises(ValueError, match="9 is not in 0 to 3"):
        layout.pack(((9,) * len(states), *rest))
    with pytest.raises(CannotCompile, match="does not fit in 2 bits"):
        Layout(SYSTEM, layout.params, word_bits=2)


def test_a_search_needs_a_thread(clocks: System) -> None:
    with pytest.raises(ValueError, match="threads is 0"):
        explore_fast(clocks, threads=0)
