"""Counterexamples told: as a story, as a Mermaid sequence diagram, and as a test that replays them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from calfsm.engine.engine import Snapshot
from calfsm.engine.steps import argument_names
from calfsm.engine.system import Condition
from calfsm.explore.judging import CLIENT, HOME, Whole
from calfsm.explore.replay import STUCK
from calfsm.explore.search import Trace
from calfsm.explore.systems import Call, StoryLine, story

Told = list[StoryLine]


@attrs.frozen
class Counterexample:
    """A run that shows what is wrong. `kind`: always, eventually, home or stuck; the rest as in Lasso and Promise."""

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
            found.append(Counterexample(name, HOME, promise.trace))
    if whole.result.stuck is not None:
        found.append(Counterexample(STUCK, STUCK, whole.result.stuck))
    return found


def preceded(found: Counterexample, way: Trace[Snapshot, Call]) -> Counterexample:
    """A counterexample that begins where `way` ends, told from the beginning of `way`."""
    trace = Trace(way.start, (*way.steps, *found.trace.steps))
    return attrs.evolve(found, trace=trace, since=found.since + len(way.steps))


# ---- in words


def headline(whole: Whole, found: Counterexample) -> str:
    """What is broken, up to the colon that the story follows."""
    match found.kind:
        case "always":
            return "is broken; a shortest way there:"
        case "eventually":
            picked = ", ".join(f"{name}={value}" for name, value in found.picks.items())
            whom = f" for {picked}" if picked else ""
            return f"is broken{whom}: it may wait for ever; a way to where it does:"
        case "home":
            return "cannot be reached again without the client; a shortest way to where that is so:"
    return "a state in which nothing can happen; a shortest way there:"


def stories(whole: Whole, found: Counterexample) -> tuple[Told, Told]:
    """The trace, and the cycle, told; numbers go on from one to the other."""
    trace = story(whole.model, found.trace)
    cycle = story(whole.model, Trace(found.trace.end, found.cycle))
    return trace, [attrs.evolve(line, number=len(trace) + number) for number, line in enumerate(cycle, 1)]


def ending(whole: Whole, found: Counterexample) -> list[str]:
    """What is the matter at the end of the trace."""
    match found.kind:
        case "always":
            return list(_conjuncts(whole, found))
        case "eventually":
            row = next(row for row in whole.model.system.eventually if row.name == found.name)
            waits = f"it has waited since step {found.since} (`{row.source.text}`) for `{row.target.text}`"
            return [waits, _standing(whole, found)]
        case "home":
            return [_standing(whole, found)]
    return ["deadlock: nothing can happen any more"]


def told(whole: Whole, found: Counterexample) -> str:
    """All of it as text."""
    trace, cycle = stories(whole, found)
    lines = [f"{found.name} {headline(whole, found)}" if found.name != STUCK else f"{STUCK}: {headline(whole, found)}"]
    lines += map(str, trace)
    lines += ending(whole, found)
    lines += map(str, cycle)
    return "\n".join(lines)


def _conjuncts(whole: Whole, found: Counterexample) -> Iterator[str]:
    model = whole.model
    row = next(row for row in model.system.always if row.name == found.name)
    model.move_to(found.trace.end)
    for condition in row.conditions:
        try:
            if model.engine.holds(condition.term):
                continue
            whom = culprits(whole, condition)
        except ZeroDivisionError:
            yield f"`{condition.text}` divides by zero"
            continue
        yield f"`{condition.text}` does not hold" + (f": see {', '.join(whom)}" if whom else "")


def culprits(whole: Whole, condition: Condition) -> list[str]:
    """The instances that break a condition of the form `all(… for x in part)` in the model's present state."""
    model = whole.model
    match condition.term:
        case ("==", ("tally", index), ("int", 0)):
            part, where = model.system.tallies[index]
        case ("==", ("count", part, 0, where), ("int", 0)):
            pass
        case _:
            return []
    breaks = model.engine.function(("b0",), where)
    name, count = model.system.parts[part].name, len(model.engine.states[part])
    return [name if count == 1 else f"{name}[{index}]" for index in range(count) if breaks(index)]


