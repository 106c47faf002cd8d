"""One machine: what it takes, what it refuses, and that a refusal changes nothing."""

from __future__ import annotations

import copy
import enum
import pickle
import sys
from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calfsm.engine import Machine, Move, Refused, Table
from calfsm.engine.table import AlternativeRow, EventRow, StateRow, VariableRow, Word, value_of
from calfsm.tables import buffer, device, dma, job, kv, model, request
from tests.engine.reference import Reference
from tests.engine.strategies import REAL, overrides, tables

MODULES = (buffer, device, dma, job, kv, model, request)


class Impostor(enum.Enum):
    """Has the names of buffer's events, and nothing else in common."""

    ACQUIRE = "acquire"
    RESET = "reset"


class Speaker:
    """Says that it is `acquire`, and is no string."""

    def __str__(self) -> str:
        return "acquire"


def after(table: Table, *events: Word | str, **params: int) -> Machine:
    machine = Machine(table, **params)
    for event in events:
        machine.fire(event)
    return machine


def whole(machine: Machine) -> tuple[Any, ...]:
    """Everything a machine shows, but its counters."""
    return machine.state, machine.data, machine.takes(), repr(machine)


def every_configuration(table: Table) -> dict[str, tuple[str, ...]]:
    """The shortest way to each configuration of a machine that stands alone, breadth first; keyed by how it prints."""
    ways: dict[str, tuple[str, ...]] = {repr(Machine(table)): ()}
    todo: deque[tuple[str, ...]] = deque([()])
    while todo:
        way = todo.popleft()
        for row in table.events:
            machine = after(table, *way)
            if became(machine, row.name) == "refused" or repr(machine) in ways:
                continue
            ways[repr(machine)] = (*way, row.name)
            todo.append((*way, row.name))
    return ways


def became(machine: Machine, event: Any) -> str:
    try:
        return "moved" if machine.fire(event).stay is None else "stayed"
    except Refused:
        return "refused"


# ---- taking events


def test_a_new_machine_is_in_its_initial_state_with_its_initial_data() -> None:
    machine = Machine(device.TABLE)
    assert machine.state is device.State.READY
    assert machine.data == {"resets": 0, "rejects": 0}
    assert machine.table is device.TABLE
    assert repr(machine) == "<device in ready, resets=0, rejects=0>"
    assert not machine.stays
    assert not machine.refusals


def test_a_move_says_what_it_did() -> None:
    machine = after(buffer.TABLE, "create")
    move = machine.fire(buffer.Event.ACQUIRE)
    assert move == Move("buffer", buffer.Event.ACQUIRE, buffer.State.FREE, buffer.State.PREPARING, None)
    assert str(move) == "buffer: free -acquire-> preparing"
    assert machine.state is buffer.State.PREPARING


def test_an_event_may_be_given_by_its_name() -> None:
    by_member, by_name = after(buffer.TABLE, "create"), after(buffer.TABLE, "create")
    assert by_member.fire(buffer.Event.ACQUIRE) == by_name.fire("acquire")
    assert whole(by_member) == whole(by_name)


def test_a_stay_gives_its_reason_and_is_counted() -> None:
    machine = Machine(buffer.TABLE)
    move = machine.fire("cancel")
    assert move.stay == "Nothing to cancel."
    assert str(move) == "buffer in absent stays on cancel: Nothing to cancel."
    machine.fire(buffer.Event.CANCEL)
    assert machine.stays == {(buffer.State.ABSENT, buffer.Event.CANCEL): 2}
    assert machine.state is buffer.State.ABSENT


def test_a_stay_may_set_data() -> None:
    table = two_states(stay_sets=((0, ("int", 1)),))
    machine = after(table, "knock")
    assert machine.state is table.State.SHUT  # type: ignore[attr-defined]
    assert machine.data == {"heard": True}


def test_a_timed_out_buffer_is_not_handed_out_again_before_it_is_rebuilt() -> None:
    machine = after(buffer.TABLE, "create", "acquire", "submit_ok", "wait_timeout")
    assert machine.state is buffer.State.QUARANTINED
    with pytest.raises(Refused, match=r"^buffer in quarantined refuses acquire; it takes rebuilt or retire$"):
        machine.fire(buffer.Event.ACQUIRE)
    assert machine.fire("rebuilt").target is buffer.State.FREE


def test_a_tainted_buffer_goes_to_quarantine_and_comes_back_clean() -> None:
    machine = after(buffer.TABLE, "create", "acquire", "submit_ok", "ccu_exception")
    assert machine.data == {"tainted": True}
    assert machine.fire("recycle").target is buffer.State.QUARANTINED
    assert machine.fire("rebuilt").target is buffer.State.FREE
    assert machine.data == {"tainted": False}


