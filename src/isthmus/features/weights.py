"""Weights for counts and scores of terms: tf-idf and χ²."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import scale_to_unit
from isthmus.exceptions import DataError, UsageError
from isthmus.features.term_chi2 import TermStatistics, chi2_per_class, count_terms, summarise


def document_frequency(X: sp.csr_matrix) -> np.ndarray:
    """Number of rows in which each column occurs."""
    return np.bincount(X.indices[X.data != 0], minlength=X.shape[1])


def smooth_idf(frequency: np.ndarray, n_documents: int) -> np.ndarray:
    """log((1 + n) / (1 + df)) + 1, as if one more document held every word: never zero, never infinite."""
    return np.log((1.0 + n_documents) / (1.0 + frequency)) + 1.0


def weigh_tfidf(X, idf=None, *, sublinear=False, norm="l2"):
    """Counts to tf-idf rows of length one, sparse in and sparse out.

    Parameters
    ----------
    X : CSR matrix of counts
    idf : ndarray, optional
        Inverse document frequencies; computed from ``X`` if omitted.
    sublinear : bool
        Replace a count c by 1 + log c.
    norm : {"l2", "l1", None}

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from isthmus.features import weigh_tfidf
    >>> weigh_tfidf(sp.csr_matrix([[2.0, 0.0], [0.0, 1.0]])).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    X = sp.csr_matrix(X, dtype=np.float64, copy=True)
    if idf is None:
        idf = smooth_idf(document_frequency(X), X.shape[0])
    if sublinear:
        X.data[X.data > 0] = 1.0 + np.log(X.data[X.data > 0])
    X.data *= np.asarray(idf)[X.indices]
    if norm == "l2":
        scale_to_unit(X)
    elif norm is not None:
        from sklearn.preprocessing import normalize

        normalize(X, norm=norm, copy=False)
    return X


# -- χ² scores of terms, on documents and on occurrences
# Both functions fit ``sklearn.feature_selection.SelectKBest``. They differ in what the 2 × 2 table of a term and a
# class counts: :func:`chi2` documents, :func:`tf_chi2` occurrences (Zheng, Liu, Teng and Sun, AIRS 2009, section 3.1).


_REDUCTIONS = ("max", "total", None)


def tf_chi2(X, y, *, reduce="max"):
    """Modified χ² of each term: the 2 × 2 tables count occurrences.

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
    if reduce not in _REDUCTIONS:
        raise UsageError(f"reduce={reduce!r}; use 'max', 'total' or None.", code="bad-parameter")
    stats = _statistics(X, y)
    if reduce is None:
        return chi2_per_class(stats, level=level)
    summary = summarise(stats, level=level)
    return summary.largest if reduce == "max" else summary.total


def _statistics(X, y) -> TermStatistics:
    from sklearn.utils.validation import check_array  # here, for weights of terms need no more than numpy and scipy

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
    codes = np.full(len(labels), -1, dtype=np.int32)
    codes[known] = np.searchsorted(classes, labels[known])
    return count_terms(X, codes, len(classes))
