"""The decision tree and the properties of a system at a scope as the text of a Python module that numba compiles.

The text is made from numbers and the fixed words below; nothing that a user wrote is in it but names in comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from calfsm.explore.compiled import canonical, coding, kernel, weighing
from calfsm.explore.compiled.effects import Machines, words_of
from calfsm.explore.compiled.ground import Grounding, Leaf, Node, Question
from calfsm.explore.compiled.kernel import BATCH, Control
from calfsm.explore.compiled.layout import Field, Layout
from calfsm.explore.compiled.terms import Reader, every
from calfsm.explore.symmetry import Symmetry

_HEAD = '''"""Successors and properties of one system at one scope. Generated; do not edit."""

import numpy as np
from numba import uint32, uint64

from calfsm.explore.compiled.jit import generated as njit
from calfsm.explore.compiled.prefetch import prefetch

CACHE = {cache}
WORDS = {words}
KEYS = {keys}
BATCH = {batch}
ROOM = {room}
SLOTS = {room}
LEFT = {left}
NEXT, COUNT, STUCK, BROKEN, SENT = {control}
MULTIPLIER = -7046029254386353131
SECOND = -4417276706812531889
# Nothing is allocated, so no array's references are counted either: with every call that took a third of the time.
OUTER = dict(cache=CACHE, nogil=True, error_model="numpy", _nrt=False)
INNER = dict(OUTER, no_cpython_wrapper=True, no_cfunc_wrapper=True, no_rewrites=True)


@njit("int64(int64, int64[::1], int64, int64)", **INNER)
def loop(n, fired, action, times):
    """Count calls that change nothing."""
    fired[action] += times
    return n + (times << 32)
'''

_PUT = '''
{signature}
def put({words}, batch, n, fired, action, times):
    """Count calls, and add the state that they lead to."""
{stores}
    fired[action] += times
    return n + (times << 32) + 1
'''

Take = Callable[[Leaf], str]
"""The statement that notes the calls of a leaf, and the state that they lead to."""


def module_text(layout: Layout, symmetry: Symmetry | None = None, cache: bool = True) -> str:
    """The module of a layout; with a symmetry, one that finds one state of each orbit.

    `cache`: whether numba keeps the machine code on disk. Raises CannotCompile.
    """
    grounding = Grounding(layout)
    root = grounding.root()
    head = _HEAD.format(
        cache=cache,
        words=layout.words,
        keys=layout.coding.words,
        batch=BATCH,
        room=BATCH + root.most,
        left=len(layout.system.actions),
        control=", ".join(str(int(place)) for place in Control),
    )
    put = _PUT.format(
        signature=signature(layout.words, "int64", "int64[::1]", "int64", "int64[::1]", "int64", "int64"),
        words=words_text(layout),
        stores=stores_text(layout),
    )
    return "\n".join(
        [
            head,
            *helpers(grounding.machines),
            put,
            *successors(layout, root, _counted),
            *_properties(layout),
            *coding.text(layout.coding),
            *(canonical.text(layout, symmetry) if symmetry is not None else ()),
            kernel.text(layout.words, layout.coding.words, reduced=symmetry is not None),
            *([weighing.text(layout)] if symmetry is not None else ()),
        ]
    )


def words_text(layout: Layout) -> str:
    """The words of a state, as arguments: `s0, s1`."""
    return ", ".join(f"s{word}" for word in range(layout.words))


def stores_text(layout: Layout) -> str:
    """Statements that put a state at place `n` of a batch."""
    return "\n".join(f"    batch[(n & 0xFFFFFFFF) * WORDS + {word}] = s{word}" for word in range(layout.words))


def signature(words: int, result: str, *rest: str) -> str:
    """The decorator of a function that takes the words of a state first."""
    return f'@njit("{result}({", ".join([*["int64"] * words, *rest])})", **INNER)'


def helpers(machines: Machines) -> Iterator[str]:
    """The blocks that calls share, as functions of words that give the changed words."""
    for block, name in machines.helpers.items():
        given, changed = words_of(block)
        result = "int64" if len(changed) == 1 else f"UniTuple(int64, {len(changed)})"
        yield f"\n{signature(len(given), result)}"
        yield f"def {name}({', '.join(given)}):"
        yield from ("    " + line for line in block)
        yield f"    return {', '.join(changed)}\n"


def successors(layout: Layout, root: Node, take: Take) -> Iterator[str]:
    """A function for each question of the root, so that none grows too large to compile, and one that calls them.

    `n`: how many successors there are and, above its lower 32 bits, what else `take` counts in it. `fired`: where it
    keeps its notes.
    """
    words = words_text(layout)
    bodies = [Node(root.leaves, ())] if root.leaves else []
    bodies += [Node((), (question,)) for question in root.questions]
    names = [f"successors_{number}" for number in range(len(bodies))]
    decorator = signature(layout.words, "int64", "int64[::1]", "int64", "int64[::1]")
    for name, body in zip(names, bodies, strict=True):
        yield f"\n{decorator}"
        yield f"def {name}({words}, batch, n, fired):"
        yield from _node(layout, body, 1, take)
        yield "    return n\n"
    yield f"\n{decorator}"
    yield f"def successors({words}, batch, n, fired):"
    for name in names:
        yield f"    n = {name}({words}, batch, n, fired)"
    yield "    return n\n"


def _node(layout: Layout, node: Node, depth: int, take: Take) -> Iterator[str]:
    for leaf in node.leaves:
        yield from _leaf(layout, leaf, depth, take)
    for question in node.questions:
        yield from _question(layout, question, depth, take)


def _question(layout: Layout, question: Question, depth: int, take: Take) -> Iterator[str]:
    indent = "    " * depth
    field, answers = question.field, question.answers
    if len(answers) > 2:
        # One variable compared with constants is what the compiler makes a jump table of.
        yield f"{indent}{_name(field)} = {_raw(layout, field)}"
    reader = Reader(layout, {field: question.possible})
    word = "if"
    for values, node in answers:
        test = _by_value(layout, field, values) if len(answers) > 2 else reader.among(field, values)
        if test is True:
            yield from _node(layout, node, depth, take)
            return
        yield f"{indent}{word} {test}:"
        yield from _node(layout, node, depth + 1, take)
        word = "elif"


def _name(field: Field) -> str:
    return f"f{field.part}_{field.number}_{field.variable + 1}"


def _raw(layout: Layout, field: Field) -> str:
    place = layout.places[field]
    return f"(s{place.word} >> {place.shift}) & {place.mask}"


def _by_value(layout: Layout, field: Field, values: frozenset[int]) -> str:
    low = layout.places[field].low
    return " or ".join(f"{_name(field)} == {value - low}" for value in sorted(values))


def _leaf(layout: Layout, leaf: Leaf, depth: int, take: Take) -> Iterator[str]:
    effect = leaf.effect
    indent = "    " * depth
    yield f"{indent}{_comment(layout.system.actions[leaf.action].name)}"
    if effect.conditions:
        yield f"{indent}if {' and '.join(effect.conditions)}:"
        indent += "    "
    if effect.leaving:
        yield f"{indent}left = False"
    for line in effect.lines:
        yield indent + line
    if effect.fallible:
        yield f"{indent}if ({' | '.join(f't{word}' for word in effect.fallible)}) >= 0:"
        indent += "    "
    if effect.leaving:
        yield f"{indent}if left:"
        yield f"{indent}    fired[LEFT] += 1"
    yield indent + take(leaf)


def _counted(leaf: Leaf) -> str:
    """Count the calls; the state is put into the batch unless it is the same."""
    if leaf.effect.after is None:
        return f"n = loop(n, fired, {leaf.action}, {leaf.times})"
    return f"n = put({', '.join(leaf.effect.after)}, batch, n, fired, {leaf.action}, {leaf.times})"


def _comment(name: str) -> str:
    """A name for people who read the text; only what cannot be anything but a name."""
    return f"# {name}" if name.isidentifier() else "#"


def _properties(layout: Layout) -> Iterator[str]:
    reader = Reader(layout, {})
    yield f"\n{signature(layout.words, 'void', 'int64', 'int64[::1]', 'int64[::1]')}"
    yield f"def judge_one({words_text(layout)}, number, broken, ctl):"
    for index, row in enumerate(layout.system.always):
        holds = every([reader.test(condition.term) for condition in row.conditions])
        if holds is True:
            continue
        yield f"    {_comment(row.name)}"
        yield f"    if not ({holds}):"
        yield f"        if broken[{index}] < 0:"
        yield f"            broken[{index}] = number"
        yield "            ctl[BROKEN] += 1"
    yield "    return\n"
