"""A fitted model together with what was learned from answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.feedback.correction import Correction
from isthmus.feedback.views import DocumentViews


class TaughtModel:
    """Labels texts by a fitted model and a correction that was learned from answers.

    Parameters
    ----------
    base : fitted pipeline of raw text, or several that vote
        Left as it is; nothing in it is fitted again.
    views : DocumentViews
        Fitted on the same collections.
    correction : Correction

    Attributes
    ----------
    classes_ : ndarray
        Those of the base, and classes that only answers name, in order.
    """

    def __init__(self, base: Any, views: DocumentViews, correction: Correction):
        self.base = base
        self.views = views
        self.correction = correction
        self._order = np.argsort(correction.classes, kind="stable")
        self.classes_ = correction.classes[self._order]

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Probability of each class for each text."""
        opinions, vote = ask_voters(self.base, texts)
        return self.from_rows(self.views.transform(texts, list(opinions.values())), vote)

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Class of each text."""
        return self.classes_[self.predict_proba(texts).argmax(axis=1)]

    def from_rows(self, rows: Any, vote: np.ndarray) -> np.ndarray:
        """Probabilities of documents whose rows and vote are known already."""
        return self.correction.probabilities(rows, vote)[:, self._order]

    def word_weights(self) -> np.ndarray:
        """What was learned about each term (terms × classes): by itself, and by what it is about."""
        return self.views.word_effects(self.correction.coef)[:, self._order]


def ask_voters(model: Any, texts: Sequence[str]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Probabilities by each method that votes, and by all together; a single method is its own only voter."""
    if hasattr(model, "opinions"):
        opinions = model.opinions(texts)
        return opinions, model.from_opinions(opinions)
    probabilities = model.predict_proba(texts)
    return {"vote": probabilities}, probabilities
