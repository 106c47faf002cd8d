"""The search loop, as text of the generated module: it is compiled together with the successors that it calls.

Numbers are signed 64-bit throughout: mixing signed and unsigned gives floating point. A word of a key is never
negative. `ctl` holds what the loop and its caller tell each other; see `Control`.

The keys of a search lie one after the other in the order in which they were found, which is at once the queue and what
parents index. All hash tables lie in one array, each in `stride` slots of its own, of which the first `sizes[owner]`
are in use. With one word a key, a table holds the keys themselves, all bits inverted. With more, it holds 31 bits of
the hash and the key's number. So entries are negative; an empty slot is 0, as memory is before it is touched.

Looking a key up means looking through a line, the eight slots that a processor fetches together, and where that is full
through the line below. Which line is first follows from the upper bits of the hash, so that entries lie in the order of
their hashes, but for those that found their line full. So a table can be made larger where it is: from the highest line
down, every entry moves up to its new line, or to one between the two, and so never to one that is still to be moved.

Nearly all of the time goes into waiting for memory. That is why a batch of keys is looked up together: all lines are
asked for, and only then looked at. Most keys are known, and found in their first line without a branch.
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
    """From here on, one place for each searcher: how many keys wait for it in the outbox."""


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

PROBING = '''
@njit("int64(int64, int64, int64[::1])", **INNER)
def has(slot, entry, tables):
    """Whether an entry is in the line from a slot on; without a branch, all eight at once."""
    found = 0
    for k in range(8):
        found |= tables[uint64(slot + k)] == entry
    return found


@njit("int64(int64, int64[::1])", **INNER)
def vacant(slot, tables):
    """The first empty slot of a line, or its end."""
    end = slot + 8
    while slot < end and tables[uint64(slot)] < 0:
        slot += 1
    return slot
'''

LOOP = '''
@njit("void(int64, int64, int64, int64[::1])", **INNER)
def add(entry, base, size, tables):
    """Put an entry into a table that it is not in."""
    line = base + home(entry, size)
    slot = vacant(line, tables)
    while slot == line + 8:
        line = line - 8 if line > base else base + size - 8
        slot = vacant(line, tables)
    tables[slot] = entry


@njit("void(int64, int64[::1], int64[::1])", **OUTER)
def keyed(n, batch, fired):
    """Put the keys of the first `n` states of a batch in their places, before those of later states."""
    for k in range(n):
        STATE = BATCH_STATE
        BATCH_KEY = encoded(STATE)
        if (ANY_BIT) < 0:
            fired[LEFT] += 1
            BATCH_KEY = NO_KEY
        KEEP_KEY


@njit("void(int64, int64, int64[::1], int64[::1], int64[::1])", **OUTER)
def judge(first, last, states, broken, ctl):
    """Judge the properties in states `first` to `last`; `broken` has the first state that breaks each, -1 for none."""
    for number in range(first, last):
        STATE = decoded(KEY_OF_NUMBER)
        judge_one(STATE, number, broken, ctl)


@njit("void(int64, int64, int64, int64, int64, int64, int64, int64[::1], int64[::1], uint32[::1], int64[::1], "
      "int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[:, ::1], int64[:, ::1])", **OUTER)
def expand(me, searchers, stride, stop, most, room, first_only, ctl, states, parents, tables, sizes, fired, broken,
           batch, work, outbox, outbox_parents):
    """Expand states up to `stop`, or until `most` are found, there is no room for more, an outbox is full or, if
    `first_only`, a property is broken. States of other searchers go to their outbox."""
    while ctl[NEXT] < stop and ctl[COUNT] < most and ctl[COUNT] + ROOM <= room:
        for other in range(searchers):
            if ctl[SENT + other] + ROOM > outbox_parents.shape[1]:
                return
        at, n = ctl[NEXT], 0
        while at < stop and n < BATCH:
            STATE = decoded(KEY_AT)
            after = successors(STATE, batch, n, fired)
            if after == n and ctl[STUCK] < 0:
                ctl[STUCK] = at
            after &= 0xFFFFFFFF
            for k in range(n, after):
                work[k] = at * searchers + me
            n = after
            at += 1
        ctl[NEXT] = at
        before = ctl[COUNT]
        keyed(n, batch, fired)
        insert(me, searchers, stride, n, ctl, states, parents, tables, sizes, batch, work, outbox, outbox_parents)
        judge(before, ctl[COUNT], states, broken, ctl)
        if first_only and ctl[BROKEN]:
            return


@njit("int64(int64, int64, int64, int64, int64, int64, int64[::1], int64[::1], uint32[::1], int64[::1], int64[::1], "
      "int64[::1], int64[::1], int64[::1], int64[:, ::1], int64[:, ::1])", **OUTER)
def receive(me, searchers, stride, first, last, room, ctl, states, parents, tables, sizes, broken,
            batch, work, inbox, inbox_parents):
    """Take in keys `first` to `last` of a sender's outbox for us, as far as there is room; how far that was."""
    while first < last and ctl[COUNT] + ROOM <= room:
        n = min(BATCH, last - first)
        for k in range(n):
            work[k] = inbox_parents[me, first + k]
        for k in range(n * KEYS):
            batch[k] = inbox[me, first * KEYS + k]
        before = ctl[COUNT]
        insert(me, searchers, stride, n, ctl, states, parents, tables, sizes, batch, work, inbox, inbox_parents)
        judge(before, ctl[COUNT], states, broken, ctl)
        first += n
    return first


