"""The model that the simulated device runs: a few integers with the habits of a language model.

Greedy decoding is exact and repeatable on any machine, and every mistake in the handling of KV shows: the scores of
the next token are a weighted sum over *all* entries of the lane's prefix, with a weight per place, so an entry that is
missing, doubled, swapped or another lane's gives other scores (source design 7, 16: correctness before throughput).

Shapes: an entry is int64 [WIDTH], a prefix int64 [length, WIDTH], logits float32 [vocabulary]. All numbers are
whole and below 2**24, hence exact as float32.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence

import attrs
import numpy as np
import numpy.typing as npt

from calfsm.serving.runtime import Golden, Manifest

Ints = npt.NDArray[np.int64]
Logits = npt.NDArray[np.float32]

WIDTH = 8
PRIME = 65521  # the largest prime below 2**16: a product of two residues, summed over a context, fits int64
LONGEST = 1 << 20
GOLDEN_TOKENS = 4


@attrs.frozen(eq=False)
class Model:
    """The parameters. All int64 from 1 to PRIME - 1, so that no factor is ever zero.

    `tokens` [vocabulary, WIDTH]; `positions` [context, WIDTH]; `places` [context, WIDTH], the weight of the n-th
    entry of a prefix; `head` [WIDTH, vocabulary].
    """

    tokens: Ints
    positions: Ints
    places: Ints
    head: Ints

    def entries(self, tokens: npt.NDArray[np.int32], positions: npt.NDArray[np.int32]) -> Ints:
        """KV entries int64 [n, WIDTH] of `n` tokens. Numbers out of range wrap: hardware reads what it is given."""
        rows = self.tokens[tokens.astype(np.int64) % len(self.tokens)]
        return rows * self.positions[positions.astype(np.int64) % len(self.positions)] % PRIME

    def logits(self, prefix: Ints) -> Logits:
        """Scores float32 [vocabulary] of the token after `prefix` [n, WIDTH]. The greatest is greatest alone."""
        hidden = (prefix * self.places[: len(prefix)]).sum(axis=0) % PRIME
        return self.scores(hidden)

    def scores(self, hidden: Ints) -> Logits:
        """Scores float32 [vocabulary] of a hidden state int64 [WIDTH]; among equals the lowest token is lifted."""
        scores = hidden @ self.head % PRIME
        scores[np.argmax(scores)] += 1
        return scores.astype(np.float32)


def model_of(manifest: Manifest) -> Model:
    """The model that a manifest's digest stands for. Raises ValueError if the manifest makes no sense."""
    complaint = objection(manifest)
    if complaint:
        raise ValueError(complaint)
    return _draw(manifest.digest.lower(), manifest.vocabulary, manifest.context)


def objection(manifest: Manifest) -> str:
    """Why this manifest cannot be run (source design 10.2), or an empty string."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", manifest.digest):
        return f"manifest {manifest.name}: digest must be 64 hexadecimal digits (SHA-256), got {manifest.digest!r}"
    sizes = {
        "batch": (manifest.batch, 1, 1024),
        "lanes": (manifest.lanes, 1, 65536),
        "context": (manifest.context, 1, LONGEST),
        "prefill_tokens": (manifest.prefill_tokens, 1, manifest.context),
        "vocabulary": (manifest.vocabulary, 2, LONGEST),
        "memory": (manifest.memory, 1, None),
        "chips": (manifest.chips, 1, 2),
    }
    for name, (size, least, most) in sizes.items():
        if size < least or (most is not None and size > most):
            allowed = f"at least {least}" if most is None else f"{least} to {most}"
            return f"manifest {manifest.name}: {name} must be {allowed}, got {size}"
    return ""


def reference(manifest: Manifest, prompt: Sequence[int], tokens: int) -> list[int]:
    """The `tokens` tokens that greedy decoding of `prompt` must yield, worked out without a device.

    Raises ValueError if the prompt is empty, has a token outside the vocabulary, or does not fit the context.
    """
    model = model_of(manifest)
    if not prompt:
        raise ValueError("prompt is empty; a prompt has at least one token")
    strange = [token for token in prompt if not 0 <= token < manifest.vocabulary]
    if strange:
        raise ValueError(f"prompt has token {strange[0]}; the vocabulary is 0 to {manifest.vocabulary - 1}")
    # The last token is answered, never fed back, so it needs no KV.
    steps = len(prompt) + max(0, tokens - 1)
    if steps > manifest.context:
        raise ValueError(f"{len(prompt)} + {tokens} tokens need {steps} KV entries; the context is {manifest.context}")
    sequence = list(prompt)
    hidden = [0] * WIDTH
    for position in range(steps):
        for column in range(WIDTH):
            entry = int(model.tokens[sequence[position], column]) * int(model.positions[position, column]) % PRIME
            hidden[column] = (hidden[column] + entry * int(model.places[position, column])) % PRIME
        if position >= len(prompt) - 1:
            sequence.append(int(np.argmax(model.scores(np.array(hidden, dtype=np.int64)))))
    return sequence[len(prompt) : len(prompt) + tokens]


def golden(manifest: Manifest) -> Golden:
    """A fixed prompt of this model and the tokens that must follow it; short enough for any prefill job."""
    longest = min(GOLDEN_TOKENS, manifest.prefill_tokens, manifest.context)
    prompt = tuple((7 * place + 1) % manifest.vocabulary for place in range(longest))
    tokens = min(GOLDEN_TOKENS, manifest.context - longest + 1)
    return Golden(prompt, tuple(reference(manifest, prompt, tokens)))


def small_manifest(
    name: str = "small",
    *,
    seed: int = 0,
    batch: int = 2,
    lanes: int | None = None,
    context: int = 64,
    prefill_tokens: int = 16,
    vocabulary: int = 64,
    memory: int = 1 << 20,
    runtime: str = "0.7.6",
    chips: int = 2,
) -> Manifest:
    """A manifest of a model small enough for tests. Another `name` or `seed` is another model.

    Twice as many lanes as its batch unless told, so that ping and pong can each carry a full batch. What makes no sense
    is kept as it is, for the device to refuse; only then is there no golden answer.
    """
    manifest = Manifest(
        name=name,
        digest=hashlib.sha256(f"{name}:{seed}".encode()).hexdigest(),
        batch=batch,
        lanes=2 * batch if lanes is None else lanes,
        context=context,
        prefill_tokens=prefill_tokens,
        vocabulary=vocabulary,
        memory=memory,
        runtime=runtime,
        chips=chips,
        golden=Golden((), ()),
    )
    return manifest if objection(manifest) else attrs.evolve(manifest, golden=golden(manifest))


@functools.lru_cache(maxsize=32)
def _draw(digest: str, vocabulary: int, context: int) -> Model:
    return Model(
        tokens=_table(digest, "tokens", vocabulary, WIDTH),
        positions=_table(digest, "positions", context, WIDTH),
        places=_table(digest, "places", context, WIDTH),
        head=_table(digest, "head", WIDTH, vocabulary),
    )


def _table(digest: str, label: str, rows: int, columns: int) -> Ints:
    # A hash and not numpy's generators, whose streams may change between numpy versions.
    stream = hashlib.shake_256(f"{digest}:{label}".encode()).digest(4 * rows * columns)
    table = np.frombuffer(stream, dtype="<u4").astype(np.int64) % (PRIME - 1) + 1
    table = table.reshape(rows, columns)
    table.setflags(write=False)  # shared by every device that runs this model
    return table
