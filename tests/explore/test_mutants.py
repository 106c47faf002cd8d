"""Single edits of the real specs: each is found as the list in `mutants` says, or means the same."""

from __future__ import annotations

from collections import Counter

import pytest
from kiosk import look_at_lasso
from mutants import HOLES, MUTANTS, ONE_OF_EACH, UNNOTICED, Broken, Missed, Mutant, Remarked, Said, Same, Unkept
from mutation import compiled, news, same, without_one_event
from planting import Specs, edited, original

from calfsm.explore.judging import Whole, explore_whole
from calfsm.explore.search import Verdict, search
from calfsm.explore.systems import SystemModel, explore


@pytest.mark.parametrize("mutant", [*MUTANTS, *HOLES], ids=lambda mutant: mutant.name)
def test_a_mutant_is_judged_as_the_list_says(mutant: Mutant) -> None:
    specs, scope = edited(*mutant.edit), mutant.explored_at
    match mutant.verdict:
        case Said(code):
            assert code in {finding.code for finding in specs.findings()}
        case Broken(name, steps, call):
            assert_broken(SystemModel(specs.compiled(), **scope), name, steps, call)
        case Unkept(name, steps, cycle):
            assert_unkept(explore_whole(compiled(specs), scope), name, steps, cycle)
        case Remarked(text):
            whole = explore_whole(compiled(specs), scope)
            assert whole.holds
            assert text in news(whole, scope)
        case Same():
            whole = explore_whole(compiled(specs), scope)
            assert whole.holds
            assert same(whole, scope)
        case Missed():
            whole = explore_whole(compiled(specs), scope)
            told = {*whole.broken, *news(whole, scope), *(finding.code for finding in specs.findings())}
            assert whole.holds and not told, f"now it is found, by {told}: move it to MUTANTS"


def assert_broken(model: SystemModel, name: str, steps: int, call: str) -> None:
    """A shortest trace that breaks a property is so long, and ends with this call."""
    result = search(model, {name: model.properties()[name]}, first_only=True)
    assert result.verdicts[name] is Verdict.BROKEN
    trace = result.counterexamples[name]
    assert (len(trace.steps), model.text(trace.steps[-1][0])) == (steps, call)


def assert_unkept(whole: Whole, name: str, steps: int, cycle: int) -> None:
    """A promise is broken by a lasso so long, which the engine takes; or a way back by a trace so long."""
    promise = whole.promises[name]
    assert promise.verdict is Verdict.BROKEN
    if promise.lasso is not None:
        look_at_lasso(whole, name)
        assert (len(promise.lasso.trace.steps), len(promise.lasso.cycle)) == (steps, cycle)
    else:
        assert promise.trace is not None
        assert (len(promise.trace.steps), 0) == (steps, cycle)


def test_at_least_thirty_are_found_and_few_mean_the_same() -> None:
    verdicts = Counter(type(mutant.verdict) for mutant in MUTANTS)
    assert len(MUTANTS) - verdicts[Same] >= 30
    assert verdicts[Same] <= len(MUTANTS) / 5
    assert Missed not in verdicts
    assert {type(mutant.verdict) for mutant in HOLES} <= {Missed}


def test_every_mutant_has_a_name_and_an_edit_of_its_own() -> None:
    everyone = [*MUTANTS, *HOLES]
    assert len({mutant.name for mutant in everyone}) == len(everyone)
    assert len({mutant.edit for mutant in everyone}) == len(everyone)


def test_every_machine_of_the_executor_is_mutated() -> None:
    files = {mutant.where.partition("/")[0] for mutant in MUTANTS}
    assert files >= {"executor.yaml", *(f"{name}.yaml" for name in original().machines)}


# ---- every event of every action


def test_what_tells_that_an_event_of_the_executor_was_left_out() -> None:
    told = {name: what_tells(specs) for name, specs in without_one_event() if name not in UNNOTICED}
    assert [name for name, what in told.items() if what == "nothing"] == []
    assert Counter(told.values()) == {"a check": 79, "an invariant": 36}


def test_the_events_that_are_left_out_unnoticed_are_events_of_the_executor() -> None:
    assert set(UNNOTICED) <= {name for name, _ in without_one_event()}


def what_tells(specs: Specs) -> str:
    """Whether a check finds something, or an `always` property is broken."""
    if specs.findings():
        return "a check"
    return "an invariant" if explore(compiled(specs), ONE_OF_EACH, first_only=True)[1].counterexamples else "nothing"
