"""What every command does alike: where specs are, what is printed where, and which exit code says what.

Results go to standard output, everything about getting there to standard error. A command returns HOLDS or FAILS; what
it cannot even try it raises as CannotTry, and `main` prints that without a traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import stat
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

import calfsm

HOLDS = 0
"""Exit code: what was asked holds."""
FAILS = 1
"""Exit code: it was tried and does not hold."""
NOT_TRIED = 2
"""Exit code: it could not be tried."""
STOPPED = 130
"""Exit code: interrupted from the keyboard."""
READER_LEFT = 141
"""Exit code: whoever read standard output went away."""

SUFFIXES = (".yaml", ".yml")
"""How the names of spec files end."""

FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}
"""For `action.complete`: shells complete this argument with file names."""
FOLDERS = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/", "tcsh": "d"}
"""For `action.complete`: shells complete this argument with folders."""


class CannotTry(Exception):
    """What was asked cannot be tried. `message` says what is the matter, `fix` the way out."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


class CannotPrint(CannotTry):
    """Standard output takes no more: the disk is full, or it is closed."""


# ---- arguments


def add_paths(parser: argparse.ArgumentParser, help: str = "spec files, or folders of them") -> None:
    """Add the positional PATHS, as `args.paths`: for `spec_files`."""
    action = parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATHS", help=f"{help}; without, the project's specs"
    )
    action.complete = FILES  # type: ignore[attr-defined]


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str] = ("text", "json")) -> None:
    """Add `--format`, as `args.format`; the first of `formats` is what one gets without asking."""
    parser.add_argument(
        "--format",
        choices=formats,
        default=formats[0],
        help=f"how the result is printed: {', '.join(formats)} (default: {formats[0]})",
    )


# ---- where specs are


def project_specs(start: Path | None = None) -> Path | None:
    """The project's `specs` folder: in `start` (the current directory) or the nearest folder above that has one."""
    here = start or _here()
    return next(
        (folder / "specs" for folder in (here, *here.parents) if (folder / "specs" / "machines").is_dir()), None
    )


def shipped_specs() -> Path | None:
    """The specs that ship with calfsm: inside the package when installed, beside it in a repository."""
    package = Path(calfsm.__file__).resolve().parent
    return next((f for f in (package / "specs", package.parent / "specs") if (f / "machines").is_dir()), None)


def specs_folder() -> Path:
    """The project's specs, else those that ship with calfsm. Raises CannotTry."""
    own = project_specs()
    if own is not None:
        return shortest(own)
    shipped = shipped_specs()
    if shipped is None:
        raise CannotTry(
            "there is no specs/machines folder here or above, and none came with calfsm",
            "name spec files, or begin with `calfsm new machine NAME`",
        )
    note(f"no specs/machines here or above; taking those that ship with calfsm, {shipped}")
    return shipped


def spec_files(paths: Sequence[Path]) -> list[Path]:
    """The spec files at `paths`, a folder standing for all in it but its `examples`; without paths, the project's.

    In the order given, each once, sorted within a folder. Raises CannotTry for what is not there, is neither file nor
    folder, or holds no spec.
    """
    found: dict[Path, Path] = {}
    for path in paths or [specs_folder()]:
        for file in _files_at(path):
            found.setdefault(_resolved(file), file)
    return list(found.values())


def shortest(path: Path) -> Path:
    """`path` as one would type it here: relative when that is shorter, absolute otherwise."""
    with contextlib.suppress(ValueError):  # on another drive
        relative = os.path.relpath(path, _here())
        if len(relative) < len(str(path)):
            return Path(relative)
    return path


