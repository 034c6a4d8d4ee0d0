"""Compile loops with numba; importing this module loads numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function at its first call, without Python's lock, and cache the result for other processes.

    The cache is next to the module, in the user's cache folder, or in ``NUMBA_CACHE_DIR``; if none is writable, every
    process compiles for itself.

    Parameters
    ----------
    function : callable, optional
        If omitted, a decorator is returned.
    **options
        Options of ``numba.njit``.

    Returns
    -------
    callable
    """
    if function is None:
        return lambda inner: compiled(inner, **options)
    try:
        return njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # numba found no folder
        return njit(nogil=True, **options)(function)
