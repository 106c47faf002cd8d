"""A sequence diagram as SVG: a row a step, a column for everyone who speaks or moves.

Columns are as wide as the widest text in them and rows as high as the highest, so that no two texts meet. What a
picture tells by colour it tells by words or shapes as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import attrs

from calfsm.engine.table import StateRow, Table
from calfsm.explore.systems import InstanceChange, StoryLine
from calfsm.render import look
from calfsm.render.canvas import Canvas, Words, width, wrapped
from calfsm.render.sequence import Interaction, Lifeline

TITLE, TEXT, SMALL = 17, 12, 11
"""Sizes of letters, in pixels."""
MARGIN = 20
GAP = 14
"""Between what stands in neighbouring columns."""
LEADING = 14
"""From one small line to the next."""
ARROW = 13
"""How far below the top of its row an arrow is."""
PICKS = 170
"""How wide an action's picks may be on one line."""
LEAST = 720
"""How wide a picture is at least."""
AGAIN = 14
"""After so many rows, who is who is said again."""
REMARK = "Drawn by calfsm, from a run."
LAST = "the last state"
FOR_EVER = "loop for ever"
WAITING = "it waits from here on"
BREAKS, WAITS = "breaks it", "waits"
LEGEND = (
    (look.AWAITING_FILL, 20, "a state that awaits an answer"),
    (look.OUTCOME_FILL, 20, "a state that ends something"),
    (look.FILL, 6, "not in its initial state"),
)
"""Colour, width and meaning of the boxes."""


def sequence_svg(shown: Interaction) -> str:
    """The picture. The same run gives the same text on every machine."""
    return _Picture(shown).drawn()


@attrs.frozen
class _Card:
    """What stands at a lifeline, in a box: lines of words."""

    lines: tuple[tuple[Words, ...], ...]
    fill: str = look.PAPER
    blamed: bool = False

    @property
    def width(self) -> float:
        """In pixels."""
        return max(width(" ".join(words.text for words in line), SMALL) for line in self.lines) + 14

    @property
    def height(self) -> float:
        """In pixels."""
        return len(self.lines) * LEADING + 8


