"""Few sequences that cover every goal: on graphs that can be looked at, and on any others."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from calfsm.paths.cover import cover

QUIET = settings(max_examples=200, deadline=None, derandomize=True, database=None)

Graph = dict[int, list[tuple[str, int]]]
Goals = frozenset[str]


def graph(**edges: str) -> Graph:
    """`s0="a1 b2"`: from state 0 action a leads to 1 and b to 2."""
    return {int(state[1:]): [(edge[0], int(edge[1:])) for edge in out.split()] for state, out in edges.items()}


def each_edge(state: int, action: str) -> Goals:
    return frozenset([f"{state}{action}"])


def actions(sequences: list[list[tuple[str, int]]]) -> list[str]:
    return ["".join(action for action, _ in sequence) for sequence in sequences]


def test_one_sequence_covers_what_one_way_leads_through() -> None:
    ring = graph(s0="a1", s1="b2", s2="c0")
    assert cover(ring, 0, each_edge) == [[("a", 1), ("b", 2), ("c", 0)]]


def test_a_sequence_goes_on_to_the_nearest_goal_that_is_left() -> None:
    loops = graph(s0="x0 a1", s1="y1 b0")
    assert actions(cover(loops, 0, each_edge)) == ["xayb"]


def test_where_no_goal_can_be_reached_any_more_a_new_sequence_begins() -> None:
    fork = graph(s0="a1 b2", s1="c1", s2="")
    assert actions(cover(fork, 0, each_edge)) == ["ac", "b"]


def test_a_sequence_that_is_long_enough_turns_to_no_other_goal() -> None:
    ring = graph(s0="a1", s1="b2", s2="c0")
    assert actions(cover(ring, 0, each_edge, longest=1)) == ["a", "ab", "abc"]


def test_goals_that_cannot_be_reached_are_left_and_states_without_edges_may_be_left_out() -> None:
    parts = graph(s0="a1", s7="z0")
    assert actions(cover(parts, 0, each_edge)) == ["a"]
    assert cover({}, 0, each_edge) == []
    assert cover(graph(s7="z0"), 0, each_edge) == []


def test_an_edge_without_a_goal_is_only_walked_on_the_way_to_one() -> None:
    ring = graph(s0="a1 d0", s1="b2", s2="c0")
    assert actions(cover(ring, 0, lambda state, action: frozenset("!") if action == "c" else frozenset())) == ["abc"]


def test_progress_tells_what_is_covered_of_all_that_there_is() -> None:
    told: list[tuple[int, int]] = []
    parts = graph(s0="a1", s1="b0", s7="z0")
    cover(parts, 0, each_edge, progress=lambda covered, of: told.append((covered, of)))
    assert told == [(1, 3), (2, 3)]


def graphs() -> st.SearchStrategy[Graph]:
    nodes = st.integers(0, 6)
    edges = st.lists(nodes, max_size=4).map(lambda out: [("abcd"[index], after) for index, after in enumerate(out)])
    return st.dictionaries(nodes, edges, max_size=7)


@QUIET
@given(graphs(), st.integers(1, 6), st.integers(1, 5))
def test_every_goal_that_can_be_reached_is_covered_by_real_walks_of_bounded_length(
    made: Graph, longest: int, kinds: int
) -> None:
    def goals_of(state: int, action: str) -> Goals:
        return frozenset([str((state * 4 + "abcd".index(action)) % kinds), f"{state}{action}"])

    reached, queue = {0}, [0]
    while queue:
        fresh = {after for _, after in made.get(queue.pop(), [])} - reached
        reached |= fresh
        queue += fresh
    wanted = {goal for state in reached for action, _ in made.get(state, []) for goal in goals_of(state, action)}
    covered: set[str] = set()
    for sequence in cover(made, 0, goals_of, longest=longest):
        here, before = 0, set(covered)
        assert 0 < len(sequence) < longest + len(reached) + 1
        for action, after in sequence:
            assert (action, after) in made[here]
            covered |= goals_of(here, action)
            here = after
        assert covered > before  # no sequence is for nothing
    assert covered == wanted
