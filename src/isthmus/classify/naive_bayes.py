"""Multinomial naive Bayes: one sum of counts per word and class."""

from __future__ import annotations

import numpy as np
from sklearn.naive_bayes import MultinomialNB

from isthmus._math.information import safe_log
from isthmus.features.blocks import Passes, count_classes


class NaiveBayes(MultinomialNB):
    """scikit-learn's ``MultinomialNB`` with add-one smoothing, which also fits chunks."""

    _parameter_constraints: dict = {}

    def __init__(self):
        super().__init__()

    def fit_passes(self, passes: Passes) -> NaiveBayes:
        """Fit the chunks of the source; the summed counts of a class represent its documents.

        Parameters
        ----------
        passes : Passes

        Returns
        -------
        self
        """
        phase = "counting words per class"
        counts = passes.sum(count_classes, "source", len(passes.classes), phase=phase).total()
        self.fit(counts.per_class(counts.occurrences).T, passes.classes)
        self.class_count_ = counts.class_documents
        self.class_log_prior_ = safe_log(self.class_count_) - np.log(self.class_count_.sum())
        return self
