"""A fleet does what as many machines would do, and says clearly what it cannot do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calfsm.engine import Fleet, Machine, Refused, Table
from calfsm.engine import fleet as fleet_module
from calfsm.engine.table import AlternativeRow, EventRow, ParamRow, StateRow, VariableRow
from calfsm.tables import buffer, device, dma, kv
from tests.engine.strategies import REAL, overrides, tables

SIZE = 4


def whole(fleet: Fleet) -> tuple[Any, ...]:
    """Everything a fleet shows."""
    variables = [fleet.data(row.name).tolist() for row in fleet.table.variables]
    return fleet.states.tolist(), variables, fleet.counts(), fleet.stays, fleet.refusals


def fire(machine: Machine, event: str) -> str:
    """What became of an event: moved, stayed or refused."""
    try:
        return "moved" if machine.fire(event).stay is None else "stayed"
    except Refused:
        return "refused"


def assert_agree(fleet: Fleet, machines: list[Machine]) -> None:
    members = fleet.table.state_members
    assert [members[state] for state in fleet.states] == [machine.state for machine in machines]
    assert [fleet.state_of(index) for index in range(SIZE)] == [machine.state for machine in machines]
    assert [fleet.data_of(index) for index in range(SIZE)] == [machine.data for machine in machines]
    assert fleet.stays == sum((machine.stays for machine in machines), start=type(machines[0].stays)())
    assert fleet.refusals == sum((machine.refusals for machine in machines), start=type(machines[0].refusals)())
    states = [str(machine.state) for machine in machines]
    assert fleet.counts() == {row.name: states.count(row.name) for row in fleet.table.states}


def run_side_by_side(data: st.DataObject, table: Table, params: dict[str, int]) -> None:
    fleet = Fleet(table, SIZE, **params)
    machines = [Machine(table, **params) for _ in range(SIZE)]
    names = [row.name for row in table.events]
    subsets = st.none() | st.lists(st.integers(0, SIZE - 1), unique=True)
    for _ in range(data.draw(st.integers(1, 12), label="steps")):
        chosen = data.draw(subsets, label="indices")
        stepped = list(range(SIZE)) if chosen is None else chosen
        if data.draw(st.booleans(), label="one event for all"):
            name = data.draw(st.sampled_from(names), label="event")
            events = [name] * len(stepped)
            step = fleet.step(name, chosen)
        else:
            size = len(stepped)
            numbers = data.draw(st.lists(st.integers(0, len(names) - 1), min_size=size, max_size=size), label="events")
            events = [names[number] for number in numbers]
            step = fleet.step(np.array(numbers, dtype=np.int64), chosen)
        became = {index: fire(machines[index], event) for index, event in zip(stepped, events, strict=True)}
        for answer in ("moved", "stayed", "refused"):
            assert getattr(step, answer).tolist() == [index for index in stepped if became[index] == answer]
        assert_agree(fleet, machines)


@pytest.mark.parametrize("table", REAL, ids=lambda table: table.name)
@given(data=st.data())
def test_a_fleet_of_a_real_machine_agrees_with_as_many_machines(table: Table, data: st.DataObject) -> None:
    run_side_by_side(data, table, {})


@given(data=st.data(), table=tables())
def test_a_fleet_of_a_made_up_machine_agrees_with_as_many_machines(data: st.DataObject, table: Table) -> None:
    run_side_by_side(data, table, data.draw(overrides(table), label="params"))


@pytest.mark.parametrize("table", REAL, ids=lambda table: table.name)
def test_every_event_in_every_configuration_does_what_it_does_to_a_machine(table: Table) -> None:
    """Breadth first over machines, each a replay of the way to its configuration; a fleet of one walks the same way."""
    ways: dict[Any, tuple[str, ...]] = {}
    todo: list[tuple[str, ...]] = [()]
    for way in todo:
        machine, fleet = Machine(table), Fleet(table, 1)
        for event in way:
            machine.fire(event)
            fleet.step(event)
        if (configuration := repr(machine)) in ways:
            continue
        ways[configuration] = way
        assert (fleet.state_of(0), fleet.data_of(0)) == (machine.state, machine.data)
        for row in table.events:
            probe = Machine(table)
            for event in way:
                probe.fire(event)
            if fire(probe, row.name) != "refused":
                todo.append((*way, row.name))


def test_a_whole_fleet_goes_through_the_life_of_a_buffer() -> None:
    pool = Fleet(buffer.TABLE, 100)
    for event in ("create", "acquire", "submit_ok", "status_running", "done", "recycle"):
        assert len(pool.step(event).moved) == 100
    assert pool.counts() == dict.fromkeys(pool.counts(), 0) | {"free": 100}
    assert repr(pool) == "<Fleet of 100 buffer: 100 free>"


def test_a_refusal_is_reported_and_the_others_move() -> None:
    pool = Fleet(buffer.TABLE, 5)
    pool.step("create", [0, 2, 4])
    step = pool.step(buffer.Event.ACQUIRE, [4, 3, 2, 1])
    assert (step.moved.tolist(), step.stayed.tolist(), step.refused.tolist()) == ([4, 2], [], [3, 1])
    assert repr(step) == "<FleetStep: 2 moved, 0 stayed, 2 refused>"
    assert [str(pool.state_of(index)) for index in range(5)] == ["free", "absent", "preparing", "absent", "preparing"]
    assert pool.refusals == {(buffer.State.ABSENT, "acquire"): 2}
    assert not pool.stays


def test_a_stay_may_change_data() -> None:
    table = counter(high=3, stay="it counts")
    fleet = Fleet(table, 2)
    step = fleet.step("more", [1])
    assert (step.stayed.tolist(), step.moved.tolist()) == ([1], [])
    assert fleet.data("n").tolist() == [0, 1]
    assert fleet.stays == {(table.State.HERE, table.Event.MORE): 1}  # type: ignore[attr-defined]


def test_guards_see_the_data_of_each_instance() -> None:
    fleet = Fleet(device.TABLE, 3, max_rejects=2)
    for indices in ([0, 1, 2], [0, 1], [0]):
        fleet.step("rejected", indices)
    assert fleet.data("rejects").tolist() == [0, 2, 1]
    assert fleet.counts()["draining"] == 1
    assert fleet.data_of(1) == {"resets": 0, "rejects": 2}


def test_what_only_a_system_sets_keeps_its_initial_value() -> None:
    lanes = Fleet(kv.TABLE, 2)
    for event in ("open", "reserve", "submit", "commit"):
        lanes.step(event)
    assert lanes.data("length").tolist() == [0, 0]
    assert lanes.data_of(0) == {"length": 0, "target": 0, "job": None}
    assert lanes.data("job").tolist() == [-1, -1]


def test_each_instance_may_take_an_event_of_its_own() -> None:
    fleet = Fleet(dma.TABLE, 3)
    start, finish = dma.TABLE.event_index("start"), dma.TABLE.event_index("finish")
    step = fleet.step([start, finish, start])
    assert (step.moved.tolist(), step.stayed.tolist()) == ([0, 2], [1])
    assert fleet.stays == {(dma.State.QUIET, dma.Event.FINISH): 1}


@pytest.mark.parametrize("nobody", [[], (), np.array([], dtype=np.int32), np.empty(0)])
def test_stepping_nobody_does_nothing(nobody: Any) -> None:
    fleet = Fleet(dma.TABLE, 3)
    before = whole(fleet)
    step = fleet.step("start", nobody)
    assert len(step.moved) == len(step.stayed) == len(step.refused) == 0
    assert whole(fleet) == before


def test_an_empty_fleet_is_a_fleet() -> None:
    fleet = Fleet(dma.TABLE, 0)
    assert len(fleet.step("start").moved) == 0
    assert fleet.counts() == {"quiet": 0, "active": 0}
    assert repr(fleet) == "<Fleet of 0 dma: none>"
    with pytest.raises(IndexError, match="0 is not an instance of this fleet; they are none"):
        fleet.state_of(0)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.int64])
def test_indices_and_events_may_have_any_integer_type(dtype: Any) -> None:
    fleet = Fleet(dma.TABLE, 3)
    assert fleet.step(np.array([0, 0], dtype=dtype), np.array([2, 0], dtype=dtype)).moved.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("indices", "error", "message"),
    [
        ([0, 1, 0], ValueError, "instance 0 is named twice; step it once, then again"),
        ([3], IndexError, "3 is not an instance of this fleet; they are 0 to 2"),
        ([0, -1], IndexError, "-1 is not an instance of this fleet; they are 0 to 2"),
        (np.array([2**63], dtype=np.uint64), IndexError, "9223372036854775808 is out of range"),
        ([0.0, 1.0], TypeError, "indices has dtype float64; give integers"),
        (
            [True, False, True],
            TypeError,
            r"indices has dtype bool; give integers \(for a mask, np.flatnonzero\(mask\)\)",
        ),
        (["0"], TypeError, "indices has dtype <U1; give integers"),
        ([None], TypeError, "indices has dtype object; give integers"),
        ([2**70], TypeError, "indices has dtype object; give integers"),
        ([[0, 1]], ValueError, r"indices has shape \(1, 2\); give one dimension"),
        (1, ValueError, r"indices has shape \(\); give one dimension"),
    ],
)
def test_bad_indices_are_refused_and_nothing_changes(indices: Any, error: type[Exception], message: str) -> None:
    fleet = Fleet(dma.TABLE, 3)
    fleet.step("start", [1])
    before = whole(fleet)
    with pytest.raises(error, match=message):
        fleet.step("start", indices)
    assert whole(fleet) == before


@pytest.mark.parametrize(
    ("event", "error", "message"),
    [
        ("strat", ValueError, "dma has no event 'strat'; did you mean 'start'"),
        ("", ValueError, "dma has no event ''; it has start, finish, kill"),
        (buffer.Event.CREATE, ValueError, "dma has no event <Event.CREATE: 'create'>; it has start, finish, kill"),
        (dma.State.ACTIVE, ValueError, "dma has no event <State.ACTIVE: 'active'>"),
        (0, TypeError, "event is 0; give a member of dma's Event, its name, or an array of event indices"),
        (None, TypeError, "event is None; give a member"),
        (b"start", TypeError, r"event is b'start'; give a member"),
        ({"start": 1}, TypeError, "give a member"),
        ([0, 0], ValueError, "2 events for 3 instances; give one event, or one for each"),
        ([0, 1, 3], ValueError, "an event index is out of range; those of dma are 0 to 2"),
        ([0, 1, -1], ValueError, "an event index is out of range; those of dma are 0 to 2"),
        ([0.0, 1.0, 1.0], TypeError, "event has dtype float64; give integers"),
        (["start", "start", "start"], TypeError, "event has dtype <U5; give integers"),
        ([dma.Event.START] * 3, TypeError, "event has dtype object; give integers"),
        (np.zeros((3, 1), dtype=int), ValueError, r"event has shape \(3, 1\); give one dimension"),
    ],
)
def test_a_bad_event_is_refused_and_nothing_changes(event: Any, error: type[Exception], message: str) -> None:
    fleet = Fleet(dma.TABLE, 3)
    fleet.step("start", [1])
    before = whole(fleet)
    with pytest.raises(error, match=message):
        fleet.step(event)
    assert whole(fleet) == before


def test_a_member_of_another_machine_with_the_same_name_is_no_event() -> None:
    fleet = Fleet(kv.TABLE, 1)
    with pytest.raises(ValueError, match="kv has no event <Event\\.RESET: 'reset'>"):
        fleet.step(buffer.Event.RESET)


@pytest.mark.parametrize("index", [3, -1])
def test_looking_at_an_instance_that_is_not_there_is_an_error(index: int) -> None:
    fleet = Fleet(dma.TABLE, 3)
    for look in (fleet.state_of, fleet.data_of):
        with pytest.raises(IndexError, match=f"{index} is not an instance of this fleet; they are 0 to 2"):
            look(index)


def test_an_unknown_variable_is_an_error() -> None:
    with pytest.raises(KeyError, match=r"buffer has no variable 'taint'; did you mean 'tainted'\?"):
        Fleet(buffer.TABLE, 1).data("taint")
    with pytest.raises(KeyError, match="dma has no variable 'n'; it has none"):
        Fleet(dma.TABLE, 1).data("n")


@pytest.mark.parametrize("count", [-1, True])
def test_a_bad_count_is_an_error(count: int) -> None:
    with pytest.raises(ValueError, match=f"a fleet of {count} instances; give 0 or more"):
        Fleet(dma.TABLE, count)


def test_a_count_that_is_no_integer_is_an_error() -> None:
    with pytest.raises(TypeError):
        Fleet(dma.TABLE, 2.0)  # type: ignore[arg-type]


def test_an_unknown_parameter_is_an_error() -> None:
    with pytest.raises(TypeError, match="kv has no parameter 'length'; it has max_length"):
        Fleet(kv.TABLE, 1, length=3)


def test_what_is_shown_is_a_copy() -> None:
    fleet = Fleet(device.TABLE, 3)
    before = whole(fleet)
    fleet.states[:] = 1
    fleet.data("rejects")[:] = 1
    fleet.stays.clear()
    assert whole(fleet) == before


def test_a_step_remembers_its_instances_when_the_caller_reuses_the_array() -> None:
    fleet = Fleet(dma.TABLE, 3)
    indices = np.array([0, 1])
    step = fleet.step("start", indices)
    indices[:] = 2
    fleet.step("finish")
    assert step.moved.tolist() == [0, 1]


def test_fleets_of_one_table_do_not_share_anything() -> None:
    one, other = Fleet(dma.TABLE, 2), Fleet(dma.TABLE, 2)
    before = whole(other)
    one.step("start")
    one.step("start")
    assert whole(other) == before


def test_a_machine_with_too_many_configurations_is_refused_when_the_fleet_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fleet_module, "MAX_CONFIGURATIONS", 10)
    assert len(Fleet(counter(high=9), 1)) == 1
    with pytest.raises(ValueError, match="counter has more than 10 configurations with high = 10"):
        Fleet(counter(high=10), 1)


def test_a_long_counter_fits() -> None:
    fleet = Fleet(counter(high=32768), 2)
    for _ in range(3):
        fleet.step("more", [1])
    assert fleet.data("n").tolist() == [0, 3]


def test_an_update_that_leaves_its_domain_is_found_when_the_fleet_is_made() -> None:
    table = counter(high=3, guarded=False)
    with pytest.raises(ValueError, match="n of counter would be 4 in here; with high = 3 it is 0 to 3"):
        Fleet(table, 1)


def test_parameters_that_exclude_the_initial_value_are_found_when_the_fleet_is_made() -> None:
    with pytest.raises(ValueError, match="length of kv would be 0 in vacant; with max_length = -1 it is 0 to -1"):
        Fleet(kv.TABLE, 1, max_length=-1)


def counter(high: int, *, stay: str | None = None, guarded: bool = True) -> Table:
    """A machine of one state that counts to `high` and then refuses, or leaves its domain when not `guarded`."""
    guard = ("<", ("var", 0), ("param", "high")) if guarded else None
    more = AlternativeRow(guard, 0, stay, ((0, ("+", ("var", 0), ("int", 1))),))
    return Table(
        name="counter",
        doc="",
        digest="",
        params=(ParamRow("high", high, 1),),
        variables=(VariableRow("n", "int", ("int", 0), ("param", "high"), ("int", 0)),),
        states=(StateRow("here", "", initial=True),),
        events=(EventRow("more", "engine"),),
        cells=(((more,),),),
    )
