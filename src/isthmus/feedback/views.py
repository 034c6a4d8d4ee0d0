"""Represent documents for a correction: opinions of the methods, meaning, and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from isthmus._math.fitted import fitted
from isthmus._math.rows import softmax, unit_rows
from isthmus.features.term_rows import TermRows
from isthmus.features.tokens import readable, surface_forms
from isthmus.features.vector_rows import VectorRows

# Fitted constants; ``choose/trust.json`` states their units and origin.
VIEWS = fitted("answer_views")

FLOOR = 1e-3  # probability; no method can veto a class by excluding it
# Words and vectors of the texts on which views were fitted, for the lifetime of the views. Every round of teaching
# needs them, and a saved file need not contain them.
_READ: WeakKeyDictionary[DocumentViews, tuple[Sequence[str], sp.csr_matrix, np.ndarray]] = WeakKeyDictionary()


@dataclass(eq=False)
class DocumentViews:
    """Convert texts and the opinions of fitted methods to the rows from which a correction learns.

    The views are adjacent columns, each scaled by its prior variance: log-odds of every voting method and of simple
    classifiers trained on the source (one per view); meaning (latent semantic analysis of both sides, by which an
    answer affects documents without a common word); vectors of a pretrained model (only with ``embedder``), relative to
    the mean of their side; words (tf-idf); a constant, which shifts the class proportions.

    Attributes
    ----------
    term_rows : TermRows
        Computes tf-idf rows of words.
    components : ndarray of shape (n_directions, n_words)
        Directions of meaning.
    plain : list of tuple of ndarray
        Coefficients and intercepts of the simple classifiers.
    source_words : CSR matrix of shape (n_labelled, n_words)
        Rows of the labelled source documents.
    vector_mean : ndarray of shape (n_dimensions,)
        Mean of the target's vectors; empty without vectors.
    embedder : VectorRows or None
    """

    term_rows: TermRows
    components: np.ndarray
    plain: list[tuple[np.ndarray, np.ndarray]]
    source_words: sp.csr_matrix
    vector_mean: np.ndarray
    embedder: VectorRows | None
    word_scale: ClassVar[float] = np.sqrt(VIEWS["words"])  # factor of the word columns in the rows of the correction

    @classmethod
    def fit(
        cls,
        source_texts: Sequence[str],
        source_labels: Sequence,
        target_texts: Sequence[str],
        *,
        analyzer: str = "auto",
        min_df: int | str = "auto",
        language: str = "auto",
        random_state: int | None = 0,
        embed: Any = None,
    ) -> DocumentViews:
        """Fit the views on both collections.

        Parameters
        ----------
        source_texts : sequence of str
        source_labels : sequence
            None for an unlabelled text, which affects only vocabulary and meaning.
        target_texts : sequence of str
        analyzer, min_df, language
            See :class:`isthmus.features.TextVectorizer`.
        random_state : int or None
        embed : str, callable or VectorTable, optional
            See :class:`isthmus.features.TextEmbedder`.

        Returns
        -------
        DocumentViews
        """
        # Imported here, because a saved result that has learned from answers does not fit views again.
        from sklearn.linear_model import LogisticRegression

        from isthmus.features.embedder import TextEmbedder
        from isthmus.features.latent import LatentSemantics
        from isthmus.features.vectorizer import TextVectorizer

        texts, n_source = [*source_texts, *target_texts], len(source_texts)
        vectorizer = TextVectorizer(
            analyzer=analyzer, min_df=min_df, language=language, weighting="tfidf", sublinear=True
        )
        words = vectorizer.fit_transform(texts)
        components = np.zeros((0, words.shape[1]))
        if min(words.shape) > 1:
            components = LatentSemantics(VIEWS["n_components"], random_state=random_state).fit(words).components_
        known = np.flatnonzero([label is not None for label in source_labels])
        vectors, vector_mean, embedder = np.zeros((len(texts), 0)), np.zeros(0), None
        if embed is not None:
            transformer = TextEmbedder(embed)
            vectors = unit_rows(transformer.fit_transform(texts).astype(np.float64))
            # Centring each side removes the shift between the collections from the vectors.
            vector_mean, embedder = vectors[n_source:].mean(axis=0), transformer.row_step()
            if n_source:
                vectors[:n_source] = unit_rows(vectors[:n_source] - vectors[:n_source].mean(axis=0))
            vectors[n_source:] = unit_rows(vectors[n_source:] - vector_mean)
        views = cls(vectorizer.term_rows, components, [], words[known], vector_mean, embedder)
        _READ[views] = target_texts, words[n_source:], vectors[n_source:]
        labels = np.array([source_labels[i] for i in known.tolist()])
        # Only the names of the classes may be known; then there is no source to learn from.
        parts = (words[known], 3.0), (views._meaning(words[known]), 10.0), (vectors[known], 10.0)
        for rows, strength in parts if len(known) else ():
            if rows.shape[1] and len(np.unique(labels)) > 1:
                model = LogisticRegression(C=strength, max_iter=300).fit(rows, labels)
                views.plain.append((_both_columns(model.coef_), _both_columns(model.intercept_)))
            elif rows.shape[1]:  # all classes were merged into one
                views.plain.append((np.zeros((1, rows.shape[1])), np.zeros(1)))
        return views

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
        pairs = zip(views, self.plain, strict=True) if self.plain else ()
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
        words = self.term_rows(terms)
        parts = [np.sqrt(VIEWS["words"]) * words, sp.csr_matrix(np.sqrt(VIEWS["meaning"]) * self._meaning(words))]
        # Vectors of single words differ from those of documents, whose mean was subtracted, so these columns stay
        # empty.
        rest = n_columns - sum(part.shape[1] for part in parts)
        return sp.hstack([*parts, sp.csr_matrix((len(terms), rest))], format="csr")

    @property
    def n_words(self) -> int:
        """Number of word columns."""
        return self.components.shape[1]

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
        row, names = self.term_rows([text]), self.term_rows.names
        return [
            {"class": label, "term": names[term], "contribution": value * effects[term, code]}
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
        forms = surface_forms(self.term_rows, [text], whole=False)
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

    def words_of(self, rows: sp.csr_matrix) -> sp.csr_matrix:
        """Return the tf-idf values of words from rows of texts.

        Parameters
        ----------
        rows : CSR matrix of shape (n_texts, n_columns)

        Returns
        -------
        CSR matrix of shape (n_texts, n_words)
        """
        return rows[:, : self.components.shape[1]] / np.sqrt(VIEWS["words"])

    def _meaning(self, words) -> np.ndarray:
        rows = np.asarray(words @ self.components.T)
        return unit_rows(rows)

    def _read(self, texts: Sequence[str]) -> tuple[sp.csr_matrix, np.ndarray]:
        known = _READ.get(self)
        # The same list object as in fit: its rows are stored.
        if known is not None and known[0] is texts:
            return known[1], known[2]
        return self.term_rows(texts), self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        if self.embedder is None:
            return np.zeros((len(texts), 0))
        return unit_rows(unit_rows(self.embedder(texts).astype(np.float64)) - self.vector_mean)


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
