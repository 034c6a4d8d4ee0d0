"""Predict class scores of new texts from the arrays of a fitted method.

``prediction_rule()`` of an estimator returns its rule, through which the estimator predicts. Rules need only numpy and
scipy, so a saved result labels a text without importing scikit-learn. The softmax of a rule's scores are probabilities.
A rule also contains the arrays from which ``isthmus.explain`` explains a label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logsumexp

from isthmus._math.rows import row_blocks, softmax, unit_rows
from isthmus._utils import warn
from isthmus.classify.centroids import CentredRows
from isthmus.classify.cocc.blocks import per_length, score_rows, weights_of
from isthmus.features.blocks import RowBlock, project_rows
from isthmus.features.gram import compare_few, ngram_gram
from isthmus.features.ngrams import encode_texts

NOT_SAVED = {"saved": False}  # marks a field that a saved result does not contain
# Up to so many new texts, and characters of all texts, comparing takes less time than loading compiled code.
FEW_TEXTS, FEW_CHARACTERS = 3, 4_000_000
LEAST = 1e-6  # smallest probability of a labeller
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
class CoClusterTables:
    """Tables of a co-clustering that describe its word clusters; :mod:`isthmus.explain.cocc` reads them.

    Attributes
    ----------
    word_clusters_ : ndarray of int of shape (n_words,)
    n_word_clusters_ : int
    trade_off_ : float
        Weight of the source.
    target_table_ : ndarray of shape (n_word_clusters, n_document_clusters)
    source_table_ : ndarray of shape (n_word_clusters, n_classes)
    target_words_ : ndarray of shape (n_words, n_document_clusters)
    source_words_ : ndarray of shape (n_words, n_classes)
    cluster_classes_ : ndarray of int of shape (n_document_clusters,)
        Class of each document cluster.
    """

    word_clusters_: np.ndarray
    n_word_clusters_: int
    trade_off_: float
    target_table_: np.ndarray
    source_table_: np.ndarray
    target_words_: np.ndarray
    source_words_: np.ndarray
    cluster_classes_: np.ndarray

    @classmethod
    def of(cls, model: Any) -> CoClusterTables:
        """Return the tables of a fitted estimator.

        Parameters
        ----------
        model : CoClusteringClassifier or LiteralCoClustering

        Returns
        -------
        CoClusterTables
        """
        tables = {name: getattr(model, name) for name in cls.__dataclass_fields__ if name != "cluster_classes_"}
        return cls(**tables, cluster_classes_=getattr(model, "cluster_classes_", np.arange(len(model.classes_))))


@dataclass(frozen=True)
class CoClusterRule:
    """Scores of words per class from a co-clustering, as tables or centroids."""

    word_scores: np.ndarray
    word_weights: np.ndarray | None
    length_power: float
    power: float
    prior: np.ndarray
    tables: CoClusterTables

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

    def word_contributions(self, row: sp.csr_matrix) -> np.ndarray:
        """Return the centred contribution of each word of a row to each column of scores.

        Parameters
        ----------
        row : csr_matrix of shape (1, n_words)

        Returns
        -------
        ndarray of shape (n_row_words, n_columns)
        """
        values = weights_of(RowBlock.of(row))
        if self.word_weights is not None:
            values = values * (1.0 / max(float(np.linalg.norm(values * self.word_weights[row.indices])), 1e-300))
        return centred_contributions(self.word_scores[row.indices], values)


def centred_contributions(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the scores of words, less their mean over the classes, times the weights of the words.

    Parameters
    ----------
    scores : ndarray of shape (n_words, n_classes)
    values : ndarray of shape (n_words,)

    Returns
    -------
    ndarray of shape (n_words, n_classes)
    """
    return (scores - scores.mean(axis=1, keepdims=True)) * values[:, None]


@dataclass(frozen=True)
class ClusterMapRule:
    """Scores of words per document cluster; of several clusters with the same class the best one counts."""

    word_scores: np.ndarray
    length_power: float
    power: float
    n_classes: int
    tables: CoClusterTables

    def scores(self, X: Any) -> np.ndarray:
        """Return class scores of rows.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        rows = sp.csr_matrix(X, dtype=float)
        lengths = np.asarray(rows.sum(axis=1)).ravel()
        scores = self.power * per_length(rows @ self.word_scores, lengths, self.length_power)
        # A class without a cluster gets a finite score far below the others.
        found = np.repeat(scores.min(axis=1, keepdims=True) - 700.0, self.n_classes, axis=1)
        for cluster, code in enumerate(self.tables.cluster_classes_):
            found[:, code] = np.maximum(found[:, code], scores[:, cluster])
        return found

    def word_contributions(self, row: sp.csr_matrix) -> np.ndarray:
        """Return the centred contribution of each word of a row to each column of scores.

        Parameters
        ----------
        row : csr_matrix of shape (1, n_words)

        Returns
        -------
        ndarray of shape (n_row_words, n_columns)
        """
        return centred_contributions(self.word_scores[row.indices], row.data.astype(float))


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
    labelled_words: np.ndarray  # columns
    word_scores: np.ndarray  # scores of the words themselves, for explanations

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


@dataclass(frozen=True)
class GaussianDualRule:
    """Gaussian kernel between new and fitted rows, with one coefficient per fitted row and class."""

    rows: sp.csr_matrix
    coefficients: np.ndarray
    width: float
    moments: tuple[np.ndarray, np.ndarray]
    sharpness: float
    labelled_words: np.ndarray  # columns
    word_scores: np.ndarray  # scores of the words themselves, for explanations

    def scores(self, X: Any) -> np.ndarray:
        """Return class scores of rows.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        X = sp.csr_matrix(X)
        values = np.empty((X.shape[0], self.coefficients.shape[1]))
        for block in row_blocks(X.shape[0], BLOCK):
            values[block] = gaussian_kernel(X[block], self.rows, self.width) @ self.coefficients
        return self.sharpness * comparable(values, self.moments)


