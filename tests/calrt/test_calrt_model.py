"""The model of the simulated device: exact, repeatable, and spoilt by every mistake with KV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from calrt_rig import DECODE, MANIFEST, PREFILL, ready
from hypothesis import given, settings
from hypothesis import strategies as st

from calfsm_calrt import golden, reference, small_manifest
from calfsm_calrt.model import PRIME, WIDTH, model_of, objection

TOKENS = st.integers(0, MANIFEST.vocabulary - 1)
PROMPTS = st.lists(TOKENS, min_size=1, max_size=MANIFEST.prefill_tokens)


def plainly(prompt: Sequence[int], tokens: int) -> list[int]:
    """Greedy decoding once more, the slow way: no numpy, everything from the start for every token."""
    model = model_of(MANIFEST)
    sequence = list(prompt)
    for _ in range(tokens):
        hidden = [0] * WIDTH
        for place, token in enumerate(sequence):
            for column in range(WIDTH):
                entry = int(model.tokens[token][column]) * int(model.positions[place][column]) % PRIME
                hidden[column] += entry * int(model.places[place][column])
        scores = [
            sum(h % PRIME * int(model.head[c][v]) for c, h in enumerate(hidden)) % PRIME
            for v in range(MANIFEST.vocabulary)
        ]
        sequence.append(scores.index(max(scores)))
    return sequence[len(prompt) :]


@settings(max_examples=25, deadline=None)
@given(PROMPTS, st.integers(1, 6))
def test_the_reference_agrees_with_plain_arithmetic(prompt: list[int], tokens: int) -> None:
    assert reference(MANIFEST, prompt, tokens) == plainly(prompt, tokens)


@settings(max_examples=60, deadline=None)
@given(PROMPTS, st.integers(1, 12), st.integers(0, 3))
def test_greedy_decoding_on_the_device_yields_the_reference(prompt: list[int], tokens: int, lane: int) -> None:
    rig = ready()
    assert rig.decode(lane, prompt, tokens) == reference(MANIFEST, prompt, tokens)
    assert not rig.device.misuses


@settings(max_examples=40, deadline=None)
@given(PROMPTS, st.data())
def test_a_prompt_in_two_prefill_jobs_yields_the_same_tokens(prompt: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(prompt) - 1))
    rig = ready()
    pair = rig.pair()
    if cut:
        rig.step(pair, PREFILL, 0, 0, prompt[:cut])
        rig.device.kv.apply(0, cut)
    assert [rig.step(pair, PREFILL, 0, cut, prompt[cut:])] == reference(MANIFEST, prompt, 1)


@settings(max_examples=40, deadline=None)
@given(PROMPTS, st.integers(0, 4))
def test_a_lost_commit_changes_the_tokens(prompt: list[int], lost: int) -> None:
    assert spoilt(prompt, lost, 0) != reference(MANIFEST, prompt, 10)


@settings(max_examples=40, deadline=None)
@given(PROMPTS, st.integers(0, 4))
def test_a_doubled_commit_changes_the_tokens(prompt: list[int], doubled: int) -> None:
    assert spoilt(prompt, doubled, 2) != reference(MANIFEST, prompt, 10)


def spoilt(prompt: list[int], wrong: int, advance: int) -> list[int]:
    """Ten tokens where the commit of decode job `wrong` advances its lane by `advance` and not by 1."""
    rig = ready()
    pair = rig.pair()
    answer = [rig.step(pair, PREFILL, 0, 0, prompt)]
    believed = committed = len(prompt)
    rig.device.kv.apply(0, committed)
    for job in range(9):
        answer.append(rig.step(pair, DECODE, 0, believed, answer[-1:]))
        believed += 1
        committed += advance if job == wrong else 1
        rig.device.kv.apply(0, committed)
    assert any("committed" in misuse for misuse in rig.device.misuses)
    return answer


@settings(max_examples=40, deadline=None)
@given(PROMPTS, PROMPTS)
def test_another_lanes_prefix_changes_the_scores(one: list[int], other: list[int]) -> None:
    rig = ready()
    pair = rig.pair()
    rig.step(pair, PREFILL, 0, 0, one)
    rig.step(pair, PREFILL, 1, 0, other)
    rig.device.kv.apply(0, len(one))
    rig.device.kv.apply(1, len(other))
    rig.step(pair, DECODE, 0, len(one), [5])
    mine = pair.sink.logits[0].copy()
    rig.step(pair, DECODE, 1, len(other), [5])
    assert np.array_equal(mine, pair.sink.logits[0]) == (one == other)


@settings(max_examples=60, deadline=None)
@given(PROMPTS)
def test_the_scores_are_whole_numbers_with_one_greatest(prompt: list[int]) -> None:
    rig = ready()
    pair = rig.pair()
    rig.step(pair, PREFILL, 0, 0, prompt)
    scores = pair.sink.logits[0]
    assert scores.dtype == np.float32
    assert np.array_equal(scores, np.round(scores))
    assert (scores < 2**24).all()
    assert (scores == scores.max()).sum() == 1


def test_the_scores_of_a_very_long_prefix_do_not_overflow() -> None:
    model = model_of(small_manifest(context=1 << 15, vocabulary=4))
    prefix = np.full((1 << 15, WIDTH), PRIME - 1, dtype=np.int64)
    sums = [sum(int(weight) * (PRIME - 1) for weight in model.places[:, column]) for column in range(WIDTH)]
    scores = [sum(s * int(model.head[c, v]) for c, s in enumerate(sums)) % PRIME for v in range(4)]
    scores[scores.index(max(scores))] += 1
    assert model.logits(prefix).tolist() == scores


def test_another_digest_is_another_model_and_the_same_digest_the_same() -> None:
    prompt = [3, 1, 4, 1, 5]
    assert reference(small_manifest(seed=1), prompt, 8) != reference(small_manifest(seed=2), prompt, 8)
    assert reference(small_manifest(seed=1), prompt, 8) == reference(small_manifest(seed=1), prompt, 8)


def test_the_golden_answer_is_what_a_healthy_device_says_and_never_changes() -> None:
    known = golden(MANIFEST)
    assert ready().decode(0, known.prompt, len(known.tokens)) == list(known.tokens)
    assert (known.prompt, known.tokens) == ((1, 8, 15, 22), (37, 35, 22, 57))


def test_the_golden_prompt_fits_the_smallest_model_there_can_be() -> None:
    smallest = small_manifest(batch=1, context=1, prefill_tokens=1, vocabulary=2)
    known = golden(smallest)
    assert len(known.prompt) == len(known.tokens) == 1
    assert ready(manifest=smallest).decode(0, known.prompt, 1) == list(known.tokens)


def test_the_last_token_of_a_full_context_needs_no_room() -> None:
    tight = small_manifest(context=8, prefill_tokens=8)
    assert len(reference(tight, [1, 2, 3, 4], 5)) == 5
    with pytest.raises(ValueError, match=r"4 \+ 6 tokens need 9 KV entries; the context is 8"):
        reference(tight, [1, 2, 3, 4], 6)


@pytest.mark.parametrize(
    ("prompt", "complaint"),
    [([], "prompt is empty"), ([64], "token 64; the vocabulary is 0 to 63"), ([-1], "token -1")],
)
def test_the_reference_refuses_a_prompt_that_no_device_could_run(prompt: list[int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        reference(MANIFEST, prompt, 1)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"digest": "abc"}, "digest must be 64 hexadecimal digits"),
        ({"digest": "g" * 64}, "digest must be 64 hexadecimal digits"),
        ({"digest": "a" * 64 + "\n"}, "digest must be 64 hexadecimal digits"),
        ({"batch": 0}, "batch must be 1 to 1024, got 0"),
        ({"context": 0}, "context must be 1 to"),
        ({"prefill_tokens": 65}, "prefill_tokens must be 1 to 64, got 65"),
        ({"vocabulary": 1}, "vocabulary must be 2 to"),
        ({"memory": 0}, "memory must be at least 1, got 0"),
        ({"chips": 3}, "chips must be 1 to 2, got 3"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused_by_name(change: dict[str, Any], complaint: str) -> None:
    manifest = attrs.evolve(MANIFEST, **change)
    assert complaint in objection(manifest)
    with pytest.raises(ValueError, match="manifest small: "):
        reference(manifest, [1], 1)
