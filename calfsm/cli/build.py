"""`calfsm build`: the generated transition tables, or whether the committed ones are fresh."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calfsm.cli import manners, specs

if TYPE_CHECKING:
    from calfsm.compile.build import Drift
    from calfsm.compile.load import Compiled

NAME = "build"
HELP = "write the transition tables, or see whether they are fresh"

MOST_LINES = 60
"""How much of a module's diff is shown."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which specs, where the package is, and whether only to compare."""
    manners.add_paths(parser)
    into = parser.add_argument(
        "--into", type=Path, metavar="DIR", help="the package to write (default: the project's calfsm/tables)"
    )
    into.complete = manners.FOLDERS  # type: ignore[attr-defined]
    parser.add_argument("--check", action="store_true", help="write nothing; fail, with a diff, if a module is stale")
    manners.add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Write or compare."""
    from calfsm.compile.build import write

    compiled = specs.compiled(args.paths, "built")
    folder = args.into or default_folder(args.paths)
    # Specs that are named are a part of the project's; what else it has is not theirs to remove.
    whole = not args.paths or args.into is not None
    if folder is None:
        raise manners.CannotTry(
            "it is not said where the tables go", "name the package: calfsm build --into PACKAGE/tables"
        )
    if args.check:
        return _report(drifts(compiled, folder, whole), folder, args.format)
    texts = _texts(compiled)
    with manners.files_at_hand():
        touched = write(texts, folder, whole)
    written = [path for path in touched if path.name in texts]
    removed = [path for path in touched if path.name not in texts]
    if args.format == "json":
        manners.say_json(
            {"folder": str(folder), "written": list(map(str, written)), "removed": list(map(str, removed))}
        )
    else:
        for path in written:
            manners.say(str(path))
        for path in removed:
            manners.say(f"{path} (removed)")
    manners.note(
        f"{manners.counted(len(written), 'module')} written" + (f", {len(removed)} removed" if removed else "")
    )
    return manners.HOLDS


def default_folder(paths: Sequence[Path] = ()) -> Path | None:
    """Where the project keeps its tables: `calfsm/tables` beside its specs; of those that ship, the installed ones.

    None where that is not said: `paths` are somebody's own specs, outside of a project.
    """
    import calfsm

    own = manners.project_specs()
    if own is None:
        return None if paths else Path(calfsm.__file__).parent / "tables"
    folder = own.parent / "calfsm" / "tables"
    return manners.shortest(folder) if folder.is_dir() else None


def drifts(compiled: Compiled, folder: Path, whole: bool = True) -> list[Drift]:
    """What in `folder` is not what the specs say. `whole`: whether they are all that it is made from."""
    from calfsm.compile.build import drift

    with manners.files_at_hand():
        return drift(_texts(compiled), folder, whole)


def _texts(compiled: Compiled) -> dict[str, str]:
    from calfsm.compile.build import modules

    return modules(compiled)


def _report(found: list[Drift], folder: Path, how: str) -> int:
    if how == "json":
        manners.say_json(
            {
                "folder": str(folder),
                "fresh": not found,
                "drift": [{"path": str(d.path), "kind": d.kind, "diff": d.diff} for d in found],
            }
        )
        return manners.FAILS if found else manners.HOLDS
    for item in found:
        manners.say(f"{item.path}: {item.kind}")
        lines = item.diff.splitlines()
        for line in lines[:MOST_LINES]:
            colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
            manners.say(manners.painted(line, colour))
        if len(lines) > MOST_LINES:
            manners.say(f"… {len(lines) - MOST_LINES} more lines")
    if found:
        manners.note(f"{manners.counted(len(found), 'module')} of {folder} not as the specs say; run `calfsm build`")
        return manners.FAILS
    manners.say(manners.painted(f"the modules in {folder} are fresh", "green"))
    return manners.HOLDS
