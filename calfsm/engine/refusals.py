"""Why an action was refused, told to whoever asked for it. Nothing here is on the way of an action that is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calfsm.engine.binding import Bound, Participant
from calfsm.engine.code import Data
from calfsm.engine.instances import Instances
from calfsm.engine.steps import call_text
from calfsm.engine.table import Refused

DIVIDES = "divides by zero"


class ActionRefused(Refused):
    """An action was refused, and nothing has changed.

    `subject`, `state`, `event` and `takes` describe the participant that refused; they are empty when a guard, an empty
    reference or a value outside its domain did, and then `why` says so.
    """

    def __init__(self, action: str, why: str, cause: Refused | None = None) -> None:
        super().__init__(
            *(cause.subject, cause.state, cause.event, cause.takes, cause.why) if cause else ("", "", "", (), why)
        )
        self.args = (action, why, cause)
        self.action, self.reason = action, str(cause) if cause else why

    def __str__(self) -> str:
        return f"{self.action} refused: {self.reason}"


def why_not(instances: Instances, bound: Bound, arguments: Sequence[int]) -> ActionRefused:
    """The refusal of an action that is not done with these arguments: the first thing in its way."""
    reason = next(_reasons(instances, bound, arguments), "nothing is in its way")
    action = call_text(bound.row, arguments)
    return ActionRefused(action, "", reason) if isinstance(reason, Refused) else ActionRefused(action, reason)


def _reasons(instances: Instances, bound: Bound, arguments: Sequence[int]) -> Iterator[str | Refused]:
    for (name, allowed), value in zip(bound.allowed, arguments, strict=True):
        if value not in allowed:
            yield f"{name} is {value}; it may be {allowed.start} to {allowed.stop - 1}"
    for condition, conjunct in zip(bound.row.guards, bound.conjuncts, strict=True):
        try:
            if not conjunct(*arguments):
                yield f"`{condition.text}` does not hold"
        except ZeroDivisionError:
            yield f"`{condition.text}` {DIVIDES}"
    reached: dict[tuple[int, int], tuple[int, Data]] = {}
    for participant, found in zip(bound.participants, bound.find(*arguments), strict=True):
        for index in found:
            if index < 0:
                yield f"`{participant.row.text}` leads nowhere: the reference is empty"
            else:
                yield from _not_taken(instances, participant, index, reached)
    try:
        targets, values = bound.targets(*arguments), bound.values(*arguments)
    except ZeroDivisionError:
        yield f"what is set {DIVIDES}"
        return
    for setter, target, value in zip(bound.setters, targets, values, strict=True):
        if target < 0 or value is None:
            yield f"`{setter.row.text}` cannot be set: a reference is empty"
        elif not setter.low <= value <= setter.high:
            name = instances.system.parts[setter.part].table.variables[setter.variable].name
            yield f"`{setter.row.text}` would be {value}; {name} is {setter.low} to {setter.high}"


def _not_taken(
    instances: Instances, participant: Participant, index: int, reached: dict[tuple[int, int], tuple[int, Data]]
) -> Iterator[str | Refused]:
    """The first event that an instance does not take. `reached`: where earlier participants left instances."""
    part, rows = participant.part, instances.rows[participant.part]
    state, data = reached.get((part, index), (instances.states[part][index], instances.data[part][index]))
    for event in participant.events:
        cell = participant.cells[state][event]
        try:
            outcome = cell.choose(data) if cell is not None else None
            if outcome is None:
                yield rows.refusal(state, data, rows.table.event_members[event], instances.text(part, index))
                return
            state, data = outcome.target, outcome.update(data) if outcome.update else data
        except ZeroDivisionError:
            yield f"{instances.text(part, index)} {DIVIDES} on {rows.table.events[event].name}"
            return
    reached[part, index] = state, data
