"""Compiled loops of term projection over the documents of a block; importing this module loads numba."""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled


@compiled
def class_sums(indptr, indices, counts, term_class, weight, n_classes):
    """Σ count · weight over the terms of each class; terms of class -1 are left out."""
    sums = np.zeros((indptr.shape[0] - 1, n_classes))
    for row in range(indptr.shape[0] - 1):
        for at in range(indptr[row], indptr[row + 1]):
            term = indices[at]
            if term_class[term] >= 0:
                sums[row, term_class[term]] += counts[at] * weight[term]
    return sums


@compiled
def leading_shares(features):
    """Class with the largest feature of each row, and by how much its share of the row leads; the first of equals."""
    labels = np.zeros(features.shape[0], np.int32)
    margins = np.zeros(features.shape[0])
    for row in range(features.shape[0]):
        total, first, second = 0.0, 0.0, 0.0
        for c in range(features.shape[1]):
            value = features[row, c]
            total += value
            if value > first:
                first, second = value, first
                labels[row] = c
            elif value > second:
                second = value
        if total > 0.0:
            margins[row] = first / total - second / total
    return labels, margins
