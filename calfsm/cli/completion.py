"""`calfsm completion`: the script by which a shell completes calfsm's commands, options and files."""

from __future__ import annotations

import argparse

from calfsm.cli import manners

NAME = "completion"
HELP = "print a completion script for your shell"

_HOW = """
to use it:
  bash   calfsm completion bash > ~/.local/share/bash-completion/completions/calfsm
  zsh    calfsm completion zsh > ~/.zfunc/_calfsm     (a folder in $fpath)
  tcsh   calfsm completion tcsh > ~/.calfsm.csh       (and `source` it in ~/.tcshrc)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which shell."""
    parser.epilog = _HOW
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell that is to complete")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from calfsm.cli import main

    parser = main.build_parser(main.installed_commands())
    manners.say(shtab.complete(parser, shell=args.shell).rstrip())
    return manners.HOLDS
