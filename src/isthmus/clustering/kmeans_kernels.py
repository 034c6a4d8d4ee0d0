"""Compiled loops of k-means on sparse rows. Imported on first use, because importing numba is slow."""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled


@compiled(fastmath={"contract", "reassoc"})
def assign_and_add(data, indices, indptr, centers_by_word, center_norms, labels, distances, sums, counts):
    """One pass over the non-zeros of a block of rows: nearest centre of each row, then the row into that centre's sum.

    ``centers_by_word`` is words × clusters, so that a non-zero touches one stretch of memory. ``distances`` gets ‖c‖² −
    2·x·c of the nearest centre; the caller adds ‖x‖².
    """
    n_clusters = centers_by_word.shape[1]
    products = np.empty(n_clusters)
    for row in range(len(indptr) - 1):
        products[:] = 0.0
        for p in range(indptr[row], indptr[row + 1]):
            value = data[p]
            weights = centers_by_word[indices[p]]
            for c in range(n_clusters):
                products[c] += value * weights[c]
        best = 0
        smallest = center_norms[0] - 2.0 * products[0]
        for c in range(1, n_clusters):
            distance = center_norms[c] - 2.0 * products[c]
            if distance < smallest:
                smallest = distance
                best = c
        labels[row] = best
        distances[row] = smallest
        counts[best] += 1
        for p in range(indptr[row], indptr[row + 1]):
            sums[best, indices[p]] += data[p]
