"""Compute the weights of methods in the vote from the evidence about their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.confidence import clipped_logit
from isthmus._math.fitted import fitted
from isthmus.choose.evidence import DRAWS, Evidence

# Fitted constants; ``choose/trust.json`` states their units and origin.
SELECTION = fitted("selection")


@dataclass(frozen=True)
class VotingRule:
    """Compute score and weight of a method from the evidence about its labels.

    The score is ``reverse_weight · logit(reverse accuracy) − |logit(learnability) − logit(source's learnability)|``,
    averaged over the views in which the labels were judged (words, and vectors if available). Labels that are easier to
    learn than the source's are suspicious, because they may follow another division of the target. They are less
    suspicious if other methods give the same labels, as for a clean target of a noisy source. A positive difference is
    therefore reduced by the agreement with other methods. If vectors separate the source's classes far better than
    words do, methods that read words lose ``representation`` times the excess of this difference over ``far``. Methods
    within ``near`` of the best score vote with weight ``exp(−difference / scale)``. The constants were fitted on
    benchmark tasks; ``docs/measured/choose.md`` has the test on left-out corpora.

    Examples
    --------
    >>> from isthmus.choose import Evidence, VotingRule
    >>> found = {"logistic": Evidence(0.3, 0.35, 0.8, 0.8), "cocc": Evidence(0.9, 0.35, 0.55, 0.95)}
    >>> list(VotingRule().weights(found))
    ['logistic']
    """

    reverse_weight: float = SELECTION["reverse_weight"]
    near: float = SELECTION["near"]
    scale: float = SELECTION["scale"]
    representation: float = SELECTION["representation"]
    far: float = SELECTION["far"]

    def score(self, evidence: Evidence, shared: float = 0.0, behind: float = 0.0) -> float:
        """Return how well the evidence supports the labels; only differences between methods are meaningful.

        Parameters
        ----------
        evidence : Evidence
        shared : float
            Agreement with other methods: 0 as by chance, 1 the same labels.
        behind : float
            Log-odds by which vectors separate the source's classes better than what the method reads.

        Returns
        -------
        float
        """
        return float(self._scores(evidence, shared)) - self.representation * max(0.0, behind - self.far)

    def _scores(self, evidence: Evidence, shared: float) -> Any:
        found = [(self.reverse_weight * clipped_logit(view.reverse_accuracy), excess(view)) for view in evidence.views]
        # Agreement with other methods excuses labels that are easy to learn, but not noisy labels.
        doubts = [np.where(easier > 0, (1 - shared) * easier, -easier) for _, easier in found]
        return np.mean([back - doubt for (back, _), doubt in zip(found, doubts, strict=True)], axis=0)

    def weights(
        self,
        evidence: Mapping[str, Evidence],
        shared: Mapping[str, float] | None = None,
        behind: Mapping[str, float] | None = None,
    ) -> dict[str, float]:
        """Return the weights of the methods near the best score; they sum to one.

        Parameters
        ----------
        evidence : mapping of str to Evidence
            By method.
        shared, behind : mapping of str to float, optional
            See :meth:`score`, by method.

        Returns
        -------
        dict of str to float
        """
        scores = {
            name: self.score(found, (shared or {}).get(name, 0.0), (behind or {}).get(name, 0.0))
            for name, found in evidence.items()
        }
        best = max(scores.values())
        raw = {name: np.exp((score - best) / self.scale) for name, score in scores.items() if score >= best - self.near}
        return {name: float(weight / sum(raw.values())) for name, weight in raw.items()}

    def spread(self, evidence: Evidence, shared: float = 0.0, random_state: int = 0) -> float:
        """Return the standard deviation of the score over random draws of the documents (with replacement).

        Parameters
        ----------
        evidence : Evidence
        shared : float
        random_state : int

        Returns
        -------
        float
        """
        rng = np.random.default_rng(random_state)
        return float(np.std(self._scores(evidence.redraw(rng, DRAWS), shared)))


def shared_labels(
    labels: Mapping[str, np.ndarray], n_classes: int, source_accuracy: float | None = None
) -> dict[str, float]:
    """Return the agreement of each method's labels with those of the other methods.

    Parameters
    ----------
    labels : mapping of str to ndarray of shape (n_target,)
    n_classes : int
    source_accuracy : float, optional
        Share of the source's labels that out-of-fold predictions repeat. With it, agreement counts only relative to
        this share: fully from ten points above it, not at all from ten points below. If methods agree more than that,
        they may see through noise in the labels, or the target may be cleaner. Otherwise there is no such reason for
        labels that are easy to learn.

    Returns
    -------
    dict of str to float
        1: the same labels, 0: as by chance.
    """
    chance = 1 / max(2, n_classes)
    found = {}
    for name, own in labels.items():
        agreed = [float(np.mean(own == other)) for rival, other in labels.items() if rival != name]
        if not agreed:
            found[name] = 0.0
            continue
        mean = float(np.mean(agreed))
        # Linear from ten points below the source's accuracy (0) to ten points above it (1).
        weight = (
            1.0
            if source_accuracy is None
            else min(1.0, max(0.0, 0.5 + (mean - source_accuracy) / (2 * SELECTION["company"])))
        )
        found[name] = weight * max(0.0, (mean - chance) / (1 - chance))
    return found


def excess(evidence: Evidence) -> Any:
    """Return by how much, in log-odds, the labels are easier to learn than the source's; negative: harder.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    float or ndarray
    """
    return clipped_logit(evidence.learnability) - clipped_logit(evidence.source_learnability)
