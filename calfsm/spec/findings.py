"""Findings: what is wrong with a document, where, and the way out. Every reader and every check speaks in them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import Enum

import attrs


@attrs.frozen(order=True)
class Place:
    """A spot in a file; line and column count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Severity(Enum):
    """An error fails the check; a warning is shown and does not."""

    ERROR = "error"
    WARNING = "warning"


@attrs.frozen
class Finding:
    """One thing that is wrong.

    `code` is stable and explained by `calfsm explain CODE`; `message` names the subject in the reader's words;
    `because` says what is true or allowed; `fix` says what to write instead.
    """

    code: str
    place: Place
    message: str
    because: str = ""
    fix: str = ""
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        lines = [f"{self.place}: {self.severity.value}[{self.code}]: {self.message}"]
        lines += [f"  {line}" for line in (self.because, self.fix) if line]
        return "\n".join(lines)


def in_file_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sorted by place, then code and message; exact repetitions dropped."""
    return sorted(dict.fromkeys(findings), key=lambda f: (f.place, f.code, f.message))


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?`-style text: the nearest known word, or all of them when none is near and they are few."""
    words = list(known)
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    if not words:
        return "there are none"
    return f"known: {listed(words)}"


def listed(words: Iterable[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; at most twelve are named."""
    names = list(words)
    if len(names) > 12:
        return ", ".join(names[:11]) + f" {last} {len(names) - 11} more"
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + f" {last} {names[-1]}"
