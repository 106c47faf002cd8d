"""`calfsm completion`: scripts that shells can read."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from calfsm.cli import main as cli


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_the_script_knows_every_installed_command(calfsm, shell):
    outcome = calfsm("completion", shell)
    assert (outcome.code, outcome.err) == (0, "")
    for name in cli.installed_commands():
        assert name in outcome.out
    assert "--format" in outcome.out


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "completions"),
    [
        ("calfsm expla", {"explain"}),
        ("calfsm check --format s", {"sarif"}),
        ("calfsm new m", {"machine"}),
        ("calfsm completion t", {"tcsh"}),
        ("calfsm replay x --on ex", {"executor"}),
        ("calfsm graph x --collapse ch", {"chains"}),
    ],
)
def test_bash_completes(calfsm, tmp_path, line, completions):
    script = tmp_path / "calfsm.bash"
    script.write_text(calfsm("completion", "bash").out, "utf-8")
    ask = f"""
        source {script}
        COMP_WORDS=({line}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        $(complete -p calfsm | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True)
    assert done.stderr == ""
    assert {word.strip() for word in done.stdout.split()} == completions


def test_an_unknown_shell_is_refused_with_those_there_are(calfsm):
    outcome = calfsm("completion", "fish")
    assert (outcome.code, outcome.out) == (2, "")
    assert "bash" in outcome.err
