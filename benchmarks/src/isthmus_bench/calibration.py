"""Compare confidences with the share of labels that are right."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from isthmus.evaluate.labels import shared_codes
from isthmus.exceptions import DataError, UsageError


class CalibrationBin(NamedTuple):
    """Rows of similar confidence.

    Attributes
    ----------
    low, high : float
        Smallest and largest confidence in the bin.
    count : int
        Number of rows.
    confidence, accuracy : float
        Mean confidence, and the share of rows that are right.
    """

    low: float
    high: float
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a bin
    confidence: float
    accuracy: float


def expected_calibration_error(
    y_true: Any, y_pred: Any, confidence: Any, *, n_bins: int = 10, strategy: str = "uniform"
) -> float:
    """Mean gap between confidence and accuracy over bins of similar confidence, weighted by rows.

    0 means that of all labels given with confidence 0.8, eight in ten are right, and so on.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels of any kind.
    confidence : array-like of float of shape (n_rows,)
        Confidence in the predicted label, between 0 and 1.
    n_bins : int, default=10
        Number of bins; empty ones are left out.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width between 0 and 1, or of (nearly) equal numbers of rows.

    Examples
    --------
    >>> from isthmus_bench.calibration import expected_calibration_error
    >>> round(expected_calibration_error(["a", "a", "b", "b"], ["a", "a", "b", "a"], [0.9, 0.9, 0.6, 0.6]), 3)
    0.1
    """
    table = reliability_table(y_true, y_pred, confidence, n_bins=n_bins, strategy=strategy)
    rows = sum(part.count for part in table)
    return float(sum(part.count * abs(part.confidence - part.accuracy) for part in table) / rows)


def reliability_table(
    y_true: Any, y_pred: Any, confidence: Any, *, n_bins: int = 10, strategy: str = "uniform"
) -> list[CalibrationBin]:
    """Mean confidence and accuracy per bin of confidence: the table behind a reliability diagram.

    Parameters
    ----------
    y_true, y_pred, confidence, n_bins, strategy
        As for :func:`expected_calibration_error`.

    Returns
    -------
    list of CalibrationBin
        From low to high confidence, without empty bins.

    Examples
    --------
    >>> from isthmus_bench.calibration import reliability_table
    >>> for part in reliability_table([1, 1, 0, 0], [1, 1, 0, 1], [0.9, 0.9, 0.6, 0.6]):
    ...     print(part.count, round(part.confidence, 2), part.accuracy)
    2 0.6 0.5
    2 0.9 1.0
    """
    (true, pred), _ = shared_codes(y_true, y_pred, names=("y_true", "y_pred"))
    given = np.asarray(confidence, dtype=np.float64)
    if given.shape != true.shape:
        raise DataError(
            f"confidence has shape {given.shape} for {len(true)} rows; give one number per row.", code="length-mismatch"
        )
    if not np.all((given >= 0) & (given <= 1)):
        raise DataError(
            "confidence holds numbers outside 0–1 or NaN; give the probability of the predicted label.",
            code="not-finite" if not np.all(np.isfinite(given)) else "bad-parameter",
        )
    bins = _bins(given, n_bins, strategy)
    count = np.bincount(bins, minlength=n_bins)
    mean = np.bincount(bins, weights=given, minlength=n_bins)
    right = np.bincount(bins, weights=true == pred, minlength=n_bins)
    table = []
    for i in np.flatnonzero(count):
        inside, n = given[bins == i], int(count[i])
        ends = float(inside.min()), float(inside.max())
        table.append(CalibrationBin(*ends, n, float(mean[i] / n), float(right[i] / n)))
    return table


def _bins(confidence: np.ndarray, n_bins: int, strategy: str) -> np.ndarray:
    if n_bins < 1:
        raise UsageError(f"n_bins is {n_bins}; at least one bin is needed.", code="bad-parameter")
    if strategy == "uniform":
        return np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    if strategy == "quantile":
        edges = np.quantile(confidence, np.linspace(0, 1, n_bins + 1)[1:-1])
        return np.searchsorted(edges, confidence, side="left")
    raise UsageError(f"strategy is {strategy!r}; choose 'uniform' or 'quantile'.", code="bad-parameter")
