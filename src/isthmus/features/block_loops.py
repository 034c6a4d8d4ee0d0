"""Loops over the documents of a block that run by numpy where a block is small, and compiled where it is large.

Compiling takes seconds, the first time on a machine, and a small block is done by then. Sums of integers are exact
either way; a document's own sum goes one entry after the other in both, so blocks of any size agree to the last bit.
"""

from __future__ import annotations

import numpy as np

SMALL = 250_000  # entries of a block up to which numpy is quick enough


def entry_rows(indptr: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def sums_at(places: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Sum of the values at each of ``n`` places, one value after the other."""
    return np.bincount(places, weights=values, minlength=n).astype(np.float64, copy=False)  # of no values: integers


def weigh_rows(
    indptr: np.ndarray, indices: np.ndarray, counts: np.ndarray, idf: np.ndarray, logs: np.ndarray
) -> np.ndarray:
    """tf-idf of length one; ``logs`` holds 1 + log(count) of every count, or the counts themselves."""
    if len(indices) > SMALL:
        from isthmus.features.block_kernels import weigh_rows as compiled

        return compiled(indptr, indices, counts, idf, logs)
    values = logs[counts] * idf[indices]
    rows = entry_rows(indptr)
    lengths = np.sqrt(sums_at(rows, values * values, len(indptr) - 1))
    return values / np.where(lengths > 0, lengths, 1.0)[rows]


def row_scores(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, weights: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """Σ value · weights[term, class] + bias, entry by entry."""
    if len(indices) > SMALL:
        from isthmus.features.block_kernels import row_scores as compiled

        return compiled(indptr, indices, values, weights, bias)
    n_rows = len(indptr) - 1
    rows = np.concatenate([np.arange(n_rows), entry_rows(indptr)])  # each sum begins with the bias
    scores = np.empty((n_rows, weights.shape[1]))
    for column in range(weights.shape[1]):
        parts = np.concatenate([np.full(n_rows, bias[column]), values * weights[indices, column]])
        scores[:, column] = sums_at(rows, parts, n_rows)
    return scores


def add_under(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, labels: np.ndarray, table: np.ndarray
) -> None:
    """Integer weights of the entries added to the column of their row's label; rows of label -1 are left out."""
    if len(indices) > SMALL:
        from isthmus.features.block_kernels import add_under as compiled

        compiled(indptr, indices, weights, labels, table)
        return
    columns = np.repeat(labels, np.diff(indptr))
    kept = columns >= 0
    np.add.at(table.reshape(-1), indices[kept] * np.int64(table.shape[1]) + columns[kept], weights[kept])
