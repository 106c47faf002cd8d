"""A request as its client sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from operator import index

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

    `tokens` grows as tokens are delivered; a token is delivered once, and only after its KV was committed (source
    design 7). `outcome` is None until the end; `reason` then says why, unless it finished.
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
    def need(self) -> int:
        """The KV that it may come to need, in tokens. The last token is never fed back, so it needs none."""
        return len(self.prompt) + self.max_tokens - 1

    @property
    def text(self) -> tuple[int, ...]:
        """The prompt and all tokens so far: what a prefill that begins again is given."""
        return (*self.prompt, *self.tokens)

    def is_last(self, token: int) -> bool:
        """Whether `token`, delivered next, is the last one wanted."""
        return token in self.stop or len(self.tokens) + 1 >= self.max_tokens


def checked(
    number: int,
    prompt: Sequence[int],
    max_tokens: int,
    stop: Iterable[int],
    on_token: Callable[[int], None] | None,
) -> Request:
    """A request of these. Raises ValueError for what is none, TypeError for tokens or counts that are not integers."""
    tokens = tuple(map(index, prompt))
    if not tokens:
        raise ValueError("the prompt is empty; it needs one token at least")
    if min(tokens) < 0:
        raise ValueError(f"the prompt holds token {min(tokens)}; no token is negative")
    if index(max_tokens) < 1:
        raise ValueError(f"max_tokens is {max_tokens}; it is 1 at least")
    return Request(number, tokens, index(max_tokens), frozenset(map(index, stop)), on_token)
