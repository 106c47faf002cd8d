"""Compiled specs for a command, and the arguments by which one says at which scope."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calfsm.cli import manners

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.engine.system import System


def compiled(paths: Sequence[Path], what_for: str) -> Compiled:
    """The specs at `paths`, compiled. Raises CannotTry, what is wrong printed, when they do not pass their checks."""
    from calfsm.compile.load import SpecErrors, load

    files = manners.spec_files(paths)
    try:
        with manners.files_at_hand():
            return load(files)
    except SpecErrors as error:
        manners.note(str(error))
        raise manners.CannotTry(f"specs with errors are not {what_for}", "mend what is said above") from None


def add_system(parser: argparse.ArgumentParser) -> None:
    """Add the positional SYSTEM and `--profile`, for `one_system`."""
    system = parser.add_argument("system", metavar="SYSTEM", help="a system's file or name")
    system.complete = manners.FILES  # type: ignore[attr-defined]
    parser.add_argument("--profile", metavar="NAME", help="the scope of a profile; --scope goes over it")


def one_system(args: argparse.Namespace, what_for: str) -> tuple[Compiled, System, dict[str, int]]:
    """The specs, the system that `args` names, and its scope: by `--profile`, and over that `--scope`."""
    path = Path(args.system)
    by_file = path.suffix in manners.SUFFIXES or path.exists()
    found = compiled([path] if by_file else [], what_for)
    system = _system(found, args.system, by_file)
    chosen = {}
    if args.profile:
        chosen = _profile_scope(found if not by_file else compiled([], what_for), args.profile, system)
    return found, system, fitting(system, {**chosen, **args.scope})


def _system(found: Compiled, wanted: str, by_file: bool) -> System:
    from calfsm.spec.findings import nearest

    systems = found.systems
    if by_file:
        if len(systems) != 1:
            raise manners.CannotTry(
                f"{wanted} holds {manners.counted(len(systems), 'system')}", "name one: its file, or its name"
            )
        return next(iter(systems.values()))
    if wanted not in systems:
        raise manners.CannotTry(f"no system is called `{wanted}`", nearest(wanted, systems))
    return systems[wanted]


def _profile_scope(found: Compiled, name: str, system: System) -> dict[str, int]:
    from calfsm.spec.findings import nearest

    if name not in found.profiles:
        raise manners.CannotTry(f"no profile is called `{name}`", nearest(name, found.profiles))
    profile = found.profiles[name]
    if profile.system != system.name:
        raise manners.CannotTry(f"profile {name} is of the system {profile.system}", f"name {profile.system}")
    return dict(profile.scope)


def positive(text: str) -> int:
    """A whole number above 0. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number above 0")
    return int(text)


def add_scope(parser: argparse.ArgumentParser) -> None:
    """Add `--scope NAME=N,…`, as `args.scope`."""
    parser.add_argument(
        "--scope",
        type=scope,
        default={},
        metavar="NAME=N,…",
        help="parameters to use instead of their `explores` values, as in jobs=2,buffers=2",
    )


def scope(text: str) -> dict[str, int]:
    """`jobs=2,buffers=2` as a mapping. Raises ArgumentTypeError."""
    chosen: dict[str, int] = {}
    for item in filter(None, text.split(",")):
        name, equals, value = item.partition("=")
        if not equals or not value.strip().isdecimal():
            raise argparse.ArgumentTypeError(f"`{item}` is not NAME=NUMBER, as in jobs=2")
        if name.strip() in chosen:
            raise argparse.ArgumentTypeError(f"`{name.strip()}` is given twice")
        chosen[name.strip()] = int(value)
    return chosen


def fitting(system: System, chosen: Mapping[str, int]) -> dict[str, int]:
    """All parameters of a search of `system`. Raises CannotTry for one that it does not have, or an empty part."""
    from calfsm.spec.findings import nearest

    values = system.exploring()
    for name in chosen:
        if name not in values:
            raise manners.CannotTry(f"{system.name} has no parameter `{name}`", nearest(name, values))
    return {**values, **chosen}


def fitting_all(systems: Mapping[str, System], chosen: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """All parameters of a search of each of `systems`, by its name; each takes what it knows of `chosen`.

    Raises CannotTry for a parameter that none of them has.
    """
    from calfsm.spec.findings import nearest

    if len(systems) == 1:
        return {name: fitting(system, chosen) for name, system in systems.items()}
    values = {name: system.exploring() for name, system in systems.items()}
    known = dict.fromkeys(parameter for own in values.values() for parameter in own)
    for parameter in chosen:
        if systems and parameter not in known:
            raise manners.CannotTry(f"no system has a parameter `{parameter}`", nearest(parameter, known))
    return {
        name: {parameter: chosen.get(parameter, own[parameter]) for parameter in own} for name, own in values.items()
    }


def shown_scope(values: Mapping[str, int]) -> str:
    """`jobs=2, buffers=2`."""
    return ", ".join(f"{name}={value}" for name, value in values.items())


def adapter(name: str) -> Any:
    """An adapter's package, found through its entry point. Raises CannotTry when it is not installed."""
    found = [entry for entry in metadata.entry_points(group="calfsm.adapters") if entry.name == name]
    if not found:
        raise manners.CannotTry(f"the adapter `{name}` is not installed", "install calfsm whole: pip install calfsm")
    return importlib.import_module(found[0].module)