@contextlib.contextmanager
def files_at_hand() -> Iterator[None]:
    """Inside, a file that cannot be opened, read or written is a CannotTry."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        raise CannotTry(f"{what}{error.strerror or error}", "see whether it is there, and yours to use") from None


def _files_at(path: Path) -> list[Path]:
    with files_at_hand():
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _files_under(path)
    if not stat.S_ISREG(mode):
        raise CannotTry(f"{path} is neither a file nor a folder", "write what it holds to a file, and name that")
    return [path]


def _files_under(folder: Path) -> list[Path]:
    from calfsm.check.files import EXAMPLES

    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != EXAMPLES)
        named = [Path(place, name) for name in sorted(names) if name.endswith(SUFFIXES) and not name.startswith(".")]
        found += [path for path in named if path.is_file() or not path.exists()]  # a pipe would never end
    if not found:
        raise CannotTry(
            f"{folder} holds no spec",
            f"a spec's name ends in {' or '.join(SUFFIXES)}; begin one with `calfsm new machine NAME --into {folder}`",
        )
    return found


def _raise(error: OSError) -> None:
    raise error


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links: reading it will tell
        return path


def _here() -> Path:
    with files_at_hand():
        return Path.cwd()


# ---- printing


def say(text: str = "") -> None:
    """A line of the result, on standard output. Raises CannotPrint."""
    with printing():
        print(text)


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Inside, standard output that takes no more is a CannotPrint; a reader who went away stays a BrokenPipeError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotPrint(f"standard output: {error.strerror or error}", "what was printed is not all") from None


def say_json(value: Any) -> None:
    """A result as JSON, on standard output."""
    say(json.dumps(value, indent=2, ensure_ascii=False))


def note(text: str) -> None:
    """A line about the way there, on standard error."""
    print(text, file=sys.stderr, flush=True)


def complain(error: CannotTry) -> None:
    """Say what could not be tried, on standard error."""
    note(f"{painted('calfsm:', 'red', 'bold', stream=sys.stderr)} {visible(error.message)}")
    if error.fix:
        note(f"  {visible(error.fix)}")


def visible(text: str) -> str:
    """`text` from elsewhere, fit for a terminal: a control character is spelt out and does nothing."""
    return "".join(c if c.isprintable() or c in "\n\t" or "\udc80" <= c <= "\udcff" else ascii(c)[1:-1] for c in text)


class Say(Protocol):
    """Shows how far one has got; each call takes the place of the last."""

    def __call__(self, text: str) -> None:
        """Show `text` until the next call."""


@contextlib.contextmanager
def unlogged() -> Iterator[None]:
    """Inside, what the executor logs is kept quiet: its devices fail on purpose here."""
    log = logging.getLogger("calfsm")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


@contextlib.contextmanager
def progress() -> Iterator[Say]:
    """Inside, `say(text)` keeps one line of a terminal's standard error up to date; elsewhere it says nothing."""
    stream = sys.stderr
    if not _is_terminal(stream):
        yield lambda text: None
        return

    def show(text: str) -> None:
        stream.write(f"\r\x1b[2K{text}")
        stream.flush()

    try:
        yield show
    finally:
        stream.write("\r\x1b[2K")
        stream.flush()


_COLOURS = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}


def painted(text: str, *colours: str, stream: TextIO | None = None) -> str:
    """`text` in these colours (red, green, yellow, blue, magenta, cyan, bold, dim), where `stream` shows colours."""
    if not text or not shows_colours(stream or sys.stdout):
        return text
    return f"\x1b[{';'.join(str(_COLOURS[colour]) for colour in colours)}m{text}\x1b[0m"


def shows_colours(stream: TextIO) -> bool:
    """Whether to write colours: on a terminal; never with NO_COLOR set, always with FORCE_COLOR set."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _is_terminal(stream) and os.environ.get("TERM") != "dumb"


def counted(number: int, thing: str, plural: str = "") -> str:
    """`1 error`, `12,000 states`, `no warnings`."""
    return f"{number:,} {thing}" if number == 1 else f"{f'{number:,}' if number else 'no'} {plural or thing + 's'}"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], boxed: bool | None = None) -> str:
    """Rows in aligned columns, numbers to the right; `boxed` draws lines, as it does on a terminal when not said."""
    body = [[_cell(value) for value in row] for row in rows]
    right = [all(column) for column in zip(*([to_right for _, to_right in row] for row in body), strict=True)]
    head = [(title, to_right) for title, to_right in zip(header, right or [False] * len(header), strict=True)]
    lines = [head, *body]
    widths = [max(width(text) for text, _ in column) for column in zip(*lines, strict=True)]
    if boxed if boxed is not None else _is_terminal(sys.stdout):
        return _boxed(lines, widths)
    return "\n".join("  ".join(_aligned(line, widths)).rstrip() for line in lines)


def width(text: str) -> int:
    """How many columns of a terminal `text` takes; colours take none."""
    plain = _without_colours(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in plain)


def _boxed(lines: list[list[tuple[str, bool]]], widths: list[int]) -> str:
    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * (w + 2) for w in widths) + right

    inner = ["│ " + " │ ".join(_aligned(line, widths)) + " │" for line in lines]
    return "\n".join([rule("┌", "┬", "┐"), inner[0], rule("├", "┼", "┤"), *inner[1:], rule("└", "┴", "┘")])


def _cell(value: object) -> tuple[str, bool]:
    """A value's text, and whether it stands to the right."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (f"{value:,}", True)
    return (str(value), False)


def _aligned(line: list[tuple[str, bool]], widths: list[int]) -> list[str]:
    pads = [" " * (w - width(text)) for (text, _), w in zip(line, widths, strict=True)]
    return [pad + text if right else text + pad for (text, right), pad in zip(line, pads, strict=True)]


def _without_colours(text: str) -> str:
    while (start := text.find("\x1b[")) >= 0 and (end := text.find("m", start)) >= 0:
        text = text[:start] + text[end + 1 :]
    return text


def _is_terminal(stream: TextIO) -> bool:
    return hasattr(stream, "isatty") and not stream.closed and stream.isatty()
