"""One round of self-training: what answers taught about some documents, carried to all of them by their words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.special import softmax

from isthmus.feedback.softmax_ridge import fit_softmax_ridge

SOURCE, ANSWERS, OTHERS = 0.2, 5.0, 1.0  # weight of a labelled source document, an answer, any other document
POWER = 1.5  # probabilities of other documents are sharpened before they are learned
STRENGTH = 1 / 3
STEPS = 40  # of L-BFGS: the targets are guesses, and a closer fit to them says nothing more
BY_WORDS = 0.8  # most that the self-trained classifier may say in the end
FEWEST = 10  # answers up to which it says nothing
CONSTANT = 3.0  # value of the column that stands for the shares of the classes: large, so that the ridge spares it
_POWERS = (0.1, 10.0)


@dataclass(frozen=True)
class WordModel:
    """Probabilities are softmax(``power`` · [words, constant] @ ``coef``); ``share`` is its share in the outcome."""

    coef: np.ndarray
    power: float
    share: float = BY_WORDS

    def probabilities(self, words: Any) -> np.ndarray:
        return softmax(self.power * (np.asarray(words @ self.coef[:-1]) + CONSTANT * self.coef[-1]), axis=1)


def share_of_words(n_answers: int) -> float:
    """Share of self-training in what is said after so many answers: nothing up to ten, then more and more.

    It carries what answers taught, but changes labels by itself too: with a single answer, about as many as with none.
    """
    return BY_WORDS * max(0, n_answers - FEWEST) / max(1, n_answers)


def train_on_everything(
    source_words: Any,
    source_codes: np.ndarray,
    words: Any,
    probabilities: np.ndarray,
    answered: np.ndarray,
    n_answers: int | None = None,
) -> WordModel:
    """Fit a linear classifier on labelled source documents, answers, and the corrected probabilities of all others.

    ``source_words`` and ``words`` are tf-idf rows; ``source_codes`` are columns of ``probabilities``, whose rows are 1
    for the answer where ``answered``. ``n_answers`` counts answers about words too; if None, the answered documents.

    The power brings the mean confidence of the other documents to what it was before: the correction's probabilities
    were fitted to answers it had not seen, and training on one's own labels makes too sure.
    """
    n_classes = probabilities.shape[1]
    own = np.where(answered[:, None], ANSWERS * probabilities, OTHERS * _raise(probabilities, POWER))
    targets = np.vstack([SOURCE * np.eye(n_classes)[source_codes], own])
    rows = sp.vstack([source_words, words], format="csr")
    rows = sp.hstack([rows, np.full((rows.shape[0], 1), CONSTANT)], format="csr")
    coef = fit_softmax_ridge(rows, targets, np.zeros(targets.shape), STRENGTH, max_iter=STEPS)
    model = WordModel(coef, 1.0, share_of_words(int(answered.sum()) if n_answers is None else n_answers))
    free = ~answered
    if not free.any():
        return model
    scores = np.log(np.maximum(model.probabilities(words[free]), 1e-300))
    return replace(model, power=_match_confidence(scores, float(probabilities[free].max(axis=1).mean())))


def _raise(probabilities: np.ndarray, power: float) -> np.ndarray:
    raised = probabilities**power
    return raised / raised.sum(axis=1, keepdims=True)


def _match_confidence(scores: np.ndarray, confidence: float) -> float:
    """The power at which the mean of the largest probabilities is ``confidence``."""

    def gap(log_power: float) -> float:
        return float(softmax(np.exp(log_power) * scores, axis=1).max(axis=1).mean()) - confidence

    low, high = np.log(_POWERS)
    if gap(low) >= 0:
        return _POWERS[0]
    return _POWERS[1] if gap(high) <= 0 else float(np.exp(brentq(gap, low, high, xtol=1e-4)))
