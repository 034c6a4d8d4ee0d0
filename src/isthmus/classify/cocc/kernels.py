"""Compiled inner loops of co-clustering."""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled


@compiled
def best_places(indptr, indices, values, scores, bias, labels, groups):
    """Move each row to the cluster with the largest ``bias + Σ value · scores[word]``, in place.

    A row keeps its cluster on a tie, so that rounding cannot make the search cycle; label -1 becomes the first of the
    best. With ``groups``, a word has the scores of its group.

    Parameters
    ----------
    indptr, indices, values : ndarray
        Rows in CSR form.
    scores : ndarray of shape (n_words, n_clusters)
    bias : ndarray of shape (n_clusters,)
    labels : ndarray of int of shape (n_rows,)
        Changed in place.
    groups : ndarray of int of shape (n_words,) or None
    """
    n_clusters = scores.shape[1]
    own = np.empty(n_clusters)
    for row in range(indptr.shape[0] - 1):
        if n_clusters == 2:  # the common case keeps both sums in registers
            first, second = bias[0], bias[1]
            for at in range(indptr[row], indptr[row + 1]):
                word = indices[at] if groups is None else groups[indices[at]]
                first += values[at] * scores[word, 0]
                second += values[at] * scores[word, 1]
            own[0], own[1] = first, second
        else:
            own[:] = bias
            for at in range(indptr[row], indptr[row + 1]):
                word = indices[at] if groups is None else groups[indices[at]]
                for c in range(n_clusters):
                    own[c] += values[at] * scores[word, c]
        best = labels[row] if labels[row] >= 0 else 0
        for c in range(n_clusters):
            if own[c] > own[best]:
                best = c
        labels[row] = best


_TILE = 64  # words side by side: their scores and best places fit the first-level cache


@compiled(fastmath={"reassoc", "nsz", "contract"})
def assign_words(weights, logs, labels):
    """Move each word to its best cluster (the cheap word step), in place; return how many words moved.

    ``weights`` are (document clusters and classes, the latter times λ) × words, ``logs`` the same rows × word clusters,
    finite. A word keeps its cluster on a tie. The inner loops run over words side by side, each with the best cluster
    so far, so that most scores need no branch.

    Parameters
    ----------
    weights : ndarray of shape (n_rows, n_words)
    logs : ndarray of shape (n_rows, n_clusters)
    labels : ndarray of int of shape (n_words,)
        Changed in place.

    Returns
    -------
    int
    """
    width, n_words = weights.shape
    part = np.zeros((width, _TILE))
    sums, highest, places = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE, np.int64)
    changed = 0
    for first in range(0, n_words, _TILE):
        size = min(_TILE, n_words - first)
        part[:, :size] = weights[:, first : first + size]
        highest[:] = -np.inf
        for j in range(logs.shape[1]):
            if width == 4:  # two classes, the common case, keep the sums in registers
                a, b, c, d = logs[0, j], logs[1, j], logs[2, j], logs[3, j]
                for i in range(_TILE):
                    score = (part[0, i] * a + part[1, i] * b) + (part[2, i] * c + part[3, i] * d)
                    better = score > highest[i]
                    places[i] = j if better else places[i]
                    highest[i] = score if better else highest[i]
                continue
            sums[:] = 0.0
            for column in range(width - 1):
                a = logs[column, j]
                for i in range(_TILE):
                    sums[i] += part[column, i] * a
            a = logs[width - 1, j]
            for i in range(_TILE):
                score = sums[i] + part[width - 1, i] * a
                better = score > highest[i]
                places[i] = j if better else places[i]
                highest[i] = score if better else highest[i]
        for i in range(size):
            best, own = places[i], labels[first + i]
            if best != own:
                lead = 0.0  # summed the same way for both, so that equals stay equal
                for column in range(width):
                    lead += part[column, i] * (logs[column, best] - logs[column, own])
                if lead > 0:
                    labels[first + i] = best
                    changed += 1
    return changed


@compiled
def add_products(indptr, indices, values, rows, scale, out):
    """Add Xᵀ · rows to ``out`` in fixed point, in units of 1 / ``scale``.

    Parameters
    ----------
    indptr, indices, values : ndarray
        Rows in CSR form.
    rows : ndarray of shape (n_rows, n_dimensions)
    scale : float
    out : ndarray of int of shape (n_words, n_dimensions)
        Changed in place.
    """
    for row in range(indptr.shape[0] - 1):
        for at in range(indptr[row], indptr[row + 1]):
            for j in range(rows.shape[1]):
                out[indices[at], j] += np.int64(np.rint(values[at] * rows[row, j] * scale))