@given(data=st.data(), table=tables())
def test_a_machine_does_what_its_table_says(data: st.DataObject, table: Table) -> None:
    params = data.draw(overrides(table), label="params")
    machine, reference = Machine(table, **params), Reference(table, **params)
    events = st.lists(st.sampled_from([row.name for row in table.events]), min_size=1, max_size=15)
    for event in data.draw(events, label="events"):
        assert became(machine, event) == reference.fire(event)
        assert str(machine.state) == reference.state
        assert list(machine.data.values()) == [
            value_of(row, value) for row, value in zip(table.variables, reference.data, strict=True)
        ]
        assert machine.takes() == [
            row.name
            for row in table.events
            if (answer := reference.answer(row.name)) is not None and answer.stay is None
        ]


# ---- refusing


@pytest.mark.parametrize("table", REAL, ids=lambda table: table.name)
def test_every_pair_of_configuration_and_event_moves_stays_or_refuses_as_the_table_says(table: Table) -> None:
    """And a refusal names the machine, the state, the event and what would be taken, and changes nothing."""
    seen = set()
    for way in every_configuration(table).values():
        reference = Reference(table)
        for event in way:
            reference.fire(event)
        seen.add(reference.state)
        for row, member in zip(table.events, table.event_members, strict=True):
            forms: tuple[Word | str, ...] = (member, row.name)
            for given_event in forms:
                machine, expected = after(table, *way), copy.deepcopy(reference.data)
                before = whole(machine)
                if reference.answer(row.name) is not None:
                    move = machine.fire(given_event)
                    assert (move.machine, str(move.source), move.event) == (table.name, reference.state, member)
                    assert move.target is machine.state
                    continue
                with pytest.raises(Refused) as refused:
                    machine.fire(given_event)
                assert whole(machine) == before
                assert reference.data == expected
                error = refused.value
                assert (error.subject, error.state, error.event) == (table.name, reference.state, row.name)
                assert list(error.takes) == machine.takes()
                assert str(error).startswith(f"{table.name} in {reference.state} refuses {row.name}")
                assert all(name in str(error) for name in error.takes)
                assert machine.refusals == {(machine.state, row.name): 1}
    assert seen == {row.name for row in table.states}, "every state is reached"


def foreign_events(table: Table) -> list[Any]:
    """What is no event of a table: others' members, states, misspelt names, and values of every other kind."""
    members: list[Any] = [
        member
        for module in MODULES
        for kind in (module.TABLE.Event, module.TABLE.State)
        for member in kind
        if kind is not table.Event
    ]
    names = [row.name for row in table.events]
    misspelt = [name.upper() for name in names] + [f" {name}" for name in names] + [name[:-1] for name in names]
    others: list[Any] = [
        "",
        "no such event",
        0,
        1,
        -1,
        True,
        1.5,
        None,
        (),
        b"reset",
        frozenset(),
        object,
        Speaker(),
        *Impostor,
    ]
    return members + misspelt + others + [float("nan")]


@pytest.mark.parametrize("table", REAL, ids=lambda table: table.name)
def test_a_foreign_event_is_refused_in_every_state_and_moves_nothing(table: Table) -> None:
    for way in every_configuration(table).values():
        machine = after(table, *way)
        before, stays = whole(machine), machine.stays.copy()
        for event in foreign_events(table):
            with pytest.raises(Refused) as refused:
                machine.fire(event)
            assert refused.value.why == f"{table.name} has no event {event!r}"
            assert refused.value.event == str(event)
        assert (whole(machine), machine.stays) == (before, stays)
        assert machine.refusals.total() == len(foreign_events(table))


@pytest.mark.parametrize("event", [[], {}, set(), ["reset"], bytearray(b"reset")])
def test_an_event_that_cannot_be_hashed_is_a_type_error_and_moves_nothing(event: Any) -> None:
    machine = after(buffer.TABLE, "create")
    before = whole(machine)
    with pytest.raises(TypeError, match="unhashable"):
        machine.fire(event)
    assert whole(machine) == before


def test_a_foreign_member_with_a_known_name_is_told_apart() -> None:
    machine = after(buffer.TABLE, "create")
    with pytest.raises(Refused, match=r"refuses reset \(buffer has no event <Event\.RESET: 'reset'>\); it takes"):
        machine.fire(kv.Event.RESET)
    assert machine.state is buffer.State.FREE
    assert machine.fire(buffer.Event.RESET).target is buffer.State.QUARANTINED


def test_a_guard_that_does_not_hold_is_named_with_the_data_it_saw() -> None:
    machine = after(kv.TABLE, "open", max_length=0)
    with pytest.raises(Refused) as refused:
        machine.fire("reserve")
    assert refused.value.why == "its guard does not hold with length = 0, target = 0, job = none"
    assert str(refused.value) == f"kv in held refuses reserve ({refused.value.why}); it takes release or reset"
    assert machine.state is kv.State.HELD


