"""Loops of :mod:`isthmus.features.term_chi2` by numpy for small tables; larger ones go to the compiled ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus.features.block_loops import SMALL, entry_rows, sums_at

Pairs = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Stratum = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]
_BUCKET_BITS = 12  # terms per bucket of the counting pass (16 at most): its tables must fit the second-level cache


def count_pairs(X: sp.csr_matrix, codes: np.ndarray, n_classes: int) -> Pairs:
    """Starts, class, occurrences and documents of every (term, class) pair of counts above zero; none of class -1."""
    if X.nnz > SMALL:
        return _count_in_buckets(X, codes, n_classes)
    rows = np.flatnonzero(codes >= 0)
    members = sp.csr_matrix((np.ones(len(rows)), (codes[rows], rows)), shape=(n_classes, len(codes)))
    values = np.where(X.data > 0, 1.0 + 1j * X.data, 0.0)
    return _as_pairs((members @ sp.csr_matrix((values, X.indices, X.indptr), X.shape)).T.tocsr())


def _count_in_buckets(X: sp.csr_matrix, codes: np.ndarray, n_classes: int) -> Pairs:
    """As :func:`count_pairs`. Tables are made by numpy: the system gives those large pages, which are found sooner."""
    from isthmus.features.term_chi2_kernels import add_pairs, bucket_sizes, fill_buckets, pair_starts

    order = np.argsort(codes, kind="stable")
    order = order[np.searchsorted(codes[order], 0) :]
    n_buckets = (X.shape[1] >> _BUCKET_BITS) + 1
    sizes = bucket_sizes(X.indptr, X.indices, X.data, codes, _BUCKET_BITS, n_buckets)
    bounds = np.zeros((n_classes + 1, n_buckets), dtype=np.int64)
    bounds[0] = sizes[:-1]
    term, count = np.empty(sizes[-1], dtype=np.uint16), np.empty(sizes[-1])
    fill_buckets(X.indptr, X.indices, X.data, codes, order, _BUCKET_BITS, bounds, term, count)
    starts = np.zeros(X.shape[1] + 1, dtype=np.int64)
    pair_starts(term, bounds, _BUCKET_BITS, starts)
    n_pairs = starts[-1]
    pairs = np.empty(n_pairs, dtype=np.int32), np.zeros(n_pairs), np.zeros(n_pairs, dtype=np.int32)
    add_pairs(term, count, bounds, _BUCKET_BITS, starts, *pairs)
    return starts, *pairs


def merge_pairs(a: Pairs, b: Pairs, n_classes: int, combine: Callable[[Any, Any], Any]) -> Pairs:
    """Sum or difference of two tables over the same terms; pairs that come to nothing are dropped."""
    shape = len(a[0]) - 1, n_classes
    tables = (
        sp.csr_matrix((documents + 1j * occurrences, klass, starts), shape)
        for starts, klass, occurrences, documents in (a, b)
    )
    return _as_pairs(combine(*tables))


def _as_pairs(table: sp.csr_matrix) -> Pairs:
    """From terms × classes; documents are the real part and occurrences the imaginary one, so that one sum has both."""
    kept = table.data.real != 0
    starts = np.concatenate([[0], np.cumsum(kept)])[table.indptr]
    return starts, table.indices[kept], table.data.imag[kept], table.data.real[kept].astype(np.int32)


def summarise_terms(
    starts: np.ndarray, klass: np.ndarray, joint: np.ndarray, class_totals: np.ndarray, everything: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Class of largest χ² among those a term is positively associated with (-1: none), that χ², largest, and total.

    A class in which the term does not occur still has a χ² above 0: N·n_t·n_c / ((N−n_t)(N−n_c)).
    """
    n_terms, n_classes = len(starts) - 1, len(class_totals)
    if len(klass) > SMALL:
        from isthmus.features.term_chi2_kernels import summarise_terms as compiled

        order = np.argsort(-class_totals, kind="stable")
        return compiled(starts, klass, joint, class_totals, everything, order)
    between = (class_totals > 0) & (class_totals < everything)
    odds = np.divide(class_totals, everything - class_totals, out=np.zeros(n_classes), where=between)
    terms = entry_rows(starts)
    n_t = sums_at(terms, joint, n_terms)
    usable = (n_t > 0) & (n_t < everything)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(usable, everything * n_t / (everything - n_t), 0.0)
        n_c = class_totals[klass]
        gap = joint - n_t[terms] * n_c / everything  # (AD−BC)/N
        value = gap * gap * everything / n_c * (everything / (everything - n_c))
        value *= everything / n_t[terms] / (everything - n_t[terms])
    value[~(usable[terms] & between[klass])] = 0.0
    total = sums_at(terms, value, n_terms)
    odds_of_all = np.full(n_terms, np.cumsum(odds)[-1])
    places = np.concatenate([np.arange(n_terms), terms])
    absent = sums_at(places, np.concatenate([odds_of_all, -odds[klass]]), n_terms)
    some_absent = np.diff(starts) < n_classes
    # max: the remainder is a sum of odds, negative only by rounding
    total[some_absent] += (scale * np.maximum(absent, 0.0))[some_absent]
    everywhere = scale[:, None] * odds
    everywhere[terms, klass] = value
    positive = np.zeros((n_terms, n_classes))
    positive[terms, klass] = np.where(gap > 0, value, 0.0)
    return *_best_class(positive), everywhere.max(axis=1, initial=0.0), total