class _Picture:
    """A drawing under way; `_y` is how far down it is. Lifelines and stripes lie below what the steps say."""

    def __init__(self, shown: Interaction) -> None:
        self._shown, self._lives = shown, {life.name: life for life in shown.lifelines}
        self._below, self._canvas = Canvas(), Canvas()
        self._left = MARGIN + 20 + width(f"{len(shown.lines)}.", TEXT)
        said = max([_width_of_call(line) for line in shown.lines] + [width(LAST, TEXT)])
        widths = [max(width(name, TEXT) + 8 + GAP, 58) for name in shown.speakers]
        widths += [_width_of(life, shown.lines) for life in shown.lifelines]
        edges = list(accumulate(widths, initial=self._left + said + GAP))
        middles = [edge + wide / 2 for edge, wide in zip(edges, widths, strict=False)]
        self._x = dict(zip((*shown.speakers, *self._lives), middles, strict=True))
        self._right = max(edges[-1] + GAP, LEAST)
        self._y = float(MARGIN)
        self._states = {who: life.first["state"] for who, life in self._lives.items()}
        self._busy: dict[str, float] = {}
        """Since where each instance has not been in its initial state."""
        self._bars: list[tuple[str, float, float]] = []
        self._fills: set[str] = set()
        """The colours that the legend has to explain."""

    def drawn(self) -> str:
        """All of it."""
        shown = self._shown
        self._heading()
        top = self._y
        self._heads()
        for who in self._lives:
            self._follow(who, self._y)
        self._rows(shown.steps)
        if shown.waiting == len(shown.steps):
            self._waits()
        if shown.cycle:
            self._loop()
        self._y += 12
        self._lifelines(top)
        self._last()
        self._ending()
        self._legend()
        return self._below.under(self._canvas).svg(self._right + MARGIN, self._y + MARGIN, shown.title, REMARK)

    # ---- from top to bottom

    def _heading(self) -> None:
        room = self._right - MARGIN
        for line in wrapped(self._shown.title, TITLE, room):
            self._canvas.text(MARGIN, self._y + TITLE, [Words(line, look.INK, True)], TITLE)
            self._y += TITLE + 5
        for line in wrapped(self._shown.subtitle, TEXT, room):
            self._canvas.text(MARGIN, self._y + TEXT, [Words(line, look.FAINT)], TEXT)
            self._y += TEXT + 4
        self._y += 12

    def _heads(self) -> None:
        """Who stands in which column, and every instance's present state."""
        for speaker in self._shown.speakers:
            colour, x, wide = look.COLOURS[speaker], self._x[speaker], width(speaker, TEXT) + 8
            self._canvas.box(x - wide / 2, self._y + 6, wide, 24, look.PAPER, colour, round=12)
            self._canvas.text(x, self._y + 22, [Words(speaker, colour, True)], TEXT, "middle")
        for who, state in self._states.items():
            self._card(who, self._y, _head(who, state))
        self._y += 44

    def _rows(self, lines: Iterable[StoryLine]) -> None:
        for count, line in enumerate(lines):
            if self._shown.waiting == line.number - 1 < len(self._shown.steps):
                self._waits()
            if count and count % AGAIN == 0:
                self._y += 8
                self._heads()
            self._row(line)

    def _row(self, line: StoryLine) -> None:
        name, picks = _call(line)
        cards = {change.who: _changed(change, self._lives[change.who].table) for change in line.changes}
        high = max(26 + LEADING * len(picks), ARROW + 16 + max((card.height for card in cards.values()), default=0))
        if line.number % 2:
            self._below.box(MARGIN, self._y, self._right - MARGIN, high, look.STRIPE, round=0)
        baseline = self._y + ARROW + 4
        self._canvas.text(self._left - 8, baseline, [Words(f"{line.number}.", look.FAINT)], TEXT, "end")
        self._canvas.text(self._left, baseline, [Words(name, look.COLOURS[line.by], True)], TEXT)
        for number, text in enumerate(picks, 1):
            self._canvas.text(self._left, baseline + number * LEADING, [Words(text, look.FAINT)], SMALL)
        self._arrow(line, self._y + ARROW)
        for change in line.changes:
            self._card(change.who, self._y + ARROW + 8, cards[change.who])
            self._states[change.who] = change.now
            self._follow(change.who, self._y + ARROW)
        self._y += high

    def _arrow(self, line: StoryLine, y: float) -> None:
        """From who speaks to everyone who moves; back to the speaker where nobody does."""
        colour, x = look.COLOURS[line.by], self._x[line.by]
        reached = [self._x[change.who] for change in line.changes]
        if reached:
            self._canvas.line(x, y, max(reached) - 8, y, colour, 1.3)
        else:
            self._canvas.path(f"M{x:.1f} {y - 3:.1f} h16 v8 h-10", "none", colour, 1.3)
            self._canvas.path(f"M{x + 3:.1f} {y + 5:.1f} l8 -4 v8 z", colour)
        self._canvas.dot(x, y, 3, colour)
        for end in reached:
            self._canvas.path(f"M{end - 3:.1f} {y:.1f} l-8 -4 v8 z", colour)

    def _waits(self) -> None:
        """Say that somebody waits in vain from here on."""
        self._canvas.box(self._left, self._y + 3, self._right - self._left - 8, 18, look.BROKEN_FILL, round=9)
        self._canvas.text(self._left + 10, self._y + 16, [Words(WAITING, look.BROKEN, True)], SMALL)
        self._y += 24

    def _loop(self) -> None:
        self._y += 10
        top, wide = self._y, width(FOR_EVER, TEXT) + 16
        self._y += 24
        self._rows(self._shown.cycle)
        self._canvas.box(MARGIN, top, self._right - MARGIN, self._y + 6 - top, "none", look.INK, 1.4)
        self._canvas.path(f"M{MARGIN} {top:.1f} h{wide:.1f} v12 l-8 8 h{8 - wide:.1f} z", look.FILL, look.INK, 1.4)
        self._canvas.text(MARGIN + 8, top + 15, [Words(FOR_EVER, look.INK, True)], TEXT)
        self._y += 16

    def _last(self) -> None:
        """The whole state of everyone shown, and who is to blame."""
        self._canvas.text(self._left, self._y + 17, [Words(LAST, look.INK, True)], TEXT)
        word = BREAKS if self._shown.waiting is None else WAITS
        cards = {who: _at_last(life, word) for who, life in self._lives.items()}
        for who, card in cards.items():
            self._card(who, self._y, card)
        self._y += max((card.height for card in cards.values()), default=24) + 14

    def _ending(self) -> None:
        """What is the matter, in words."""
        room = self._right - MARGIN - 24
        lines = [line for text in self._shown.ending for line in wrapped(text, TEXT, room)]
        if not lines:
            return
        high = len(lines) * 17 + 15
        self._canvas.box(MARGIN, self._y, self._right - MARGIN, high, look.BROKEN_FILL, look.BROKEN)
        for number, line in enumerate(lines):
            self._canvas.text(MARGIN + 12, self._y + 20 + 17 * number, [Words(line, look.INK)], TEXT)
        self._y += high + 14

    def _legend(self) -> None:
        x = float(MARGIN)
        for fill, wide, text in [row for row in LEGEND if row[0] in self._fills]:
            self._canvas.box(x, self._y, wide, 14, fill, look.FAINT, 0.8, 2)
            self._canvas.text(x + wide + 6, self._y + 11, [Words(text, look.FAINT)], SMALL)
            x += wide + 6 + width(text, SMALL) + 20
        self._y += 14

    # ---- at a lifeline

    def _card(self, who: str, top: float, card: _Card) -> None:
        self._fills.add(card.fill)
        x, line, weight = self._x[who], look.FAINT, 0.8
        if card.blamed:
            line, weight = look.BROKEN, 2.2
        self._canvas.box(x - card.width / 2, top, card.width, card.height, card.fill, line, weight)
        for number, words in enumerate(card.lines):
            self._canvas.text(x, top + 15 + LEADING * number, words, SMALL, "middle")

    def _follow(self, who: str, y: float) -> None:
        """Note from where to where an instance is not in its initial state."""
        initial = _state(self._lives[who].table, self._states[who]).initial
        if not initial:
            self._busy.setdefault(who, y)
        elif who in self._busy:
            self._bars.append((who, self._busy.pop(who), y))

    def _lifelines(self, top: float) -> None:
        """From the first heads to here, and the bars of those who are not in their initial states."""
        for name, x in self._x.items():
            self._below.line(x, top + 6, x, self._y, look.FAINT if name in self._lives else look.COLOURS[name], 0.7)
        self._bars += [(who, since, self._y) for who, since in self._busy.items()]
        for who, since, until in self._bars:
            self._fills.add(look.FILL)
            self._below.box(self._x[who] - 3, since, 6, until - since, look.FILL, look.FAINT, 0.8, 0)


