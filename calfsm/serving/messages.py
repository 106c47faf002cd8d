"""What reaches the executor from outside, as values. What a message means is decided when it is handled, not when it was sent."""

from __future__ import annotations

import attrs

from calfsm.serving.runtime import Submit


@attrs.frozen
class InferAnswered:
    """`infer` came back for a job."""

    job: int
    ticket: int
    answer: Submit
    why: str = ""


@attrs.frozen
class JobHint:
    """The runtime says that something about the job in a buffer changed. The status says what."""

    buffer: int
    ticket: int


@attrs.frozen
class OperationHint:
    """The runtime says that a long operation moved on."""

    serial: int


@attrs.frozen
class OperationEnded:
    """A long operation (`configure`, `warm`, `release`, `reset`) has ended."""

    serial: int
    kind: str
    ok: bool
    why: str = ""


@attrs.frozen
class DeadlinePassed:
    """An instance stayed too long in a state. Numbers as in the compiled system."""

    part: int
    index: int
    event: int


@attrs.frozen
class CancelAsked:
    """A client no longer wants a request."""

    id: int


@attrs.frozen
class HealthLost:
    """The device said that it is not well."""

    why: str


Message = InferAnswered | JobHint | OperationHint | OperationEnded | DeadlinePassed | CancelAsked | HealthLost
