"""What to do next. Policy only chooses an action and its picks; whether it may happen is the engine's to say.

The order below is the whole policy: finish what the device has answered, give back what is over, bring the device and
the model on, end what nothing will serve, then start new work.

New work is fair both ways (source design 5.3). A decode goes before a prefill, but at most `max_bypass` times in a row
past a prefill that waits; then the prefill that has waited longest goes first, once. Within each class the one that has
waited longest goes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from calfsm.engine.engine import Engine
from calfsm.serving.choice import Choice
from calfsm.serving.sequence import Request


class Situation(Protocol):
    """What a policy may look at, and ask. An executor is one."""

    engine: Engine
    failure: str
    drain_is_over: bool

    @property
    def requests(self) -> Sequence[Request | None]:
        """The request in each slot."""

    @property
    def slots(self) -> int:
        """How many jobs may be out now."""

    def possible(self, choice: Choice) -> bool:
        """Whether an action would be taken now."""

    def objection(self) -> str:
        """Why the model that is being validated cannot be served; empty when it can."""

    def judge(self, job: int) -> Choice:
        """What becomes of a job whose output is there."""


class Policy:
    """The default choices. `max_bypass`: how many decode jobs may pass a waiting prefill, one after another.

    One policy serves one executor: it counts. Raises ValueError for a `max_bypass` below 1, which would starve decodes.
    """

    def __init__(self, max_bypass: int = 8) -> None:
        if max_bypass < 1:
            raise ValueError(f"max_bypass is {max_bypass}; it is 1 at least, or prefills would starve decodes")
        self.max_bypass = max_bypass
        self._bypassed = 0

    def next(self, now: Situation) -> Choice | None:
        """The first choice that the engine would take, or None: nothing can be done now."""
        for choice in self._choices(now):
            if now.possible(choice):
                if choice.action == "prepare_decode" and now.engine.first("requests", "waiting") is not None:
                    self._bypassed += 1
                elif choice.action == "prepare_prefill":
                    self._bypassed = 0
                return choice
        return None

    def _choices(self, now: Situation) -> Iterator[Choice]:
        yield from self._answered(now)
        yield from self._over(now)
        yield from self._device(now)
        yield from self._model(now)
        yield from self._hopeless(now)
        yield from self._work(now)

    def _answered(self, now: Situation) -> Iterator[Choice]:
        for job in now.engine.among("jobs", "completing"):
            yield now.judge(job)
        for job in now.engine.among("jobs", "draining"):
            yield Choice("discard", {"j": job})

    def _over(self, now: Situation) -> Iterator[Choice]:
        for job in now.engine.among("jobs", "done", "failed", "cancelled"):
            yield Choice("retire_job", {"j": job})
        for slot in now.engine.among("requests", "finished", "cancelled", "failed", "expired"):
            yield Choice("release_lane", {"r": slot})
            yield Choice("retire_request", {"r": slot})

    def _device(self, now: Situation) -> Iterator[Choice]:
        engine = now.engine
        if str(engine.state("device")) == "draining":
            for job in engine.among("jobs", "submitted", "abandoned"):
                yield Choice("abort_in_flight", {"j": job}, "the device is being reset")
            for job in engine.among("jobs", "preparing"):
                yield Choice("give_up_preparing", {"j": job}, "the device is being reset")
            yield Choice("start_reset", {})
            yield Choice("give_up_device", {})
        for buffer in engine.among("buffers", "quarantined"):
            yield Choice("rebuilt", {"b": buffer})

    def _model(self, now: Situation) -> Iterator[Choice]:
        match str(now.engine.state("model")):
            case "validating" if str(now.engine.state("device")) == "ready":
                objection = now.objection()
                yield Choice("turn_model_away", {}, objection) if objection else Choice("validate", {})
            case "draining":
                yield Choice("model_drained", {})
            case "failed":
                yield Choice("cleanup", {})

    def _hopeless(self, now: Situation) -> Iterator[Choice]:
        """Requests that nothing will serve: said at once, rather than left to their deadlines."""
        engine = now.engine
        model, device = str(engine.state("model")), str(engine.state("device"))
        leaving = model == "draining" and engine.value("model", 0, "leaving") == 1
        states: tuple[str, ...] = ("waiting", "decode_ready", "interrupted")
        if device == "offline":
            why = f"the device is out of service: {now.failure}"
        elif model in ("unloaded", "unloading", "failed"):
            why = now.failure or "the model was unloaded"
        elif leaving and now.drain_is_over:
            why = "the model is being unloaded, and the time for it is over"
        elif leaving:
            states, why = ("waiting", "interrupted"), "the model is being unloaded"
        else:
            states, why = (), ""
        for slot in engine.among("requests", *states):
            yield Choice("give_up", {"r": slot}, why)
        for slot in engine.among("requests", "waiting"):
            if len(self._request(now, slot).text) > engine.params["chunk"]:
                yield Choice("give_up", {"r": slot}, "after a reset its prompt and tokens no longer fit one prefill")

    def _work(self, now: Situation) -> Iterator[Choice]:
        engine = now.engine
        if len(engine.among("jobs", "submitting", "submitted", "abandoned")) < now.slots:
            for job in engine.among("jobs", "preparing"):
                yield Choice("submit", {"j": job})
        vacant, buffer = engine.first("jobs", "vacant"), engine.first("buffers", "free")
        if vacant is None or buffer is None:
            return
        taken = {"j": vacant, "b": buffer}
        decodes = [Choice("prepare_decode", {"r": slot, **taken}) for slot in engine.among("requests", "decode_ready")]
        prefills = list(self._prefills(now, taken))
        yield from (*prefills, *decodes) if self._bypassed >= self.max_bypass else (*decodes, *prefills)

    def _prefills(self, now: Situation, taken: dict[str, int]) -> Iterator[Choice]:
        lane = now.engine.first("kvs", "vacant")
        if lane is not None:
            for slot in now.engine.among("requests", "waiting"):
                length = len(self._request(now, slot).text)
                yield Choice("prepare_prefill", {"r": slot, **taken, "k": lane, "n": length})

    @staticmethod
    def _request(now: Situation, slot: int) -> Request:
        request = now.requests[slot]
        assert request is not None
        return request
