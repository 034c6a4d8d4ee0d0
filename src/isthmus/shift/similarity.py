"""Compute the similarity of centroids across domains over pivot words (section V of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import unit_rows
from isthmus.features.contexts import Contexts, document_contexts, pivot_weights, pivot_words, projection_matrix


@dataclass(frozen=True)
class CrossSimilarity:
    """Weighted cosine over pivot words, to which the weight of other words is projected."""

    pivots: np.ndarray  # columns of the words that both domains contain
    weights: np.ndarray  # pivot weights; all 1 if weighting is off
    # Distribution of each non-pivot word over the pivots in that domain; None if projection is off.
    source_projection: sp.csr_matrix | None = None
    target_projection: sp.csr_matrix | None = None
    contexts: Contexts | None = None  # counts from which weights and projections were computed

    def on_pivots(self, centers: np.ndarray, side: str) -> np.ndarray:
        """Return unit rows in pivot space; the inner product of two rows is the weighted cosine.

        Parameters
        ----------
        centers : ndarray of shape (n_centers, n_words)
        side : {"source", "target"}

        Returns
        -------
        ndarray of shape (n_centers, n_pivots)
        """
        return unit_rows(self.spread(centers, side))

    def spread(self, centers: np.ndarray, side: str) -> np.ndarray:
        """Return rows in pivot space before normalisation; they are linear in the centres.

        Parameters
        ----------
        centers : ndarray of shape (n_centers, n_words)
        side : {"source", "target"}

        Returns
        -------
        ndarray of shape (n_centers, n_pivots)
        """
        projection = self.source_projection if side == "source" else self.target_projection
        rows = centers[:, self.pivots]
        if projection is not None:
            rows = rows + (projection.T @ centers.T).T
        return rows * np.sqrt(self.weights)

    def between(self, target_centers: np.ndarray, source_centers: np.ndarray) -> np.ndarray:
        """Return the similarities between target clusters and source groups, at least 0.

        Parameters
        ----------
        target_centers : ndarray of shape (n_clusters, n_words)
        source_centers : ndarray of shape (n_groups, n_words)

        Returns
        -------
        ndarray of shape (n_clusters, n_groups)
        """
        target, source = self.on_pivots(target_centers, "target"), self.on_pivots(source_centers, "source")
        return np.clip(target @ source.T, 0.0, 1.0)

    def parts(self, target_center: np.ndarray, source_center: np.ndarray) -> np.ndarray:
        """Return the contribution of each pivot to the similarity of two centres.

        Parameters
        ----------
        target_center, source_center : ndarray of shape (n_words,)

        Returns
        -------
        ndarray of shape (n_pivots,)
            Their sum is the similarity.
        """
        target = self.on_pivots(target_center[None], "target")[0]
        return target * self.on_pivots(source_center[None], "source")[0]


def cross_similarity(
    source: sp.csr_matrix,
    target: sp.csr_matrix,
    *,
    weighted: bool | Mapping[int, float] = True,
    projected: bool = True,
    contexts: Contexts | None = None,
) -> CrossSimilarity:
    """Compute pivots, pivot weights and projections for two domains over one vocabulary.

    Parameters
    ----------
    source, target : CSR matrices of shape (n_documents, n_words)
    weighted : bool or mapping of int to float
        Whether a pivot's weight is the similarity of its contexts. A mapping sets the weights of single columns; weight
        0 ignores a column.
    projected : bool
        Whether other words are projected to pivots.
    contexts : Contexts or None
        Word contexts counted from running text. By default two words co-occur if a document contains both.

    Returns
    -------
    CrossSimilarity
    """
    pivots = pivot_words(source, target)
    if len(pivots) == 0 or not (weighted or projected):
        return CrossSimilarity(pivots, np.ones(len(pivots)))
    contexts = document_contexts(source, target) if contexts is None else contexts
    weights = np.ones(len(pivots))
    if weighted:
        weights = pivot_weights(contexts, pivots)
    if isinstance(weighted, Mapping):
        for column, weight in weighted.items():
            weights[pivots == column] = weight
    if not projected:
        return CrossSimilarity(pivots, weights, contexts=contexts)
    spreads = [projection_matrix(side, contexts.columns, pivots) for side in (contexts.source, contexts.target)]
    return CrossSimilarity(pivots, weights, spreads[0], spreads[1], contexts)
