"""Conditions that are written on the command line, in the spec language, about a system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from calfsm.cli import manners

if TYPE_CHECKING:
    from calfsm.compile.load import Compiled
    from calfsm.engine.code import Term
    from calfsm.engine.system import System
    from calfsm.spec.expressions import Expression
    from calfsm.spec.model import SystemSpec


def conditions(written: Sequence[tuple[str, str]], compiled: Compiled, system: System) -> tuple[System, list[Term]]:
    """The system, keeping the counts that some conditions need as well, and the conditions as terms.

    `written`: for each the option that it was given to, and its text. Raises CannotTry for what is no condition.
    """
    from calfsm.compile.systems import compile_system
    from calfsm.explore.what_if import changed

    spec = compiled.system_specs[system.name]
    # An option's name can be no property's, so that these cannot hide any.
    asked = {
        f"{option} {number}": _parsed(option, text, spec, compiled) for number, (option, text) in enumerate(written)
    }
    more = compile_system(attrs.evolve(spec, always={**spec.always, **asked}), compiled.tables)
    terms: dict[str, Term] = {
        row.name: ("and", *(condition.term for condition in row.conditions)) for row in more.always if row.name in asked
    }
    always = tuple(row for row in more.always if row.name not in asked)
    return changed(more, digest=system.digest, always=always), [terms[name] for name in asked]


def _parsed(option: str, text: str, spec: SystemSpec, compiled: Compiled) -> Expression:
    from calfsm.check.kinds import BOOL, SystemScope, judge
    from calfsm.spec.expressions import ExpressionError, parse

    try:
        expression = parse(text)
    except ExpressionError as error:
        at = f"{option} `{text}`, column {error.offset + 1}"
        raise manners.CannotTry(f"{at}: {error.message}", error.fix) from None
    for problem in judge(expression, SystemScope(spec, compiled.machine_specs), BOOL):
        because = f"; {problem.because}" if problem.because else ""
        raise manners.CannotTry(f"{option} `{text}`: {problem.message}{because}", problem.fix)
    return expression
