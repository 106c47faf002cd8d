"""Finding commands, and leaving well."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest

import calfsm
from calfsm.cli import main as cli
from calfsm.cli import manners

ROOT = Path(calfsm.__file__).resolve().parents[1]
HEAVY = ("numpy", "yaml", "hypothesis", "cattrs", "shtab", "graphviz", "numba")


def python(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, *words], capture_output=True, text=True, env=environment, encoding="utf-8", **options
    )


def stand_in(monkeypatch, run, name="check"):
    """Put a command in the place of another."""
    module = types.ModuleType(f"calfsm.cli.{name}")
    module.add_arguments = lambda parser: None
    module.run = run
    monkeypatch.setitem(sys.modules, f"calfsm.cli.{name}", module)


def test_help_names_every_command_and_the_exit_codes(calfsm):
    outcome = calfsm("--help")
    assert outcome.code == 0
    for name, (_, line) in cli.COMMANDS.items():
        assert name in outcome.out
        assert line in outcome.out
    assert "2 it could not be tried" in outcome.out
    assert outcome.err == ""


def test_help_starts_without_importing_anything_heavy():
    seen = f"print([m for m in {HEAVY!r} if m in sys.modules])"
    script = f"import sys; from calfsm.cli.main import main; main(['--help']); {seen}"
    assert python("-c", script).stdout.splitlines()[-1] == "[]"


def test_the_table_of_commands_says_what_each_command_says_of_itself():
    for name, (path, line) in cli.COMMANDS.items():
        if importlib.util.find_spec(path) is not None:
            module = cli.load_command(name)
            assert (name, line) == (module.NAME, module.HELP)


def test_every_installed_command_explains_its_arguments(calfsm):
    for name in cli.installed_commands():
        outcome = calfsm(name, "--help")
        assert outcome.code == 0
        assert outcome.out.startswith(f"usage: calfsm {name}")


def test_no_command_shows_help_and_is_not_a_success(calfsm):
    outcome = calfsm()
    assert outcome.code == 2
    assert outcome.out == ""
    assert "usage: calfsm" in outcome.err


def test_an_unknown_command_is_named_with_those_there_are(calfsm):
    outcome = calfsm("chekc")
    assert outcome.code == 2
    assert "'chekc'" in outcome.err
    assert "check" in outcome.err


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--formt", "json"),
        ("check", "--format", "xml"),
        ("--verbose",),
        ("--verbose", "check"),
        ("--",),
        ("new", "machine", "x", "y"),
        ("",),
        ("\0",),
    ],
)
def test_arguments_that_make_no_sense_cannot_be_tried(calfsm, words):
    outcome = calfsm(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert "usage:" in outcome.err


def test_a_command_that_is_not_installed_says_so(calfsm, monkeypatch):
    monkeypatch.setitem(cli.COMMANDS, "fly", ("calfsm.cli.fly", "take off"))
    outcome = calfsm("fly")
    assert (outcome.code, outcome.out) == (2, "")
    assert "has no `fly` command" in outcome.err


def test_a_command_that_is_not_installed_is_no_matter_to_help(calfsm, monkeypatch):
    monkeypatch.setitem(cli.COMMANDS, "fly", ("calfsm.cli.fly", "take off"))
    assert calfsm("--help").code == 0
    assert calfsm("explain").code == 0


def test_the_version_is_the_packages(calfsm):
    assert calfsm("--version").out == f"calfsm {__import__('calfsm').__version__}\n"


def test_what_cannot_be_tried_is_two_lines_on_standard_error(calfsm, monkeypatch):
    def run(args: argparse.Namespace) -> int:
        raise manners.CannotTry("the moon is not here", "wait for the night")

    stand_in(monkeypatch, run)
    outcome = calfsm("check")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "calfsm: the moon is not here\n  wait for the night\n"


def test_an_interrupt_is_one_line(calfsm, monkeypatch):
    def run(args: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    stand_in(monkeypatch, run)
    outcome = calfsm("check")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "calfsm: stopped\n")


def test_a_mistake_of_calfsm_itself_is_not_hidden(calfsm, monkeypatch):
    def run(args: argparse.Namespace) -> int:
        raise ValueError("a mistake")

    stand_in(monkeypatch, run)
    with pytest.raises(ValueError, match="a mistake"):
        calfsm("check")


@pytest.mark.skipif(os.name == "nt", reason="no such pipes")
def test_a_reader_that_leaves_early_hears_no_complaint():
    script = f"{sys.executable} -m calfsm explain --format json | head -c 10"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL),
    )
    assert done.stderr == ""
    assert done.returncode in (0, 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", ["completion bash", "explain --format json", "explain duplicate-key"])
def test_a_full_disk_under_standard_output_is_an_error_and_not_a_traceback(words):
    script = f"{sys.executable} -m calfsm {words} > /dev/full"
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 1
    assert done.stderr == "calfsm: standard output: No space left on device\n  what was printed is not all\n"


@pytest.mark.skipif(os.name == "nt", reason="no such redirections")
def test_a_closed_standard_output_is_an_error_and_not_a_traceback():
    script = f"{sys.executable} -m calfsm explain >&-"
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 1
    assert done.stderr.startswith("calfsm: standard output is closed\n")


def test_python_m_calfsm_is_the_same_command():
    done = python("-m", "calfsm", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"calfsm {calfsm.__version__}\n", "")


def test_python_m_calfsm_leaves_with_the_commands_exit_code(tmp_path):
    done = python("-m", "calfsm", "check", str(tmp_path / "missing.yaml"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "missing.yaml: No such file or directory" in done.stderr