@njit("int64(int64, int64, int64[::1])", **OUTER)
def full_lines(base, size, tables):
    """How many of the highest lines of a table are full."""
    line = base + size - 8
    while line >= base and tables[line + 7] < 0:
        line -= 8
    return (base + size - 8 - line) >> 3


@njit("void(int64, int64, int64, int64[::1], int64[::1])", **OUTER)
def enlarge(base, old, size, tables, rest):
    """Make a table of `old` slots from `base` on one of `size`, in place. `rest`: room for two lines more than are
    full of the highest ones: what went past the lowest line is there, and in the one below them, and comes last."""
    left = 0
    for line in range(base + old - 8, base - 1, -8):
        first = left
        for k in range(8):
            rest[left] = tables[line + k]
            left += rest[left] < 0
            tables[line + k] = 0
        last, left = left, first
        for k in range(first, last):
            entry = rest[k]
            if base + home(entry, old) < line:
                rest[left] = entry
                left += 1
            else:
                add(entry, base, size, tables)
    for k in range(left):
        add(rest[k], base, size, tables)
'''

_INSERT = """
@njit("void(int64, int64, int64, int64, int64[::1], int64[::1], uint32[::1], int64[::1], int64[::1], int64[::1], "
      "int64[::1], int64[:, ::1], int64[:, ::1])", **OUTER)
def insert(me, searchers, stride, n, ctl, states, parents, tables, sizes, batch, work, outbox, outbox_parents):
"""

NARROW = (
    '''
@njit("int64(int64, int64)", **OUTER)
def home(entry, size):
    """The line where an entry lies in a table of so many slots, when it is not full."""
    return ((mixed(~entry) >> 33 & 0x7FFFFFFF) * (size >> 3) >> 31) << 3
'''
    + _INSERT
    + '''
    """Put the new ones of a batch at the end of the states; those of other searchers into their outbox.

    Tables of others are read while they change. What is found there is known to its owner, and need not be sent;
    what is not found may be known all the same."""
    count, left = ctl[COUNT], 0
    for k in range(n):
        hashed = mixed(batch[k])
        owner = ((hashed & 0xFFFF) * searchers) >> 16
        line = owner * stride + (((hashed >> 33 & 0x7FFFFFFF) * (sizes[owner] >> 3) >> 31) << 3)
        prefetch(tables, line)
        work[SLOTS + k] = line
        work[SLOTS + SLOTS + k] = owner
    # Then all home lines, without a branch: most states are known, and found there.
    for k in range(n):
        key, line = batch[k], work[SLOTS + k]
        batch[left] = key
        work[left] = work[k]
        work[SLOTS + left] = line
        work[SLOTS + SLOTS + left] = work[SLOTS + SLOTS + k]
        new = 1 - has(line, ~key, tables)
        left += new
        # Where a line is full, the one below is asked next.
        prefetch(tables, line - 8 * (new & (tables[uint64(line + 7)] < 0)))
    for k in range(left):
        entry, line, owner = ~batch[k], work[SLOTS + k], work[SLOTS + SLOTS + k]
        found, slot = has(line, entry, tables), vacant(line, tables)
        while not found and slot == line + 8:
            line = line - 8 if line > owner * stride else owner * stride + sizes[owner] - 8
            found, slot = has(line, entry, tables), vacant(line, tables)
        if found:
            continue
        if owner == me:
            tables[slot] = entry
            states[count] = ~entry
            parents[count] = uint32(work[k])
            count += 1
        else:
            sent = ctl[SENT + owner]
            outbox[owner, sent] = ~entry
            outbox_parents[owner, sent] = work[k]
            ctl[SENT + owner] = sent + 1
    ctl[COUNT] = count
