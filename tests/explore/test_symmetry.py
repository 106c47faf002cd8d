"""Reduced by symmetry, a search is exact: what is recognised is one, and the orbits add up to the whole system."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from engine.naive_system import compiled, read
from engine.system_texts import Texts, systems
from export.made_systems import made_system
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kiosk import ENDLESS, kiosk
from planting import planted
from small_systems import CLOCKS, CLOCKWORK, DESK, LAMP, OFFICE, WORKER

from calfsm.compile.load import compile_specs
from calfsm.engine.code import Term
from calfsm.engine.engine import Engine, Snapshot
from calfsm.engine.system import Condition, System
from calfsm.explore.judging import explore_whole
from calfsm.explore.quotient import Quotient, realised
from calfsm.explore.reduced import FOLLOWS, explore_reduced
from calfsm.explore.search import Trace, Verdict, search
from calfsm.explore.symmetry import Renaming, Symmetry
from calfsm.explore.systems import Call, SystemModel, SystemResult
from calfsm.explore.vacuity import remarks
from calfsm.explore.what_if import WhatIf, without
from calfsm.tables.executor import SYSTEM

ONE = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}
TWO_LANES = {**ONE, "lanes": 2}
GENERATED = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
STATES = 300


def renamings(symmetry: Symmetry) -> list[Renaming]:
    """All of them."""
    return list(itertools.product(*(itertools.permutations(range(each.size)) for each in symmetry.scalarsets)))


def some_renaming(symmetry: Symmetry, random: Random) -> Renaming:
    return tuple(tuple(random.sample(range(each.size), each.size)) for each in symmetry.scalarsets)


def assert_replays(system: System, scope: dict[str, int], trace: Trace[Snapshot, Call]) -> None:
    """Every step of a trace is one that the engine takes, to the very state."""
    engine = Engine(system, **{**system.exploring(), **scope})
    assert engine.snapshot() == trace.start
    bound = list(engine.bound_actions())
    for (index, arguments), after in trace.steps:
        engine.apply(bound[index].row.name, **dict(zip(bound[index].arguments, arguments, strict=True)))
        assert engine.snapshot() == after


def both(system: System, **scope: int) -> tuple[SystemResult, dict[str, int], Quotient, SystemResult]:
    """A search of the whole system, how often each action is taken in it, and the search of the quotient."""
    model = SystemModel(system, **scope)
    fired = [0] * len(system.actions)

    def visit(state: Snapshot, call: Call, after: Snapshot) -> None:
        fired[call[0]] += 1

    whole = search(model, model.properties(), visit=visit)
    quotient = Quotient(model, Symmetry(model.engine))
    reduced = search(quotient, model.properties(), visit=quotient.visit)
    return whole, {row.name: times for row, times in zip(system.actions, fired, strict=True)}, quotient, reduced


def assert_exact(system: System, **scope: int) -> float:
    """The search of the quotient says of the whole system what the search of that says; how many times less it is."""
    whole, fired, quotient, reduced = both(system, **scope)
    stands_for = quotient.stands_for(reduced.parents)
    assert (stands_for.states, stands_for.transitions) == (whole.states, whole.transitions)
    assert stands_for.fired == fired
    assert set(reduced.parents) == set(map(quotient.canonical, whole.parents))
    assert (reduced.depth, reduced.verdicts) == (whole.depth, whole.verdicts)
    told = quotient.told(reduced)
    found = {**told.counterexamples, **({"": told.stuck} if told.stuck is not None else {})}
    wanted = {**whole.counterexamples, **({"": whole.stuck} if whole.stuck is not None else {})}
    assert {name: len(trace.steps) for name, trace in found.items()} == {n: len(t.steps) for n, t in wanted.items()}
    properties = quotient.model.properties()
    for name, trace in found.items():
        assert_replays(system, scope, trace)
        assert not properties[name](trace.end) if name else not list(quotient.model.actions(trace.end))
    return whole.states / reduced.states


# ---- what is recognised


def test_in_the_executor_all_that_there_is_several_of_is_interchangeable() -> None:
    engine = Engine(SYSTEM, requests=2, jobs=2, buffers=3, lanes=2)
    symmetry = Symmetry(engine)
    assert symmetry.names == ["jobs", "kvs", "buffers with dma", "requests"]
    assert symmetry.reasons == {}
    assert symmetry.order == 2 * 2 * 6 * 2
    assert [each.referred for each in symmetry.scalarsets] == [True, True, True, False]


def test_where_there_is_one_of_each_nothing_is_said() -> None:
    symmetry = Symmetry(Engine(SYSTEM, **ONE))
    assert symmetry.scalarsets == [] and symmetry.reasons == {} and symmetry.order == 1


def test_what_can_be_arranged_in_too_many_ways_is_left_out_and_said() -> None:
    symmetry = Symmetry(Engine(SYSTEM, **{**ONE, "requests": 9, "jobs": 3, "buffers": 2, "lanes": 10}))
    assert symmetry.names == ["buffers with dma", "jobs", "requests"]
    assert symmetry.reasons == {"kvs": "10 instances can be arranged in too many ways"}


UNEQUAL = {
    "w == 1": ("workers", "names one of workers by its number"),
    "0 != d": ("desks", "names one of desks by its number"),
    "w.desk == n": ("desks", "names one of desks by its number"),
    "w.desk < d": ("desks", "reckons with the numbers of desks"),
    "w >= 1 and w is idle": ("workers", "reckons with the numbers of workers"),
    "d.owner + 1 == n": ("workers", "reckons with the numbers of workers"),
    "count(x for x in workers if x > w) == 0": ("workers", "reckons with the numbers of workers"),
    "not d.owner": ("workers", "reckons with the numbers of workers"),
    "d.owner == w.desk": ("workers", "takes workers for desks"),
    "all(x == d for x in workers)": ("desks", "takes workers for desks"),
    "count(l for l in lamps if l == 0) > 0": ("desks", "names one of desks by its number"),
}


def office_with(action: str = "", worker: str = WORKER, rest: str = "") -> Engine:
    """The office with one action more, or something else."""
    text = OFFICE.replace("actions:\n", f"actions:\n  go: {action}\n" if action else "actions:\n") + rest
    return Engine(compiled(worker, DESK, LAMP, text), people=2, places=2)


@pytest.mark.parametrize("condition", UNEQUAL)
def test_a_guard_that_tells_instances_apart_is_named(condition: str) -> None:
    picks = "by: engine, pick: {w: workers, d: desks}, choose: {n: [0, 1]}"
    reasons = Symmetry(office_with(f'{{{picks}, when: "{condition}", fire: {{w: rest}}}}')).reasons
    part, why = UNEQUAL[condition]
    assert reasons[part].startswith("go: `") and reasons[part].endswith(f"` {why}")


def test_without_it_everything_is_interchangeable() -> None:
    symmetry = Symmetry(office_with())
    assert symmetry.names == ["workers", "desks with lamps"] and not symmetry.reasons


@pytest.mark.parametrize(
    ("setting", "part", "why"),
    [
        ("w.desk: 1", "desks", "go: set w.desk names one of desks by its number"),
        ("w.load: d", "desks", "go: set w.load reckons with the numbers of desks"),
        ("d.owner: d", "workers", "go: set d.owner takes workers for desks"),
        ("w.desk: w.load", "desks", "go: set w.desk names one of desks by its number"),
    ],
)
def test_a_setting_that_tells_instances_apart_is_named(setting: str, part: str, why: str) -> None:
    action = (
        f"{{by: engine, pick: {{w: workers, d: desks}}, fire: {{w: rest}}, set: {{{setting.replace(': ', ': ')}}}}}"
    )
    assert Symmetry(office_with(action)).reasons[part] == why


@pytest.mark.parametrize(
    ("which", "why"),
    [
        (("one", ("int", 1)), "clean: d names one of desks by its number"),
        (("one", ("arg", 0)), ""),
    ],
)
def test_a_participant_that_is_named_by_its_number_is_named(which: Term, why: str) -> None:
    engine = office_with()
    system = engine.system
    clean = system.actions[system.action_index("clean")]
    changed = clean._replace(fired=(clean.fired[0]._replace(which=which), *clean.fired[1:]))
    system.actions = tuple(changed if row is clean else row for row in system.actions)
    assert Symmetry(engine).reasons.get("desks", "") == why


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("desk:  {ref: desks}", "desk:  {ref: desks, initial: 1}", "worker.desk refers to number 1 from the beginning"),
        ("when: not tired", "when: desk != 0", "worker: rest in busy names one of desks by its number"),
        ("when: load < most", "when: desk < most", "worker: work in busy reckons with the numbers of desks"),
        ("turn: turn - 1, desk: none", "desk: turn", "worker: rest in busy names one of desks by its number"),
    ],
)
def test_a_machine_that_tells_instances_apart_is_named(old: str, new: str, why: str) -> None:
    assert old in WORKER
    symmetry = Symmetry(office_with(worker=WORKER.replace(old, new)))
    assert symmetry.reasons == {"desks": why}
    assert symmetry.names == ["workers"]


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        ("  first: any(w == 0 for w in workers)\n", "first: `any(w == 0 for w in workers)`"),
        ('home: "all(w != 1 for w in workers)"\n', "`all(w != 1 for w in workers)`"),
        (
            "eventually: {sits: {each: {w: workers}, from: w == 0, to: w is busy}}\n",
            "sits: `w == 0`",
        ),
    ],
)
def test_a_property_that_tells_instances_apart_is_named(rest: str, why: str) -> None:
    symmetry = Symmetry(office_with(rest=rest))
    assert symmetry.reasons == {"workers": f"{why} names one of workers by its number"}


def test_a_condition_of_the_question_must_not_tell_instances_apart_either() -> None:
    engine = office_with()
    first: Term = ("state", 0, ("int", 0), (0,))
    assert set(Symmetry(engine, [Condition("the first is idle", first)]).reasons) == {"workers"}
    every: Term = ("==", ("count", 0, 0, ("state", 0, ("bound", 0), (0,))), ("int", 2))
    assert Symmetry(engine, [Condition("all are idle", every)]).reasons == {}


# ---- what a renaming is


@GENERATED
@given(texts=systems(), seed=st.integers(0, 2**32))
def test_what_is_recognised_renames_calls_and_conditions_with_the_states(texts: Texts, seed: int) -> None:
    """The definition, in systems that nobody thought of: the same calls under other names, to states renamed alike."""
    machines, spec = read(*texts.documents)
    model = SystemModel(compile_specs(machines, {spec.name: spec}).systems[spec.name], size=3)
    symmetry, random = Symmetry(model.engine), Random(seed)
    guards = [condition.term for row in model.system.actions for condition in row.guards]
    general = [model.condition(term) for term in guards if "('arg'," not in repr(term)]
    (initial,) = model.initial()
    for state in random.choices(list(search(model, max_states=STATES).parents), k=6):
        renaming = some_renaming(symmetry, random)
        renamed = symmetry.renamed(state, renaming)
        assert symmetry.renamed(initial, renaming) == initial
        after = {call: model.next(state, call) for call in model.actions(state)}
        expected = {
            symmetry.renamed_call(call, renaming): symmetry.renamed(end, renaming) for call, end in after.items()
        }
        assert {call: model.next(renamed, call) for call in model.actions(renamed)} == expected
        assert [holds(state) for holds in general] == [holds(renamed) for holds in general]


@GENERATED
@given(number=st.integers(0, 10_000), seed=st.integers(0, 2**32))
def test_canonical_forms_stand_for_their_orbits(number: int, seed: int) -> None:
    model = SystemModel(made_system(number), size=3)
    symmetry, random = Symmetry(model.engine), Random(seed)
    states = random.choices(list(search(model, max_states=STATES).parents), k=4)
    for state, other in itertools.product(states, states):
        orbit = {symmetry.renamed(state, renaming) for renaming in renamings(symmetry)}
        form = symmetry.canonical(state)
        assert form in orbit and {symmetry.canonical(each) for each in orbit} == {form}
        assert symmetry.canonical(form) == form
        assert symmetry.orbit(state) == symmetry.orbit(form) == len(orbit)
        assert (symmetry.canonical(other) == form) == (other in orbit)
        renaming = symmetry.renaming(state, other)
        assert (renaming is not None) == (other in orbit)
        assert renaming is None or symmetry.renamed(state, renaming) == other


@pytest.mark.parametrize("lanes", [2, 4])
def test_instances_that_nobody_tells_apart_are_not_tried_in_each_order(lanes: int) -> None:
    model = SystemModel(SYSTEM, **{**ONE, "lanes": lanes, "jobs": 3, "requests": 3})
    symmetry = Symmetry(model.engine)
    (initial,) = model.initial()
    assert len(list(symmetry._arranged(initial))) == 1
    assert symmetry.orbit(initial) == 1


# ---- that nothing is lost


def test_the_executors_orbits_add_up() -> None:
    assert assert_exact(SYSTEM, **{**ONE, "lanes": 3}) > 1.4


@pytest.mark.parametrize("number", range(24))
def test_the_orbits_of_made_up_systems_add_up(number: int) -> None:
    model = SystemModel(made_system(number), size=3)
    if search(model, max_states=3_000).complete:
        assert_exact(made_system(number), size=3)


def test_every_feature_of_the_language_adds_up() -> None:
    assert assert_exact(compiled(WORKER, DESK, LAMP, OFFICE), most=1, people=1, places=2) > 1.5


def test_what_has_no_symmetry_is_searched_as_it_is() -> None:
    assert assert_exact(compiled(CLOCKWORK, CLOCKS)) == 1


def test_a_planted_fault_is_found_by_a_way_that_is_as_short_and_real() -> None:
    system = planted("buffer.yaml/transitions/running", "wait_timeout:   quarantined", "wait_timeout:   free")
    model = SystemModel(system, **{**ONE, "buffers": 2})
    quotient = Quotient(model, Symmetry(model.engine))
    whole, reduced = (search(each, model.properties(), first_only=True) for each in (model, quotient))
    ((name, trace),) = quotient.told(reduced).counterexamples.items()
    assert len(trace.steps) == len(whole.counterexamples[name].steps)
    assert_replays(system, {**ONE, "buffers": 2}, trace)
    assert not model.properties()[name](trace.end)


def test_a_way_can_be_told_to_each_of_the_states_that_one_stands_for() -> None:
    model = SystemModel(SYSTEM, **TWO_LANES)
    quotient = Quotient(model, Symmetry(model.engine))
    reduced = search(quotient)
    random = Random(2026)
    whole = list(search(model, max_states=2_000).parents)
    for state in random.sample(whole, 20):
        trace = quotient.way_to(reduced, state)
        assert trace.end == state
        assert_replays(SYSTEM, TWO_LANES, trace)
    with pytest.raises(KeyError):
        quotient.way_to(search(quotient, max_states=1), whole[-1])


def test_a_way_that_the_engine_does_not_know_is_not_told() -> None:
    model = SystemModel(SYSTEM, **ONE)
    (initial,) = model.initial()
    with pytest.raises(RuntimeError, match="the search that found it is wrong"):
        realised(model, [initial, initial])


def test_a_search_that_was_stopped_stands_for_what_it_has_seen() -> None:
    model = SystemModel(SYSTEM, **TWO_LANES)
    quotient = Quotient(model, Symmetry(model.engine))
    reduced = search(quotient, model.properties(), max_states=500, visit=quotient.visit)
    stands_for = quotient.stands_for(reduced.parents)
    assert reduced.states < stands_for.states < 2 * reduced.states
    assert reduced.transitions < stands_for.transitions <= 2 * reduced.transitions
    assert set(reduced.verdicts.values()) == {Verdict.UNDECIDED}


# ---- what else is judged


def test_home_is_judged_on_what_was_kept_and_what_follows_one_instance_is_not() -> None:
    whole, reduced = explore_whole(kiosk(), {"people": 3}), explore_reduced(kiosk(), {"people": 3})
    assert reduced.stands_for is not None and reduced.result.states < whole.result.states
    assert reduced.stands_for.states == whole.result.states
    assert whole.holds and not reduced.holds and not reduced.broken
    assert reduced.promises["home"].verdict is Verdict.HOLDS
    assert reduced.promises["everyone_is_served"].text == f"not judged: {FOLLOWS}"
    assert list(reduced.verdicts) == list(whole.verdicts)
    said = [str(remark) for remark in remarks(whole) if remark.about != "fairness"]
    assert [str(remark) for remark in remarks(reduced)] == said


def test_a_way_to_where_there_is_no_way_home_is_real_and_as_short() -> None:
    system = without(kiosk(*ENDLESS), ["repair"])
    whole, reduced = (explore(system, {"people": 3}) for explore in (explore_whole, explore_reduced))
    (trace, expected) = (found.promises["home"].trace for found in (reduced, whole))
    assert trace is not None and expected is not None
    assert len(trace.steps) == len(expected.steps)
    assert_replays(system, {"people": 3}, trace)


def test_home_is_not_judged_when_there_is_too_much_to_keep() -> None:
    reduced = explore_reduced(kiosk(), {"people": 3}, liveness_states=5)
    assert reduced.promises["home"].text == "not judged: more than 5 states"


def test_what_is_gone_on_with_while_something_holds_is_reduced_by_what_that_leaves_alike() -> None:
    asked: Term = ("==", ("count", 0, 0, ("state", 0, ("bound", 0), (2,))), ("int", 0))
    held = WhatIf(held=asked)
    whole, reduced = (explore(kiosk(), {"people": 3}, what_if=held) for explore in (explore_whole, explore_reduced))
    assert reduced.stands_for is not None and reduced.symmetry is not None
    assert reduced.result.states < reduced.stands_for.states == whole.result.states
    first: Term = ("not", ("state", 0, ("int", 0), (2,)))
    apart = explore_reduced(kiosk(), {"people": 3}, what_if=WhatIf(held=first))
    assert apart.symmetry is not None
    assert apart.symmetry.reasons == {"customers": "`what is fixed` names one of customers by its number"}
    assert apart.result.states == explore_whole(kiosk(), {"people": 3}, what_if=WhatIf(held=first)).result.states


def test_what_begins_elsewhere_is_not_reduced() -> None:
    (start,) = SystemModel(kiosk()).initial()
    with pytest.raises(ValueError, match="begins elsewhere"):
        explore_reduced(kiosk(), what_if=WhatIf(start=start))
