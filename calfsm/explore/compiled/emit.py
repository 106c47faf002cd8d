"""The decision tree and the properties of a system at a scope as the text of a Python module that numba compiles.

The text is made from numbers and the fixed words below; nothing that a user wrote is in it but names in comments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from calfsm.explore.compiled import kernel
from calfsm.explore.compiled.effects import words_of
from calfsm.explore.compiled.ground import Grounding, Leaf, Node, Question
from calfsm.explore.compiled.kernel import BATCH, Control
from calfsm.explore.compiled.layout import Field, Layout
from calfsm.explore.compiled.terms import Reader, every

_HEAD = '''"""Successors and properties of one system at one scope. Generated; do not edit."""

from numba import njit, uint32

CACHE = {cache}
WORDS = {words}
BATCH = {batch}
ROOM = {room}
SLOTS = {room}
LEFT = {left}
NEXT, COUNT, STUCK, BROKEN, SENT = {control}
MULTIPLIER = -7046029254386353131
SECOND = -4417276706812531889
OUTER = dict(cache=CACHE, nogil=True, error_model="numpy")
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


def module_text(layout: Layout, cache: bool = True) -> str:
    """The module of a layout. `cache`: whether numba keeps the machine code on disk. Raises CannotCompile."""
    grounding = Grounding(layout)
    root = grounding.root()
    head = _HEAD.format(
        cache=cache,
        words=layout.words,
        batch=BATCH,
        room=BATCH + root.most,
        left=len(layout.system.actions),
        control=", ".join(str(int(place)) for place in Control),
    )
    helpers = _helpers(grounding.machines.helpers)
    return "\n".join([head, *helpers, *_successors(layout, root), *_properties(layout), kernel.text(layout.words)])


def _words(layout: Layout) -> str:
    return ", ".join(f"s{word}" for word in range(layout.words))


def _signature(words: int, result: str, *rest: str) -> str:
    return f'@njit("{result}({", ".join([*["int64"] * words, *rest])})", **INNER)'


def _helpers(helpers: Mapping[tuple[str, ...], str]) -> Iterator[str]:
    """The blocks that calls share, as functions of words that give the changed words."""
    for block, name in helpers.items():
        given, changed = words_of(block)
        result = "int64" if len(changed) == 1 else f"UniTuple(int64, {len(changed)})"
        yield f"\n{_signature(len(given), result)}"
        yield f"def {name}({', '.join(given)}):"
        yield from ("    " + line for line in block)
        yield f"    return {', '.join(changed)}\n"


def _successors(layout: Layout, root: Node) -> Iterator[str]:
    """A function for each question of the root, so that none grows too large to compile, and one that calls them.

    `n`: how many successors there are, and above its lower 32 bits, how many transitions.
    """
    words = _words(layout)
    yield _PUT.format(
        signature=_signature(layout.words, "int64", "int64[::1]", "int64", "int64[::1]", "int64", "int64"),
        words=words,
        stores="\n".join(f"    batch[(n & 0xFFFFFFFF) * WORDS + {word}] = s{word}" for word in range(layout.words)),
    )
    bodies = [Node(root.leaves, ())] if root.leaves else []
    bodies += [Node((), (question,)) for question in root.questions]
    names = [f"successors_{number}" for number in range(len(bodies))]
    signature = _signature(layout.words, "int64", "int64[::1]", "int64", "int64[::1]")
    for name, body in zip(names, bodies, strict=True):
        yield f"\n{signature}"
        yield f"def {name}({words}, batch, n, fired):"
        yield from _node(layout, body, 1)
        yield "    return n\n"
    yield f"\n{signature}"
    yield f"def successors({words}, batch, n, fired):"
    for name in names:
        yield f"    n = {name}({words}, batch, n, fired)"
    yield "    return n\n"


def _node(layout: Layout, node: Node, depth: int) -> Iterator[str]:
    for leaf in node.leaves:
        yield from _leaf(layout, leaf, depth)
    for question in node.questions:
        yield from _question(layout, question, depth)


def _question(layout: Layout, question: Question, depth: int) -> Iterator[str]:
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
            yield from _node(layout, node, depth)
            return
        yield f"{indent}{word} {test}:"
        yield from _node(layout, node, depth + 1)
        word = "elif"


def _name(field: Field) -> str:
    return f"f{field.part}_{field.number}_{field.variable + 1}"


def _raw(layout: Layout, field: Field) -> str:
    place = layout.places[field]
    return f"(s{place.word} >> {place.shift}) & {place.mask}"


def _by_value(layout: Layout, field: Field, values: frozenset[int]) -> str:
    low = layout.places[field].low
    return " or ".join(f"{_name(field)} == {value - low}" for value in sorted(values))


def _leaf(layout: Layout, leaf: Leaf, depth: int) -> Iterator[str]:
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
    if effect.after is None:
        yield f"{indent}n = loop(n, fired, {leaf.action}, {leaf.times})"
    else:
        yield f"{indent}n = put({', '.join(effect.after)}, batch, n, fired, {leaf.action}, {leaf.times})"


def _comment(name: str) -> str:
    """A name for people who read the text; only what cannot be anything but a name."""
    return f"# {name}" if name.isidentifier() else "#"


def _properties(layout: Layout) -> Iterator[str]:
    reader = Reader(layout, {})
    yield f"\n{_signature(layout.words, 'void', 'int64', 'int64[::1]', 'int64[::1]')}"
    yield f"def judge_one({_words(layout)}, number, broken, ctl):"
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
