"""Turns of phrase that findings share."""

from __future__ import annotations

from collections.abc import Collection

from calfsm.spec.findings import listed, nearest


def near(word: str, known: Collection[str], otherwise: str) -> str:
    """The way out when a name is not known: the nearest known one, or else something else to do."""
    found = nearest(word, known)
    return found if found.startswith("did you mean") else otherwise


def owned(owner: str, things: str, names: Collection[str]) -> str:
    """`its states are open and closed`, or `door has no states`."""
    return f"its {things} are {listed(names)}" if names else f"{owner} has no {things}"


def quoted(names: Collection[str], none: str = "none") -> str:
    """`` `open` and `closed` ``."""
    return listed(f"`{name}`" for name in names) or none
