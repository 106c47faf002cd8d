"""A small writer of SVG: shapes in order, each escaped, nothing that is not asked for."""

from __future__ import annotations

import html
from collections.abc import Sequence

import attrs

from calfsm.render import look
from calfsm.render.labels import printable
from calfsm.render.svg import FAMILY

_WIDTHS = {
    238: "'",
    278: " ,./\\ijlI|",
    333: "!()-:;`ft[]",
    389: "*r{}",
    474: '"',
    500: "z",
    556: "#$0123456789_aceksvxyJ",
    584: "+<=>^~",
    611: "?FLTZbdghnopqu",
    667: "EPSVXY",
    722: "&ABCDHKNRU",
    778: "GOQw",
    889: "Mm%",
}
"""Helvetica's bold letters, the wider ones, in thousandths of the size."""
_WIDTH = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
_UNKNOWN = 1000


@attrs.frozen
class Words:
    """Part of a text, in one colour."""

    text: str
    colour: str
    bold: bool = False


def width(text: str, size: float) -> float:
    """How wide a text is at most, in pixels, at a size of letters in pixels."""
    return sum(_WIDTH.get(letter, _UNKNOWN) for letter in text) * size / 1000 * 1.03


def wrapped(text: str, size: float, room: float) -> list[str]:
    """A text in lines no wider than `room`, broken between words; a word that is wider has a line of its own."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


class Canvas:
    """An SVG picture being drawn. Coordinates and sizes are pixels; what is drawn later lies above."""

    def __init__(self) -> None:
        self._shapes: list[str] = []

    def text(self, x: float, y: float, words: Sequence[Words], size: float, anchor: str = "start") -> None:
        """A line of text, words a space apart, whose baseline is at `y`.

        `anchor` says which end of it is at `x`: start, middle or end.
        """
        # The space is a shift: not every viewer draws one at the end of a span or at its beginning.
        shifts = ["", *[f' dx="{_number(size / 4)}"'] * len(words)]
        spans = [
            f'<tspan fill="{part.colour}"{_BOLD if part.bold else ""}{shift}>{_escaped(part.text)}</tspan>'
            for part, shift in zip(words, shifts, strict=False)
        ]
        self._shape("text", "".join(spans), x=x, y=y, font_size=size, text_anchor=anchor)

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, weight: float = 1) -> None:
        """A straight line."""
        self._shape("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_width=weight)

    def box(
        self,
        x: float,
        y: float,
        wide: float,
        high: float,
        fill: str,
        line: str = "none",
        weight: float = 1,
        round: float = 4,
    ) -> None:
        """A rectangle; `round`: the radius of its corners."""
        self._shape("rect", x=x, y=y, width=wide, height=high, rx=round, fill=fill, stroke=line, stroke_width=weight)

    def path(self, path: str, fill: str, line: str = "none", weight: float = 1) -> None:
        """A path in SVG's own words."""
        self._shape("path", d=path, fill=fill, stroke=line, stroke_width=weight)

    def dot(self, x: float, y: float, radius: float, fill: str) -> None:
        """A filled circle."""
        self._shape("circle", cx=x, cy=y, r=radius, fill=fill)

    def under(self, other: Canvas) -> Canvas:
        """This, with another drawn above it."""
        both = Canvas()
        both._shapes = [*self._shapes, *other._shapes]
        return both

    def svg(self, wide: float, high: float, title: str, mark: str) -> str:
        """The whole file. `title` is what is read aloud in the picture's place, `mark` a comment."""
        size = f'width="{_number(wide)}" height="{_number(high)}" viewBox="0 0 {_number(wide)} {_number(high)}"'
        return "\n".join(
            [
                f"<!-- {mark} -->",
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FAMILY}">',
                f"<title>{_escaped(title)}</title>",
                f'<rect width="100%" height="100%" fill="{look.PAPER}"/>',
                *self._shapes,
                "</svg>",
                "",
            ]
        )

    def _shape(self, tag: str, inside: str = "", /, **attributes: str | float) -> None:
        written = "".join(
            f' {name.replace("_", "-")}="{value if isinstance(value, str) else _number(value)}"'
            for name, value in attributes.items()
            if (name, value) not in _USUAL
        )
        self._shapes.append(f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>")


_BOLD = ' font-weight="bold"'
_USUAL = {("text_anchor", "start"), ("stroke", "none"), ("stroke_width", 1), ("rx", 0)}
"""What SVG takes for granted."""


def _escaped(text: str) -> str:
    return html.escape(printable(text), quote=False)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
