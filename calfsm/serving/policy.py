"""What to do next. Policy only chooses an action and its picks; whether it may happen is the engine's to say.

The order below is the whole policy: finish what the device has answered, give back what is over, bring the device and the model on,
then start new work, decode before prefill but never more than `max_bypass` times in a row past a prefill that waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from calfsm.serving.executor import Executor


@attrs.frozen
class Choice:
    """An action to apply, with its picks and choices, and in plain words why."""

    action: str
    arguments: Mapping[str, int]
    reason: str = ""


class Policy:
    """The default choices. `max_bypass`: how many decode jobs may pass a waiting prefill, one after another."""

    def __init__(self, max_bypass: int = 8) -> None:
        self.max_bypass = max_bypass
        self._bypassed = 0

    def next(self, executor: Executor) -> Choice | None:
        """The first choice that the engine would take, or None: nothing can be done now."""
        for choice in self._choices(executor):
            if executor.possible(choice):
                if choice.action == "prepare_decode":
                    self._bypassed += bool(executor.engine.first("requests", "waiting") is not None)
                elif choice.action == "prepare_prefill":
                    self._bypassed = 0
                return choice
        return None

    def _choices(self, executor: Executor) -> Iterator[Choice]:
        yield from self._answered(executor)
        yield from self._over(executor)
        yield from self._device(executor)
        yield from self._model(executor)
        yield from self._hopeless(executor)
        yield from self._work(executor)

    def _answered(self, executor: Executor) -> Iterator[Choice]:
        engine = executor.engine
        for job in engine.among("jobs", "completing"):
            yield executor.judge(job)
        for job in engine.among("jobs", "draining"):
            yield Choice("discard", {"j": job})

    def _over(self, executor: Executor) -> Iterator[Choice]:
        engine = executor.engine
        for job in engine.among("jobs", "done", "failed", "cancelled"):
            yield Choice("retire_job", {"j": job})
        for request in engine.among("requests", "finished", "cancelled", "failed", "expired"):
            yield Choice("release_lane", {"r": request})
            yield Choice("retire_request", {"r": request})

    def _device(self, executor: Executor) -> Iterator[Choice]:
        engine = executor.engine
        if str(engine.state("device")) == "draining":
            for job in engine.among("jobs", "submitted", "abandoned"):
                yield Choice("abort_in_flight", {"j": job}, "the device is being reset")
            for job in engine.among("jobs", "preparing"):
                yield Choice("give_up_preparing", {"j": job}, "the device is being reset")
            yield Choice("start_reset", {})
            yield Choice("give_up_device", {})
        for buffer in engine.among("buffers", "quarantined"):
            if str(engine.state("model")) in ("warming", "ready", "draining"):  # a new item needs a configured calbin
                yield Choice("rebuilt", {"b": buffer})

    def _model(self, executor: Executor) -> Iterator[Choice]:
        engine = executor.engine
        match str(engine.state("model")):
            case "validating" if str(engine.state("device")) == "ready":
                objection = executor.objection()
                yield Choice("turn_model_away", {}, objection) if objection else Choice("validate", {})
            case "draining":
                for job in engine.among("jobs", "preparing"):
                    yield Choice("give_up_preparing", {"j": job}, "the model is being unloaded")
                yield Choice("model_drained", {})
            case "failed":
                yield Choice("cleanup", {})

    def _hopeless(self, executor: Executor) -> Iterator[Choice]:
        """Requests that nothing will serve: said at once, rather than left to their deadlines."""
        engine = executor.engine
        model, device = str(engine.state("model")), str(engine.state("device"))
        going = model == "draining" and engine.value("model", 0, "leaving") == 1
        gone = model in ("unloaded", "unloading", "failed")
        if device == "offline" or gone or (going and executor.drain_is_over):
            why = "the device is out of service" if device == "offline" else executor.failure or "the model was unloaded"
            for request in engine.among("requests", "waiting", "decode_ready", "interrupted"):
                yield Choice("give_up", {"r": request}, why)
        elif going:
            for request in engine.among("requests", "waiting", "interrupted"):
                yield Choice("give_up", {"r": request}, "the model is being unloaded")

    def _work(self, executor: Executor) -> Iterator[Choice]:
        engine = executor.engine
        out = len(engine.among("jobs", "submitting", "submitted", "abandoned"))
        if out < executor.slots:
            for job in engine.among("jobs", "preparing"):
                yield Choice("submit", {"j": job})
        job, buffer = engine.first("jobs", "vacant"), engine.first("buffers", "free")
        if job is None or buffer is None:
            return
        decodes = [Choice("prepare_decode", {"r": request, "j": job, "b": buffer}) for request in engine.among("requests", "decode_ready")]
        prefills = list(self._prefills(executor, job, buffer))
        turn_of_prefill = self._bypassed >= self.max_bypass
        yield from (*prefills, *decodes) if turn_of_prefill else (*decodes, *prefills)

    def _prefills(self, executor: Executor, job: int, buffer: int) -> Iterator[Choice]:
        engine = executor.engine
        lane = engine.first("kvs", "vacant")
        for slot in engine.among("requests", "waiting"):
            request = executor.requests[slot]
            assert request is not None
            if len(request.text) > engine.params["chunk"]:
                yield Choice("give_up", {"r": slot}, "after a reset its prompt and tokens no longer fit one prefill")
            elif lane is not None:
                yield Choice("prepare_prefill", {"r": slot, "j": job, "b": buffer, "k": lane, "n": len(request.text)})
