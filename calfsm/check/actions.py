"""The actions of a system: who takes part, what they take, and whether it can ever happen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from calfsm.check.kinds import Kind, Problem, SystemScope, Unclear, unknown_part, unknown_reference
from calfsm.check.parts import Machines, all_known, local_names
from calfsm.check.wording import near, quoted
from calfsm.spec.expressions import Aggregate, Both, Expression, Not, Path, Truth, Within, text_of, walk
from calfsm.spec.findings import Finding, Severity, listed
from calfsm.spec.model import Action, Alternative, MachineSpec, Participant, Source, SystemSpec
from calfsm.spec.yaml_text import DataPath


def participants(
    system: SystemSpec, machines: Machines, action: Action
) -> Iterator[tuple[Participant, tuple[str, ...], str]]:
    """The participants of an action that are sound, with their events and their parts."""
    scope = SystemScope(system, machines, local_names(action))
    for participant, events in action.fire.items():
        part, _ = part_of_participant(participant, scope)
        if part:
            yield participant, events, part


def part_of_participant(participant: Participant, scope: SystemScope) -> tuple[str, list[Problem]]:
    """The part whose instances take part, or what is wrong with how they are named."""
    path = participant.path
    if not participant.every and participant.where is None:
        return _part_at(path, scope)
    if path.root not in scope.system.parts:
        return "", [unknown_part(path.root, scope.system)]
    if participant.where is None:
        return path.root, []
    return _referring(participant, scope)


def _part_at(path: Path, scope: SystemScope) -> tuple[str, list[Problem]]:
    system = scope.system
    part = system.parts.get(path.root)
    if not path.fields and path.root not in scope.local and part is not None and not part.single:
        fix = f"write `all {path}`, or name one with `pick: {{x: {path}}}`"
        return "", [Problem("bad-participant", 0, f"`{path}` is a part of many instances", "", fix)]
    try:
        kind = scope.resolve(path)
    except Unclear as unclear:
        return "", [unclear.problem] if unclear.problem is not None else []
    if not kind.points:
        because = "an instance takes part: one that is picked, a single part, or what one of these leads to"
        return "", [Problem("bad-participant", 0, f"`{path}` is {kind}", because)]
    return (kind.part, []) if kind.part in system.parts else ("", [])


def _referring(participant: Participant, scope: SystemScope) -> tuple[str, list[Problem]]:
    assert participant.where is not None
    part, (variable, target) = participant.path.root, participant.where
    machine = scope.machine(part)
    if machine is None:
        return "", []
    declared = machine.vars.get(variable)
    problems = []
    if declared is None or declared.ref is None:
        problems.append(unknown_reference(variable, machine))
    try:
        kind = scope.resolve(target)
    except Unclear as unclear:
        return "", [*problems, *([unclear.problem] if unclear.problem is not None else [])]
    if declared is not None and declared.ref is not None and kind not in _pointing_into(declared.ref):
        message = f"`{variable}` refers into {declared.ref}, and `{target}` is no instance of it"
        problems.append(Problem("wrong-kind", 0, message, f"`where` asks who refers to one instance of {declared.ref}"))
    return ("" if problems else part), problems


def _pointing_into(part: str) -> tuple[Kind, Kind]:
    return Kind("ref", part=part), Kind("instance", part=part)


def named_participants(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Whoever takes part in an action is an instance that exists."""
    for name, action in system.actions.items():
        scope = SystemScope(system, machines, local_names(action))
        for participant in action.fire:
            for problem in part_of_participant(participant, scope)[1]:
                place = system.places.key("actions", name, "fire", str(participant))
                yield Finding(problem.code, place, problem.message, problem.because, problem.fix)


