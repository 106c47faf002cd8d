"""Exploring: every reachable state, what holds in all of them, and the shortest way to one where it does not."""
