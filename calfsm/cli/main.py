"""Finds the command, runs it, and gives its exit code.

A command is a module with `NAME`, `HELP`, `add_arguments(parser)` and `run(args) -> int`. It is imported when it is
asked for and not before, so the table below carries each one's line of help.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import os
import sys
from collections.abc import Collection, Sequence
from types import ModuleType
from typing import cast

from calfsm import __version__
from calfsm.cli import manners

COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("calfsm.cli.check", "find everything that is wrong in specs"),
    "explain": ("calfsm.cli.explain", "tell what a finding means, with a bad and a mended example"),
    "build": ("calfsm.cli.build", "write the transition tables, or see whether they are fresh"),
    "explore": ("calfsm.cli.explore", "visit every reachable state and judge the properties"),
    "replay": ("calfsm.cli.replay", "do the steps of a counterexample, or of any suite, again"),
    "graph": ("calfsm.cli.graph", "list and draw the reachable graph, projected onto chosen parts"),
    "paths": ("calfsm.cli.paths", "generate test suites from the specs"),
    "render": ("calfsm.cli.render", "draw the specs, or see whether the pictures are fresh"),
    "export": ("calfsm.cli.export", "write a system as a model for SPIN or Rumur"),
    "verify": ("calfsm.cli.verify", "do all of it: check, build, explore, run the paths, walk, draw"),
    "new": ("calfsm.cli.new", "start a machine, a system or a profile"),
    "completion": ("calfsm.cli.completion", "print a completion script for your shell"),
}
"""Each command, in the order of `--help`: its module, and the line that help shows."""

PROLOGUE = "Lifecycles of a serving stack: specified, checked, explored, drawn and run from one source."
EPILOGUE = """\
Without PATHS a command takes the project's specs/ folder: the one here or in the nearest folder above, else the one
that ships with calfsm.

exit codes: 0 it holds; 1 it does not hold; 2 it could not be tried
"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help with room for the longest command."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)
        self._action_max_length = max(map(len, COMMANDS)) + 4  # argparse forgets that commands are indented


def build_parser(load: Collection[str] = ()) -> argparse.ArgumentParser:
    """The parser with every command in its help, and the arguments of those in `load`."""
    parser = argparse.ArgumentParser(
        prog="calfsm",
        description=PROLOGUE,
        epilog=EPILOGUE,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"calfsm {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    parser.set_defaults(refuse=parser.error)
    for name, (_, line) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=line,
            description=f"{line[0].upper()}{line[1:]}.",
            formatter_class=_Help,
            allow_abbrev=False,
        )
        if name in load:
            module = load_command(name)
            module.add_arguments(command)
            command.set_defaults(run=module.run, refuse=command.error)
    return parser


def load_command(name: str) -> ModuleType:
    """The module of a command. Raises CannotTry when this installation does not have it."""
    path = COMMANDS[name][0]
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        raise manners.CannotTry(f"this installation has no `{name}` command", "install calfsm whole") from None


def installed_commands() -> list[str]:
    """The commands whose module is there."""
    return [name for name, (path, _) in COMMANDS.items() if importlib.util.find_spec(path) is not None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code; never raises SystemExit."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if sys.stdout is None:  # closed before we began
            raise manners.CannotPrint("standard output is closed", "give it somewhere to go, as in `> /dev/null`")
        code = _dispatch(arguments)
        with manners.printing():
            sys.stdout.flush()
    except manners.CannotPrint as error:
        manners.complain(error)
        _give_up_stdout()
        return manners.FAILS
    except manners.CannotTry as error:
        manners.complain(error)
        return manners.NOT_TRIED
    except KeyboardInterrupt:
        manners.note("calfsm: stopped")
        return manners.STOPPED
    except BrokenPipeError:
        _give_up_stdout()
        return manners.READER_LEFT
    return code


def run() -> None:
    """The console entry point."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a strange file name must not end a report
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())


def _dispatch(arguments: list[str]) -> int:
    try:
        parser = build_parser([word for word in arguments if word in COMMANDS][:1])
        if not arguments:
            parser.print_help(sys.stderr)
            return manners.NOT_TRIED
        args, unknown = parser.parse_known_args(arguments)
        if unknown:
            args.refuse(f"cannot make sense of {' '.join(unknown)}")
    except SystemExit as leaving:  # argparse has said why
        return leaving.code if isinstance(leaving.code, int) else manners.NOT_TRIED
    return cast("int", args.run(args))


def _give_up_stdout() -> None:
    """Python flushes standard output at exit; where that cannot be, it would complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
