"""How far to trust labels: the accuracy to expect, and which labels a person should look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isthmus.choose.evidence import LabelScorer
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


CONFIDENCE_LEVEL = 0.9
EASIER = 0.05  # a target may be this much easier than its source
MARGIN = 0.08  # nine in ten of 34 benchmark tasks lie within it; docs/guide/choosing.md


@dataclass(frozen=True)
class AccuracyEstimate:
    """The share of right labels to expect, with an interval that should hold it in ``confidence_level`` of all cases.

    ``estimate`` is None where nothing can be said: too few documents, or labels that no classifier can learn; the
    interval is then 0 to 1.
    """

    estimate: float | None
    low: float = 0.0
    high: float = 1.0
    confidence_level: float = CONFIDENCE_LEVEL

    def __str__(self) -> str:
        if self.estimate is None:
            return "unknown: too few documents, or labels that cannot be learned from words"
        return f"{self.estimate:.0%} ({self.low:.0%} to {self.high:.0%} in {self.confidence_level:.0%} of cases)"


def estimate_accuracy(judge: LabelScorer | None, labels: Sequence, confidence: float) -> AccuracyEstimate:
    """Accuracy to expect of labels that no one has checked.

    Two accounts are taken and the lower one believed: how often a plain classifier repeats the labels on documents it
    has not seen (:class:`isthmus.choose.LabelScorer`), and the mean ``confidence`` of whoever gave them. More than five
    points above what is right within the source is not believed. Labels that are wrong at random cannot be repeated;
    labels that are wrong in a regular way can, and are given with confidence, so the estimate is too high where a
    method is consistently mistaken. It is unknown where labels cannot be learned at all, in source or target.
    """
    if judge is None:
        return AccuracyEstimate(None)
    found = judge.score(labels)
    if not (found.learned and found.source_learned):
        return AccuracyEstimate(None)
    source = found.tables[1]
    ceiling = float(np.trace(source) / source.sum()) + EASIER
    estimate = min(found.cv_accuracy, confidence, ceiling)
    sampling = 1.645 * np.sqrt(max(estimate * (1 - estimate), 0.01) / len(labels))
    margin = float(np.hypot(MARGIN, sampling))
    return AccuracyEstimate(estimate, max(0.0, estimate - margin), min(1.0, estimate + margin))
