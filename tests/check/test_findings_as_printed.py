"""The text of every finding, as it is printed, held in `tests/golden/findings`.

`CALFSM_WRITE_GOLDEN=1 pytest tests/check` writes the texts anew; the difference is then reviewed like code.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from calfsm.check import check_files, codes

TESTS = Path(__file__).parents[1]
SPECS = TESTS / "bad_specs"
GOLDEN = TESTS / "golden" / "findings"
MADE_ELSEWHERE = {"too-large", "unreadable"}
"""Codes of files that are not kept here: one would be too large, the other is not there."""

CASES = sorted(path.relative_to(SPECS).as_posix() for path in SPECS.rglob("*.yaml") if path.parent.name != "together")


def golden(case: str) -> Path:
    return (GOLDEN / case).with_suffix(".txt")


def printed(case: str) -> str:
    findings = check_files([case]).findings
    return "".join(f"{finding}\n" for finding in findings) or "nothing is wrong\n"


@pytest.mark.parametrize("case", [*CASES, "together"])
def test_the_findings_are_printed_as_ever(case, monkeypatch):
    monkeypatch.chdir(SPECS)
    text = printed(case)
    if os.environ.get("CALFSM_WRITE_GOLDEN"):
        golden(case).parent.mkdir(parents=True, exist_ok=True)
        golden(case).write_text(text, "utf-8")
    assert text == golden(case).read_text("utf-8")


def test_every_golden_text_belongs_to_a_spec():
    assert set(GOLDEN.rglob("*.txt")) == {golden(case) for case in [*CASES, "together"]}


def test_every_code_is_printed_somewhere():
    texts = "".join(path.read_text("utf-8") for path in GOLDEN.rglob("*.txt"))
    printed_codes = re.findall(r"^\S+: (?:error|warning)\[([a-z0-9-]+)\]: ", texts, re.MULTILINE)
    assert set(printed_codes) == set(codes()) - MADE_ELSEWHERE
