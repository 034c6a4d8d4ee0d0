"""Fit the correction for label shift."""

from __future__ import annotations

import numpy as np

from isthmus._math.confidence import clipped_logit
from isthmus.choose.decision import Decision
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.stages.apply import LabelShift, reweight_classes
from isthmus.choose.trust import THIN, moved_to
from isthmus.shift.shares import compare_shares

LEAST_DOCUMENTS = 5  # documents that the estimate leaves to a class, from which the class must keep at least one label
POWERS = (1.0, 0.75, 0.5, 0.25)  # of the factors, tried in this order: how far labels follow the label shift


def fit(decision: Decision) -> None:
    """Follow the class proportions of the target where their difference from the source's is supported."""
    if decision.accuracy.estimate is None:
        return
    proba, labels = decision.proba[decision.outside], decision.labels[decision.outside]
    factors = class_factors(decision.scorer, proba, labels, decision.classes)
    if factors is None:
        return
    decision.add(LabelShift(factors))
    decision.vote_labels = decision.labels
    before = decision.accuracy
    confidence = float(decision.proba[decision.outside].max(axis=1).mean())
    decision.accuracy = moved_to(before, confidence, len(decision.classes))
    decision.gain = clipped_logit(decision.accuracy.for_calibration) - clipped_logit(before.for_calibration)


def class_factors(
    scorer: LabelScorer | None, proba: np.ndarray, labels: np.ndarray, classes: np.ndarray
) -> np.ndarray | None:
    """Return each class's frequency in the target relative to the source, or None where labels should not follow.

    The factors are weakened until every class to which the estimate leaves documents keeps at least one label.

    Parameters
    ----------
    scorer : LabelScorer or None
    proba : ndarray of shape (n_texts, n_classes)
    labels : ndarray
        The label of each text.
    classes : ndarray

    Returns
    -------
    ndarray of shape (n_classes,) or None
    """
    if scorer is None or len(scorer.source_labels) < THIN:
        return None
    names = classes.astype(str)
    shift = compare_shares(scorer.source_labels, proba, labels.astype(str), names)
    if not shift.supported:
        return None
    expected = shift.cautious * len(labels) >= LEAST_DOCUMENTS
    for power in POWERS:
        factors = shift.factors**power
        given = np.bincount(reweight_classes(proba, factors).argmax(axis=1), minlength=len(names))
        if (given[expected] > 0).all():
            return factors
    return None
