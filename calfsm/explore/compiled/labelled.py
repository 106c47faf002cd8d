"""The transitions of a system at a scope, labelled with their calls, and its conditions, as text of a Python module.

It is a module of its own, because the search has no use for labels. A label is the number of a call: an action with its
picks and choices.
"""

from __future__ import annotations

from collections.abc import Sequence

from calfsm.engine.code import Term
from calfsm.explore.compiled import coding
from calfsm.explore.compiled.emit import helpers, signature, stores_text, successors, words_text
from calfsm.explore.compiled.ground import Grounding, Leaf
from calfsm.explore.compiled.kernel import BATCH, MIXED
from calfsm.explore.compiled.layout import Layout
from calfsm.explore.compiled.terms import Reader
from calfsm.explore.systems import Call

Question = tuple[Term, tuple[int, ...]]
"""A condition, and the values of its picks."""

_HEAD = '''"""Labelled transitions and conditions of one system at one scope. Generated; do not edit."""

import numpy as np
from numba import uint32

from calfsm.explore.compiled.jit import generated as njit
from calfsm.explore.compiled.prefetch import prefetch

CACHE = {cache}
WORDS = {words}
KEYS = {keys}
BATCH = {batch}
ROOM = {room}
LEFT = {room}
CALLS = {calls}
LABEL = {label!r}
MULTIPLIER = -7046029254386353131
SECOND = -4417276706812531889
OUTER = dict(cache=CACHE, nogil=True, error_model="numpy", _nrt=False)
INNER = dict(OUTER, no_cpython_wrapper=True, no_cfunc_wrapper=True, no_rewrites=True)
'''

_PUT = '''
{signature}
def put({words}, batch, n, leaves, leaf):
    """Add the state that the calls of a leaf lead to."""
{stores}
    leaves[n] = leaf
    return n + 1
'''

_LINK = '''
@njit("int64(int64, int64[::1])", **OUTER)
def slot_of(hashed, table):
    """Where a key lies in a table, when nothing is in its way."""
    return ((hashed >> 33 & 0x7FFFFFFF) * table.size) >> 31


@njit("void(int64[::1], int64[::1])", **OUTER)
def number_all(keys, table):
    """Put the numbers of all keys into a table; where there is none, it has 0."""
    for number in range(keys.size // KEYS):
        slot = slot_of(HASHED_NUMBER, table)
        while table[slot]:
            slot -= 1
            if slot < 0:
                slot = table.size - 1
        table[slot] = number + 1


@njit("void(int64, int64, int64[::1], int64[::1], int64[::1], TYPE[::1], int64[::1], uint32[::1], TYPE[::1], "
      "uint8[::1], int64[::1], int64[::1], int64[::1])", **OUTER)
def link(start, stop, keys, table, begin, calls, first, targets, labels, whole, batch, leaves, work):
    """Write the transitions of states `start` to `stop`, those that are whole. A state of which one leads to a key
    without a number is not whole."""
    at, edge = start, first[start]
    while at < stop:
        low, n = at, 0
        while at < stop and n < BATCH and at - low < BATCH:
            if whole[at]:
                STATE = decoded(KEY_AT)
                n = successors(STATE, batch, n, leaves)
            work[ROOM + at - low] = n
            at += 1
        # What each key needs is fetched for all, before it is looked at for any: the accesses to memory overlap.
        for k in range(n):
            KEY = encoded(BATCH_STATE)
            KEEP_KEY
            work[k] = slot_of(HASHED_BATCH, table)
            prefetch(table, work[k])
        for k in range(n):
            number = table[work[k]] - 1
            if number >= 0:
                prefetch(keys, number * KEYS)
        k = 0
        for state in range(low, at):
            last = work[ROOM + state - low]
            while k < last:
                slot = work[k]
                number = table[slot] - 1
                while number >= 0 and not (SAME_KEY):
                    slot -= 1
                    if slot < 0:
                        slot = table.size - 1
                    number = table[slot] - 1
                if number < 0:
                    whole[state] = 0
                else:
                    for place in range(begin[leaves[k]], begin[leaves[k] + 1]):
                        targets[edge] = uint32(number)
                        labels[edge] = calls[place]
                        edge += 1
                k += 1
            first[state + 1] = edge


@njit("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])", **OUTER)
def distinct(masks, keys, table, seen, found):
    """One state of all that have the same bits under masks, into `found`; how many, -1: more than there is room for.

    `table` is empty, and at least twice as long as `found`; `seen` is for the bits."""
    count = 0
    for number in range(keys.size // KEYS):
        STATE = decoded(KEY_OF_NUMBER)
        MASKED = MASKING
        slot = slot_of(HASHED_MASKED, table)
        other = table[slot] - 1
        while other >= 0 and not (SAME_MASKED):
            slot -= 1
            if slot < 0:
                slot = table.size - 1
            other = table[slot] - 1
        if other >= 0:
            continue
        if count == found.size:
            return -1
        KEEP_MASKED
        found[count] = number
        count += 1
        table[slot] = count
    return count


@njit("int64(int64[:, ::1], uint8[:, ::1], int64[::1], uint8[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
      "int64[::1])", **OUTER)
def witnesses(masks, asked, keys, whole, table, seen, found, batch, leaves):
    """The same, of what has the same bits under one of several masks where a leaf's calls can be taken for which this
    mask is asked."""
    count = 0
    for number in range(keys.size // KEYS):
        if not whole[number]:
            continue
        STATE = decoded(KEY_OF_NUMBER)
        for k in range(successors(STATE, batch, 0, leaves)):
            for mask in range(masks.shape[0]):
                if not asked[leaves[k], mask]:
                    continue
                MASKED = MASKING_ONE
                about = leaves[k] * masks.shape[0] + mask
                slot = slot_of(mixed(HASHED_MASKED ^ about), table)
                other = table[slot] - 1
                while other >= 0 and not (SAME_WITNESS and seen[other * (WORDS + 1) + WORDS] == about):
                    slot -= 1
                    if slot < 0:
                        slot = table.size - 1
                    other = table[slot] - 1
                if other >= 0:
                    continue
                if count == found.size:
                    return -1
                KEEP_WITNESS
                seen[count * (WORDS + 1) + WORDS] = about
                found[count] = number
                count += 1
                table[slot] = count
    return count


@njit("void(int64, int64[::1], uint8[::1])", **OUTER)
def ask(question, keys, answers):
    """Ask a question of all states."""
    for number in range(answers.size):
        STATE = decoded(KEY_OF_NUMBER)
        answers[number] = answer(question, STATE)
'''


