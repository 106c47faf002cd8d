"""Telling observers what is done, so that one that raises keeps nobody from hearing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Told = TypeVar("Told")


def tell(observers: Iterable[list[Callable[[Told], None]]], told: Told) -> None:
    """Call each observer with `told`, a value that stands. Raises an ExceptionGroup of what they raised, all told.

    Each observer stands in a list of its own, so that one that was registered twice can be taken away once.
    """
    errors: list[Exception] = []
    for (observer,) in observers:
        try:
            observer(told)
        except Exception as error:
            errors.append(error)
    if errors:
        raise ExceptionGroup(f"{told} is done; observers raised", errors)
