"""A kiosk: customers who wait, and a till that jams and is repaired."""

from __future__ import annotations

from pathlib import Path

from calfsm.compile.load import compile_specs
from calfsm.engine.engine import Engine, Snapshot
from calfsm.engine.system import System
from calfsm.explore.judging import Whole
from calfsm.explore.systems import Call
from calfsm.spec.model import MachineSpec, SystemSpec
from calfsm.spec.read import read_spec_text

CUSTOMER = """
machine: customer
states: {away: {initial: true}, waiting: {}, served: {outcome: true}}
events: {order: {by: client}, serve: {by: engine}, leave: {by: engine}}
transitions:
  away:    {order: waiting}
  waiting: {serve: served, order: {stay: Once is enough.}}
  served:  {leave: away, order: {stay: It is done.}}
"""

TILL = """
machine: till
params: {most: {serves: 9, explores: 1}}
vars: {jams: {int: [0, most], doc: How often it has jammed.}}
states: {open: {initial: true}, jammed: {}}
events: {jam: {by: runtime}, repair: {by: recovery}}
transitions:
  open:
    jam:    [{when: jams < most, to: jammed, set: {jams: jams + 1}}, {else: true, stay: It is run in.}]
    repair: {stay: It works.}
  jammed: {repair: open, jam: {stay: Once is enough.}}
"""

KIOSK = """
system: kiosk
params: {people: {serves: 9, explores: 2}}
parts: {customers: {machine: customer, count: people}, till: {machine: till}}
actions:
  order:  {by: client,   pick: {c: customers}, when: c is away, fire: {c: order}}
  serve:  {by: engine,   pick: {c: customers}, when: till is open, fire: {c: serve}, effect: till.print}
  leave:  {by: engine,   pick: {c: customers}, fire: {c: leave}}
  jam:    {by: runtime,  when: till is open and till.jams < most, fire: {till: jam}}
  repair: {by: recovery, when: till is jammed, fire: {till: repair}}
always:
  jams_are_counted: "till is open or till.jams > 0"
eventually:
  everyone_is_served: {each: {c: customers}, from: c is waiting, to: c is served}
fair: [engine, recovery]
home: till is open and all(c is not served for c in customers)
"""

ENDLESS = [
    ("{else: true, stay: It is run in.}", "{else: true, to: jammed}"),
    ("till is open and till.jams < most,", "till is open,"),
]
"""Edits: the till may jam for ever."""


def texts(*edits: tuple[str, str]) -> dict[str, str]:
    """The kiosk's spec files, with edits; what is replaced must stand in them once."""
    files = {"customer.yaml": CUSTOMER, "till.yaml": TILL, "kiosk.yaml": KIOSK}
    for old, new in edits:
        assert sum(text.count(old) for text in files.values()) == 1, old
        files = {name: text.replace(old, new) for name, text in files.items()}
    return files


def kiosk(*edits: tuple[str, str]) -> System:
    """The kiosk, with edits of its texts."""
    machines: dict[str, MachineSpec] = {}
    systems: dict[str, SystemSpec] = {}
    for text in texts(*edits).values():
        reading = read_spec_text(text)
        assert not reading.findings, reading.findings
        if isinstance(reading.spec, MachineSpec):
            machines[reading.spec.name] = reading.spec
        elif isinstance(reading.spec, SystemSpec):
            systems[reading.spec.name] = reading.spec
    return compile_specs(machines, systems).systems["kiosk"]


def replayed(whole: Whole, steps: tuple[tuple[Call, Snapshot], ...], start: Snapshot | None = None) -> Engine:
    """An engine that has done every step, having been where each says."""
    engine = Engine(whole.model.system, **whole.model.engine.params)
    if start is not None:
        engine.restore(start)
    for call, after in steps:
        do(engine, whole, call)
        assert engine.snapshot() == after
    return engine


def do(engine: Engine, whole: Whole, call: Call) -> None:
    action = whole.model.system.actions[call[0]]
    names = [name for name, _ in action.picks] + [name for name, _, _ in action.choices]
    engine.apply(action.name, **dict(zip(names, call[1], strict=True)))


def look_at_lasso(whole: Whole, name: str) -> None:
    """Replay a lasso on an engine: it waits from `since` on, closes, and puts off for ever nothing that is fair."""
    promise, system = whole.promises[name], whole.model.system
    lasso = promise.lasso
    assert lasso is not None
    engine = replayed(whole, lasso.trace.steps)
    assert replayed(whole, lasso.cycle, engine.snapshot()).snapshot() == engine.snapshot()
    row = next(row for row in system.eventually if row.name == name)
    states = [lasso.trace.start, *(after for _, after in (*lasso.trace.steps, *lasso.cycle))]
    begins, ends = (engine.function(tuple(promise.picks), term.term) for term in (row.source, row.target))
    values = tuple(promise.picks.values())
    engine.restore(states[lasso.since])
    assert begins(*values)
    for state in states[lasso.since :]:
        engine.restore(state)
        assert not ends(*values)
    turn = states[len(lasso.trace.steps) :]
    taken = {call for call, _ in lasso.cycle}
    possible = [set(whole.model.actions(state)) for state in turn]
    always, somewhere = set.intersection(*possible), set.union(*possible)
    who = {call: {system.actions[call[0]].by, system.actions[call[0]].name} for call in somewhere}
    assert not {call for call in always - taken if who[call] & set(system.fair)}
    assert not {call for call in somewhere - taken if who[call] & set(system.strongly_fair)}


def set_up(folder: Path, *edits: tuple[str, str]) -> None:
    """The kiosk as a project's specs in a folder, with edits made to its texts."""
    for name, text in texts(*edits).items():
        place = folder / "specs" / ("systems" if name == "kiosk.yaml" else "machines")
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, "utf-8")
