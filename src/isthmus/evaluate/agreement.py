"""Agreement of several annotators beyond chance: Fleiss' kappa and Krippendorff's alpha (scikit-learn has Cohen's)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def count_labels(documents: Sequence, labels: Sequence) -> np.ndarray:
    """Count how often each document got each label: documents × labels, for the functions below.

    >>> count_labels([1, 1, 2], ["a", "b", "b"]).tolist()
    [[1, 1], [0, 1]]
    """
    # Text, because labels of different types cannot be sorted.
    rows, columns = (np.unique(np.asarray(part, dtype=str), return_inverse=True) for part in (documents, labels))
    counts = np.zeros((len(rows[0]), len(columns[0])), dtype=int)
    np.add.at(counts, (rows[1], columns[1]), 1)
    return counts


def fleiss_kappa(counts: np.ndarray) -> float | None:
    """Return Fleiss' kappa: agreement beyond that of chance; 1 is full agreement, 0 is chance.

    Documents with fewer than two annotators are left out; the number of annotators may differ (each document counts
    alike). None where nothing can be compared, or where all labels are one.

    >>> fleiss_kappa(np.array([[2, 0], [0, 2], [1, 1], [2, 0]]))
    0.4666666666666667
    """
    # A document with one annotator shows no agreement.
    counts = np.asarray(counts)[np.sum(counts, axis=1) > 1]
    if not len(counts):
        return None
    n = counts.sum(axis=1)
    observed = float(np.mean((np.sum(counts**2, axis=1) - n) / (n * (n - 1))))
    chance = float(np.sum((counts.sum(axis=0) / counts.sum()) ** 2))
    return None if chance >= 1 else (observed - chance) / (1 - chance)


def krippendorff_alpha(counts: np.ndarray) -> float | None:
    """Return Krippendorff's alpha for nominal labels: one minus observed over chance disagreement.

    As :func:`fleiss_kappa`, but every answer counts alike and chance is drawn without replacement, so few answers
    are not overrated.

    >>> round(krippendorff_alpha(np.array([[2, 0], [0, 2], [1, 1], [2, 0]])), 3)
    0.533
    """
    counts = np.asarray(counts)[np.sum(counts, axis=1) > 1]
    if not len(counts):
        return None
    n = counts.sum(axis=1)
    total = counts.sum()
    observed = float(np.sum((n**2 - np.sum(counts**2, axis=1)) / (n - 1)) / total)
    chance = float((total**2 - np.sum(counts.sum(axis=0) ** 2)) / (total * (total - 1)))
    return None if chance <= 0 else 1.0 - observed / chance
