"""Machines as `transitions` machines, found through the entry point group `calfsm.adapters` as `transitions`."""

from __future__ import annotations

from .convert import GuardedMachine, to_transitions

NAME = "transitions"

__all__ = ["NAME", "GuardedMachine", "to_transitions"]
