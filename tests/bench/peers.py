"""The same two machines in each library, each as its documentation writes them, driven the quickest way it offers.

`ring`: eight states, one event. `cycle`: the life of a buffer, from `create` to `retire`, whose `recycle` has the guard
`not tainted` wherever the library has guards (Automat has none).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

import automat
import sismic.interpreter
import sismic.io
import statemachine
import transitions

from calfsm.engine import Machine
from calfsm.engine.table import AlternativeRow, EventRow, StateRow, Table
from calfsm.tables import buffer
from tests.bench import by_hand
from tests.bench.rounds import Subject

Moves = tuple[tuple[str, str, str], ...]
"""(source, event, target)."""

CYCLE = ("create", "acquire", "submit_ok", "status_running", "done", "recycle", "retire")
MOVES = (
    ("absent", "create", "free"),
    ("free", "acquire", "preparing"),
    ("preparing", "submit_ok", "submitted"),
    ("submitted", "status_running", "running"),
    ("running", "done", "completing"),
    ("completing", "recycle", "free"),
    ("free", "retire", "absent"),
)
RING = tuple((f"s{i}", "next", f"s{(i + 1) % 8}") for i in range(8))

OURS, BY_HAND = "calfsm Machine", "by hand"


def ring() -> list[Subject]:
    """Every library's ring, one turn of eight events a pass."""
    return [
        Subject(OURS, _repeated(Machine(ring_table()).fire, 8), 8),
        Subject(BY_HAND, _repeated(by_hand.ByHand(by_hand.RING, "s0").fire, 8), 8),
        Subject("Automat", _calls([_automat(RingInputs, RING).next] * 8), 8),
        Subject("transitions", _calls([transitions_ring().next] * 8), 8),
        Subject("sismic", _sismic(RING, "s0", ("next",) * 8), 8),
        Subject("python-statemachine", _calls([_statemachine(RING, "s0").next] * 8), 8),
    ]


def cycle() -> list[Subject]:
    """Every library's buffer, one life of seven events a pass."""
    members = tuple(buffer.Event(name) for name in CYCLE)
    size = len(CYCLE)
    return [
        Subject(OURS, _sent(Machine(buffer.TABLE).fire, members), size),
        Subject(BY_HAND, _sent(by_hand.ByHand(by_hand.BUFFER, "absent").fire, CYCLE), size),
        Subject("Automat", _methods(_automat(BufferInputs, MOVES)), size),
        Subject("transitions", _methods(_transitions(MOVES, "absent")), size),
        Subject("sismic", _sismic(MOVES, "absent", CYCLE), size),
        Subject("python-statemachine", _methods(_statemachine(MOVES, "absent")), size),
    ]


def ring_table() -> Table:
    """Our ring."""
    return Table(
        name="ring",
        doc="",
        digest="",
        params=(),
        variables=(),
        states=tuple(StateRow(f"s{i}", "", i == 0) for i in range(8)),
        events=(EventRow("next", "engine"),),
        cells=tuple(((AlternativeRow(None, (i + 1) % 8),),) for i in range(8)),
    )


def transitions_ring() -> Any:
    """A model of the `transitions` ring, with its method `next`."""
    return _transitions(RING, "s0")


def _repeated(fire: Callable[[Any], object], times: int) -> Callable[[], object]:
    return _sent(fire, ("next",) * times)


def _sent(fire: Callable[[Any], object], events: tuple[Any, ...]) -> Callable[[], object]:
    def run() -> None:
        for event in events:
            fire(event)

    return run


def _calls(calls: list[Callable[[], object]]) -> Callable[[], object]:
    def run() -> None:
        for call in calls:
            call()

    return run


def _methods(machine: Any) -> Callable[[], object]:
    return _calls([getattr(machine, name) for name in CYCLE])


def _names(moves: Moves) -> list[str]:
    return list(dict.fromkeys(name for source, _, target in moves for name in (source, target)))


class RingInputs(Protocol):
    """What Automat's ring takes."""

    def next(self) -> None:
        """The next state."""


class BufferInputs(Protocol):
    """What Automat's buffer takes."""

    def create(self) -> None:
        """Its pool is made."""

    def acquire(self) -> None:
        """A job takes it."""

    def submit_ok(self) -> None:
        """The runtime has it."""

    def status_running(self) -> None:
        """The runtime works on it."""

    def done(self) -> None:
        """The runtime is done with it."""

    def recycle(self) -> None:
        """It goes back."""

    def retire(self) -> None:
        """Its pool is dropped."""


def _automat(inputs: Any, moves: Moves) -> Any:
    """The first move starts in the initial state, which is the one that is declared first."""
    builder: Any = automat.TypeMachineBuilder(inputs, object)
    states = {name: builder.state(name) for name in _names(moves)}
    for source, event, target in moves:
        states[source].upon(getattr(inputs, event)).to(states[target]).returns(None)
    return builder.build()(object())


class _Buffer:
    tainted = False

    def is_tainted(self) -> bool:
        return self.tainted


def _transitions(moves: Moves, initial: str) -> Any:
    logging.getLogger("transitions").setLevel(logging.WARNING)
    model: Any = _Buffer()
    machine = transitions.Machine(model, states=_names(moves), initial=initial, auto_transitions=False)
    for source, event, target in moves:
        machine.add_transition(event, source, target, unless=["is_tainted"] if event == "recycle" else None)
    return model


def _sismic(moves: Moves, initial: str, events: tuple[str, ...]) -> Callable[[], object]:
    lines = ["statechart:", "  name: bench", "  preamble: tainted = False", "  root state:"]
    lines += ["    name: root", f"    initial: {initial}", "    states:"]
    for state in _names(moves):
        lines += [f"      - name: {state}", "        transitions:"]
        for source, event, target in moves:
            if source == state:
                lines += [f"          - event: {event}", f"            target: {target}"]
                lines += ["            guard: not tainted"] if event == "recycle" else []
    interpreter = sismic.interpreter.Interpreter(sismic.io.import_from_yaml("\n".join(lines)))
    interpreter.execute()

    def run() -> None:
        for event in events:
            interpreter.queue(event).execute_once()

    run()
    assert interpreter.configuration == ["root", initial], "sismic ignores what it does not take"
    return run


def _statemachine(moves: Moves, initial: str) -> Any:
    states = {name: statemachine.State(initial=name == initial) for name in _names(moves)}
    events: dict[str, Any] = {}
    for source, event, target in moves:
        made = states[source].to(states[target], **({"unless": "tainted"} if event == "recycle" else {}))
        events[event] = events[event] | made if event in events else made
    body = {**states, **events, "tainted": False}
    metaclass: Any = type(statemachine.StateMachine)
    return metaclass("Bench", (statemachine.StateMachine,), body)()
