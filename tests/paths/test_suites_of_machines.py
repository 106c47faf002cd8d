"""Suites of machines: all there is to cover, green on the engine's own, red on one that is wrong in any one place."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from calfsm.engine.table import AlternativeRow, CellRow, EventRow, StateRow, Table
from calfsm.explore.machines import MachineModel
from calfsm.explore.search import search
from calfsm.paths.generate import answer_goals, machine_suite
from calfsm.paths.run import MachineImplementation, Report, run_suite
from calfsm.paths.suite import Case, Suite, dump, load, worlds

NAMES = ("buffer", "device", "dma", "job", "kv", "model", "request")


def table(name: str) -> Table:
    found: Table = import_module(f"calfsm.tables.{name}").TABLE
    return found


def reachable(table: Table) -> Iterator[tuple[str, str]]:
    """Every answer and every refusal that some reachable state gives, as a suite's goals have it."""
    model = MachineModel(table)
    names = answer_goals(model.rows)
    for state in search(model).parents:
        for event, row in enumerate(table.events):
            outcome = model.outcome(state, event)
            refusal = f"{table.name}: {table.states[state[0]].name} refuses {row.name}"
            yield ("refusal", refusal) if outcome is None else names[outcome]


@pytest.mark.parametrize("name", NAMES)
def test_a_suite_covers_every_answer_and_every_refusal_that_can_be_met(name: str) -> None:
    suite = machine_suite(table(name))
    wanted = {f"{family}: {text}" for family, text in reachable(table(name))}
    covered = [goal for case in suite.cases for goal in case.covers]
    assert set(covered) == wanted
    assert len(covered) == len(wanted), "each goal is claimed once"
    assert sum(suite.goals.values()) == len(wanted)
    assert all(case.covers for case in suite.cases)


@pytest.mark.parametrize("name", NAMES)
def test_a_suite_really_does_what_it_claims_to_cover(name: str) -> None:
    it, claimed, done = table(name), set[str](), set[str]()
    suite = machine_suite(it)
    for case in suite.cases:
        claimed |= set(case.covers)
        state = suite.start[name]["state"]
        for step, world in worlds(suite, case):
            after = world[name]["state"]
            done.add(f"{state} refuses {step.do}" if step.refused else f"{state} {step.do} -> {after}")
            state = after
    assert {goal.split(f"{name}: ")[1].split(" (alternative")[0] for goal in claimed} == done


@pytest.mark.parametrize("name", NAMES)
def test_the_engines_machine_runs_its_suite_green(name: str) -> None:
    suite = machine_suite(table(name))
    told_of: list[tuple[int, int]] = []
    report = run_suite(suite, MachineImplementation(table(name)), lambda done, of: told_of.append((done, of)))
    assert report == Report(len(suite.cases), suite.steps, ())
    assert report.passed
    assert told_of == [(number, len(suite.cases)) for number in range(1, len(suite.cases) + 1)]


@pytest.mark.parametrize("name", NAMES)
def test_a_suite_survives_its_file(name: str, tmp_path: Path) -> None:
    suite = machine_suite(table(name))
    path = tmp_path / "suite.jsonl"
    path.write_text(dump(suite), encoding="utf-8")
    assert load(path) == suite


def changed(table: Table, state: int, event: int, cell: CellRow) -> Table:
    """A table with one cell changed."""
    row = table.cells[state]
    cells = (*table.cells[:state], (*row[:event], cell, *row[event + 1 :]), *table.cells[state + 1 :])
    return Table(
        name=table.name,
        doc=table.doc,
        digest=table.digest,
        params=table.params,
        variables=table.variables,
        states=table.states,
        events=table.events,
        cells=cells,
    )


def faults(table: Table) -> Iterator[tuple[str, Table]]:
    """Every table with one wrong answer that can be met: elsewhere, a refusal for it, or an answer for a refusal."""
    met = {text for _, text in reachable(table)}
    names = answer_goals(MachineModel(table).rows)
    texts = iter([text for _, text in names.values()])
    for state, row in enumerate(table.cells):
        for event, cell in enumerate(row):
            where = f"{table.states[state].name} {table.events[event].name}"
            refusal = f"{table.name}: {table.states[state].name} refuses {table.events[event].name}"
            if cell is None and refusal in met:
                yield f"{where} accepted", changed(table, state, event, (AlternativeRow(None, state),))
            for number, answer in enumerate(cell or ()):
                if next(texts) in met:
                    yield f"{where} refused", changed(table, state, event, None)
                    other = answer._replace(target=(answer.target + 1) % len(table.states), stay=None)
                    wrong = (*(cell or ())[:number], other, *(cell or ())[number + 1 :])
                    yield f"{where} elsewhere ({number})", changed(table, state, event, wrong)


