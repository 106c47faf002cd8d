"""Counterexamples told: as a story, and as a test that replays them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from calfsm.engine.engine import Snapshot
from calfsm.engine.steps import argument_names
from calfsm.engine.system import Condition
from calfsm.explore.judging import CLIENT, HOME, Whole, returns
from calfsm.explore.ownership import fate, whereabouts
from calfsm.explore.replay import STUCK
from calfsm.explore.search import Trace
from calfsm.explore.systems import Call, StoryLine, SystemModel, story

Told = list[StoryLine]


@attrs.frozen
class Counterexample:
    """A run that shows what is wrong; the rest as in Lasso and Promise.

    `kind`: always, eventually, stuck, or home, which is of all that has to return.
    """

    name: str
    kind: str
    trace: Trace[Snapshot, Call]
    cycle: tuple[tuple[Call, Snapshot], ...] = ()
    since: int = 0
    picks: Mapping[str, int] = attrs.field(factory=dict)

    @property
    def steps(self) -> tuple[tuple[Call, Snapshot], ...]:
        """The steps of the trace and of one turn of the cycle."""
        return (*self.trace.steps, *self.cycle)


def counterexamples(whole: Whole) -> list[Counterexample]:
    """One for each broken property, and one for a stuck state."""
    found = [Counterexample(name, "always", trace) for name, trace in whole.result.counterexamples.items()]
    for name, promise in whole.promises.items():
        if promise.lasso is not None:
            lasso = promise.lasso
            found.append(Counterexample(name, "eventually", lasso.trace, lasso.cycle, lasso.since, promise.picks))
        elif promise.trace is not None:
            found.append(Counterexample(name, HOME, promise.trace, picks=promise.picks))
    if whole.result.stuck is not None:
        found.append(Counterexample(STUCK, STUCK, whole.result.stuck))
    return found


def preceded(found: Counterexample, way: Trace[Snapshot, Call]) -> Counterexample:
    """A counterexample that begins where `way` ends, told from the beginning of `way`."""
    trace = Trace(way.start, (*way.steps, *found.trace.steps))
    return attrs.evolve(found, trace=trace, since=found.since + len(way.steps))


# ---- in words


def headline(found: Counterexample) -> str:
    """What is broken, up to the colon that the story follows; without a step in it, that it is so from the first."""
    picked = ", ".join(f"{name}={value}" for name, value in found.picks.items())
    whom = f" for {picked}" if picked else ""
    if not found.trace.steps:
        return _headline_at_once(found.kind, whom)
    match found.kind:
        case "always":
            return "is broken; a shortest way there:"
        case "eventually":
            return f"is broken{whom}: it may wait for ever; a way to where it does:"
        case "home" if picked:
            return f"is broken{whom}: it cannot be free again without the client; a shortest way to where that is so:"
        case "home":
            return "cannot be reached again without the client; a shortest way to where that is so:"
    return "a state in which nothing can happen; a shortest way there:"


def _headline_at_once(kind: str, whom: str) -> str:
    match kind:
        case "always":
            return "is broken where it begins:"
        case "eventually":
            return f"is broken{whom} where it begins: it may wait for ever:"
        case "home" if whom:
            return f"is broken{whom} where it begins: it cannot be free again without the client:"
        case "home":
            return "cannot be reached again without the client from where it begins:"
    return "nothing can happen where it begins:"


def stories(model: SystemModel, found: Counterexample) -> tuple[Told, Told]:
    """The trace, and the cycle, told; numbers go on from one to the other."""
    trace = story(model, found.trace)
    cycle = story(model, Trace(found.trace.end, found.cycle))
    return trace, [attrs.evolve(line, number=len(trace) + number) for number, line in enumerate(cycle, 1)]


def ending(model: SystemModel, found: Counterexample) -> list[str]:
    """What is the matter at the end of the trace."""
    match found.kind:
        case "always":
            return [*fate(model, found.name, found.trace), *_conjuncts(model, found)]
        case "eventually":
            row = next(row for row in model.system.eventually if row.name == found.name)
            since = f"step {found.since}" if found.since else "the beginning"
            waits = f"it has waited since {since} (`{row.source.text}`) for `{row.target.text}`"
            return [waits, _standing(model, found)]
        case "home":
            where = [
                line for index in found.picks.values() for line in whereabouts(model, found.name, found.trace, index)
            ]
            return [*where, _standing(model, found)]
    return ["deadlock: nothing can happen any more"]


def told(model: SystemModel, found: Counterexample) -> str:
    """All of it as text."""
    trace, cycle = stories(model, found)
    lines = [f"{found.name} {headline(found)}" if found.name != STUCK else f"{STUCK}: {headline(found)}"]
    lines += map(str, trace)
    lines += ending(model, found)
    lines += map(str, cycle)
    return "\n".join(lines)


def _conjuncts(model: SystemModel, found: Counterexample) -> Iterator[str]:
    for condition, whom in _broken(model, found):
        if whom is None:
            yield f"`{condition.text}` divides by zero"
        else:
            yield f"`{condition.text}` does not hold" + (f": see {', '.join(whom)}" if whom else "")


def _broken(model: SystemModel, found: Counterexample) -> Iterator[tuple[Condition, list[str] | None]]:
    """The conjuncts that do not hold at the end of the trace, and who breaks each; None when it divides by zero."""
    row = next(row for row in model.system.always if row.name == found.name)
    model.move_to(found.trace.end)
    for condition in row.conditions:
        try:
            if not model.engine.holds(condition.term):
                yield condition, culprits(model, condition)
        except ZeroDivisionError:
            yield condition, None


def blamed(model: SystemModel, found: Counterexample) -> list[str]:
    """The instances that break an `always` property, or for whom an `eventually` one is broken."""
    if found.kind == "always":
        return list(dict.fromkeys(who for _, whom in _broken(model, found) for who in whom or ()))
    if found.kind == "eventually":
        row = next(row for row in model.system.eventually if row.name == found.name)
        return [model.instance(part, found.picks[name]) for name, part in row.picks]
    if found.kind == HOME:
        goal = next(goal for goal in returns(model.system) if goal.name == found.name)
        return [model.instance(part, found.picks[name]) for name, part in goal.picks]
    return []


def culprits(model: SystemModel, condition: Condition) -> list[str]:
    """The instances that break a condition of the form `all(… for x in part)` in the model's present state."""
    match condition.term:
        case ("==", ("tally", index), ("int", 0)):
            part, where = model.system.tallies[index]
        case ("==", ("count", part, 0, where), ("int", 0)):
            pass
        case _:
            return []
    breaks = model.engine.function(("b0",), where)
    return [model.instance(part, index) for index in range(len(model.engine.states[part])) if breaks(index)]


