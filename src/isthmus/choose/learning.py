"""A vote that is learned in the target: what its labels look like in vectors of whole documents, mixed with the vote.

A vote is made of methods that carry the source's labels over; its errors are scattered where they are errors of single
documents. A ridge regression on vectors learns the vote's probabilities from all target documents and gives each the
answer of the model without it, so that no document confirms itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import normalize

from isthmus.choose.combined import pool
from isthmus.classify.names.settling import learn_shares

_FLOOR = 1e-3
_FEWEST = 50  # target documents; fewer teach nothing that the vote does not know


@dataclass
class TargetLearner:
    """What was learned of a vote."""

    mean: np.ndarray  # of the target's rows at length one
    weights: np.ndarray  # of the regression, on rows about the mean, at length one again
    intercepts: np.ndarray
    held_out: np.ndarray  # probabilities of the target's documents, each by the model without it
    agreement: float  # share of the documents for which that is the vote's own answer

    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        """Probabilities of new documents."""
        centred = normalize(normalize(np.asarray(rows, dtype=np.float64)) - self.mean)
        return to_probabilities(centred @ self.weights + self.intercepts)


def to_probabilities(shares: np.ndarray) -> np.ndarray:
    """Fitted shares, which may lie beyond 0 and 1, as probabilities."""
    clipped = np.clip(shares, _FLOOR, 1.0)
    return clipped / clipped.sum(axis=1, keepdims=True)


def learn_in_target(rows: np.ndarray, vote: np.ndarray) -> TargetLearner | None:
    """Learn a vote's probabilities from vectors of the target's documents; None where there are too few.

    ``rows`` are those of a model, latent semantic ones, or both next to each other, each at length one.
    """
    if len(rows) < _FEWEST:
        return None
    units = normalize(np.asarray(rows, dtype=np.float64))
    mean = units.mean(axis=0)
    learned = learn_shares(normalize(units - mean), vote)
    held_out = to_probabilities(learned.held_out)
    agreement = float(np.mean(held_out.argmax(axis=1) == vote.argmax(axis=1)))
    return TargetLearner(mean, learned.weights, learned.intercepts, held_out, agreement)


def mix_learned(vote: np.ndarray, learned: np.ndarray) -> np.ndarray:
    """Vote and what was learned of it, each counted half."""
    return pool({"vote": vote, "learned": learned}, {"vote": 1.0, "learned": 1.0})
