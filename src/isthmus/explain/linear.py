"""Linear methods: a document's score is a sum over its words, so each word's share is exact."""

from __future__ import annotations

import numpy as np

from isthmus.exceptions import UsageError
from isthmus.pipeline import TransferPipeline


def class_weights(estimator) -> np.ndarray:
    """One weight per class and column. For two classes a linear model's single row is split into −w/2 and +w/2.

    Naive Bayes weights are centred over the classes: only differences between classes decide.
    """
    if hasattr(estimator, "feature_log_prob_"):
        weights = estimator.feature_log_prob_
        return weights - weights.mean(axis=0, keepdims=True)
    if hasattr(estimator, "coef_"):
        weights = np.asarray(estimator.coef_)
        return np.vstack([-weights / 2, weights / 2]) if len(weights) == 1 else weights
    raise UsageError(
        f"{type(estimator).__name__} has no weights per word; use a linear classifier or naive Bayes.",
        code="bad-parameter",
    )


def document_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    """Rows of class, term and contribution for one text."""
    row = pipeline[:-1].transform([text]).tocsr()
    model = pipeline.steps[-1][1]
    # TransductiveSVM carries its weights itself; the others wrap a scikit-learn classifier
    weights = class_weights(getattr(model, "estimator_", model))[:, row.indices] * row.data
    names = pipeline[:-1].get_feature_names_out()[row.indices]
    return [
        {"class": label, "term": str(term), "contribution": float(weights[code, column])}
        for code, label in enumerate(model.classes_.tolist())
        for column, term in enumerate(names)
    ]
