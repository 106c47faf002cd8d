"""`calfsm new`: a commented spec to start from, that already passes the checks."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from calfsm.cli import manners

if TYPE_CHECKING:
    from calfsm.spec.model import MachineSpec, Spec, SystemSpec

NAME = "new"
HELP = "start a machine, a system or a profile"

_EXAMPLES = """
examples:
  calfsm new machine fetch             specs/machines/fetch.yaml: ask, wait, be answered, time out, cancel, reset
  calfsm new system fetching --of fetch
  calfsm new profile small --of fetching
"""
_S = TypeVar("_S", "MachineSpec", "SystemSpec")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to start, its name, and where."""
    parser.epilog = _EXAMPLES
    parser.add_argument("kind", choices=("machine", "system", "profile"), help="what to start")
    parser.add_argument("name", metavar="NAME", help="lower-case letters, digits and `_`, beginning with a letter")
    parser.add_argument("--of", metavar="SPEC", help="the machine that a system holds, the system of a profile")
    into = parser.add_argument(
        "--into", type=Path, metavar="DIR", help="the folder to write to (default: the project's)"
    )
    into.complete = manners.FOLDERS  # type: ignore[attr-defined]


def run(args: argparse.Namespace) -> int:
    """Write the file, and say where it is. Never overwrites."""
    _judge_name(args.kind, args.name)
    folder = args.into or _folder_for(args.kind)
    path = folder / f"{args.name}.yaml"
    if os.path.lexists(path):
        raise manners.CannotTry(f"{path} is there already", "take another name, or remove it first")
    text = _schema_line(args.kind, folder) + _text(args.kind, args.name, args.of, args.into)
    with manners.files_at_hand():
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    manners.say(str(path))
    manners.note(f"now make it yours, and ask `calfsm check {path}` what is missing")
    return manners.HOLDS


def _judge_name(kind: str, name: str) -> None:
    from calfsm.check.names import RESERVED

    if name in RESERVED:
        raise manners.CannotTry(f"`{name}` is a word of the language and cannot be a name", f"write `{name}_`")
    letters = "a-z0-9_-" if kind == "profile" else "a-z0-9_"
    if re.fullmatch(f"[a-z][{letters}]*", name) and len(name) <= 60:
        return
    near = re.sub("_+", "_", re.sub("[^a-z0-9]", "_", name.lower())).strip("_0123456789")[:60]
    raise manners.CannotTry(
        f"`{name}` is not a name: lower-case letters, digits and `_`, beginning with a letter, at most 60 of them",
        f"write `{near}`" if near else "",
    )


def _folder_for(kind: str) -> Path:
    """The project's folder for this kind. Where there is no project yet, one begins here."""
    specs = manners.project_specs()
    return (manners.shortest(specs) if specs else Path("specs")) / f"{kind}s"


def _schema_line(kind: str, folder: Path) -> str:
    """The comment by which editors find the schema; relative when the project holds it too."""
    import calfsm.spec

    schema = Path(calfsm.spec.__file__).resolve().parent / "schema" / f"{kind}.schema.json"
    specs = manners.project_specs(folder.resolve())
    project = (specs.parent if specs else Path.cwd()).resolve()
    within = schema.is_relative_to(project) and folder.resolve().is_relative_to(project)
    target = Path(os.path.relpath(schema, folder.resolve())) if within else schema
    return f"# yaml-language-server: $schema={target.as_posix()}\n"


def _text(kind: str, name: str, of: str | None, into: Path | None) -> str:
    from calfsm.cli import starts
    from calfsm.spec.model import MachineSpec, SystemSpec

    if kind == "machine":
        if of:
            raise manners.CannotTry("a machine is not of anything", "leave `--of` out")
        return starts.machine(name)
    beside, project = _beside(into), _in_project()
    machines = {**_of_class(MachineSpec, project), **_of_class(MachineSpec, beside)}
    if kind == "system":
        return starts.system(name, _one(_of_class(MachineSpec, beside), machines, of, "machine"))
    systems = {**_of_class(SystemSpec, project), **_of_class(SystemSpec, beside)}
    return starts.profile(name, _one(_of_class(SystemSpec, beside), systems, of, "system"), machines)


def _in_project() -> list[Spec]:
    own = manners.project_specs()
    return _readable(manners.spec_files([own]) if own else [])


def _beside(into: Path | None) -> list[Spec]:
    """The specs in the folder that is written to, and in its `machines` and `systems`."""
    folders = [into, into / "machines", into / "systems"] if into is not None else []
    return _readable(path for folder in folders for suffix in manners.SUFFIXES for path in folder.glob(f"*{suffix}"))


def _readable(files: Iterable[Path]) -> list[Spec]:
    from calfsm.spec.read import read_spec

    with manners.files_at_hand():
        specs = [read_spec(file).spec for file in sorted(files)]
    return [spec for spec in specs if spec is not None]


def _of_class(kind: type[_S], specs: list[Spec]) -> dict[str, _S]:
    return {spec.name: spec for spec in specs if isinstance(spec, kind)}


def _one(beside: Mapping[str, _S], known: Mapping[str, _S], name: str | None, kind: str) -> _S:
    """The one called `name`; without a name the only one that stands beside, or the only one there is."""
    from calfsm.spec.findings import listed, nearest

    if not known:
        raise manners.CannotTry(f"there is no {kind} that can be read", f"begin with `calfsm new {kind} NAME`")
    likely = beside or known
    if name is None and len(likely) == 1:
        return next(iter(likely.values()))
    if name is None:
        raise manners.CannotTry(f"of which {kind}?", f"write `--of NAME`; there are {listed(sorted(known))}")
    if name not in known:
        raise manners.CannotTry(f"there is no {kind} `{name}` that can be read", nearest(name, sorted(known)))
    return known[name]
