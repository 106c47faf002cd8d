"""What the words of a system mean to the engine, one at a time, on systems of a few lines."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from naive_system import compiled

from calfsm.engine.engine import ActionRefused, Engine, Step
from calfsm.engine.system import ActionRow, Fired, System

BOX = """
machine: box
params: {most: {serves: 3, explores: 2}}
vars:
  full: {bool: false}
  load: {int: [0, most]}
  kind: {enum: [wood, tin]}
  turn: {cycle: 3}
  next: {ref: boxes}
states: {shut: {initial: true}, open: {}, gone: {outcome: true}}
events: {lift: {by: engine}, drop: {by: engine}, fill: {by: engine}, knock: {by: client}, burn: {by: engine}}
transitions:
  shut: {lift: open, burn: gone}
  open: {drop: shut, fill: {when: load < most, to: open, set: {load: load + 1, full: load + 1 == most}}}
  gone: {}
anywhere:
  knock: {stay: Nobody is in.}
"""

LID = """
machine: lid
states: {off: {initial: true}, on: {}}
events: {put: {by: engine}, take: {by: engine}}
transitions: {off: {put: on}, on: {take: off}}
"""


def engine(actions: str, define: str = "", **params: int) -> Engine:
    """Three boxes, a lid for each, and one spare box."""
    text = "system: shelf\nparams: {boxes_wanted: {serves: 3, explores: 2}}\nparts:\n"
    text += "  spare: {machine: box}\n  boxes: {machine: box, count: boxes_wanted}\n"
    text += "  lids:  {machine: lid, per: boxes}\n"
    text += f"define:\n{define}\n" if define else ""
    return Engine(system(text + f"actions:\n{actions}"), **params)


def system(text: str) -> System:
    return compiled(BOX, LID, text)


def states(it: Engine, part: str = "boxes") -> list[str]:
    return [instance["state"] for instance in it.described()[part]]


def refusal(do: Callable[..., Any]) -> ActionRefused:
    with pytest.raises(ActionRefused) as caught:
        do()
    return caught.value


LIFT = "  lift: {by: engine, pick: {b: boxes}, fire: {b: lift}}"


def test_a_refusal_names_the_participant_its_state_and_what_it_takes() -> None:
    it = engine("  both: {by: engine, pick: {b: boxes, c: boxes}, fire: {b: lift, c: [drop, fill]}}")
    caught = refusal(lambda: it.apply("both", b=0, c=1))
    assert (caught.subject, caught.state, caught.event, caught.takes) == ("boxes[1]", "shut", "drop", ("lift", "burn"))
    assert str(caught) == "both(b=0, c=1) refused: boxes[1] in shut refuses drop; it takes lift or burn"
    assert states(it) == ["shut", "shut", "shut"]


def test_a_refusal_by_a_guard_of_a_cell_shows_the_values_it_saw() -> None:
    it = engine("  fill: {by: engine, fire: {spare: [lift, fill, fill, fill, fill]}}")
    assert str(refusal(lambda: it.apply("fill"))) == (
        "fill() refused: spare in open refuses fill (its guard does not hold with full = true, load = 3, kind = wood, "
        "turn = 0, next = none); it takes drop"
    )
    assert it.described()["spare"][0]["load"] == "0"


def test_a_refusal_by_a_guard_says_which_of_its_conditions_does_not_hold() -> None:
    it = engine("  burn: {by: engine, pick: {b: boxes}, when: b is shut and spare is open, fire: {b: burn}}")
    caught = refusal(lambda: it.apply("burn", b=2))
    assert str(caught) == "burn(b=2) refused: `spare is open` does not hold"
    assert (caught.subject, caught.state, caught.event, caught.takes) == ("", "", "", ())


def test_a_refusal_can_be_pickled() -> None:
    caught = refusal(lambda: engine(LIFT.replace("lift}}", "drop}}")).apply("lift", b=0))
    copy = pickle.loads(pickle.dumps(caught))
    assert (str(copy), copy.takes, copy.action) == (str(caught), caught.takes, caught.action)


def test_an_empty_reference_makes_an_action_impossible() -> None:
    it = engine("  follow: {by: engine, pick: {b: boxes}, fire: {b: lift, b.next: lift}}")
    assert str(refusal(lambda: it.apply("follow", b=0))) == (
        "follow(b=0) refused: `b.next` leads nowhere: the reference is empty"
    )
    assert states(it) == ["shut", "shut", "shut"]


def test_an_empty_where_does_not_make_an_action_impossible() -> None:
    it = engine(
        "  point: {by: engine, pick: {b: boxes, c: boxes}, fire: {b: lift}, set: {b.next: c}}\n"
        "  shut:  {by: engine, pick: {c: boxes}, fire: {boxes where next == c: drop}}\n"
        "  those: {by: engine, pick: {c: boxes}, fire: {boxes where next == c.next: drop}}"
    )
    assert it.apply("shut", c=2).moves == ()
    it.apply("point", b=0, c=2)
    it.apply("point", b=1, c=2)
    assert it.apply("those", c=2).moves == ()  # nobody refers to what an empty reference leads to
    assert [str(move) for move in it.apply("shut", c=2).moves] == ["boxes[0] open -> shut", "boxes[1] open -> shut"]
    assert states(it) == ["shut", "shut", "shut"]


def test_all_means_every_instance_or_none() -> None:
    it = engine(LIFT + "\n  open_all: {by: engine, fire: {all boxes: lift, all lids: put}}")
    it.apply("lift", b=1)
    assert str(refusal(lambda: it.apply("open_all"))).startswith("open_all() refused: boxes[1] in open refuses lift")
    assert (states(it), states(it, "lids")) == (["shut", "open", "shut"], ["off", "off", "off"])


def test_a_part_that_there_is_one_of_per_instance_is_reached_through_it() -> None:
    it = engine("  cover: {by: engine, pick: {b: boxes}, when: b.lids is off, fire: {b: lift, b.lids: put}}")
    it.apply("cover", b=2)
    assert (states(it), states(it, "lids")) == (["shut", "shut", "open"], ["off", "off", "on"])
    assert str(refusal(lambda: it.apply("cover", b=2))) == "cover(b=2) refused: `b.lids is off` does not hold"


def test_events_of_a_list_are_taken_one_after_the_other() -> None:
    it = engine("  shake: {by: engine, fire: {spare: [lift, fill, fill, drop]}}")
    step = it.apply("shake")
    assert it.described()["spare"][0] == {
        "state": "shut",
        "full": "false",
        "load": "2",
        "kind": "wood",
        "turn": "0",
        "next": "none",
    }
    assert [str(move.move.event) for move in step.moves] == ["lift", "fill", "fill", "drop"]
    assert len(step.changes) == 1


def test_a_participant_reached_twice_takes_its_events_in_the_order_written() -> None:
    it = engine("  two: {by: engine, pick: {b: boxes, c: boxes}, fire: {b: lift, c: burn, all boxes: knock}}")
    assert str(refusal(lambda: it.apply("two", b=1, c=1))) == (
        "two(b=1, c=1) refused: boxes[1] in open refuses burn; it takes drop or fill"
    )
    step = it.apply("two", b=1, c=0)
    assert states(it) == ["gone", "open", "shut"]
    assert [change.index for change in step.changes] == [1, 0, 2]
    assert [(move.index, str(move.move.event)) for move in step.moves] == [
        (1, "lift"),
        (1, "knock"),
        (0, "burn"),
        (0, "knock"),
        (2, "knock"),
    ]
    assert it.stays == {("boxes", "open", "knock"): 1, ("boxes", "gone", "knock"): 1, ("boxes", "shut", "knock"): 1}


def test_set_reads_the_state_before_the_action_and_comes_after_the_events() -> None:
    it = engine(
        "  fill: {by: engine, fire: {spare: lift}, set: {spare.load: 2}}\n"
        "  copy: {by: engine, pick: {b: boxes, c: boxes}, fire: {spare: [fill]}, "
        "set: {b.load: spare.load, c.load: b.load, b.kind: tin, spare.turn: spare.turn - 1, b.next: c}}"
    )
    it.apply("fill")
    it.apply("copy", b=0, c=1)
    described = it.described()
    assert described["spare"][0] == {
        "state": "open",
        "full": "true",
        "load": "3",
        "kind": "wood",
        "turn": "2",
        "next": "none",
    }
    assert [(box["load"], box["kind"], box["next"]) for box in described["boxes"]] == [
        ("2", "tin", "boxes[1]"),
        ("0", "wood", "none"),
        ("0", "wood", "none"),
    ]


def test_a_value_outside_its_domain_makes_the_action_impossible() -> None:
    it = engine(
        "  put: {by: engine, pick: {b: boxes}, choose: {n: [0, 9]}, fire: {b: lift}, set: {b.load: n - 1}}",
        most=3,
    )
    for n in (0, 5):
        why = f"put(b=0, n={n}) refused: `b.load` would be {n - 1}; load is 0 to 3"
        assert str(refusal(lambda n=n: it.apply("put", b=0, n=n))) == why
    assert states(it) == ["shut", "shut", "shut"]
    it.apply("put", b=0, n=4)
    assert it.value("boxes", 0, "load") == 3


def test_a_cycle_wraps_whoever_sets_it() -> None:
    it = engine("  turn: {by: engine, fire: {spare: knock}, set: {spare.turn: spare.turn + 4}}")
    turns = []
    for _ in range(4):
        it.apply("turn")
        turns.append(it.value("spare", 0, "turn"))
    assert turns == [1, 2, 0, 1]


def test_setting_through_an_empty_reference_makes_the_action_impossible() -> None:
    it = engine(
        "  to:   {by: engine, pick: {b: boxes}, fire: {b: lift}, set: {b.next.load: 1}}\n"
        "  from: {by: engine, pick: {b: boxes}, fire: {b: lift}, set: {b.load: b.next.load}}\n"
        "  also: {by: engine, pick: {b: boxes}, fire: {b: lift}, set: {b.next: b.next.next}}\n"
        "  test: {by: engine, pick: {b: boxes}, fire: {b: lift}, set: {b.full: b.next is shut}}"
    )
    for action, what in (("to", "b.next.load"), ("from", "b.load"), ("also", "b.next")):
        why = f"{action}(b=0) refused: `{what}` cannot be set: a reference is empty"
        assert str(refusal(lambda action=action: it.apply(action, b=0))) == why
    it.apply("test", b=0)
    assert it.described()["boxes"][0]["full"] == "false"


@pytest.mark.parametrize(
    "test",
    [
        "b.next is shut",
        "b.next is not shut",
        "b.next in {shut, open}",
        "b.next not in {shut, open}",
        "b.next.full",
        "b.next.full == true",
        "b.next.full != true",
        "b.next.load < 9",
        "b.next.kind is tin",
        "b.next.kind not in {tin}",
        "b.next.next == none",
        "b.next.next != none",
        "b.next.lids is off",
        "b.next.lids == b.lids",
        "b.next.lids != b.lids",
        "b.lids != b.next.lids",
        "0 <= b.next.load",
        "1 == b.next.load + 1",
        "count(x for x in boxes if x == b.next.next) == 0 and b.next.load == 0",
    ],
)
def test_every_test_that_looks_through_an_empty_reference_is_false(test: str) -> None:
    actions = f'  yes: {{by: engine, pick: {{b: boxes}}, when: "{test}", fire: {{b: lift}}}}\n'
    actions += f'  no:  {{by: engine, pick: {{b: boxes}}, when: "not ({test})", fire: {{b: lift}}}}'
    it = engine(actions)
    assert not it.would("yes", b=0)
    assert it.would("no", b=0)


@pytest.mark.parametrize(
    ("test", "holds"),
    [
        ("b.next is open", True),
        ("b.next is not open", False),
        ("b.next is not shut", True),
        ("b.next not in {shut, open}", False),
        ("b.next not in {shut, gone}", True),
        ("b.next.kind is wood", True),
        ("b.next.kind is not wood", False),
        ("b.next.kind not in {tin}", True),
        ("b.next.next == none", True),
        ("b.next.lids != b.lids", True),
        ("b.next.lids == b.next.lids", True),
        ("b.next.lids is off and b.next != b", True),
    ],
)
def test_a_test_that_looks_through_a_reference_asks_who_is_there(test: str, holds: bool) -> None:
    actions = "  point: {by: engine, pick: {b: boxes, c: boxes}, fire: {c: lift}, set: {b.next: c}}\n"
    actions += f'  yes: {{by: engine, pick: {{b: boxes}}, when: "{test}", fire: {{b: lift}}}}'
    it = engine(actions)
    it.apply("point", b=0, c=1)
    assert it.would("yes", b=0) is holds


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("0 <= spare.load < 1 <= most", True),
        ("0 < spare.load < 2", False),
        ("-7 // 2 == -4", True),
        ("-7 % 3 == 2", True),
        ("7 // -2 == -4 and 7 % -3 == -2", True),
        ("2 - 3 - 4 == -5 and 2 - (3 - 4) == 3", True),
        ("not spare.load == 1", True),
        ("(spare.load == 0) == true", True),
        ("(spare.load == 0) == (spare is open)", False),
        ("all(x is shut for x in boxes)", True),
        ("all(x is open for x in boxes if x.load > 0)", True),
        ("any(x is open for x in boxes)", False),
        ("count(x for x in boxes) == boxes_wanted", True),
        ("count(x for x in boxes if x is shut and x is open) == 0", True),
        ("all(all(x == y for y in boxes if x == y) for x in boxes)", True),
        ("all(count(y for y in boxes if count(x for x in boxes if x == y) == 1) == 3 for x in boxes)", True),
        ("any(x.lids is off for x in boxes) and shut_lids == 0", True),
        ("spare.next == none and boxes_wanted != 4", True),
        ("spare != none", True),
        ("not any(spare.next == x for x in boxes)", True),
    ],
)
def test_a_condition_means_what_it_says(condition: str, holds: bool) -> None:
    define = "  shut_lids: count(x for x in boxes if x.lids is on)"
    it = engine(f'  lift: {{by: engine, when: "{condition}", fire: {{spare: lift}}}}', define)
    assert it.would("lift") is holds


def test_a_count_of_what_hangs_on_instances_follows_what_hangs_on_them() -> None:
    it = engine(
        "  cover: {by: engine, pick: {b: boxes}, fire: {b.lids: put}}\n"
        "  lift:  {by: engine, when: count(b for b in boxes if b.lids is on) == 2, fire: {spare: lift}}"
    )
    answers = [it.would("lift")]
    for index in range(3):
        it.apply("cover", b=index)
        answers.append(it.would("lift"))
    assert answers == [False, False, True, False]


def test_a_guard_that_divides_by_zero_refuses() -> None:
    it = engine(
        "  share: {by: engine, pick: {b: boxes}, when: 6 // b.load == 3, fire: {b: lift}}\n"
        "  set:   {by: engine, pick: {b: boxes}, fire: {b: knock}, set: {b.load: 6 % b.load}}\n"
        "  fill:  {by: engine, pick: {b: boxes}, fire: {b: knock}, set: {b.load: 2}}\n"
        "  any:   {by: engine, when: any(6 // b.load == 3 for b in boxes if b is open), fire: {spare: lift}}\n" + LIFT
    )
    assert not it.would("share", b=0)
    assert str(refusal(lambda: it.apply("share", b=0))) == "share(b=0) refused: `(6 // b.load) == 3` divides by zero"
    assert str(refusal(lambda: it.apply("set", b=0))) == "set(b=0) refused: what is set divides by zero"
    it.apply("fill", b=0)
    it.apply("share", b=0)
    assert it.would("any")
    it.apply("lift", b=1)  # a count that could divide by zero is not kept, so that this goes well
    assert not it.would("any")
    assert states(it) == ["open", "open", "shut"]


def test_an_event_whose_guard_divides_by_zero_refuses_the_action() -> None:
    machine = """
