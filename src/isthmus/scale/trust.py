"""Evidence, expectation, new groups and calibration of a large run, from a sample drawn by content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus.base import softmax
from isthmus.choose.choice import Pair, score_pair, share_factors
from isthmus.choose.combined import sharpen, sharpness_for, to_shares
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.trust import AccuracyEstimate, assess, confidence_outside, estimate_accuracy, moved_to, novel_names

STEPS = 10_000  # confidences are written with four digits


@dataclass
class Trust:
    """How far the labels of a large run can be trusted.

    Attributes
    ----------
    expected : AccuracyEstimate
    power : float
        To which probabilities are raised, so that the sample's mean confidence is what is expected.
    offsets : ndarray or None
        Added to the scores of the classes, where labels follow shares that moved.
    judge : LabelScorer or None
        The sample's scorer; tells new groups apart.
    novel, warnings : list of dict
        As of :class:`isthmus.api.label.LabelResult`.
    """

    expected: AccuracyEstimate
    power: float = 1.0
    offsets: np.ndarray | None = None
    judge: LabelScorer | None = None
    novel: list[dict] = field(default_factory=list)
    warnings: list[dict] = field(default_factory=list)

    def moved(self, scores: np.ndarray) -> np.ndarray:
        """Scores brought to the target's shares."""
        return scores if self.offsets is None else scores + self.offsets

    def groups(self, texts: Sequence[str]) -> np.ndarray | None:
        """Name of the new group of each text, '' for none; None where the sample holds no such group."""
        return novel_names(self.judge, texts) if self.novel else None


def weigh_sample(
    source: tuple[list[str], list[Any]],
    target: list[str],
    scores: np.ndarray,
    classes: np.ndarray,
    *,
    options: dict[str, Any],
    follow: bool = False,
) -> Trust:
    """What the sample says about a model fitted on everything: ``scores`` are its scores of the target's sample.

    ``follow``: labels are brought to shares that moved, where the estimates of these agree; as in memory, a vote is
    and a method that was named is not.
    """
    probabilities = softmax(scores)
    labels = classes[probabilities.argmax(axis=1)]
    pair = Pair.of(source[0], np.array(source[1], dtype=object), target)
    judge = score_pair(pair, options)
    expected = estimate_accuracy(judge, labels, confidence_outside(judge, probabilities))
    power, factors = 1.0, None
    if expected.for_calibration is not None:
        outside = novel_names(judge, target) == ""
        power = sharpness_for(probabilities[outside], expected.for_calibration)
        raised = sharpen(probabilities, power)
        if follow:
            factors = share_factors(judge, raised[outside], labels[outside], classes)
        if factors is not None:
            probabilities = to_shares(raised, factors)
            labels = classes[probabilities.argmax(axis=1)]
            expected = moved_to(expected, float(probabilities[outside].max(axis=1).mean()))
    found = assess(
        judge, expected, pair.labels[: pair.n_source], labels, probabilities, classes, followed=factors is not None
    )
    for row in found.warnings:
        if row["topic"] == "class shares":
            row["message"] += _shares_by(len(source[0]), len(target), factors is not None)
    novel = [group.to_dict() for group in found.novelty.groups] if found.novelty else []
    offsets = None if factors is None else np.log(np.maximum(factors, 1e-300)) / power
    return Trust(expected, power, offsets, judge, novel, found.warnings)


def _shares_by(n_source: int, n_target: int, followed: bool) -> str:
    said = f" The shares are those of a sample, {n_source:,} documents of the source and {n_target:,} of the target"
    return said + ("." if followed else "; the labels do not follow them.")


def review_limit(counts: np.ndarray, budget: float) -> int:
    """Step of confidence below which documents are reviewed, so that the others keep within the budget.

    ``counts`` has the number of documents at each of the confidences 0, 0.0001, …, 1. Documents of one confidence are
    accepted together or not at all.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.scale.trust import review_limit
    >>> counts = np.zeros(10_001, dtype=np.int64)
    >>> counts[[9_900, 9_500, 6_000, 5_000]] = 1
    >>> review_limit(counts, 0.16)
    6000
    """
    steps = np.arange(len(counts))[::-1]
    accepted = np.cumsum(counts[::-1])
    doubt = np.cumsum(counts[::-1] * (STEPS - steps))  # integers: nothing is rounded
    within = (doubt <= (budget + 1e-12) * STEPS * accepted) & (counts[::-1] > 0)
    return int(steps[np.flatnonzero(within)[-1]]) if within.any() else STEPS + 1
