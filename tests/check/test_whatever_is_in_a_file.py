"""Whatever a file holds, checking it ends with findings and never with an exception."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from calfsm.check import check_files, codes

SPECS = Path(__file__).parents[1] / "bad_specs"
TEXTS = [path.read_bytes() for path in sorted(SPECS.rglob("*.yaml")) if path.stat().st_size < 10_000]
WORDS = sorted({word for text in TEXTS for word in re.findall(rb"[\w.]+|[^\w\s]+", text)})
KNOWN = set(codes())

HUGE = b"""\
machine: door
vars: {v: {int: [-9999999999999999999, 9999999999999999999]}}
states: {a: {}}
events: {e: {by: client}}
transitions: {a: {e: {to: a, set: {v: v * v}}}}
"""

fuzz = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def folder(tmp_path):
    """Sound machines and a sound system beside the file, so that a mutated system or profile finds what it names."""
    for name in ("machines", "systems"):
        (tmp_path / name).mkdir()
    for name in ("machines/job.yaml", "machines/worker.yaml", "machines/cart.yaml", "systems/shop.yaml"):
        (tmp_path / name).write_bytes((SPECS / name).read_bytes())
    return tmp_path


def assert_checked(folder: Path, content: bytes) -> None:
    path = folder / "it.yaml"
    path.write_bytes(content)
    lines = content.count(b"\n") + content.count(b"\r") + 1
    for finding in check_files([path]).findings:
        assert finding.code in KNOWN
        assert finding.message
        assert "\n" not in finding.message
        assert finding.place.line >= 1
        assert finding.place.column >= 1
        assert finding.place.file != str(path) or finding.place.line <= lines + 1


@fuzz
@given(content=st.binary(max_size=300))
@example(content=b"\x00")
@example(content=b"\xef\xbb\xbfmachine: \xef\xbb\xbf")
@example(content=b"machine: {machine: [machine]}")
@example(content=b"? machine\n: door\n? states\n: ? open\n  : ~\n? events\n: ~")
@example(content=b"system: s\nparts: {p: {machine: p, per: p, count: p}}\nactions: ~")
@example(content=b"system: s\nparts: ~\nactions: ~\ndefine: {a: a, b: a and c, c: b}\nhome: a")
@example(content=b"profile: p\nsystem: [s]")
@example(content=b"%YAML 9.9\n---\nmachine: door")
@example(content=HUGE)
def test_any_bytes_are_checked(folder, content):
    assert_checked(folder, content)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A spec of this folder, with some of its words replaced, removed or repeated."""
    tokens = re.findall(rb"[\w.]+|\s+|[^\w\s]", draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(0, len(tokens) - 1)))
        width = draw(st.integers(0, 3))
        tokens[at : at + width] = draw(st.lists(st.sampled_from([*WORDS, b" ", b"\n", b"\n  "]), max_size=3))
    return b"".join(tokens)


@settings(fuzz, max_examples=600)
@given(content=mutated())
def test_any_mutation_of_a_spec_is_checked(folder, content):
    assert_checked(folder, content)


KEYS = ["machine", "system", "profile", "states", "events", "vars", "params", "transitions", "anywhere", "parts"]
KEYS += ["actions", "define", "always", "eventually", "home", "fair", "deadlines", "doc", "by", "to", "stay", "when"]
KEYS += ["else", "set", "pick", "choose", "fire", "effect", "int", "enum", "ref", "bool", "cycle", "initial", "final"]
KEYS += ["awaits", "deadline", "after", "event", "count", "per", "serves", "explores", "a", "b"]
KEYS += ["all a", "a where b == a"]
LEAVES = ["a", "b", "a.b", "1", "0", "-1", "true", "none", "client", "clock", "a is b", '""', "~"]
LEAVES += ["count(a for a in a)", "not a or b.a == none", "a // b", "all(a.b in {a, b} for a in b if a.b > 1)"]
TREES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4).map(
            lambda items: "{" + ", ".join(f'"{key}": {value}' for key, value in items.items()) + "}"
        )
    ),
    max_leaves=25,
)


@settings(fuzz, max_examples=300)
@given(kind=st.sampled_from(["machine", "system", "profile"]), sections=st.dictionaries(st.sampled_from(KEYS), TREES))
def test_any_arrangement_of_the_languages_words_is_checked(folder, kind, sections):
    lines = [f"{kind}: a", *(f"{key}: {value}" for key, value in sections.items() if key != kind)]
    assert_checked(folder, "\n".join(lines).encode())
