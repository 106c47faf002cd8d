"""One way to run a command line in a test, and a small project to run it in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from kiosk import set_up

from calfsm.cli.main import main

LAMP = """\
machine: lamp
states: {off: {initial: true}, on: {}}
events: {press: {by: client}}
transitions: {off: {press: on}, on: {press: off}}
"""


@attrs.frozen
class Outcome:
    """What a user sees of one command."""

    code: int
    out: str
    err: str


Calfsm = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def calfsm(capsys: pytest.CaptureFixture[str]) -> Calfsm:
    def command(*words: object) -> Outcome:
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Outcome(code, out, err)

    return command


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def project(nowhere: Path) -> Path:
    """A current directory whose specs hold one good machine."""
    machines = nowhere / "specs" / "machines"
    machines.mkdir(parents=True)
    (machines / "lamp.yaml").write_text(LAMP, "utf-8")
    return nowhere


@pytest.fixture
def kiosk(nowhere: Path) -> Path:
    """A current directory whose specs are the kiosk's."""
    set_up(nowhere)
    return nowhere
