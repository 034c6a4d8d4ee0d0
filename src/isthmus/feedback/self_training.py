"""Run one round of self-training, which transfers the effect of answers to all documents by their words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from isthmus._math.fitted import fitted
from isthmus.feedback.softmax_ridge import fit_softmax_ridge

# Fitted constants; ``choose/trust.json`` states their units and origin.
SELF_TRAINING = fitted("answer_self_training")

STEPS = 40  # iterations of L-BFGS: the targets are guesses, so a closer fit is useless
# Range of the power that calibrates the classifier.
_POWERS = (0.1, 10.0)


@dataclass(frozen=True)
class WordModel:
    """Self-trained classifier of words: softmax(``power`` · [words, constant] @ ``coef``).

    ``share`` is its weight in the result.
    """

    coef: np.ndarray
    power: float
    share: float = SELF_TRAINING["by_words"]

    def probabilities(self, words: Any) -> np.ndarray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        words : CSR matrix of shape (n_documents, n_words)

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
        """
        return softmax(
            self.power * (np.asarray(words @ self.coef[:-1]) + SELF_TRAINING["constant"] * self.coef[-1]), axis=1
        )


def train_on_everything(
    source_words: Any,
    source_codes: np.ndarray,
    words: Any,
    probabilities: np.ndarray,
    answered: np.ndarray,
    n_answers: int | None = None,
) -> WordModel:
    """Fit a linear classifier on labelled source documents, answers, and the corrected probabilities of all others.

    The power adjusts the mean confidence of the other documents to its previous value. The correction's probabilities
    were calibrated on held-out answers, and training on one's own labels makes a classifier too confident.

    Parameters
    ----------
    source_words, words : CSR matrices of shape (n_documents, n_words)
        tf-idf rows.
    source_codes : ndarray of int, shape (n_source,)
        Classes of the source documents, as columns of ``probabilities``.
    probabilities : ndarray of shape (n_target, n_classes)
        1 for the answer of an answered document.
    answered : ndarray of bool, shape (n_target,)
    n_answers : int, optional
        Number of answers including those about words; the answered documents if omitted.

    Returns
    -------
    WordModel
    """
    n_classes = probabilities.shape[1]
    raised = probabilities ** SELF_TRAINING["power"]
    raised /= raised.sum(axis=1, keepdims=True)
    own = np.where(answered[:, None], SELF_TRAINING["answers"] * probabilities, SELF_TRAINING["others"] * raised)
    targets = np.vstack([SELF_TRAINING["source"] * np.eye(n_classes)[source_codes], own])
    rows = sp.vstack([source_words, words], format="csr")
    rows = sp.hstack([rows, np.full((rows.shape[0], 1), SELF_TRAINING["constant"])], format="csr")
    coef = fit_softmax_ridge(rows, targets, np.zeros(targets.shape), SELF_TRAINING["strength"], max_iter=STEPS)
    n_answers = int(answered.sum()) if n_answers is None else n_answers
    # With few answers, self-training changes as many labels as without any, so its weight grows with their number.
    share = SELF_TRAINING["by_words"] * max(0, n_answers - SELF_TRAINING["fewest"]) / max(1, n_answers)
    model = WordModel(coef, 1.0, share)
    free = ~answered
    if not free.any():
        return model
    scores = np.log(np.maximum(model.probabilities(words[free]), 1e-300))
    return replace(model, power=_match_confidence(scores, float(probabilities[free].max(axis=1).mean())))


def _match_confidence(scores: np.ndarray, confidence: float) -> float:
    """Return the power at which the mean of the largest probabilities is ``confidence``."""

    def gap(log_power: float) -> float:
        return float(softmax(np.exp(log_power) * scores, axis=1).max(axis=1).mean()) - confidence

    from scipy.optimize import brentq  # imported here, because applying the model does not need it

    low, high = np.log(_POWERS)
    if gap(low) >= 0:
        return _POWERS[0]
    return _POWERS[1] if gap(high) <= 0 else float(np.exp(brentq(gap, low, high, xtol=1e-4)))