def known_events(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """The events that an action fires are events of the machines that take them."""
    for name, action in system.actions.items():
        for participant, events, part in participants(system, machines, action):
            machine = machines.get(system.parts[part].machine)
            for i, event in enumerate(events):
                if machine is not None and event not in machine.events:
                    yield Finding(
                        "unknown-event",
                        system.places.value(*_event_path(system, name, participant, i)),
                        f"{machine.name} has no event `{event}`",
                        f"its events are {listed(machine.events)}",
                        near(event, machine.events, "name one of these, or add the event to the machine"),
                    )


def _event_path(system: SystemSpec, action: str, participant: Participant, index: int) -> DataPath:
    path = ("actions", action, "fire", str(participant))
    return (*path, index) if (*path, index) in system.places.values else path


def fired_events(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Some action fires every event of the machines in the system."""
    fired = set(_fired(system, machines))
    for part, machine in _first_parts(system, machines):
        for event in machine.events if _is_told(system, machines, machine) else ():
            if (machine.name, event) not in fired:
                yield Finding(
                    "unfired-event",
                    system.places.key("parts", part),
                    f"no action of {system.name} fires `{event}` of {machine.name}",
                    "what no action fires is neither explored nor tested",
                    f"write an action that fires it, or remove `{event}` from {machine.name}",
                    Severity.WARNING,
                )


def _fired(system: SystemSpec, machines: Machines) -> Iterator[tuple[str, str]]:
    for action in system.actions.values():
        for _, events, part in participants(system, machines, action):
            for event in events:
                yield system.parts[part].machine, event


def _is_told(system: SystemSpec, machines: Machines, machine: MachineSpec) -> bool:
    """Whether it can be told what is fired on a machine: no participant is misspelt, and none of its events."""
    if not all_known(system, machines):
        return False
    sound = {
        (name, participant): events
        for name, action in system.actions.items()
        for participant, events, part in participants(system, machines, action)
        if system.parts[part].machine != machine.name or machine.events.keys() >= set(events)
    }
    return len(sound) == sum(len(action.fire) for action in system.actions.values())


def _first_parts(system: SystemSpec, machines: Machines) -> Iterator[tuple[str, MachineSpec]]:
    """Each known machine of a system once, with the first part that uses it."""
    seen: set[str] = set()
    for name, part in system.parts.items():
        if part.machine in machines and part.machine not in seen:
            seen.add(part.machine)
            yield name, machines[part.machine]


# ---- what an action finds its participants in


def may_hold(guard: Expression, subject: Path, state: str, define: Mapping[str, Expression]) -> bool | None:
    """Whether a guard holds when `subject` is in `state`: True, False, or None when that alone does not tell."""
    match guard:
        case Truth(value=value):
            return value
        case Within(subject=asked, members=members, negated=negated) if asked == subject:
            return (state in members) != negated
        case Not(item=item):
            inner = may_hold(item, subject, state, define)
            return None if inner is None else not inner
        case Both(word=word, items=items):
            deciding = word == "or"
            answers = [may_hold(item, subject, state, define) for item in items]
            if deciding in answers:
                return deciding
            return None if None in answers else not deciding
        case Path(root=root, fields=()) if root in define:
            rest = {name: text for name, text in define.items() if name != root}
            return may_hold(define[root], subject, state, rest)
    return None


def states_under(system: SystemSpec, action: Action, subject: Path, machine: MachineSpec) -> list[str]:
    """The states in which an action's guard lets `subject` be."""
    if action.when is None:
        return list(machine.states)
    return [s for s in machine.states if may_hold(action.when, subject, s, system.define) is not False]


def run(machine: MachineSpec, states: Iterable[str], events: Iterable[str]) -> tuple[set[str], list[Alternative]]:
    """The states after some events in order, from any of some states, and all that may answer on the way."""
    now, answers = set(states), []
    for event in events:
        after: set[str] = set()
        for state in now:
            cell = machine.cell(state, event)
            for alternative in cell.alternatives if cell is not None else ():
                answers.append(alternative)
                after.add(alternative.to if alternative.to is not None and alternative.to in machine.states else state)
        now = after
    return now, answers


def possible_actions(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Every action can happen: some state that its guard allows takes what it fires."""
    for name, action in system.actions.items():
        for participant, events, part in participants(system, machines, action):
            machine = machines.get(system.parts[part].machine)
            if machine is None or is_many(participant) or any(event not in machine.events for event in events):
                continue
            states = states_under(system, action, participant.path, machine)
            if run(machine, states, events)[0]:
                continue
            place = system.places.key("actions", name, "fire", str(participant))
            said = ", then ".join(f"`{event}`" for event in events)
            message = f"`{name}` can never happen: no state of `{participant}` that its guard allows takes {said}"
            takers = [s for s in machine.states if run(machine, [s], events)[0]]
            needed = listed((f"`{taker}`" for taker in takers), "or") or f"a state that {machine.name} does not have"
            because = f"its guard allows {quoted(states, 'no state')}; what it fires needs {needed}"
            yield Finding("impossible-action", place, message, because, "mend the guard, or fire another event")


def is_many(participant: Participant) -> bool:
    """Whether it may be several instances, or none: `all PART`, `PART where …`."""
    return participant.every or participant.where is not None


def set_once(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """An action does not set what a cell that it fires sets too."""
    for name, action in system.actions.items():
        fired = list(participants(system, machines, action))
        scope = SystemScope(system, machines, local_names(action))
        for target in action.set:
            root, *fields = target.split(".")
            if not fields:
                continue
            owner, variable = Path(root, tuple(fields[:-1])), fields[-1]
            for participant, events, part in fired:
                machine = machines.get(system.parts[part].machine)
                if machine is None or not _is_among(owner, participant, part, scope):
                    continue
                if any(variable in a.set for a in answers(system, action, participant, machine, events)):
                    yield Finding(
                        "set-twice",
                        system.places.key("actions", name, "set", target),
                        f"`{name}` sets `{target}`, which a cell that it fires sets too",
                        f"`{participant}` takes {quoted(events)}",
                        "set it in one place",
                    )


def answers(
    system: SystemSpec, action: Action, participant: Participant, machine: MachineSpec, events: Iterable[str]
) -> list[Alternative]:
    """All that may answer when a participant takes some events."""
    return run(machine, possible_states(system, action, participant, machine), events)[1]


def possible_states(system: SystemSpec, action: Action, participant: Participant, machine: MachineSpec) -> list[str]:
    """The states in which an action may find a participant."""
    return list(machine.states) if is_many(participant) else states_under(system, action, participant.path, machine)


def _is_among(owner: Path, participant: Participant, part: str, scope: SystemScope) -> bool:
    """Whether the instance at `owner` surely is a participant."""
    if not is_many(participant):
        return participant.path == owner
    if not participant.every:
        return False
    try:
        return scope.resolve(owner).part == part
    except Unclear:
        return False


def clocked_deadlines(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """For every state with a deadline there is an action by the clock that fires its event in that state."""
    for part, declared in system.parts.items():
        machine = machines.get(declared.machine)
        if machine is None or not _is_told(system, machines, machine):
            continue
        for name, state in machine.states.items():
            if state.deadline is None or state.deadline.event not in machine.events:
                continue
            event = state.deadline.event
            if not _is_clocked(system, machines, part, machine, name, event):
                yield Finding(
                    "no-clock-action",
                    system.places.key("parts", part),
                    f"no action of {system.name} ends the wait of {machine.name} in `{name}`",
                    f"the deadline `{state.deadline.after}` says `{event}`, which no action by the clock fires there",
                    f"write an action `by: clock` that fires `{event}` on an instance of `{part}`",
                )


def _is_clocked(
    system: SystemSpec, machines: Machines, part: str, machine: MachineSpec, state: str, event: str
) -> bool:
    for action in system.actions.values():
        if action.by is not Source.CLOCK:
            continue
        for participant, events, its_part in participants(system, machines, action):
            if its_part == part and event in events:
                many = is_many(participant)
                if many or state in states_under(system, action, participant.path, machine):
                    return True
    return False


# ---- what a guard costs


def local_aggregates(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Aggregates in guards ask each instance only about itself, so that they need no scan."""
    singles = [name for name, part in system.parts.items() if part.single]
    for name, action in system.actions.items():
        moving = {*singles, *system.define, *local_names(action)}
        for node in walk(action.when) if action.when is not None else ():
            scanned = [node] if isinstance(node, Aggregate) else _defined_aggregates(node, system, ())
            if any(not _is_local(aggregate, moving) for aggregate in scanned):
                text = text_of(node)
                yield Finding(
                    "scanning-guard",
                    system.places.inside(node.offset, "actions", name, "when"),
                    f"the guard of `{name}` scans a part: `{text}`",
                    "a count that asks each instance only about itself is kept up to date; this is computed each time",
                    "ask each instance only for its own state and variables, or keep the number in a variable",
                    Severity.WARNING,
                )


def _defined_aggregates(node: Expression, system: SystemSpec, unfolding: tuple[str, ...]) -> list[Aggregate]:
    """The aggregates in the definition that a node names, if it names one."""
    if not isinstance(node, Path) or node.root not in system.define or node.root in unfolding:
        return []
    found: list[Aggregate] = []
    for inner in walk(system.define[node.root]):
        if isinstance(inner, Aggregate):
            found.append(inner)
        found += _defined_aggregates(inner, system, (*unfolding, node.root))
    return found


def _is_local(aggregate: Aggregate, moving: Collection[str]) -> bool:
    """Whether an aggregate asks each instance only about itself. `moving`: the other names that change."""
    inside = [item for item in (aggregate.body, aggregate.where) if item is not None]
    return all(_asks_itself(node, aggregate.variable, moving) for item in inside for node in walk(item))


def _asks_itself(node: Expression, variable: str, moving: Collection[str]) -> bool:
    match node:
        case Aggregate():
            return False
        case Within(subject=subject):
            return subject == Path(variable)
        case Path(root=root, fields=fields) if root == variable:
            return len(fields) <= 1
        case Path(root=root, fields=fields):
            return not fields and root not in moving  # a parameter, a word, or `none`
    return True


def known_speakers(system: SystemSpec, machines: Machines) -> Iterator[Finding]:
    """Who is fair is a source, or an action of the system."""
    sources = [source.value for source in Source]
    for section in ("fair", "strongly_fair"):
        for number, name in enumerate(getattr(system, section)):
            if name not in sources and name not in system.actions:
                yield Finding(
                    "unknown-source",
                    system.places.value(section, number),
                    f"nobody is called `{name}`, and no action of {system.name} is",
                    f"who speaks is one of {listed(sources, 'or')}",
                    near(name, [*sources, *system.actions], "write one of these, or the name of an action"),
                )


RULES = (
    named_participants,
    known_events,
    fired_events,
    possible_actions,
    set_once,
    clocked_deadlines,
    local_aggregates,
    known_speakers,
)
