"""The search loop, as text of the generated module: it is compiled together with the successors that it calls.

Numbers are signed 64-bit throughout: mixing signed and unsigned gives floating point. A word of a state is never
negative. `ctl` holds what the loop and its caller tell each other; see `Control`.

The states of a search lie one after the other in the order in which they were found, which is at once the queue, the
store that the hash table is filled from, and what parents index. With one word a state, the table holds the states
themselves: looking one up costs one access to memory. With more, it holds 31 bits of the hash and the state's number.
"""

from __future__ import annotations

from enum import IntEnum


class Control(IntEnum):
    """Places in `ctl`."""

    NEXT = 0
    """The next state to expand."""
    COUNT = 1
    """How many states were found."""
    STUCK = 2
    """The first state without transitions, -1 for none."""
    BROKEN = 3
    """How many properties are broken."""
    SENT = 4
    """From here on, one place for each searcher: how many states wait for it in the outbox."""


BATCH = 256
"""States that are looked up together, at least: their accesses to memory overlap."""

MIXED = '''
@njit("int64(int64)", **OUTER)
def mixed(word):
    """Every bit of the word spread over all bits; one to one."""
    word = (word ^ (word >> 32)) * MULTIPLIER
    word = (word ^ ((word >> 29) & 0x7FFFFFFFF)) * SECOND
    return word ^ ((word >> 32) & 0xFFFFFFFF)
'''

LOOP = '''
@njit("void(int64, int64, int64[::1], int64[::1], int64[::1])", **OUTER)
def judge(first, last, states, broken, ctl):
    """Judge the properties in states `first` to `last`; `broken` has the first state that breaks each, -1 for none."""
    for number in range(first, last):
        judge_one(UNPACKED, number, broken, ctl)


@njit("void(int64, int64, int64, int64, int64, int64, int64[::1], int64[::1], uint32[::1], int64[::1], int64[::1], "
      "int64[::1], int64[::1], int64[::1], int64[:, ::1], int64[:, ::1])", **OUTER)
def expand(me, searchers, stop, most, room, first_only, ctl, states, parents, table, fired, broken,
           batch, work, outbox, outbox_parents):
    """Expand states up to `stop`, or until `most` are found, there is no room for more, an outbox is full or, if
    `first_only`, a property is broken. States of other searchers go to their outbox."""
    while ctl[NEXT] < stop and ctl[COUNT] < most and ctl[COUNT] + ROOM <= room:
        for other in range(searchers):
            if ctl[SENT + other] + ROOM > outbox_parents.shape[1]:
                return
        at, n = ctl[NEXT], 0
        while at < stop and n < BATCH:
            after = successors(STATE_AT, batch, n, fired)
            if after == n and ctl[STUCK] < 0:
                ctl[STUCK] = at
            after &= 0xFFFFFFFF
            for k in range(n, after):
                work[k] = at * searchers + me
            n = after
            at += 1
        ctl[NEXT] = at
        before = ctl[COUNT]
        insert(me, searchers, n, ctl, states, parents, table, batch, work, outbox, outbox_parents)
        judge(before, ctl[COUNT], states, broken, ctl)
        if first_only and ctl[BROKEN]:
            return


@njit("int64(int64, int64, int64, int64, int64, int64[::1], int64[::1], uint32[::1], int64[::1], int64[::1], "
      "int64[::1], int64[::1], int64[:, ::1], int64[:, ::1])", **OUTER)
def receive(me, searchers, first, last, room, ctl, states, parents, table, broken,
            batch, work, inbox, inbox_parents):
    """Take in states `first` to `last` of a sender's outbox for us, as far as there is room; how far that was."""
    while first < last and ctl[COUNT] + ROOM <= room:
        n = min(BATCH, last - first)
        for k in range(n):
            work[k] = inbox_parents[me, first + k]
        for k in range(n * WORDS):
            batch[k] = inbox[me, first * WORDS + k]
        before = ctl[COUNT]
        insert(me, searchers, n, ctl, states, parents, table, batch, work, inbox, inbox_parents)
        judge(before, ctl[COUNT], states, broken, ctl)
        first += n
    return first
'''

_INSERT = """
@njit("void(int64, int64, int64, int64[::1], int64[::1], uint32[::1], int64[::1], int64[::1], int64[::1], "
      "int64[:, ::1], int64[:, ::1])", **OUTER)
def insert(me, searchers, n, ctl, states, parents, table, batch, work, outbox, outbox_parents):
"""

