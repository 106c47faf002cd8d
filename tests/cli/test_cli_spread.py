"""`calfsm explore --on ray` and `--swarm`: what is told, and what does not go together."""

from __future__ import annotations

import json

import pytest


def test_a_swarm_never_says_that_something_holds(calfsm, kiosk):
    outcome = calfsm("explore", "kiosk", "--swarm", "3", "--max-states", "200")
    assert (outcome.code, outcome.err) == (2, "")
    assert "3 random walks, which may meet and prove nothing" in outcome.out
    assert "jams_are_counted    not broken so far" in outcome.out
    assert "everyone_is_served  not judged: only states are seen here" in outcome.out
    assert "holds" not in outcome.out
    assert "--liveness" not in outcome.out


def test_a_swarm_breaks_what_can_be_broken_and_writes_it_down(calfsm, kiosk):
    system = kiosk / "specs" / "systems" / "kiosk.yaml"
    more = "  nobody_waits: all(c is not waiting for c in customers)\neventually:"
    system.write_text(system.read_text("utf-8").replace("eventually:", more), "utf-8")
    outcome = calfsm("explore", "kiosk", "--swarm", "2", "--counterexamples", "found", "--format", "json")
    report = json.loads(outcome.out)
    assert outcome.code == 1
    assert report["properties"]["nobody_waits"] == "broken"
    (step,) = report["counterexamples"]["nobody_waits"]
    assert step["do"].startswith("order(")
    assert (kiosk / "found" / "nobody_waits.svg").exists()


def test_another_seed_is_another_swarm_and_the_same_one_the_same(calfsm, kiosk):
    def told(seed):
        report = json.loads(
            calfsm("explore", "kiosk", "--swarm", "1", "--seed", seed, "--max-states", "12", "--format", "json").out
        )
        return report["depth"], report["stopped"]

    assert told(1) == told(1)
    assert len({told(seed) for seed in range(8)}) > 1


def test_two_workers_of_ray_tell_what_each_of_them_did(calfsm, kiosk):
    pytest.importorskip("numba")
    pytest.importorskip("ray")
    whole = json.loads(calfsm("explore", "kiosk", "--format", "json").out)
    outcome = calfsm("explore", "kiosk", "--on", "ray", "--max-bytes", "50M")
    assert (outcome.code, outcome.err) == (2, "")
    assert outcome.out.splitlines()[1].startswith(f"{whole['states']} states, {whole['transitions']} transitions")
    assert "worker  states  transitions  sent to others  busy" in outcome.out
    assert "the fullest worker has " in outcome.out
    assert "everyone_is_served  not judged: only states are seen here" in outcome.out
    alone = json.loads(
        calfsm("explore", "kiosk", "--on", "ray", "--no-liveness", "--max-bytes", "50M", "--format", "json").out
    )
    assert sum(worker["states"] for worker in alone["workers"]) == whole["states"]
    assert whole["workers"] is None
    little = calfsm("explore", "kiosk", "--on", "ray", "--max-bytes", "100")
    assert (little.code, little.out) == (2, "")
    assert "--max-bytes is too little to begin with; give " in little.err and "or leave it out" in little.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--workers", "2"), "--workers is for what is spread"),
        (("--address", "auto"), "--address is for what is spread"),
        (("--seed", "2"), "--seed is for random walks"),
        (("--swarm", "2", "--fast"), "a swarm walks as it is"),
        (("--swarm", "2", "--symmetry"), "a swarm walks as it is"),
        (("--swarm", "2", "--liveness"), "nothing but `always` can be judged"),
        (("--on", "ray", "--liveness"), "nothing but `always` can be judged"),
        (("--on", "ray", "--threads", "2"), "each worker is one thread"),
        (("--swarm", "2", "--fix", "till is open"), "what is spread goes on from every state"),
        (("--on", "ray", "--from", "x.jsonl"), "what is spread goes on from every state"),
    ],
)
def test_what_does_not_go_together_is_said(calfsm, kiosk, words, said):
    outcome = calfsm("explore", "kiosk", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
