"""What a message means in the present state: the action that it asks for, if any. Looks, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from calfsm.engine.engine import Engine
from calfsm.serving.choice import Choice
from calfsm.serving.deadlines import Deadlines
from calfsm.serving.messages import (
    CancelAsked,
    DeadlinePassed,
    HealthLost,
    InferAnswered,
    JobHint,
    Message,
    OperationEnded,
)
from calfsm.serving.operations import Operations
from calfsm.serving.records import Records
from calfsm.serving.runtime import OutputStatus
from calfsm.serving.sequence import Request

_CANCELS = ("cancel_waiting", "cancel_preparing", "cancel_in_flight")
_ENDINGS = {
    ("configure", True): "configured",
    ("configure", False): "configure_failed",
    ("warm", True): "warmed",
    ("warm", False): "warm_failed",
    ("release", True): "released",
    ("release", False): "release_failed",
    ("reset", True): "reset_done",
    ("reset", False): "reset_failed",
}


class Meanings:
    """Messages to actions. Which of several is possible is the engine's to say."""

    def __init__(self, engine: Engine, records: Records, operations: Operations, deadlines: Deadlines) -> None:
        self._engine, self._records, self._operations, self._deadlines = engine, records, operations, deadlines

    def of(self, message: Message) -> Choice | None:
        """The action that a message asks for and that is possible now, or None."""
        return next((choice for choice in self._choices(message) if self.possible(choice)), None)

    def possible(self, choice: Choice) -> bool:
        """Whether the engine would take an action now."""
        return self._engine.would(choice.action, **choice.arguments)

    def must_wait(self, message: Message) -> bool:
        """Whether it is about a job that `infer` is being asked about: that answer comes first (source design 5)."""
        match message:
            case CancelAsked(request=request):
                job = self._job_for(self._records.slot_of(request))
            case DeadlinePassed(part=part, index=index) if self._engine.system.parts[part].name == "requests":
                job = self._job_for(index) if self._deadlines.stands(message) else None
            case JobHint(ticket=ticket):
                job = self._records.job_of(ticket)
            case _:
                return False
        return job is not None and str(self._engine.state("jobs", job)) == "submitting"

    def _job_for(self, slot: int | None) -> int | None:
        job = -1 if slot is None else self._engine.value("requests", slot, "job")
        return job if job >= 0 else None

    def _choices(self, message: Message) -> Iterable[Choice]:
        match message:
            case InferAnswered(ticket=ticket, answer=answer, why=why):
                job = self._records.job_of(ticket)
                return [] if job is None else [Choice(f"submit_{answer.value}", {"j": job}, why)]
            case JobHint(buffer=buffer, ticket=ticket):
                return self._job_news(buffer, ticket)
            case OperationEnded(kind=kind, ok=ok, why=why):
                return [Choice(_ENDINGS[kind, ok], {}, why)] if self._operations.awaited(message) else []
            case DeadlinePassed():
                return self._overdue(message)
            case CancelAsked(request=request):
                return self._cancels(request)
            case HealthLost(why=why):
                return [Choice("unhealthy", {}, why)]
        return []

    def _job_news(self, buffer: int, ticket: int) -> Iterator[Choice]:
        item = self._records.pool[buffer]
        if item is None or item.ticket != ticket:
            return
        job = self._records.job_of(ticket)
        status = item.sink.status()
        if status.final:
            if job is not None:
                yield Choice("done" if status is OutputStatus.DONE else "ccu_exception", {"j": job}, item.sink.detail)
            yield Choice("late_done", {"b": buffer})
        elif status is OutputStatus.RUNNING and job is not None:
            yield Choice("status_running", {"j": job})

    def _overdue(self, message: DeadlinePassed) -> Iterator[Choice]:
        if self._deadlines.stands(message):
            reason = f"{message.after.replace('_', ' ')} passed"
            for name, pick in self._deadlines.actions[message.part, message.event]:
                yield Choice(name, {pick: message.index} if pick else {}, reason)

    def _cancels(self, request: Request) -> Iterator[Choice]:
        slot = self._records.slot_of(request)
        if slot is not None:
            for name in _CANCELS:
                yield Choice(name, {"r": slot}, "cancelled by its client")
