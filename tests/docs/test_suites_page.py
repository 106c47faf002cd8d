"""The implementation that docs/suites.md shows passes its suite, and a wrong one does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from calfsm.cli.main import main
from calfsm.paths import Refused, load, run_suite

ROOT = Path(__file__).parent.parent.parent
CODE = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "suites.md").read_text(encoding="utf-8"), re.M | re.S)[0]


def test_the_implementation_of_the_page_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["paths", str(ROOT / "specs" / "machines"), "--into", str(tmp_path / "suites")]) == 0
    monkeypatch.chdir(tmp_path)
    exec(CODE, {})


def test_a_wrong_implementation_is_told_what_is_wrong_and_never_ends_the_run(tmp_path: Path) -> None:
    main(["paths", str(ROOT / "specs" / "machines"), "--into", str(tmp_path)])

    class Shapeless:
        def begin(self, suite: object, case: object) -> None: ...
        def do(self, step: object) -> None:
            raise Refused

        def world(self) -> None:
            return None

    report = run_suite(load(str(tmp_path / "dma.jsonl")), Shapeless())  # type: ignore[arg-type]
    assert not report.passed
    assert "world() gave None" in str(report.failures[0])
