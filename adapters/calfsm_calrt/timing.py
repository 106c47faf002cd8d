"""How long the simulated device takes over things."""

from __future__ import annotations

import math

import attrs


def _duration(_instance: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"Timing.{attribute.name} must be a number of seconds, 0 or more, got {value!r}")


@attrs.frozen
class Timing:
    """Seconds of virtual time. Raises ValueError for a negative or endless duration.

    A job spends `load` on its way to the device (H2D; status SUBMITTED), then its compute time (RUNNING):
    `prefill_token` for each token of all lanes, or `decode_step` however many lanes take part; then `store` on the way
    back (D2H; still RUNNING). Only compute needs the compute units, so load and store of one bank overlap the
    other bank's compute (source design 5.2). `notice` is the delay of a notification.
    """

    load: float = attrs.field(default=0.0005, validator=_duration)
    prefill_token: float = attrs.field(default=0.0005, validator=_duration)
    decode_step: float = attrs.field(default=0.004, validator=_duration)
    store: float = attrs.field(default=0.0005, validator=_duration)
    notice: float = attrs.field(default=0.0, validator=_duration)
    configure: float = attrs.field(default=2.0, validator=_duration)
    reset_configuration: float = attrs.field(default=0.2, validator=_duration)
    clear_dynamic_mem: float = attrs.field(default=0.1, validator=_duration)
    reset_ccu: float = attrs.field(default=0.05, validator=_duration)
    device_reset: float = attrs.field(default=1.0, validator=_duration)
