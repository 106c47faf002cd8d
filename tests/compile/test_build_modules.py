"""The generated package: fresh, light, the same for the same meaning, and written whole or not at all."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from calfsm.cli.manners import spec_files
from calfsm.compile.build import drift, leftovers, modules, write
from calfsm.compile.load import Compiled, SpecErrors, load

ROOT = Path(__file__).parents[2]
SPECS = spec_files([ROOT / "specs"])
TABLES = ROOT / "calfsm" / "tables"

DOOR = """\
machine: door
doc: A door.
params:
  most: {serves: 9, explores: 2}
vars:
  times: {int: [0, most]}
states:
  open:   {initial: true, doc: It is open.}
  closed: {}
events:
  close: {by: engine}
  open:  {by: engine}
transitions:
  open:   {close: {to: closed, when: times < most, set: {times: times + 1}}}
  closed: {open: open}
"""

HOUSE = """\
system: house
params:
  rooms: {serves: 3, explores: 2}
parts:
  doors: {machine: door, count: rooms, doc: One for each room.}
actions:
  close: {by: engine, pick: {d: doors}, when: count(x for x in doors if x is open) > 1, fire: {d: close}}
  open:  {by: engine, pick: {d: doors}, fire: {d: open}, effect: creak}
always:
  not_all_closed: any(d is open for d in doors)
