"""The expression language of guards, updates and properties: a small part of Python's grammar, never run as Python.

    not tainted and resets < max_resets
    j in {submitted, abandoned} and j.buffer is running
    all(count(j for j in jobs if j.buffer == b) <= 1 for b in buffers)

Text is parsed with `ast` and turned into the frozen nodes below; what is not in the language is an ExpressionError that
points at its column. Names are not resolved here: a machine and a system give them different meanings.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

import attrs

MAX_LENGTH = 2_000
MAX_DEPTH = 30


class ExpressionError(Exception):
    """Text outside the language. `offset`: characters from the start of the text; `fix`: what to write."""

    def __init__(self, message: str, offset: int, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.offset, self.fix = message, offset, fix


@attrs.frozen
class Number:
    """An integer."""

    value: int
    offset: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Truth:
    """`true` or `false`."""

    value: bool
    offset: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Path:
    """A name, and what is reached from it: `limit`, `j`, `j.buffer`, `b.dma`, `device.resets`."""

    root: str
    fields: tuple[str, ...] = ()
    offset: int = attrs.field(default=0, eq=False)

    def __str__(self) -> str:
        return ".".join((self.root, *self.fields))


@attrs.frozen
class Within:
    """`x is ready` and `x in {ready, draining}`: an instance's state, or an enum variable's value."""

    subject: Path
    members: tuple[str, ...]
    negated: bool = False
    offset: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Not:
    """`not x`."""

    item: Expression
    offset: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Both:
    """`x and y …` (`word` is "and") or `x or y …` ("or")."""

    word: str
    items: tuple[Expression, ...]
    offset: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Compare:
    """`left op right`, op one of == != < <= > >=. A chain is an `and` of these."""

    op: str
    left: Expression
    right: Expression
    offset: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Arithmetic:
    """`left op right`, op one of + - * // %."""

    op: str
    left: Expression
    right: Expression
    offset: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Aggregate:
    """`count(v for v in part if where)`, `all(body for v in part if where)`, `any(…)`. A count has no body."""

    kind: str
    variable: str
    part: str
    body: Expression | None
    where: Expression | None
    offset: int = attrs.field(default=0, eq=False)


Expression = Number | Truth | Path | Within | Not | Both | Compare | Arithmetic | Aggregate

