"""The folder of committed pictures: what in it is not as it should be, and writing it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import attrs

from calfsm.compile.build import replace
from calfsm.render.dot import MARK

SUFFIXES = (".dot", ".svg", ".mmd", ".md")


@attrs.frozen
class Stale:
    """A file that is not what its spec says: `kind` is "stale", "missing" or "left over"."""

    path: Path
    kind: str


def stale_files(texts: Mapping[str, str], folder: Path, leftovers: Collection[str] = SUFFIXES) -> list[Stale]:
    """What in `folder` differs from `texts`. `leftovers`: suffixes of which `texts` has all that there should be."""
    found = []
    for name, text in texts.items():
        old = _text(folder / name)
        if old != text:
            found.append(Stale(folder / name, "missing" if old is None else "stale"))
    return found + [Stale(path, "left over") for path in _leftovers(texts, folder, leftovers)]


def write_files(texts: Mapping[str, str], folder: Path, leftovers: Collection[str] = SUFFIXES) -> list[Path]:
    """Write what differs and remove leftovers. Returns what was touched."""
    touched = stale_files(texts, folder, leftovers)
    for item in touched:
        if item.kind == "left over":
            item.path.unlink()
        else:
            replace(item.path, texts[item.path.name])
    return [item.path for item in touched]


def _leftovers(texts: Mapping[str, str], folder: Path, suffixes: Collection[str]) -> list[Path]:
    """Files that we once generated; what others put there is theirs."""
    if not folder.is_dir():
        return []
    paths = [path for path in sorted(folder.iterdir()) if path.suffix in suffixes and path.name not in texts]
    return [path for path in paths if MARK in (_text(path) or "")[:600]]


def _text(path: Path) -> str | None:
    """What a file holds, line ends as they are; None if there is no such file."""
    return path.read_bytes().decode("utf-8", errors="replace") if path.is_file() else None
