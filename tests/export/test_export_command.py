"""`calfsm export`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from calfsm.cli.main import main
from calfsm.export import murphi, promela
from calfsm.tables import phase_b
from calfsm.tables.executor import SYSTEM

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "export"

Export = Callable[..., tuple[int, str, str]]


@pytest.fixture
def export(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Export:
    """Runs the command in the repository: its exit code, output and errors."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def command(*words: object) -> tuple[int, str, str]:
        code = main(["export", *map(str, words)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return command


def test_a_system_is_printed_at_its_exploring_scope(export: Export) -> None:
    assert export("executor", "--to", "promela") == (0, promela(SYSTEM, None), "")
    assert export("executor", "--to", "murphi") == (0, murphi(SYSTEM, None), "")


def test_a_scope_goes_over_a_profile(export: Export) -> None:
    code, out, _ = export("executor", "--to", "murphi", "--profile", "phase_b", "--scope", "requests=1,jobs=1")
    assert (code, out) == (0, murphi(SYSTEM, {**phase_b.PROFILE.scope, "requests": 1, "jobs": 1}))


def test_a_model_is_written_whole_to_a_file(export: Export, tmp_path: Path) -> None:
    place = tmp_path / "new" / "yard.pml"
    code, out, err = export(GOLDEN, "--to", "promela", "--into", place)
    assert (code, out) == (0, "")
    assert err == f"{place}: yard at most=2, width=1, rule=2\n"
    assert place.read_text("utf-8") == (GOLDEN / "yard.pml").read_text("utf-8")
    assert [path.name for path in place.parent.iterdir()] == ["yard.pml"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["executer", "--to", "murphi"], "no system is called `executer`"),
        (["executor", "--to", "murphi", "--scope", "job=1"], "executor has no parameter `job`"),
        (["executor", "--to", "murphi", "--scope", "jobs=0"], "part jobs of executor would have 0 instances"),
        (["executor", "--to", "murphi", "--profile", "phase_c"], "no profile is called `phase_c`"),
        ([GOLDEN, "--to", "murphi", "--profile", "phase_a"], "profile phase_a is of the system executor"),
        (["specs/machines/kv.yaml", "--to", "murphi"], "specs/machines/kv.yaml holds no systems"),
        ([GOLDEN / "gone.yaml", "--to", "murphi"], "No such file"),
        (["executor", "--to", "murphi", "--into", "/proc/nowhere/model.m"], "calfsm:"),
        (["executor"], "--to"),
        (["executor", "--to", "alloy"], "alloy"),
    ],
)
def test_what_cannot_be_tried_is_said_with_a_way_out(export: Export, words: list[object], said: str) -> None:
    code, out, err = export(*words)
    assert (code, out) == (2, "")
    assert said in err


def test_what_has_no_model_at_a_scope_is_said(export: Export, tmp_path: Path) -> None:
    (tmp_path / "thing.yaml").write_text(
        """\
machine: thing
params: {most: {serves: 3, explores: 3}}
vars: {n: {int: [0, 3]}}
states: {idle: {initial: true}, busy: {}}
events: {go: {by: engine}}
transitions: {idle: {go: busy}, busy: {go: {to: idle, when: n < most, set: {n: n + 1}}}}
""",
        "utf-8",
    )
    (tmp_path / "place.yaml").write_text(
        "system: place\nparts: {t: {machine: thing}}\nactions: {go: {by: engine, fire: {t: go}}}\n", "utf-8"
    )
    code, out, err = export(tmp_path, "--to", "promela", "--scope", "most=4")
    assert (code, out) == (2, "")
    assert "thing in busy on go: `n` leaves its domain 0 to 3" in err and "choose another scope" in err
