"""Predict class scores of new texts from the arrays of a fitted method.

``prediction_rule()`` of an estimator returns its rule. Rules need only numpy and scipy, so a saved model labels a text
without importing scikit-learn. The softmax of the scores of a rule are probabilities.
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

BLOCK = 2048  # documents per kernel block; larger blocks are no faster and take more memory
COPY = 1 - 1e-5  # cosine in single precision from which rows count as copies


@dataclass(frozen=True)
class LinearRule:
    """Linear classifier.

    Attributes
    ----------
    coef : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept : ndarray of shape (n_classes,) or (1,)
    link : {"logistic", "bayes", "margin"}
        Conversion of decision values to scores: log-probabilities of logistic regression, log-probabilities of naive
        Bayes, or the decision values times ``power``.
    power : float
    """

    coef: np.ndarray  # a row per class, or one row for two classes
    intercept: np.ndarray
    link: str
    power: float = 1.0

    def scores(self, X: Any) -> np.ndarray:
        """Return class scores of rows.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
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
    """Return decision values with one column per class.

    Parameters
    ----------
    decision : ndarray of shape (n_rows,), (n_rows, 1) or (n_rows, n_classes)

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        For two classes ±d/2, so that their softmax is the logistic function of d.
    """
    decision = decision.ravel() if decision.ndim == 2 and decision.shape[1] == 1 else decision
    return np.column_stack([-decision / 2, decision / 2]) if decision.ndim == 1 else decision


def log_of(probabilities: np.ndarray) -> np.ndarray:
    """Return logarithms of probabilities; zeros become a very small number first.

    Parameters
    ----------
    probabilities : ndarray

    Returns
    -------
    ndarray
    """
    return np.log(np.maximum(probabilities, 1e-300))


@dataclass(frozen=True)
class CentroidRule:
    """Nearest class centroid for rows centred about the mean of the target."""

    mean: np.ndarray
    centroids: np.ndarray
    power: float

    def scores(self, X: Any) -> np.ndarray:
        """Return class scores of rows.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self.power * CentredRows.about(X, self.mean).dot(self.centroids)


@dataclass(frozen=True)
class CoClusterRule:
    """Scores of words per class from a co-clustering, as tables or centroids."""

    word_scores: np.ndarray
    word_weights: np.ndarray | None
    length_power: float
    power: float
    prior: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """Return class scores of rows.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self.of_rows(RowBlock.of(sp.csr_matrix(X)))

    def of_rows(self, rows: RowBlock) -> np.ndarray:
        """Return class scores of a chunk of rows.

        Parameters
        ----------
        rows : RowBlock

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        raw, lengths = self.raw(rows)
        scores = self.power * per_length(raw, lengths, self.length_power)
        scores[lengths == 0] = np.log(self.prior)  # no known word: the proportions of the source decide
        return scores

    def raw(self, rows: RowBlock) -> tuple[np.ndarray, np.ndarray]:
        """Return class scores before any factor, and the sums of the rows.

        Parameters
        ----------
        rows : RowBlock

        Returns
        -------
        scores : ndarray of shape (n_rows, n_classes)
        lengths : ndarray of shape (n_rows,)
        """
        return score_rows(rows, self.word_scores, self.word_weights)


@dataclass(frozen=True)
class ProjectionRule:
    """Rule in which each term supports one class; with ``coef``, a linear classifier reads the class proportions."""

    term_class: np.ndarray
    weight: np.ndarray
    power: float
    prior: np.ndarray
    coef: np.ndarray | None = None
    intercept: np.ndarray | None = None

    def scores(self, X: Any) -> np.ndarray:
        """Return class scores of rows.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self.of_features(project_rows(X, self.term_class, self.weight, len(self.prior)))

    def of_features(self, features: np.ndarray) -> np.ndarray:
        """Return class scores of projected rows.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_classes)
            Weight of the terms of each class in each row.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        shares = class_shares(features)
        if self.coef is not None:
            return self.power * (shares @ self.coef.T + self.intercept)
        scores = self.power * shares
        empty = ~features.any(axis=1)
        scores[empty] = np.log(self.prior)  # no term supports a class, so the most frequent class wins
        return scores


def class_shares(features: np.ndarray) -> np.ndarray:
    """Scale rows of non-negative features to sum to one.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        A row of zeros stays a row of zeros.
    """
    sums = features.sum(axis=1, keepdims=True)
    return features / np.where(sums > 0, sums, 1.0)


@dataclass(frozen=True)
class DualRule:
    """One weight per word and class, learned from documents and labelled words; all classes share one scale."""

    weights: np.ndarray
    moments: tuple[np.ndarray, np.ndarray]
    sharpness: float
    labelled_words_: np.ndarray  # columns

    def scores(self, X: Any) -> np.ndarray:
        """Return class scores of rows.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self.sharpness * comparable(np.asarray(X @ self.weights), self.moments)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities of rows.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return softmax(self.scores(X))


