"""Exploring systems of a few lines, and the executor's at pinned sizes."""

from __future__ import annotations

import itertools
from importlib import import_module

import pytest

from calfsm.compile.load import compile_specs
from calfsm.engine.engine import Engine, Snapshot
from calfsm.engine.system import System
from calfsm.engine.table import Refused, Table
from calfsm.explore.machines import MachineModel
from calfsm.explore.search import Trace, Verdict, search
from calfsm.explore.systems import Call, SystemModel, explore, story
from calfsm.spec.model import MachineSpec, SystemSpec
from calfsm.spec.read import read_spec_text
from calfsm.tables.executor import SYSTEM

ONE_OF_EACH = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}

LAMP = """
machine: lamp
params: {most: {serves: 9, explores: 2}}
vars: {uses: {int: [0, most]}, other: {ref: lamps}}
states: {dark: {initial: true}, lit: {}}
events: {light: {by: engine}, dim: {by: engine}, rub: {by: engine}}
transitions:
  dark: {light: lit}
  lit:  {dim: dark, rub: {when: uses < most, to: lit, set: {uses: uses + 1}}}
"""


def lamps(rest: str) -> System:
    """Two lamps (three, where they serve), and some actions and properties."""
    text = "system: room\nparams: {lamps_wanted: {serves: 3, explores: 2}}\n"
    text += f"parts: {{lamps: {{machine: lamp, count: lamps_wanted}}}}\n{rest}"
    machine, system = read_spec_text(LAMP).spec, read_spec_text(text)
    assert isinstance(machine, MachineSpec)
    assert isinstance(system.spec, SystemSpec), system.findings
    return compile_specs({"lamp": machine}, {"room": system.spec}).systems["room"]


ON_AND_OFF = """
actions:
  light: {by: client, pick: {x: lamps}, fire: {x: light}}
  dim:   {by: client, pick: {x: lamps}, fire: {x: dim}}
"""


def by_brute_force(model: SystemModel, state: Snapshot) -> dict[Call, Snapshot]:
    """Every call there is, done for real and taken back."""
    engine = Engine(model.system, **model.engine.params)
    engine.restore(state)
    found = {}
    for index, bound in enumerate(engine.bound_actions()):
        for arguments in itertools.product(*bound.ranges):
            step = engine.attempt(bound, arguments)
            if step is not None:
                found[index, arguments] = engine.snapshot()
                engine.undo(step)
    return found


def states(model: SystemModel, snapshot: Snapshot) -> list[str]:
    return [lamp["state"] for lamp in model.engine.described(snapshot)["lamps"]]


@pytest.mark.parametrize(
    "rest",
    [
        ON_AND_OFF,
        "actions: {swap: {by: client, pick: {x: lamps, y: lamps}, fire: {x: light, y: dim}}}",
        "actions: {blink: {by: client, pick: {x: lamps}, fire: {all lamps: light, x: dim}}}",
        "actions: {chain: {by: client, pick: {x: lamps, y: lamps}, fire: {x: [light, rub], x.other: dim, y: dim}}}\n",
        "actions:\n"
        "  point: {by: client, pick: {x: lamps, y: lamps}, fire: {x: light}, set: {x.other: y}}\n"
        "  those: {by: client, pick: {x: lamps, y: lamps}, fire: {lamps where other == y: dim, x: [light, dim]}}\n",
        "actions: {rub: {by: client, pick: {x: lamps}, choose: {n: [0, 3]}, when: x is dark and n != 1, "
        "fire: {x: light}, set: {x.uses: n}}, dim: {by: client, pick: {x: lamps}, fire: {x: dim}}}",
    ],
)
def test_the_explorer_offers_exactly_the_calls_that_the_engine_takes(rest: str) -> None:
    model = SystemModel(lamps(rest))
    for state in search(model).parents:
        assert {call: model.next(state, call) for call in model.actions(state)} == by_brute_force(model, state)


def test_a_system_at_a_scope_is_explored_with_its_exploring_values_under_it() -> None:
    system = lamps(ON_AND_OFF)
    assert [explore(system, scope)[1].states for scope in (None, {"lamps_wanted": 3}, {"lamps_wanted": 1})] == [4, 8, 2]


def test_the_shortest_way_to_a_broken_property_is_told_as_a_story() -> None:
    system = lamps(ON_AND_OFF + "always: {one_is_dark: any(x is dark for x in lamps)}\n")
    model, result = explore(system)
    trace = result.counterexamples["one_is_dark"]
    assert [str(line) for line in story(model, trace)] == [
        "  1. light(x=0)  [client]\n       lamps[0]: dark -> lit",
        "  2. light(x=1)  [client]\n       lamps[1]: dark -> lit",
    ]
    assert states(model, trace.end) == ["lit", "lit"]
    assert result.verdicts == {"one_is_dark": Verdict.BROKEN}


def test_a_property_that_divides_by_zero_is_broken_there() -> None:
    rest = "actions: {light: {by: client, pick: {x: lamps}, fire: {x: light}, set: {x.uses: 1}}}\n"
    _, result = explore(lamps(rest + "always: {fair: 2 // count(x for x in lamps if x is lit) <= 2}\n"))
    assert result.counterexamples["fair"] == Trace(next(iter(result.parents)))
    _, result = explore(lamps(rest + "always: {fair: all(2 // x.uses == 2 for x in lamps if x is lit)}\n"))
    assert result.verdicts == {"fair": Verdict.HOLDS}


def test_where_nothing_can_be_done_the_search_is_stuck_and_says_how_it_came_there() -> None:
    rest = "actions: {light: {by: client, pick: {x: lamps}, fire: {x: light}}}"
    model, result = explore(lamps(rest))
    assert result.stuck is not None and len(result.stuck.steps) == 2
    assert [line.call for line in story(model, result.stuck)] == ["light(x=0)", "light(x=1)"]
    assert not result.holds


def test_the_executor_has_as_many_states_as_it_had_at_the_smallest_scope() -> None:
    _, result = explore(SYSTEM, ONE_OF_EACH)
    assert result.holds
    assert (result.states, result.transitions, result.depth) == (8_686, 45_767, 33)
    assert list(result.verdicts) == [row.name for row in SYSTEM.always]


def test_every_step_of_a_model_is_a_value_with_its_moves_and_effects() -> None:
    model = SystemModel(SYSTEM, **ONE_OF_EACH)
    (start,) = model.initial()
    call = (SYSTEM.action_index("load"), ())
    step = model.step(start, call)
    assert (model.text(call), str(step.moves[0])) == ("load()", "model[0] unloaded -> validating")
    assert model.engine.snapshot() == start
    assert next(iter(model.initial())) == start


# ---- machines


@pytest.mark.parametrize("name", ["buffer", "device", "dma", "job", "kv", "model", "request"])
def test_every_state_of_a_machine_alone_is_reached_and_none_is_stuck(name: str) -> None:
    table: Table = import_module(f"calfsm.tables.{name}").TABLE
    result = search(MachineModel(table))
    reached = {table.states[state].name for state, _ in result.parents}
    assert reached == {row.name for row in table.states}
    assert result.stuck is None


def test_a_machine_refuses_outside_its_actions_as_it_does_alone() -> None:
    table: Table = import_module("calfsm.tables.kv").TABLE
    model = MachineModel(table, max_length=1)
    (start,) = model.initial()
    assert [table.events[event].name for event in model.actions(start)] == ["open", "reset"]
    with pytest.raises(Refused, match="kv in vacant refuses reserve"):
        model.next(start, table.event_index("reserve"))
