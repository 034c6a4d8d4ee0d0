"""Similarity of centroids across domains, over pivot words (section V of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import unit_rows
from isthmus.features.contexts import Contexts, document_contexts, pivot_weights, pivot_words, projection_matrix


@dataclass(frozen=True)
class CrossSimilarity:
    """Weighted cosine over pivot words, with the weight of other words carried over to pivots."""

    pivots: np.ndarray  # columns of the words that both domains have
    weights: np.ndarray  # pivot weights; all one where they are switched off
    # spread of each non-pivot word over the pivots in that domain; None where switched off
    source_projection: sp.csr_matrix | None = None
    target_projection: sp.csr_matrix | None = None
    contexts: Contexts | None = None  # what weights and projections were computed from

    def on_pivots(self, centers: np.ndarray, side: str) -> np.ndarray:
        """Unit rows in pivot space such that the inner product of two rows is the weighted cosine."""
        return unit_rows(self.spread(centers, side))

    def spread(self, centers: np.ndarray, side: str) -> np.ndarray:
        """Rows in pivot space before they are made unit vectors; linear in the centres."""
        projection = self.source_projection if side == "source" else self.target_projection
        rows = centers[:, self.pivots]
        if projection is not None:
            rows = rows + (projection.T @ centers.T).T
        return rows * np.sqrt(self.weights)

    def between(self, target_centers: np.ndarray, source_centers: np.ndarray) -> np.ndarray:
        """Similarities, target clusters × source groups, at least 0."""
        target, source = self.on_pivots(target_centers, "target"), self.on_pivots(source_centers, "source")
        return np.clip(target @ source.T, 0.0, 1.0)

    def parts(self, target_center: np.ndarray, source_center: np.ndarray) -> np.ndarray:
        """What each pivot adds to the similarity of two centres; sums to it."""
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
    """Pivots, their weights and the projections for a pair of domains over one vocabulary.

    ``weighted``: pivots weigh by the similarity of their contexts, except columns whose weight is given, 0 for one that
    must not count; ``projected``: other words are carried over to pivots. ``contexts`` are counted from running text;
    by default words meet when a document contains both.
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