@pytest.mark.parametrize("name", NAMES)
def test_a_machine_that_is_wrong_in_any_one_cell_does_not_pass(name: str) -> None:
    suite = machine_suite(table(name))
    for what, wrong in faults(table(name)):
        assert not run_suite(suite, MachineImplementation(wrong)).passed, f"{name}: {what} was not found"


LAMP = Table(
    name="lamp",
    doc="",
    digest="d",
    params=(),
    variables=(),
    states=(StateRow("dark", "", True), StateRow("lit", "")),
    events=(EventRow("light", "engine"), EventRow("dim", "engine"), EventRow("rub", "client")),
    cells=(
        ((AlternativeRow(None, 1),), None, (AlternativeRow(None, 0, "Nobody is in."),)),
        (None, (AlternativeRow(None, 0),), (AlternativeRow(None, 1, "It is on."),)),
    ),
)


def only_failure(wrong: Table) -> str:
    (failure,) = run_suite(machine_suite(LAMP), MachineImplementation(wrong)).failures
    return str(failure)


def test_the_suite_of_a_small_machine_can_be_read() -> None:
    suite = machine_suite(LAMP)
    (case,) = suite.cases
    assert [(step.do, step.by, step.refused, step.then) for step in case.steps] == [
        ("light", "engine", False, {"lamp": {"state": "lit"}}),
        ("light", "engine", True, {}),
        ("dim", "engine", False, {"lamp": {"state": "dark"}}),
        ("dim", "engine", True, {}),
        ("rub", "client", False, {}),
        ("light", "engine", False, {"lamp": {"state": "lit"}}),
        ("rub", "client", False, {}),
    ]
    assert case == Case(
        "lamp-1",
        (
            "own: lamp: dark light -> lit",
            "refusal: lamp: lit refuses light",
            "own: lamp: lit dim -> dark",
            "refusal: lamp: dark refuses dim",
            "cancel: lamp: dark rub -> dark",
            "cancel: lamp: lit rub -> lit",
        ),
        case.steps,
    )
    head = Suite("lamp", "machine", "d", {}, {"lamp": {"state": "dark"}}, suite.goals, (), (case,))
    assert suite == head
    assert (suite.goals, suite.steps) == ({"cancel": 2, "own": 2, "refusal": 2}, 7)


def test_a_wrong_target_is_told_with_case_step_expected_and_found() -> None:
    wrong = changed(LAMP, 0, 0, (AlternativeRow(None, 0),))
    assert only_failure(wrong) == "lamp-1, step 1, light(): lamp.state is dark, must be lit"


def test_a_missing_answer_is_told_with_what_refused_it() -> None:
    wrong = changed(LAMP, 0, 2, None)
    assert only_failure(wrong) == "lamp-1, step 5, rub(): lamp in dark refuses rub; it takes light"


def test_an_accepted_refusal_is_told_with_where_it_led() -> None:
    moved = changed(LAMP, 0, 1, (AlternativeRow(None, 1),))
    assert only_failure(moved) == "lamp-1, step 4, dim() must be refused: it was taken; lamp.state is lit, must be dark"
    stayed = changed(LAMP, 0, 1, (AlternativeRow(None, 0),))
    assert only_failure(stayed) == "lamp-1, step 4, dim() must be refused: it was taken"


def test_two_answers_of_a_cell_that_lead_to_one_state_are_two_goals() -> None:
    either = (AlternativeRow(("in", ("int", 1), (1,)), 1), AlternativeRow(("in", ("int", 1), (2,)), 1))
    rows = changed(LAMP, 0, 0, either).rows()
    assert [text for _, text in answer_goals(rows).values()][:2] == [
        "lamp: dark light -> lit",
        "lamp: dark light -> lit (alternative 2)",
    ]
