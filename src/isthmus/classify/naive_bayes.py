"""Multinomial naive Bayes: one sum of counts per word and class."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils.validation import check_non_negative, validate_data

from isthmus._math.information import naive_bayes_scores
from isthmus.features.blocks import Block, ClassCounts, MemoryBlock, Passes, RowBlock, count_classes
from isthmus.features.term_chi2 import as_counts


class NaiveBayes(MultinomialNB):
    """Multinomial naive Bayes with add-one smoothing, from one block of counts or from many; as ``MultinomialNB``."""

    _parameter_constraints: dict = {}

    def __init__(self):
        super().__init__()

    block_statistics = staticmethod(count_classes)

    def finish(self, statistics: ClassCounts, classes: np.ndarray) -> NaiveBayes:
        stats = statistics.total()
        self.classes_ = classes
        self.n_features_in_ = stats.n_terms
        self.class_count_ = stats.class_documents
        self.feature_count_ = stats.per_class(stats.occurrences).toarray().T
        scores, self.class_log_prior_ = naive_bayes_scores(self.feature_count_.T, self.class_count_)
        self.feature_log_prob_ = scores.T
        return self

    def fit(self, X, y):
        X, y = validate_data(self, X, y, accept_sparse="csr")
        check_non_negative(X, "NaiveBayes (input X)")
        classes, codes = np.unique(y, return_inverse=True)
        block = MemoryBlock("source", lambda: RowBlock.of(as_counts(sp.csr_matrix(X))), codes=codes.astype(np.int32))
        return self.finish(self.block_statistics(block, len(classes)), classes)

    def fit_passes(self, passes: Passes) -> NaiveBayes:
        phase = "counting words per class"
        return self.finish(
            passes.sum(self.block_statistics, "source", len(passes.classes), phase=phase), passes.classes
        )

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        scores = block.rows.matrix() @ self._weights() + self.class_log_prior_
        return scores, np.diff(block.rows.indptr) == 0

    def _weights(self) -> np.ndarray:
        return np.ascontiguousarray(self.feature_log_prob_.T)
