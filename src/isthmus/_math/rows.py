"""Lengths, means and blocks of rows. Imports only numpy and scipy.sparse, so that a saved model loads quickly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return rows of probabilities from rows of log-scores.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    # Subtracting the maximum avoids an overflow.
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def sharpen(probabilities: np.ndarray, power: float) -> np.ndarray:
    """Raise probabilities to a power and scale them to sum to one; the order stays.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
    power : float
        Above 1 the probabilities become more extreme, below 1 less.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    return softmax(power * np.log(np.maximum(probabilities, 1e-300)))


def row_blocks(n_rows: int, size: int) -> Sequence[slice]:
    """Return slices that cut ``n_rows`` rows into blocks of at most ``size``.

    Parameters
    ----------
    n_rows, size : int

    Returns
    -------
    list of slice
    """
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def scale_to_unit(X: sp.csr_matrix) -> None:
    """Scale the rows of a CSR matrix to length one, in place; empty rows are unchanged.

    Squares are added one after the other, so that rows of any number of matrices agree to the last bit.

    Parameters
    ----------
    X : csr_matrix
    """
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    lengths = np.sqrt(np.bincount(rows, weights=X.data * X.data, minlength=X.shape[0]))
    X.data /= np.where(lengths > 0, lengths, 1.0)[rows]


def unit_rows(rows: Any) -> Any:
    """Return rows of length one, dense or sparse; empty rows are unchanged.

    Parameters
    ----------
    rows : ndarray or sparse matrix

    Returns
    -------
    ndarray or csr_matrix
    """
    if sp.issparse(rows):
        rows = rows.tocsr(copy=True)
        # Integers cannot be scaled in place.
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
        scale_to_unit(rows)
        return rows
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(lengths > 0, lengths, 1.0)[:, None]


def rows_are_empty(rows: Any) -> np.ndarray:
    """Return which rows have no entry other than 0.

    Parameters
    ----------
    rows : ndarray or sparse matrix

    Returns
    -------
    ndarray of bool of shape (n_rows,)
    """
    filled = rows.getnnz(axis=1) if sp.issparse(rows) else np.count_nonzero(rows, axis=1)
    return np.asarray(filled).ravel() == 0


def unknown_texts(tests: Sequence[Callable[[list[str]], np.ndarray]], texts: Sequence[str]) -> np.ndarray:
    """Return the texts without a known term for any of the tests; each test gets only the texts that remain.

    Parameters
    ----------
    tests : sequence of callable
        Each takes texts and marks those without a known term.
    texts : sequence of str

    Returns
    -------
    ndarray of bool of shape (n_texts,)
    """
    # Tests are expensive, so each one sees only the texts that are unknown to the earlier ones.
    left = np.arange(len(texts))
    for knows_nothing in tests:
        if len(left):
            left = left[knows_nothing([texts[row] for row in left.tolist()])]
    unknown = np.zeros(len(texts), dtype=bool)
    unknown[left] = True
    return unknown


def group_sums(rows: Any, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the sum of the rows of each group: a sparse product, many times faster than ``np.add.at``.

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n_rows, n_columns)
    codes : ndarray of int of shape (n_rows,)
        Group of each row.
    n_groups : int

    Returns
    -------
    ndarray of shape (n_groups, n_columns)
    """
    n = len(codes)
    # Groups × rows, with one entry per row.
    members = sp.csc_matrix((np.ones(n), codes, np.arange(n + 1)), shape=(n_groups, n))
    sums = members @ rows
    return sums.toarray() if sp.issparse(sums) else np.asarray(sums)


def group_means(X: sp.csr_matrix, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the mean row of each group; rows with a code below 0 belong to none.

    Parameters
    ----------
    X : csr_matrix of shape (n_rows, n_columns)
    codes : ndarray of int of shape (n_rows,)
        Group of each row.
    n_groups : int

    Returns
    -------
    ndarray of shape (n_groups, n_columns)
        Zeros for a group without rows.
    """
    rows = np.flatnonzero(codes >= 0)
    counts = np.bincount(codes[rows], minlength=n_groups)
    return group_sums(X[rows], codes[rows], n_groups) / np.maximum(counts, 1)[:, None]
