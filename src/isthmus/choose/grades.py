"""Report how far labels on a scale may be from the truth, and which grades to merge."""

from __future__ import annotations

import numpy as np

from isthmus.corpus.guess import grade_order
from isthmus.wording import percent

WORTH = 0.1  # share of right labels that a merge must gain, also over naming the more frequent side


def grade_warnings(probabilities: np.ndarray, codes: np.ndarray, classes: np.ndarray) -> list[dict[str, str]]:
    """Recommend two groups of neighbouring grades if more of their labels are expected to be right.

    The cut with the largest gain over the more frequent side is recommended.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
        Calibrated.
    codes : ndarray of int, shape (n_documents,)
        Class of each label.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    list of dict
        ``topic`` and ``message``; empty if the classes are not grades or a merge gains little.
    """
    order = grade_order(classes.tolist())
    if not order:
        return []
    columns = np.array([classes.tolist().index(grade) for grade in order])
    proba, label = probabilities[:, columns], np.argsort(columns)[codes]
    steps = np.abs(np.arange(len(order)) - label[:, None])
    right, near = (float((proba * (steps <= most)).sum(axis=1).mean()) for most in (0, 1))
    above = np.array([proba[:, cut:].sum(axis=1) for cut in range(1, len(order))])
    merged = np.maximum(above, 1 - above).mean(axis=1)
    frequent = np.maximum(above.mean(axis=1), 1 - above.mean(axis=1))
    cut = int(np.argmax(merged - frequent))
    # A cut that leaves nearly all documents on one side raises the share without saying anything.
    if merged[cut] < max(right, frequent[cut]) + WORTH:
        return []
    sides = order[: cut + 1], order[cut + 1 :]
    names = [f"{side[0]}" if len(side) == 1 else f"{side[0]} to {side[-1]}" for side in sides]
    message = (
        f"The classes are grades from {order[0]} to {order[-1]}: {percent(right)} of the labels are expected to be "
        f"right, {percent(near)} at most one step off ({float((proba * steps).sum(axis=1).mean()):.1f} steps on "
        f"average). Merged into {names[0]} and {names[1]}, about {percent(merged[cut])} would be right."
    )
    return [{"topic": "grades", "message": message}]
