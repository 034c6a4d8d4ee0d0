"""Which labels a person should look at."""

from __future__ import annotations

import numpy as np

from isthmus.exceptions import UsageError


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