def summarise_strata(a: Stratum, b: Stratum) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """As :func:`summarise_terms` for two strata, each with its own margins (Cochran, Mantel and Haenszel).

    Gaps between found and expected are summed over the strata, and so are their variances: what a term gains only from
    being frequent in one stratum is expected there.
    """
    if len(a[1]) + len(b[1]) > SMALL:
        from isthmus.features.term_chi2_kernels import summarise_pairs

        return summarise_pairs(*a, *b)
    n_terms, n_classes = len(a[0]) - 1, len(a[3])
    rows, seen, variances, expected = np.zeros((n_terms, n_classes)), np.zeros(n_terms), [], []
    for starts, klass, joint, totals, everything in (a, b):
        terms, whole = entry_rows(starts), max(everything, 1.0)
        rows += sp.csr_matrix((joint, klass, starts), shape=rows.shape).toarray()
        n_t = sums_at(terms, joint, n_terms)
        seen += n_t
        rate = n_t / whole
        spread = totals * (everything - totals) / whole**2
        variances.append((n_t * (1.0 - rate))[:, None] * spread)
        expected.append(rate[:, None] * totals)
    gap = rows - expected[0] - expected[1]
    variance = variances[0] + variances[1]
    value = np.divide(gap * gap, variance, out=np.zeros_like(gap), where=(variance > 0) & (seen > 0)[:, None])
    total = np.zeros(n_terms)
    for column in value.T:
        total += column
    return *_best_class(np.where(gap > 0, value, 0.0)), value.max(axis=1, initial=0.0), total


def _best_class(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column of the largest value of each row, the first of equals, -1 where none is above 0; and that value."""
    best = values.max(axis=1, initial=0.0)
    return np.where(best > 0, values.argmax(axis=1), -1).astype(np.int32), best


def probability_ratios(pairs: Pairs, chosen: np.ndarray, smoothing: float) -> np.ndarray:
    """PR(t, chosen class of t), smoothed; 1 where there is no chosen class."""
    starts, klass, documents, class_documents = pairs
    if len(klass) > SMALL:
        from isthmus.features.term_chi2_kernels import probability_ratios as compiled

        return compiled(*pairs, chosen, smoothing)
    terms, n_terms = entry_rows(starts), len(starts) - 1
    own = np.flatnonzero(klass == chosen[terms])  # one pair of a term at most
    inside = np.zeros(n_terms)
    inside[terms[own]] = documents[own]
    running = np.concatenate([[0], np.cumsum(documents, dtype=np.int64)])  # whole numbers: no sum is rounded
    outside = running[starts[1:]] - running[starts[:-1]] - inside
    size = class_documents[chosen]
    others = class_documents.sum() - size
    above, below = (inside + smoothing) / (size + 2 * smoothing), (outside + smoothing) / (others + 2 * smoothing)
    return np.divide(above, below, out=np.ones(n_terms), where=chosen >= 0)


def pooled_ratios(a: Pairs, b: Pairs, chosen: np.ndarray, smoothing: float) -> np.ndarray:
    """Mantel and Haenszel's ratio over two strata for the chosen class of each term, smoothed; 1 without a class."""
    if len(a[1]) + len(b[1]) > SMALL:
        from isthmus.features.term_chi2_kernels import pooled_ratios as compiled

        return compiled(*a, *b, chosen, smoothing)
    everything, sizes = 0.0, np.zeros(len(chosen))
    terms, own, inside, outside = [], [], [], []
    for starts, klass, documents, class_documents in (a, b):
        at, n = entry_rows(starts), max(float(class_documents.sum()), 1.0)
        size = class_documents[chosen]
        terms.append(at)
        own.append(klass == chosen[at])
        inside.append(documents * (n - size[at]) / n)
        outside.append(documents * size[at] / n)
        everything, sizes = everything + n, sizes + size
    at, here = np.concatenate(terms), np.concatenate(own)
    size = sizes / everything
    above = sums_at(at[here], np.concatenate(inside)[here], len(chosen)) + smoothing * (1.0 - size)
    below = sums_at(at[~here], np.concatenate(outside)[~here], len(chosen)) + smoothing * size
    return np.divide(above, below, out=np.ones(len(chosen)), where=chosen >= 0)
