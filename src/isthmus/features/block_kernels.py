"""Compiled loops over the documents of a block."""

from __future__ import annotations

import math

import numpy as np

from isthmus._math.compiled import compiled


@compiled
def best_by_weights(indptr, indices, counts, column, idf, weights, bias):
    """Return the class with the largest score of each row's tf-idf, the first of equals.

    The tf-idf rows have length one and count 1 + log(count). ``column`` numbers the few terms that have a weight (-1
    for the others), so that the tables of these terms fit into the processor's cache.
    """
    best = np.zeros(indptr.shape[0] - 1, np.int32)
    scores = np.empty(bias.shape[0])
    for row in range(best.shape[0]):
        scores[:] = 0.0
        square = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            term = column[indices[at]]
            if term >= 0:
                value = idf[term] if counts[at] == 1 else (1.0 + math.log(counts[at])) * idf[term]
                square += value * value
                for c in range(scores.shape[0]):
                    scores[c] += value * weights[term, c]
        length = math.sqrt(square) if square > 0.0 else 1.0
        for c in range(scores.shape[0]):
            scores[c] = scores[c] / length + bias[c]
            if scores[c] > scores[best[row]]:
                best[row] = c
    return best
