"""Describe a fitted clustering as data: what a saved result contains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isthmus.shift.similarity import CrossSimilarity


@dataclass(eq=False)
class FittedClusters:
    """Arrays of a fitted :class:`isthmus.CrossGuidedKMeans`, under the names of its attributes.

    Attributes
    ----------
    cosine : bool
        Whether rows are compared by direction only.
    least_specific : int
        Cluster of documents without a known word.
    group_centers : ndarray of shape (n_groups, n_words)
        Means of the source groups.
    similarity : CrossSimilarity or None
        None if the source guides nothing.
    """

    classes_: np.ndarray
    n_clusters_: int
    cluster_centers_: np.ndarray
    cluster_means_: np.ndarray
    cluster_sizes_: np.ndarray
    target_mean_: np.ndarray
    match_weights_: np.ndarray
    alignment_: list
    guidance_: float
    history_: list
    cosine: bool
    least_specific: int
    group_centers: np.ndarray
    similarity: CrossSimilarity | None

    @classmethod
    def of(cls, model: Any) -> FittedClusters:
        """Return the arrays of a fitted estimator.

        Parameters
        ----------
        model : CrossGuidedKMeans or FittedClusters

        Returns
        -------
        FittedClusters
        """
        if isinstance(model, cls):
            return model
        similarity = None if model._aligner is None else replace(model._aligner.similarity, contexts=None)
        names = [name for name in cls.__dataclass_fields__ if name.endswith("_")]
        return cls(
            **{name: getattr(model, name) for name in names},
            cosine=model.metric == "cosine",
            least_specific=model._least_specific,
            group_centers=model._groups.centers,
            similarity=similarity,
        )

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of each row.

        Parameters
        ----------
        X : csr_matrix of shape (n_documents, n_words)
            Without stored zeros.

        Returns
        -------
        ndarray of int of shape (n_documents,)
        """
        from isthmus.clustering.kmeans import assign_rows, metric_rows

        X = metric_rows(X, self.cosine)
        labels = assign_rows(X, self.cluster_centers_, cosine=self.cosine).labels
        return np.where(np.diff(X.indptr) == 0, self.least_specific, labels).astype(np.int64)
