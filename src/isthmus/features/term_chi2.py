"""χ² of terms and classes, from one pass over rows.

All that the term projection needs from documents is how often each term occurs in each class and in how many documents.
:func:`count_terms` counts a block of rows, ``+`` adds blocks in any order, ``-`` takes a block out again. Only (term,
class) pairs that occur are stored: memory is linear in the non-zeros.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus.exceptions import DataError, UsageError
from isthmus.features.weights import as_counts

# log2 of the terms per bucket of the counting pass, at most 16: the tables of a bucket fit the second-level cache.
BUCKET_BITS = 12


@dataclass(frozen=True)
class TermStatistics:
    """Occurrences and documents of each term in each class."""

    starts: np.ndarray  # where each term's pairs begin
    klass: np.ndarray  # class, occurrences and documents of each pair; classes ascend within a term
    occurrences: np.ndarray
    documents: np.ndarray
    class_documents: np.ndarray  # documents of each class, those without any term included

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self.starts) - 1

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_documents)

    @property
    def n_documents(self) -> int:
        """Number of labelled documents."""
        return int(self.class_documents.sum())

    @property
    def class_occurrences(self) -> np.ndarray:
        """Occurrences of all terms in each class."""
        return np.bincount(self.klass, weights=self.occurrences, minlength=self.n_classes)

    @property
    def document_frequency(self) -> np.ndarray:
        """Number of labelled documents with each term."""
        return self._term_sums(self.documents)

    def __add__(self, other: TermStatistics) -> TermStatistics:
        """Return the statistics of both blocks."""
        return self._merge(other, operator.add)

    def __sub__(self, other: TermStatistics) -> TermStatistics:
        """Return the statistics without those of a block that is part of them."""
        return self._merge(other, operator.sub)

    def widened(self, n_terms: int, n_classes: int) -> TermStatistics:
        """Return the statistics over a vocabulary or class list that has grown at its end."""
        starts = np.full(n_terms + 1, self.starts[-1], dtype=np.int64)
        starts[: len(self.starts)] = self.starts
        documents = np.zeros(n_classes)
        documents[: self.n_classes] = self.class_documents
        return TermStatistics(starts, self.klass, self.occurrences, self.documents, documents)

    def relabelled(self, place: np.ndarray, n_classes: int) -> TermStatistics:
        """Return the statistics with class i renamed ``place[i]``; the order of classes must not change."""
        documents = np.zeros(n_classes)
        documents[place] = self.class_documents
        klass = np.asarray(place, dtype=np.int32)[self.klass]
        return TermStatistics(self.starts, klass, self.occurrences, self.documents, documents)

    @property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.starts, self.klass, self.occurrences, self.documents

    def per_class(self, values: np.ndarray) -> sp.csr_matrix:
        """``values`` (occurrences or documents) as a sparse terms × classes matrix."""
        return sp.csr_matrix((values, self.klass, self.starts), shape=(self.n_terms, self.n_classes))

    def _term_sums(self, values: np.ndarray) -> np.ndarray:
        running = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
        return running[self.starts[1:]] - running[self.starts[:-1]]

    def _merge(self, other: TermStatistics, combine: Callable[[Any, Any], Any]) -> TermStatistics:
        from isthmus.features import term_chi2_kernels as kernels

        n_terms, n_classes = max(self.n_terms, other.n_terms), max(self.n_classes, other.n_classes)
        a, b = self.widened(n_terms, n_classes), other.widened(n_terms, n_classes)
        starts, n_most = np.zeros(n_terms + 1, dtype=np.int64), len(a.klass) + len(b.klass)
        pairs = np.empty(n_most, dtype=np.int32), np.empty(n_most), np.empty(n_most, dtype=np.int32)
        kernels.merge_pairs(*a._pairs, *b._pairs, combine(0, 1), starts, *pairs)
        klass, occurrences, documents = (part[: starts[-1]].copy() for part in pairs)  # frees the memory of the others
        return TermStatistics(starts, klass, occurrences, documents, combine(a.class_documents, b.class_documents))


@dataclass(frozen=True)
class TermSummary:
    """Class and χ² of every term."""

    klass: np.ndarray  # class of largest χ² among those the term is positively associated with; -1 where there is none
    chi2: np.ndarray  # χ² of the term with that class (χ²max of the paper, its Eq. 2)
    largest: np.ndarray  # largest χ² over all classes, negative association included
    total: np.ndarray  # sum over all classes (the paper's χ²total, its Eq. 3)

    @property
    def purity(self) -> np.ndarray:
        """Share of χ²total that the term's class holds."""
        return np.divide(self.chi2, self.total, out=np.zeros_like(self.chi2), where=self.total > 0)


