"""A system, running: `Engine.apply(action, …)` does a whole action or nothing.

No thread, no clock, no device: what the outside must do is handed back as effects. The cost of an action does not
depend on how many instances there are: instances are kept by state, and aggregates that guards read are kept as they
move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index as as_integer
from typing import Any

from calfsm.engine.binding import Bound
from calfsm.engine.code import Term
from calfsm.engine.instances import Instances
from calfsm.engine.naming import unknown
from calfsm.engine.observers import tell
from calfsm.engine.refusals import ActionRefused, why_not
from calfsm.engine.steps import Change, Changed, Effect, Moved, Step, argument_names, call_text
from calfsm.engine.system import System
from calfsm.engine.table import Word, shown

__all__ = [
    "ActionRefused",
    "Bound",
    "Change",
    "Changed",
    "Effect",
    "Engine",
    "Moved",
    "Snapshot",
    "Step",
    "argument_names",
    "call_text",
]

Snapshot = tuple[Any, ...]
"""A whole state: for each part, the states and then the data of its instances. Hashable."""

Observer = Callable[[Step], None]


class Engine:
    """A system's state, and the only thing that may change it.

    Parameters have their serving values unless given. Raises TypeError for an unknown parameter or a value that is no
    integer, ValueError for a part without instances.
    """

    def __init__(self, system: System, /, **params: int) -> None:
        self.system = system
        self.params = system.serving()
        for name, value in params.items():
            if name not in self.params:
                raise TypeError(f"{system.name} has no parameter {name!r}; it has {', '.join(self.params) or 'none'}")
            if type(value) is not int:
                raise TypeError(f"parameter {name} of {system.name} is {value!r}; give an integer")
            self.params[name] = value
        self._instances = instances = Instances(system, self.params)
        self.rows, self.states, self.data, self.members = (
            instances.rows,
            instances.states,
            instances.data,
            instances.members,
        )
        self._place = instances.place
        self._parts = {part.name: index for index, part in enumerate(system.parts)}
        self._actions = {row.name: Bound(instances, row) for row in system.actions}
        self._observers: tuple[list[Observer], ...] = ()
        self.refusals: Counter[str] = Counter()
        """How often each action was refused."""

    # ---- doing

    def apply(self, action: str, /, **arguments: int) -> Step:
        """Do `action` with its picks and choices. Raises ActionRefused, and then nothing has changed.

        Raises TypeError for an unknown action or argument, one left out, or one that is no integer. Observers are told
        when the step is done; what they raise follows as an ExceptionGroup, and the step stands.
        """
        bound, values, fit = self._call(action, arguments)
        step = self.attempt(bound, values) if fit else None
        if step is None:
            self.refusals[action] += 1
            raise why_not(self._instances, bound, values)
        if self._observers:
            tell(self._observers, step)
        return step

    def would(self, action: str, /, **arguments: int) -> bool:
        """Whether `apply` would do it now. Nothing changes and nothing is counted. Raises TypeError as `apply` does."""
        bound, values, fit = self._call(action, arguments)
        return fit and bound.plan(values) is not None

    def _call(self, action: str, arguments: Mapping[str, int]) -> tuple[Bound, list[int], bool]:
        """The action, its picks and choices in order, and whether all of them are in range."""
        bound = self._actions.get(action)
        if bound is None:
            raise TypeError(unknown(action, self._actions, self.system.name, "action"))
        values, fit = [], True
        for name, allowed in bound.allowed:
            value = arguments.get(name)
            if type(value) is not int:
                value = _integer(bound, arguments, name)
            if value not in allowed:
                fit = False
            values.append(value)
        if len(arguments) != len(values):
            extra = next(name for name in arguments if name not in bound.arguments)
            raise TypeError(f"{action} takes {', '.join(bound.arguments) or 'nothing'}, not {extra!r}")
        return bound, values, fit

    def attempt(self, bound: Bound, arguments: Sequence[int]) -> Step | None:
        """Do a bound action, or say None and change nothing. Arguments are taken to be in range; nobody is told."""
        changes = bound.plan(arguments)
        if changes is None:
            return None
        self._place(changes)
        return Step(self.system, bound.row, arguments, changes)

    def plan(self, bound: Bound, arguments: Sequence[int]) -> list[Changed] | None:
        """What an action would change, or None: something refuses. Arguments are taken to be in range."""
        return bound.plan(arguments)

    def undo(self, step: Step) -> None:
        """Take back the last step.

        For searching: stays counted stay counted, and who entered a state when is forgotten.
        """
        self._place(
            [
                (part, index, new_state, new_data, state, data, ())
                for part, index, state, data, new_state, new_data, _ in step.changes
            ]
        )

    def why_not(self, bound: Bound, arguments: Sequence[int]) -> ActionRefused:
        """The refusal of an action that `attempt` would not do: the first thing in its way."""
        return why_not(self._instances, bound, arguments)

    # ---- looking

    @property
    def stays(self) -> Counter[tuple[str, str, str]]:
        """How often each (part, state, event) was answered by staying."""
        counted: Counter[tuple[str, str, str]] = Counter()
        for (part, outcome), times in self._instances.stays.items():
            move = outcome.move
            counted[self.system.parts[part].name, str(move.source), str(move.event)] += times
        return counted

    def state(self, part: str, index: int = 0) -> Word:
        """The state of an instance, a member of its table's State. Raises KeyError, IndexError."""
        number = self._part(part)
        return self.rows[number].table.state_members[self.states[number][self._there(number, index)]]

    def value(self, part: str, index: int, variable: str) -> int:
        """A variable of an instance; a reference is an index, or -1 for `none`. Raises KeyError, IndexError."""
        number = self._part(part)
        at = self.rows[number].table.variable_index(variable)
        return self.data[number][self._there(number, index)][at]

    def count(self, part: str) -> int:
        """How many instances a part has. Raises KeyError."""
        return len(self.states[self._part(part)])

    def among(self, part: str, *states: str) -> list[int]:
        """The instances in one of `states`, longest there first within each state. Raises KeyError."""
        number = self._part(part)
        table = self.rows[number].table
        return [index for name in states for index in self.members[number][table.state_index(name)]]

    def first(self, part: str, state: str) -> int | None:
        """The instance that has been in `state` longest, or None. Raises KeyError."""
        number = self._part(part)
        return next(iter(self.members[number][self.rows[number].table.state_index(state)]), None)

    def _part(self, name: str) -> int:
        number = self._parts.get(name)
        return self.system.part_index(name) if number is None else number

    def _there(self, part: int, index: int) -> int:
        count = len(self.states[part])
        if not 0 <= index < count:
            raise IndexError(f"{self.system.parts[part].name}[{index}] is not there: it has {count}, counted from 0")
        return index

    def bound_actions(self) -> Iterable[Bound]:
        """The actions, ready for `attempt`, in the spec's order."""
        return self._actions.values()

    def snapshot(self) -> Snapshot:
        """The whole state, as a value."""
        return tuple(map(tuple, self.states)) + tuple(map(tuple, self.data))

    def restore(self, snapshot: Snapshot) -> None:
        """Go to a state that `snapshot` gave. Who entered a state when is not part of it."""
        parts = len(self.states)
        changes: list[Changed] = []
        for part, (states, datas) in enumerate(zip(self.states, self.data, strict=True)):
            wanted = zip(snapshot[part], snapshot[parts + part], strict=True)
            for index, (state, data, there) in enumerate(zip(states, datas, wanted, strict=True)):
                if (state, data) != there:
                    changes.append((part, index, state, data, *there, ()))
        self._place(changes)

    def described(self, snapshot: Snapshot | None = None) -> dict[str, list[dict[str, Any]]]:
        """A state in the spec's words: for each part, for each instance, its state and variables."""
        whole = self.snapshot() if snapshot is None else snapshot
        parts = len(self.states)
        described: dict[str, list[dict[str, Any]]] = {}
        for number, part in enumerate(self.system.parts):
            rows = part.table.variables
            described[part.name] = [
                {
                    "state": part.table.states[state].name,
                    **{row.name: shown(row, value) for row, value in zip(rows, data, strict=True)},
                }
                for state, data in zip(whole[number], whole[parts + number], strict=True)
            ]
        return described

    def function(self, names: Sequence[str], term: Term) -> Callable[..., bool]:
        """A condition over this engine's present state, as a function of picks and choices."""
        return self._instances.condition(names, term)

    def holds(self, term: Term) -> bool:
        """Whether a condition without picks holds now. For repeated use, make a `function`."""
        return bool(self.function((), term)())

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with each applied Step, after it is done. Returns a call that ends it."""
        entry = [observer]
        self._observers = (*self._observers, entry)

        def stop() -> None:
            self._observers = tuple(other for other in self._observers if other is not entry)

        return stop


def _integer(bound: Bound, arguments: Mapping[str, Any], name: str) -> int:
    """An argument that is not simply an int: one that stands for an int is taken (numpy's do), a bool is not."""
    if name not in arguments:
        raise TypeError(f"{bound.row.name} needs {', '.join(bound.arguments)}; {name!r} is missing")
    value = arguments[name]
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} of {bound.row.name} is {value!r}; give an integer")
    return as_integer(value)
