"""Scores of predicted labels and of groupings against the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from isthmus.evaluate._encode import label_array, shared_codes
from isthmus.exceptions import UsageError

_NAMES = ("y_true", "y_pred")


def accuracy(y_true: Any, y_pred: Any) -> float:
    """Share of rows whose predicted label is the true one.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels of any kind. ``1`` and ``"1"`` are different labels.

    Returns
    -------
    float

    Examples
    --------
    >>> from isthmus.evaluate import accuracy
    >>> accuracy(["staff", "price", "staff", "price"], ["staff", "price", "price", "price"])
    0.75
    """
    (true, pred), _ = shared_codes(y_true, y_pred, names=_NAMES)
    return float(np.mean(true == pred))


def error_rate(y_true: Any, y_pred: Any) -> float:
    """Share of rows whose predicted label is wrong: one minus :func:`accuracy`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels of any kind.

    Returns
    -------
    float

    Examples
    --------
    >>> from isthmus.evaluate import error_rate
    >>> error_rate([0, 1, 1, 1], [0, 1, 1, 0])
    0.25
    """
    (true, pred), _ = shared_codes(y_true, y_pred, names=_NAMES)
    return float(np.mean(true != pred))


def macro_f1(y_true: Any, y_pred: Any, *, classes: Sequence | None = None) -> float:
    """F1 of each class, averaged so that small classes weigh as much as large ones.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels of any kind.
    classes : sequence, optional
        Classes to average over; if omitted, every class seen in either column. A class that is never right counts 0,
        as does a listed class that never occurs.

    Returns
    -------
    float

    Examples
    --------
    >>> from isthmus.evaluate import macro_f1
    >>> round(macro_f1(["a", "a", "a", "b"], ["a", "a", "a", "a"]), 4)
    0.4286
    """
    hits, errors = _per_class(y_true, y_pred, classes)
    whole = 2 * hits + errors
    return float(np.mean(np.divide(2 * hits, whole, out=np.zeros(len(hits)), where=whole > 0)))


def micro_f1(y_true: Any, y_pred: Any, *, classes: Sequence | None = None) -> float:
    """F1 of all decisions pooled over classes.

    With one label per row and no ``classes`` left out this equals :func:`accuracy`; it differs where ``classes`` leaves
    out one that does not matter (a rest class, say).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels of any kind.
    classes : sequence, optional
        Classes to pool; if omitted, every class seen in either column.

    Returns
    -------
    float

    Examples
    --------
    >>> from isthmus.evaluate import micro_f1
    >>> micro_f1(["a", "b", "rest", "rest"], ["a", "rest", "rest", "rest"])
    0.75
    >>> round(micro_f1(["a", "b", "rest", "rest"], ["a", "rest", "rest", "rest"], classes=["a", "b"]), 4)
    0.6667
    """
    hits, errors = _per_class(y_true, y_pred, classes)
    whole = 2 * hits.sum() + errors.sum()
    return float(2 * hits.sum() / whole) if whole else 0.0


def _per_class(y_true: Any, y_pred: Any, classes: Sequence | None) -> tuple[np.ndarray, np.ndarray]:
    """Per class: rows that are right, and rows wrongly given to it plus rows it lost."""
    (true, pred), values = shared_codes(y_true, y_pred, names=_NAMES)
    k = len(values)
    hits = np.bincount(true[true == pred], minlength=k)
    errors = np.bincount(true, minlength=k) + np.bincount(pred, minlength=k) - 2 * hits
    if classes is None:
        return hits, errors
    wanted = label_array(list(classes), "classes").tolist()
    if not wanted:
        raise UsageError("classes is empty; name at least one class or leave it out.", code="bad-parameter")
    place = {value: i for i, value in enumerate(values)}
    # Classes that never occur get the extra, empty last place.
    index = [place.get(value, k) for value in wanted]
    return np.append(hits, 0)[index], np.append(errors, 0)[index]


# -- Scores of a grouping on pairs of rows, from the contingency table: no pair is ever visited


class Contingency(NamedTuple):
    """Rows counted by true and predicted group; only cells that occur are stored.

    Attributes
    ----------
    table : CSR array of int of shape (n_true_groups, n_predicted_groups)
        Number of rows in each pair of groups.
    true_groups, predicted_groups : list
        What the table's rows and columns stand for.
    """

    table: sp.csr_array
    true_groups: list
    predicted_groups: list


class PairScores(NamedTuple):
    """Precision, recall and F1 on pairs of rows, and the four counts behind them.

    Attributes
    ----------
    precision, recall, f1 : float
        A pair counts as retrieved when both rows are in one predicted group, as relevant when they share a true group.
    together_both, together_predicted, together_true, apart_both : int
        Pairs together in both groupings, in the predicted one alone, in the true one alone, in neither.
    """

    precision: float
    recall: float
    f1: float
    together_both: int
    together_predicted: int
    together_true: int
    apart_both: int


def contingency(y_true: Any, y_pred: Any) -> Contingency:
    """Count rows by true and predicted group in time linear in rows and cells, after reading the labels.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Groups of any kind; the two columns need not use the same names.

    Returns
    -------
    Contingency

    Examples
    --------
    >>> from isthmus.evaluate import contingency
    >>> counts = contingency(["cars", "cars", "bikes"], [0, 1, 1])
    >>> counts.true_groups, counts.predicted_groups, counts.table.toarray().tolist()
    (['bikes', 'cars'], [0, 1], [[0, 1], [1, 1]])
    """
    (true,), rows = shared_codes(y_true, names=("y_true",))
    (pred,), columns = shared_codes(y_pred, names=("y_pred",))
    # Together once more, only for the check that both columns describe the same rows.
    shared_codes(true, pred, names=("y_true", "y_pred"))
    ones = np.ones(len(true), dtype=np.int64)
    table = sp.coo_array((ones, (true, pred)), shape=(len(rows), len(columns))).tocsr()
    return Contingency(table, rows, columns)


def pair_scores(y_true: Any, y_pred: Any) -> PairScores:
    """Pairwise precision, recall and F1 of a grouping.

    Every pair of rows is a decision: together or apart. Group names do not matter, so cluster numbers can be compared
    with class names. Where no pair is together on one side, the ratio that has no ground is 1 (nothing claimed, nothing
    claimed wrongly).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        True groups and predicted groups.

    Returns
    -------
    PairScores

    Examples
    --------
    >>> from isthmus.evaluate import pair_scores
    >>> scores = pair_scores(["a", "a", "a", "b"], [0, 0, 1, 1])
    >>> scores.precision, round(scores.recall, 4), scores.f1
    (0.5, 0.3333, 0.4)
    """
    table = contingency(y_true, y_pred).table
    # Python integers from here on: products of pair counts do not fit 64 bits beyond some 100,000 rows.
    both = _pairs(table.data)
    in_true = _pairs(table.sum(axis=1))
    in_pred = _pairs(table.sum(axis=0))
    whole = _pairs(np.array([table.sum()]))
    return PairScores(
        precision=both / in_pred if in_pred else 1.0,
        recall=both / in_true if in_true else 1.0,
        f1=2 * both / (in_pred + in_true) if in_pred + in_true else 1.0,
        together_both=both,
        together_predicted=in_pred - both,
        together_true=in_true - both,
        apart_both=whole - in_pred - in_true + both,
    )


def adjusted_rand(y_true: Any, y_pred: Any) -> float:
    """Adjusted Rand index: agreement on pairs, 0 on average for a random grouping, 1 for the same grouping.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        True groups and predicted groups; names do not matter.

    Returns
    -------
    float

    Examples
    --------
    >>> from isthmus.evaluate import adjusted_rand
    >>> adjusted_rand(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    >>> adjusted_rand(["a", "a", "b", "b"], [0, 1, 0, 1])
    -0.5
    """
    scores = pair_scores(y_true, y_pred)
    tp, fp, fn, tn = scores.together_both, scores.together_predicted, scores.together_true, scores.apart_both
    if fp == 0 and fn == 0:
        return 1.0
    return 2 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


def _pairs(sizes: np.ndarray) -> int:
    """Number of unordered pairs inside groups of these sizes."""
    sizes = np.asarray(sizes, dtype=np.int64)
    return int(np.sum(sizes * (sizes - 1))) // 2