'''
)

WIDE = (
    '''
@njit("int64(int64, int64[::1])", **OUTER)
def mixed_at(number, keys):
    """The hash of a key of several words."""
    hashed = 0
    for word in range(KEYS):
        hashed = mixed(hashed ^ keys[number * KEYS + word])
    return hashed


@njit("int64(int64, int64, int64, int64[::1])", **INNER)
def tagged(slot, end, tag, tables):
    """The first of some slots whose entry has a tag, or their end."""
    while slot < end and ~tables[slot] >> 32 != tag:
        slot += 1
    return slot


@njit("boolean(int64, int64, int64, int64[::1], int64[::1], int64[::1])", **INNER)
def is_there(line, tag, k, batch, states, tables):
    """Whether a line has an entry for the `k`-th key of a batch."""
    slot = tagged(line, line + 8, tag, tables)
    while slot < line + 8:
        start, same = (~tables[slot] & 0xFFFFFFFF) * KEYS, True
        for word in range(KEYS):
            same &= states[start + word] == batch[k * KEYS + word]
        if same:
            return True
        slot = tagged(slot + 1, line + 8, tag, tables)
    return False


@njit("int64(int64, int64)", **OUTER)
def home(entry, size):
    """The line where an entry lies in a table of so many slots, when it is not full."""
    return ((~entry >> 32) * (size >> 3) >> 31) << 3
'''
    + _INSERT
    + '''
    """Put the new ones of a batch at the end of the states; those of other searchers into their outbox."""
    base, size, count = me * stride, sizes[me], ctl[COUNT]
    for k in range(n):
        hashed = mixed_at(k, batch)
        line = base + (((hashed >> 33 & 0x7FFFFFFF) * (size >> 3) >> 31) << 3)
        prefetch(tables, line)
        work[SLOTS + k] = hashed
        work[SLOTS + SLOTS + k] = line
    for k in range(n):
        line = work[SLOTS + SLOTS + k]
        slot = tagged(line, line + 8, work[SLOTS + k] >> 33 & 0x7FFFFFFF, tables)
        prefetch(states, (~tables[slot] & 0xFFFFFFFF) * KEYS if slot < line + 8 else 0)
    for k in range(n):
        hashed, line = work[SLOTS + k], work[SLOTS + SLOTS + k]
        owner = ((hashed & 0xFFFF) * searchers) >> 16
        if owner != me:
            sent = ctl[SENT + owner]
            for word in range(KEYS):
                outbox[owner, sent * KEYS + word] = batch[k * KEYS + word]
            outbox_parents[owner, sent] = work[k]
            ctl[SENT + owner] = sent + 1
            continue
        tag = hashed >> 33 & 0x7FFFFFFF
        found = is_there(line, tag, k, batch, states, tables)
        while not found and tables[line + 7] < 0:
            line = line - 8 if line > base else base + size - 8
            found = is_there(line, tag, k, batch, states, tables)
        if not found:
            tables[vacant(line, tables)] = ~(tag << 32 | count)
            for word in range(KEYS):
                states[count * KEYS + word] = batch[k * KEYS + word]
            parents[count] = uint32(work[k])
            count += 1
    ctl[COUNT] = count
'''
)


def text(words: int, keys: int, *, reduced: bool = False) -> str:
    """The loop's functions for states of so many words and keys of so many, in the order in which they are defined.

    `reduced`: what is stored of successors is their `canonical` form.
    """
    key = [f"k{word}" for word in range(keys)]
    successor = ", ".join(f"batch[k * {words} + {word}]" for word in range(words))
    loop = (
        LOOP.replace("BATCH_KEY", ", ".join(key))
        .replace("NO_KEY", ", ".join("0" * keys))
        .replace("BATCH_STATE", f"canonical({successor})" if reduced else successor)
        .replace("ANY_BIT", " | ".join(key))
        .replace("KEEP_KEY", "; ".join(f"batch[k * {keys} + {word}] = k{word}" for word in range(keys)))
        .replace("KEY_OF_NUMBER", ", ".join(f"states[number * {keys} + {word}]" for word in range(keys)))
        .replace("KEY_AT", ", ".join(f"states[at * {keys} + {word}]" for word in range(keys)))
        .replace("STATE", ", ".join(f"s{word}" for word in range(words)))
    )
    return "\n".join([MIXED, PROBING, NARROW if keys == 1 else WIDE, loop])
