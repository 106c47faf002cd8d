"""Faults planted in the specs of this repository, one edit each, and what becomes of each: the list, as data.

`MUTANTS` are found, or mean the same. `HOLES` are neither: what would find them is not said by the specs yet. A new
mutant, of whatever system, is one more entry.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

ONE_OF_EACH = {"requests": 1, "jobs": 1, "buffers": 1, "lanes": 1, "limit": 1}
NO_RESTARTS = {**ONE_OF_EACH, "max_restarts": 0}
TWO_JOBS = {"requests": 2, "jobs": 2, "buffers": 2, "lanes": 2, "limit": 1, "max_length": 1, "too_long": 1}
SCOPES = {"executor": NO_RESTARTS}
"""At which scope the mutants of a system are explored, unless they name one."""


@attrs.frozen
class Said:
    """`calfsm check` has a finding."""

    code: str


@attrs.frozen
class Broken:
    """An `always` property is broken, whatever a check says: after how many steps at least, and by which call."""

    name: str
    steps: int
    call: str


@attrs.frozen
class Unkept:
    """A promise is broken (an `eventually` property, or a way back): by so many steps, and then a cycle of so many."""

    name: str
    steps: int
    cycle: int = 0


@attrs.frozen
class Remarked:
    """Everything holds, and what was never put to the test tells of it."""

    text: str


@attrs.frozen
class Same:
    """It means the same: every state and every transition is there, and no other. `why`: in words."""

    why: str


@attrs.frozen
class Missed:
    """Nothing tells of it, though it means something else. `needs`: what would find it."""

    needs: str


@attrs.frozen
class Mutant:
    """One edit: what stands once in `where` (as in `planting.edited`), what stands there instead, and its verdict."""

    name: str
    where: str
    old: str
    new: str
    verdict: Said | Broken | Unkept | Remarked | Same | Missed
    system: str = "executor"
    scope: Mapping[str, int] | None = None

    @property
    def edit(self) -> tuple[str, str, str, str]:
        """What `planting.planted` is called with."""
        return self.where, self.old, self.new, self.system

    @property
    def explored_at(self) -> Mapping[str, int]:
        """The scope at which it is explored."""
        return SCOPES[self.system] if self.scope is None else self.scope


ACTIONS = "executor.yaml/actions"
PREFILL = "prepare_prefill(r=0, j=0, b=0, k=0, n=1)"
STAYS_OUT = "cancel:         {stay: The DMA is still out. Only delivery is dropped.}"

MUTANTS = [
    # ---- jobs and the memory that the device may touch
    Mutant(
        "a timeout that does not fault the device",
        f"{ACTIONS}/wait_timeout",
        ", device: fault",
        "",
        Broken("a_faulty_device_rests", 9, "wait_timeout(j=0)"),
    ),
    Mutant(
        "a timeout that the job is not told of",
        f"{ACTIONS}/wait_timeout",
        "j: wait_timeout, ",
        "",
        Said("no-clock-action"),
    ),
    Mutant(
        "a timeout that the request is not told of",
        f"{ACTIONS}/wait_timeout",
        ", requests where job == j: fail",
        "",
        Broken("job_slot_is_not_used_after_release", 9, "wait_timeout(j=0)"),
    ),
    Mutant(
        "a timeout that the engine declares",
        f"{ACTIONS}/wait_timeout",
        "by: clock",
        "by: engine",
        Said("no-clock-action"),
    ),
    Mutant(
        "a timeout that frees the buffer",
        "buffer.yaml/transitions/submitted",
        "wait_timeout:   quarantined",
        "wait_timeout:   free",
        Broken("no_use_after_reuse", 9, "wait_timeout(j=0)"),
    ),
    Mutant(
        "a timeout taken for a completion",
        "buffer.yaml/transitions/running",
        "wait_timeout:   quarantined",
        "wait_timeout:   completing",
        Broken("no_use_after_reuse", 10, "wait_timeout(j=0)"),
    ),
    Mutant(
        "a timed-out job that keeps its buffer",
        "job.yaml/transitions/submitted",
        "wait_timeout:  {to: failed, set: {buffer: none}}",
        "wait_timeout:  failed",
        Broken("pool_item_is_not_used_after_release", 9, "wait_timeout(j=0)"),
    ),
    Mutant(
        "a wait without a deadline",
        "job.yaml/states/submitted",
        "deadline: {after: wait_timeout, event: wait_timeout}, ",
        "",
        Said("awaits-without-deadline"),
    ),
    Mutant(
        "jobs aborted though the device is healthy",
        f"{ACTIONS}/abort_in_flight",
        "device is draining and ",
        "",
        Broken("a_faulty_device_rests", 9, "abort_in_flight(j=0)"),
    ),
    Mutant(
        "a buffer freed while its job is abandoned",
        "buffer.yaml/transitions/submitted",
        STAYS_OUT,
        "cancel:         free",
        Broken("no_use_after_reuse", 9, "cancel_in_flight(r=0)"),
    ),
    Mutant(
        "a cancel that ends a job in flight",
        "job.yaml/transitions/submitted",
        "cancel:        abandoned",
        "cancel:        {to: cancelled, set: {buffer: none}}",
        Broken("device_memory_is_owned", 9, "cancel_in_flight(r=0)"),
    ),
    Mutant(
        "a cancel in flight of a job that is only prepared",
        f"{ACTIONS}/cancel_in_flight",
        " and r.job in {submitted, completing}",
        "",
        Broken("a_promise_has_a_job", 7, "cancel_in_flight(r=0)"),
    ),
    Mutant(
        "a cancelled preparation of which the buffer is not told",
        f"{ACTIONS}/cancel_preparing",
        ", r.job.buffer: cancel",
        "",
        Broken("pool_item_is_not_leaked", 7, "cancel_preparing(r=0)"),
    ),
    Mutant(
        "a cancelled preparation that keeps its promise of KV",
        f"{ACTIONS}/cancel_preparing",
        ", r.kv: rollback",
        "",
        Broken("a_promise_has_a_job", 7, "cancel_preparing(r=0)"),
    ),
    Mutant(
        "a cancelled request that keeps its job",
        f"{ACTIONS}/cancel_preparing",
        "    set: {r.job: none}\n",
        "",
        Said("use-after-release"),
    ),
    Mutant(
        "a completion that leaves the hardware's hold",
        f"{ACTIONS}/done",
        ", j.buffer.dma: finish",
        "",
        Broken("no_use_after_reuse", 9, "done(j=0)"),
    ),
    Mutant(
        "hardware that does not let go",
        "dma.yaml/transitions",
        "finish: quiet",
        "finish: active",
        Broken("no_use_after_reuse", 9, "done(j=0)"),
    ),
    Mutant(
        "hardware that begins twice",
        "dma.yaml/transitions",
        "active: {",
        "active: {start: quiet, ",
        Said("redundant"),
    ),
    Mutant(
        "a stale completion that nobody decided",
        "buffer.yaml/anywhere",
        '  done:            {stay: "Stale: its job has ended."}\n',
        "",
        Said("undecided"),
    ),
    Mutant(
        "an exception after which the buffer is not recycled",
        f"{ACTIONS}/ccu_exception",
        "[ccu_exception, recycle]",
        "ccu_exception",
        Broken("pool_item_is_not_leaked", 9, "ccu_exception(j=0)"),
    ),
    Mutant(
        "an exception taken for a completion",
        f"{ACTIONS}/ccu_exception",
        "[ccu_exception, recycle]",
        "[done, recycle]",
        Said("unfired-event"),
    ),
    Mutant(
        "an accepted job whose buffer is not recycled",
        f"{ACTIONS}/accept_token",
        ", j.buffer: recycle",
        "",
        Broken("pool_item_is_not_leaked", 10, "accept_token(j=0)"),
    ),
    Mutant(
        "a job that is prepared without a buffer",
        f"{ACTIONS}/prepare_prefill",
        ", b: acquire",
        "",
        Said("not-acquired"),
    ),
    Mutant(
        "a buffer that is taken and not written down",
        f"{ACTIONS}/prepare_prefill",
        ", j.buffer: b",
        "",
        Said("leak"),
    ),
    Mutant(
        "a job's slot used again while its output is drained",
        "job.yaml/transitions/draining",
        "accept: {to: cancelled,",
        "retire: vacant\n    accept: {to: cancelled,",
        Broken("job_slot_is_not_used_after_release", 11, "retire_job(j=0)"),
    ),
    Mutant(
        "a cancel that does not reach a job whose output is judged",
        "job.yaml/transitions/completing",
        "    cancel:   draining\n",
        "",
        Unkept("kv_lane_comes_back", 13),
    ),
    Mutant(
        "an abandoned job whose output may be accepted",
        "job.yaml/transitions/abandoned",
        "done:          draining",
        "done:          completing",
        Unkept("kv_lane_comes_back", 12),
    ),
    # ---- submitting
    Mutant(
        "a rejected submit that loses the buffer",
        f"{ACTIONS}/submit_rejected",
        ", j.buffer: submit_rejected",
        "",
        Broken("pool_item_is_not_leaked", 8, "submit_rejected(j=0)"),
    ),
    Mutant(
        "an unknown submit that frees the buffer",
        "buffer.yaml/transitions/preparing",
        "submit_unknown:  quarantined",
        "submit_unknown:  free",
        Broken("no_use_after_reuse", 8, "submit_unknown(j=0)"),
    ),
    Mutant(
        "an unknown submit that the device is not blamed for",
        f"{ACTIONS}/submit_unknown",
        ", device: fault",
        "",
        Broken("a_faulty_device_rests", 8, "submit_unknown(j=0)"),
    ),
    Mutant(
        "an accepted submit that the lane is not told of",
        f"{ACTIONS}/submit_ok",
        ", kvs where job == j: submit",
        "",
        Broken("commits_come_last", 8, "submit_ok(j=0)"),
    ),
    Mutant(
        "one job in flight too many",
        f"{ACTIONS}/submit",
        "in_flight < limit",
        "in_flight <= limit",
        Broken("in_flight_is_bounded", 10, "submit(j=1)"),
        scope=TWO_JOBS,
    ),
    Mutant(
        "a buffer that runs without having been submitted",
        "buffer.yaml/transitions/free",
        "acquire: preparing",
        "acquire: submitted",
        Said("unreachable"),
    ),
    # ---- KV lanes
    Mutant(
        "a commit before acceptance",
        f"{ACTIONS}/done",
        "j.buffer.dma: finish}",
        "j.buffer.dma: finish, kvs where job == j: commit}",
        Broken("commits_come_last", 9, "done(j=0)"),
    ),
    Mutant(
        "an accepted output without a commit",
        f"{ACTIONS}/accept_token",
        ", kvs where job == j: commit",
        "",
        Broken("a_write_has_a_job", 10, "accept_token(j=0)"),
    ),
    Mutant(
        "an accepted output that is rolled back",
        f"{ACTIONS}/accept_token",
        "kvs where job == j: commit",
        "kvs where job == j: rollback",
        Unkept("every_request_ends", 10, 6),
    ),
    Mutant(
        "a commit that forgets the new length",
        "kv.yaml/transitions/in_flight",
        "length: target, ",
        "",
        Unkept("every_request_ends", 10, 6),
    ),
    Mutant(
        "a commit that keeps the job",
        "kv.yaml/transitions/in_flight",
        "{length: target, target: 0, job: none}",
        "{length: target, target: 0}",
        Broken("writer_is_not_used_after_release", 10, "accept_token(j=0)"),
    ),
    Mutant(
        "a lane given away by its first commit",
        "kv.yaml/transitions/in_flight",
        "commit:   {to: held",
        "commit:   {to: vacant",
        Broken("kv_lane_is_not_used_after_release", 10, "accept_token(j=0)"),
    ),
    Mutant(
        "a suspect lane that is trusted",
        "kv.yaml/transitions/in_flight",
        "suspect:  {to: unknown",
        "suspect:  {to: held",
        Said("unreachable"),
    ),
    Mutant(
        "a lane without an owner",
        f"{ACTIONS}/prepare_prefill",
        ", r.kv: k",
        "",
        Said("leak"),
    ),
    Mutant(
        "a release that keeps the lane",
        f"{ACTIONS}/release_lane",
        ", r.kv: release",
        "",
        Broken("kv_lane_is_not_leaked", 8, "release_lane(r=0)"),
    ),
    Mutant(
        "a lane that an ended request still refers to",
        "request.yaml/transitions/finished",
        "release: {to: finished, when: kv != none and job == none, set: {kv: none}}",
        "release: {to: finished, when: kv != none and job == none}",
        Broken("kv_lane_is_not_used_after_release", 11, "release_lane(r=0)"),
    ),
    # ---- requests
    Mutant(
        "a token that the request is not told of",
        f"{ACTIONS}/accept_token",
        ", requests where job == j: token",
        "",
        Broken("job_slot_is_not_used_after_release", 10, "accept_token(j=0)"),
    ),
    Mutant(
        "a request's slot used again before its lane is back",
        "request.yaml/transitions/finished",
        "retire:  {to: vacant,   when: kv == none and job == none",
        "retire:  {to: vacant,   when: job == none",
        Broken("kv_lane_is_not_used_after_release", 15, "reset_done()"),
    ),
    Mutant(
        "a request whose last token is its first",
        "request.yaml/transitions/prefill",
        "token:    {to: decode_ready",
        "token:    {to: finished",
        Said("unreachable"),
    ),
    Mutant(
        "an interrupted request that queues before the reset",
        "request.yaml/transitions/decoding",
        "abort:    {to: interrupted",
        "abort:    {to: waiting",
        Broken("kv_lane_is_not_used_after_release", 16, "reset_done()"),
    ),
    Mutant(
        "a restart that is not counted",
        "request.yaml/transitions/decode_ready",
        "restarts: restarts + 1",
        "restarts: restarts",
        Unkept("every_request_ends", 8, 13),
        scope=ONE_OF_EACH,
    ),
    Mutant(
        "a request that may always begin again",
        "request.yaml/transitions/decode_ready",
        "to: failed,  set: {kv: none}",
        "to: waiting, set: {kv: none}",
        Unkept("every_request_ends", 11, 13),
        scope=ONE_OF_EACH,
    ),
    Mutant(
        "one restart too many",
        "request.yaml/transitions/interrupted",
        "restarts < max_restarts",
        "restarts <= max_restarts",
        Said("leaves-domain"),
    ),
    Mutant(
        "nobody who must act",
        "executor.yaml/fair",
        "[engine, clock]",
        "[]",
        Unkept("every_request_ends", 5),
    ),
    # ---- the device and its resets
    Mutant(
        "a device that overlooks its faults",
        "device.yaml/transitions/ready",
        "fault: draining",
        "fault: ready",
        Broken("a_faulty_device_rests", 8, "submit_unknown(j=0)"),
    ),
    Mutant(
        "a failed reset taken for a good one",
        "device.yaml/transitions/resetting",
        "reset_failed:  {to: offline",
        "reset_failed:  {to: ready",
        Broken("a_faulty_device_rests", 10, "reset_failed()"),
    ),
    Mutant(
        "a restart without a reset",
        "device.yaml/transitions/offline",
        "restart: resetting",
        "restart: ready",
        Broken("a_faulty_device_rests", 11, "restart()"),
    ),
    Mutant(
        "one rejected submit too many",
        "device.yaml/transitions/ready",
        "rejects < max_rejects",
        "rejects <= max_rejects",
        Said("leaves-domain"),
    ),
    Mutant(
        "rejected submits that are not counted",
        f"{ACTIONS}/submit_rejected",
        ", device: rejected",
        "",
        Said("unfired-event"),
    ),
    Mutant(
        "resets that are not counted",
        "device.yaml/transitions/draining",
        "resets: resets + 1, ",
        "",
        Unkept("a_failed_model_is_gone", 2, 4),
    ),
    Mutant(
        "a reset under work",
        f"{ACTIONS}/start_reset",
        "busy == 0 and ",
        "",
        Broken("a_reset_leaves_no_hold", 8, "start_reset()"),
    ),
    Mutant(
        "a device that is never given up",
        f"{ACTIONS}/give_up_device",
        "device: drained",
        "device: progress",
        Unkept("home", 4),
    ),
    Mutant(
        "a reset that leaves KV held",
        f"{ACTIONS}/reset_done",
        ", all kvs: reset",
        "",
        Broken("kv_lane_is_not_leaked", 10, "reset_done()"),
    ),
    Mutant(
        "a reset that the requests are not told of",
        f"{ACTIONS}/reset_done",
        ", all requests: reset",
        "",
        Broken("kv_lane_is_not_used_after_release", 10, "reset_done()"),
    ),
    Mutant(
        "a reset that buffers survive",
        f"{ACTIONS}/reset_done",
        ", all buffers: reset",
        "",
        Said("unfired-event"),
    ),
    Mutant(
        "a reset that the hardware survives",
        f"{ACTIONS}/reset_done",
        ", all dma: kill",
        "",
        Said("unfired-event"),
    ),
    Mutant(
        "a reset that the model survives",
        f"{ACTIONS}/reset_done",
        ", model: reset",
        "",
        Said("unfired-event"),
    ),
    Mutant(
        "a rebuild that only a client asks for",
        f"{ACTIONS}/rebuilt",
        "by: recovery",
        "by: client",
        Unkept("pool_item_comes_back", 6),
    ),
    # ---- the model
    Mutant(
        "a model that serves unwarmed",
        "model.yaml/transitions/configuring",
        "configured:        warming",
        "configured:        ready",
        Said("unreachable"),
    ),
    Mutant(
        "prefill for a model that is not ready",
        f"{ACTIONS}/prepare_prefill",
        "when: serving",
        "when: device is ready",
        Broken("a_leaving_model_idles", 8, PREFILL),
    ),
    Mutant(
        "an unload with work in flight",
        f"{ACTIONS}/model_drained",
        " and busy == 0 and lanes_out == 0 and pool_back",
        "",
        Broken("a_leaving_model_idles", 8, "model_drained()"),
    ),
    Mutant(
        "an unload with lanes out",
        f"{ACTIONS}/model_drained",
        " and lanes_out == 0",
        "",
        Broken("unloaded_holds_nothing", 10, "released()"),
    ),
    Mutant(
        "a drain deadline that releases under work",
        "model.yaml/transitions/draining",
        "drain_timeout: {stay: The device decides. A hung job faults the device and the reset ends the wait.}",
        "drain_timeout: unloading",
        Broken("a_leaving_model_idles", 8, "drain_timeout()"),
    ),
    Mutant(
        "unloaded before the memory came back",
        "model.yaml/transitions/unloading",
        "release_timeout: failed",
        "release_timeout: unloaded",
        Broken("unloaded_holds_nothing", 6, "release_timeout()"),
    ),
    Mutant(
        "a reset taken for the end of a release",
        "model.yaml/transitions/unloading",
        "reset:           {stay: The release is still to be answered for.}",
        "reset:           unloaded",
        Broken("unloaded_holds_nothing", 9, "rebuilt(b=0)"),
    ),
    Mutant(
        "a stale answer that retires the pool",
        f"{ACTIONS}/released",
        "when: model is unloading, ",
        "",
        Broken("no_use_after_reuse", 9, "released()"),
    ),
    Mutant(
        "a pool that outlives its model",
        f"{ACTIONS}/released",
        ", all buffers: retire",
        "",
        Broken("unloaded_holds_nothing", 6, "released()"),
    ),
    Mutant(
        "an accepted submit that starts no DMA",
        f"{ACTIONS}/submit_ok",
        ", j.buffer.dma: start",
        "",
        Broken("what_is_out_is_under_dma", 8, "submit_ok(j=0)"),
    ),
    Mutant(
        "a prefill of no tokens",
        f"{ACTIONS}/prepare_prefill",
        "k.target: n",
        "k.target: n - 1",
        Broken("a_promise_is_of_more", 6, PREFILL),
    ),
    Mutant(
        "a released lane that keeps its length",
        "kv.yaml/transitions/held",
        "release: {to: vacant, set: {length: 0}}",
        "release: vacant",
        Broken("a_vacant_lane_is_empty", 11, "release_lane(r=0)"),
    ),
    Mutant(
        "a tainted buffer that goes back to the pool",
        "buffer.yaml/transitions/completing",
        "{when: tainted,     to: quarantined}",
        "{when: tainted,     to: free}",
        Broken("a_tainted_item_is_aside", 9, "ccu_exception(j=0)"),
    ),
    Mutant(
        "an unloaded model that is still leaving",
        "model.yaml/transitions/draining",
        "drained:       {when: leaving, to: unloading, set: {leaving: false}}",
        "drained:       {when: leaving, to: unloading}",
        Broken("a_leaving_model_drains", 6, "model_drained()"),
    ),
    Mutant(
        "a request's slot that remembers restarts",
        "request.yaml/transitions/finished",
        ", set: {restarts: 0}",
        "",
        Broken("a_new_slot_has_no_past", 22, "retire_request(r=0)"),
        scope=ONE_OF_EACH,
    ),
    Mutant(
        "progress that clears a device that is being drained",
        "device.yaml/transitions/draining",
        "progress: {stay: One good job does not clear a device that is being drained.}",
        "progress: ready",
        Unkept("every_drain_ends", 14),
    ),
    Mutant(
        "a reset whose deadline is waited for again",
        "device.yaml/transitions/resetting",
        "reset_timeout: {to: offline",
        "reset_timeout: {to: resetting",
        Unkept("every_reset_ends", 3, 1),
    ),
    Mutant(
        "a spent budget that still resets",
        "device.yaml/transitions/draining",
        "to: offline",
        "to: resetting",
        Unkept("a_failed_model_is_gone", 2, 7),
    ),
    Mutant(
        "a failed release that the device is not blamed for",
        f"{ACTIONS}/release_failed",
        ", device: fault",
        "",
        Unkept("a_failed_model_is_gone", 2, 2),
    ),
    Mutant(
        "an engine that need not act",
        "executor.yaml/fair",
        "[engine, clock]",
        "[clock]",
        Unkept("every_drain_ends", 1),
    ),
    Mutant(
        "a clock that need not tick",
        "executor.yaml/fair",
        "[engine, clock]",
        "[engine]",
        Unkept("every_request_ends", 7),
    ),
    Mutant(
        "a recovery that need not come",
        "executor.yaml/strongly_fair",
        "[recovery]",
        "[]",
        Unkept("every_buffer_comes_back", 6),
    ),
    # ---- what means the same
    Mutant(
        "a drained model that may be busy",
        f"{ACTIONS}/model_drained",
        " and busy == 0",
        "",
        Same("A busy job has a buffer, so that the pool is not back."),
    ),
    Mutant(
        "a rebuild of memory under DMA",
        f"{ACTIONS}/rebuilt",
        " and b.dma is quiet",
        "",
        Same("A buffer is quarantined under DMA only by what faults the device, and the reset after it kills DMA."),
    ),
    Mutant(
        "a reservation beyond the lane",
        "kv.yaml/transitions/held",
        ", when: length < max_length",
        "",
        Same("`prepare_decode` sets a target beyond the lane then, which its domain refuses."),
    ),
    Mutant(
        "a drain that ends though nobody asked for it",
        "model.yaml/transitions/draining",
        "drained:       {when: leaving, to: unloading",
        "drained:       {to: unloading",
        Same("Without a request to unload, only a faulty device drains its model, and the reset comes first."),
    ),
    Mutant(
        "a cancel while the submit is being asked",
        "job.yaml/transitions/submitting",
        "cancel:          {stay: The answer of infer() comes first. The cancel is asked again after it.}",
        "cancel:          {to: cancelled, set: {buffer: none}}",
        Same("No action tells a job of a cancel in that state."),
    ),
    Mutant(
        "a cancelled request's slot used again before its job has ended",
        "request.yaml/transitions/cancelled",
        "retire:  {to: vacant,    when: kv == none and job == none",
        "retire:  {to: vacant,    when: kv == none",
        Same("A request with a job has a lane, and does not release it before the job has ended."),
    ),
    Mutant(
        "a reset that finds a job in flight and leaves it its buffer",
        "job.yaml/transitions/submitted",
        "reset:         {to: failed, set: {buffer: none}}",
        "reset:         failed",
        Same("A reset begins when nothing is busy."),
    ),
]

BY_NAME = {mutant.name: mutant for mutant in MUTANTS}

HOLES = [
    Mutant(
        "a request that waits without a deadline",
        "request.yaml/states/waiting",
        "deadline: {after: queue_deadline, event: deadline}, ",
        "",
        Missed("a check: where a clock action is possible, its subject has that deadline"),
    ),
    Mutant(
        "a model published though its warming failed",
        "model.yaml/transitions/warming",
        "warm_failed:  failed",
        "warm_failed:  ready",
        Missed("a condition on what an action leaves: after `warm_failed` the model is not ready"),
    ),
    Mutant(
        "a cancel that a waiting request does not hear",
        "request.yaml/transitions/waiting",
        "    cancel:   cancelled\n",
        "",
        Missed("a condition on what an action leaves: after `cancel_waiting` the request is cancelled"),
    ),
    Mutant(
        "progress that gives no budget back",
        f"{ACTIONS}/accept_token",
        ", device: progress",
        "",
        Missed("a condition on what an action leaves: after `accept_token` no resets are counted"),
    ),
    Mutant(
        "a bad output that is rolled back",
        f"{ACTIONS}/bad_output",
        "kvs where job == j: suspect",
        "kvs where job == j: rollback",
        Missed("a condition on what an action leaves: after `bad_output` no lane of the job is trusted"),
    ),
    Mutant(
        "a submit while the device is drained",
        f"{ACTIONS}/submit",
        "decoding and ",
        "",
        Missed("a condition on what an action finds: `submit` only of a healthy device"),
    ),
    Mutant(
        "an admission of what never fits",
        f"{ACTIONS}/admit",
        " and need <= max_length",
        "",
        Missed("a variable: what a request needs is not part of its state"),
    ),
]

UNNOTICED = {
    "configure_failed: device: fault": "missed",
    "configure_timeout: device: fault": "missed",
    "warm_timeout: device: fault": "missed",
    "release_failed: device: fault": "broken",
    "release_timeout: device: fault": "broken",
    "cancel_waiting: r: cancel": "remarked",
    "cancel_in_flight: r.job.buffer: cancel": "same",
    "give_up: r: fail": "remarked",
    "prepare_prefill: k: reserve": "broken",
    "prepare_decode: r.kv: reserve": "broken",
    "submit_unknown: j.buffer.dma: start": "missed",
    "submit_unknown: kvs where job == j: submit": "remarked",
    "submit_timeout: j.buffer.dma: start": "missed",
    "submit_timeout: kvs where job == j: submit": "broken",
    "accept_token: device: progress": "missed",
    "accept_last: device: progress": "missed",
    "ccu_exception: j.buffer.dma: finish": "missed",
    "late_done: b: done": "same",
    "late_done: b.dma: finish": "missed",
    "unhealthy: device: fault": "remarked",
    "start_reset: device: drained": "broken",
    "give_up_device: device: drained": "broken",
}
"""Events of the executor that can be left out of an action without a finding or a broken invariant, and what tells of
it when all states and runs are judged: a `broken` promise, a remark, or nothing (`missed`; `same`: nothing changes)."""
