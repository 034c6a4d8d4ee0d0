"""Fit the correction for label shift."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from isthmus._math.confidence import clipped_logit
from isthmus._math.fitted import fitted
from isthmus.choose.decision import Decision
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.stages.apply import LabelShift, reweight_classes
from isthmus.choose.trust import moved_to
from isthmus.shift.shares import compare_shares

# Fitted constants; ``choose/trust.json`` states their units and origin.
LABEL_SHIFT = fitted("label_shift")
ACCURACY = fitted("expected_accuracy")


def fit(decision: Decision) -> None:
    """Correct for label shift if the difference of the class proportions is supported.

    Parameters
    ----------
    decision : Decision
    """
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
    if len(decision.classes) > 2:
        confidence = float(expit(clipped_logit(confidence) + LABEL_SHIFT["rise"]))
    decision.accuracy = moved_to(before, confidence, len(decision.classes))
    decision.gain = clipped_logit(decision.accuracy.for_calibration) - clipped_logit(before.for_calibration)


def class_factors(
    scorer: LabelScorer | None, proba: np.ndarray, labels: np.ndarray, classes: np.ndarray
) -> np.ndarray | None:
    """Return each class's frequency in the target relative to the source.

    The factors are weakened until every class to which the estimate assigns enough documents keeps at least one label.

    Parameters
    ----------
    scorer : LabelScorer or None
    proba : ndarray of shape (n_texts, n_classes)
    labels : ndarray of shape (n_texts,)
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_classes,) or None
        None if the labels should not be corrected.
    """
    if scorer is None or len(scorer.source_labels) < ACCURACY["thin"]:
        return None
    names = classes.astype(str)
    shift = compare_shares(scorer.source_labels, proba, labels.astype(str), names)
    if not shift.supported:
        return None
    expected = shift.cautious * len(labels) >= LABEL_SHIFT["least_documents"]
    for power in LABEL_SHIFT["powers"]:
        factors = shift.factors**power
        given = np.bincount(reweight_classes(proba, factors).argmax(axis=1), minlength=len(names))
        if (given[expected] > 0).all():
            return factors
    return None
