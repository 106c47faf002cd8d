"""Judging specs: everything that is wrong with them, at once, each finding with its place and the way out.

Each rule is a small generator from a spec to findings; rules stand in modules by family. A rule that cannot judge
something because of an error that another rule reports passes over that bit, and judges the rest. What a code means is
in `explanations/CODE.md`.
"""

from __future__ import annotations

from calfsm.check.explain import Explanation, codes, explain
from calfsm.check.files import CheckResult, check_files
from calfsm.check.rules import check_machine, check_profile, check_system

__all__ = [
    "CheckResult",
    "Explanation",
    "check_files",
    "check_machine",
    "check_profile",
    "check_system",
    "codes",
    "explain",
]