def squared_distances(A: sp.spmatrix, B: sp.spmatrix) -> np.ndarray:
    """Return |a − b|² for all rows a of ``A`` and b of ``B``.

    Parameters
    ----------
    A, B : sparse matrix

    Returns
    -------
    ndarray of shape (n_rows_of_A, n_rows_of_B)
    """
    squares = np.asarray((A @ B.T).toarray())
    squares *= -2.0
    squares += np.asarray(A.multiply(A).sum(axis=1)).reshape(-1, 1)
    squares += np.asarray(B.multiply(B).sum(axis=1)).ravel()
    return np.maximum(squares, 0.0, out=squares)


def gaussian_kernel(A: sp.spmatrix, B: sp.spmatrix, width: float) -> np.ndarray:
    """Return exp(−|a − b|² / 2σ²) for all rows a of ``A`` and b of ``B``.

    Parameters
    ----------
    A, B : sparse matrix
    width : float
        σ.

    Returns
    -------
    ndarray of shape (n_rows_of_A, n_rows_of_B)
    """
    return np.exp(squared_distances(A, B) * (-0.5 / (width * width)))


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

    def term_contributions(self, row: Any) -> dict[int, np.ndarray]:
        """Return the contribution of each column to the scores of a row; see :class:`isthmus.explain.Accountable`.

        Parameters
        ----------
        row : sparse matrix of shape (1, n_features)

        Returns
        -------
        dict of int to ndarray of shape (n_classes,)
        """
        row = sp.csr_matrix(row)
        raw = row.toarray() if self.components is None else row @ self.components
        weights = self.weights if self.components is None else self.components @ self.weights
        size = max(float(np.linalg.norm(raw)), 1e-12)
        about = max(float(np.linalg.norm(raw / size - self.mean)), 1e-12) if raw.any() else 1.0
        scale = self.power / (size * about)
        weights = weights - weights.mean(axis=1, keepdims=True)  # only differences between classes decide
        return {
            int(column): scale * value * weights[column] for column, value in zip(row.indices, row.data, strict=True)
        }


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
    texts: list[str]
    bend: KernelBend
    weights: np.ndarray
    offset: np.ndarray
    power: float
    diagonal: np.ndarray  # kernel of each fitted text with itself, for explanations

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

    def first(self) -> StringRule:
        """Return the rule with only the first fitted text, which suffices to try a rule that was loaded.

        Returns
        -------
        StringRule

        Raises
        ------
        ValueError
            If the parts of the rule have different lengths.
        """
        centre = self.weights[:, 0] if self.bend.centre is None else self.bend.centre
        if len({len(part) for part in (self.texts, self.weights, self.diagonal, centre)}) > 1:
            raise ValueError("texts and weights have different lengths")
        bend = self.bend if self.bend.centre is None else replace(self.bend, centre=centre[:1])
        part = slice(1)
        return replace(
            self, texts=self.texts[part], bend=bend, weights=self.weights[part], diagonal=self.diagonal[part]
        )

    def _compare(self, texts: Sequence[str]) -> np.ndarray:
        known = len(self.texts)
        options: dict[str, Any] = {"lowercase": self.lowercase, "squeeze": self.squeeze, "known": known}
        codes, offsets = encode_texts([*self.texts, *texts], self.lengths[0], **options)
        if len(texts) <= FEW_TEXTS and len(codes) <= FEW_CHARACTERS:
            return compare_few(codes, offsets, *self.lengths, self.kind, known, self.diagonal)
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


@dataclass(frozen=True)
class LabellerRule:
    """Probabilities by a function that labels texts.

    A saved rule lacks the function, because loading a file must not run code. It contains the answers for the fitted
    texts; other texts get the class proportions of the source.

    Attributes
    ----------
    texts : list of str
        Texts with an answer.
    probabilities : ndarray of shape (n_known_texts, n_classes)
    shares : ndarray of shape (n_classes,)
        Class proportions of the source.
    ask : callable or None
        Takes texts and returns their probabilities.
    """

    texts: list[str]
    probabilities: np.ndarray
    shares: np.ndarray
    ask: Callable[[list[str]], np.ndarray] | None = field(default=None, metadata=NOT_SAVED)

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        """Return class scores of texts.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
        """
        known = dict(zip(self.texts, self.probabilities, strict=True))
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new and self.ask is None:
            message = (
                f"The labeller is not part of a saved model, so it says nothing about {len(new):,} texts; label them "
                "afresh from the source, with the labeller."
            )
            warn(message, code="labeller-failed")
        if new:
            rows = np.tile(self.shares, (len(new), 1)) if self.ask is None else self.ask(new)
            known |= dict(zip(new, rows, strict=True))
        return np.log(np.maximum([known[text] for text in texts], LEAST))

    def term_contributions(self, row: Any) -> dict:
        """Return no contributions, because a call of the labeller for every word would cost too much.

        Parameters
        ----------
        row : object
            Unused.

        Returns
        -------
        dict
            Empty.
        """
        return {}


@dataclass(frozen=True)
class EstimatorRule:
    """An estimator without a rule of its own; a result with such a member cannot be saved."""

    estimator: Any

    def scores(self, X: Any) -> np.ndarray:
        """Return log-probabilities of rows.

        Parameters
        ----------
        X : list of str, ndarray or sparse matrix

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return log_of(self.estimator.predict_proba(X))
