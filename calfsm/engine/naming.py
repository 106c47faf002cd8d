"""Names looked up, and what is said of those that there are not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def index_of(rows: tuple[Any, ...], name: str, whose: str, kind: str) -> int:
    """The index of the row that is called `name`.

    Raises KeyError with all that a reader needs: `buffer has no state 'fre'; did you mean 'free'?`.
    """
    for index, row in enumerate(rows):
        if row.name == name:
            return index
    raise KeyError(unknown(name, [row.name for row in rows], whose, kind))


def unknown(name: object, known: Iterable[str], whose: str, kind: str) -> str:
    """That there is no such name, and which is near, or which there are."""
    from difflib import get_close_matches  # asked for in errors only, and slow to import

    names = list(known)
    close = get_close_matches(name, names, n=1) if isinstance(name, str) else []
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(names) or 'none'}"
    return f"{whose} has no {kind} {name!r}; {hint}"
