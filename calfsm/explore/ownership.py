"""What became of a resource on the way to where it is leaked, shared, used after its release, or never free again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs

from calfsm.engine.engine import Snapshot
from calfsm.engine.system import ResourceRow
from calfsm.explore.search import Trace
from calfsm.explore.systems import Call, SystemModel


def fate(model: SystemModel, name: str, trace: Trace[Snapshot, Call]) -> list[str]:
    """What a way did to each instance of a resource that breaks the `always` property `name` at its end.

    Empty when the property does not follow from a resource.
    """
    row = next((row for row in model.system.resources if name in (row.shared, row.leaked, row.kept)), None)
    if row is None:
        return []
    history = _History(model, row, trace)
    tell = {row.shared: history.shared, row.leaked: history.leaked, row.kept: history.kept}[name]
    return [line for index in range(len(model.engine.states[row.part])) for line in tell(index)]


def whereabouts(model: SystemModel, name: str, trace: Trace[Snapshot, Call], index: int) -> list[str]:
    """Where an instance is at the end of a way, when `name` says that it comes back; else empty."""
    row = next((row for row in model.system.resources if name == row.stranded), None)
    return [_History(model, row, trace).whereabouts(index)] if row is not None else []


Test = Callable[[Snapshot], bool]


@attrs.frozen
class _History:
    """One resource along one way."""

    model: SystemModel
    row: ResourceRow
    trace: Trace[Snapshot, Call]

    def leaked(self, index: int) -> Iterator[str]:
        """Out, and nobody holds it."""

        def is_leaked(state: Snapshot) -> bool:
            return self._is_out(state, index) and not self._holders(state, index)

        if is_leaked(self.trace.end):
            step = self._since(is_leaked)
            before = self._states[step - 1] if step else None
            held_by = self._holders(before, index) if before is not None else []
            if held_by:
                cause = f"{self._step(step)} let go of it, and {' and '.join(held_by)} held it"
            else:
                cause = f"{self._step(step)} took it for nobody" if step else "it begins so"
            yield f"{self._who(index)} is leaked: it is {self._word(index)}, and nobody holds it; {cause}"

    def shared(self, index: int) -> Iterator[str]:
        """Held more than once."""
        holders = self._holders(self.trace.end, index)
        if len(holders) > 1:
            since = [self._since(partial(self._is_held_by, index, holder)) for holder in holders]
            told = [f"{holder} since step {step}" for holder, step in zip(holders, since, strict=True)]
            yield f"{self._who(index)} has {len(holders)} holders: {' and '.join(told)}"

    def kept(self, index: int) -> Iterator[str]:
        """Given back, and still referred to."""

        def is_kept(state: Snapshot) -> bool:
            return not self._is_out(state, index) and bool(self._holders(state, index))

        if is_kept(self.trace.end):
            step = self._since(is_kept)
            if step:
                given = self._is_out(self._states[step - 1], index)
                cause = f"{self._step(step)} {'gave it back' if given else 'did not acquire it'}"
            else:
                cause = "it begins so"
            holders = " and ".join(self._holders(self.trace.end, index))
            yield f"{self._who(index)} is {self._word(index)}, and {holders} still refers to it; {cause}"

    def whereabouts(self, index: int) -> str:
        """Its state, since when, and who holds it."""
        state = self.trace.end[self.row.part][index]
        since = self._since(lambda before: before[self.row.part][index] == state)
        holders = self._holders(self.trace.end, index)
        by = f"held by {' and '.join(holders)}" if holders else "held by nobody"
        return f"{self._who(index)} is {self._word(index)} since step {since}, {by}"

    @property
    def _states(self) -> Sequence[Snapshot]:
        return [self.trace.start, *(state for _, state in self.trace.steps)]

    def _since(self, holds: Test) -> int:
        """The step after which something has held to the end, as it does there; 0: from the beginning."""
        step = len(self.trace.steps)
        while step and holds(self._states[step - 1]):
            step -= 1
        return step

    def _step(self, number: int) -> str:
        return f"{self.model.text(self.trace.steps[number - 1][0])}, step {number},"

    def _is_out(self, state: Snapshot, index: int) -> bool:
        return state[self.row.part][index] not in (*self.row.free, *self.row.aside)

    def _holders(self, state: Snapshot, index: int) -> list[str]:
        """The references that lead to an instance: `jobs[0].buffer`."""
        parts = self.model.system.parts
        return [
            f"{self.model.instance(part, holder)}.{parts[part].table.variables[variable].name}"
            for part, variable in self.row.holders
            for holder, data in enumerate(state[len(parts) + part])
            if data[variable] == index
        ]

    def _is_held_by(self, index: int, holder: str, state: Snapshot) -> bool:
        return holder in self._holders(state, index)

    def _who(self, index: int) -> str:
        return self.model.instance(self.row.part, index)

    def _word(self, index: int) -> str:
        """The state that it is in at the end."""
        state = self.trace.end[self.row.part][index]
        return f"`{self.model.system.parts[self.row.part].table.states[state].name}`"
