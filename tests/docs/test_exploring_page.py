"""What docs/exploring.md prints and shows is what calfsm prints and draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from calfsm.cli.main import main

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "exploring.md").read_text(encoding="utf-8")
GRAPHS = re.findall(r"^```console\n\$ calfsm (graph .*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("command", "shown"), GRAPHS)
def test_the_graphs_of_the_page_are_printed_as_they_stand_there(
    command: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    main(command.split())
    assert capsys.readouterr().out == shown


def test_the_picture_of_the_page_is_the_one_that_is_drawn(tmp_path: Path) -> None:
    main(["explore", str(ROOT / "docs" / "examples" / "early_reuse"), "--counterexamples", str(tmp_path)])
    name = "no_use_after_reuse.svg"
    assert f"(examples/early_reuse/{name})" in PAGE
    drawn = (ROOT / "docs" / "examples" / "early_reuse" / name).read_text("utf-8")
    assert drawn == (tmp_path / name).read_text("utf-8"), "draw it again: calfsm explore … --counterexamples"
