"""CORAL (Sun, Feng and Saenko, AAAI 2016): give the source the target's correlations, in a reduced space."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from isthmus._parameters import FROM_1, NON_NEGATIVE, POSITIVE, StrOptions
from isthmus.base import Domains
from isthmus.classify.baselines.aligned_features import AlignedFeaturesClassifier, top_singular

_GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
_FOLDS = 5
_NARROW = 10.0  # where a class has one document and nothing can be held out


class CorrelationAlignment(AlignedFeaturesClassifier):
    """Linear classifier on source rows whose covariance was made that of the target.

    Words are too many for a covariance matrix: rows are first reduced by a truncated SVD over both domains, so sparse
    rows stay sparse. It assumes that the domains differ by second moments only; means are not moved.

    Parameters
    ----------
    n_components : int, default=300
        Of the reduced space.
    ridge : float, default=1.0
        Added to both covariances, in units of their mean variance.
    C : float or "auto", default="auto"
        Of the logistic regression. "auto" takes the best of seven by five folds of the recoloured source rows: after
        recolouring, rows have another scale than words have, so no fixed value suits both. ``C_`` is the one in use.

    Attributes
    ----------
    C_ : float

    See Also
    --------
    isthmus.SpectralFeatureAlignment : Aligns words instead of second moments.
    isthmus.StructuralCorrespondence : Aligns words through pivots.

    References
    ----------
    B. Sun, J. Feng, K. Saenko: Return of frustratingly easy domain adaptation. AAAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.classify.baselines.coral import CorrelationAlignment
    >>> X = np.array([[3, 0], [0, 2], [4, 1], [1, 5]])
    >>> CorrelationAlignment().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints = {
        **AlignedFeaturesClassifier._parameter_constraints,
        "n_components": [FROM_1],
        "ridge": [NON_NEGATIVE],
        "C": [POSITIVE, StrOptions({"auto"})],
    }
    _keep_columns = False

    def __init__(self, *, n_components=300, ridge=1.0, C="auto"):
        self.n_components = n_components
        self.ridge = ridge
        self.C = C

    def _learn(self, X: sp.csr_matrix, domains: Domains) -> np.ndarray:
        basis, values = top_singular(X.T.tocsr(), self.n_components)
        if not basis.shape[1]:  # no row holds anything
            basis, values = np.zeros((X.shape[1], 1)), np.zeros(1)
        size = np.sqrt(np.sum(values**2) / max(X.shape[0], 1))
        basis = basis / (size if size > 0 else 1.0)  # rows of mean squared length one, as tf-idf rows have
        self._colour = np.eye(basis.shape[1])
        if len(domains.target):
            source, target = (X[rows] @ basis for rows in (domains.source, domains.target))
            self._colour = _power(source, -0.5, self.ridge) @ _power(target, 0.5, self.ridge)
        return basis

    def _move_source(self, Z: np.ndarray) -> np.ndarray:
        return Z @ self._colour

    def _strength(self, Z, codes: np.ndarray) -> float:
        if self.C != "auto":
            return self.C
        folds = min(_FOLDS, int(np.bincount(codes).min()))
        if folds < 2:
            return _NARROW
        split = StratifiedKFold(folds, shuffle=True, random_state=0)
        right = [np.mean(cross_val_score(LogisticRegression(C=C, max_iter=1000), Z, codes, cv=split)) for C in _GRID]
        return _GRID[int(np.argmax(right))]


def _power(Z: np.ndarray, exponent: float, ridge: float) -> np.ndarray:
    """(Cov + ridge·mean variance·I) to the given power."""
    cov = np.atleast_2d(np.cov(Z, rowvar=False, bias=True))
    mean_variance = float(np.trace(cov)) / len(cov)
    values, vectors = eigh(cov + (ridge * mean_variance + 1e-12) * np.eye(len(cov)))
    return (vectors * np.maximum(values, 1e-12) ** exponent) @ vectors.T
