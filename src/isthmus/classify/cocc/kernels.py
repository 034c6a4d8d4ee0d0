"""Compiled inner loops of co-clustering: one pass over the non-zeros per document step, none per word step."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def assign_documents(indptr, indices, data, word_scores, bias, labels, word_table):
    """Best cluster of each row of a CSR block, and the block's share of the word × cluster table.

    A row's score in cluster c is ``bias[c] + Σ value · word_scores[word, c]``. ``labels`` is overwritten; a row keeps
    its cluster on a tie, so that rounding cannot make the search cycle. Returns how many labels changed.
    """
    n_clusters = word_scores.shape[1]
    scores = np.empty(n_clusters)
    changed = 0
    for row in range(indptr.shape[0] - 1):
        if n_clusters == 2:  # the common case keeps both sums in registers
            first, second = bias[0], bias[1]
            for at in range(indptr[row], indptr[row + 1]):
                first += data[at] * word_scores[indices[at], 0]
                second += data[at] * word_scores[indices[at], 1]
            scores[0], scores[1] = first, second
        else:
            scores[:] = bias
            for at in range(indptr[row], indptr[row + 1]):
                for c in range(n_clusters):
                    scores[c] += data[at] * word_scores[indices[at], c]
        best = labels[row] if labels[row] >= 0 else 0
        for c in range(n_clusters):
            if scores[c] > scores[best]:
                best = c
        if best != labels[row]:
            changed += 1
            labels[row] = best
        for at in range(indptr[row], indptr[row + 1]):
            word_table[indices[at], best] += data[at]
    return changed


@njit(cache=True, nogil=True)
def add_assigned(indptr, indices, data, labels, word_table):
    """Add a block's values to the word × cluster table under fixed labels; rows with a negative label are left out."""
    for row in range(indptr.shape[0] - 1):
        if labels[row] >= 0:
            for at in range(indptr[row], indptr[row + 1]):
                word_table[indices[at], labels[row]] += data[at]


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
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


@njit(cache=True, nogil=True)
def sum_by_label(table, labels, out):
    """Rows of ``table`` added up by label."""
    for row in range(table.shape[0]):
        for c in range(table.shape[1]):
            out[labels[row], c] += table[row, c]


@njit(cache=True, nogil=True)
def add_transposed_product(indptr, indices, data, rows, out):
    """``out += Xᵀ · rows`` for one CSR block, row by row: the sum is the same however rows are cut in blocks."""
    width = rows.shape[1]
    for row in range(indptr.shape[0] - 1):
        for at in range(indptr[row], indptr[row + 1]):
            word = indices[at]
            value = data[at]
            for j in range(width):
                out[word, j] += value * rows[row, j]


@njit(cache=True, nogil=True)
def row_log_sum(indptr, data):
    """Σ over a block of v·log v and of r·log r, r the row sums: what the documents' own mutual information needs."""
    entries = 0.0
    rows = 0.0
    for row in range(indptr.shape[0] - 1):
        total = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            value = data[at]
            if value > 0.0:
                total += value
                entries += value * np.log(value)
        if total > 0.0:
            rows += total * np.log(total)
    return entries, rows


@njit(cache=True, nogil=True)
def assign_to_centroids(indptr, indices, data, weights, centroids, labels, sums):
    """Rows, weighted by word and scaled to length one, to the centroid of largest cosine; ``sums`` adds them up.

    ``centroids`` is words × classes with columns of length one. A row without words keeps its label. Returns how many
    labels changed and the sum of the rows' cosines with their centroids.
    """
    n_classes = centroids.shape[1]
    scores = np.empty(n_classes)
    changed = 0
    fit = 0.0
    for row in range(indptr.shape[0] - 1):
        scores[:] = 0.0
        square = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            word = indices[at]
            value = data[at] * weights[word]
            square += value * value
            for c in range(n_classes):
                scores[c] += value * centroids[word, c]
        if square == 0.0:
            continue
        best = labels[row]
        for c in range(n_classes):
            if scores[c] > scores[best]:
                best = c
        if best != labels[row]:
            changed += 1
            labels[row] = best
        length = np.sqrt(square)
        fit += scores[best] / length
        for at in range(indptr[row], indptr[row + 1]):
            sums[indices[at], best] += data[at] * weights[indices[at]] / length
    return changed, fit


@njit(cache=True, nogil=True)
def add_unit_rows(indptr, indices, data, weights, labels, sums):
    """Weighted rows of length one added to the column of their label."""
    for row in range(indptr.shape[0] - 1):
        square = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            value = data[at] * weights[indices[at]]
            square += value * value
        if square > 0.0:
            for at in range(indptr[row], indptr[row + 1]):
                sums[indices[at], labels[row]] += data[at] * weights[indices[at]] / np.sqrt(square)


@njit(cache=True, nogil=True)
def add_columns(indices, data, totals, presence):
    """Add a block's values and its number of positive entries per column; numpy's bincount would copy the indices."""
    for at in range(indices.shape[0]):
        totals[indices[at]] += data[at]
        if data[at] > 0.0:
            presence[indices[at]] += 1.0
