"""List the effort that each error budget requires, and explain review marks."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from isthmus._math.confidence import AccuracyEstimate, ExpectedErrors
from isthmus._utils import plural
from isthmus.exceptions import UsageError


def budget_curve(confidence: Any, steps: int = 20) -> list[dict]:
    """List the expected error rates for each share of documents that are reviewed.

    Documents are reviewed in the order of their confidence, the least confident first. The finished file contains all
    documents, with corrected labels where a person reviewed the document.

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
        ``reviewed`` (share), ``documents`` (to review), ``expected_error`` (wrong labels in the finished file, as a
        share of all documents) and ``unread_error`` (the same labels as a share of the documents not reviewed; None if
        all are reviewed).

    Examples
    --------
    >>> from isthmus.choose import budget_curve
    >>> for row in budget_curve([0.9, 0.5, 0.8, 1.0], steps=2):
    ...     print(row["documents"], row["expected_error"], row["unread_error"])
    0 0.2 0.2
    2 0.025 0.05
    4 0.0 None
    """
    if not isinstance(steps, Integral) or steps < 1:
        raise UsageError(f"steps={steps!r}; give a whole number from 1.", code="bad-parameter")
    ordered = np.sort(np.asarray(confidence, dtype=float))
    n = len(ordered)
    rows = []
    for step in range(steps + 1):
        reviewed = round(n * step / steps)
        errors = ExpectedErrors.of(ordered, np.arange(n) < reviewed)
        rows.append(
            {
                "reviewed": reviewed / max(1, n),
                "documents": reviewed,
                "expected_error": errors.finished_file,
                "unread_error": errors.unread,
            }
        )
    return rows


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
        f"All documents need review: {expected} are expected to be right, and no label is sure enough for a finished "
        f"file with at most {budget:.0%} wrong labels. A larger error budget lets some pass"
    ) + ("; so may method auto, which compares several." if alone else ".")
    return [{"topic": "review", "message": message}]
