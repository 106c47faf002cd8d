"""Decisions: whatever the world may say, and whenever, the spec says what it does.

An event from outside is decided in every state, in its row or by `anywhere`. A state that awaits someone decides more,
in a row of its own: what happens when nobody answers, and what happens when the wait is interrupted. `anywhere` cannot
speak for it, because it is written for states in which nothing is out.

**What interrupts a wait** is read off the spec, without magic names: a client or recovery event that two or more other
states answer in rows of their own, or that the state just before the wait does (cancel, reset). An event that one state
elsewhere answers is a step in its life (rebuilt, restart). A wait may leave a client's event to `anywhere` when it is
only a repetition: when the wait lies behind that same event, on a way that passes no other state which answers it in
its row. A reset is never a repetition of an earlier one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from calfsm.check.reach import moves, reached
from calfsm.check.wording import quoted
from calfsm.check.written import alternatives, part_of, row_of
from calfsm.spec.findings import Finding, Severity, listed
from calfsm.spec.model import Cell, MachineSpec, Source


def outside_events(spec: MachineSpec) -> Iterator[Finding]:
    """Every state decides every event from outside."""
    named = {event for _, event, _ in spec.written_cells()}
    for state in spec.states:
        for event, declared in spec.events.items():
            if declared.by.outside and event in named and spec.cell(state, event) is None:
                row = spec.transitions.get(state, {})
                decides = f"decides {listed(row)} only" if row else "has no row"
                yield Finding(
                    "undecided",
                    spec.places.key(*(("transitions", state) if state in spec.transitions else ("states", state))),
                    f"{spec.name} does not say what `{event}` does in `{state}`",
                    f"a {declared.by.value} event can arrive in any state; `{state}` {decides}",
                    f"write `{event}: <state>`, or `{event}: {{stay: <why nothing changes>}}`",
                )


def waits_end(spec: MachineSpec) -> Iterator[Finding]:
    """A state that awaits someone has a deadline."""
    for name, state in spec.states.items():
        if state.awaits is not None and state.deadline is None:
            yield Finding(
                "awaits-without-deadline",
                spec.places.value("states", name, "awaits"),
                f"`{name}` of {spec.name} awaits {_spelt(state.awaits)} for ever",
                "a state that awaits someone says what happens when nobody answers",
                "write `deadline: {after: <duration>, event: <event>}` beside it",
            )


def _spelt(source: Source) -> str:
    return {"recovery": "the recovery", "engine": "the engine"}.get(source.value, f"the {source.value}")


def deadlines_taken(spec: MachineSpec) -> Iterator[Finding]:
    """A state with a deadline says itself what its event does."""
    for name, state in spec.states.items():
        event = state.deadline.event if state.deadline is not None else ""
        if event not in spec.events or event in spec.transitions.get(name, {}):
            continue
        cell = spec.cell(name, event)
        if cell is not None and _moves(cell):
            continue
        answer = "refuses it" if cell is None else "leaves it to `anywhere`, which stays"
        yield Finding(
            "deadline-not-taken",
            spec.places.value("states", name, "deadline", "event"),
            f"the deadline of `{name}` says `{event}`, which `{name}` does not take",
            f"its row {answer}: when nobody answers, nothing happens",
            f"write `{event}: <state>` in the row of `{name}`, or `{event}: {{stay: <who ends the wait instead>}}`",
        )


def waits_are_interrupted(spec: MachineSpec) -> Iterator[Finding]:
    """A state that awaits someone decides itself what interrupts it."""
    for name, state in spec.states.items():
        if state.awaits is None:
            continue
        for event in interruptions(spec, name):
            cell = spec.cell(name, event)
            if event in spec.transitions.get(name, {}) or cell is None or _moves(cell):
                continue
            if spec.events[event].by is Source.CLIENT and name in _behind(spec, event):
                continue
            others = [other for other in spec.states if event in spec.transitions.get(other, {})]
            yield Finding(
                "uninterrupted-wait",
                spec.places.key(*(("transitions", name) if name in spec.transitions else ("states", name))),
                f"`{name}` of {spec.name} awaits {_spelt(state.awaits)} and leaves `{event}` to `anywhere`",
                f"`anywhere` speaks for states with nothing out; `{event}` is decided in the rows of {quoted(others)}",
                f"write what `{event}` does in the row of `{name}`, if only `{event}: {{stay: <why it goes on>}}`",
            )


def interruptions(spec: MachineSpec, wait: str) -> list[str]:
    """The client and recovery events that interrupt a wait: many other states answer them, or the one just before."""
    rows = {state: row for state, row in spec.transitions.items() if state in spec.states and state != wait}
    before = [state for state, targets in moves(spec).items() if wait in targets]
    found = []
    for event, declared in spec.events.items():
        if declared.by in (Source.CLIENT, Source.RECOVERY):
            answering = [state for state, row in rows.items() if event in row]
            just_before = [s for s in answering if s in before and not _moves(rows[s][event], wait)]
            if len(answering) >= 2 or just_before:
                found.append(event)
    return found


def _behind(spec: MachineSpec, event: str) -> set[str]:
    """The states behind an event, on ways from where it leads that pass no other state which answers it itself."""
    ways = moves(spec)
    targets = {a.to for _, its_event, a in alternatives(spec) if its_event == event and a.to in spec.states}
    passed = {
        state: frozenset() if event in spec.transitions.get(state, {}) and state not in targets else ways[state]
        for state in spec.states
    }
    return reached(passed, [target for target in targets if target is not None])


def _moves(cell: Cell, target: str = "") -> bool:
    """Whether a cell moves, or moves to a target."""
    return any(a.to is not None and target in ("", a.to) for a in cell.alternatives)


def stays_have_reasons(spec: MachineSpec) -> Iterator[Finding]:
    """A cell that stays says why."""
    for path, event, alternative in alternatives(spec):
        if alternative.stay is not None and not alternative.stay.strip():
            yield Finding(
                "stay-without-reason",
                spec.places.value(*part_of(spec.places, path, "stay")),
                f"`{event}` in {row_of(path)} stays without a reason",
                "a reader has to see that nothing changes on purpose",
                f"write `{event}: {{stay: <why nothing changes>}}`",
            )


def nothing_said_twice(spec: MachineSpec) -> Iterator[Finding]:
    """A row does not repeat `anywhere`, and `anywhere` does not answer where every row does."""
    waits = {name: interruptions(spec, name) for name, state in spec.states.items() if state.awaits is not None}
    for state, row in spec.transitions.items():
        for event, cell in row.items():
            if cell == spec.anywhere.get(event) and not _must_repeat(spec, state, event, waits):
                yield Finding(
                    "redundant",
                    spec.places.key("transitions", state, event),
                    f"`{state}` answers `{event}` as `anywhere` does",
                    "what a row leaves out is answered by `anywhere`",
                    "remove it from the row, or say what is different there",
                    Severity.WARNING,
                )
    for event in spec.anywhere:
        if event in spec.events and all(event in spec.transitions.get(state, {}) for state in spec.states):
            yield Finding(
                "redundant",
                spec.places.key("anywhere", event),
                f"every state of {spec.name} answers `{event}` itself, so `anywhere` never does",
                "",
                "remove it from `anywhere`",
                Severity.WARNING,
            )


def _must_repeat(spec: MachineSpec, state: str, event: str, waits: Mapping[str, Collection[str]]) -> bool:
    """Whether a state has to answer an event in its own row: a wait its interruptions and its deadline."""
    declared = spec.states.get(state)
    if declared is None:
        return True
    due = declared.deadline is not None and declared.deadline.event == event
    return due or event in waits.get(state, ())


RULES = (
    outside_events,
    waits_end,
    deadlines_taken,
    waits_are_interrupted,
    stays_have_reasons,
    nothing_said_twice,
)
