"""Compiled loops of :mod:`isthmus.classify.dual.laplacian`; importing this module loads numba."""

from __future__ import annotations

from isthmus._math.compiled import compiled


@compiled
def add_both_products(indptr, indices, data, a, b, top, bottom):
    """``top += X b`` and ``bottom += Xᵀ a``; two columns, the commonest case, are kept in registers."""
    m = a.shape[1]
    if m == 2:
        for i in range(indptr.shape[0] - 1):
            sum0, sum1, left, right = 0.0, 0.0, a[i, 0], a[i, 1]
            for k in range(indptr[i], indptr[i + 1]):
                j, x = indices[k], data[k]
                sum0 += x * b[j, 0]
                sum1 += x * b[j, 1]
                bottom[j, 0] += x * left
                bottom[j, 1] += x * right
            top[i, 0] += sum0
            top[i, 1] += sum1
        return
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j, x = indices[k], data[k]
            for c in range(m):
                top[i, c] += x * b[j, c]
                bottom[j, c] += x * a[i, c]
