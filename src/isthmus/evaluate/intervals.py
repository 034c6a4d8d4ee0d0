"""Confidence intervals for a share and for any metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from isthmus._math.samples import check_confidence, two_sided_z, wilson_ends
from isthmus.evaluate._encode import label_array
from isthmus.exceptions import DataError, UsageError


class Interval(NamedTuple):
    """An estimate and the interval around it.

    Attributes
    ----------
    estimate, low, high : float
        The value measured and the two ends.
    confidence : float
        Share of such intervals that hold the true value, in the long run.
    """

    estimate: float
    low: float
    high: float
    confidence: float


def wilson_interval(successes: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a share such as an accuracy.

    Unlike the textbook interval it stays inside 0–1 and does not collapse at 0 or ``n`` successes.

    Parameters
    ----------
    successes, n : int
        Rows that are right, and all rows.
    confidence : float, default=0.95
        Between 0 and 1.

    Returns
    -------
    Interval

    Examples
    --------
    >>> from isthmus.evaluate import wilson_interval
    >>> interval = wilson_interval(80, 100)
    >>> round(interval.low, 3), interval.estimate, round(interval.high, 3)
    (0.711, 0.8, 0.867)
    """
    z = two_sided_z(confidence)
    if n < 1:
        raise DataError(f"n is {n}; an interval for a share needs at least one row.", code="no-rows")
    if not 0 <= successes <= n:
        raise UsageError(f"successes is {successes}; it must lie between 0 and n = {n}.", code="bad-parameter")
    share = successes / n
    low, high = wilson_ends(share, n, z)
    return Interval(share, low, high, confidence)


def bootstrap_interval(
    metric: Callable[[Any, Any], float],
    y_true: Any,
    y_pred: Any,
    *,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: int | np.random.RandomState | None = 0,
) -> Interval:
    """Percentile bootstrap interval for any metric of two label columns.

    Rows are drawn with replacement, true and predicted label together. It measures the chance in the choice of rows; it
    knows nothing of the chance in training.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_pred)`` gives a number.
    y_true, y_pred : array-like of shape (n_rows,)
        Labels of any kind.
    confidence : float, default=0.95
        Between 0 and 1.
    n_resamples : int, default=1000
        Number of draws.
    random_state : int, RandomState or None, default=0
        Same number, same interval.

    Returns
    -------
    Interval

    Examples
    --------
    >>> from isthmus.evaluate import bootstrap_interval, macro_f1
    >>> truth = ["a", "b"] * 50
    >>> guess = ["a"] * 20 + truth[20:]
    >>> interval = bootstrap_interval(macro_f1, truth, guess, n_resamples=200)
    >>> interval.low < interval.estimate < interval.high
    True
    """
    check_confidence(confidence)
    if n_resamples < 1:
        raise UsageError(f"n_resamples is {n_resamples}; at least one draw is needed.", code="bad-parameter")
    true, pred = label_array(y_true, "y_true"), label_array(y_pred, "y_pred")
    if len(true) != len(pred):
        raise DataError(f"y_true has {len(true)} rows and y_pred has {len(pred)}.", code="length-mismatch")
    if not len(true):
        raise DataError("y_true is empty; give at least one label to score.", code="no-rows")
    random = check_random_state(random_state)
    values = np.empty(n_resamples)
    for draw in range(n_resamples):
        rows = random.randint(len(true), size=len(true))
        values[draw] = metric(true[rows], pred[rows])
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(metric(true, pred)), float(low), float(high), confidence)
