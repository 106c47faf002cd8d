"""Generated modules on disk, so that a scope that was explored before starts in a second instead of ten.

The folder is `$XDG_CACHE_HOME/calfsm/explore`, or `~/.cache/calfsm/explore`. A module's name is a digest of the
system's content, the parameters and the sources of this package; its first line is a digest of the rest. What cannot
be read, is damaged or cannot be written is made anew, in memory if need be.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType

import calfsm
from calfsm.explore.compiled.emit import module_text
from calfsm.explore.compiled.layout import CannotCompile, Layout
from calfsm.explore.symmetry import Symmetry

KEPT = 50
"""How many modules the folder holds; the oldest make room for new ones."""


def folder() -> Path:
    """Where generated modules are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "calfsm" / "explore"


def module(layout: Layout, where: Path | None = None, symmetry: Symmetry | None = None) -> ModuleType:
    """The compiled module of a layout, reduced by a symmetry if there is one. `where`: the folder to keep it in, unless
    it is the user's.

    Raises CannotCompile when numba is not installed, or the scope is too large to be compiled.
    """
    return made(key(layout, symmetry), lambda cache: module_text(layout, symmetry, cache), where)


def made(name: str, text_of: Callable[[bool], str], where: Path | None = None) -> ModuleType:
    """The compiled module that is kept under a name. `text_of`: its text; given whether to keep machine code.

    Raises CannotCompile when numba is not installed, and what `text_of` raises.
    """
    try:
        import numba  # noqa: F401  (the generated text imports it; here we only want to say what is missing)
    except ImportError as error:
        raise CannotCompile("numba is not installed: pip install 'calfsm[fast]'") from error
    path = (where or folder()) / f"calfsm_{name}.py"
    text = _kept(path)
    if text is None:
        text = _sealed(text_of(True))
        if not _keep(path, text):
            return _run(text_of(False), path, kept=False)
    try:
        return _run(text, path)
    except Exception:  # what numba keeps beside the module may be damaged in any way; nothing of it is needed
        for file in _machine_code(path):
            with suppress(OSError):
                file.unlink()
        return _run(text_of(False), path, kept=False)


def is_kept(layout: Layout, where: Path | None = None, symmetry: Symmetry | None = None) -> bool:
    """Whether a module is on disk, with machine code beside it."""
    path = (where or folder()) / f"calfsm_{key(layout, symmetry)}.py"
    return _kept(path) is not None and any(True for _ in _machine_code(path))


def key(layout: Layout, symmetry: Symmetry | None = None, more: object = ()) -> str:
    """A digest of all that a module is made from. `more`: what that is beside what the search is made from."""
    system = layout.system
    parts = [(part.name, part.table.content(), part.count, part.per) for part in system.parts]
    content = (
        parts,
        system.tallies,
        system.actions,
        system.always,
        sorted(layout.params.items()),
        sorted(layout.places.items()),
        symmetry.scalarsets if symmetry is not None else (),
        more,
    )
    return hashlib.sha256(repr((calfsm.__version__, _sources(), content)).encode()).hexdigest()[:32]


@cache
def _sources() -> str:
    """A digest of this package: what another version generated is not taken for this one's."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sealed(text: str) -> str:
    return f"# {hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def _kept(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return text if text == _sealed(text.partition("\n")[2]) else None


def _keep(path: Path, text: str) -> bool:
    """Write a module; whether that could be done.

    Whoever reads meanwhile sees the old or the new one, never half of it.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _forget_oldest(path.parent)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError:
        return False
    return True


def _forget_oldest(where: Path) -> None:
    modules = sorted(where.glob("calfsm_*.py"), key=lambda file: file.stat().st_mtime)
    for path in modules[: max(0, len(modules) - KEPT + 1)]:
        for file in [path, *_machine_code(path)]:
            with suppress(OSError):
                file.unlink()


def _machine_code(path: Path) -> Iterator[Path]:
    return (path.parent / "__pycache__").glob(f"{path.stem}.*.nb?")


def _run(text: str, path: Path, kept: bool = True) -> ModuleType:
    """The module of a text; it is compiled, or its machine code read, as it runs."""
    name = path.stem if kept else f"{path.stem}_{os.getpid()}"
    made = ModuleType(name)
    made.__file__ = str(path)
    sys.modules[name] = made  # numba finds a function's module by name
    code = compile(text, str(path) if kept else f"<{name}>", "exec")
    if kept and any(_machine_code(path)):
        from calfsm.explore.compiled import jit  # numba is there by now

        with jit.reading():
            exec(code, made.__dict__)
    else:
        exec(code, made.__dict__)
    return made
