"""How much reading buys how few errors."""

from __future__ import annotations

import numpy as np


def reading_curve(confidence, *, points: int = 51) -> list[dict]:
    """Errors to expect among the labels that are accepted unread, when the least sure documents are read first.

    Parameters
    ----------
    confidence : array-like
        Probability that each label is right.
    points : int
        Rows of the table, at most.

    Returns
    -------
    list of dict
        ``read`` (share of the documents read), ``error`` (expected share of wrong labels among the others), and
        ``documents``, the number read. The last row, where all are read, has no error.

    Examples
    --------
    >>> from isthmus.choose.budget import reading_curve
    >>> [(row["documents"], round(row["error"], 2)) for row in reading_curve([0.9, 0.6, 0.5])]
    [(0, 0.33), (1, 0.25), (2, 0.1), (3, 0.0)]
    """
    doubt = 1.0 - np.sort(np.asarray(confidence, dtype=float))
    n = len(doubt)
    left = np.concatenate([np.cumsum(doubt[::-1])[::-1], [0.0]])
    rows = np.unique(np.linspace(0, n, min(points, n + 1)).round().astype(int))
    return [
        {"documents": int(i), "read": i / max(1, n), "error": float(left[i] / (n - i)) if i < n else 0.0} for i in rows
    ]
