"""What reaches the executor from outside, as values.

What a message means is decided when it is handled, not when it was sent: each says exactly whom it is about (a ticket,
a serial, the request itself), so that it means nothing once that has ended.
"""

from __future__ import annotations

import attrs

from calfsm.serving.runtime import Submit
from calfsm.serving.sequence import Request


@attrs.frozen
class InferAnswered:
    """`infer` came back for the job with this ticket."""

    ticket: int
    answer: Submit
    why: str = ""


@attrs.frozen
class JobHint:
    """The runtime says that something about the job with this ticket, in this buffer, changed. The status says what."""

    buffer: int
    ticket: int


@attrs.frozen
class OperationHint:
    """The runtime says that a long operation moved on. The status says how far."""

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
    """An instance stayed too long among states that share a duration, `after`.

    `part`, `index` and `event` are numbers of the compiled system; `serial` is the deadline's own.
    """

    part: int
    index: int
    event: int
    after: str
    serial: int


@attrs.frozen
class CancelAsked:
    """A client no longer wants this request."""

    request: Request


@attrs.frozen
class HealthLost:
    """The device said that it is not well."""

    why: str


Message = InferAnswered | JobHint | OperationHint | OperationEnded | DeadlinePassed | CancelAsked | HealthLost