def _standing(model: SystemModel, found: Counterexample) -> str:
    """Deadlock, standstill or livelock."""
    calls = list(model.actions(found.trace.end))
    if not calls:
        return "deadlock: nothing can happen any more"
    if found.kind == "eventually" and not found.cycle:
        by = sorted({model.system.actions[call[0]].by for call in calls})
        names = dict.fromkeys(model.system.actions[call[0]].name for call in calls)
        who = " and ".join(filter(None, (", ".join(by[:-1]), by[-1])))
        return f"standstill: only {', '.join(names)} can happen, and {who} may stay away for ever"
    if found.kind == "eventually":
        where = "somewhere not possible"
        if model.system.strongly_fair:
            where += ", if strongly fair nowhere possible"
        return f"livelock: this can go on for ever; every fair action is taken on the way, or {where}:"
    if all(model.system.actions[call[0]].by == CLIENT for call in calls):
        return "standstill: only the client can act here"
    return f"livelock: something can always happen, and nothing leads {'back' if found.picks else 'home'}"


# ---- as a test


def calls(model: SystemModel, steps: Sequence[tuple[Call, Snapshot]]) -> list[tuple[str, dict[str, int]]]:
    """Steps as actions by name, with their picks and choices."""
    rows = model.system.actions
    return [(rows[call[0]].name, dict(zip(argument_names(rows[call[0]]), call[1], strict=True))) for call, _ in steps]


def pytest_text(model: SystemModel, found: Counterexample, specs: Sequence[str], bent: str = "") -> str:
    """A test file that fails as long as the counterexample is one, and a test that Hypothesis shrinks to few steps.

    `specs`: the spec files, relative to the test's folder or absolute. `bent`: a call that changes `SYSTEM` first.
    """
    system, shrinks = model.system, bool(found.trace.steps) and found.kind != HOME
    names = [name for name in ("only", "without") if f"{name}(" in bent]
    return "\n".join(
        [
            f'"""A counterexample to `{found.name}` of the system `{system.name}`; this fails as long as it is one."""',
            "",
            *(["from itertools import compress"] if shrinks else []),
            "from pathlib import Path",
            "",
            *(_HYPOTHESIS if shrinks else []),
            "from calfsm.compile.load import load",
            f"from calfsm.explore.replay import {'possible, ' if shrinks else ''}why_broken",
            *([f"from calfsm.explore.what_if import {', '.join(names)}"] if names else []),
            "",
            *_literal("SPECS", list(specs)),
            f"SYSTEM = load([Path(__file__).parent / path for path in SPECS]).systems[{system.name!r}]",
            *([f"SYSTEM = {bent}"] if bent else []),
            f"SCOPE = {dict(model.engine.params)!r}",
            f"PICKS = {dict(found.picks)!r}",
            *_literal("TRACE", calls(model, found.trace.steps)),
            *_literal("CYCLE", calls(model, found.cycle)),
            "",
            "",
            "def why(trace):",
            f"    return why_broken(SYSTEM, SCOPE, {found.name!r}, trace, CYCLE, PICKS)",
            "",
            "",
            f"def test_{found.name}():",
            "    assert not why(TRACE), why(TRACE)",
            *(_shrinking(found.name) if shrinks else []),
            "",
        ]
    )


_HYPOTHESIS = ["from hypothesis import given, settings", "from hypothesis import strategies as st", ""]


def _shrinking(name: str) -> list[str]:
    """Steps are mostly kept, so that Hypothesis finds what there is; it shrinks towards leaving them out."""
    return [
        "",
        "",
        "@settings(max_examples=300, deadline=None, derandomize=True)",
        "@given(st.lists(st.sampled_from([False] + 30 * [True]), min_size=len(TRACE), max_size=len(TRACE)))",
        f"def test_{name}_in_fewer_steps(kept):",
        '    """When this fails, Hypothesis shows as few of the steps as it could find that still show it."""',
        "    trace = possible(SYSTEM, SCOPE, compress(TRACE, kept))",
        '    assert not why(trace), f"{why(trace)}: {trace}"',
    ]


def _literal(name: str, items: Sequence[object]) -> list[str]:
    if not items:
        return [f"{name} = []"]
    return [f"{name} = [", *(f"    {item!r}," for item in items), "]"]
