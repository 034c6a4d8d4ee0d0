"""What a correction looks at in a document: what the methods say, what the document is about, its words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from isthmus.base import softmax
from isthmus.features.vectorizer import TextVectorizer

FLOOR = 1e-3  # no method can veto a class by calling it impossible
# Prior variance of a coefficient by view, set on the development tasks; docs/guide/listening.md has the test.
OPINIONS, MEANING, WORDS, CONSTANT = 0.05, 2.0, 2.0, 0.25
N_COMPONENTS = 100


class DocumentViews:
    """Turns texts, and what fitted methods say about them, into the rows that a correction learns from.

    Four views stand side by side, each scaled by how much it may say: log-odds of every method that votes and of two
    plain classifiers trained on the source (on words, on meaning); meaning (latent semantic analysis of source and
    target, which needs no label and lets one answer speak for documents that share no word with it); words (tf-idf);
    a constant, which moves the shares of the classes.

    Parameters
    ----------
    analyzer, min_df, language
        As for :class:`isthmus.features.TextVectorizer`.
    random_state : int or None

    Attributes
    ----------
    classes_ : ndarray
        Classes of the source.
    """

    def __init__(
        self,
        *,
        analyzer: str = "auto",
        min_df: int | str = "auto",
        language: str = "auto",
        random_state: int | None = 0,
    ):
        self.analyzer, self.min_df, self.language = analyzer, min_df, language
        self.random_state = random_state

    def fit(self, source_texts: Sequence[str], source_labels: Sequence, target_texts: Sequence[str]) -> DocumentViews:
        """Read both collections; source texts without a label (None) count for vocabulary and meaning alone."""
        texts = [*source_texts, *target_texts]
        self.vectorizer_ = TextVectorizer(
            analyzer=self.analyzer, min_df=self.min_df, language=self.language, weighting="tfidf", sublinear=True
        )
        words = self.vectorizer_.fit_transform(texts)
        n_components = min(N_COMPONENTS, min(words.shape) - 1)
        self.components_ = np.zeros((0, words.shape[1]))
        if n_components > 0:
            svd = TruncatedSVD(n_components, random_state=self.random_state).fit(words)
            self.components_ = svd.components_
        known = np.flatnonzero([label is not None for label in source_labels])
        labels = np.array([source_labels[i] for i in known.tolist()])
        self.classes_ = np.unique(labels)
        self.source_words_ = words[known]
        self.plain_ = []
        for rows, strength in ((words[known], 3.0), (self._meaning(words[known]), 10.0)):
            if rows.shape[1]:
                model = LogisticRegression(C=strength, max_iter=300).fit(rows, labels)
                self.plain_.append((_both_columns(model.coef_), _both_columns(model.intercept_)))
        return self

    def transform(self, texts: Sequence[str], opinions: Sequence[np.ndarray] = ()) -> sp.csr_matrix:
        """Rows of texts; ``opinions`` are probabilities, one array (texts × classes) per method that votes."""
        words = self.vectorizer_.transform(texts)
        meaning = self._meaning(words)
        scores = [
            np.asarray(rows @ coef.T) + intercept
            for rows, (coef, intercept) in zip((words, meaning), self.plain_, strict=False)
        ]
        log_odds = [centred_logs(probabilities) for probabilities in [*opinions, *map(softmax, scores)]]
        dense = [np.sqrt(MEANING) * meaning, np.full((len(texts), 1), np.sqrt(CONSTANT))]
        dense += [np.sqrt(OPINIONS) * part for part in log_odds]
        return sp.hstack([np.sqrt(WORDS) * words, sp.csr_matrix(np.hstack(dense))], format="csr")

    def words(self, terms: Sequence[str], n_opinions: int) -> sp.csr_matrix:
        """Rows of single words, as documents that hold nothing else and that no method has an opinion about."""
        words = self.vectorizer_.transform(terms)
        parts = [np.sqrt(WORDS) * words, sp.csr_matrix(np.sqrt(MEANING) * self._meaning(words))]
        rest = 1 + (n_opinions + len(self.plain_)) * len(self.classes_)
        return sp.hstack([*parts, sp.csr_matrix((len(terms), rest))], format="csr")

    def meaning(self, texts: Sequence[str]) -> np.ndarray:
        """Rows of length one whose products say how alike two texts are in what they are about."""
        return self._meaning(self.vectorizer_.transform(texts))

    def words_of(self, rows: sp.csr_matrix) -> sp.csr_matrix:
        """The tf-idf part of rows that :meth:`transform` made."""
        return rows[:, : self.components_.shape[1]] / np.sqrt(WORDS)

    def _meaning(self, words) -> np.ndarray:
        return normalize(np.asarray(words @ self.components_.T))


def centred_logs(probabilities: np.ndarray) -> np.ndarray:
    """Log-probabilities with the mean of each row taken off, so that classes are compared and nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.feedback.views import centred_logs
    >>> centred_logs(np.array([[0.8, 0.2]])).round(3).tolist()
    [[0.693, -0.693]]
    """
    logs = np.log(np.maximum(probabilities, FLOOR))
    return logs - logs.mean(axis=1, keepdims=True)


def _both_columns(values: np.ndarray) -> np.ndarray:
    """scikit-learn keeps one row for two classes: the second's log-odds, half of it for each side."""
    return np.concatenate([-values / 2, values / 2]) if len(values) == 1 else values
