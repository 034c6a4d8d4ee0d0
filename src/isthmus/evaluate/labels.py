"""Scores of predicted labels and of groupings against the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score, f1_score
from sklearn.metrics.cluster import pair_confusion_matrix

from isthmus._validation import is_missing
from isthmus.exceptions import DataError, UsageError

_NAMES = ("y_true", "y_pred")


# -- Labels of any kind to integer codes over one shared list of labels


def label_array(labels: Any, name: str) -> np.ndarray:
    """Return a column of labels as an array, or refuse a table; ``name`` is that of the argument."""
    if isinstance(labels, (list, tuple)) and not any(isinstance(label, (list, np.ndarray)) for label in labels):
        # numpy would turn [1, "a"] into strings; objects distinguish 1 from "1".
        return np.fromiter(labels, dtype=object, count=len(labels))
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name} has shape {array.shape}; give one label per row.", code="bad-labels")
    return array


def shared_codes(*columns: Any, names: tuple[str, ...]) -> tuple[list[np.ndarray], list]:
    """Return codes of several label columns over the union of their labels, and that union.

    The union is sorted where its labels can be compared, otherwise in order of first appearance. Labels are equal when
    Python says so: ``1``, ``1.0`` and ``True`` are one label, ``1`` and ``"1"`` are two.

    Parameters
    ----------
    *columns : array-like of shape (n_rows,)
    names : tuple of str
        Names of the arguments, for messages.
    """
    arrays = [label_array(column, name) for column, name in zip(columns, names, strict=True)]
    if len({len(array) for array in arrays}) > 1:
        found = ", ".join(f"{name} has {len(array)}" for name, array in zip(names, arrays, strict=True))
        raise DataError(f"Labels of the same rows differ in number: {found}.", code="length-mismatch")
    if not len(arrays[0]):
        raise DataError(f"{names[0]} is empty; give at least one label to score.", code="no-rows")
    seen: dict[Any, int] = {}
    codes = [[seen.setdefault(label, len(seen)) for label in array.tolist()] for array in arrays]
    if any(is_missing(label) for label in seen):
        raise DataError(
            f"{' or '.join(names)} contains missing labels (None or NaN); score only rows whose label is known.",
            code="bad-labels",
        )
    values = list(seen)
    try:
        order = sorted(range(len(values)), key=values.__getitem__)
    except TypeError:  # labels of kinds that cannot be compared keep the order in which they came
        order = list(range(len(values)))
    rank = np.argsort(order)
    return [rank[column] for column in codes], [values[i] for i in order]


def accuracy(y_true: Any, y_pred: Any) -> float:
    """Return the share of rows whose predicted label is the true one.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels of any kind. ``1`` and ``"1"`` are different labels.

    Examples
    --------
    >>> from isthmus.evaluate import accuracy
    >>> accuracy(["staff", "price", "staff", "price"], ["staff", "price", "price", "price"])
    0.75
    """
    (true, pred), _ = shared_codes(y_true, y_pred, names=_NAMES)
    return float(np.mean(true == pred))


def error_rate(y_true: Any, y_pred: Any) -> float:
    """Return the share of rows whose predicted label is wrong: one minus :func:`accuracy`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels of any kind.

    Examples
    --------
    >>> from isthmus.evaluate import error_rate
    >>> error_rate([0, 1, 1, 1], [0, 1, 1, 0])
    0.25
    """
    (true, pred), _ = shared_codes(y_true, y_pred, names=_NAMES)
    return float(np.mean(true != pred))


def macro_f1(y_true: Any, y_pred: Any, *, classes: Sequence | None = None) -> float:
    """Return F1 of each class, averaged so that small classes weigh as much as large ones.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels of any kind.
    classes : sequence, optional
        Classes to average over; if omitted, every class seen in either column. A class that is never right counts 0,
        as does a listed class that never occurs.

    Examples
    --------
    >>> from isthmus.evaluate import macro_f1
    >>> round(macro_f1(["a", "a", "a", "b"], ["a", "a", "a", "a"]), 4)
    0.4286
    """
    return _f1(y_true, y_pred, classes, "macro")


def micro_f1(y_true: Any, y_pred: Any, *, classes: Sequence | None = None) -> float:
    """Return F1 of all decisions pooled over classes.

    With one label per row and no ``classes`` left out this equals :func:`accuracy`; it differs where ``classes`` leaves
    out one that does not matter (a rest class, say).

    Parameters
    ----------
    y_true, y_pred, classes
        As for :func:`macro_f1`.

    Examples
    --------
    >>> from isthmus.evaluate import micro_f1
    >>> micro_f1(["a", "b", "rest", "rest"], ["a", "rest", "rest", "rest"])
    0.75
    >>> round(micro_f1(["a", "b", "rest", "rest"], ["a", "rest", "rest", "rest"], classes=["a", "b"]), 4)
    0.6667
    """
    return _f1(y_true, y_pred, classes, "micro")


def _f1(y_true: Any, y_pred: Any, classes: Sequence | None, average: str) -> float:
    (true, pred), values = shared_codes(y_true, y_pred, names=_NAMES)
    places = np.arange(len(values))
    if classes is not None:
        wanted = label_array(list(classes), "classes").tolist()
        if not wanted:
            raise UsageError("classes is empty; name at least one class or leave it out.", code="bad-parameter")
        known = {value: place for place, value in enumerate(values)}
        # Classes that never occur get numbers of their own.
        places = np.array([known.get(value, len(values) + i) for i, value in enumerate(wanted)])
    return float(f1_score(true, pred, labels=places, average=average, zero_division=0.0))


# -- Scores of a grouping on pairs of rows


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


def pair_scores(y_true: Any, y_pred: Any) -> PairScores:
    """Return pairwise precision, recall and F1 of a grouping.

    Every pair of rows is a decision: together or apart. Group names do not matter, so cluster numbers can be compared
    with class names. Where no pair is together on one side, its ratio is 1 (nothing claimed, nothing
    claimed wrongly).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        True groups and predicted groups.

    Examples
    --------
    >>> from isthmus.evaluate import pair_scores
    >>> scores = pair_scores(["a", "a", "a", "b"], [0, 0, 1, 1])
    >>> scores.precision, round(scores.recall, 4), scores.f1
    (0.5, 0.3333, 0.4)
    """
    cells = pair_confusion_matrix(*_group_codes(y_true, y_pred)) // 2  # it counts both orders of a pair
    (apart, only_pred), (only_true, both) = cells.tolist()
    claimed = 2 * both + only_pred + only_true
    return PairScores(
        precision=both / (both + only_pred) if both + only_pred else 1.0,
        recall=both / (both + only_true) if both + only_true else 1.0,
        f1=2 * both / claimed if claimed else 1.0,
        together_both=both,
        together_predicted=only_pred,
        together_true=only_true,
        apart_both=apart,
    )


def adjusted_rand(y_true: Any, y_pred: Any) -> float:
    """Return the adjusted Rand index: agreement on pairs, 0 on average for a random grouping, 1 for the same grouping.

    Parameters
    ----------
    y_true, y_pred
        As for :func:`pair_scores`.

    Examples
    --------
    >>> from isthmus.evaluate import adjusted_rand
    >>> adjusted_rand(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    >>> adjusted_rand(["a", "a", "b", "b"], [0, 1, 0, 1])
    -0.5
    """
    return float(adjusted_rand_score(*_group_codes(y_true, y_pred)))


def _group_codes(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    (true,), _ = shared_codes(y_true, names=("y_true",))
    (pred,), _ = shared_codes(y_pred, names=("y_pred",))
    # Together once more, only for the check that both columns describe the same rows.
    shared_codes(true, pred, names=_NAMES)
    return true, pred
