"""From evidence to weights in the vote: one score per method, and how fast a vote fades with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.confidence import clipped_logit
from isthmus.choose.evidence import DRAWS, Evidence

_COMPANY = 0.1  # agreement between methods this far from the source's own accuracy counts fully, or not at all


@dataclass(frozen=True)
class VotingRule:
    """Score and weight of a method, from the evidence about its labels.

    The score is ``reverse_weight · logit(reverse accuracy) − |logit(learnability) − logit(source's learnability)|``,
    averaged over the views in which the labels were judged (words, and vectors where there are some). Labels that are
    easier to learn than the source's are suspicious, as they may follow another division of the target; the more
    other methods share them, the less: so much is taken off the difference where it is positive. A clean target of a
    noisy source has such labels.
    Methods within ``near`` of the best vote with weight ``exp(−difference / scale)``. The constants were set on
    benchmark tasks; ``docs/measured/choose.md`` has the test on corpora that were left out.

    Examples
    --------
    >>> from isthmus.choose import Evidence, VotingRule
    >>> found = {"logistic": Evidence(0.3, 0.35, 0.8, 0.8), "cocc": Evidence(0.9, 0.35, 0.55, 0.95)}
    >>> list(VotingRule().weights(found))
    ['logistic']
    """

    reverse_weight: float = 1.4
    near: float = 1.0
    scale: float = 0.8

    def score(self, evidence: Evidence, shared: float = 0.0) -> float:
        """How well the labels are supported; only differences between methods mean something.

        ``shared``: how far other methods give the same labels, 0 as by chance, 1 all of them.
        """
        return float(self._scores(evidence, shared))

    def _scores(self, evidence: Evidence, shared: float) -> Any:
        found = [(self.reverse_weight * clipped_logit(view.reverse_accuracy), excess(view)) for view in evidence.views]
        doubts = [np.where(easier > 0, (1 - shared) * easier, -easier) for _, easier in found]
        return np.mean([back - doubt for (back, _), doubt in zip(found, doubts, strict=True)], axis=0)

    def weights(self, evidence: Mapping[str, Evidence], shared: Mapping[str, float] | None = None) -> dict[str, float]:
        """Votes of the methods near the best, as shares of one; ``shared`` as for :meth:`score`, by method."""
        scores = {name: self.score(found, (shared or {}).get(name, 0.0)) for name, found in evidence.items()}
        best = max(scores.values())
        raw = {name: np.exp((score - best) / self.scale) for name, score in scores.items() if score >= best - self.near}
        return {name: float(weight / sum(raw.values())) for name, weight in raw.items()}

    def spread(self, evidence: Evidence, shared: float = 0.0, random_state: int = 0) -> float:
        """Standard deviation of the score when the documents are drawn again (with replacement)."""
        rng = np.random.default_rng(random_state)
        return float(np.std(self._scores(evidence.redraw(rng, DRAWS), shared)))


def shared_labels(
    labels: Mapping[str, np.ndarray], n_classes: int, source_accuracy: float | None = None
) -> dict[str, float]:
    """How far each method's labels are those of the other methods: 1 all the same, 0 as many as by chance.

    With ``source_accuracy`` (share of the source's labels that held-out documents repeat), agreement counts only as far
    as it reaches that share: fully from ten points above it, not at all from ten points below. Methods that agree more
    than that have seen through noise in the labels, or the target is cleaner; methods that agree less have no such
    excuse.
    """
    chance = 1 / max(2, n_classes)
    found = {}
    for name, own in labels.items():
        agreed = [float(np.mean(own == other)) for rival, other in labels.items() if rival != name]
        if not agreed:
            found[name] = 0.0
            continue
        mean = float(np.mean(agreed))
        heed = 1.0 if source_accuracy is None else min(1.0, max(0.0, 0.5 + (mean - source_accuracy) / (2 * _COMPANY)))
        found[name] = heed * max(0.0, (mean - chance) / (1 - chance))
    return found


def excess(evidence: Evidence) -> Any:
    """By how much, in log-odds, the labels are easier to learn than the source's; negative: harder."""
    return clipped_logit(evidence.learnability) - clipped_logit(evidence.source_learnability)
