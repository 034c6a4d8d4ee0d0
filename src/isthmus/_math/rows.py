"""Lengths and means of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize


def unit_rows(rows: Any) -> Any:
    """Rows of length one, dense or sparse; empty rows stay empty."""
    if sp.issparse(rows):
        return normalize(rows)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(lengths > 0, lengths, 1.0)[:, None]


def group_means(X: sp.csr_matrix, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Mean row of each group; ``codes`` < 0 belong to none."""
    rows = np.flatnonzero(codes >= 0)
    picked = sp.csr_matrix((np.ones(len(rows)), (codes[rows], rows)), shape=(n_groups, X.shape[0]))
    counts = np.bincount(codes[rows], minlength=n_groups)
    return (picked @ X).toarray() / np.maximum(counts, 1)[:, None]
