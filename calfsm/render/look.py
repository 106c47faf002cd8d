"""How things look: colours, line styles, fonts. Nothing that a picture tells is told by colour alone."""

from __future__ import annotations

import attrs

from calfsm.render.model import Kind

FONT = "Arial"
"""Graphviz knows the widths of its letters by itself, so that a layout is the same on a machine without the font."""

INK = "#222222"
FAINT = "#666666"
PAPER = "#ffffff"
FILL = "#f6f6f3"
OUTCOME_FILL = "#e9e9e4"
AWAITING_FILL = "#e3f2ec"
STRIPE = "#f8f8f6"
BROKEN = "#b00020"
BROKEN_FILL = "#fdeef0"

COLOURS = {
    "client": "#0b5fa5",
    "engine": "#333333",
    "runtime": "#00755a",
    "clock": "#b34700",
    "recovery": "#9a3583",
}
"""Who speaks. After Okabe and Ito's palette, darkened until small text on white is easy to read."""


@attrs.frozen
class Stroke:
    """A line without its colour."""

    style: str
    width: float
    head: str


STROKES = {
    Kind.MOVE: Stroke("solid", 1.1, "normal"),
    Kind.CANCEL: Stroke("solid", 1.1, "odiamond"),
    Kind.TIMEOUT: Stroke("dashed", 1.1, "normal"),
    Kind.RESET: Stroke("bold", 2.0, "normalnormal"),
}
"""What is said, so that it can be told without colours."""

MEANINGS = {
    Kind.MOVE: "{}",
    Kind.CANCEL: "{}: cancel",
    Kind.TIMEOUT: "{}: timeout",
    Kind.RESET: "{}: reset",
}
"""What the legend says of a kind, for a speaker."""
