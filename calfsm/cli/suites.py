"""Suites that a command is given: read, matched with the specs that they are of, and looked over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from calfsm.cli import manners

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.engine.system import System
    from calfsm.engine.table import Table
    from calfsm.paths.suite import Case, Suite, SuiteStep


def load(path: Path) -> Suite:
    """A suite. Raises CannotTry."""
    from calfsm.paths import suite

    try:
        with manners.files_at_hand():
            return suite.load(path)
    except suite.BadSuite as error:
        raise manners.CannotTry(
            str(error), "name a suite, as `calfsm paths` and `calfsm explore --counterexamples` write it"
        ) from None


def whose(suite: Suite, compiled: Compiled, path: Path) -> System | Table:
    """The system or machine that a suite is of. Raises CannotTry when there is none, or it has no such steps."""
    kinds: dict[str, Mapping[str, System] | Mapping[str, Table]] = {
        "system": compiled.systems,
        "machine": compiled.tables,
    }
    found = kinds.get(suite.kind, {}).get(suite.name)
    if found is None:
        raise manners.CannotTry(
            f"{path} is a suite of the {suite.kind} `{suite.name}`, which is not in these specs",
            f"name the specs that have it: `calfsm replay {path} SPECS`",
        )
    unknown = sorted(set(suite.scope) - set(found.exploring()))
    if unknown:
        raise manners.CannotTry(
            f"{path}:1: {suite.name} has no parameter `{unknown[0]}` in these specs", "write the suite again"
        )
    for case in suite.cases:
        for number, step in enumerate(case.steps, 1):
            why = _stranger(step, found)
            if why:
                raise manners.CannotTry(f"{path}:{case.line}: step {number}: {why}", "write the case again")
    return found


def _stranger(step: SuiteStep, of: System | Table) -> str:
    """What is unknown about a step; empty when nothing is."""
    from calfsm.engine.steps import argument_names
    from calfsm.engine.system import ActionRow, System

    rows, what = (of.actions, "action") if isinstance(of, System) else (of.events, "event")
    row = next((row for row in rows if row.name == step.do), None)
    if row is None:
        return f"{of.name} has no {what} `{step.do}`"
    if step.by and step.by != row.by:
        return f"{step.do} is done by {row.by}, not {step.by}"
    if not isinstance(row, ActionRow):
        return ""
    wanted = argument_names(row)
    if set(wanted) != set(step.arguments):
        return f"{step.do} takes {', '.join(wanted) or 'nothing'}, not {', '.join(step.arguments) or 'nothing'}"
    return ""


def same_specs(suite: Suite, of: System | Table, path: Path, strict: bool = False) -> bool:
    """Whether a suite was written for these very specs; when not, that is said or, if `strict`, raised as CannotTry."""
    if suite.digest == of.digest:
        return True
    differs = f"{path} was written for other specs of {suite.name} (digest {suite.digest}; these have {of.digest})"
    if strict:
        raise manners.CannotTry(differs, "leave --same-specs out, or write it again")
    manners.note(f"{manners.painted('note:', 'yellow')} {manners.visible(differs)}")
    return False


def at(path: Path, case: Case) -> str:
    """Where a case stands: `found/it.jsonl:2`."""
    return f"{path}:{case.line}"
