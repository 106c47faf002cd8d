"""What every DOT text here is made of: its frame, HTML-like labels, attributes, quoting.

In an HTML-like label only `& < >` and quotes mean something, so no name and no doc can be misread.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from calfsm.render import look


def digraph(remark: str, name: str, body: Iterable[str], rankdir: str, ranksep: float, nodesep: float) -> str:
    """A whole DOT text, with our looks; `remark` is its first line."""
    font = {"fontname": look.FONT, "fontcolor": look.INK}
    lines = [
        f"// {remark}",
        f"digraph {quoted(name)} {{",
        f"  graph [{attributes(**font, fontsize=10, bgcolor=look.PAPER, pad=0.2)}];",
        f"  graph [{attributes(rankdir=rankdir, ranksep=ranksep, nodesep=nodesep)}];",
        f"  node [{attributes(**font, fontsize=10, shape='box', style='rounded,filled', margin='0.08,0.04')}];",
        f"  node [{attributes(fillcolor=look.FILL, color=look.INK)}];",
        f"  edge [{attributes(**font, fontsize=9, arrowsize=0.7)}];",
        *(f"  {line}" for line in body),
        "}",
    ]
    return "\n".join(lines) + "\n"


def heading(title: str, *said: str) -> Iterator[str]:
    """A graph's title and what is said of it, line by line, above to the left."""
    rows = [f'<font point-size="14"><b>{escaped(title)}</b></font>']
    rows += [escaped(line, 110) for line in said if line]
    yield f"label=<{table([[row] for row in rows])}>; labelloc=t; labeljust=l;"
    yield f"tooltip={tooltip(' '.join(said) or title)};"


def table(rows: Sequence[Sequence[str]], padding: int = 1, between: str = "") -> str:
    """Rows of cells as an HTML-like table without lines; each cell is HTML already."""
    cells = [[f'<td align="left" balign="left">{cell}</td>' for cell in row] for row in rows]
    body = between.join(f"<tr>{''.join(row)}</tr>" for row in cells)
    return f'<table border="0" cellborder="0" cellspacing="0" cellpadding="{padding}">{body}</table>'


def columns(rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns stand apart, a row a line so that a changed one is easy to see in a comparison."""
    return table([[f"{cell}&#160;&#160;&#160;" for cell in row] for row in rows], between="\n  ")


def faint(text: str) -> str:
    """A remark."""
    return f'<font point-size="9" color="{look.FAINT}">{escaped(text)}</font>'


def plain(text: str, width: int = 0) -> str:
    """Text in ink: unpainted text would stand lower than painted."""
    return f'<font color="{look.INK}">{escaped(text, width)}</font>'


def speaking(speaker: str, text: str) -> str:
    """What a speaker says, in their colour."""
    return f'<font color="{look.COLOURS[speaker]}">{escaped(text)}</font>'


def escaped(text: str, width: int = 0) -> str:
    """Text inside an HTML-like label, at most `width` characters a line."""
    lines = wrap(printable(text), width) if width else printable(text).splitlines()
    return "<br/>".join(html.escape(line) for line in lines) or " "


def attributes(**values: object) -> str:
    """Attributes of a node, an edge or a graph, each quoted."""
    return ", ".join(f'{name}="{value}"' for name, value in values.items())


def tooltip(text: str) -> str:
    """A quoted text that shows when one points at something."""
    return quoted(html.escape(printable(text), quote=False))


def quoted(text: str) -> str:
    """A quoted string whose backslashes mean themselves."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def printable(text: str) -> str:
    """Text with a mark in place of each character that no XML may hold."""
    return "".join("\ufffd" if _is_control(character) else character for character in text)


def _is_control(character: str) -> bool:
    unfit = "\x7f" <= character <= "\x9f" or "\ud800" <= character <= "\udfff" or character in "\ufffe\uffff"
    return unfit or (character < " " and character not in "\n\t")
