"""Whether a profile can be served with. Those built from specs can; others are made by hand (`_replace`)."""

from __future__ import annotations

import math

from calfsm.engine.system import Profile, System


def fitting(profile: Profile, system: System) -> None:
    """Raises TypeError for what is no profile, ValueError for one whose numbers cannot be served with."""
    if not isinstance(profile, Profile):
        raise TypeError(f"a profile is a Profile, as in calfsm.tables.phase_a.PROFILE, not {profile!r}")
    if profile.system != system.name:
        raise ValueError(f"profile {profile.name} is of the system {profile.system}, not of {system.name}")
    needed = {state.deadline[0] for part in system.parts for state in part.table.states if state.deadline is not None}
    for name in sorted(needed - set(profile.deadlines)):
        raise ValueError(f"profile {profile.name} does not say how long {name} is")
    for name, seconds in profile.deadlines.items():
        if name not in needed:
            raise ValueError(f"{system.name} has no deadline {name}; it has {', '.join(sorted(needed))}")
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not number or not math.isfinite(seconds) or seconds <= 0:
            raise ValueError(f"deadline {name} of profile {profile.name} is {seconds!r}; it is seconds, above 0")
    for name, value in profile.params.items():
        if type(value) is int and value < 1:
            raise ValueError(f"parameter {name} of profile {profile.name} is {value}; it is 1 at least")
