"""Compiled systems as models of other checkers: Promela for SPIN, Murphi for Rumur and CMurphi.

The models are for reading and for a second opinion: they have the spec's names, they take exactly the steps that the
engine takes, and their checkers count the same states and transitions (docs/oracles.md says how the counts relate).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from calfsm.engine.system import System
from calfsm.export.murphi import murphi
from calfsm.export.promela import promela
from calfsm.export.scene import CannotExport

__all__ = ["FORMATS", "CannotExport", "murphi", "promela"]

FORMATS: dict[str, Callable[[System, Mapping[str, int] | None], str]] = {"promela": promela, "murphi": murphi}
"""What can be written: a function from a system and a scope to the text of a model."""
