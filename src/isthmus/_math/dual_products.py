"""``X b`` and ``Xᵀ a`` in one pass over the non-zeros: half the memory traffic, and no transposed copy."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

FUSED_FROM = 100_000  # non-zeros; below, compiling and calling cost more than they save


def both_products(X: sp.csr_matrix, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``X b`` and ``Xᵀ a`` for arrays ``a`` of shape (n, m) and ``b`` of shape (d, m)."""
    if X.nnz < FUSED_FROM:
        return np.asarray(X @ b), np.asarray(X.T @ a)
    top, bottom = np.zeros_like(a), np.zeros_like(b)
    _compiled()(X.indptr, X.indices, X.data, a, b, top, bottom)
    return top, bottom


@functools.lru_cache(maxsize=1)
def _compiled() -> Callable:
    from isthmus._math.dual_products_kernels import add_both_products

    return add_both_products
