"""A machine without guards does the same as a `transitions` machine, one of ours, and a fleet of them."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import transitions
from hypothesis import given
from hypothesis import strategies as st

import calfsm_transitions
from calfsm.engine import Fleet, Machine, Refused, Table
from calfsm.engine.code import Term
from calfsm.engine.table import AlternativeRow, CellRow, EventRow, ParamRow, StateRow, VariableRow
from calfsm.tables import buffer, device, dma, job, kv, model, request
from calfsm_transitions import GuardedMachine, to_transitions
from tests.engine.strategies import REAL, tables

GUARDED = (buffer.TABLE, device.TABLE, kv.TABLE, model.TABLE, request.TABLE)
UNGUARDED = (dma.TABLE, job.TABLE)


def table_of(states: list[str], events: list[str], cells: dict[tuple[str, str], str | None], final: str = "") -> Table:
    """A table from (state, event) to the name of a target, or None for a stay."""

    def cell(state: str, event: str) -> CellRow:
        if (state, event) not in cells:
            return None
        target = cells[state, event]
        return (AlternativeRow(None, states.index(target or state), "it stays" if target is None else None),)

    return Table(
        name="made",
        doc="",
        digest="",
        params=(),
        variables=(),
        states=tuple(StateRow(name, "", index == 0, name == final) for index, name in enumerate(states)),
        events=tuple(EventRow(name, "engine") for name in events),
        cells=tuple(tuple(cell(state, event) for event in events) for state in states),
    )


def model_of(machine: transitions.Machine) -> Any:
    return machine.model


def sent(machine: transitions.Machine, event: str) -> bool:
    """Send an event; whether it was taken."""
    try:
        assert model_of(machine).trigger(event)
    except transitions.MachineError as error:
        assert f"Can't trigger event {event} from state" in str(error)
        return False
    return True


def fired(machine: Machine, event: str) -> bool:
    try:
        machine.fire(event)
    except Refused:
        return False
    return True


def state_of(machine: transitions.Machine) -> str:
    name: str = machine.get_model_state(model_of(machine)).name
    return name


def run_side_by_side(table: Table, events: list[str]) -> None:
    theirs, ours, fleet = to_transitions(table), Machine(table), Fleet(table, 1)
    assert state_of(theirs) == str(ours.state)
    for event in events:
        taken = fired(ours, event)
        assert sent(theirs, event) is taken
        assert (len(fleet.step(event).refused) == 0) is taken
        assert state_of(theirs) == str(ours.state) == str(fleet.state_of(0))


def sequences(table: Table) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from([row.name for row in table.events]), min_size=1, max_size=30)


@pytest.mark.parametrize("table", UNGUARDED, ids=lambda table: table.name)
@given(data=st.data())
def test_a_real_machine_agrees_with_its_transitions_form(table: Table, data: st.DataObject) -> None:
    run_side_by_side(table, data.draw(sequences(table), label="events"))


@given(data=st.data(), table=tables(guards=False))
def test_a_made_up_machine_agrees_with_its_transitions_form(data: st.DataObject, table: Table) -> None:
    run_side_by_side(table, data.draw(sequences(table), label="events"))


def test_every_real_machine_is_either_converted_or_known_to_have_guards() -> None:
    assert {table.name for table in REAL} == {table.name for table in (*GUARDED, *UNGUARDED)}


@pytest.mark.parametrize("table", UNGUARDED, ids=lambda table: table.name)
def test_every_pair_of_state_and_event_has_one_transition_or_none(table: Table) -> None:
    machine = to_transitions(table)
    assert list(machine.states) == [row.name for row in table.states]
    assert list(machine.events) == [row.name for row in table.events]
    for state, row in enumerate(table.cells):
        for event, cell in enumerate(row):
            source = table.states[state].name
            found = machine.get_transitions(table.events[event].name, source)
            if cell is None:
                assert found == []
                continue
            target = None if cell[0].stay is not None else table.states[cell[0].target].name
            assert [(item.source, item.dest) for item in found] == [(source, target)]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (buffer.TABLE, "buffer in completing takes recycle only when `not tainted`; a machine with guards has no"),
        (device.TABLE, "device in ready takes rejected only when `rejects < max_rejects`"),
        (kv.TABLE, "kv in held takes reserve only when `length < max_length`"),
        (model.TABLE, "model in draining takes drained only when `leaving`"),
        (request.TABLE, "request in prefill takes reset only when `restarts < max_restarts`"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_machine_with_guards_is_refused_and_the_guard_is_named(table: Table, message: str) -> None:
    with pytest.raises(GuardedMachine, match=message):
        to_transitions(table)


@pytest.mark.parametrize(
    ("guard", "text"),
    [
        (("==", ("var", 0), ("int", 1)), "mode == fast"),
        (("!=", ("int", 0), ("var", 0)), "slow != mode"),
        (("not", ("in", ("var", 0), (0, 1))), "not (mode in {slow, fast})"),
        (("or", ("var", 1), (">", ("%", ("var", 2), ("int", 2)), ("int", -1))), "on or ((n % 2) > -1)"),
        (("==", ("var", 3), ("int", -1)), "who == none"),
        (("<=", ("var", 2), ("param", "most")), "n <= most"),
    ],
)
def test_a_guard_is_shown_in_the_words_of_the_spec(guard: Term, text: str) -> None:
    table = Table(
        name="made",
        doc="",
        digest="",
        params=(ParamRow("most", 3, 1),),
        variables=(
            VariableRow("mode", "enum", ("int", 0), ("int", 1), ("int", 0), ("slow", "fast")),
            VariableRow("on", "bool", ("int", 0), ("int", 1), ("int", 0)),
            VariableRow("n", "int", ("int", 0), ("int", 3), ("int", 0)),
            VariableRow("who", "ref", ("int", -1), ("int", -1), ("int", -1), (), "people"),
        ),
        states=(StateRow("here", "", initial=True),),
        events=(EventRow("go", "engine"),),
        cells=(((AlternativeRow(guard, 0),),),),
    )
    with pytest.raises(GuardedMachine) as refused:
        to_transitions(table)
    assert f"`{text}`" in str(refused.value)


def test_a_stay_runs_no_exit_or_enter_callback_and_a_move_to_the_same_state_does() -> None:
    machine = to_transitions(table_of(["here"], ["rest", "turn"], {("here", "rest"): None, ("here", "turn"): "here"}))
    calls: list[str] = []
    machine.get_state("here").add_callback("exit", lambda: calls.append("exit"))
    machine.get_state("here").add_callback("enter", lambda: calls.append("enter"))
    assert model_of(machine).trigger("rest")
    assert calls == []
    assert model_of(machine).trigger("turn")
    assert calls == ["exit", "enter"]


def test_an_event_that_every_state_refuses_is_known_and_an_unknown_one_is_not() -> None:
    machine = to_transitions(table_of(["here"], ["never"], {}))
    with pytest.raises(transitions.MachineError, match="Can't trigger event never from state here"):
        model_of(machine).trigger("never")
    with pytest.raises(AttributeError, match="Do not know event named 'ever'"):
        model_of(machine).trigger("ever")


def test_a_final_state_is_final_there_too() -> None:
    machine = to_transitions(table_of(["here", "gone"], ["go"], {("here", "go"): "gone"}, final="gone"))
    assert [state.final for state in machine.states.values()] == [False, True]


def test_there_are_no_automatic_transitions() -> None:
    machine = to_transitions(dma.TABLE)
    with pytest.raises(AttributeError):
        model_of(machine).trigger("to_active")
    assert not hasattr(model_of(machine), "to_active")


def test_the_methods_that_transitions_adds_are_there() -> None:
    machine = to_transitions(dma.TABLE)
    assert model_of(machine).is_quiet()
    assert model_of(machine).may_start()
    assert model_of(machine).start()
    assert model_of(machine).state == "active"


@pytest.mark.parametrize("name", ["trigger", "may_trigger", "state", "is_here", "may_is_here", "models", "add_model"])
def test_an_event_with_a_name_that_is_taken_can_be_sent(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    table = table_of(["here", "there"], [name, "is_there"], {("here", name): "there", ("there", "is_there"): "here"})
    run_side_by_side(table, [name, name, "is_there", "is_there", name])


def test_an_event_called_state_moves_the_attribute_aside() -> None:
    table = table_of(["here", "there"], ["state", "state_"], {("here", "state"): "there"})
    machine = to_transitions(table)
    assert machine.model_attribute == "state__"
    assert model_of(machine).trigger("state")
    assert model_of(machine).state__ == "there"


class Lamp:
    """A model of its own."""

    entered = 0

    def on_enter_active(self) -> None:
        self.entered += 1


def test_a_model_may_be_given_and_its_callbacks_run() -> None:
    lamp: Any = Lamp()
    machine = to_transitions(dma.TABLE, lamp)
    assert machine.models == [lamp]
    lamp.trigger("start")
    lamp.trigger("start")
    assert (lamp.state, lamp.entered) == ("active", 1)


def test_a_model_with_a_trigger_of_its_own_is_refused() -> None:
    lamp: Any = Lamp()
    to_transitions(dma.TABLE, lamp)
    with pytest.raises(ValueError, match="has a `trigger` of its own"):
        to_transitions(dma.TABLE, lamp)


def test_machines_made_from_one_table_are_apart() -> None:
    one, other = to_transitions(dma.TABLE), to_transitions(dma.TABLE)
    model_of(one).trigger("start")
    assert (state_of(one), state_of(other)) == ("active", "quiet")


def test_the_package_has_its_name() -> None:
    assert calfsm_transitions.NAME == "transitions"