def count_terms(X: Any, codes: np.ndarray, n_classes: int) -> TermStatistics:
    """Statistics of one block of rows (CSR or dense) under their classes; rows of class -1 are left out."""
    from isthmus.features import term_chi2_kernels as kernels

    X = as_counts(X)
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    class_documents = np.bincount(codes[codes >= 0], minlength=n_classes).astype(np.float64)
    order = np.argsort(codes, kind="stable")
    order = order[np.searchsorted(codes[order], 0) :]
    starts = np.zeros(X.shape[1] + 1, dtype=np.int64)
    bounds = np.zeros((X.shape[1] >> BUCKET_BITS) + 2, dtype=np.int64)
    # numpy makes these arrays: the system gives them large memory pages, which the processor finds sooner.
    entries = np.empty(X.nnz, dtype=np.uint16), np.empty(X.nnz, np.min_scalar_type(n_classes)), np.empty(X.nnz)
    kernels.fill_buckets(X.indptr, X.indices, X.data, codes, order, BUCKET_BITS, bounds, *entries)
    kernels.pair_starts(bounds, BUCKET_BITS, *entries[:2], starts)
    n_pairs = starts[-1]
    pairs = np.empty(n_pairs, dtype=np.int32), np.zeros(n_pairs), np.zeros(n_pairs, dtype=np.int32)
    kernels.add_pairs(bounds, BUCKET_BITS, *entries, starts, *pairs)
    return TermStatistics(starts, *pairs, class_documents)


def summarise(stats: TermStatistics, other: TermStatistics | None = None, *, level: str = "occurrences") -> TermSummary:
    """Class, χ² of that class, largest and total χ² of every term.

    ``level`` is what the 2 × 2 table counts: occurrences (the paper's modified χ²) or documents (the traditional one,
    Eq. 1). With ``other``, documents of another domain, χ² is Mantel and Haenszel's, within each stratum.
    """
    from isthmus.features import term_chi2_kernels as kernels

    joint, class_totals, everything = _level(stats, level)
    first = stats.starts, stats.klass, joint, class_totals, everything
    if other is None:
        return TermSummary(*kernels.summarise_terms(*first, np.argsort(-class_totals, kind="stable")))
    return TermSummary(*kernels.summarise_strata(*first, other.starts, other.klass, *_level(other, level)))


def chi2_per_class(stats: TermStatistics, *, level: str = "occurrences") -> np.ndarray:
    """χ² of every term with every class, a dense terms × classes array; 0 for what is everywhere or nowhere.

    The paper's Eq. 1, N(AD−BC)² / ((A+C)(B+D)(A+B)(C+D)), is N(A·N − n_t·n_c)² / (n_c(N−n_c)·n_t(N−n_t)) with n_t = A+B
    and n_c = A+C.
    """
    joint, totals, everything = _level(stats, level)
    table = stats.per_class(joint).toarray()
    term_totals = stats._term_sums(joint)
    gap = table - np.outer(term_totals / everything, totals) if everything > 0 else table
    below = np.outer(
        term_totals * (everything - term_totals) / max(everything, 1.0),
        totals * (everything - totals) / max(everything, 1.0),
    )
    return np.divide(gap * gap * everything, below, out=np.zeros_like(table), where=below > 0)


def discriminability(
    stats: TermStatistics, klass: np.ndarray, other: TermStatistics | None = None, *, smoothing: float = 1.0
) -> np.ndarray:
    """Probability ratio PR(t, c) of each term for the class given.

    PR(t,c) = [df(t,c)/df(c)] / [df(t,¬c)/df(¬c)] (the paper's section 4.1). ``smoothing`` is added to both document
    counts of the term, and twice that to both class sizes, so that a term of one class gets a finite ratio. With a
    second stratum the ratio is Mantel and Haenszel's.
    """
    from isthmus.features import term_chi2_kernels as kernels

    klass = np.asarray(klass, dtype=np.int32)
    first = (stats.starts, stats.klass, stats.documents, stats.class_documents)
    if other is None:
        return kernels.probability_ratios(*first, klass, float(smoothing))
    second = (other.starts, other.klass, other.documents, other.class_documents)
    return kernels.pooled_ratios(*first, *second, klass, float(smoothing))


