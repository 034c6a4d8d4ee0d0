"""Compiled loops of co-clustering over the documents of a block, in fixed point; importing this module loads numba."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def best_by_terms(indptr, indices, counts, levels, scores, bias):
    """Class of each row with the largest Σ level · score of its terms + bias, the first of equals."""
    labels = np.zeros(indptr.shape[0] - 1, np.int32)
    own = np.empty(scores.shape[1])
    for row in range(labels.shape[0]):
        own[:] = bias
        for at in range(indptr[row], indptr[row + 1]):
            level, term = levels[counts[at]], indices[at]
            for c in range(own.shape[0]):
                own[c] += level * scores[term, c]
        for c in range(1, own.shape[0]):
            if own[c] > own[labels[row]]:
                labels[row] = c
    return labels


@njit(cache=True, nogil=True)
def best_by_groups(indptr, indices, counts, levels, group, scores):
    """The same where terms of one group have the same scores: that table stays in the fastest memory."""
    labels = np.zeros(indptr.shape[0] - 1, np.int32)
    own = np.empty(scores.shape[1])
    for row in range(labels.shape[0]):
        own[:] = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            level, term = levels[counts[at]], group[indices[at]]
            for c in range(own.shape[0]):
                own[c] += level * scores[term, c]
        for c in range(1, own.shape[0]):
            if own[c] > own[labels[row]]:
                labels[row] = c
    return labels


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def add_at(table, places, values):
    """Add values at places of a flat table."""
    for at in range(places.shape[0]):
        table[places[at]] += values[at]


@njit(cache=True, nogil=True)
def add_products(indptr, indices, values, rows, scale, out):
    """Xᵀ · rows in fixed point."""
    for row in range(indptr.shape[0] - 1):
        for at in range(indptr[row], indptr[row + 1]):
            for j in range(rows.shape[1]):
                out[indices[at], j] += np.int64(np.rint(values[at] * rows[row, j] * scale))


@njit(cache=True, nogil=True)
def unit_rows(rows):
    """Rows scaled to length one, number by number; rows of zeros stay."""
    for row in range(rows.shape[0]):
        square = 0.0
        for j in range(rows.shape[1]):
            square += rows[row, j] * rows[row, j]
        length = math.sqrt(square) if square > 0.0 else 1.0
        for j in range(rows.shape[1]):
            rows[row, j] /= length


@njit(cache=True, nogil=True)
def row_lengths(indptr, indices, values, weights):
    """Length of each row with its entries multiplied by the weights of their columns."""
    lengths = np.empty(indptr.shape[0] - 1)
    for row in range(indptr.shape[0] - 1):
        square = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            value = values[at] * weights[indices[at]]
            square += value * value
        lengths[row] = math.sqrt(square)
    return lengths


@njit(cache=True, nogil=True)
def row_sums(indptr, values):
    """Sum of each row."""
    sums = np.zeros(indptr.shape[0] - 1)
    for row in range(indptr.shape[0] - 1):
        for at in range(indptr[row], indptr[row + 1]):
            sums[row] += values[at]
    return sums


@njit(cache=True, nogil=True)
def own_information(indptr, values, scale):
    """Σ v·log v over the entries and Σ r·log r over the rows' sums, in fixed point."""
    entries, rows = np.int64(0), np.int64(0)
    for row in range(indptr.shape[0] - 1):
        total = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            value = values[at]
            total += value
            entries += np.int64(np.rint(value * math.log(value) * scale))
        if total > 0.0:
            rows += np.int64(np.rint(total * math.log(total) * scale))
    return entries, rows
