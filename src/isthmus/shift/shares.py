"""Class shares of the target: several estimates, whether they moved, and labels that follow where that is supported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MOVED = 0.25  # total variation distance from the source's shares from which they count as moved
# Labels follow where three things hold; set on pairs with turned shares and on pairs without (``bench tune trust``).
FOLLOW = 0.2  # the distance, by labels and by probabilities
SAME_WAY = 0.88  # cosine between the movement of the labels and that of the estimate
GROWTH = 18.0  # a class of next to no source documents can be made to explain anything: the most it may grow
CAUTION = 0.2  # weight of the source's shares in the estimate that labels follow, as a share of the documents
_FLOOR = 1e-3
_ROUNDS = 100


@dataclass(frozen=True)
class ShareShift:
    """How the class shares of the target differ from the source's."""

    classes: np.ndarray
    source: np.ndarray  # shares in the source
    # shares in the target: counted labels, mean probabilities, and the shares under which the probabilities are most
    # likely (expectation maximisation of Saerens, Latinne and Decaestecker, 2002)
    by_labels: np.ndarray
    by_probabilities: np.ndarray
    by_likelihood: np.ndarray
    cautious: np.ndarray  # the last with the source's shares as a fifth of the documents: what labels follow

    @property
    def distance(self) -> float:
        """Share of documents that would have to change class (total variation), by the mean probabilities."""
        return total_variation(self.by_probabilities, self.source)

    @property
    def moved(self) -> bool:
        """Whether labels and probabilities both say that the shares moved."""
        return min(self.distance, total_variation(self.by_labels, self.source)) >= MOVED

    @property
    def supported(self) -> bool:
        """Whether the estimates agree well enough for labels to follow them."""
        far = min(self.distance, total_variation(self.by_labels, self.source)) >= FOLLOW
        ways = self.by_labels - self.source, self.cautious - self.source
        lengths = np.linalg.norm(ways[0]) * np.linalg.norm(ways[1])
        same_way = lengths > 0 and float(ways[0] @ ways[1]) / lengths >= SAME_WAY
        return bool(far and same_way and np.max(self.factors) <= GROWTH)

    @property
    def factors(self) -> np.ndarray:
        """How many times as frequent as in the source each class is, by the cautious estimate."""
        return self.cautious / _prior(self.source)


def total_variation(first: np.ndarray, second: np.ndarray) -> float:
    """Half the summed difference of two sets of shares: 0 the same, 1 nothing in common."""
    return float(np.abs(np.asarray(first) - np.asarray(second)).sum() / 2)


def likely_shares(
    probabilities: np.ndarray, trained_on: np.ndarray, *, caution: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Shares under which the probabilities are most likely, and the probabilities brought to them.

    ``trained_on`` enters every step with the weight ``caution``, as a share of the documents.
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
    """The target's class shares by three estimators beside the source's; labels are None where unknown."""
    names = np.asarray(classes)
    known = np.array([label for label in source_labels if label is not None], dtype=object)
    given = np.asarray(labels, dtype=object)
    source = np.array([np.mean(known == name) if len(known) else 0.0 for name in names])
    by_labels = np.array([np.mean(given == name) for name in names])
    likelihood, _ = likely_shares(probabilities, source)
    cautious, _ = likely_shares(probabilities, source, caution=CAUTION)
    return ShareShift(names, source, by_labels, np.asarray(probabilities).mean(axis=0), likelihood, cautious)


def _prior(shares: Any) -> np.ndarray:
    floored = np.maximum(np.asarray(shares, dtype=float), _FLOOR)
    return floored / floored.sum()
