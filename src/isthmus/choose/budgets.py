"""What a person should look at, so that the other labels keep to a budget of errors, and what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from isthmus.exceptions import UsageError

_EDGE = 1e-6
# Fewer documents than these pass for none: of a handful, one wrong label more is a broken budget. How they were set is
# said in docs/guide/trust.md.
FEWEST, FEWEST_SHARE = 20, 0.04


def review_mask(confidence, error_budget: float = 0.1) -> np.ndarray:
    """Documents to review so that the rest is expected to hold at most ``error_budget`` wrong labels.

    Documents are accepted from the surest down for as long as the mean of (1 − confidence) of the accepted ones stays
    within the budget. As good as the confidences are: under a strong shift they are too high.

    Examples
    --------
    >>> from isthmus.choose import review_mask
    >>> review_mask([0.99, 0.6, 0.95, 0.5], error_budget=0.16).tolist()
    [False, False, False, True]
    """
    if not 0 <= error_budget <= 1:
        raise UsageError(f"error_budget={error_budget!r}; give a share between 0 and 1.", code="bad-parameter")
    confidence = np.asarray(confidence, dtype=float)
    order = np.argsort(-confidence, kind="stable")
    doubt = 1.0 - confidence[order]
    within = np.cumsum(doubt) / np.arange(1, len(doubt) + 1) <= error_budget + 1e-12
    mask = np.ones(len(confidence), dtype=bool)
    mask[order[within]] = False
    return mask


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
    doubt = np.sort(1.0 - np.asarray(confidence, dtype=float))
    n = len(doubt)
    rows = []
    for step in range(steps + 1):
        reviewed = round(n * step / steps)
        error = round(float(doubt[: n - reviewed].mean()), 6) if reviewed < n else None
        rows.append({"reviewed": reviewed / max(1, n), "documents": reviewed, "expected_error": error})
    return rows


def none_for_few(review: np.ndarray) -> np.ndarray:
    """The mask as it is, or all documents to review where next to none would pass.

    A budget promises a share of wrong labels, and of a handful of labels no share can be promised.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.choose.budgets import none_for_few
    >>> [int(none_for_few(np.arange(500) >= passed).sum()) for passed in (20, 19, 0)]
    [480, 500, 500]
    """
    passed = np.count_nonzero(~review)
    return np.ones_like(review) if passed < min(FEWEST, FEWEST_SHARE * len(review)) else review


def cautious(confidence: Any, caution: float, surest: float = 1.0) -> np.ndarray:
    """Confidences as they would be at the low end of the accuracy to expect.

    A budget is a promise: it should hold where the expectation is too high by as much as its interval admits.

    Parameters
    ----------
    confidence : sequence of float
    caution : float
        How far down, in log-odds; see ``AccuracyEstimate.caution``.
    surest : float, default=1.0
        No confidence counts for more than this; see ``AccuracyEstimate.surest_alone``.

    Examples
    --------
    >>> from isthmus.choose.budgets import cautious
    >>> cautious([0.98, 0.8], 0.8).round(2).tolist()
    [0.96, 0.64]
    """
    return expit(logit(np.clip(np.asarray(confidence, dtype=float), _EDGE, min(surest, 1 - _EDGE))) - caution)
