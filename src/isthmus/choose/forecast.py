"""Forecast how answers will shorten the review list and raise the accuracy, before anyone gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from isthmus._math.confidence import clipped_logit, review_mask, shift_to_mean, with_caution
from isthmus._math.fitted import fitted
from isthmus._math.samples import two_sided_z
from isthmus.choose.guaranteed import reading_minutes
from isthmus.wording import AnswerForecast

# Fitted constants; ``choose/trust.json`` states their units and origin.
FORECAST = fitted("forecast")
BY_ANSWERS = fitted("accuracy_by_answers")

_EDGE = 1e-6  # smallest distance of a confidence from 0 and 1


def forecast_answers(
    confidence: Any,
    needs_review: Any,
    rows: Sequence[int],
    budget: float,
    texts: Sequence[str] | Mapping[int, str],
    *,
    given: Sequence[int] = (),
) -> AnswerForecast:
    """Forecast the effect of answers to some documents from the confidences only.

    Answered documents are right and leave the list. The others lose part of their mistakes, because the model learns.
    :meth:`isthmus.api.result.LabelResult.teach` decides in the same way which documents then pass: at the low end of an
    interval whose width depends on the number of answers.

    Parameters
    ----------
    confidence : array-like of shape (n_documents,)
    needs_review : array-like of bool, shape (n_documents,)
    rows : sequence of int
        Documents that will be answered.
    budget : float
        Share of wrong labels that is tolerated.
    texts : sequence of str or mapping of int to str
        All texts, or those of ``rows`` by number; they determine the reading time.
    given : sequence of int
        Documents that were answered already, but not yet learned.

    Returns
    -------
    AnswerForecast
    """
    sure = np.clip(np.asarray(confidence, dtype=float), _EDGE, 1 - _EDGE)
    review = np.asarray(needs_review, dtype=bool)
    left = np.ones(len(sure), dtype=bool)
    left[list(given)] = False
    now, answers = int((review & left).sum()), len(rows)
    left[list(rows)] = False
    n = len(sure) - int(left.sum())
    minutes = reading_minutes([texts[row] for row in rows], answers) if answers else 0
    if not n:
        return AnswerForecast(0, 0, now, now, float(sure.mean()))
    if not left.any():
        return AnswerForecast(answers, minutes, now, 0, 1.0)
    mean = float(sure[left].mean())
    mean += (1 - mean) * FORECAST["learned"] * n / (n + FORECAST["half"])
    after = np.ones(len(sure))
    after[left] = shift_to_mean(sure[left], mean)
    right, share = float(after.mean()), float(left.mean())
    measured = n + int((sure[left] >= 1 - _EDGE).sum())  # earlier answers have confidence 1
    low = right - two_sided_z(0.9) * share * sqrt(right * (1 - right) / measured + FORECAST["off"] ** 2)
    caution = BY_ANSWERS["caution"] * float(clipped_logit(right) - clipped_logit(low))
    then = review_mask(with_caution(after, max(0.0, caution)), budget) & left
    return AnswerForecast(answers, minutes, now, int(then.sum()), right)
