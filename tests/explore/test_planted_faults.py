"""Protocol faults, planted one at a time in the real specs: each is found, by its property, with a shortest trace."""

from __future__ import annotations

import pytest
from planting import planted

from calfsm.explore.search import Verdict
from calfsm.explore.systems import explore, story

SCOPE = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}

TIMEOUT = "j: wait_timeout, j.buffer: wait_timeout, requests where job == j: fail, kvs where job == j: suspect"
SUBMITTED = (
    "    done:           completing\n"
    "    ccu_exception:  {to: completing, set: {tainted: true}}\n"
    "    wait_timeout:   quarantined\n"
)
RUNNING = "    reset:          quarantined\n  running:"

FAULTS = {
    "a timeout that does not fault the device": (
        "executor.yaml",
        f"fire: {{{TIMEOUT}, device: fault}}",
        f"fire: {{{TIMEOUT}}}",
        "a_faulty_device_rests",
        ["submit_ok(j=0)", "wait_timeout(j=0)"],
        9,
    ),
    "a buffer freed while its job is abandoned": (
        "buffer.yaml",
        f"{SUBMITTED}    cancel:         {{stay: The DMA is still out. Only delivery is dropped.}}\n{RUNNING}",
        f"{SUBMITTED}    cancel:         free\n{RUNNING}",
        "no_use_after_reuse",
        ["submit_ok(j=0)", "cancel_in_flight(r=0)"],
        9,
    ),
    "a commit before acceptance": (
        "executor.yaml",
        "fire: {j: done, j.buffer: done, j.buffer.dma: finish}",
        "fire: {j: done, j.buffer: done, j.buffer.dma: finish, kvs where job == j: commit}",
        "commits_come_last",
        ["submit_ok(j=0)", "done(j=0)"],
        9,
    ),
    "a reset that leaves KV held": (
        "executor.yaml",
        "all buffers: reset, all kvs: reset, all dma: kill}",
        "all buffers: reset, all dma: kill}",
        "a_lane_has_one_owner",
        ["start_reset()", "reset_done()"],
        10,
    ),
    "an unload with work in flight": (
        "executor.yaml",
        "model_drained:     {by: engine,  when: device is ready and busy == 0 and lanes_out == 0 and pool_back,",
        "model_drained:     {by: engine,  when: device is ready,",
        "a_leaving_model_idles",
        ["unload()", "model_drained()"],
        8,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_by_a_shortest_trace(fault: str) -> None:
    file, old, new, property_, ending, length = FAULTS[fault]
    model, result = explore(planted(file, old, new), SCOPE, first_only=True)
    assert result.verdicts[property_] is Verdict.BROKEN
    trace = result.counterexamples[property_]
    assert [line.call for line in story(model, trace)][-2:] == ending
    assert len(trace.steps) == length