def test_a_refusal_by_a_state_that_takes_nothing_says_so() -> None:
    with pytest.raises(Refused, match=r"^door in open refuses close; it takes nothing$"):
        after(two_states(), "open").fire("close")


def test_refusals_are_counted_by_state_and_event() -> None:
    machine = Machine(buffer.TABLE)
    for event in ("acquire", "acquire", "nonsense"):
        with pytest.raises(Refused):
            machine.fire(event)
    assert machine.refusals == {(buffer.State.ABSENT, "acquire"): 2, (buffer.State.ABSENT, "nonsense"): 1}
    assert not machine.stays


def test_a_refusal_can_be_pickled() -> None:
    with pytest.raises(Refused) as refused:
        Machine(buffer.TABLE).fire("acquire")
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.takes) == (str(refused.value), refused.value.takes)


# ---- parameters


def test_parameters_have_their_serving_values_unless_given() -> None:
    assert after(device.TABLE, *["rejected"] * 8).state is device.State.READY
    assert after(device.TABLE, *["rejected"] * 3, max_rejects=2).state is device.State.DRAINING


def test_machines_with_the_same_parameters_share_rows_and_nothing_else() -> None:
    one, other = Machine(device.TABLE, max_resets=1), Machine(device.TABLE, max_resets=1)
    one.fire("fault")
    assert (one.state, other.state) == (device.State.DRAINING, device.State.READY)
    assert device.TABLE.rows(max_resets=1) is device.TABLE.rows(max_resets=1)
    assert device.TABLE.rows(max_resets=1) is not device.TABLE.rows(max_resets=2)


def test_an_unknown_parameter_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(TypeError, match="device has no parameter 'max_reset'; it has max_resets, max_rejects"):
        Machine(device.TABLE, max_reset=1)
    with pytest.raises(TypeError, match="dma has no parameter 'table'; it has none"):
        Machine(dma.TABLE, table=1)


@pytest.mark.parametrize("table", [buffer, "buffer", None, buffer.TABLE.rows()])
def test_a_machine_of_anything_but_a_table_is_a_type_error_that_says_where_tables_are(table: Any) -> None:
    with pytest.raises(TypeError, match=r"Machine runs a Table, not .*; a generated module has one: module\.TABLE"):
        Machine(table)


@pytest.mark.parametrize("value", [2.0, "2", None, True])
def test_a_parameter_that_is_no_integer_is_an_error(value: Any) -> None:
    with pytest.raises(TypeError, match=f"parameter max_resets of device is {value!r}; give an integer"):
        Machine(device.TABLE, max_resets=value)


# ---- copies


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.TABLE.name)
def test_states_and_events_stay_themselves_when_copied_and_pickled(module: Any) -> None:
    for member in (*module.State, *module.Event):
        assert pickle.loads(pickle.dumps(member)) is member
        assert copy.copy(member) is member
        assert copy.deepcopy(member) is member


def test_moves_can_be_pickled() -> None:
    move = Machine(buffer.TABLE).fire("create")
    assert pickle.loads(pickle.dumps(move)) == move


def test_a_deep_copy_of_a_machine_goes_its_own_way() -> None:
    machine = after(buffer.TABLE, "create", "cancel")
    other = copy.deepcopy(machine)
    other.fire(buffer.Event.ACQUIRE)
    other.fire(buffer.Event.DONE)
    assert (machine.state, other.state) == (buffer.State.FREE, buffer.State.PREPARING)
    assert (machine.stays.total(), other.stays.total()) == (1, 2)


def test_a_machine_has_no_room_for_misspelt_attributes() -> None:
    machine = Machine(dma.TABLE)
    with pytest.raises(AttributeError):
        machine.State = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        machine.state = dma.State.ACTIVE  # type: ignore[misc]
    assert sys.getsizeof(machine) < 200


def two_states(stay_sets: tuple[tuple[int, Any], ...] = ()) -> Table:
    """A door that opens once; while it is shut, one may knock."""
    return Table(
        name="door",
        doc="",
        digest="",
        params=(),
        variables=(VariableRow("heard", "bool", ("int", 0), ("int", 1), ("int", 0)),),
        states=(StateRow("shut", "", initial=True), StateRow("open", "", final=True)),
        events=(EventRow("open", "client"), EventRow("close", "engine"), EventRow("knock", "client")),
        cells=(
            ((AlternativeRow(None, 1),), None, (AlternativeRow(None, 0, "nobody opens", stay_sets),)),
            (None, None, None),
        ),
    )
