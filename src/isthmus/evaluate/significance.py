"""Is one method better than another, or was it chance?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, chdtrc, stdtr, stdtrit

from isthmus._math.samples import check_confidence
from isthmus.evaluate._encode import shared_codes
from isthmus.exceptions import DataError, UsageError


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

    Returns
    -------
    McNemarResult

    Examples
    --------
    >>> from isthmus.evaluate import mcnemar
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
    >>> from isthmus.evaluate import paired_t_test
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
