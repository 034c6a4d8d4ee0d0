"""Matrices, starts and scores that the methods of the suite "guided" share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.bench.engine.suite import TaskData
from isthmus.clustering.run import Prepared, metric_rows, prepare
from isthmus.clustering.starts import initial_centers
from isthmus.evaluate import adjusted_rand, pair_scores
from isthmus.features.contexts import Contexts, context_words, window_contexts
from isthmus.features.vectorizer import TextVectorizer

# The paper's comparison of centres: contexts within a few tokens, whatever can be matched is, centres drawn along all
# words of the source.
PAPER_SIMILARITY = {"contexts": "window", "min_contrast": -1.0, "own_words": False}
MIN_DF = 5  # the paper drops words that occur fewer than five times


class Collections:
    """tf-idf rows of one task, its source groups, and starts that every method gets alike.

    Stems, no stop words, idf over both collections. The number of clusters is the true one, as in the paper. Starts
    are rows of the target drawn at random; a seed names the same rows whatever the method.
    """

    def __init__(self, source_texts: Sequence[str], source_labels, target_texts: Sequence[str], n_clusters: int):
        self.vectorizer = TextVectorizer(weighting="tfidf", min_df=MIN_DF)
        texts = [*source_texts, *target_texts]
        rows = metric_rows(self.vectorizer.fit_transform(texts), True)
        self.texts = texts
        self.n_source = len(source_texts)
        self.source, self.target = rows[: self.n_source], rows[self.n_source :]
        self.groups, self.codes = np.unique(np.asarray(source_labels, dtype=object).astype(str), return_inverse=True)
        self.n_clusters = n_clusters
        self._prepared: dict[tuple, Prepared] = {}
        self._tokens: list[list[str]] | None = None

    def start(self, seed: int) -> np.ndarray:
        """First centres of this seed."""
        filled = np.flatnonzero(np.diff(self.target.indptr) > 0)
        return initial_centers(self.target[filled], self.n_clusters, "random", seed)

    def prepared(self, **settings) -> Prepared:
        """Source groups and aligner for these settings of the similarity, computed once."""
        key = tuple(sorted(settings.items()))
        if key not in self._prepared:
            ones = np.ones(len(self.codes), dtype=np.int64)
            self._prepared[key] = prepare(self.source, self.codes, ones, self.target, **self.resolve(settings))
        return self._prepared[key]

    def resolve(self, similarity: Mapping[str, Any], rows: np.ndarray | None = None) -> dict[str, Any]:
        """Settings of the similarity with the contexts themselves in the place of "window"; of some source rows."""
        if similarity.get("contexts") != "window":
            return dict(similarity)
        return {**similarity, "contexts": self.window(rows=rows)}

    def window(self, size: int = 5, rows: np.ndarray | None = None) -> Contexts:
        """Contexts within ``size`` tokens of the running text; of these source rows, or of all."""
        vocabulary = {word: column for column, word in enumerate(self.vectorizer.feature_names_)}
        if self._tokens is None:
            self._tokens = [self.vectorizer.analyze(text) for text in self.texts]
        chosen = range(self.n_source) if rows is None else rows
        source = [self._tokens[row] for row in chosen]
        columns = context_words(self.source if rows is None else self.source[rows], self.target)
        return window_contexts(source, self._tokens[self.n_source :], vocabulary, columns, window=size)


def prepare_data(data: TaskData) -> Collections:
    """The task's matrices; kept with the task, so that 30 starts vectorise once."""
    if "collections" not in data.extra:
        n_clusters = len(set(data.target_labels))
        data.extra["collections"] = Collections(data.source_texts, data.source_labels, data.target_texts, n_clusters)
    return data.extra["collections"]


def score_rows(truth: Sequence[str], labels: np.ndarray) -> list[dict]:
    """Pairwise F1 and adjusted Rand index."""
    return [
        {"metric": "pair_f1", "value": pair_scores(truth, labels).f1},
        {"metric": "ari", "value": adjusted_rand(truth, labels)},
    ]
