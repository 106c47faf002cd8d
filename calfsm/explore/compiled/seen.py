"""What a compiled search has seen: `calfsm.explore.seen.Seen` for millions of states.

The engine is asked, as in the plain search, but not of every state. What a question reads of a state is a few of its
bits; of the states that agree in them, one is asked. How an instance answers an event follows from its own state and
data, and from what the call does: of the states that agree in these, one is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from calfsm.explore.compiled.edges import Numbered
from calfsm.explore.compiled.graph import Ints
from calfsm.explore.compiled.layout import Field
from calfsm.explore.compiled.runs import Module
from calfsm.explore.seen import Kind, Question
from calfsm.explore.systems import SystemModel

SAMPLE = 2_000
"""States that are asked first, evenly spread: most questions are answered there."""
DIFFERENT = 1 << 17
"""States that are asked one question at most."""


class CompiledSeen:
    """What a search has seen. `fired`: how often each action was taken."""

    def __init__(self, model: SystemModel, module: Module, states: Numbered, fired: Mapping[str, int]) -> None:
        self._model, self._module, self._states, self._layout = model, module, states, module.layout
        self._taken = {index for index, times in enumerate(fired.values()) if times}
        size = len(states.depths)
        self._sample = np.unique(np.linspace(0, size - 1, min(size, SAMPLE), dtype=np.int64)).tolist()
        self._known: dict[frozenset[Kind], list[int] | None] = {}
        self._shown: dict[int, list[tuple[int, ...]]] = {}

    def taken(self) -> set[int]:
        """The actions that were possible in some state."""
        return self._taken

    def entered(self, part: int) -> set[int]:
        """The states that instances of a part were in."""
        return {state for state, *_ in self._configurations(part)}

    def highest(self, part: int, variable: int) -> int:
        """The highest value that a variable of an instance of a part had."""
        return max(data[variable] for _, *data in self._configurations(part))

    def answer(self, missing: Callable[[], set[int]]) -> bool:
        """See to it that `answers` of the model has every answer that was given by instances of the `missing` parts."""
        self._look(self._sample)
        parts = missing()
        if not parts:
            return True
        found = self._witnesses(parts)
        if found is None:
            return False
        self._look(found)
        return True

    def ask(self, questions: Sequence[Question]) -> list[Question]:
        """Ask questions of every state. Those of which too many states would have to be asked are given back."""
        left = self._asked(self._sample, questions)
        refused = []
        for question in left:
            numbers = self._telling(question.reads)
            if numbers is None:
                refused.append(question)
            else:
                self._asked(numbers, [question])
        return refused

    def _asked(self, numbers: Iterable[int], questions: Sequence[Question]) -> list[Question]:
        """Those that are still open after some states were asked."""
        left = [question for question in questions if question.open]
        for state in self._states.snapshots(self._layout, list(numbers)):
            if not left:
                break
            self._model.move_to(state)
            for question in left:
                question.ask()
            left = [question for question in left if question.open]
        return left

    def _look(self, numbers: Iterable[int]) -> None:
        for state in self._states.snapshots(self._layout, list(numbers)):
            self._model.actions(state)

    def _configurations(self, part: int) -> list[tuple[int, ...]]:
        """Every state and data that an instance of a part had."""
        if part not in self._shown:
            found: set[tuple[int, ...]] = set()
            width = len(self._layout.counts)
            for index in range(self._layout.counts[part]):
                numbers = self._distinct(self._mask(self._instance(part, index)), 1 << 22)
                assert numbers is not None, "an instance has not so many configurations"
                for state in self._states.snapshots(self._layout, numbers):
                    found.add((state[part][index], *state[width + part][index]))
            self._shown[part] = sorted(found)
        return self._shown[part]

    # ---- states that show all there is

    def _telling(self, kinds: frozenset[Kind]) -> list[int] | None:
        """One state of all that agree in some variables of all instances; None where they are too many."""
        if kinds not in self._known:
            fields = [
                Field(part, index, variable) for part, variable in kinds for index in range(self._layout.counts[part])
            ]
            self._known[kinds] = self._distinct(self._mask(fields), DIFFERENT)
        return self._known[kinds]

    def _witnesses(self, parts: set[int]) -> list[int] | None:
        """States in which calls are possible that touch these parts: of those alike for an instance, one for each."""
        instances = [(part, index) for part in sorted(parts) for index in range(self._layout.counts[part])]
        masks = np.array([self._mask(self._instance(part, index)) for part, index in instances])
        touched = [{fired.part for fired in action.fired} for action in self._layout.system.actions]
        calls = self._module.calls
        asked = np.array(
            [[part in touched[calls[leaf[0]][0]] for part, _ in instances] for leaf in self._module.code.LEAVES],
            np.uint8,
        )
        found, table = np.empty(DIFFERENT, np.int64), np.zeros(2 * DIFFERENT, np.int64)
        seen = np.empty(DIFFERENT * (self._layout.words + 1), np.int64)
        code = self._module.code
        batch, leaves = np.zeros(code.ROOM * code.WORDS, np.int64), np.zeros(code.ROOM + 1, np.int64)
        count = code.witnesses(
            masks, asked, self._states.keys, self._states.expanded, table, seen, found, batch, leaves
        )
        return None if count < 0 else np.unique(found[:count]).tolist()

    def _distinct(self, masks: Ints, most: int) -> list[int] | None:
        """One state of all that have the same bits under masks; None: more than so many."""
        most = min(most, len(self._states.depths))
        found, table = np.empty(most, np.int64), np.zeros(2 * most, np.int64)
        seen = np.empty(most * self._layout.words, np.int64)
        count = self._module.code.distinct(masks, self._states.keys, table, seen, found)
        return None if count < 0 else found[:count].tolist()

    def _instance(self, part: int, index: int) -> list[Field]:
        width = len(self._layout.system.parts[part].table.variables)
        return [Field(part, index, variable) for variable in range(-1, width)]

    def _mask(self, fields: Iterable[Field]) -> Ints:
        masks = np.zeros(self._layout.words, np.int64)
        for field in fields:
            place = self._layout.places[field]
            masks[place.word] |= place.mask << place.shift
        return masks