_COMPARISONS: dict[type, str] = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_ARITHMETIC: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_MEANT = {"=": "write `==`", "&": "write `and`", "|": "write `or`", "!": "write `not`, or `!=`"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_AGGREGATES = ("count", "all", "any")
_LANGUAGE = (
    "use names, integers, `and or not`, comparisons, `+ - * // %`, `is`, `in {…}`, and count, all, any over a part"
)


def parse(text: str) -> Expression:
    """Parse `text`. Raises ExpressionError."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"the expression is longer than {MAX_LENGTH:,} characters", 0, "name parts of it under `define`"
        )
    if not text.strip():
        raise ExpressionError("the expression is empty", 0, "write a condition or a value, or leave the key out")
    source = text.replace("\n", " ")
    try:
        with warnings.catch_warnings(action="ignore"):  # Python's own remarks about text that is refused below
            tree = ast.parse(source.strip(), mode="eval")
    except SyntaxError as error:
        raise _unreadable(source, error) from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError("cannot read this as an expression", 0) from None
    return _Reader(source.strip(), len(source) - len(source.lstrip())).read(tree.body, 0)


def _unreadable(source: str, error: SyntaxError) -> ExpressionError:
    """The error where Python stopped. Its own words are left out: they change from version to version."""
    text = source.strip()
    shift = len(source) - len(source.lstrip())
    at = (error.offset or 0) - 1
    message = f"cannot read `{text if len(text) <= 60 else text[:57] + '…'}`"
    if not 0 <= at < len(text):
        return ExpressionError(message, shift + len(text), "finish it: something is missing at its end")
    closing = _CLOSING.get(text[at], "")
    if closing and text.count(text[at]) > text.count(closing):
        return ExpressionError(message, shift + at, f"close it with `{closing}`")
    return ExpressionError(message, shift + at, _MEANT.get(text[at], _LANGUAGE))


class _Reader:
    """`ast` nodes of a text to ours. `shift`: blanks before the text, so that offsets stay true."""

    def __init__(self, text: str, shift: int) -> None:
        self._text = text.encode()
        self._shift = shift

    def read(self, node: ast.expr, depth: int) -> Expression:
        at = self._at(node)
        if depth > MAX_DEPTH:
            raise ExpressionError("the expression is nested too deeply", at, "name parts of it under `define`")
        deeper = depth + 1
        match node:
            case ast.Constant(value=bool(value)):
                raise ExpressionError(
                    f"`{value}` is spelt `{str(value).lower()}` here", at, f"write `{str(value).lower()}`"
                )
            case ast.Constant(value=int(value)):
                return Number(value, at)
            case ast.Constant(value=None):
                raise ExpressionError("`None` is spelt `none` here", at, "write `none`")
            case ast.Name(id="true" | "false" as word):
                return Truth(word == "true", at)
            case ast.Name() | ast.Attribute():
                return self._path(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self.read(operand, deeper), at)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Arithmetic("-", Number(0, at), self.read(operand, deeper), at)
            case ast.BoolOp(op=op, values=values):
                connective = "and" if isinstance(op, ast.And) else "or"
                return Both(connective, tuple(self.read(value, deeper) for value in values), at)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return Arithmetic(_ARITHMETIC[type(op)], self.read(left, deeper), self.read(right, deeper), at)
            case ast.BinOp(op=ast.Div()):
                raise ExpressionError("`/` would leave the integers", at, "write `//`")
            case ast.Compare():
                return self._comparison(node, deeper)
            case ast.Call(func=ast.Name(id=kind), args=[ast.GeneratorExp() as loop], keywords=[]) if (
                kind in _AGGREGATES
            ):
                return self._aggregate(kind, loop, at, deeper)
        raise self._refusal(node)

    def _path(self, node: ast.expr) -> Path:
        fields: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            fields.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            raise self._refusal(inner)
        return Path(inner.id, tuple(reversed(fields)), self._at(node))

    def _comparison(self, node: ast.Compare, depth: int) -> Expression:
        parts: list[Expression] = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.Is | ast.IsNot):
                parts.append(self._within(left, [right], isinstance(op, ast.IsNot), node))
            elif isinstance(op, ast.In | ast.NotIn):
                if not isinstance(right, ast.Set):
                    raise ExpressionError("`in` wants a set of words", self._at(right), "write `in {this, that}`")
                parts.append(self._within(left, right.elts, isinstance(op, ast.NotIn), node))
            else:
                at = self._at(left)
                parts.append(Compare(_COMPARISONS[type(op)], self.read(left, depth), self.read(right, depth), at))
            left = right
        return parts[0] if len(parts) == 1 else Both("and", tuple(parts), self._at(node))

    def _within(self, left: ast.expr, words: list[ast.expr], negated: bool, node: ast.Compare) -> Within:
        if not isinstance(left, ast.Name | ast.Attribute | ast.Subscript):
            raise ExpressionError(
                "the left of `is` and `in` is the name of an instance", self._at(left), "write `NAME is STATE`"
            )
        members: list[str] = []
        for word in words:
            if not isinstance(word, ast.Name):
                raise ExpressionError(
                    "the right of `is` and `in` is made of single words",
                    self._at(word),
                    "write `NAME is STATE` or `NAME in {STATE, STATE}`",
                )
            members.append(word.id)
        if isinstance(left, ast.Subscript):
            raise self._single(left, text_of(Within(Path("x"), tuple(members), negated)))
        return Within(self._path(left), tuple(members), negated, self._at(node))

    def _aggregate(self, kind: str, loop: ast.GeneratorExp, at: int, depth: int) -> Aggregate:
        generator = loop.generators[0]
        simple = (
            len(loop.generators) == 1
            and not generator.is_async
            and isinstance(generator.target, ast.Name)
            and isinstance(generator.iter, ast.Name)
            and len(generator.ifs) <= 1
        )
        if not simple:
            raise ExpressionError(f"`{kind}` runs over one part", at, f"write `{kind}(… for x in PART if …)`")
        assert isinstance(generator.target, ast.Name) and isinstance(generator.iter, ast.Name)
        variable = generator.target.id
        where = self.read(generator.ifs[0], depth) if generator.ifs else None
        body: Expression | None = self.read(loop.elt, depth)
        if kind == "count":
            if body != Path(variable):
                raise ExpressionError(
                    "`count` counts the instances themselves",
                    at,
                    f"write `count({variable} for {variable} in {generator.iter.id} if …)`",
                )
            body = None
        return Aggregate(kind, variable, generator.iter.id, body, where, at)

    def _at(self, node: ast.expr) -> int:
        return len(self._text[: node.col_offset].decode()) + self._shift

    def _refusal(self, node: ast.expr) -> ExpressionError:
        if isinstance(node, ast.Subscript):
            return self._single(node, "…")
        return ExpressionError(self._not_in_the_language(node), self._at(node), _LANGUAGE)

    def _single(self, node: ast.Subscript, condition: str) -> ExpressionError:
        """What is said of `jobs[0]`. `condition`: what was asked of it, of `x` instead."""
        part = node.value.id if isinstance(node.value, ast.Name) else "PART"
        return ExpressionError(
            f"{self._not_in_the_language(node)}: single instances are not named in it",
            self._at(node),
            f"write `any({condition} for x in {part})`",
        )

    def _not_in_the_language(self, node: ast.expr) -> str:
        text = self._text[node.col_offset : node.end_col_offset].decode()
        return f"`{text if len(text) <= 60 else text[:57] + '…'}` is not in the expression language"


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything in it, outside in."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside."""
    match expression:
        case Not(item=item):
            return (item,)
        case Both(items=items):
            return items
        case Compare(left=left, right=right) | Arithmetic(left=left, right=right):
            return (left, right)
        case Within(subject=subject):
            return (subject,)
        case Aggregate(body=body, where=where):
            return tuple(item for item in (body, where) if item is not None)
    return ()


def conjuncts(expression: Expression | None) -> list[Expression]:
    """The conditions that an expression joins with `and`; none when there is no expression."""
    if expression is None:
        return []
    if isinstance(expression, Both) and expression.word == "and":
        return [inner for item in expression.items for inner in conjuncts(item)]
    return [expression]


def text_of(expression: Expression) -> str:
    """The expression as one would write it; parsing it again gives an equal expression."""
    match expression:
        case Number(value=value):
            return str(value)
        case Truth(value=value):
            return "true" if value else "false"
        case Path():
            return str(expression)
        case Within(subject=subject, members=(member,), negated=negated):
            return f"{subject} {'is not' if negated else 'is'} {member}"
        case Within(subject=subject, members=members, negated=negated):
            return f"{subject} {'not in' if negated else 'in'} {{{', '.join(members)}}}"
        case Not(item=item):
            return f"not {_wrapped(item)}"
        case Both(word=word, items=items):
            return f" {word} ".join(_wrapped(item) for item in items)
        case Compare(op=op, left=left, right=right) | Arithmetic(op=op, left=left, right=right):
            return f"{_wrapped(left)} {op} {_wrapped(right)}"
        case Aggregate(kind=kind, variable=variable, part=part, body=body, where=where):
            condition = f" if {text_of(where)}" if where is not None else ""
            return f"{kind}({text_of(body) if body is not None else variable} for {variable} in {part}{condition})"


def _wrapped(expression: Expression) -> str:
    text = text_of(expression)
    return f"({text})" if isinstance(expression, Both | Compare | Arithmetic | Within | Not) else text
