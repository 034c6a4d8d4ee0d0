"""Structural correspondence learning with pivots by mutual information (Blitzer et al., ACL 2007)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from isthmus._parameters import FROM_1, NON_NEGATIVE, POSITIVE
from isthmus.base import Domains
from isthmus.classify.baselines.aligned_features import (
    AlignedFeaturesClassifier,
    presence_information,
    scaled_map,
    top_singular,
)
from isthmus.features.weights import document_frequency

_DUAL_ROWS = 10_000  # rows beyond which pivot predictors learn from a sample of rows


class StructuralCorrespondence(AlignedFeaturesClassifier):
    """Linear classifier on words plus what they predict about pivot words.

    Pivots are words frequent in both domains that tell most about the source labels (SCL-MI). Each pivot is predicted
    from all other words over the rows of both domains; the leading directions of these predictors are the new
    features. It assumes that words which predict the same pivots mean the same for the labels.

    Parameters
    ----------
    n_pivots : int, default=500
    n_components : int, default=50
    min_df : int, default=5
        Documents of each domain that must hold a pivot.
    gamma : float, default=1.0
        Weight of the new features beside the words.
    alpha : float, default=1.0
        Ridge of the pivot predictors (squared loss, where the paper has the modified Huber loss).
    C : float, default=10.0
        Of the logistic regression.
    random_state : int, RandomState or None, default=None
        Draws rows for the pivot predictors when there are more than 10,000.

    See Also
    --------
    isthmus.SpectralFeatureAlignment : A graph of words instead of pivot predictors.
    isthmus.CorrelationAlignment : Second moments instead of words.

    References
    ----------
    J. Blitzer, M. Dredze, F. Pereira: Biographies, Bollywood, boom-boxes and blenders. ACL 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.classify.baselines.scl import StructuralCorrespondence
    >>> X = np.array([[3, 0, 1], [0, 2, 1], [4, 1, 0], [1, 5, 0]])
    >>> StructuralCorrespondence().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints = {
        **AlignedFeaturesClassifier._parameter_constraints,
        "n_pivots": [FROM_1],
        "n_components": [FROM_1],
        "min_df": [FROM_1],
        "gamma": [NON_NEGATIVE],
        "alpha": [POSITIVE],
        "random_state": ["random_state"],
    }

    def __init__(self, *, n_pivots=500, n_components=50, min_df=5, gamma=1.0, alpha=1.0, C=10.0, random_state=None):
        self.n_pivots = n_pivots
        self.n_components = n_components
        self.min_df = min_df
        self.gamma = gamma
        self.alpha = alpha
        self.C = C
        self.random_state = random_state

    def _learn(self, X: sp.csr_matrix, domains: Domains) -> np.ndarray | None:
        if not len(domains.target) or X.shape[1] < 2:
            return None
        others = np.flatnonzero(domains.domain > 0)
        both = np.minimum(document_frequency(X[others]), document_frequency(X[domains.target]))
        information = presence_information(X[domains.source], domains.source_codes, domains.n_classes)
        allowed = np.flatnonzero(both >= min(self.min_df, both.max()))
        limit = min(self.n_pivots, max(X.shape[1] // 2, 1))
        pivots = np.sort(allowed[np.argsort(-information[allowed], kind="stable")[:limit]])
        rest = np.setdiff1d(np.arange(X.shape[1]), pivots)
        rows = np.arange(X.shape[0])
        if len(rows) > _DUAL_ROWS:
            from sklearn.utils import check_random_state

            rows = np.sort(check_random_state(self.random_state).choice(rows, _DUAL_ROWS, replace=False))
        Z, P = X[rows][:, rest], (X[rows][:, pivots] != 0).astype(np.float64).toarray()
        P -= P.mean(axis=0)
        # W = Zᵀ(ZZᵀ + αI)⁻¹P: all pivots at once, in the smaller of the two spaces.
        G = (Z @ Z.T).toarray()
        G[np.diag_indices(len(G))] += self.alpha
        W = Z.T @ cho_solve(cho_factor(G, lower=True, overwrite_a=True), P)
        vectors, _ = top_singular(W, self.n_components)
        self.pivots_ = pivots
        return scaled_map(X, rest, vectors, self.gamma)