def _level(stats: TermStatistics, level: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Joint counts, class totals and grand total of the 2 × 2 tables."""
    if level == "occurrences":
        totals = stats.class_occurrences
        return stats.occurrences, totals, float(totals.sum())
    return stats.documents.astype(np.float64), stats.class_documents, float(stats.class_documents.sum())


# -- χ² scores of terms, on documents and on occurrences
# Both functions fit ``sklearn.feature_selection.SelectKBest``. They differ in what the 2 × 2 table of a term and a
# class counts: :func:`chi2` documents, :func:`tf_chi2` occurrences (Zheng, Liu, Teng and Sun, AIRS 2009, section 3.1).


def tf_chi2(X, y, *, reduce="max"):
    """Compute the modified χ² of each term: the 2 × 2 tables count occurrences.

    Parameters
    ----------
    X : {sparse matrix, ndarray} of shape (n_documents, n_terms)
        Non-negative counts.
    y : array-like of shape (n_documents,)
        Class of each document; unlabelled documents (-1, None or NaN) are left out.
    reduce : {"max", "total", None}, default="max"
        "max": the largest χ² over the classes. "total": their sum. None: all of them, an array of terms × classes with
        the classes in sorted order.

    Returns
    -------
    scores : ndarray of shape (n_terms,) or (n_terms, n_classes)
        A term that never occurs scores 0.

    References
    ----------
    Zheng, Liu, Teng and Sun, "Efficient text classification using term projection", AIRS 2009, Eqs. 1-3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest
    >>> from isthmus.features import tf_chi2
    >>> X = np.array([[5, 1, 0], [4, 1, 0], [1, 1, 3], [1, 1, 2]])
    >>> y = ["red", "red", "blue", "blue"]
    >>> tf_chi2(X, y).round(2).tolist()
    [7.1, 0.05, 8.15]
    >>> SelectKBest(tf_chi2, k=1).fit_transform(X, y).ravel().tolist()
    [0, 0, 3, 2]
    """
    return _scores(X, y, "occurrences", reduce)


def chi2(X, y, *, reduce="max"):
    """Traditional χ² of each term: the 2 × 2 tables count documents that hold the term or do not.

    Not what ``sklearn.feature_selection.chi2`` computes: that one sums the entries and leaves out the cells for "the
    term is absent".

    Parameters
    ----------
    X, y, reduce
        As for :func:`tf_chi2`; only whether an entry is above 0 matters.

    Returns
    -------
    scores : ndarray of shape (n_terms,) or (n_terms, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.features import chi2
    >>> X = np.array([[5, 1, 0], [4, 1, 0], [1, 1, 3], [1, 1, 2]])
    >>> chi2(X, ["red", "red", "blue", "blue"]).tolist()
    [0.0, 0.0, 4.0]
    """
    return _scores(X, y, "documents", reduce)


def _scores(X, y, level, reduce):
    if reduce not in ("max", "total", None):
        raise UsageError(f"reduce={reduce!r}; use 'max', 'total' or None.", code="bad-parameter")
    stats = _statistics(X, y)
    if reduce is None:
        return chi2_per_class(stats, level=level)
    summary = summarise(stats, level=level)
    return summary.largest if reduce == "max" else summary.total


def _statistics(X, y) -> TermStatistics:
    from sklearn.utils.validation import check_array  # here, because the statistics need only numpy and scipy

    from isthmus._validation import read_labels

    X = check_array(X, accept_sparse="csr", dtype=np.float64, accept_large_sparse=False)
    values = X.data if sp.issparse(X) else X
    if np.size(values) and values.min() < 0:
        raise DataError(
            f"The smallest entry of X is {values.min():g}; χ² needs counts or other non-negative weights.",
            code="negative-counts",
        )
    labels, known = read_labels(y)
    if len(labels) != X.shape[0]:
        raise DataError(f"X has {X.shape[0]} rows and y has {len(labels)} labels.", code="length-mismatch")
    classes = np.unique(labels[known])
    if len(classes) < 2:
        raise DataError(
            f"y names {len(classes)} class{'es' if len(classes) != 1 else ''}; χ² compares at least two.",
            code="one-class",
        )
    # Rows with code -1 are not counted.
    codes = np.full(len(labels), -1, dtype=np.int32)
    codes[known] = np.searchsorted(classes, labels[known])
    return count_terms(X, codes, len(classes))
