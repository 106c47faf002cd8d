"""Every move and every stay, read back out of the pictures, is the table's; and the table has no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from render_readers import Answer, Picture, dot_statements, label_rows, read_dot, read_mermaid

from calfsm.compile.load import Compiled
from calfsm.compile.lower import MachineScope, lower
from calfsm.engine.table import AlternativeRow, Table
from calfsm.render import diagrams
from calfsm.spec.expressions import parse

ROOT = Path(__file__).resolve().parents[2]
MACHINES = sorted(path.stem for path in (ROOT / "specs" / "machines").glob("*.yaml"))
READERS: dict[str, Callable[[str], Picture]] = {"dot": read_dot, "mmd": read_mermaid}


@pytest.fixture(scope="session")
def drawn(real: Compiled) -> dict[str, str]:
    return diagrams(real, ("dot", "mermaid"))


@pytest.fixture(scope="session")
def lamp_drawn(lamp: Compiled) -> dict[str, str]:
    return diagrams(lamp, ("dot", "mermaid"))


def meaning(table: Table, answer: Answer, alternatives: int) -> tuple[object, ...]:
    """An answer read from a picture, as the table holds it: guard term, target, updates."""
    guard, target, sets = answer
    scope = MachineScope(table.variables, {row.name: row for row in table.params})
    updates = []
    for text in sets:
        name, value = text.split(" = ", 1)
        index = [row.name for row in table.variables].index(name)
        words = table.variables[index].words
        updates.append((index, ("int", words.index(value)) if value in words else lower(parse(value), scope)))
    if guard == "else":
        assert alternatives > 1
    term = lower(parse(guard), scope) if guard not in ("", "else") else None
    return (term, target, tuple(updates))


def told(table: Table, answer: AlternativeRow) -> tuple[object, ...]:
    target = "stay" if answer.stay is not None else table.states[answer.target].name
    return (answer.guard, target, answer.sets)


def compare(table: Table, picture: Picture, reasons: bool) -> None:
    assert set(picture.states) == {row.name for row in table.states}
    for state, states_row in zip(table.states, table.cells, strict=True):
        for event, cell in zip(table.events, states_row, strict=True):
            drawn = picture.cells.pop((state.name, event.name), set())
            where = f"{table.name}: {state.name} on {event.name}"
            expected = {told(table, answer) for answer in cell or ()}
            assert {meaning(table, answer, len(cell or ())) for answer in drawn} == expected, where
            if drawn:
                assert picture.speakers[event.name] == event.by, where
            if reasons and cell and len(cell) == 1:
                assert picture.reasons[state.name, event.name, next(iter(drawn))[0]] == (cell[0].stay or ""), where
    assert picture.cells == {}


def marks(table: Table) -> dict[str, list[str]]:
    found = {}
    for row in table.states:
        said = ["final"] * row.final + ["outcome"] * row.outcome
        said += [f"awaits {row.awaits}"] if row.awaits else []
        said += ["after {}: {}".format(*row.deadline)] if row.deadline else []
        found[row.name] = said
    return found


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_cell_can_be_read_back(real: Compiled, drawn: dict[str, str], machine: str, format: str) -> None:
    table = real.tables[machine]
    picture = READERS[format](drawn[f"{machine}.{format}"])
    assert picture.states == marks(table)
    assert picture.initial == table.states[table.initial].name
    compare(table, picture, reasons=format == "dot")


@pytest.mark.parametrize("format", READERS)
def test_a_machine_with_every_feature_can_be_read_back(lamp: Compiled, lamp_drawn: dict[str, str], format: str) -> None:
    table = lamp.tables["lamp"]
    picture = READERS[format](lamp_drawn[f"lamp.{format}"])
    assert picture.states == marks(table)
    compare(table, picture, reasons=format == "dot")


def test_the_readers_notice_an_edge_that_is_wrong(real: Compiled, drawn: dict[str, str]) -> None:
    wrong = drawn["dma.dot"].replace("quiet -> active", "quiet -> quiet")
    with pytest.raises(AssertionError, match="dma: quiet on start"):
        compare(real.tables["dma"], read_dot(wrong), reasons=True)


def test_every_reference_part_and_action_is_in_the_overview(real: Compiled, drawn: dict[str, str]) -> None:
    for name, system in real.systems.items():
        statements = [s for s in dot_statements(drawn[f"{name}.overview.dot"]) if "cluster_below" in s.where]
        parts = {s.ids[0]: label_rows(s.attributes["label"]) for s in statements if len(s.ids) == 1}
        assert list(parts) == [row.name for row in system.parts]
        assert [rows[1] for rows in parts.values()] == [[f"machine {row.table.name}"] for row in system.parts]
        lines = sum(row.per >= 0 for row in system.parts)
        lines += sum(v.kind == "ref" for row in system.parts for v in row.table.variables)
        assert sum(len(s.ids) == 2 for s in statements) == lines
        table = next(s.attributes["label"] for s in statements if not s.ids and "label" in s.attributes)
        moves = {}
        for speaker, *dots, actions in label_rows(table)[1:]:
            for action in actions.split(", "):
                moves[action] = (speaker, {part for part, dot in enumerate(dots) if dot})
        assert moves == {row.name: (row.by, {fired.part for fired in row.fired}) for row in system.actions}


def test_every_action_has_a_row_with_what_it_fires(real: Compiled, drawn: dict[str, str]) -> None:
    for name, system in real.systems.items():
        rows = [line.strip("| ").split(" | ")[0] for line in drawn[f"{name}.actions.md"].splitlines() if "|" in line]
        assert [rows.count(action.name) for action in system.actions] == [2] * len(system.actions)
