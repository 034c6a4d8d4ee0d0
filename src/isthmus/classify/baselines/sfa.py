"""Spectral feature alignment (Pan et al., WWW 2010): words of the two domains meet through shared words."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus._parameters import FROM_1, NON_NEGATIVE
from isthmus.base import Domains
from isthmus.classify.baselines.aligned_features import (
    AlignedFeaturesClassifier,
    presence_information,
    scaled_map,
    top_singular,
)
from isthmus.features.weights import document_frequency


class SpectralFeatureAlignment(AlignedFeaturesClassifier):
    """Linear classifier on words plus clusters of domain-specific words.

    Words that say little about which domain a document is from, and are frequent in both, serve as pivots. Other words
    are placed by the pivots they occur with: the leading singular vectors of the normalised co-occurrence matrix. It
    assumes that words with the same meaning keep the same company in both domains.

    Parameters
    ----------
    n_pivots : int, default=500
    n_components : int, default=100
    gamma : float, default=0.6
        Weight of the new features beside the words.
    C : float, default=10.0
        Of the logistic regression.

    See Also
    --------
    isthmus.StructuralCorrespondence : Pivot words instead of a bipartite graph.
    isthmus.CorrelationAlignment : Second moments instead of words.

    References
    ----------
    S. J. Pan, X. Ni, J.-T. Sun, Q. Yang, Z. Chen: Cross-domain sentiment classification via spectral feature alignment.
    WWW 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.classify.baselines.sfa import SpectralFeatureAlignment
    >>> X = np.array([[3, 0, 1], [0, 2, 1], [4, 1, 0], [1, 5, 0]])
    >>> SpectralFeatureAlignment().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints = {
        **AlignedFeaturesClassifier._parameter_constraints,
        "n_pivots": [FROM_1],
        "n_components": [FROM_1],
        "gamma": [NON_NEGATIVE],
    }

    def __init__(self, *, n_pivots=500, n_components=100, gamma=0.6, C=10.0):
        self.n_pivots = n_pivots
        self.n_components = n_components
        self.gamma = gamma
        self.C = C

    def _learn(self, X: sp.csr_matrix, domains: Domains) -> np.ndarray | None:
        if not len(domains.target) or X.shape[1] < 2:
            return None
        side = (domains.domain < 0).astype(int)
        both = np.minimum(document_frequency(X[side == 0]), document_frequency(X[domains.target]))
        # Frequent in both first; among those, the ones that tell least about the domain.
        n_pivots = min(self.n_pivots, max(X.shape[1] // 2, 1))
        frequent = np.argsort(-both, kind="stable")[: 4 * n_pivots]
        information = presence_information(X, side, 2)[frequent]
        pivots = np.sort(frequent[np.argsort(information, kind="stable")[:n_pivots]])
        specific = np.setdiff1d(np.arange(X.shape[1]), pivots)
        present = X.astype(bool).astype(np.float64)
        M = (present[:, specific].T @ present[:, pivots]).tocsr()
        rows, columns = (np.asarray(M.sum(axis=axis)).ravel() for axis in (1, 0))
        rows[rows == 0], columns[columns == 0] = 1.0, 1.0
        M = sp.diags(1 / np.sqrt(rows)) @ M @ sp.diags(1 / np.sqrt(columns))
        vectors, _ = top_singular(M, self.n_components)
        self.pivots_ = pivots
        return scaled_map(X, specific, vectors, self.gamma)