NARROW = (
    '''
@njit("void(int64, int64, int64[::1], int64[::1])", **OUTER)
def fill(first, last, states, table):
    """Put known, different states into a table."""
    size = table.size
    for number in range(first, last):
        word = states[number]
        slot = ((mixed(word) >> 32 & 0xFFFFFFFF) * size) >> 32
        while table[slot] >= 0:
            slot += 1
            if slot == size:
                slot = 0
        table[slot] = word
'''
    + _INSERT
    + '''
    """Put the new ones of a batch at the end of the states; those of other searchers into their outbox."""
    size, count, left = table.size, ctl[COUNT], 0
    # First all home slots, without a branch: most states are known, and found there.
    for k in range(n):
        word = batch[k]
        hashed = mixed(word)
        slot = ((hashed >> 32 & 0xFFFFFFFF) * size) >> 32
        owner = ((hashed & 0xFFFF) * searchers) >> 16
        batch[left] = word
        work[left] = work[k]
        work[SLOTS + left] = slot
        work[SLOTS + SLOTS + left] = owner
        left += (owner != me) | (table[slot] != word)
    for k in range(left):
        word = batch[k]
        if work[SLOTS + SLOTS + k] != me:
            owner = work[SLOTS + SLOTS + k]
            sent = ctl[SENT + owner]
            outbox[owner, sent] = word
            outbox_parents[owner, sent] = work[k]
            ctl[SENT + owner] = sent + 1
            continue
        slot = work[SLOTS + k]
        there = table[slot]
        while there >= 0 and there != word:
            slot += 1
            if slot == size:
                slot = 0
            there = table[slot]
        if there < 0:
            table[slot] = word
            states[count] = word
            parents[count] = uint32(work[k])
            count += 1
    ctl[COUNT] = count
'''
)

WIDE = (
    '''
@njit("int64(int64, int64[::1])", **OUTER)
def mixed_at(number, states):
    """The hash of a state of several words."""
    hashed = 0
    for word in range(WORDS):
        hashed = mixed(hashed ^ states[number * WORDS + word])
    return hashed


@njit("void(int64, int64, int64[::1], int64[::1])", **OUTER)
def fill(first, last, states, table):
    """Put known, different states into a table."""
    size = table.size
    for number in range(first, last):
        hashed = mixed_at(number, states)
        slot = ((hashed >> 32 & 0xFFFFFFFF) * size) >> 32
        while table[slot] >= 0:
            slot += 1
            if slot == size:
                slot = 0
        table[slot] = (hashed & 0x7FFFFFFF) << 32 | number
'''
    + _INSERT
    + '''
    """Put the new ones of a batch at the end of the states; those of other searchers into their outbox."""
    size, count, looked = table.size, ctl[COUNT], 0
    # First the home slots of all, so that their accesses to memory overlap.
    for k in range(n):
        hashed = mixed_at(k, batch)
        slot = ((hashed >> 32 & 0xFFFFFFFF) * size) >> 32
        work[SLOTS + k] = hashed
        there = table[slot]
        looked ^= there
        work[SLOTS + SLOTS + k] = there
    # Then the states that the slots lead to.
    for k in range(n):
        there = work[SLOTS + SLOTS + k]
        if there >= 0:
            looked ^= states[(there & 0xFFFFFFFF) * WORDS]
    work[SLOTS + SLOTS] = looked
    for k in range(n):
        hashed = work[SLOTS + k]
        owner = ((hashed & 0xFFFF) * searchers) >> 16
        if owner != me:
            sent = ctl[SENT + owner]
            for word in range(WORDS):
                outbox[owner, sent * WORDS + word] = batch[k * WORDS + word]
            outbox_parents[owner, sent] = work[k]
            ctl[SENT + owner] = sent + 1
            continue
        slot = ((hashed >> 32 & 0xFFFFFFFF) * size) >> 32
        tag = hashed & 0x7FFFFFFF
        there = table[slot]
        found = False
        while there >= 0:
            if there >> 32 == tag:
                start = (there & 0xFFFFFFFF) * WORDS
                found = True
                for word in range(WORDS):
                    found &= states[start + word] == batch[k * WORDS + word]
                if found:
                    break
            slot += 1
            if slot == size:
                slot = 0
            there = table[slot]
        if not found:
            table[slot] = tag << 32 | count
            for word in range(WORDS):
                states[count * WORDS + word] = batch[k * WORDS + word]
            parents[count] = uint32(work[k])
            count += 1
    ctl[COUNT] = count
'''
)


def text(words: int) -> str:
    """The loop's functions for states of so many words, in the order in which they must be defined."""
    state_at = ", ".join(f"states[at * {words} + {word}]" for word in range(words))
    unpacked = ", ".join(f"states[number * {words} + {word}]" for word in range(words))
    loop = LOOP.replace("STATE_AT", state_at).replace("UNPACKED", unpacked)
    return "\n".join([MIXED, NARROW if words == 1 else WIDE, loop])
