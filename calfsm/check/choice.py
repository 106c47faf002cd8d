"""Choices between alternatives: at most one is enabled, at least one where the world asks, and none is idle.

Proofs are by trying: every valuation of the variables that a cell mentions, with the values of the parameters that are
explored, and with the values that serve unless those are more than MOST_VALUATIONS. Whoever reads the finding is shown
the valuation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs

from calfsm.check.names import is_sound
from calfsm.check.values import (
    Valuation,
    Value,
    described,
    evaluator,
    limits,
    names_in,
    scales,
    size,
    spelt,
    valuations,
)
from calfsm.check.wording import quoted
from calfsm.check.written import alternative_path, part_of, row_of
from calfsm.spec.expressions import Arithmetic, Expression, text_of, walk
from calfsm.spec.findings import Finding, Place
from calfsm.spec.model import Alternative, Cell, MachineSpec
from calfsm.spec.yaml_text import DataPath

MOST_VALUATIONS = 200_000
"""More than these are not tried for one cell."""

MOST_EFFORT = 5_000_000
"""More valuations than these are not tried for one machine."""


@attrs.define
class Effort:
    """How many valuations may still be tried."""

    left: int = MOST_EFFORT

    def allows(self, valuations: int) -> bool:
        """Whether so many may be tried; if so they are taken off."""
        if valuations > min(MOST_VALUATIONS, self.left):
            return False
        self.left -= valuations
        return True


@attrs.frozen
class Choice:
    """A cell whose guards can be evaluated, and where it stands."""

    spec: MachineSpec
    row: DataPath
    event: str
    cell: Cell

    @property
    def guards(self) -> dict[int, Expression]:
        """The guards, by the index of their alternatives."""
        return {i: a.when for i, a in enumerate(self.cell.alternatives) if a.when is not None}

    @property
    def subject(self) -> str:
        """How one names the cell: "`recycle` in `completing`"."""
        return f"`{self.event}` in {row_of(self.row)}"

    def path(self, index: int) -> DataPath:
        """The path of an alternative."""
        return alternative_path(self.spec.places, (*self.row, self.event), index)

    def place(self, index: int, *steps: str) -> Place:
        """The place of a key of an alternative, or of the alternative."""
        return self.spec.places.value(*part_of(self.spec.places, self.path(index), *steps))


def choices(spec: MachineSpec) -> Iterator[Choice]:
    """The cells of a machine whose guards are all right in kind."""
    for row, event, cell in spec.written_cells():
        if all(is_sound(spec, a.when) for a in cell.alternatives if a.when is not None):
            yield Choice(spec, row, event, cell)


def guarded(spec: MachineSpec) -> Iterator[Finding]:
    """Where there are several alternatives, each has a guard, and the last may be `else`."""
    for row, event, cell in spec.written_cells():
        if len(cell.alternatives) < 2:
            continue
        choice = Choice(spec, row, event, cell)
        for i, alternative in enumerate(cell.alternatives):
            if alternative.when is None and not alternative.otherwise:
                yield Finding(
                    "unguarded",
                    choice.place(i),
                    f"an alternative of {choice.subject} has no guard",
                    "alternatives of one cell are told apart by `when`",
                    "write `when: …`, or `else: true` in the last one",
                )
            if alternative.otherwise and i + 1 < len(cell.alternatives):
                yield Finding(
                    "else-not-last",
                    choice.place(i, "else"),
                    f"an alternative of {choice.subject} stands behind `else`",
                    "`else` is what holds when no `when` does, and is read last",
                    "move it to the end, and keep one",
                )


def decided_choices(spec: MachineSpec) -> Iterator[Finding]:
    """Guards do not overlap, leave no gap to the outside, divide by nothing, and each is true somewhere."""
    effort = Effort()
    for choice in choices(spec):
        if choice.guards:
            trial = tried(choice, effort)
            yield from _overlaps(choice, trial)
            yield from _gap(choice, trial)
            yield from _never_true(choice, trial)
            yield from _divides(choice, trial)
            if trial.unproved:
                yield _unproved(choice)


@attrs.define
class Trial:
    """What came of trying the guards of a cell; valuations are as the reader is shown them."""

    overlaps: dict[tuple[int, int], str] = attrs.field(factory=dict)
    gap: str | None = None
    divides: dict[int, str] = attrs.field(factory=dict)
    enabled: set[int] = attrs.field(factory=set)
    complete: bool = True
    """Tried with every value of the parameters."""
    unproved: bool = False
    """Not even tried with the values that are explored."""


def tried(choice: Choice, effort: Effort) -> Trial:
    """Try the guards of a cell under every valuation of what they mention."""
    trial = Trial()
    spec, guards = choice.spec, list(choice.guards.values())
    names = variables_in(spec, guards)
    shown = [*names, *parameters_in(spec, guards, names)]
    tests = {i: evaluator(guard) for i, guard in choice.guards.items()}
    for nth, params in enumerate(scales(spec)):
        many = size(spec, names, params)
        if not effort.allows(many):
            trial.complete = False
            trial.unproved |= nth == 0
            continue
        if not many:
            trial.complete = False
        for valuation in valuations(spec, names, params):
            enabled = _enabled(trial, tests, valuation, shown)
            trial.enabled.update(enabled)
            if not enabled and trial.gap is None:
                trial.gap = described(valuation, shown)
            for pair in itertools.combinations(enabled, 2):
                if pair not in trial.overlaps:
                    trial.overlaps[pair] = described(valuation, shown)
    return trial


def _enabled(
    trial: Trial, tests: Mapping[int, Callable[[Valuation], Value]], valuation: Valuation, shown: Sequence[str]
) -> list[int]:
    """The alternatives whose guards hold. One that divides by zero is noted, and does not hold."""
    enabled = []
    for i, test in tests.items():
        try:
            if test(valuation):
                enabled.append(i)
        except ZeroDivisionError:
            trial.divides.setdefault(i, described(valuation, shown))
    return enabled


def variables_in(spec: MachineSpec, expressions: Iterable[Expression]) -> list[str]:
    """The variables that some expressions mention, in the order of their declaration."""
    said = {name for expression in expressions for name in names_in(expression)}
    return [name for name in spec.vars if name in said]


def parameters_in(spec: MachineSpec, expressions: Iterable[Expression], variables: Iterable[str]) -> list[str]:
    """The parameters that some expressions mention or that bound some variables, in the order of declaration."""
    said = {name for expression in expressions for name in names_in(expression)}
    for variable in map(spec.vars.__getitem__, variables):
        said.update(str(end) for end in (*(variable.integer or ()), variable.cycle))
    return [name for name in spec.params if name in said and name not in spec.vars]


def _overlaps(choice: Choice, trial: Trial) -> Iterator[Finding]:
    for (first, second), valuation in trial.overlaps.items():
        guards = choice.guards
        yield Finding(
            "overlap",
            choice.place(second, "when"),
            f"two alternatives of {choice.subject} are enabled together{_with(valuation)}",
            f"`{text_of(guards[first])}` and `{text_of(guards[second])}` both hold, and their order must not matter",
            "make the guards exclude each other, or write `else: true` in the last one",
        )


def _gap(choice: Choice, trial: Trial) -> Iterator[Finding]:
    event = choice.spec.events.get(choice.event)
    if event is None or not event.by.outside or trial.gap is None or len(choice.guards) < len(choice.cell.alternatives):
        return
    yield Finding(
        "gap",
        choice.spec.places.key(*choice.row, choice.event),
        f"no alternative of {choice.subject} holds{_with(trial.gap)}",
        f"a {event.by.value} event can arrive at any time, and is answered whatever the variables are",
        "add an alternative that holds then, or end with `else: true`",
    )


def _never_true(choice: Choice, trial: Trial) -> Iterator[Finding]:
    if not trial.complete:
        return
    for i, guard in choice.guards.items():
        if i not in trial.enabled and i not in trial.divides:
            because = _for_all(variables_in(choice.spec, [guard]))
            fix = "remove the alternative, or mend the guard"
            message = f"the guard `{text_of(guard)}` of {choice.subject} is never true"
            yield Finding("never-true", choice.place(i, "when"), message, because, fix)
    for i, alternative in enumerate(choice.cell.alternatives):
        if alternative.otherwise and trial.gap is None and not trial.divides:
            because = "one of the guards before it always holds"
            fix = "remove it, or mend the guards"
            message = f"the `else` of {choice.subject} is never taken"
            yield Finding("never-true", choice.place(i, "else"), message, because, fix)


def _divides(choice: Choice, trial: Trial) -> Iterator[Finding]:
    for i, valuation in trial.divides.items():
        yield _division(choice, choice.place(i, "when"), "a guard", valuation)


def _division(choice: Choice, place: Place, thing: str, valuation: str) -> Finding:
    message = f"{thing} of {choice.subject} divides by zero{_with(valuation)}"
    return Finding("divides-by-zero", place, message, "", "exclude that value before dividing: `n != 0 and … // n`")


def _unproved(choice: Choice) -> Finding:
    expressions = [*choice.guards.values(), *(e for a in choice.cell.alternatives for e in a.set.values())]
    return Finding(
        "unproved",
        choice.spec.places.key(*choice.row, choice.event),
        f"{choice.subject} depends on too many values of {quoted(variables_in(choice.spec, expressions))} to try",
        f"a cell is proved right by trying all its values: at most {MOST_VALUATIONS:,}, and {MOST_EFFORT:,} a machine",
        "bound the variable by a parameter whose `explores` is small",
    )


def _with(valuation: str) -> str:
    return f" with {valuation}" if valuation else ""


def _for_all(names: Sequence[str]) -> str:
    return f"it is false for every value of {quoted(names)}" if names else "it is false, whatever the variables are"


def updates_in_domain(spec: MachineSpec) -> Iterator[Finding]:
    """An update leaves its variable in its domain under every valuation that its guard lets through."""
    effort = Effort()
    for choice in choices(spec):
        for i, alternative in enumerate(choice.cell.alternatives):
            for target, update in alternative.set.items():
                if target in spec.vars and is_sound(spec, update, target):
                    finding = _escape(choice, i, target, effort)
                    if finding is not None:
                        yield finding


def _escape(choice: Choice, index: int, target: str, effort: Effort) -> Finding | None:
    """The finding for the first valuation under which an update leaves its domain or divides by zero."""
    spec, alternative = choice.spec, choice.cell.alternatives[index]
    update = alternative.set[target]
    if spec.vars[target].integer is None and not _may_divide(update):
        return None
    guards = _guards_of(choice, alternative) if variables_in(spec, [update]) else []
    names = variables_in(spec, [*guards, update])
    shown = [*names, *parameters_in(spec, [*guards, update], [*names, target])]
    lets_through = _gate(guards, not alternative.otherwise)
    value_of = evaluator(update)
    place = spec.places.value(*part_of(spec.places, choice.path(index), "set", target))
    for nth, params in enumerate(scales(spec)):
        if not effort.allows(size(spec, names, params)):
            if nth == 0:
                return _unproved(choice)
            continue
        ends = limits(spec.vars[target], params) if spec.vars[target].integer is not None else None
        for valuation in filter(lets_through, valuations(spec, names, params)):
            try:
                value = value_of(valuation)
            except ZeroDivisionError:
                return _division(choice, place, "an update", described(valuation, shown))
            if ends is not None and ends[0] <= ends[1] and not ends[0] <= int(value or 0) <= ends[1]:
                return Finding(
                    "leaves-domain",
                    place,
                    f"{choice.subject} would set `{target}` to {spelt(value)}{_with(described(valuation, shown))}",
                    f"`{target}` runs from {ends[0]} to {ends[1]}",
                    f"guard the alternative, so that `{text_of(update)}` stays in that range",
                )
    return None


def _guards_of(choice: Choice, alternative: Alternative) -> list[Expression]:
    """The guards that say when an alternative is taken: its own, or for `else` all others."""
    if alternative.otherwise:
        return list(choice.guards.values())
    return [alternative.when] if alternative.when is not None else []


def _gate(guards: Sequence[Expression], holds: bool) -> Callable[[Valuation], bool]:
    """Whether all guards hold under a valuation, or none of them. One that divides by zero does not hold."""
    tests = [evaluator(guard) for guard in guards]

    def test(valuation: Valuation) -> bool:
        return all(_holds(test, valuation) is holds for test in tests)

    return test


def _holds(test: Callable[[Valuation], Value], valuation: Valuation) -> bool:
    try:
        return bool(test(valuation))
    except ZeroDivisionError:
        return False


def _may_divide(expression: Expression) -> bool:
    return any(isinstance(node, Arithmetic) and node.op in ("//", "%") for node in walk(expression))


RULES = (guarded, decided_choices, updates_in_domain)
