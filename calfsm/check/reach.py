"""Ways through a machine: every state is reached, and left again for a state where a life may end or begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from calfsm.check.wording import quoted
from calfsm.check.written import alternatives, part_of
from calfsm.spec.findings import Finding
from calfsm.spec.model import MachineSpec, State
from calfsm.spec.yaml_text import DataPath

Moves = Mapping[str, frozenset[str]]


def moves(spec: MachineSpec) -> Moves:
    """Where each state can move to, guards aside. A state that is misspelt may be any, so a move there leads to all."""
    found: dict[str, set[str]] = {state: set() for state in spec.states}
    for path, event, alternative in alternatives(spec):
        if alternative.to is not None:
            for state in answering(spec, path, event):
                found[state].update([alternative.to] if alternative.to in spec.states else spec.states)
    return {state: frozenset(targets) for state, targets in found.items()}


def reached(ways: Moves, start: Iterable[str]) -> set[str]:
    """The states reached from some states, these included."""
    seen = set(start)
    waiting = list(seen)
    while waiting:
        new = ways[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def reached_states(spec: MachineSpec) -> Iterator[Finding]:
    """Every state can be reached from the initial one."""
    if not spec.states:
        return
    seen = reached(moves(spec), [spec.initial])
    for state in spec.states:
        if state not in seen:
            yield Finding(
                "unreachable",
                spec.places.key("states", state),
                f"{spec.name} never reaches `{state}`",
                f"no path leads there from the initial state `{spec.initial}`",
                f"write a cell that moves to `{state}`, or remove the state",
            )


def ways_out(spec: MachineSpec) -> Iterator[Finding]:
    """Every state that is not final can be left."""
    for state, targets in moves(spec).items():
        if not spec.states[state].final and not targets - {state}:
            yield Finding(
                "dead-end",
                spec.places.key("states", state),
                f"{spec.name} never leaves `{state}`",
                "no cell of it moves to another state, and it is not final",
                f"write a cell that leaves it, or mark it: `{state}: {{final: true}}`",
            )


def ways_home(spec: MachineSpec) -> Iterator[Finding]:
    """From every state a final, outcome or initial state can be reached."""
    ways = moves(spec)
    ends = [name for name, state in spec.states.items() if _is_end(state)]
    if not ends:
        return  # no initial state is a finding of its own
    for state, targets in ways.items():
        leaves = bool(targets - {state})
        if leaves and not reached(ways, [state]).intersection(ends):
            yield Finding(
                "no-way-home",
                spec.places.key("states", state),
                f"{spec.name} gets from `{state}` to no state where a life may end",
                f"such states are {quoted(ends)}",
                "write a cell that leads back, or mark where a life ends with `final` or `outcome`",
            )


def _is_end(state: State) -> bool:
    return state.final or state.outcome or state.initial


def final_states_stay(spec: MachineSpec) -> Iterator[Finding]:
    """A final state is never left: neither by its own row, nor by `anywhere`."""
    for path, event, alternative in alternatives(spec):
        if alternative.to is None:
            continue
        for state in answering(spec, path, event):
            if spec.states[state].final:
                yield Finding(
                    "final-left",
                    spec.places.value(*part_of(spec.places, path, "to")),
                    f"`{event}` leaves `{state}`, which is final",
                    "a final state is never left; `outcome` marks a state where a life ends and the slot lives on",
                    f"mark `{state}` with `outcome`, or answer `{event}` there with `stay`",
                )


def answering(spec: MachineSpec, path: DataPath, event: str) -> list[str]:
    """The states that answer an event with the cell at a path: its own, or all that leave it to `anywhere`."""
    if path[0] == "anywhere":
        return [state for state in spec.states if event not in spec.transitions.get(state, {})]
    return [str(path[1])] if path[1] in spec.states else []


RULES = (reached_states, ways_out, ways_home, final_states_stay)
