"""How numba is asked to compile: our functions on arrays, and those of generated text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """The function, compiled; its machine code is kept beside its module or, where that cannot be, in the user's cache.

    Where nothing can be kept it is compiled anew in every process.
    """
    try:
        kept: Function = njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:
        kept = njit(function, nogil=True, error_model="numpy")
    return kept


_reading = False


@contextmanager
def reading() -> Iterator[None]:
    """Inside, generated text finds its machine code on the disk."""
    global _reading
    _reading = True
    try:
        yield
    finally:
        _reading = False


def generated(signature: str, **options: Any) -> Callable[[Function], Function]:
    """What generated text calls `njit`.

    Machine code holds all that it calls. So when it is read, functions that only others of the text call (those without
    a wrapper for Python) need not be: reading them one by one takes most of the time until the first state.
    """
    if _reading and options.get("no_cpython_wrapper"):
        return lambda function: function
    compiled: Any = njit(signature, **options)
    return compiled  # type: ignore[no-any-return]
