"""Weights for counts: tf-idf."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import scale_to_unit


def as_counts(X: Any) -> sp.csr_matrix:
    """CSR without repeated entries; the input's own arrays when it is so already."""
    if not sp.issparse(X):
        return sp.csr_matrix(np.asarray(X))
    X = X if isinstance(X, sp.csr_matrix) else sp.csr_matrix(X)  # a new one would look anew for repeated entries
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def document_frequency(X: sp.csr_matrix) -> np.ndarray:
    """Return the number of rows in which each column occurs."""
    return np.bincount(X.indices[X.data != 0], minlength=X.shape[1])


def least_documents(n_documents: int) -> int:
    """Return in how many documents a term must occur by default: rare terms of few documents are worth keeping.

    >>> [least_documents(n) for n in (199, 200, 1_000)]
    [1, 2, 3]
    """
    return 1 if n_documents < 200 else 2 if n_documents < 1_000 else 3


def smooth_idf(frequency: np.ndarray, n_documents: int) -> np.ndarray:
    """log((1 + n) / (1 + df)) + 1, as if one more document held every word: never zero, never infinite."""
    return np.log((1.0 + n_documents) / (1.0 + frequency)) + 1.0


def weigh_tfidf(X, idf=None, *, sublinear=False, norm="l2"):
    """Turn counts into tf-idf rows of length one, sparse in and sparse out.

    Parameters
    ----------
    X : CSR matrix of counts
    idf : ndarray, optional
        Inverse document frequencies; computed from ``X`` if omitted.
    sublinear : bool
        Replace a count c by 1 + log c.
    norm : {"l2", "l1", None}

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from isthmus.features import weigh_tfidf
    >>> weigh_tfidf(sp.csr_matrix([[2.0, 0.0], [0.0, 1.0]])).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    X = sp.csr_matrix(X, dtype=np.float64, copy=True)
    if idf is None:
        idf = smooth_idf(document_frequency(X), X.shape[0])
    if sublinear:
        X.data[X.data > 0] = 1.0 + np.log(X.data[X.data > 0])
    X.data *= np.asarray(idf)[X.indices]
    if norm == "l2":
        scale_to_unit(X)
    elif norm is not None:
        from sklearn.preprocessing import normalize

        normalize(X, norm=norm, copy=False)
    return X
