"""A request as its client sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

import attrs


class Outcome(Enum):
    """How a request ended. The first outcome holds."""

    FINISHED = "finished"
    CANCELLED = "cancelled"
    FAILED = "failed"
    EXPIRED = "expired"


class Rejected(Exception):
    """A request was not admitted, and nothing was queued. `retry`: whether the same request may be taken later."""

    def __init__(self, reason: str, retry: bool) -> None:
        super().__init__(reason)
        self.reason, self.retry = reason, retry


@attrs.define(eq=False)
class Request:
    """One request, from admission to its outcome.

    `tokens` grows as tokens are delivered; a token is delivered once, and only after its KV was committed. `outcome` is None
    until the end; `reason` then says why, unless it finished.
    """

    id: int
    prompt: tuple[int, ...]
    max_tokens: int
    stop: frozenset[int]
    on_token: Callable[[int], None] | None = attrs.field(default=None, repr=False)
    tokens: list[int] = attrs.field(factory=list)
    outcome: Outcome | None = None
    reason: str = ""

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.outcome is not None

    @property
    def text(self) -> tuple[int, ...]:
        """The prompt and all tokens so far: what a prefill that begins again is given."""
        return (*self.prompt, *self.tokens)

    def is_last(self, token: int) -> bool:
        """Whether `token`, delivered next, is the last one wanted."""
        return token in self.stop or len(self.tokens) + 1 >= self.max_tokens


def checked_prompt(prompt: Sequence[int], max_tokens: int) -> tuple[int, ...]:
    """The prompt as a tuple. Raises ValueError for what is not a request at all."""
    tokens = tuple(int(token) for token in prompt)
    if not tokens:
        raise ValueError("the prompt is empty; it needs one token at least")
    if any(token < 0 for token in tokens):
        raise ValueError("the prompt holds a negative token")
    if max_tokens < 1:
        raise ValueError(f"max_tokens is {max_tokens}; it is 1 at least")
    return tokens
