"""Represent documents for a correction: opinions of the methods, meaning, and words."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from isthmus._math.fitted import fitted
from isthmus.base import softmax
from isthmus.features.embeddings import TextEmbedder
from isthmus.features.latent import LatentSemantics
from isthmus.features.tokens import readable, surface_forms
from isthmus.features.vectorizer import TextVectorizer

# Fitted constants; ``choose/trust.json`` states their units and origin.
VIEWS = fitted("answer_views")

FLOOR = 1e-3  # probability; no method can veto a class by excluding it
# Words and vectors of the texts on which views were fitted, for the lifetime of the views. Every round of teaching
# needs them, and a saved file need not contain them.
_READ: WeakKeyDictionary[DocumentViews, tuple[Sequence[str], sp.csr_matrix, np.ndarray]] = WeakKeyDictionary()


class DocumentViews:
    """Convert texts and the opinions of fitted methods to the rows from which a correction learns.

    The views are adjacent columns, each scaled by its prior variance: log-odds of every voting method and of simple
    classifiers trained on the source (one per view); meaning (latent semantic analysis of both sides, by which an
    answer affects documents without a common word); vectors of a pretrained model (only with ``embedder``), relative to
    the mean of their side; words (tf-idf); a constant, which shifts the class proportions. ``classes_`` are those of
    the source.

    Parameters
    ----------
    analyzer, min_df, language
        See :class:`isthmus.features.TextVectorizer`.
    random_state : int or None
    embedder : TextEmbedder, optional
    """

    word_scale = np.sqrt(VIEWS["words"])  # factor of the word columns in the rows of the correction

    def __init__(
        self,
        *,
        analyzer: str = "auto",
        min_df: int | str = "auto",
        language: str = "auto",
        random_state: int | None = 0,
        embedder: TextEmbedder | None = None,
    ):
        self.analyzer = analyzer
        self.min_df = min_df
        self.language = language
        self.random_state = random_state
        self.embedder = embedder

    def fit(self, source_texts: Sequence[str], source_labels: Sequence, target_texts: Sequence[str]) -> DocumentViews:
        """Fit the views on both collections.

        Parameters
        ----------
        source_texts : sequence of str
        source_labels : sequence
            None for an unlabelled text, which affects only vocabulary and meaning.
        target_texts : sequence of str

        Returns
        -------
        DocumentViews
        """
        texts = [*source_texts, *target_texts]
        self.vectorizer_ = TextVectorizer(
            analyzer=self.analyzer, min_df=self.min_df, language=self.language, weighting="tfidf", sublinear=True
        )
        words = self.vectorizer_.fit_transform(texts)
        self.components_ = np.zeros((0, words.shape[1]))
        if min(words.shape) > 1:
            self.components_ = (
                LatentSemantics(VIEWS["n_components"], random_state=self.random_state).fit(words).components_
            )
        known = np.flatnonzero([label is not None for label in source_labels])
        labels = np.array([source_labels[i] for i in known.tolist()])
        self.classes_ = np.unique(labels)
        self.source_words_ = words[known]
        vectors, target_vectors = self._fit_vectors(source_texts, target_texts)
        _READ[self] = target_texts, words[len(source_texts) :], target_vectors
        self.plain_ = []
        if not len(known):  # only the names of the classes are known, so there is no source to learn from
            return self
        for rows, strength in ((words[known], 3.0), (self._meaning(words[known]), 10.0), (vectors[known], 10.0)):
            if rows.shape[1] and len(self.classes_) > 1:
                model = LogisticRegression(C=strength, max_iter=300).fit(rows, labels)
                self.plain_.append((_both_columns(model.coef_), _both_columns(model.intercept_)))
            elif rows.shape[1]:  # all classes were merged into one
                self.plain_.append((np.zeros((1, rows.shape[1])), np.zeros(1)))
        return self

    def transform(self, texts: Sequence[str], opinions: Sequence[np.ndarray] = ()) -> sp.csr_matrix:
        """Return the rows of texts.

        Parameters
        ----------
        texts : sequence of str
        opinions : sequence of ndarray of shape (n_texts, n_classes)
            Probabilities by each voting method.

        Returns
        -------
        CSR matrix of shape (n_texts, n_columns)
        """
        words, vectors = self._read(texts)
        meaning = self._meaning(words)
        views = [rows for rows in (words, meaning, vectors) if rows.shape[1]]
        pairs = zip(views, self.plain_, strict=True) if self.plain_ else ()
        scores = [np.asarray(rows @ coef.T) + intercept for rows, (coef, intercept) in pairs]
        log_odds = [centred_logs(probabilities) for probabilities in [*opinions, *map(softmax, scores)]]
        dense = [np.sqrt(VIEWS["meaning"]) * meaning, np.sqrt(VIEWS["vectors"]) * vectors]
        dense += [np.full((len(texts), 1), np.sqrt(VIEWS["constant"]))]
        dense += [np.sqrt(VIEWS["opinions"]) * part for part in log_odds]
        return sp.hstack([np.sqrt(VIEWS["words"]) * words, sp.csr_matrix(np.hstack(dense))], format="csr")

    def words(self, terms: Sequence[str], n_columns: int) -> sp.csr_matrix:
        """Return rows of single words.

        Parameters
        ----------
        terms : sequence of str
        n_columns : int
            Columns of the rows of texts.

        Returns
        -------
        CSR matrix of shape (n_terms, n_columns)
        """
        words = self.vectorizer_.transform(terms)
        parts = [np.sqrt(VIEWS["words"]) * words, sp.csr_matrix(np.sqrt(VIEWS["meaning"]) * self._meaning(words))]
        # Vectors of single words differ from those of documents, whose mean was subtracted, so these columns stay
        # empty.
        rest = n_columns - sum(part.shape[1] for part in parts)
        return sp.hstack([*parts, sp.csr_matrix((len(terms), rest))], format="csr")

    @property
    def n_words(self) -> int:
        """Number of word columns."""
        return self.components_.shape[1]

    def word_contributions(self, text: str, effects: np.ndarray, classes: np.ndarray) -> list[dict]:
        """Return one row per class and word of a text: ``class``, ``term`` and ``contribution``.

        Parameters
        ----------
        text : str
        effects : ndarray of shape (n_words, n_classes)
            Effect of each word on each class.
        classes : ndarray
            The classes, in the order of the columns of ``effects``.

        Returns
        -------
        list of dict
        """
        row = self.vectorizer_.transform([text])
        return [
            {"class": label, "term": self.vectorizer_.feature_names_[term], "contribution": value * effects[term, code]}
            for code, label in enumerate(classes.tolist())
            for term, value in zip(row.indices, row.data, strict=True)
        ]

    def as_written(self, text: str, rows: list[dict]) -> list[dict]:
        """Restore the spelling of the terms as in the text, if the vectoriser reduces words to stems.

        Parameters
        ----------
        text : str
        rows : list of dict
            With ``term``.

        Returns
        -------
        list of dict
        """
        forms = surface_forms(self.vectorizer_, [text], whole=False)
        return [row | {"term": readable(str(row["term"]), forms)} for row in rows]

    def meaning(self, texts: Sequence[str]) -> np.ndarray:
        """Return unit rows whose inner products measure the similarity of meaning.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts, n_directions)
        """
        return self._meaning(self._read(texts)[0])

    def blocks(self, n_columns: int) -> dict[str, slice]:
        """Return the columns of each view.

        Parameters
        ----------
        n_columns : int
            Columns of the rows of texts.

        Returns
        -------
        dict of str to slice
        """
        ends = np.cumsum([self.components_.shape[1], len(self.components_), len(self.vector_mean_), 1]).tolist()
        names = ("words", "meaning", "vectors", "constant", "opinions")
        return dict(zip(names, map(slice, [0, *ends], [*ends, n_columns]), strict=True))

    def words_of(self, rows: sp.csr_matrix) -> sp.csr_matrix:
        """Return the tf-idf values of words from rows of texts.

        Parameters
        ----------
        rows : CSR matrix of shape (n_texts, n_columns)

        Returns
        -------
        CSR matrix of shape (n_texts, n_words)
        """
        return rows[:, : self.components_.shape[1]] / np.sqrt(VIEWS["words"])

    def _meaning(self, words) -> np.ndarray:
        rows = np.asarray(words @ self.components_.T)
        return normalize(rows) if rows.shape[1] else rows  # without latent directions there is nothing to normalise

    def _read(self, texts: Sequence[str]) -> tuple[sp.csr_matrix, np.ndarray]:
        known = _READ.get(self)
        # The same list object as in fit: its rows are stored.
        if known is not None and known[0] is texts:
            return known[1], known[2]
        return self.vectorizer_.transform(texts), self._vectors(texts)

    def _fit_vectors(self, source_texts: Sequence[str], target_texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the vectors relative to the mean of their side; the target's mean is stored."""
        self.vector_mean_ = np.zeros(0)
        if self.embedder is None:
            return np.zeros((len(source_texts), 0)), np.zeros((len(target_texts), 0))
        vectors = normalize(self.embedder.fit_transform([*source_texts, *target_texts]).astype(np.float64))
        source, target = vectors[: len(source_texts)], vectors[len(source_texts) :]
        # Centring each side removes the shift between the collections from the vectors.
        self.vector_mean_ = target.mean(axis=0)
        if len(source):
            source = normalize(source - source.mean(axis=0))
        return source, normalize(target - self.vector_mean_)

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        if self.embedder is None:
            return np.zeros((len(texts), 0))
        return normalize(normalize(self.embedder.transform(texts).astype(np.float64)) - self.vector_mean_)


def centred_logs(probabilities: np.ndarray) -> np.ndarray:
    """Return log-probabilities minus the mean of each row, so that they only compare classes.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    logs = np.log(np.maximum(probabilities, FLOOR))
    return logs - logs.mean(axis=1, keepdims=True)


def _both_columns(values: np.ndarray) -> np.ndarray:
    """Return one row per class; scikit-learn stores one row of log-odds for two classes, of which each gets half."""
    return np.concatenate([-values / 2, values / 2]) if len(values) == 1 else values
