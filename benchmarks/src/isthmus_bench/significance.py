"""Compute confidence intervals of scores and test whether two methods differ by more than chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, chdtrc, stdtr, stdtrit
from sklearn.utils import check_random_state

from isthmus._math.samples import check_confidence, two_sided_z, wilson_ends
from isthmus.evaluate.labels import label_array, shared_codes
from isthmus.exceptions import DataError, UsageError

# -- Confidence intervals for a share and for any metric


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

    Examples
    --------
    >>> from isthmus_bench.significance import wilson_interval
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

    Examples
    --------
    >>> from isthmus.evaluate import macro_f1
    >>> from isthmus_bench.significance import bootstrap_interval
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


class McNemarResult(NamedTuple):
    """Outcome of McNemar's test.

    Attributes
    ----------
    statistic : float
        χ² with continuity correction, or for the exact test the smaller of the two disagreement counts.
    p_value : float
        Two-sided.
    only_a, only_b, both, neither : int
        Rows that only the first, only the second, both and neither got right.
    """

    statistic: float
    p_value: float
    only_a: int
    only_b: int
    both: int
    neither: int


class PairedTResult(NamedTuple):
    """Outcome of a paired t-test.

    Attributes
    ----------
    statistic, p_value : float
        Student's t and its two-sided p-value.
    mean_difference, low, high : float
        Mean of first minus second, and its confidence interval.
    degrees_of_freedom : int
        Number of pairs minus one.
    confidence : float
        Of the interval.
    """

    statistic: float
    p_value: float
    mean_difference: float
    low: float
    high: float
    degrees_of_freedom: int
    confidence: float


def mcnemar(y_true: Any, pred_a: Any, pred_b: Any, *, method: str = "exact") -> McNemarResult:
    """McNemar's test: do two methods that labelled the same rows err at different rates?

    Only rows on which exactly one of them is right carry evidence; under the null hypothesis each of those is a fair
    coin.

    Parameters
    ----------
    y_true, pred_a, pred_b : array-like of shape (n_rows,)
        True labels and the labels given by the two methods, of any kind.
    method : {"exact", "chi2"}, default="exact"
        Binomial probabilities, or the χ² approximation with continuity correction, ``max(|b − c| − 1, 0)² / (b + c)``.

    Examples
    --------
    >>> from isthmus_bench.significance import mcnemar
    >>> truth = [1] * 20
    >>> result = mcnemar(truth, [1] * 18 + [0] * 2, [1] * 9 + [0] * 10 + [1])
    >>> result.only_a, result.only_b, round(result.p_value, 4)
    (9, 1, 0.0215)
    """
    if method not in ("exact", "chi2"):
        raise UsageError(f"method is {method!r}; choose 'exact' or 'chi2'.", code="bad-parameter")
    (true, a, b), _ = shared_codes(y_true, pred_a, pred_b, names=("y_true", "pred_a", "pred_b"))
    right_a, right_b = a == true, b == true
    only_a, only_b = int(np.sum(right_a & ~right_b)), int(np.sum(right_b & ~right_a))
    both = int(np.sum(right_a & right_b))
    counts = (only_a, only_b, both, len(true) - only_a - only_b - both)
    discordant = only_a + only_b
    if method == "exact":
        fewer = min(only_a, only_b)
        p_value = min(1.0, 2.0 * float(bdtr(fewer, discordant, 0.5))) if discordant else 1.0
        return McNemarResult(float(fewer), p_value, *counts)
    statistic = max(abs(only_a - only_b) - 1, 0) ** 2 / discordant if discordant else 0.0
    return McNemarResult(float(statistic), float(chdtrc(1, statistic)), *counts)


def paired_t_test(a: Any, b: Any, *, confidence: float = 0.95) -> PairedTResult:
    """Paired t-test: is the mean of ``a − b`` different from zero?

    For scores of two methods measured under the same conditions, one pair per seed, start or task. Pairs must be
    independent of each other; folds that share training rows are not, and the test is then too sure of itself.

    Parameters
    ----------
    a, b : array-like of float of shape (n_pairs,)
        Scores of the first and the second method.
    confidence : float, default=0.95
        Of the interval for the mean difference.

    Returns
    -------
    PairedTResult
        If all differences are equal the p-value is 0 (or 1 when they are all zero).

    Examples
    --------
    >>> from isthmus_bench.significance import paired_t_test
    >>> result = paired_t_test([0.82, 0.79, 0.85, 0.81], [0.78, 0.77, 0.80, 0.80])
    >>> round(result.mean_difference, 3), round(result.p_value, 3)
    (0.03, 0.046)
    """
    check_confidence(confidence)
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise DataError(
            f"a has shape {first.shape} and b has shape {second.shape}; give two columns of paired scores.",
            code="length-mismatch",
        )
    n = len(first)
    if n < 2:
        raise DataError(f"{n} pair was given; a paired t-test needs at least two.", code="no-rows")
    difference = first - second
    if not np.all(np.isfinite(difference)):
        raise DataError("The scores hold NaN or inf; leave those pairs out.", code="not-finite")
    mean = float(difference.mean())
    # Rounding leaves a tiny spread where all differences are equal on paper; treat that as none.
    rounding = 4 * np.finfo(float).eps * max(np.abs(first).max(), np.abs(second).max())
    error = float(difference.std(ddof=1) / np.sqrt(n))
    if np.ptp(difference) <= rounding or error == 0:
        equal = abs(mean) <= rounding
        statistic = 0.0 if equal else float(np.copysign(np.inf, mean))
        return PairedTResult(statistic, 1.0 if equal else 0.0, mean, mean, mean, n - 1, confidence)
    statistic = mean / error
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    p_value = 2 * float(stdtr(n - 1, -abs(statistic)))
    return PairedTResult(statistic, p_value, mean, mean - half, mean + half, n - 1, confidence)
