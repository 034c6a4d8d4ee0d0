"""Inner loops of co-clustering by numpy where there is little to do, compiled where there is much; see ``SMALL``."""

from __future__ import annotations

import numpy as np

from isthmus.features.block_loops import SMALL, entry_rows, row_scores


def best_places(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    scores: np.ndarray,
    bias: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Cluster of each row with the largest ``bias + Σ value · scores[word]``, in place.

    A row keeps its cluster on a tie, so that rounding cannot make the search cycle; one of cluster -1 gets the first.
    """
    if len(indices) > SMALL:
        from isthmus.classify.cocc.kernels import best_places as compiled

        compiled(indptr, indices, values, scores, bias, labels)
        return
    _take_best(row_scores(indptr, indices, values, scores, bias), labels)


def assign_words(weights: np.ndarray, logs: np.ndarray, labels: np.ndarray) -> int:
    """Best word cluster of each word (the word step in its cheap form), in place; ties keep the cluster.

    ``weights`` is words × (document clusters and classes, the latter already times λ), ``logs`` the same columns × word
    clusters, finite. Returns how many labels changed.
    """
    if weights.shape[0] * logs.shape[1] > 4 * SMALL:
        from isthmus.classify.cocc.kernels import assign_words as compiled

        return compiled(weights, logs, labels)
    return _take_best(weights @ logs, labels)


def _take_best(scores: np.ndarray, labels: np.ndarray) -> int:
    """Labels by the largest score of each row, in place, the first of equals unless the row has one; how many moved."""
    at = np.arange(len(labels))
    best = scores.argmax(axis=1)
    moved = scores[at, best] > scores[at, np.maximum(labels, 0)]
    labels[moved] = best[moved]
    labels[labels < 0] = 0  # nothing beats the first cluster
    return int(moved.sum())


def list_moves(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    n_classes: int,
) -> tuple[np.ndarray, np.ndarray]:
    """What rows that changed their class take from one column of a terms × classes table and bring to another.

    Places in the flat table, and integers to be added there; a row comes from class -1 where it had none.
    """
    if len(indices) > SMALL:
        from isthmus.classify.cocc.kernels import list_moves as compiled

        return compiled(indptr, indices, weights, before, after, n_classes)
    rows = entry_rows(indptr)
    here = np.flatnonzero((before != after)[rows])
    rows, first, weights = rows[here], indices[here].astype(np.int64) * n_classes, weights[here]
    left = before[rows] >= 0
    places = np.concatenate([first + after[rows], (first + before[rows])[left]])
    return places, np.concatenate([weights, -weights[left]])


def add_products(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, rows: np.ndarray, scale: float, out: np.ndarray
) -> None:
    """Xᵀ · rows in fixed point, added to ``out``."""
    if len(indices) > SMALL:
        from isthmus.classify.cocc.kernels import add_products as compiled

        compiled(indptr, indices, values, rows, scale, out)
        return
    of_entry, places = entry_rows(indptr), indices * np.int64(out.shape[1])
    for column in range(rows.shape[1]):
        parts = np.rint(values * rows[of_entry, column] * scale).astype(np.int64)
        np.add.at(out.reshape(-1), places + column, parts)