def text(layout: Layout, questions: Sequence[Question], cache: bool = True) -> str:
    """The module of a layout. `cache`: whether numba keeps the machine code on disk. Raises CannotCompile."""
    grounding = Grounding(layout)
    root = grounding.root()
    leaves: list[Leaf] = []

    def labelled(leaf: Leaf) -> str:
        leaves.append(leaf)
        after = words_text(layout) if leaf.effect.after is None else ", ".join(leaf.effect.after)
        return f"n = put({after}, batch, n, fired, {len(leaves) - 1})"

    tree = list(successors(layout, root, labelled))
    numbers: dict[Call, int] = {}
    calls = [[numbers.setdefault((leaf.action, each), len(numbers)) for each in leaf.arguments] for leaf in leaves]
    label = "uint16" if len(numbers) <= 1 << 16 else "uint32"
    head = _HEAD.format(
        cache=cache,
        words=layout.words,
        keys=layout.coding.words,
        batch=BATCH,
        room=BATCH + len(leaves),
        calls=list(numbers),
        label=label,
    )
    put = _PUT.format(
        signature=signature(layout.words, "int64", "int64[::1]", "int64", "int64[::1]", "int64"),
        words=words_text(layout),
        stores=stores_text(layout),
    )
    return "\n".join(
        [
            head,
            f"LEAVES = {calls}",
            *helpers(grounding.machines),
            put,
            *tree,
            *_answers(layout, questions),
            *coding.text(layout.coding),
            MIXED,
            _loops(layout.words, layout.coding.words).replace("TYPE", label),
        ]
    )


def _answers(layout: Layout, questions: Sequence[Question]) -> list[str]:
    lines = [
        f'\n@njit("boolean({", ".join(["int64"] * (layout.words + 1))})", **INNER)',
        f"def answer(question, {words_text(layout)}):",
    ]
    for number, (term, picks) in enumerate(questions):
        lines.append(f"    if question == {number}:")
        lines.append(f"        return {Reader(layout, {}, picks).test(term)}")
    return [*lines, "    return False\n"]


def _loops(words: int, keys: int) -> str:
    key = [f"k{word}" for word in range(keys)]

    def texts(template: str) -> str:
        return ", ".join(template.format(word) for word in range(keys))

    def hashed(template: str, count: int = keys) -> str:
        found = "0"
        for word in range(count):
            found = f"mixed({found} ^ {template.format(word)})"
        return found

    masked = [f"m{word}" for word in range(words)]

    def each(template: str, separator: str) -> str:
        return separator.join(template.format(word) for word in range(words))

    same = " and ".join(f"keys[number * KEYS + {word}] == batch[k * KEYS + {word}]" for word in range(keys))
    return (
        _LINK.replace("HASHED_NUMBER", hashed("keys[number * KEYS + {}]"))
        .replace("HASHED_BATCH", hashed("k{}"))
        .replace("HASHED_MASKED", hashed("m{}", words))
        .replace("MASKED =", f"{', '.join(masked)} =")
        .replace("MASKING_ONE", each("s{0} & masks[mask, {0}]", ", "))
        .replace("MASKING", each("s{0} & masks[{0}]", ", "))
        .replace("SAME_MASKED", each("seen[other * WORDS + {0}] == m{0}", " and "))
        .replace("KEEP_MASKED", each("seen[count * WORDS + {0}] = m{0}", "; "))
        .replace("SAME_WITNESS", each("seen[other * (WORDS + 1) + {0}] == m{0}", " and "))
        .replace("KEEP_WITNESS", each("seen[count * (WORDS + 1) + {0}] = m{0}", "; "))
        .replace("KEY_OF_NUMBER", texts("keys[number * KEYS + {}]"))
        .replace("BATCH_STATE", ", ".join(f"batch[k * WORDS + {word}]" for word in range(words)))
        .replace("KEY_AT", texts("keys[at * KEYS + {}]"))
        .replace("KEEP_KEY", "; ".join(f"batch[k * KEYS + {word}] = k{word}" for word in range(keys)))
        .replace("SAME_KEY", same)
        .replace("STATE", ", ".join(f"s{word}" for word in range(words)))
        .replace("KEY =", f"{', '.join(key)} =")
    )