def comparable(values: np.ndarray, moments: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Standardise the values of each class, so that classes can be compared.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
    moments : tuple of ndarray
        Location and scale per class.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    return (values - moments[0]) / moments[1]


@dataclass(frozen=True)
class NamesRule:
    """Learned class weights for centred rows; ``components`` reduce the dimension of the rows first."""

    components: np.ndarray | None
    mean: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray
    power: float

    def scores(self, X: Any) -> np.ndarray:
        """Return class scores of rows.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self.power * (centred_rows(X, self.components, self.mean)[0] @ self.weights + self.intercepts)


@dataclass(frozen=True)
class NeighbourRule:
    """Linear classifier on centred rows, mixed with the opinions of the nearest reference rows.

    Attributes
    ----------
    linear : LinearRule
        Classifier of centred rows.
    mean : ndarray of shape (n_features,)
        Mean of the target rows of length one.
    reference : ndarray of shape (n_reference, n_features)
        Centred target rows.
    opinions : ndarray of shape (n_reference, n_classes)
        Class probabilities of the reference rows.
    n_neighbors : int
    spread : float
        Weight of the neighbours in the mixture.
    """

    linear: LinearRule
    mean: np.ndarray
    reference: np.ndarray
    opinions: np.ndarray
    n_neighbors: int
    spread: float

    def scores(self, X: Any) -> np.ndarray:
        """Return class scores of rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        rows, _ = centred_rows(X, None, self.mean)
        return log_of(self.mixed(np.exp(self.linear.scores(rows)), *self.nearest(rows)))

    def nearest(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the nearest reference rows of centred rows; copies of a row are no neighbours.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)

        Returns
        -------
        places : ndarray of int of shape (n_rows, n_neighbors)
            Numbers of reference rows.
        weights : ndarray of shape (n_rows, n_neighbors)
            Cubed cosines; 0 for cosines below 0 and for copies.
        """
        size = min(self.n_neighbors, len(self.reference))
        places, weights = np.zeros((len(rows), size), dtype=np.int64), np.zeros((len(rows), size))
        if not size:
            return places, weights
        rows = rows.astype(self.reference.dtype)
        for start in range(0, len(rows), BLOCK):
            cosines = rows[start : start + BLOCK] @ self.reference.T
            cosines[cosines > COPY] = 0.0
            nearest = np.argpartition(-cosines, size - 1, axis=1)[:, :size]
            places[start : start + BLOCK] = nearest
            weights[start : start + BLOCK] = np.maximum(np.take_along_axis(cosines, nearest, axis=1), 0.0)
        return places, weights**3

    def mixed(self, own: np.ndarray, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Mix class probabilities of rows with those of their neighbours.

        Parameters
        ----------
        own : ndarray of shape (n_rows, n_classes)
        places, weights : ndarray of shape (n_rows, n_neighbors)
            As returned by :meth:`nearest`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            A row without neighbours keeps its own probabilities.
        """
        totals = weights.sum(axis=1, keepdims=True)
        theirs = np.einsum("ij,ijk->ik", weights / np.where(totals > 0, totals, 1.0), self.opinions[places])
        return np.where(totals > 0, (1 - self.spread) * own + self.spread * theirs, own)


def centred_rows(
    X: Any, components: np.ndarray | None = None, mean: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Centre rows of length one about a mean and scale them to length one again.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
    components : ndarray, optional
        Matrix that reduces the dimension of the rows first.
    mean : ndarray, optional
        The mean of these rows if omitted.

    Returns
    -------
    rows : ndarray
        Rows of zeros stay zeros.
    mean : ndarray
    """
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
    """String kernel between new and fitted texts, with the weights of a ridge regression."""

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
        """Return class scores of texts.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
        """
        rows = self.bend(self._compare(texts))
        return (rows @ self.weights + self.offset) * self.power

    def __getstate__(self):
        """Return the state with the texts as one JSON string."""
        return {**self.__dict__, "texts": json.dumps(list(self.texts))}  # one string loads faster than thousands

    def __setstate__(self, state):
        """Restore the state and decode the texts."""
        self.__dict__.update(state, texts=json.loads(state["texts"]))

    def _compare(self, texts: Sequence[str]) -> np.ndarray:
        known = len(self.texts)
        options: dict[str, Any] = {"lowercase": self.lowercase, "squeeze": self.squeeze, "known": known}
        codes, offsets = encode_texts([*self.texts, *texts], self.lengths[0], **options)
        return ngram_gram(codes, offsets, *self.lengths, self.kind, split=known, normalize=True, n_jobs=self.n_jobs)[0]


@dataclass(frozen=True)
class KernelBend:
    """Transformation of the rows of a normalised kernel: exp(K̂ − 1), minus a centre, divided by a length."""

    centre: np.ndarray | None = None
    length: float = 1.0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Transform the rows in place and return them."""
        rows -= 1.0
        np.exp(rows, out=rows)
        if self.centre is not None:
            rows -= self.centre
            rows /= self.length
        return rows
