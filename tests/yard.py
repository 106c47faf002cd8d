"""A yard: jobs that take items and give them back, items that break and are mended, and a reset of all of it."""

from __future__ import annotations

from calfsm.compile.load import compile_specs
from calfsm.engine.system import System
from calfsm.spec.model import MachineSpec, SystemSpec
from calfsm.spec.read import read_spec_text

JOB = """
machine: job
vars: {item: {ref: items}, spare: {ref: items}}
states: {idle: {initial: true}, working: {}}
events: {start: {by: client}, stop: {by: engine}, reset: {by: recovery}}
transitions:
  idle: {start: working}
  working:
    start: {stay: It works already.}
    stop:  {to: idle, set: {item: none}}
    reset: {to: idle, set: {item: none}}
anywhere:
  reset: {stay: It has nothing.}
"""

ITEM = """
machine: item
states: {free: {initial: true}, taken: {}, broken: {}}
events:
  acquire: {by: engine}
  release: {by: engine}
  spoil:   {by: runtime}
  mend:    {by: recovery}
  reset:   {by: recovery}
transitions:
  free:   {acquire: taken}
  taken:  {release: free, spoil: broken, reset: free}
  broken: {mend: free}
anywhere:
  spoil: {stay: Nobody uses it.}
  mend:  {stay: It is whole.}
  reset: {stay: Nobody has it.}
"""

YARD = """
system: yard
params: {people: {serves: 9, explores: 2}}
parts: {jobs: {machine: job, count: people}, items: {machine: item, count: 2}}
actions:
  start: {by: client,   pick: {j: jobs, i: items}, when: j is idle, fire: {j: start, i: acquire}, set: {j.item: i}}
  stop:  {by: engine,   pick: {j: jobs}, fire: {j: stop, j.item: release}}
  spoil: {by: runtime,  pick: {j: jobs}, fire: {j: stop, j.item: spoil}}
  mend:  {by: recovery, pick: {i: items}, when: i is broken, fire: {i: mend}}
  reset: {by: recovery, fire: {all jobs: reset, all items: reset}}
resources:
  tool: {part: items, free: free, aside: broken, held_by: {jobs: item}}
"""


def yard_specs(*edits: tuple[str, str]) -> tuple[SystemSpec, dict[str, MachineSpec]]:
    """The yard, with texts (each of which stands once in one of the specs) replaced by others."""
    specs = {"job": JOB, "item": ITEM, "yard": YARD}
    for old, new in edits:
        (where,) = [name for name, text in specs.items() if old in text]
        assert specs[where].count(old) == 1, f"{old!r} stands {specs[where].count(old)} times in {where}"
        specs[where] = specs[where].replace(old, new)
    machines: dict[str, MachineSpec] = {}
    for name, text in specs.items():
        reading = read_spec_text(text, f"{name}.yaml")
        assert not reading.findings, [str(finding) for finding in reading.findings]
        if isinstance(reading.spec, MachineSpec):
            machines[name] = reading.spec
    assert isinstance(reading.spec, SystemSpec)
    return reading.spec, machines


def yard(*edits: tuple[str, str]) -> System:
    """The yard compiled, whatever the checks would say of it."""
    system, machines = yard_specs(*edits)
    return compile_specs(machines, {"yard": system}).systems["yard"]
