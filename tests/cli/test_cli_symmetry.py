"""`calfsm explore --symmetry`: what the kept states stand for is said, and never taken for their number."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize("more", [(), ("--fast",)], ids=["plain", "fast"])
def test_both_counts_are_said_and_what_was_not_judged(calfsm, kiosk, more):
    if more:
        pytest.importorskip("numba")
    whole = json.loads(calfsm("explore", "kiosk", "--format", "json").out)
    outcome = calfsm("explore", "kiosk", "--symmetry", *more)
    assert (outcome.code, outcome.err) == (2, "")
    kept, stands_for = outcome.out.splitlines()[1:3]
    assert stands_for == (
        f"they stand for {whole['states']} states, {whole['transitions']} transitions (symmetry of customers)"
    )
    assert not kept.startswith(f"{whole['states']} states")
    assert "jams_are_counted    holds" in outcome.out
    assert "everyone_is_served  not judged: " in outcome.out
    assert "--liveness" not in outcome.out


def test_without_what_follows_one_instance_all_is_decided(calfsm, kiosk):
    outcome = calfsm("explore", "kiosk", "--symmetry", "--no-liveness", "--format", "json")
    report = json.loads(outcome.out)
    assert outcome.code == 0
    assert report["properties"] == {"jams_are_counted": "holds"}
    assert report["symmetry"]["of"] == ["customers"] and report["symmetry"]["not_of"] == {}
    assert report["symmetry"]["renamings"] == 2
    assert report["states"] < report["symmetry"]["states"]
    assert sum(report["symmetry"]["fired"].values()) == report["symmetry"]["transitions"]


def test_a_search_that_is_not_reduced_stands_for_itself(calfsm, kiosk):
    outcome = calfsm("explore", "kiosk")
    assert "stand for" not in outcome.out
    assert json.loads(calfsm("explore", "kiosk", "--format", "json").out)["symmetry"] is None


def test_where_nothing_is_interchangeable_it_says_so(calfsm, kiosk):
    outcome = calfsm("explore", "kiosk", "--symmetry", "--scope", "people=1")
    assert "transitions (no instances are interchangeable)" in outcome.out


def test_what_begins_elsewhere_cannot_be_reduced(calfsm, kiosk):
    outcome = calfsm("explore", "kiosk", "--symmetry", "--from", "case.jsonl")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "calfsm: what begins elsewhere cannot be reduced by symmetry\n  leave out --symmetry, or --from\n"
    )
