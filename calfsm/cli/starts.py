"""The specs that `calfsm new` begins with: each passes the checks, and says in comments what to change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from calfsm.spec.model import MachineSpec, SystemSpec

_MACHINE = """\
# A machine is one object's life. This one asks the device for something and waits for the answer.
# Rename what is here to what your object does; `calfsm check` says what is missing, `calfsm explain CODE` why.
machine: NAME
doc: One request to the device, and what becomes of it.

params: # bounds: one value serves, a small one is explored
  max_tries: {serves: 3, explores: 2, doc: How often a request is made before somebody looks.}

vars: # bounded data that goes with the state
  tries: {int: [0, max_tries], doc: Requests since the last good answer.}

states: # one `initial`; `outcome` ends a life whose slot is used again, `final` is never left
  idle:      {initial: true, doc: Nothing is asked.}
  waiting:   {awaits: runtime, deadline: {after: answer_timeout, event: timeout}, doc: The device has the request.}
  abandoned: {awaits: runtime, deadline: {after: answer_timeout, event: timeout}, doc: Cancelled; the device has it.}
  lost:      {doc: The device did not answer. Nothing is asked of it before a reset.}
  done:      {outcome: true, doc: The answer is here.}

events: # who says it: client, engine (our own decisions), runtime (the device), clock, recovery
  request: {by: engine, doc: Hand the request to the device.}
  recycle: {by: engine, doc: The answer was used.}
  cancel:  {by: client, doc: The client lost interest.}
  answer:  {by: runtime, doc: The device is done.}
  timeout: {by: clock, doc: The device did not answer in time.}
  reset:   {by: recovery, doc: The device was reset and holds nothing of ours.}

transitions: # state -> event -> answer: a state, `{to: …, when: …, set: …}`, or `{stay: why}`
  idle:
    # A guarded decision: where `when` does not hold, the request is refused.
    request: {to: waiting, when: tries < max_tries, set: {tries: tries + 1}}
  waiting:
    answer:  {to: done, set: {tries: 0}}
    cancel:  abandoned
    timeout: lost
  abandoned: # the same `after`: the clock that began in `waiting` runs on
    answer:  {to: idle, set: {tries: 0}}
    timeout: lost
  done:
    recycle: idle

anywhere: # what a state answers when its own row says nothing; every event from outside is decided everywhere
  cancel:  {stay: "There is no request to cancel, or it is cancelled already."}
  answer:  {stay: "Nothing is awaited: a late or repeated answer changes nothing."}
  timeout: {stay: "Nothing is awaited: the clock was stopped too late."}
  reset:   {to: idle, set: {tries: 0}}
"""


def machine(name: str) -> str:
    """A request, its answer, timeout, cancel and reset."""
    return _MACHINE.replace("NAME", name)


def system(name: str, of: MachineSpec) -> str:
    """Two instances of a machine, and an action for each of its events."""
    return "\n".join(_system_lines(name, of)) + "\n"


def profile(name: str, of: SystemSpec, machines: Mapping[str, MachineSpec]) -> str:
    """Every parameter of a system and its machines, and every duration that they name."""
    return "\n".join(_profile_lines(name, of, machines)) + "\n"


def _system_lines(name: str, of: MachineSpec) -> Iterator[str]:
    yield "# A system is machines side by side, and the actions that move several of them at once."
    yield f"system: {name}"
    yield f"doc: Instances of {of.name}, each on its own."
    yield ""
    yield "params:"
    yield "  items: {serves: 16, explores: 2, doc: How many there are.}"
    yield ""
    yield "parts:"
    yield f"  items: {{machine: {of.name}, count: items}}"
    yield ""
    yield "actions: # an action happens to all that take part, or to none"
    pad = max(map(len, of.events)) + 1
    for event, said in of.events.items():
        yield f"  {event + ':':<{pad}} {{by: {said.by.value}, pick: {{x: items}}, fire: {{x: {event}}}}}"
    waiting = [state for state, it in of.states.items() if it.awaits is not None]
    if waiting:
        yield ""
        yield "eventually: # as long as the sources in `fair` keep speaking"
        for state in waiting:
            yield f"  {state}_ends: {{each: {{x: items}}, from: x is {state}, to: x is not {state}}}"
        yield ""
        yield "fair: [engine, runtime, clock, recovery]"
    yield f"home: all(x is {of.initial} for x in items)"


def _profile_lines(name: str, of: SystemSpec, machines: Mapping[str, MachineSpec]) -> Iterator[str]:
    used = [machines[part.machine] for part in of.parts.values() if part.machine in machines]
    yield "# A profile is the numbers of one deployment."
    yield f"profile: {name}"
    yield f"system: {of.name}"
    yield f"doc: The numbers of {name}."
    params = {key: param for params in (*(spec.params for spec in used), of.params) for key, param in params.items()}
    if params:
        yield ""
        yield "params: # in place of each parameter's `serves`"
        yield from _aligned((key, str(param.serves)) for key, param in params.items())
        yield ""
        yield "scope: # in place of each parameter's `explores`"
        yield from _aligned((key, str(param.explores)) for key, param in params.items())
    durations = {it.deadline.after: None for spec in used for it in spec.states.values() if it.deadline is not None}
    if durations:
        yield ""
        yield "deadlines: # seconds"
        yield from _aligned((key, "1.0") for key in durations)


def _aligned(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    items = list(pairs)
    pad = max(len(key) for key, _ in items) + 1
    for key, value in items:
        yield f"  {key + ':':<{pad}} {value}"
