"""What a name means in a system's expressions."""

from __future__ import annotations

from calfsm.compile.load import compile_specs
from calfsm.engine.engine import ActionRefused, Engine
from calfsm.spec.model import MachineSpec, SystemSpec
from calfsm.spec.read import read_spec_text

TAP = """
machine: tap
states: {closed: {initial: true}, open: {}}
events: {turn: {by: engine}}
transitions: {closed: {turn: open}, open: {turn: closed}}
"""
ROOM = """
system: room
params: {taps: {serves: 2, explores: 2}}
parts: {taps: {machine: tap, count: taps}}
define: {running: count(t for t in taps if t is open)}
actions:
  turn: {by: engine, pick: {t: taps}, when: running < taps, fire: {t: turn}}
"""


def test_a_name_that_a_parameter_and_a_part_of_many_share_is_the_parameter_in_an_expression() -> None:
    tap, room = read_spec_text(TAP).spec, read_spec_text(ROOM).spec
    assert isinstance(tap, MachineSpec) and isinstance(room, SystemSpec)
    engine = Engine(compile_specs({"tap": tap}, {"room": room}).systems["room"])
    engine.apply("turn", t=0)
    engine.apply("turn", t=1)
    try:
        engine.apply("turn", t=0)
    except ActionRefused as refused:
        assert refused.reason == "`running < taps` does not hold"
    else:
        raise AssertionError("two of two taps run, and one more was turned")