"""


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return modules(load(SPECS))


def compiled(folder: Path, **texts: str) -> Compiled:
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return load(sorted(folder.glob("*.yaml")))


def house(folder: Path, door: str = DOOR, house: str = HOUSE) -> Compiled:
    folder.mkdir(exist_ok=True)
    return compiled(folder, door=door, house=house)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def test_the_committed_tables_are_what_the_specs_compile_to(texts: dict[str, str]) -> None:
    assert drift(texts, TABLES) == []
    assert {path.name for path in TABLES.glob("*.py")} == set(texts)


def test_compiling_twice_gives_the_same_texts(texts: dict[str, str]) -> None:
    assert modules(load(reversed(SPECS))) == texts


def test_a_generated_module_holds_what_was_compiled() -> None:
    made = load(SPECS)
    for kind in ("table", "system", "profile"):
        for name, compiled in getattr(made, f"{kind}s").items():
            assert getattr(import_module(f"calfsm.tables.{name}"), kind.upper()) == compiled


def test_a_generated_module_imports_nothing_but_the_engines_types_and_its_neighbours(texts: dict[str, str]) -> None:
    for text in texts.values():
        for node in ast.walk(ast.parse(text)):
            assert not isinstance(node, ast.Import)
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module in ("calfsm.engine.table", "calfsm.engine.system")
            elif isinstance(node, ast.ImportFrom):
                assert node.module is None and all(f"{alias.name}.py" in texts for alias in node.names)


def test_a_generated_module_runs_nothing_but_the_making_of_its_rows(texts: dict[str, str]) -> None:
    rows = {"A", "StateRow", "EventRow", "ParamRow", "VariableRow", "Table", "PartRow", "TallyRow", "ActionRow"}
    rows |= {"Condition", "Fired", "Setting", "PropertyRow", "ResourceRow", "LeadsToRow", "System", "Profile"}
    for text in texts.values():
        tree = ast.parse(text)
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert {called.id for called in calls if isinstance(called, ast.Name)} <= rows
        assert all(isinstance(called, ast.Name) for called in calls)
        assert all(isinstance(node, ast.Expr | ast.ImportFrom | ast.ClassDef | ast.Assign) for node in tree.body)


def test_importing_every_table_loads_nothing_heavy(texts: dict[str, str]) -> None:
    names = ", ".join(f"calfsm.tables.{name[:-3]}" for name in texts if name != "__init__.py")
    code = f"import sys, {names}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not {"yaml", "cattrs", "attrs", "numpy", "hypothesis", "calfsm.spec", "calfsm.check"} & set(loaded.split())


def test_a_digest_stays_when_only_comments_and_layout_change(tmp_path: Path) -> None:
    before = house(tmp_path)
    laid_out = DOOR.replace("{times: times + 1}", "{times: (times   + 1)}").replace("open:   {init", "open: {init")
    after = house(tmp_path, "# A remark.\n" + laid_out, HOUSE.replace("actions:", "\n# More.\nactions:  # these"))
    assert after.tables["door"].digest == before.tables["door"].digest
    assert after.systems["house"].digest == before.systems["house"].digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("closed: {}", "closed: {outcome: true}"),
        ("times + 1", "times + 0"),
        ("times < most", "times < 1"),
        ("serves: 9", "serves: 8"),
        ("explores: 2}\nvars", "explores: 1}\nvars"),
        ("close: {by: engine}", "close: {by: engine, doc: Slam it.}"),
        ("{open: open}", "{open: {to: open, set: {times: 0}}}"),
    ],
)
def test_a_digest_changes_when_the_machine_means_something_else(tmp_path: Path, old: str, new: str) -> None:
    assert DOOR.count(old) == 1
    before, after = house(tmp_path), house(tmp_path, DOOR.replace(old, new))
    assert after.tables["door"].digest != before.tables["door"].digest
    assert after.systems["house"].digest != before.systems["house"].digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("> 1", "> 2"),
        ("effect: creak", "effect: squeak"),
        ("fire: {d: open}", "fire: {d: [open, close]}"),
        ("open:  {by: engine, ", "open:  {by: client, "),
        ("any(d is open", "any(d is closed"),
        ("One for each room.", "Two."),
        ("serves: 3", "serves: 4"),
    ],
)
def test_a_digest_changes_when_the_system_means_something_else(tmp_path: Path, old: str, new: str) -> None:
    assert HOUSE.count(old) == 1
    before, after = house(tmp_path), house(tmp_path, house=HOUSE.replace(old, new))
    assert after.systems["house"].digest != before.systems["house"].digest
    assert after.tables["door"].digest == before.tables["door"].digest


def test_writing_makes_the_folder_and_then_there_is_nothing_to_do(tmp_path: Path) -> None:
    texts, folder = modules(house(tmp_path / "specs")), tmp_path / "a" / "tables"
    assert {item.kind for item in drift(texts, folder)} == {"missing"}
    assert sorted(write(texts, folder)) == [folder / name for name in sorted(texts)]
    assert contents(folder) == texts
    assert write(texts, folder) == []
    assert drift(texts, folder) == []


def test_drift_tells_stale_missing_and_left_over_modules_apart(tmp_path: Path) -> None:
    texts, folder = modules(house(tmp_path / "specs")), tmp_path / "tables"
    write({**texts, "window.py": texts["door.py"]}, folder)
    (folder / "door.py").write_text(texts["door.py"].replace("'closed'", "'shut'"), encoding="utf-8")
    (folder / "house.py").unlink()
    (folder / "by_hand.py").write_bytes(b"# nobody generated this \xff\n")
    found = drift(texts, folder)
    assert [(item.path.name, item.kind) for item in found] == [
        ("door.py", "stale"),
        ("house.py", "missing"),
        ("window.py", "left over"),
    ]
    stale = found[0].diff.splitlines()
    assert {line[0] for line in stale} == {"-", "+", "@", " "}
    assert any(line.startswith("+") and "'closed'" in line for line in stale)
    assert leftovers(texts, folder) == [folder / "window.py"]
    assert sorted(path.name for path in write(texts, folder)) == ["door.py", "house.py", "window.py"]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*texts, "by_hand.py"])


def test_a_file_of_another_platform_is_not_stale(tmp_path: Path) -> None:
    write({"a.py": "one\ntwo\n"}, tmp_path)
    (tmp_path / "a.py").write_bytes(b"one\r\ntwo\r\n")
    assert drift({"a.py": "one\ntwo\n"}, tmp_path) == []


def test_when_one_module_cannot_be_written_none_is(tmp_path: Path) -> None:
    old = {"a.py": "old a\n", "b.py": "old b\n"}
    write(old, tmp_path)
    with pytest.raises(UnicodeEncodeError):
        write({"a.py": "new a\n", "b.py": "\ud800\n"}, tmp_path)
    assert contents(tmp_path) == old


@pytest.mark.parametrize(
    "doc",
    ['says "yes"', 'a """ in it', '"', '""', "ends in \\", 'ends in \\"', "nul \0, bell \a, \u2028, \x85", "é 字"],
)
def test_any_documentation_is_kept_to_the_letter(tmp_path: Path, doc: str) -> None:
    quoted = '"' + "".join(f"\\u{ord(char):04x}" for char in doc) + '"'
    made = compiled(tmp_path, door=DOOR.replace("doc: A door.", f"doc: {quoted}").replace("It is open.", quoted))
    text = modules(made)["door.py"]
    names: dict[str, object] = {"__name__": "door"}
    exec(compile(text, "door.py", "exec"), names)
    assert names["TABLE"] == made.tables["door"]
    assert made.tables["door"].doc == doc
    assert names["__doc__"] == f"door: {doc}"
    tree = ast.parse(text)
    assert any(isinstance(node, ast.Constant) and node.value == doc for node in ast.walk(tree))


def test_a_profile_with_a_dash_becomes_a_module_that_can_be_imported(tmp_path: Path) -> None:
    made = compiled(tmp_path, door=DOOR, house=HOUSE, night="profile: by-night\nsystem: house\n")
    assert set(modules(made)) == {"__init__.py", "door.py", "house.py", "by_night.py"}


def test_two_specs_cannot_become_one_module(tmp_path: Path) -> None:
    with pytest.raises(SpecErrors, match="system door and machine door would both be the module `door`"):
        compiled(tmp_path, door=DOOR, house=HOUSE.replace("system: house", "system: door"))


def test_what_did_not_pass_its_checks_is_not_compiled(tmp_path: Path) -> None:
    with pytest.raises(SpecErrors, match="door has no state `ajar`"):
        house(tmp_path, DOOR.replace("to: closed", "to: ajar"))
