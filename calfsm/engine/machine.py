"""One instance of a machine. `fire` looks everything up, then commits: a refused event changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NoReturn

from calfsm.engine.observers import tell
from calfsm.engine.table import Move, Table, Word, shown, value_of

Observer = Callable[[Move], None]


class Machine:
    """One object's life.

    >>> from calfsm.tables import buffer
    >>> item = Machine(buffer.TABLE)
    >>> item.fire(buffer.Event.ACQUIRE).target
    <State.PREPARING: 'preparing'>

    Parameters of the spec may be given by name (`Machine(kv.TABLE, max_length=8)`); else their serving values hold.
    """

    __slots__ = ("_data", "_observers", "_row", "_rows", "_state", "refusals", "stays")

    def __init__(self, table: Table, /, **params: int) -> None:
        if not isinstance(table, Table):
            raise TypeError(f"Machine runs a Table, not {table!r}; a generated module has one: module.TABLE")
        self._rows = table.rows(**params)
        self._state = table.initial
        self._row = self._rows.by_event[table.initial]
        self._data = self._rows.data
        self._observers: tuple[list[Observer], ...] = ()
        self.stays: Counter[tuple[Word, Word]] = Counter()
        """How often each (state, event) was answered by staying."""
        self.refusals: Counter[tuple[Word, str]] = Counter()
        """How often each (state, event name) was refused."""

    @property
    def table(self) -> Table:
        """The table that it runs."""
        return self._rows.table

    @property
    def state(self) -> Word:
        """The state it is in, a member of `table.State`."""
        return self.table.state_members[self._state]

    @property
    def data(self) -> dict[str, int | bool | str | None]:
        """Its variables, by name, in the spec's terms."""
        return {row.name: value_of(row, value) for row, value in zip(self.table.variables, self._data, strict=True)}

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its variables as the table's integers, in the table's order; a reference that is `none` is -1."""
        return self._data

    def fire(self, event: Word | str) -> Move:
        """Take `event`, a member of `table.Event` or its name. Raises Refused, and then nothing has changed.

        Observers are told after the move is done. If some of them raise, all are told nonetheless, and an
        ExceptionGroup of what they raised follows; the move stands.
        """
        cell = self._row.get(event)
        if cell is None:
            self._refuse(event)
        outcome = cell.only
        if outcome is None:
            outcome = cell.choose(self._data)
            if outcome is None:
                self._refuse(event)
            if outcome.update is not None:
                self._data = outcome.update(self._data)
        self._state = outcome.target
        self._row = outcome.row
        move = outcome.move
        if outcome.stay is not None:
            self.stays[move.source, move.event] += 1
        if self._observers:
            tell(self._observers, move)
        return move

    def takes(self) -> list[str]:
        """The events that would move it now."""
        return self._rows.takes(self._state, self._data)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with each Move, after it is done, from the next event on. Returns a call that ends it."""
        entry = [observer]
        self._observers = (*self._observers, entry)

        def stop() -> None:
            self._observers = tuple(other for other in self._observers if other is not entry)

        return stop

    def _refuse(self, event: Word | str) -> NoReturn:
        self.refusals[self.state, str(event)] += 1
        raise self._rows.refusal(self._state, self._data, event)

    def __repr__(self) -> str:
        values = "".join(
            f", {row.name}={shown(row, value)}" for row, value in zip(self.table.variables, self._data, strict=True)
        )
        return f"<{self.table.name} in {self.state}{values}>"
