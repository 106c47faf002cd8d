"""Functions on arrays, compiled by numba when they are first called."""

from __future__ import annotations

from collections.abc import Callable
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
