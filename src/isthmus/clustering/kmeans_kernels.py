"""Compiled loops of k-means on sparse rows. Imported on first use, because importing numba is slow."""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled


@compiled(fastmath={"contract", "reassoc"})
def nearest_centers(data, indices, indptr, lengths, by_word, centers, center_norms, labels):
    """Number of the nearest centre of each row, the first of equals, as products of 64 bits tell it.

    Products with all centres are taken with 32 bits: half as much is read of ``by_word`` (words × clusters), which is
    what takes the time. Wherever their rounding leaves more than one centre, those are compared with 64 bits.
    """
    n_clusters = by_word.shape[1]
    products, scores = np.empty(n_clusters, np.float32), np.empty(n_clusters)
    largest = center_norms.max()
    longest = np.sqrt(largest)
    for row in range(len(indptr) - 1):
        first, until = indptr[row], indptr[row + 1]
        products[:] = 0.0
        p = first
        while p + 4 <= until:  # four words at a time: their rows are waited for together
            a, b, c, d = indices[p], indices[p + 1], indices[p + 2], indices[p + 3]
            of_a, of_b = np.float32(data[p]), np.float32(data[p + 1])
            of_c, of_d = np.float32(data[p + 2]), np.float32(data[p + 3])
            for j in range(n_clusters):
                ab, cd = of_a * by_word[a, j] + of_b * by_word[b, j], of_c * by_word[c, j] + of_d * by_word[d, j]
                products[j] += ab + cd
            p += 4
        for rest in range(p, until):
            value = np.float32(data[rest])
            for j in range(n_clusters):
                products[j] += value * by_word[indices[rest], j]
        smallest = np.inf
        for j in range(n_clusters):
            scores[j] = center_norms[j] - 2.0 * products[j]
            smallest = min(smallest, scores[j])
        limit = smallest + rounding(until - first, lengths[row], longest, largest)
        left, best = 0, 0
        for j in range(n_clusters):
            if not scores[j] > limit:  # what is no number stays
                left += 1
                best = j
        if left > 1:
            smallest = np.inf
            for j in range(n_clusters):
                if not scores[j] > limit:
                    score = center_norms[j] - 2.0 * product(data, indices, first, until, centers[j])
                    if score < smallest:
                        smallest = score
                        best = j
        labels[row] = best


@compiled
def rounding(entries, length, longest, largest):
    """More than two scores of a row can differ from the smaller of them by rounding to 32 bits.

    Each product of n entries is off by (n + 3) · 2⁻²⁴ of both lengths at most, a score by twice that, and two scores by
    four times; this is twice as much. What rounds to zero, and the 64 bits, are covered by the other two summands;
    beyond the range of 32 bits nothing is told.
    """
    if not (length < 1e18 and longest < 1e18):
        return np.inf
    tiny = entries * 2.0**-120 * (1.0 + length + longest)
    return (entries + 8) * 2.0**-21 * length * longest + 2.0**-48 * largest + tiny


@compiled(fastmath={"contract"})
def product(data, indices, first, until, center):
    """Product of a row and a centre, entry after entry."""
    total = 0.0
    for p in range(first, until):
        total += data[p] * center[indices[p]]
    return total


@compiled(fastmath={"contract"})
def add_rows(data, indices, indptr, order, bounds, centers, center_norms, distances, sums, first, step):
    """Rows into the sum of their centre, centre after centre, so that one stretch of ``sums`` is in use at a time.

    ``order[bounds[j] : bounds[j + 1]]`` are the rows of centre j; every ``step``-th centre from ``first`` is done.
    ``distances`` gets ‖c‖² − 2·x·c; the caller adds ‖x‖².
    """
    for j in range(first, len(bounds) - 1, step):
        center, total = centers[j], sums[j]
        for row in order[bounds[j] : bounds[j + 1]]:
            found = 0.0
            for p in range(indptr[row], indptr[row + 1]):
                found += data[p] * center[indices[p]]
                total[indices[p]] += data[p]
            distances[row] = center_norms[j] - 2.0 * found
