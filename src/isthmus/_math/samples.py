"""Intervals for shares counted in a random sample from a finite or infinite population."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np
from scipy.special import betainc, betaln, gammaln, ndtri

from isthmus.exceptions import UsageError


def check_confidence(confidence: float) -> None:
    """Refuse a confidence outside 0–1, such as 95 instead of 0.95.

    Parameters
    ----------
    confidence : float
    """
    if not 0 < confidence < 1:
        raise UsageError(
            f"confidence is {confidence}; give a number between 0 and 1, for example 0.95.", code="bad-parameter"
        )


def two_sided_z(confidence: float) -> float:
    """Return the number of standard errors on either side of a normal mean that contain ``confidence``: 1.96 for 0.95.

    Parameters
    ----------
    confidence : float

    Returns
    -------
    float
    """
    check_confidence(confidence)
    return float(ndtri((1 + confidence) / 2))


def effective_size(n: int, population: int | None) -> float:
    """Return the size of a sample from an infinite population that is as informative as ``n`` without replacement.

    n·(N − 1)/(N − n), the inverse of the finite population correction: infinite if all were drawn, ``n`` if
    ``population`` is None.

    Parameters
    ----------
    n : int
    population : int or None
        None for an infinite population.

    Returns
    -------
    float
    """
    if population is None:
        return float(n)
    return inf if n >= population else n * (population - 1) / (population - n)


def wilson_ends(share: float, n: float, z: float) -> tuple[float, float]:
    """Return the ends of Wilson's score interval.

    Parameters
    ----------
    share : float
    n : float
        Sample size, possibly an effective size.
    z : float
        Standard errors on either side.

    Returns
    -------
    low, high : float
    """
    # Wilson 1927: the ends solve |share − p| = z·√(p(1 − p)/n) for p.
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the borders the formula gives 0 and 1 only up to rounding.
    return (0.0 if share == 0 else centre - half), (1.0 if share == 1 else centre + half)


def difference_ends(more: float, fewer: float, n: float, z: float) -> tuple[float, float]:
    """Return the ends of the interval for the difference of two shares counted in the same rows.

    ``more`` and ``fewer`` are the shares of rows that only the first and only the second count contains. One row is
    added on either side (Bonett and Price 2012), so that the interval has a width even if the sample shows no
    difference.

    Parameters
    ----------
    more, fewer : float
    n : float
    z : float
        Standard errors on either side.

    Returns
    -------
    low, high : float
    """
    plus, minus = (more + 1 / n) / (1 + 2 / n), (fewer + 1 / n) / (1 + 2 / n)
    half = z * sqrt((plus + minus - (plus - minus) ** 2) / (n + 2))
    return plus - minus - half, plus - minus + half


def budget_evidence(wrong: Any, n: Any, population: Any, allowed: int) -> np.ndarray:
    """Return the log of an e-value against more than ``allowed`` wrong labels, from ``n`` documents drawn at random.

    The likelihood of ``wrong`` among ``n`` under error rates below ``allowed / population`` (their density falls as
    1/√rate), over its likelihood with the fewest wrong labels that break the limit, drawn without replacement. This is
    the wealth of a bettor who mixes over error rates. Wrong labels that were found no longer count: the limit is for
    the other documents. If it is broken, the chance that the e-value ever reaches 1/α is at most α (Ville's inequality,
    for each number of wrong labels), in whatever order documents are read.

    Parameters
    ----------
    wrong, n, population : array-like
        Wrong labels found, documents read, and documents in total.
    allowed : int
        Largest tolerated number of wrong labels that were not found.

    Returns
    -------
    ndarray
    """
    wrong, n, population = (np.asarray(part, dtype=float) for part in (wrong, n, population))
    # The fewest wrong labels in the population that break the limit.
    breaking = wrong + allowed + 1
    # A limit of 0 still needs error rates to mix over: those below half a wrong label.
    rate = np.minimum(1.0, np.maximum(allowed, 0.5) / population)
    a, b = wrong + 0.5, n - wrong + 1
    below = np.log(np.maximum(betainc(a, b, rate), 1e-300))
    for_limit = np.log(0.5) - 0.5 * np.log(rate) + betaln(a, b) + below
    against = (
        _log_falling(breaking, wrong) + _log_falling(population - breaking, n - wrong) - _log_falling(population, n)
    )
    return np.where(n - wrong > population - breaking, np.inf, for_limit - against)


def _log_falling(number: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the logarithm of number·(number − 1)· … , ``times`` factors; anything where there are too few."""
    return gammaln(np.maximum(number, 0) + 1) - gammaln(np.maximum(number - times, 0) + 1)
