"""Everything that the README shows is run, and prints what the README says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from calfsm.cli.main import main

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def timeless(text: str) -> str:
    """Text without the seconds that a machine happened to take."""
    return re.sub(r"\d+\.\d s\b", "0.0 s", text)


def test_the_python_of_the_readme_prints_what_stands_under_it() -> None:
    code = next(text for kind, text in BLOCKS if kind == "python")
    shown = next(text for kind, text in BLOCKS if kind == "text")
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    path = f"{ROOT}:{ROOT / 'adapters'}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": path}
    )
    assert done.stdout == shown


def test_the_commands_of_the_readme_print_what_stands_under_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    consoles = [text for kind, text in BLOCKS if kind == "console"]
    assert consoles
    for console in consoles:
        command, _, shown = console.partition("\n")
        main(command.removeprefix("$ calfsm ").split())
        assert timeless(capsys.readouterr().out) == timeless(shown)


def test_every_tool_and_file_that_the_readme_names_is_there() -> None:
    for tool in re.findall(r"\./(tools/\w+)", README):
        assert (ROOT / tool).stat().st_mode & 0o111, tool
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_commands_that_the_readme_lists_are_those_there_are() -> None:
    from calfsm.cli.main import COMMANDS

    listed = README.rsplit("lists the commands:", 1)[1]
    assert re.findall(r"`(\w+)`", listed) == list(COMMANDS)
