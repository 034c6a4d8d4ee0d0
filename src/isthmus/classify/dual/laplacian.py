"""The bipartite graph of a document × word matrix and its normalised Laplacian, never formed as one square matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus.features.gram import inverse_roots


def normalised_edges(X: sp.spmatrix) -> sp.csr_matrix:
    """Edge weights ``S = D_r^{-1/2} X D_c^{-1/2}`` of the bipartite graph of ``X``.

    The graph's normalised Laplacian is ``M = I - [[0, S], [Sᵀ, 0]]`` (Sindhwani et al. 2008, Eq. 1). An empty row or
    column is a node without edges: its part of ``S`` is zero.
    """
    X = sp.csr_matrix(X, dtype=np.float64)
    rows = inverse_roots(np.asarray(X.sum(axis=1)).ravel())
    columns = inverse_roots(np.asarray(X.sum(axis=0)).ravel())
    edges = X.copy()
    edges.data *= np.repeat(rows, np.diff(X.indptr)) * columns[X.indices]
    return edges


class BipartiteLaplacian:
    """``M^p`` as a product, for the stacked scores of rows (first ``n``) and columns (last ``d``)."""

    def __init__(self, X: sp.spmatrix, power: int = 1):
        self.edges = normalised_edges(X)
        self.power = int(power)

    def dot(self, scores: np.ndarray) -> np.ndarray:
        n = self.edges.shape[0]
        for _ in range(self.power):
            top, bottom = both_products(self.edges, scores[:n], scores[n:])
            scores = scores.copy()
            scores[:n] -= top
            scores[n:] -= bottom
        return scores


# -- ``X b`` and ``Xᵀ a`` in one pass over the non-zeros: half the memory traffic, and no transposed copy


FUSED_FROM = 100_000  # non-zeros; below, compiling and calling cost more than they save


def both_products(X: sp.csr_matrix, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if X.nnz < FUSED_FROM:
        return np.asarray(X @ b), np.asarray(X.T @ a)
    from isthmus.classify.dual.product_kernels import add_both_products

    top, bottom = np.zeros_like(a), np.zeros_like(b)
    add_both_products(X.indptr, X.indices, X.data, a, b, top, bottom)
    return top, bottom