# ---- what stands where


def _call(line: StoryLine) -> tuple[str, list[str]]:
    """An action's name, and its picks and choices in lines."""
    name, _, picks = line.call.removesuffix(")").partition("(")
    return name, wrapped(picks, SMALL, PICKS)


def _width_of_call(line: StoryLine) -> float:
    name, picks = _call(line)
    return max([width(name, TEXT), *(width(text, SMALL) for text in picks)])


def _width_of(life: Lifeline, lines: Iterable[StoryLine]) -> float:
    """How wide a lifeline's column must be for all that ever stands in it."""
    changes = [change for line in lines for change in line.changes if change.who == life.name]
    states = {life.first["state"], *(change.now for change in changes)}
    cards = [_changed(change, life.table) for change in changes]
    cards += [*(_head(life.name, state) for state in states), *(_at_last(life, word) for word in (BREAKS, WAITS))]
    return max(card.width for card in cards) + GAP


def _head(who: str, state: str) -> _Card:
    return _Card(((Words(who, look.INK, True),), (Words(state, look.FAINT),)))


def _changed(change: InstanceChange, table: Table) -> _Card:
    """From which state to which, and new values."""
    lines = [(Words(text, look.FAINT),) for text in change.texts]
    if change.was != change.now:
        moved = Words(f"{change.was} \N{RIGHTWARDS ARROW}", look.FAINT), Words(change.now, look.INK, True)
        return _Card((moved, *lines), _fill(table, change.now))
    return _Card(tuple(lines))


def _at_last(life: Lifeline, word: str) -> _Card:
    """The state, every variable, and whether it is to blame."""
    state = life.last["state"]
    lines = [(Words(state, look.INK, True),)]
    lines += [(Words(f"{name} = {value}", look.FAINT),) for name, value in life.last.items() if name != "state"]
    lines += [(Words(word, look.BROKEN, True),)] if life.blamed else []
    return _Card(tuple(lines), look.BROKEN_FILL if life.blamed else _fill(life.table, state), life.blamed)


def _fill(table: Table, state: str) -> str:
    row = _state(table, state)
    if row.outcome or row.final:
        return look.OUTCOME_FILL
    return look.AWAITING_FILL if row.awaits else look.PAPER


def _state(table: Table, name: str) -> StateRow:
    return table.states[table.state_index(name)]
