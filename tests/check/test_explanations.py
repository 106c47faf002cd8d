"""Every code is explained, and every example is true."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import calfsm.check
import calfsm.spec
from calfsm.check import check_files, codes, explain

MAKERS = ("Finding", "Misfit", "Problem", "_find", "_blame")
"""What is called with a code as its first argument."""


def codes_in_the_source() -> set[str]:
    found = set()
    for package in (calfsm.spec, calfsm.check):
        for file in Path(package.__file__).parent.glob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    if name in MAKERS:
                        found.add(node.args[0].value)
    return found


def codes_found_in(files: tuple[bytes | None, ...], folder: Path) -> set[str]:
    paths = [folder / f"{i}.yaml" for i in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        if content is not None:
            path.write_bytes(content)
    return {finding.code for finding in check_files(paths).findings}


def test_every_code_that_can_be_found_is_explained_and_no_other():
    assert set(codes()) == codes_in_the_source()


@pytest.mark.parametrize("code", codes())
def test_the_wrong_example_is_wrong_in_just_this_way(code, tmp_path):
    assert codes_found_in(explain(code).wrong, tmp_path) == {code}


@pytest.mark.parametrize("code", codes())
def test_the_right_example_is_right(code, tmp_path):
    assert codes_found_in(explain(code).right, tmp_path) == set()


@pytest.mark.parametrize("code", codes())
def test_the_explanation_says_the_rule(code):
    explanation = explain(code)
    assert explanation.title
    assert not explanation.title.endswith(".")
    assert explanation.text.endswith(".")
    assert explanation.page.startswith(f"# {explanation.title}\n\n{explanation.text}\n")


def test_an_unknown_code_has_no_explanation():
    with pytest.raises(KeyError, match="undecidde"):
        explain("undecidde")
