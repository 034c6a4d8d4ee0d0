"""Explain labels of linear methods: a score is a sum over words, so the share of each word is exact."""

from __future__ import annotations

import numpy as np

from isthmus.explain import occlusion
from isthmus.pipeline import TransferPipeline


def class_weights(estimator) -> np.ndarray | None:
    """One weight per class and column; None where the classifier has no such weights.

    For two classes a linear model's single row is split into −w/2 and +w/2. Naive Bayes weights are centred over the
    classes: only differences between classes decide.
    """
    if hasattr(estimator, "feature_log_prob_"):
        weights = estimator.feature_log_prob_
        return weights - weights.mean(axis=0, keepdims=True)
    if hasattr(estimator, "coef_") and not hasattr(estimator, "dual_coef_"):  # a kernel machine's are per pair
        weights = np.asarray(estimator.coef_)
        return np.vstack([-weights / 2, weights / 2]) if len(weights) == 1 else weights
    return None


def document_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    """Rows by the weights of a linear classifier; of any other, terms are left out in turn."""
    model = pipeline.steps[-1][1]
    per_column = class_weights(getattr(model, "estimator_", model))
    if per_column is None:
        return occlusion.document_terms(pipeline, text)
    row = pipeline[:-1].transform([text]).tocsr()
    names = pipeline[:-1].get_feature_names_out()[row.indices]
    return occlusion.contribution_rows(model.classes_, names, (per_column[:, row.indices] * row.data).T)
