"""What fitted methods do with new texts: arrays, and the few lines that turn rows into scores of classes.

Estimators are asked for theirs by ``prediction_rule()``. A rule needs numpy and scipy alone, so that a saved model
labels a text before scikit-learn would have been loaded; the softmax of its scores are probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logsumexp

from isthmus._math.rows import softmax, unit_rows
from isthmus.classify.centroids import CentredRows
from isthmus.classify.cocc.blocks import per_length, score_rows
from isthmus.features.blocks import RowBlock
from isthmus.features.gram import ngram_gram
from isthmus.features.ngrams import encode_texts
from isthmus.features.term_chi2 import project_rows

BLOCK = 2048  # documents compared in one go; larger blocks are no faster and take more memory


@dataclass(frozen=True)
class LinearRule:
    """A linear classifier; ``link`` says how its decision values become scores.

    "logistic": logarithms of the probabilities of logistic regression; "bayes": those of naive Bayes; "margin": the
    values times ``power``.
    """

    coef: np.ndarray  # a row per class, or one row for two classes
    intercept: np.ndarray
    link: str
    power: float = 1.0

    def scores(self, X: Any) -> np.ndarray:
        decision = X @ self.coef.T + self.intercept
        if self.link == "margin":
            return self.power * two_columns(decision)
        if self.link == "bayes":
            chances = np.exp(decision - logsumexp(decision, axis=1, keepdims=True))
        elif decision.shape[1] == 1:
            second = expit(decision[:, 0])
            chances = np.stack([1 - second, second], axis=1)
        else:
            chances = softmax(decision)
        return log_of(chances)


def two_columns(decision: np.ndarray) -> np.ndarray:
    """Decision values with a column per class: ±d/2 for two, so that their softmax is the logistic function of d."""
    decision = decision.ravel() if decision.ndim == 2 and decision.shape[1] == 1 else decision
    return np.column_stack([-decision / 2, decision / 2]) if decision.ndim == 1 else decision


def log_of(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probabilities, 1e-300))


@dataclass(frozen=True)
class CentroidRule:
    mean: np.ndarray
    centroids: np.ndarray
    power: float

    def scores(self, X: Any) -> np.ndarray:
        return self.power * CentredRows.about(X, self.mean).dot(self.centroids)


@dataclass(frozen=True)
class CoClusterRule:
    """Tables or centroids of a co-clustering, a column per class."""

    word_scores: np.ndarray
    word_weights: np.ndarray | None
    length_power: float
    power: float
    prior: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        return self.of_rows(RowBlock.of(sp.csr_matrix(X)))

    def of_rows(self, rows: RowBlock) -> np.ndarray:
        raw, lengths = self.raw(rows)
        scores = self.power * per_length(raw, lengths, self.length_power)
        scores[lengths == 0] = np.log(self.prior)  # no known word: the class proportions of the source
        return scores

    def raw(self, rows: RowBlock) -> tuple[np.ndarray, np.ndarray]:
        """Return scores of classes before any factor, and the rows' sums."""
        return score_rows(rows, self.word_scores, self.word_weights)


@dataclass(frozen=True)
class ProjectionRule:
    """Each term counts for one class; with ``coef`` a linear classifier reads the classes' shares."""

    term_class: np.ndarray
    weight: np.ndarray
    power: float
    prior: np.ndarray
    coef: np.ndarray | None = None
    intercept: np.ndarray | None = None

    def scores(self, X: Any) -> np.ndarray:
        return self.of_features(project_rows(X, self.term_class, self.weight, len(self.prior)))

    def of_features(self, features: np.ndarray) -> np.ndarray:
        shares = class_shares(features)
        if self.coef is not None:
            return self.power * (shares @ self.coef.T + self.intercept)
        scores = self.power * shares
        empty = ~features.any(axis=1)
        scores[empty] = np.log(self.prior)  # no term speaks for any class: the commonest one
        return scores


def class_shares(features: np.ndarray) -> np.ndarray:
    """Rows of non-negative features to rows that sum to one; a row of zeros stays one."""
    sums = features.sum(axis=1, keepdims=True)
    return features / np.where(sums > 0, sums, 1.0)


@dataclass(frozen=True)
class DualRule:
    """One weight per word and class, learned from documents and labelled words; scores on one scale for all classes."""

    weights: np.ndarray
    moments: tuple[np.ndarray, np.ndarray]
    sharpness: float
    labelled_words_: np.ndarray  # columns

    def scores(self, X: Any) -> np.ndarray:
        return self.sharpness * comparable(np.asarray(X @ self.weights), self.moments)

    def predict_proba(self, X: Any) -> np.ndarray:
        return softmax(self.scores(X))


def comparable(values: np.ndarray, moments: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return (values - moments[0]) / moments[1]


@dataclass(frozen=True)
class NamesRule:
    """Rows about a mean against learned weights of the classes; with ``components`` the rows are made short first."""

    components: np.ndarray | None
    mean: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray
    power: float

    def scores(self, X: Any) -> np.ndarray:
        return self.power * (centred_rows(X, self.components, self.mean)[0] @ self.weights + self.intercepts)


def centred_rows(
    X: Any, components: np.ndarray | None = None, mean: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of length one about a mean (their own if omitted), at length one again, and the mean; zeros stay zeros."""
    rows = unit_rows(np.asarray(X if components is None else X @ components, dtype=np.float64))
    if mean is None:
        mean = rows.mean(axis=0)
    empty = ~rows.any(axis=1)
    rows = rows - mean
    rows[empty] = 0.0
    # A row equal to the mean has no direction; rounding must not give it one.
    rows[np.einsum("ij,ij->i", rows, rows) < 1e-12] = 0.0
    return unit_rows(rows), mean


@dataclass(frozen=True)
class StringRule:
    """A string kernel with the fitted texts, and the weights of a ridge on it."""

    kind: str
    lengths: tuple[int, int]
    lowercase: bool
    squeeze: bool
    n_jobs: int
    texts: Sequence[str]
    bend: KernelBend
    weights: np.ndarray
    offset: np.ndarray
    power: float

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        rows = self.bend(self._compare(texts))
        return (rows @ self.weights + self.offset) * self.power

    def __getstate__(self):
        return {**self.__dict__, "texts": json.dumps(list(self.texts))}  # one string loads faster than thousands

    def __setstate__(self, state):
        self.__dict__.update(state, texts=json.loads(state["texts"]))

    def _compare(self, texts: Sequence[str]) -> np.ndarray:
        known = len(self.texts)
        options: dict[str, Any] = {"lowercase": self.lowercase, "squeeze": self.squeeze, "known": known}
        codes, offsets = encode_texts([*self.texts, *texts], self.lengths[0], **options)
        return ngram_gram(codes, offsets, *self.lengths, self.kind, split=known, normalize=True, n_jobs=self.n_jobs)[0]


@dataclass(frozen=True)
class KernelBend:
    """Transformation of the rows of a normalised kernel: exp(K̂ − 1), about a centre, divided by a length."""

    centre: np.ndarray | None = None
    length: float = 1.0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows, changed in place."""
        rows -= 1.0
        np.exp(rows, out=rows)
        if self.centre is not None:
            rows -= self.centre
            rows /= self.length
        return rows
