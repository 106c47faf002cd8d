"""`calfsm explain`: what a code means, and what to do about it."""

from __future__ import annotations

import json

import pytest

from calfsm.check import codes, explain


def test_a_code_is_explained_with_a_bad_and_a_mended_example(calfsm):
    outcome = calfsm("explain", "undecided")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"undecided: {explain('undecided').title}\n\n")
    wrong, mended = outcome.out.split("\nwrong:\n")[1].split("\nmended:\n")
    assert "    machine: " in wrong
    assert "    machine: " in mended
    assert wrong.strip() != mended.strip()


def test_a_code_may_be_pasted_with_its_brackets(calfsm):
    assert calfsm("explain", "[undecided]") == calfsm("explain", "undecided")


@pytest.mark.parametrize("code", codes())
def test_every_explanation_can_be_read_in_a_terminal(calfsm, code):
    outcome = calfsm("explain", code)
    assert (outcome.code, outcome.err) == (0, "")
    assert "wrong:\n" in outcome.out
    assert "mended:\n" in outcome.out
    assert "```" not in outcome.out
    assert "##" not in outcome.out
    assert len(outcome.out) < 5_000


def test_without_a_code_all_are_listed_with_their_titles(calfsm):
    outcome = calfsm("explain")
    assert outcome.code == 0
    lines = outcome.out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == codes()
    assert all(explain(line.split()[0]).title in line for line in lines)


def test_an_unknown_code_brings_the_nearest(calfsm):
    outcome = calfsm("explain", "undecidde")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "calfsm: no finding has the code `undecidde`\n  did you mean `undecided`?\n"


@pytest.mark.parametrize("code", ["7", "../explain", "", "undecided\0", "un/decided"])
def test_a_code_that_cannot_be_one_is_refused(calfsm, code):
    outcome = calfsm("explain", code)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("calfsm: no finding has the code")


def test_explanations_can_be_read_by_programs(calfsm):
    one = json.loads(calfsm("explain", "undecided", "--format", "json").out)
    assert one["code"] == "undecided"
    assert one in json.loads(calfsm("explain", "--format", "json").out)
