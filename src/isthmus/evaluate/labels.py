"""Scores of predicted labels against true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
