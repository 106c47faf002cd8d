"""docs/as-drawn.md: its commands are run, and every story, verdict, arrow and line that it shows is looked up."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from calfsm.check import check_files
from calfsm.check.written import alternatives
from calfsm.cli.main import main
from calfsm.compile.load import load

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "as-drawn.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLE = ROOT / "specs" / "examples" / "as_drawn.yaml"
MACHINES = EXAMPLE.parent / "machines"
LEFT_OUT = re.compile(r"^ *…\n", re.MULTILINE)


def blocks(kind: str) -> list[str]:
    return [text for its_kind, text in BLOCKS if its_kind == kind]


def plain(text: str) -> str:
    """Text as it would stand if columns were not aligned and no time passed."""
    text = re.sub(r"\d+\.\d s\b", "0.0 s", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def is_in(shown: str, output: str) -> bool:
    """Whether what is shown stands in an output, in order; `…` is for what was left out."""
    at = 0
    for piece in filter(None, map(plain, LEFT_OUT.split(shown))):
        found = plain(output).find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


@cache
def printed(command: str) -> str:
    """What a command of the page prints, run at the root of the project."""
    assert command.startswith("calfsm ")
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(io.StringIO()) as out:
        main(shlex.split(command)[1:])
    return out.getvalue()


COMMANDS = {text.partition("\n")[0].removeprefix("$ "): text.partition("\n")[2] for text in blocks("console")}
OF_THE_EXAMPLE = [command for command in COMMANDS if "as_drawn" in command]


@pytest.mark.parametrize("command", OF_THE_EXAMPLE)
def test_a_command_prints_what_the_page_shows_under_it(command: str) -> None:
    assert is_in(COMMANDS[command], printed(command))


@pytest.mark.parametrize("text", blocks("text"), ids=lambda text: text.split()[0])
def test_a_story_of_the_page_is_one_that_its_commands_tell(text: str) -> None:
    assert any(is_in(text, printed(command)) for command in OF_THE_EXAMPLE)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in OF_THE_EXAMPLE])
def test_the_mended_systems_hold_as_the_page_says(command: str) -> None:
    rows = [plain(line) for line in COMMANDS[command].splitlines() if "…" not in line]
    assert set(rows) <= set(plain(printed(command)).splitlines())
    assert all(row.endswith(" holds") for row in rows)


def test_every_property_of_the_example_is_broken_and_the_page_has_a_story_for_each_but_home() -> None:
    verdicts = dict(re.findall(r"^(\w+) +(holds|broken)$", printed(f"calfsm explore {EXAMPLE}"), re.MULTILINE))
    assert set(verdicts.values()) == {"broken"}
    told = {text.split(maxsplit=1)[0] for text in blocks("text")}
    assert told == set(verdicts) - {"home"}


def test_what_the_page_says_to_hold_is_what_its_last_commands_show() -> None:
    said = set(re.findall(r"`(\w+)` \(\*holds\*\)", PAGE))
    assert said and said == {
        row.split()[0] for text in blocks("console") for row in text.splitlines() if "holds" in row
    }


def test_every_line_that_is_quoted_from_a_spec_stands_there() -> None:
    for block in blocks("yaml"):
        lines: list[str] = []
        for line in map(plain, block.splitlines()):
            if line.startswith("# specs/"):
                file = re.findall(r"specs/[\w/]+\.yaml", line)[0]
                lines = plain((ROOT / file).read_text(encoding="utf-8")).splitlines()
            else:
                assert line in lines, line


def test_the_drawings_have_the_arrows_of_the_specs_and_no_others() -> None:
    machines = check_files([EXAMPLE]).machines
    for drawing, name in zip(blocks("mermaid"), ("drawn_buffer", "drawn_model"), strict=True):
        arrows = re.findall(r"^ +(\w+) --> (\w+): (.*)$", drawing, re.MULTILINE)
        drawn = {(source, event, target) for source, target, events in arrows for event in events.split(", ")}
        moves = [(path[1], event, alternative.to) for path, event, alternative in alternatives(machines[name])]
        assert drawn == {move for move in moves if move[2] is not None}


@pytest.mark.parametrize("name", ["buffer", "model"])
def test_the_page_counts_the_cells_that_a_drawing_leaves_open(name: str, tmp_path: Path) -> None:
    text = (MACHINES / f"drawn_{name}.yaml").read_text(encoding="utf-8")
    bare = tmp_path / f"drawn_{name}.yaml"
    bare.write_text(text[: text.index("anywhere:")], encoding="utf-8")
    found = check_files([bare]).errors
    assert {finding.code for finding in found} == {"undecided"}
    assert re.search(rf"\b{len(found)} (?:findings )?in the {name}\b", PAGE)


def test_the_example_is_sound_by_itself_and_no_folder_around_it_stands_for_it() -> None:
    assert check_files([EXAMPLE, MACHINES]).findings == ()
    assert "as_drawn" not in load(ROOT / "specs").systems


def test_every_file_that_the_page_links_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