def _standing(whole: Whole, found: Counterexample) -> str:
    """Deadlock, standstill or livelock."""
    model = whole.model
    calls = list(model.actions(found.trace.end))
    if not calls:
        return "deadlock: nothing can happen any more"
    if found.kind == "eventually" and not found.cycle:
        by = sorted({model.system.actions[call[0]].by for call in calls})
        names = dict.fromkeys(model.system.actions[call[0]].name for call in calls)
        return f"standstill: only {', '.join(names)} can happen, and {' and '.join(by)} may stay away for ever"
    if found.kind == "eventually":
        return "livelock: this can go on for ever; every fair action is taken on the way, or somewhere not possible:"
    if all(model.system.actions[call[0]].by == CLIENT for call in calls):
        return "standstill: only the client can act here"
    return "livelock: something can always happen, and nothing leads home"


# ---- as a picture


def mermaid(whole: Whole, found: Counterexample) -> str:
    """A sequence diagram: who speaks, and which instances move."""
    trace, cycle = stories(whole, found)
    speakers = list(dict.fromkeys(line.by for line in (*trace, *cycle)))
    moved = list(dict.fromkeys(change.partition(": ")[0] for line in (*trace, *cycle) for change in line.changes))
    lines = ["sequenceDiagram"]
    lines += [f"  actor s{number} as {escaped(name)}" for number, name in enumerate(speakers)]
    lines += [f"  participant p{number} as {escaped(name)}" for number, name in enumerate(moved)]
    lines += _messages(trace, speakers, moved, "  ")
    if cycle:
        lines += ["  loop for ever", *_messages(cycle, speakers, moved, "    "), "  end"]
    if speakers:
        lines += [f"  note over s0: {escaped(text)}" for text in ending(whole, found)]
    return "\n".join(lines) + "\n"


def _messages(lines: Sequence[StoryLine], speakers: list[str], moved: list[str], indent: str) -> Iterator[str]:
    for line in lines:
        speaker = f"s{speakers.index(line.by)}"
        if not line.changes:
            yield f"{indent}{speaker}->>{speaker}: {escaped(f'{line.number} {line.call}')}"
        for change in line.changes:
            who, _, what = change.partition(": ")
            text = escaped(f"{line.number} {line.call}: {what}")
            yield f"{indent}{speaker}->>p{moved.index(who)}: {text}"


def escaped(text: str) -> str:
    """Text that Mermaid's grammar reads nothing into: what is not plainly harmless is written as an entity."""
    return "".join(c if c.isalnum() or c in " _.,=()[]" else f"#{ord(c)};" for c in text)


# ---- as a test


def calls(whole: Whole, steps: Sequence[tuple[Call, Snapshot]]) -> list[tuple[str, dict[str, int]]]:
    """Steps as actions by name, with their picks and choices."""
    rows = whole.model.system.actions
    return [(rows[call[0]].name, dict(zip(argument_names(rows[call[0]]), call[1], strict=True))) for call, _ in steps]


def pytest_text(whole: Whole, found: Counterexample, specs: Sequence[str], bent: str = "") -> str:
    """A test file that fails as long as the counterexample is one.

    `specs`: the spec files, relative to the test's folder or absolute. `bent`: a call that changes `system` first.
    """
    system, scope = whole.model.system, dict(whole.model.engine.params)
    picks = dict(found.picks)
    imports = ["from calfsm.compile.load import load", "from calfsm.explore.replay import why_broken"]
    if bent:
        names = [name for name in ("only", "without") if f"{name}(" in bent]
        imports.append(f"from calfsm.explore.what_if import {', '.join(names)}")
    return "\n".join(
        [
            f'"""A counterexample to `{found.name}` of the system `{system.name}`; this fails as long as it is one."""',
            "",
            "from pathlib import Path",
            "",
            *imports,
            "",
            *_literal("SPECS", list(specs)),
            f"SCOPE = {scope!r}",
            f"PICKS = {picks!r}",
            *_literal("TRACE", calls(whole, found.trace.steps)),
            *_literal("CYCLE", calls(whole, found.cycle)),
            "",
            "",
            f"def test_{found.name}():",
            f"    system = load([Path(__file__).parent / path for path in SPECS]).systems[{system.name!r}]",
            *([f"    system = {bent}"] if bent else []),
            f"    why = why_broken(system, SCOPE, {found.name!r}, TRACE, CYCLE, PICKS)",
            "    assert not why, why",
            "",
        ]
    )


def _literal(name: str, items: Sequence[object]) -> list[str]:
    if not items:
        return [f"{name} = []"]
    return [f"{name} = [", *(f"    {item!r}," for item in items), "]"]
