"""Compiled loops of k-means on sparse rows. Imported on first use, because importing numba is slow."""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled


@compiled(fastmath={"contract", "reassoc"})
def nearest_centers(data, indices, indptr, lengths, by_word, centers, center_norms, labels):
    """Write the number of the nearest centre of each row to ``labels``; of equal centres the first.

    The result is that of 64-bit products. Products with all centres are computed with 32 bits first, because reading
    ``by_word`` (words × clusters) takes most of the time. Where rounding leaves more than one centre, these are
    compared with 64 bits.

    Parameters
    ----------
    data, indices, indptr : ndarray
        Rows in CSR form.
    lengths : ndarray of shape (n_rows,)
        Lengths of the rows.
    by_word : ndarray of float32 of shape (n_words, n_clusters)
    centers : ndarray of shape (n_clusters, n_words)
    center_norms : ndarray of shape (n_clusters,)
        Squared lengths of the centres.
    labels : ndarray of int of shape (n_rows,)
        Changed in place.
    """
    n_clusters = by_word.shape[1]
    products, scores = np.empty(n_clusters, np.float32), np.empty(n_clusters)
    largest = center_norms.max()
    longest = np.sqrt(largest)
    for row in range(len(indptr) - 1):
        first, until = indptr[row], indptr[row + 1]
        products[:] = 0.0
        p = first
        while p + 4 <= until:  # four words at a time: the processor loads their rows together
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
        # Any centre within the rounding error may be the nearest.
        limit = smallest + rounding(until - first, lengths[row], longest, largest)
        left, best = 0, 0
        for j in range(n_clusters):
            if not scores[j] > limit:  # also NaN: the 64-bit comparison decides
                left += 1
                best = j
        # Rarely more than one centre is left.
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
    """Return a bound on the difference of two scores of a row that rounding to 32 bits can cause.

    The error of a product of n entries is at most (n + 3) · 2⁻²⁴ of both lengths, that of a score twice as much, and
    that of two scores four times; the bound doubles this. The other two summands cover values that round to zero, and
    the rounding of 64 bits. Beyond the range of 32 bits the bound is infinite.

    Parameters
    ----------
    entries : int
        Number of entries of the row.
    length : float
        Length of the row.
    longest : float
        Length of the longest centre.
    largest : float
        Its square.

    Returns
    -------
    float
    """
    if not (length < 1e18 and longest < 1e18):
        return np.inf
    tiny = entries * 2.0**-120 * (1.0 + length + longest)
    return (entries + 8) * 2.0**-21 * length * longest + 2.0**-48 * largest + tiny


@compiled(fastmath={"contract"})
def product(data, indices, first, until, center):
    """Return the product of a row and a centre, summed in the order of the entries.

    Parameters
    ----------
    data, indices : ndarray
    first, until : int
        Range of the entries of the row.
    center : ndarray of shape (n_words,)

    Returns
    -------
    float
    """
    total = 0.0
    for p in range(first, until):
        total += data[p] * center[indices[p]]
    return total


@compiled(fastmath={"contract"})
def add_rows(data, indices, indptr, order, bounds, centers, center_norms, distances, sums, first, step):
    """Add rows to the sum of their centre, centre by centre, so that one row of ``sums`` is in the cache at a time.

    ``order[bounds[j] : bounds[j + 1]]`` are the rows of centre j; one call does every ``step``-th centre from
    ``first``. ``distances`` gets ‖c‖² − 2·x·c; the caller adds ‖x‖².

    Parameters
    ----------
    data, indices, indptr : ndarray
        Rows in CSR form.
    order, bounds : ndarray of int
    centers : ndarray of shape (n_clusters, n_words)
    center_norms : ndarray of shape (n_clusters,)
        Squared lengths of the centres.
    distances : ndarray of shape (n_rows,)
        Changed in place.
    sums : ndarray of shape (n_clusters, n_words)
        Changed in place.
    first, step : int
    """
    # Every thread has centres of its own, so sums need no lock.
    for j in range(first, len(bounds) - 1, step):
        center, total = centers[j], sums[j]
        for row in order[bounds[j] : bounds[j + 1]]:
            found = 0.0
            for p in range(indptr[row], indptr[row + 1]):
                found += data[p] * center[indices[p]]
                total[indices[p]] += data[p]
            distances[row] = center_norms[j] - 2.0 * found
