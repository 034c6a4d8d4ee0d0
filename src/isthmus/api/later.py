"""Judge the labels of later documents by the evidence about the collection on which the model was fitted or taught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isthmus._math.confidence import AccuracyEstimate, shift_to_mean
from isthmus._math.fitted import fitted
from isthmus.choose.later import (
    Collection,
    compare_documents,
    compare_words,
    expect_later,
    pair_agreement,
    unlike_warning,
)

# Fitted constants; ``choose/trust.json`` states their units and origin.
LATER = fitted("later")


@dataclass(frozen=True)
class LaterLabels:
    """Judgement of later labels.

    Attributes
    ----------
    confidence : ndarray of shape (n_texts,)
        Calibrated to the expected accuracy; not lowered in new groups.
    expected : AccuracyEstimate
    comparison : list of dict
        See :func:`isthmus.choose.later.compare_documents`.
    warnings : list of dict
    settings : dict
        Settings of the result, with the caution of the new estimate.
    """

    confidence: np.ndarray
    expected: AccuracyEstimate
    comparison: list[dict]
    warnings: list[dict]
    settings: dict[str, Any]


def judge_later(
    result: Any,
    texts: Sequence[str],
    opinions: Mapping[str, np.ndarray],
    confidence: np.ndarray,
    codes: np.ndarray,
    groups: np.ndarray,
) -> LaterLabels:
    """Estimate the accuracy of later labels and compare the documents with those of the result.

    Parameters
    ----------
    result : LabelResult
        The result whose model labelled the documents.
    texts : sequence of str
    opinions : mapping of str to ndarray of shape (n_texts, n_classes)
        Probabilities by each member.
    confidence : ndarray of shape (n_texts,)
    codes : ndarray of int, shape (n_texts,)
        Class of each document.
    groups : ndarray of str, shape (n_texts,)
        New group of each document, '' for none.

    Returns
    -------
    LaterLabels
    """
    # Answered documents are certain, so they say nothing about documents without an answer.
    open_ = np.ones(len(result.texts), dtype=bool)
    open_[result.known_answers.read.rows] = False
    if len(texts) < LATER["fewest"] or open_.sum() < LATER["fewest"]:
        side = "later documents" if len(texts) < LATER["fewest"] else "documents of the collection without an answer"
        expected = AccuracyEstimate(None, reason=f"fewer than {LATER['fewest']} {side}")
        return LaterLabels(confidence, expected, [], [], result.settings)
    both = [name for name in result.model.weights if name in opinions and name in (result.opinions or {})]
    agreement = pair_agreement(result.opinions or {}, both)
    earlier = Collection(
        result.confidence[open_],
        np.searchsorted(result.classes, result.labels)[open_],
        None if agreement is None else agreement[open_],
        result.novel_group[open_] == "",
    )
    later = Collection(confidence, codes, pair_agreement(dict(opinions), both), groups == "")
    known_texts = [result.texts[row] for row in np.flatnonzero(open_)]
    rows, words = compare_words(known_texts, texts, result.settings.get("language", "auto"))
    rows += compare_documents(earlier, later, len(result.classes))
    base = accuracy_without_answers(result.accuracy, int((~open_).sum()), len(open_))
    expected = expect_later(base, rows, len(texts), float(np.mean(~later.outside)))
    settings = result.settings
    if expected.for_calibration is not None and later.outside.any():
        confidence = confidence.copy()
        confidence[later.outside] = shift_to_mean(confidence[later.outside], expected.for_calibration)
        if any(row["unlike"] for row in rows):
            # The caution of a budget keeps its ratio to the width of the interval.
            ratio = settings.get("caution", 0.0) / max(base.caution, 1e-9)
            settings = settings | {"caution": ratio * expected.caution}
    taught = "taught" if result.answers is not None else "fitted"
    name = settings.get("collection") or f"the collection on which the model was {taught}"
    warnings = unlike_warning(rows, words, expected, base, str(name))
    return LaterLabels(confidence, expected, rows, warnings, settings)


def accuracy_without_answers(accuracy: AccuracyEstimate | None, answered: int, of: int) -> AccuracyEstimate:
    """Return the accuracy among the documents without an answer.

    Parameters
    ----------
    accuracy : AccuracyEstimate or None
        Of all documents; answered documents count as right.
    answered, of : int
        Answered documents, and all documents.

    Returns
    -------
    AccuracyEstimate
    """
    if accuracy is None or accuracy.estimate is None:
        return AccuracyEstimate(None)
    open_ = max(1, of - answered)

    def without(share: float) -> float:
        return min(1.0, max(0.0, (share * of - answered) / open_))

    estimate, low, high = (without(end) for end in (accuracy.estimate, accuracy.low, accuracy.high))
    return replace(accuracy, estimate=estimate, low=low, high=high)
