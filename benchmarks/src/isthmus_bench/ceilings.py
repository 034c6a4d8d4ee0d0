"""What one core of this machine can do at most, and what that leaves of a measured loop (the roofline model)."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import numpy as np

from isthmus._utils import one_blas_thread

_TRIES = 5
_SIDE = 1_000  # of the matrices that are multiplied
_COPIED = 64_000_000  # bytes, more than any cache holds


@cache
def ceilings() -> tuple[float, float]:
    """Operations a second in a product of dense matrices, bytes a second read and written by a copy."""
    square, block = np.ones((_SIDE, _SIDE)), np.ones(_COPIED // 8)
    product, copied = np.empty_like(square), np.empty_like(block)
    with one_blas_thread():
        operations = 2 * _SIDE**3 / _least(lambda: np.matmul(square, square, out=product))
    return operations, 2 * _COPIED / _least(lambda: np.copyto(copied, block))


def against_ceilings(seconds: float, operations: float, moved: float) -> dict:
    """Seconds that a core needs at least for the operations or for moving the bytes, and what bounds them."""
    most_operations, most_bytes = ceilings()
    arithmetic, memory = operations / most_operations, moved / most_bytes
    least = max(arithmetic, memory)
    return {
        "least_s": least,
        "of_ceiling": least / seconds,
        "bound": "arithmetic" if arithmetic > memory else "memory",
        "gflops_ceiling": most_operations / 1e9,
        "gbytes_ceiling": most_bytes / 1e9,
    }


def _least(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(_TRIES):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)
