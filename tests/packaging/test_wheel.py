"""What is published works: built, installed into an empty environment, and used from an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def done(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [str(word) for word in words], cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built = done(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def calfsm(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, in an environment that has nothing but the wheel and what it asks for."""
    environment = tmp_path_factory.mktemp("environment")
    done(sys.executable, "-m", "venv", environment, cwd=dist)
    (wheel,) = dist.glob("*.whl")
    installed = done(environment / "bin" / "python", "-m", "pip", "install", "--quiet", f"{wheel}[draw]", cwd=dist)
    assert installed.returncode == 0, installed.stderr
    return environment / "bin" / "calfsm"


def test_the_wheel_holds_the_specs_the_schemas_the_pages_and_the_adapters(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "calfsm/specs/machines/buffer.yaml",
        "calfsm/specs/systems/executor.yaml",
        "calfsm/spec/schema/machine.schema.json",
        "calfsm/check/explanations/undecided.md",
        "calfsm/py.typed",
        "calfsm_calrt/device.py",
        "calfsm_transitions/__init__.py",
    } <= names
    assert not [name for name in names if name.startswith("tests/")]


def test_the_sdist_holds_what_the_tools_need(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "tools/verify",
        "specs/machines/buffer.yaml",
        "tests/docs/test_readme.py",
    } <= names


def test_verify_holds_from_an_empty_folder(calfsm: Path, tmp_path: Path) -> None:
    verified = done(calfsm, "verify", "--quick", cwd=tmp_path)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "nothing is broken" in verified.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_machine_of_ones_own_is_begun_checked_built_and_drawn(calfsm: Path, tmp_path: Path) -> None:
    (tmp_path / "specs" / "machines").mkdir(parents=True)
    for words in (("new", "machine", "lease"), ("check",), ("build", "--into", "tables"), ("render",), ("paths",)):
        result = done(calfsm, *words, cwd=tmp_path)
        assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "tables" / "lease.py").exists()
    assert (tmp_path / "docs" / "diagrams" / "lease.svg").exists()
    assert (tmp_path / "suites" / "lease.jsonl").exists()
