"""No order of clients, faults and timing loses a request, tells it twice, delivers a wrong token, or leaks."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving.serving_chaos import drawn, perform


@settings(max_examples=500, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), doings=st.integers(10, 60), faults=st.integers(0, 10))
def test_whatever_happens_every_request_ends_once_and_everything_comes_to_rest(
    seed: int, doings: int, faults: int
) -> None:
    perform(drawn(seed, doings, faults))
