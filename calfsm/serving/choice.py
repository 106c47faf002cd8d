"""What to try: an action of the system, with its picks and choices."""

from __future__ import annotations

from collections.abc import Mapping

import attrs


@attrs.frozen
class Choice:
    """An action to apply, with its picks and choices, and in plain words why (empty: nothing went wrong)."""

    action: str
    arguments: Mapping[str, int]
    reason: str = ""
