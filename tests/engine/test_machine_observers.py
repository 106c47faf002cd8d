"""Observers are told of moves that are done, as values, and cannot undo them or keep them from each other."""

from __future__ import annotations

from typing import Any

import pytest

from calfsm.engine import Machine, Move, Refused
from calfsm.tables import buffer, dma

MOVED = Move("dma", dma.Event.START, dma.State.QUIET, dma.State.ACTIVE)


def failing(error: BaseException) -> Any:
    def observer(move: Move) -> None:
        raise error

    return observer


def test_an_observer_is_told_after_the_move_is_done() -> None:
    machine = Machine(buffer.TABLE)
    told: list[tuple[Move, Any, Any]] = []
    machine.observe(lambda move: told.append((move, machine.state, machine.data)))
    for event in ("create", "acquire", "submit_ok"):
        machine.fire(event)
    move = machine.fire("ccu_exception")
    assert told[-1] == (move, buffer.State.COMPLETING, {"tainted": True})
    assert [move.target for move, _, _ in told] == [state for _, state, _ in told]


def test_an_observer_is_told_of_stays_and_they_are_counted_by_then() -> None:
    machine = Machine(dma.TABLE)
    told: list[tuple[str | None, int]] = []
    machine.observe(lambda move: told.append((move.stay, machine.stays[move.source, move.event])))
    machine.fire("finish")
    assert told == [("Already quiet.", 1)]


def test_an_observer_is_not_told_of_refusals() -> None:
    machine = Machine(buffer.TABLE)
    told: list[Move] = []
    machine.observe(told.append)
    for event in ("acquire", "nonsense", None):
        with pytest.raises(Refused):
            machine.fire(event)  # type: ignore[arg-type]
    assert told == []


def test_observers_are_told_in_the_order_they_came() -> None:
    machine = Machine(dma.TABLE)
    told: list[str] = []
    for name in ("first", "second", "third"):
        machine.observe(lambda move, name=name: told.append(name))  # type: ignore[misc]
    machine.fire("start")
    assert told == ["first", "second", "third"]


def test_an_observer_that_raises_stops_neither_the_others_nor_the_move() -> None:
    machine = Machine(dma.TABLE)
    told: list[Move] = []
    errors = ValueError("one"), KeyError("two")
    machine.observe(failing(errors[0]))
    machine.observe(told.append)
    machine.observe(failing(errors[1]))
    machine.observe(told.append)
    with pytest.raises(ExceptionGroup, match="dma: quiet -start-> active is done; observers raised") as raised:
        machine.fire("start")
    assert raised.value.exceptions == errors
    assert told == [MOVED, MOVED]
    assert machine.state is dma.State.ACTIVE


def test_a_machine_goes_on_after_an_observer_raised() -> None:
    machine = Machine(dma.TABLE)
    stop = machine.observe(failing(ValueError()))
    with pytest.raises(ExceptionGroup):
        machine.fire("finish")
    assert machine.stays.total() == 1
    stop()
    assert machine.fire("start") == MOVED


def test_an_interrupt_in_an_observer_goes_straight_through_and_the_move_stands() -> None:
    machine = Machine(dma.TABLE)
    machine.observe(failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        machine.fire("start")
    assert machine.state is dma.State.ACTIVE


def test_an_observer_added_during_a_notification_is_told_from_the_next_event_on() -> None:
    machine = Machine(dma.TABLE)
    told: list[Move] = []

    def add(move: Move) -> None:
        machine.observe(told.append)

    stop = machine.observe(add)
    machine.fire("start")
    assert told == []
    stop()
    machine.fire("finish")
    assert [move.event for move in told] == [dma.Event.FINISH]


def test_an_observer_removed_during_a_notification_hears_this_event_and_no_other() -> None:
    machine = Machine(dma.TABLE)
    told: list[Move] = []
    machine.observe(lambda move: stop())
    stop = machine.observe(told.append)
    machine.fire("start")
    machine.fire("finish")
    assert told == [MOVED]


def test_an_observer_may_remove_itself() -> None:
    machine = Machine(dma.TABLE)
    told: list[Move] = []

    def once(move: Move) -> None:
        told.append(move)
        stop()

    stop = machine.observe(once)
    machine.fire("start")
    machine.fire("finish")
    assert told == [MOVED]


def test_an_observer_given_twice_is_told_twice_and_stopped_one_at_a_time() -> None:
    machine = Machine(dma.TABLE)
    told: list[Move] = []
    observer = told.append
    stop, stop_other = machine.observe(observer), machine.observe(observer)
    machine.fire("start")
    assert len(told) == 2
    stop()
    stop()
    machine.fire("finish")
    assert len(told) == 3
    stop_other()
    machine.fire("start")
    assert len(told) == 3


def test_an_observer_may_fire_and_then_the_later_ones_hear_the_inner_move_first() -> None:
    machine = Machine(dma.TABLE)
    told: list[str] = []

    def finish_at_once(move: Move) -> None:
        if move.event is dma.Event.START:
            machine.fire("finish")

    machine.observe(finish_at_once)
    machine.observe(lambda move: told.append(str(move.event)))
    machine.fire("start")
    assert machine.state is dma.State.QUIET
    assert told == ["finish", "start"]


def test_an_event_refused_inside_an_observer_is_reported_and_both_machines_stand() -> None:
    machine, other = Machine(dma.TABLE), Machine(buffer.TABLE)

    def acquire(move: Move) -> None:
        other.fire("acquire")

    machine.observe(acquire)
    with pytest.raises(ExceptionGroup) as raised:
        machine.fire("start")
    assert raised.group_contains(Refused, match="buffer in absent refuses acquire; it takes create")
    assert (machine.state, other.state) == (dma.State.ACTIVE, buffer.State.ABSENT)
