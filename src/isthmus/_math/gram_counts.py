# mypy: ignore-errors
"""Compiled kernels of the spectrum kernel, where counts are multiplied; the rest is in ``gram_kernels``."""

from __future__ import annotations

import numpy as np
from numba import njit

from isthmus._math.gram_kernels import collect


@njit(cache=True, nogil=True)
def scan_counts(docs, pos, lcp, fit, n, lo, hi, before, lists, counts, starts, diag):
    """Lists as in :func:`scan_runs`, each document with its number of occurrences; nothing is merged."""
    levels, total = hi - lo + 1, len(docs)
    latest = np.full(n, -1, np.int32)
    count = np.zeros(n, np.int32)
    size = np.zeros(levels, np.int32)
    run = np.zeros(levels, np.int32)
    marks = np.zeros(n // 64 + 1, np.uint64)
    n_lists = 0
    starts[0] = 0
    for t in range(total + 1):
        shared = np.int64(lcp[t]) if t < total else 0
        for a in range(levels - 1, max(shared + 1 - lo, 0) - 1, -1):
            df, start = np.int64(size[a]), np.int64(run[a])
            size[a] = 0
            run[a] = t
            if df == 0 or np.int64(fit[start]) < a + lo:
                continue
            if df == 1:
                diag[docs[start]] += (t - start) * (t - start)
                continue
            at = starts[n_lists]
            collect(docs, pos, before, start, t, df, lists, at, marks)
            for u in range(start, t):
                count[docs[u]] += 1
            for k in range(at, at + df):
                d = lists[k]
                counts[k] = count[d]
                diag[d] += np.int64(count[d]) * count[d]
                count[d] = 0
            n_lists += 1
            starts[n_lists] = at + df
        if t == total:
            break
        previous = latest[docs[t]]
        latest[docs[t]] = t
        before[t] = previous
        for a in range(levels):
            size[a] += np.int32(run[a] > previous)
    return n_lists


@njit(cache=True, nogil=True)
def add_count_rows(first, last, split, lists, counts, starts, entry_ptr, places, owners, out):
    """Rows of the spectrum kernel (int64): every list entry of a row, times the counts of the documents before it."""
    for i in range(first, last):
        row = out[i - first]
        row[: split if split > 0 else i] = 0
        for e in range(entry_ptr[i], entry_ptr[i + 1]):
            place = places[e]
            own = np.int64(counts[place])
            for k in range(starts[owners[e]], place):
                if split > 0 and lists[k] >= split:
                    break
                row[lists[k]] += own * counts[k]


@njit(cache=True, nogil=True)
def place_entries(lists, starts, n_lists, at, places, owners):
    """For each document, where it stands in each of its lists; ``at`` is the running end of each document's stretch."""
    for f in range(n_lists):
        for k in range(starts[f], starts[f + 1]):
            d = lists[k]
            places[at[d]] = k
            owners[at[d]] = f
            at[d] += 1
