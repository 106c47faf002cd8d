"""`calfsm render`: the pictures of the specs, or whether the committed ones are fresh."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from calfsm.cli import manners, specs

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled

NAME = "render"
HELP = "draw the specs, or see whether the pictures are fresh"

_SUFFIXES = {"dot": (".dot",), "svg": (".svg",), "mermaid": (".mmd",), "all": (".dot", ".svg", ".mmd", ".md")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which specs, what to draw, where, and whether only to compare."""
    manners.add_paths(parser)
    into = parser.add_argument(
        "--into", type=Path, metavar="DIR", help="the folder of the pictures (default: the project's docs/diagrams)"
    )
    into.complete = manners.FOLDERS  # type: ignore[attr-defined]
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a picture is not fresh")
    parser.add_argument(
        "--format", choices=tuple(_SUFFIXES), default="all", help="what to draw; all includes the pages that show it"
    )
    parser.epilog = """
Spec files named one by one are drawn alone: the index page is left as it is, and so are other specs' pictures. SVG is
drawn by graphviz-pure: pip install calfsm[draw].
"""


def run(args: argparse.Namespace) -> int:
    """Draw or compare."""
    texts = _drawn(specs.compiled(args.paths, "drawn"), args.format)
    folder = args.into or default_folder()
    suffixes = _SUFFIXES[args.format]
    if args.paths and not any(path.is_dir() for path in args.paths):
        texts.pop("README.md", None)
        suffixes = ()
    return _compare(texts, folder, suffixes) if args.check else _write(texts, folder, suffixes)


def _drawn(compiled: Compiled, chosen: str) -> dict[str, str]:
    from calfsm import render

    formats = render.FORMATS if chosen == "all" else (chosen,)
    try:
        return render.diagrams(compiled, formats, pages=chosen == "all")
    except render.CannotDraw as error:
        raise manners.CannotTry(error.message, f"{error.fix}; or draw `--format dot`") from None


def default_folder() -> Path:
    """`docs/diagrams` of the project; where there is none, of the current directory."""
    specs = manners.project_specs()
    return manners.shortest(specs.parent / "docs" / "diagrams") if specs else Path("docs", "diagrams")


def _write(texts: Mapping[str, str], folder: Path, suffixes: tuple[str, ...]) -> int:
    from calfsm import render

    with manners.files_at_hand():
        touched = render.write_files(texts, folder, suffixes)
    for path in touched:
        manners.say(str(path) if path.name in texts else f"{path} (removed)")
    fresh = len(texts) - sum(path.name in texts for path in touched)
    manners.note(f"{manners.counted(len(touched), 'file')} changed, {fresh:,} fresh")
    return manners.HOLDS


def _compare(texts: Mapping[str, str], folder: Path, suffixes: tuple[str, ...]) -> int:
    from calfsm import render

    with manners.files_at_hand():
        found = render.stale_files(texts, folder, suffixes)
    for item in found:
        manners.say(f"{item.path}: {item.kind}")
    if found:
        manners.note(f"{manners.counted(len(found), 'file')} of {folder} not as the specs say; run `calfsm render`")
        return manners.FAILS
    manners.say(manners.painted(f"{manners.counted(len(texts), 'file')} in {folder} fresh", "green"))
    return manners.HOLDS
