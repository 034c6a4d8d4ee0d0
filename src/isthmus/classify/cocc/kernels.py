"""Compiled inner loops of co-clustering; sums over documents are integers. See ``blocks``, which calls them."""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled


@compiled
def best_places(indptr, indices, values, scores, bias, labels):
    """Cluster of each row with the largest ``bias + Σ value · scores[word]``, in place.

    A row keeps its cluster on a tie, so that rounding cannot make the search cycle; one of cluster -1 gets the first.
    """
    n_clusters = scores.shape[1]
    own = np.empty(n_clusters)
    for row in range(indptr.shape[0] - 1):
        if n_clusters == 2:  # the common case keeps both sums in registers
            first, second = bias[0], bias[1]
            for at in range(indptr[row], indptr[row + 1]):
                first += values[at] * scores[indices[at], 0]
                second += values[at] * scores[indices[at], 1]
            own[0], own[1] = first, second
        else:
            own[:] = bias
            for at in range(indptr[row], indptr[row + 1]):
                for c in range(n_clusters):
                    own[c] += values[at] * scores[indices[at], c]
        best = labels[row] if labels[row] >= 0 else 0
        for c in range(n_clusters):
            if own[c] > own[best]:
                best = c
        labels[row] = best


@compiled(fastmath={"reassoc", "nsz", "contract"})
def assign_words(weights, logs, labels):
    """Best word cluster of each word (the word step in its cheap form); ties keep the cluster.

    ``weights`` is words × (document clusters and classes, the latter already times λ), ``logs`` the same columns × word
    clusters, finite. The inner loop runs over word clusters, which are contiguous; no words × word clusters table is
    formed. Returns how many labels changed.
    """
    n_words, width = weights.shape
    k = logs.shape[1]
    scores = np.empty(k)
    changed = 0
    for word in range(n_words):
        column = 0
        if width >= 4:  # the first four columns write, the others add
            a, b = weights[word, 0], weights[word, 1]
            c, d = weights[word, 2], weights[word, 3]
            for j in range(k):
                scores[j] = (a * logs[0, j] + b * logs[1, j]) + (c * logs[2, j] + d * logs[3, j])
            column = 4
        else:
            scores[:] = 0.0
        while column < width:
            a = weights[word, column]
            for j in range(k):
                scores[j] += a * logs[column, j]
            column += 1
        highest = scores[0]
        for j in range(k):
            highest = max(highest, scores[j])
        if highest > scores[labels[word]]:
            changed += 1
            for j in range(k):
                if scores[j] == highest:
                    labels[word] = j
                    break
    return changed


@compiled
def list_moves(indptr, indices, weights, before, after, n_classes):
    """What rows that changed their class take from one column of a terms × classes table and bring to another.

    Places in the flat table, and integers to be added there; a row comes from class -1 where it had none.
    """
    size = 0
    for row in range(before.shape[0]):
        if before[row] != after[row]:
            size += (indptr[row + 1] - indptr[row]) * (2 if before[row] >= 0 else 1)
    places, values = np.empty(size, np.int64), np.empty(size, np.int64)
    n = 0
    for row in range(before.shape[0]):
        if before[row] != after[row]:
            for at in range(indptr[row], indptr[row + 1]):
                first = np.int64(indices[at]) * n_classes
                places[n], values[n] = first + after[row], weights[at]
                n += 1
                if before[row] >= 0:
                    places[n], values[n] = first + before[row], -weights[at]
                    n += 1
    return places, values


@compiled
def add_products(indptr, indices, values, rows, scale, out):
    """Xᵀ · rows in fixed point."""
    for row in range(indptr.shape[0] - 1):
        for at in range(indptr[row], indptr[row + 1]):
            for j in range(rows.shape[1]):
                out[indices[at], j] += np.int64(np.rint(values[at] * rows[row, j] * scale))
