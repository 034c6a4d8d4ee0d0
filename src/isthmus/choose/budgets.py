"""Choose the documents to review, such that the other labels meet an error budget, and estimate the effort."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.fitted import fitted
from isthmus._utils import plural
from isthmus.exceptions import UsageError

# Fitted constants; ``choose/trust.json`` states their units and origin.
BUDGET = fitted("budget")


def budget_curve(confidence: Any, steps: int = 20) -> list[dict]:
    """List the share of documents to review for each expected error rate among the others.

    Documents are reviewed in the order of their confidence, the least confident first.

    Parameters
    ----------
    confidence : sequence of float
        Calibrated probability that each label is right: the mean of 1 − confidence is the expected share of wrong
        labels.
    steps : int, default=20
        Rows of the table after the first.

    Returns
    -------
    list of dict
        ``reviewed`` (share), ``documents`` (to review), ``expected_error`` (among the documents not reviewed; None if
        all are reviewed).

    Examples
    --------
    >>> from isthmus.choose import budget_curve
    >>> for row in budget_curve([0.9, 0.5, 0.8, 1.0], steps=2):
    ...     print(row["documents"], row["expected_error"])
    0 0.2
    2 0.05
    4 None
    """
    if not isinstance(steps, Integral) or steps < 1:
        raise UsageError(f"steps={steps!r}; give a whole number from 1.", code="bad-parameter")
    doubt = np.sort(1.0 - np.asarray(confidence, dtype=float))
    n = len(doubt)
    rows = []
    for step in range(steps + 1):
        reviewed = round(n * step / steps)
        error = round(float(doubt[: n - reviewed].mean()), 6) if reviewed < n else None
        rows.append({"reviewed": reviewed / max(1, n), "documents": reviewed, "expected_error": error})
    return rows


def too_few_pass(passed: int, n: int) -> bool:
    """Decide whether too few documents pass for an error rate among them to be meaningful.

    Parameters
    ----------
    passed, n : int
        Documents that pass unreviewed, and all documents.

    Returns
    -------
    bool
    """
    return passed < min(BUDGET["fewest"], BUDGET["fewest_share"] * n)


def review_all_if_few_pass(review: np.ndarray) -> np.ndarray:
    """Mark all documents for review if too few would pass (see :func:`too_few_pass`).

    Parameters
    ----------
    review : ndarray of bool, shape (n_documents,)

    Returns
    -------
    ndarray of bool, shape (n_documents,)
    """
    return np.ones_like(review) if too_few_pass(int(np.count_nonzero(~review)), len(review)) else review


def no_text_warnings(n: int, of: int) -> list[dict[str, str]]:
    """Return a warning about documents without text, if there are any.

    Parameters
    ----------
    n, of : int
        Documents without text, and all documents.

    Returns
    -------
    list of dict
    """
    message = (
        f"{n:,} of {plural(of, 'document')} without text: each gets a label, as every row does, but it is a "
        "guess from the rest, needs review, and is not counted for its class."
    )
    return [{"topic": "no text", "message": message}] if n else []


def review_warnings(expected: AccuracyEstimate, budget: float, *, all_reviewed: bool, alone: bool) -> list[dict]:
    """Explain why all documents need review.

    Parameters
    ----------
    expected : AccuracyEstimate
    budget : float
        Share of wrong labels that is tolerated.
    all_reviewed : bool
        Whether all documents need review.
    alone : bool
        Whether the caller named one method, so that ``auto`` may do better.

    Returns
    -------
    list of dict
        Empty if there is nothing to explain.
    """
    if expected.estimate is None:
        so = ", so all documents need review" if all_reviewed else ""
        message = f"The accuracy is not estimated ({expected.reason}){so}."
        return [{"topic": "not estimated", "message": message}]
    if not all_reviewed:
        return []
    message = (
        f"All documents need review: {expected} are expected to be right, and no part of the labels worth mentioning "
        f"is sure enough to keep to {budget:.0%} wrong. A larger error budget lets some pass"
    ) + ("; so may method auto, which compares several." if alone else ".")
    return [{"topic": "review", "message": message}]
