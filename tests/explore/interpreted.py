"""Generated successors without the compiler: the same text, run by Python."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from calfsm.engine.engine import Snapshot
from calfsm.explore.compiled.emit import module_text
from calfsm.explore.compiled.layout import WORD_BITS, Layout
from calfsm.explore.systems import SystemModel


class Interpreted:
    """The successors and properties of a model's system, from the text that would be compiled.

    `names`: all of its functions.
    """

    def __init__(self, model: SystemModel, word_bits: int = WORD_BITS) -> None:
        self.layout = Layout(model.system, model.engine.params, word_bits)
        names: dict[str, Any] = {"njit": lambda *_, **__: lambda function: function, "uint32": int, "uint64": int}
        text = re.sub(r"^from (numba|calfsm).*$", "", module_text(self.layout), flags=re.MULTILINE)
        exec(compile(text, "<generated>", "exec"), names)
        self.names = names

    def successors(self, state: Snapshot) -> tuple[Counter[Snapshot], list[int]]:
        """The states that differ from `state` and that a call leads to, and how often each action was taken."""
        words = self.layout.words
        batch, fired = [0] * self.names["ROOM"] * words, [0] * (len(self.layout.system.actions) + 1)
        both = self.names["successors"](*self.layout.pack(state), batch, 0, fired)
        taken, number = divmod(both, 1 << 32)
        assert taken == sum(fired[:-1]) and fired[-1] == 0
        assert all(0 <= word < 1 << 63 for word in batch)
        return Counter(self.layout.unpack(batch[at * words : (at + 1) * words]) for at in range(number)), fired[:-1]

    def kept(self, state: Snapshot) -> Snapshot:
        """A state out of its key."""
        key = self.names["encoded"](*self.layout.pack(state))
        key = key if isinstance(key, tuple) else (key,)
        assert key == self.layout.coding.key(self.layout.pack(state))
        words = self.names["decoded"](*key)
        return self.layout.unpack(words if isinstance(words, tuple) else (words,))

    def broken(self, state: Snapshot) -> set[int]:
        """The properties that do not hold in a state, by index."""
        broken, control = [-1] * len(self.layout.system.always), [0] * 5
        self.names["judge_one"](*self.layout.pack(state), 7, broken, control)
        assert control[3] == sum(number == 7 for number in broken)
        return {index for index, number in enumerate(broken) if number == 7}


def assert_same(model: SystemModel, interpreted: Interpreted, state: Snapshot) -> None:
    """The generated text and the engine agree on one state: where it leads, by which actions, and what it breaks."""
    assert interpreted.layout.unpack(interpreted.layout.pack(state)) == state
    assert interpreted.kept(state) == state
    calls = list(model.actions(state))
    after = {model.next(state, call) for call in calls}
    found, fired = interpreted.successors(state)
    assert set(found) - {state} == after - {state}
    taken = Counter(index for index, _ in calls)
    assert fired == [taken[index] for index in range(len(fired))]
    properties = model.properties()
    wrong = {index for index, row in enumerate(model.system.always) if not properties[row.name](state)}
    assert interpreted.broken(state) == wrong
