"""What every command does alike."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from calfsm.cli import manners
from calfsm.cli.manners import CannotTry, counted, painted, spec_files, table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


# ---- where specs are


def test_without_paths_the_projects_specs_are_taken(project):
    assert spec_files([]) == [Path("specs/machines/lamp.yaml")]


def test_without_paths_the_specs_of_the_nearest_folder_above_are_taken(project, monkeypatch):
    deep = project / "src" / "deep"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    (found,) = spec_files([])
    assert found.resolve() == project / "specs" / "machines" / "lamp.yaml"
    assert len(str(found)) <= len(str(found.resolve()))


def test_a_specs_folder_without_machines_is_not_a_projects(nowhere):
    (nowhere / "specs").mkdir()
    (nowhere / "specs" / "notes.yaml").write_text("a: b\n")
    assert manners.project_specs() is None


def test_without_a_project_the_specs_that_ship_are_taken_and_that_is_said(nowhere, monkeypatch, capsys):
    shipped = nowhere / "elsewhere"
    monkeypatch.setattr(manners, "shipped_specs", lambda: shipped)
    assert manners.specs_folder() == shipped
    out, err = capsys.readouterr()
    assert out == ""
    assert f"ship with calfsm, {shipped}" in err


def test_where_there_are_no_specs_at_all_the_way_out_is_named(nowhere, monkeypatch):
    monkeypatch.setattr(manners, "shipped_specs", lambda: None)
    with pytest.raises(CannotTry) as caught:
        spec_files([])
    assert "no specs/machines folder here or above" in caught.value.message
    assert "calfsm new machine NAME" in caught.value.fix


def test_specs_ship_inside_the_package_or_beside_it(tmp_path, monkeypatch):
    package = tmp_path / "calfsm"
    package.mkdir()
    monkeypatch.setattr(manners.calfsm, "__file__", str(package / "__init__.py"))
    assert manners.shipped_specs() is None
    (tmp_path / "specs" / "machines").mkdir(parents=True)
    assert manners.shipped_specs() == tmp_path / "specs"
    (package / "specs" / "machines").mkdir(parents=True)
    assert manners.shipped_specs() == package / "specs"


def test_a_folder_stands_for_every_spec_in_it_sorted_and_hidden_ones_left_out(nowhere):
    for name in ("b.yaml", "a.yml", "c/d.yaml", ".hidden.yaml", ".git/e.yaml", "notes.txt", "b.yaml~"):
        (nowhere / name).parent.mkdir(exist_ok=True)
        (nowhere / name).write_text("")
    assert spec_files([Path()]) == [Path("a.yml"), Path("b.yaml"), Path("c/d.yaml")]


def test_a_folder_does_not_stand_for_its_examples_which_are_named_by_themselves(project):
    for name in ("specs/examples/wrong.yaml", "specs/examples/machines/more.yaml"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("")
    assert spec_files([]) == spec_files([Path("specs")]) == [Path("specs/machines/lamp.yaml")]
    examples = [Path("specs/examples/machines/more.yaml"), Path("specs/examples/wrong.yaml")]
    assert sorted(spec_files([Path("specs/examples")])) == examples


def test_a_file_named_twice_is_taken_once_in_the_order_given(project):
    (project / "z.yaml").write_text("")
    paths = [Path("z.yaml"), Path("specs"), Path("specs/machines/../machines/lamp.yaml"), Path("z.yaml")]
    assert spec_files(paths) == [Path("z.yaml"), Path("specs/machines/lamp.yaml")]


def test_a_file_named_outright_may_be_called_anything(nowhere):
    (nowhere / "spec.txt").write_text("")
    assert spec_files([Path("spec.txt")]) == [Path("spec.txt")]


def test_a_missing_path_is_named_with_the_reason(nowhere):
    with pytest.raises(CannotTry, match=r"nope\.yaml: No such file"):
        spec_files([Path("nope.yaml")])


def test_a_folder_without_specs_is_named_with_the_way_out(nowhere):
    (nowhere / "empty").mkdir()
    with pytest.raises(CannotTry, match="empty holds no spec") as caught:
        spec_files([Path("empty")])
    assert "--into empty" in caught.value.fix


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such pipes")
def test_a_pipe_is_refused_and_not_waited_for(nowhere):
    os.mkfifo("pipe")
    with pytest.raises(CannotTry, match="pipe is neither a file nor a folder"):
        spec_files([Path("pipe")])


def test_a_link_to_itself_and_a_name_without_end_are_refused(nowhere):
    Path("loop.yaml").symlink_to("loop.yaml")
    for path in (Path("loop.yaml"), Path("x" * 5000)):
        with pytest.raises(CannotTry):
            spec_files([path])


# ---- colour


def test_colour_is_for_terminals(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert painted("bad", "red", stream=Terminal()) == "\x1b[31mbad\x1b[0m"
    assert painted("bad", "red", stream=io.StringIO()) == "bad"


@pytest.mark.parametrize(
    ("no", "force", "terminal", "coloured"),
    [
        ("1", None, True, False),
        ("", None, True, True),
        (None, "1", False, True),
        (None, "", False, False),
        ("1", "1", True, False),
    ],
)
def test_no_color_and_force_color_are_honoured(monkeypatch, no, force, terminal, coloured):
    monkeypatch.setenv("TERM", "xterm")
    for name, value in (("NO_COLOR", no), ("FORCE_COLOR", force)):
        if value is not None:
            monkeypatch.setenv(name, value)
    assert manners.shows_colours(Terminal() if terminal else io.StringIO()) is coloured


def test_a_dumb_terminal_gets_no_colour(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert not manners.shows_colours(Terminal())


# ---- progress


def test_progress_keeps_one_line_of_a_terminal_and_removes_it(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with manners.progress() as show:
        show("10 states")
        show("20 states")
    assert stream.getvalue() == "\r\x1b[2K10 states\r\x1b[2K20 states\r\x1b[2K"


def test_progress_is_silent_where_nobody_watches(capsys):
    with manners.progress() as show:
        show("10 states")
    assert capsys.readouterr() == ("", "")


# ---- tables and numbers


def test_a_plain_table_aligns_words_left_and_numbers_right():
    assert table(("machine", "states"), [("buffer", 7), ("kv", 1200)], boxed=False).split("\n") == [
        "machine  states",
        "buffer        7",
        "kv        1,200",
    ]


def test_a_boxed_table_has_lines():
    assert table(("name", "n"), [("a", 1)], boxed=True).split("\n") == [
        "┌──────┬───┐",
        "│ name │ n │",
        "├──────┼───┤",
        "│ a    │ 1 │",
        "└──────┴───┘",
    ]


def test_a_table_without_rows_is_its_header():
    assert table(("name", "n"), [], boxed=False) == "name  n"


def test_a_table_is_boxed_on_a_terminal_only(monkeypatch):
    assert "│" not in table(("a",), [("b",)])
    monkeypatch.setattr("sys.stdout", Terminal())
    assert "│" in table(("a",), [("b",)])


def test_wide_characters_and_colours_do_not_shift_columns():
    lines = table(("a", "b"), [("设备", "x"), ("\x1b[31mred\x1b[0m", "y"), ("four", "z")], boxed=False).split("\n")
    assert lines == ["a     b", "设备  x", "\x1b[31mred\x1b[0m   y", "four  z"]


@pytest.mark.parametrize(
    ("number", "text"), [(0, "no errors"), (1, "1 error"), (2, "2 errors"), (12000, "12,000 errors")]
)
def test_things_are_counted_in_words(number, text):
    assert counted(number, "error") == text


def test_an_irregular_plural_can_be_given():
    assert counted(2, "property", "properties") == "2 properties"
