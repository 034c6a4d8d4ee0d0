"""Estimate the target's class proportions in several ways, and decide whether to correct the labels for label shift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.fitted import fitted

# Fitted constants; ``choose/trust.json`` states their units and origin.
LABEL_SHIFT = fitted("label_shift")

_FLOOR = 1e-3  # smallest probability and smallest proportion
_ROUNDS = 100  # iterations of expectation maximisation at most


@dataclass(frozen=True)
class ShareShift:
    """Difference between the class proportions of the target and those of the source."""

    classes: np.ndarray
    source: np.ndarray  # proportions in the source
    # Proportions in the target: counted labels, mean probabilities, and the proportions under which the probabilities
    # are most likely (expectation maximisation of Saerens, Latinne and Decaestecker, 2002).
    by_labels: np.ndarray
    by_probabilities: np.ndarray
    by_likelihood: np.ndarray
    # Like by_likelihood, with the source's proportions as a fifth of the documents; used to correct the labels.
    cautious: np.ndarray

    @property
    def distance(self) -> float:
        """Share of documents that would have to change class (total variation), by the mean probabilities."""
        return total_variation(self.by_probabilities, self.source)

    @property
    def moved(self) -> bool:
        """Whether labels and probabilities both indicate label shift."""
        return min(self.distance, total_variation(self.by_labels, self.source)) >= LABEL_SHIFT["moved"]

    @property
    def supported(self) -> bool:
        """Whether the estimates agree well enough to correct the labels."""
        far = min(self.distance, total_variation(self.by_labels, self.source)) >= LABEL_SHIFT["follow"]
        ways = self.by_labels - self.source, self.cautious - self.source
        lengths = np.linalg.norm(ways[0]) * np.linalg.norm(ways[1])
        same_way = lengths > 0 and float(ways[0] @ ways[1]) / lengths >= LABEL_SHIFT["same_way"]
        return bool(far and same_way and np.max(self.factors) <= LABEL_SHIFT["growth"])

    @property
    def factors(self) -> np.ndarray:
        """Ratio of each class's proportion in the target to that in the source, by the cautious estimate."""
        return self.cautious / _prior(self.source)


def total_variation(first: np.ndarray, second: np.ndarray) -> float:
    """Return half the sum of absolute differences of two distributions: 0 if they are equal, 1 if they do not overlap.

    Parameters
    ----------
    first, second : ndarray of shape (n_classes,)

    Returns
    -------
    float
    """
    return float(np.abs(np.asarray(first) - np.asarray(second)).sum() / 2)


def likely_shares(
    probabilities: np.ndarray, trained_on: np.ndarray, *, caution: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class proportions under which probabilities are most likely, and the probabilities adjusted to them.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
    trained_on : ndarray of shape (n_classes,)
        Class proportions of the training documents.
    caution : float
        Weight of ``trained_on`` in every iteration, as a share of the documents.

    Returns
    -------
    shares : ndarray of shape (n_classes,)
    adjusted : ndarray of shape (n_documents, n_classes)
    """
    rows = np.maximum(np.asarray(probabilities, dtype=float), _FLOOR)
    rows /= rows.sum(axis=1, keepdims=True)
    prior = _prior(trained_on)
    shares, weight = prior, caution * len(rows)
    adjusted = rows
    for _ in range(_ROUNDS):
        adjusted = rows * (shares / prior)
        adjusted /= adjusted.sum(axis=1, keepdims=True)
        following = (adjusted.sum(axis=0) + weight * prior) / (len(rows) + weight)
        if np.abs(following - shares).max() < 1e-7:
            break
        shares = following
    return shares, adjusted


def compare_shares(source_labels: Any, probabilities: np.ndarray, labels: Any, classes: np.ndarray) -> ShareShift:
    """Compare three estimates of the target's class proportions with those of the source.

    Parameters
    ----------
    source_labels : sequence
        None for an unlabelled text.
    probabilities : ndarray of shape (n_target, n_classes)
    labels : sequence
        Labels of the target.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    ShareShift
    """
    names = np.asarray(classes)
    known = np.array([label for label in source_labels if label is not None], dtype=object)
    given = np.asarray(labels, dtype=object)
    source = np.array([np.mean(known == name) if len(known) else 0.0 for name in names])
    by_labels = np.array([np.mean(given == name) for name in names])
    likelihood, _ = likely_shares(probabilities, source)
    cautious, _ = likely_shares(probabilities, source, caution=LABEL_SHIFT["caution"])
    return ShareShift(names, source, by_labels, np.asarray(probabilities).mean(axis=0), likelihood, cautious)


def _prior(shares: Any) -> np.ndarray:
    floored = np.maximum(np.asarray(shares, dtype=float), _FLOOR)
    return floored / floored.sum()
