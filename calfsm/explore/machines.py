"""One compiled machine as something to search: its states and data, moved by its events alone."""

from __future__ import annotations

from collections.abc import Iterable

from calfsm.engine.code import Data
from calfsm.engine.table import Outcome, Rows, Table

MachineState = tuple[int, Data]


class MachineModel:
    """A machine at its exploring parameters, `params` over them. Actions are event indices that are not refused."""

    def __init__(self, table: Table, /, **params: int) -> None:
        self.table = table
        self.rows: Rows = table.rows(**{**table.exploring(), **params})

    def initial(self) -> Iterable[MachineState]:
        """The initial state with the initial data."""
        return [(self.table.initial, self.rows.data)]

    def actions(self, state: MachineState) -> Iterable[int]:
        """The events that are taken, stays included."""
        return [event for event in range(len(self.table.events)) if self.outcome(state, event) is not None]

    def next(self, state: MachineState, action: int) -> MachineState:
        """The state after an event. Raises Refused."""
        outcome = self.outcome(state, action)
        if outcome is None:
            raise self.rows.refusal(*state, self.table.event_members[action])
        return outcome.target, outcome.update(state[1]) if outcome.update is not None else state[1]

    def outcome(self, state: MachineState, event: int) -> Outcome | None:
        """The answer to an event, or None where it is refused."""
        cell = self.rows.cells[state[0]][event]
        return cell.choose(state[1]) if cell is not None else None