machine: share
vars: {parts: {int: [0, 3]}}
states: {whole: {initial: true}, cut: {}}
events: {cut: {by: engine}, mend: {by: engine}}
transitions: {whole: {cut: {when: 6 // parts == 2, to: cut}}, cut: {mend: whole}}
"""
    text = "system: cake\nparts: {it: {machine: share}}\nactions: {cut: {by: engine, fire: {it: cut}}}"
    it = Engine(compiled(machine, text))
    assert not it.would("cut")
    assert str(refusal(lambda: it.apply("cut"))) == "cut() refused: it divides by zero on cut"


@pytest.mark.parametrize(
    ("value", "why"),
    [(3, "b is 3; it may be 0 to 2"), (-1, "b is -1; it may be 0 to 2"), (10**30, f"b is {10**30}; it may be 0 to 2")],
)
def test_a_pick_out_of_range_is_refused_and_counted(value: int, why: str) -> None:
    it = engine(LIFT)
    assert not it.would("lift", b=value)
    assert str(refusal(lambda: it.apply("lift", b=value))) == f"lift(b={value}) refused: {why}"
    assert (it.refusals, states(it)) == ({"lift": 1}, ["shut", "shut", "shut"])


@pytest.mark.parametrize("value", [None, True, False, "0", 0.0, 1.5, [0], np.float64(1), np.bool_(True), 1j])
def test_an_argument_that_is_no_integer_is_a_type_error(value: Any) -> None:
    it = engine(LIFT)
    for do in (it.apply, it.would):
        with pytest.raises(TypeError, match=r"b of lift is .*; give an integer"):
            do("lift", b=value)
    assert (it.refusals, states(it)) == ({}, ["shut", "shut", "shut"])


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64])
def test_numpys_integers_are_integers(kind: type[Any]) -> None:
    it = engine("  put: {by: engine, pick: {b: boxes}, choose: {n: [0, 9]}, fire: {b: lift}, set: {b.load: n}}")
    step = it.apply("put", b=kind(1), n=kind(2))
    assert step.arguments == {"b": 1, "n": 2}
    assert [type(value) for value in step.arguments.values()] == [int, int]
    assert type(it.value("boxes", 1, "load")) is int


def test_a_choice_has_its_range() -> None:
    it = engine("  put: {by: engine, choose: {n: [1, most]}, fire: {spare: lift}, set: {spare.load: n}}", most=2)
    assert [it.would("put", n=n) for n in range(4)] == [False, True, True, False]
    assert str(refusal(lambda: it.apply("put", n=3))) == "put(n=3) refused: n is 3; it may be 1 to 2"


@pytest.mark.parametrize(
    ("action", "arguments", "why"),
    [
        ("lft", {"b": 0}, "shelf has no action 'lft'; did you mean 'lift'?"),
        ("lift", {}, "lift needs b; 'b' is missing"),
        ("lift", {"b": 0, "c": 1}, "lift takes b, not 'c'"),
    ],
)
def test_a_call_that_makes_no_sense_is_a_type_error(action: str, arguments: dict[str, int], why: str) -> None:
    it = engine(LIFT)
    for do in (it.apply, it.would):
        with pytest.raises(TypeError) as caught:
            do(action, **arguments)
        assert str(caught.value) == why
    assert it.refusals == {}


@pytest.mark.parametrize(
    ("look", "error", "why"),
    [
        (lambda it: it.state("boxs", 0), KeyError, "shelf has no part 'boxs'; did you mean 'boxes'?"),
        (lambda it: it.count("jobs"), KeyError, "shelf has no part 'jobs'; it has "),
        (lambda it: it.among("boxes", "fre"), KeyError, "box has no state 'fre'; "),
        (lambda it: it.first("boxes", "fre"), KeyError, "box has no state 'fre'; "),
        (lambda it: it.value("boxes", 0, "lod"), KeyError, "box has no variable 'lod'; did you mean 'load'?"),
        (lambda it: it.state("boxes", 9), IndexError, "boxes[9] is not there: it has "),
        (lambda it: it.state("boxes", -1), IndexError, "boxes[-1] is not there: it has "),
        (lambda it: it.value("boxes", 9, "load"), IndexError, "boxes[9] is not there: it has "),
    ],
)
def test_looking_for_what_there_is_not_says_what_there_is(
    look: Callable[[Engine], object], error: type[Exception], why: str
) -> None:
    with pytest.raises(error) as caught:
        look(engine(LIFT))
    assert caught.value.args[0].startswith(why)


@pytest.mark.parametrize("value", [True, 2.0, "2", None])
def test_a_parameter_that_is_no_integer_is_a_type_error(value: Any) -> None:
    for name in ("boxes_wanted", "most"):
        with pytest.raises(TypeError, match=f"parameter {name} of shelf is .*; give an integer"):
            engine(LIFT, **{name: value})


def test_an_unknown_parameter_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="shelf has no parameter 'lids'; it has most, boxes_wanted"):
        engine(LIFT, lids=3)


@pytest.mark.parametrize("count", [0, -1])
def test_a_part_without_instances_is_a_value_error(count: int) -> None:
    with pytest.raises(ValueError, match=f"part boxes of shelf would have {count} instances; it needs one at least"):
        engine(LIFT, boxes_wanted=count)


def test_a_parameter_may_have_any_name() -> None:
    text = "system: odd\nparams: {system: {serves: 1, explores: 1}, self: {serves: 2, explores: 2}}\n"
    text += "parts: {boxes: {machine: box, count: self}}\nactions: {lift: {by: engine, fire: {all boxes: lift}}}"
    assert Engine(system(text), **{"system": 3, "self": 4}).count("boxes") == 4


def test_effects_are_values_with_the_arguments_of_the_action() -> None:
    it = engine("  lift: {by: engine, pick: {b: boxes}, fire: {b: lift}, effect: [creak, fall]}")
    assert [(effect.name, dict(effect.arguments)) for effect in it.apply("lift", b=1).effects] == [
        ("creak", {"b": 1}),
        ("fall", {"b": 1}),
    ]
    assert engine(LIFT).apply("lift", b=1).effects == ()


def test_looking_finds_instances_by_state_longest_there_first() -> None:
    it = engine(LIFT + "\n  drop: {by: engine, pick: {b: boxes}, fire: {b: drop}}")
    assert it.first("boxes", "open") is None
    for index in (2, 0, 1):
        it.apply("lift", b=index)
    it.apply("drop", b=0)
    it.apply("lift", b=0)
    assert it.among("boxes", "shut", "open") == [2, 1, 0]
    assert it.first("boxes", "open") == 2
    assert (str(it.state("boxes", 1)), str(it.state("spare")), it.count("lids")) == ("open", "shut", 3)


def test_an_answer_that_stays_is_counted_by_part_state_and_event() -> None:
    it = engine("  knock: {by: client, pick: {b: boxes}, fire: {b: knock, spare: knock}}")
    it.apply("knock", b=0)
    it.apply("knock", b=1)
    assert it.stays == {("boxes", "shut", "knock"): 2, ("spare", "shut", "knock"): 2}


def test_a_participant_of_an_unknown_kind_is_a_type_error() -> None:
    whole = system("system: s\nparts: {boxes: {machine: box}}\nactions: {lift: {by: engine, fire: {boxes: lift}}}")
    fired = Fired("boxes", 0, ("some",), (0,))
    whole.actions = (ActionRow("lift", "engine", (), (), (), (fired,), (), ()),)
    with pytest.raises(TypeError, match="is not a participant"):
        Engine(whole)


# ---- observers


def test_observers_are_told_of_a_step_after_it_is_done_and_not_of_refusals() -> None:
    it = engine(LIFT)
    told: list[tuple[str, str]] = []
    it.observe(lambda step: told.append((step.action, states(it)[0])))
    it.apply("lift", b=0)
    refusal(lambda: it.apply("lift", b=0))
    it.would("lift", b=1)
    assert told == [("lift", "open")]


def test_when_observers_raise_all_are_told_and_the_step_stands() -> None:
    it = engine(LIFT)
    told: list[Step] = []

    def broken(step: Step) -> None:
        raise ValueError(step.action)

    it.observe(broken)
    it.observe(told.append)
    it.observe(broken)
    with pytest.raises(ExceptionGroup, match=r"lift\(b=0\) is done; observers raised") as caught:
        it.apply("lift", b=0)
    assert [str(error) for error in caught.value.exceptions] == ["lift", "lift"]
    assert (len(told), states(it)[0], it.refusals) == (1, "open", {})


def test_an_observer_that_is_stopped_is_told_no_more_and_its_twin_is() -> None:
    it = engine(LIFT)
    told: list[Step] = []
    tell = told.append
    stop = it.observe(tell)
    it.observe(tell)
    it.apply("lift", b=0)
    stop()
    stop()
    it.apply("lift", b=1)
    assert len(told) == 3


def test_an_observer_may_apply_an_action_of_its_own() -> None:
    it = engine(LIFT + "\n  follow: {by: engine, pick: {b: boxes}, fire: {b: drop}}")

    def answer(step: Step) -> None:
        if step.action == "lift":
            it.apply("follow", **step.arguments)

    it.observe(answer)
    it.apply("lift", b=1)
    assert states(it) == ["shut", "shut", "shut"]
