"""Golden pictures, hostile text, drawing, and looks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from xml.etree import ElementTree

import pytest
from render_readers import dot_statements, label_rows

from calfsm.compile.load import Compiled
from calfsm.compile.lower import MachineScope, lower
from calfsm.engine.table import AlternativeRow, EventRow, StateRow, Table, VariableRow
from calfsm.render import CannotDraw, diagrams, draw_svg, look, terms
from calfsm.render.dot import machine_dot
from calfsm.render.extract import diagram
from calfsm.render.mermaid import RESERVED, escaped, machine_mermaid
from calfsm.render.model import Kind, identifiers
from calfsm.render.page import index_page
from calfsm.spec.expressions import parse

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "render"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    'a "quoted" word',
    "back\\slash \\n \\",
    "end",
    "{braces} [and] <b>tags</b> & &lt;entities&gt;",
    "two\nlines; %% no comment\n---",
    "待機中（日本語）と한국어",
    "]>; evil [label=x] -->",
    "bell\x07 and nul\x00",
    "$HOME `id` #35; #x;",
]


def hostile_table(texts: list[str]) -> Table:
    """A ring of states named after `texts`, each with one of them as doc and as reason to stay."""
    states = tuple(StateRow(text, doc=text, initial=not index) for index, text in enumerate(texts))
    events = (EventRow("go", "engine", texts[0]), EventRow("wait", "client", texts[1]))
    count = len(texts)
    cells = tuple(
        ((AlternativeRow(None, (index + 1) % count),), (AlternativeRow(None, index, text),))
        for index, text in enumerate(texts)
    )
    return Table(
        name=texts[0],
        doc=" ".join(texts),
        digest="",
        params=(),
        variables=(),
        states=states,
        events=events,
        cells=cells,
    )


@pytest.mark.parametrize("name", ["lamp.dot", "lamp.mmd"])
def test_the_golden_picture(lamp: Compiled, name: str) -> None:
    drawn = diagrams(lamp, ("dot", "mermaid"))
    assert drawn[name] == (GOLDEN / name).read_text("utf-8"), "if it is better now, draw it again: see lamp.yaml"


def test_the_golden_picture_has_every_kind_of_line(lamp: Compiled) -> None:
    picture = diagram(lamp.tables["lamp"])
    kinds = {line.kind for edge in picture.edges for line in edge.lines} | {stay.line.kind for stay in picture.stays}
    assert kinds == set(Kind)


def test_drawing_twice_gives_the_same(real: Compiled) -> None:
    assert diagrams(real) == diagrams(real)


def test_the_hash_seed_changes_nothing() -> None:
    code = (
        "import sys, hashlib; from pathlib import Path; from calfsm.compile.load import load; "
        "from calfsm.render import diagrams; "
        "print(hashlib.sha256(repr(diagrams(load([Path(sys.argv[1])]), ('dot', 'mermaid'))).encode()).hexdigest())"
    )
    command = [sys.executable, "-c", code, str(GOLDEN / "lamp.yaml")]
    made = {
        subprocess.check_output(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}) for seed in ("1", "2")
    }
    assert len(made) == 1


@pytest.mark.parametrize("name", ["dot", "svg", "mermaid"])
def test_one_format_alone(lamp: Compiled, name: str) -> None:
    suffix = {"mermaid": "mmd"}.get(name, name)
    assert list(diagrams(lamp, [name], pages=False)) == [f"lamp.{suffix}"]


def test_every_svg_is_well_formed_and_says_what_its_dot_says(real: Compiled) -> None:
    drawn = diagrams(real, ("dot", "svg"), pages=False)
    for name in [name for name in drawn if name.endswith(".dot")]:
        svg = ElementTree.fromstring(drawn[name.removesuffix("dot") + "svg"])
        shown = " ".join(text.text or "" for text in svg.iter(f"{SVG}text"))
        for statement in dot_statements(drawn[name]):
            if statement.attributes.get("label", "").startswith("<<table"):
                for word in " ".join(cell for row in label_rows(statement.attributes["label"]) for cell in row).split():
                    assert word in shown


def test_hostile_text_comes_out_as_it_went_in() -> None:
    dot = machine_dot(diagram(hostile_table(HOSTILE)))
    nodes = [s for s in dot_statements(dot) if len(s.ids) == 1 and "cluster_below" in s.where and s.ids[0] != "start_"]
    clean = [text.replace("\x07", "\ufffd").replace("\x00", "\ufffd") for text in HOSTILE]
    assert [" ".join(label_rows(s.attributes["label"])[0][0].split()) for s in nodes] == [
        " ".join(text.split()) for text in clean
    ]
    svg = ElementTree.fromstring(draw_svg(dot))
    tips = [link.get("{http://www.w3.org/1999/xlink}title") for link in svg.iter(f"{SVG}a")]
    assert [text for text in clean if text not in tips] == []


def test_hostile_text_cannot_break_a_line_of_mermaid() -> None:
    text = machine_mermaid(diagram(hostile_table(HOSTILE)))
    begins = ("stateDiagram-v2", "  state ", "  s", "  note ", "  class", "  acc", "  direction ", "  %% ", "  [*] ")
    assert [line for line in text.splitlines() if not line.startswith(begins)] == []
    assert len(text.splitlines()) == 7 + len(HOSTILE) * 3 + 2
    assert text.count("-->") == len(HOSTILE) + 1
    assert text.count('"') == 2 * len(HOSTILE)


def test_hostile_text_makes_no_markup_in_the_pages() -> None:
    page = index_page([diagram(hostile_table(HOSTILE))], [])
    body = re.sub("<!--|</?details>|</?summary>", "", page)
    assert "<" not in body
    assert all(line.count("|") - line.count("\\|") == 4 for line in page.splitlines() if line.startswith("|"))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain words, 1 + 2 = (3)", "plain words, 1 + 2 = (3)"),
        ("a: b", "a: b"),
        ("a:b", "a#58;b"),
        ("x < y; z", "x #60; y#59; z"),
        ('"#"', "#34;#35;#34;"),
        ("a\nb", "a b"),
        ("日本", "日本"),
        ("\x00", "#65533;"),
    ],
)
def test_escaping_for_mermaid(text: str, written: str) -> None:
    assert escaped(text) == written


def test_names_that_a_format_reserves_get_other_identifiers() -> None:
    names = ("end", "free", "a b", "s0", "note")
    assert identifiers(names, RESERVED) == ("s0_", "free", "s2", "s0", "s4")


@pytest.mark.parametrize("speaker", look.COLOURS)
def test_colours_can_be_read_on_white(speaker: str) -> None:
    def channel(part: str) -> float:
        value = int(part, 16) / 255
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    colour = look.COLOURS[speaker]
    red, green, blue = (channel(colour[at : at + 2]) for at in (1, 3, 5))
    assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 4.5


def test_kinds_of_line_differ_without_colour() -> None:
    strokes = [(stroke.style, stroke.head) for stroke in look.STROKES.values()]
    assert len(set(strokes)) == len(strokes) == len(Kind) - 1  # a stay has no line


VARIABLES = (
    VariableRow("n", "int", ("int", 0), ("int", 3), ("int", 0)),
    VariableRow("flag", "bool", ("int", 0), ("int", 1), ("int", 0)),
    VariableRow("mode", "enum", ("int", 0), ("int", 2), ("int", 0), ("slow", "fast", "off")),
    VariableRow("job", "ref", ("int", -1), ("int", -1), ("int", -1), (), "jobs"),
)


@pytest.mark.parametrize(
    "text",
    [
        "flag",
        "not flag",
        "flag == true",
        "flag != false and n > 0",
        "mode == fast",
        "fast != mode",
        "mode is fast",
        "mode is not fast",
        "mode in {slow, off}",
        "mode not in {slow, off}",
        "not (mode is fast or flag)",
        "(flag or n == 1) and not (n == 2 and flag)",
        "n + 1 < 3 * (n - 1)",
        "n - (n - 1) == 0",
        "(n + 1) // 2 % 2 == 1",
        "job == none",
        "job != none and n <= limit",
        "true",
    ],
)
def test_a_guard_reads_as_it_was_written(text: str) -> None:
    table = _table_of(VARIABLES)
    scope = MachineScope(VARIABLES, {"limit": 3})
    term = lower(parse(text), scope)
    written = terms.condition(term, table)
    assert lower(parse(written), scope) == term
    assert written.replace("(", "").replace(")", "") == text.replace("(", "").replace(")", "")


def _table_of(variables: tuple[VariableRow, ...]) -> Table:
    return Table(
        name="t",
        doc="",
        digest="",
        params=(),
        variables=variables,
        states=(StateRow("only", "", True),),
        events=(),
        cells=((),),
    )


def test_a_value_is_set_in_the_words_of_its_variable() -> None:
    table = _table_of(VARIABLES)
    assert [terms.update(i, ("int", n), table) for i, n in ((0, 2), (1, 1), (2, 1), (3, -1))] == [
        "n = 2",
        "flag = true",
        "mode = fast",
        "job = none",
    ]


def test_without_the_drawing_program_one_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(CannotDraw) as caught:
        draw_svg("digraph {}")
    assert caught.value.fix == "pip install calfsm[draw]"


def test_dot_that_cannot_be_drawn_says_why() -> None:
    with pytest.raises(CannotDraw, match="syntax error"):
        draw_svg("digraph {")
