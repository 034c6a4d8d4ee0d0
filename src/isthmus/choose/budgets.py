"""What a person should look at, so that the other labels keep to a budget of errors, and what that costs."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from isthmus._math.confidence import AccuracyEstimate
from isthmus._utils import plural
from isthmus.exceptions import UsageError

# Fewer documents than these pass for none: of a few, one wrong label more is a broken budget. Of 40 labels of which one
# in twenty is wrong, more than 12 % are wrong in one draw of twenty; of 20, in one of thirteen.
FEWEST, FEWEST_SHARE = 40, 0.08


def budget_curve(confidence: Any, steps: int = 20) -> list[dict]:
    """What an error budget costs: share of documents to review against the errors to expect among the others.

    Documents are reviewed from the least sure up.

    Parameters
    ----------
    confidence : sequence of float
        Calibrated: the mean of 1 − confidence is the share of wrong labels to expect.
    steps : int, default=20
        Rows of the table besides the first.

    Returns
    -------
    list of dict
        ``reviewed`` (share), ``documents`` (to review), ``expected_error`` (among those not reviewed; None where all
        are).

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
    """Whether a share of wrong labels among those that pass would mean nothing."""
    return passed < min(FEWEST, FEWEST_SHARE * n)


def review_all_if_few_pass(review: np.ndarray) -> np.ndarray:
    """All documents to review where next to none would pass; see :func:`too_few_pass`."""
    return np.ones_like(review) if too_few_pass(int(np.count_nonzero(~review)), len(review)) else review


def no_text_warnings(n: int, of: int) -> list[dict[str, str]]:
    message = (
        f"{n:,} of {plural(of, 'document')} without text: each gets a label, as every row does, but it is a "
        "guess from the rest, needs review, and is not counted for its class."
    )
    return [{"topic": "no text", "message": message}] if n else []


def review_warnings(expected: AccuracyEstimate, budget: float, *, all_reviewed: bool, alone: bool) -> list[dict]:
    """Why all documents need review; ``alone``: one method was named, so that ``auto`` may do better."""
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
