"""What becomes of the events that no check and no invariant misses: as listed, judged on all states and runs."""

from __future__ import annotations

from explore.mutants import ONE_OF_EACH, UNNOTICED
from explore.mutation import compiled, news, same, without_one_event

from calfsm.explore.judging import explore_whole


def test_the_events_that_nobody_misses_at_once_are_judged_as_listed() -> None:
    judged = {}
    for name, specs in without_one_event():
        if name not in UNNOTICED:
            continue
        assert not specs.findings()
        whole = explore_whole(compiled(specs), ONE_OF_EACH)
        if not whole.holds:
            judged[name] = "broken"
        elif same(whole, ONE_OF_EACH):
            judged[name] = "same"
        else:
            judged[name] = "remarked" if news(whole, ONE_OF_EACH) else "missed"
    assert judged == UNNOTICED
