"""SFA, SCL and CORAL: change the representation with unlabelled rows, then a linear classifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from isthmus.base import FROM_1, NON_NEGATIVE, POSITIVE, Domains, StrOptions, TransferClassifier
from isthmus.features.weights import document_frequency

_RANK = 1e-10  # of the largest singular value; smaller ones are rounding


class AlignedFeaturesClassifier(TransferClassifier):
    """Train a linear classifier on new features that a subclass learns.

    ``_learn(X, domains)`` of the subclass returns a map A (columns × new features) or None. The classifier sees the
    columns and X·A (``_keep_columns``), or only X·A. Its score is linear in X, so the weights are folded back onto the
    columns: ``estimator_`` is a linear model of X.
    """

    _row_kind = "matrix"
    _keep_columns = True

    def _fit(self, domains: Domains) -> None:
        X = sp.csr_matrix(domains.X)
        A = self._learn(X, domains)
        rows, d = X[domains.source], X.shape[1]
        if A is None:
            Z = rows
        elif self._keep_columns:
            Z = sp.hstack([rows, sp.csr_matrix(rows @ A)], format="csr")
        else:
            Z = self._move_source(rows @ A)
        self.C_ = self._strength(Z, domains.source_codes)
        self.estimator_ = LogisticRegression(C=self.C_, max_iter=1000).fit(Z, domains.source_codes)
        if A is not None:
            weights = self.estimator_.coef_
            own, new = (weights[:, :d], weights[:, d:]) if self._keep_columns else (0.0, weights)
            self.estimator_.coef_ = own + new @ A.T
            self.estimator_.n_features_in_ = d
        self.n_iter_ = 1
        self.history_: list[dict] = []
        self.termination_condition_ = "closed_form"

    def _scores(self, X) -> np.ndarray:
        return linear_scores(self.estimator_, X)

    def _move_source(self, Z: np.ndarray) -> np.ndarray:
        return Z

    def _strength(self, Z, codes: np.ndarray) -> float:
        """C of the logistic regression on the new source rows."""
        return self.C

    def _learn(self, X: sp.csr_matrix, domains: Domains) -> np.ndarray | None:
        raise NotImplementedError


def linear_scores(estimator, X) -> np.ndarray:
    """One score per class; for two classes zero and the decision value, so that softmax gives the logistic curve."""
    scores = np.asarray(X @ estimator.coef_.T) + estimator.intercept_
    return np.hstack([np.zeros((len(scores), 1)), scores]) if scores.shape[1] == 1 else scores


def presence_information(X: sp.csr_matrix, groups: np.ndarray, n_groups: int) -> np.ndarray:
    """Mutual information of each column's presence with the group of the row, in nats."""
    present = X.astype(bool).astype(np.float64)
    total = np.bincount(groups, minlength=n_groups).astype(float)
    seen = np.array([np.asarray(present[groups == g].sum(axis=0)).ravel() for g in range(n_groups)])
    n = total.sum()
    column = seen.sum(axis=0)
    information = np.zeros(X.shape[1])
    for joint, marginal in ((seen, column), (total[:, None] - seen, n - column)):
        with np.errstate(divide="ignore", invalid="ignore"):
            term = joint / n * np.log(joint * n / (total[:, None] * marginal[None, :]))
        information += np.nan_to_num(term).sum(axis=0)
    return information


def scaled_map(X: sp.csr_matrix, columns: np.ndarray, vectors: np.ndarray, gamma: float) -> np.ndarray | None:
    """Return a map with ``vectors`` on ``columns`` and zeros elsewhere, or None if there are no new features.

    The new features are equally large over the rows. A row of them is ``gamma`` times as long as a row of ``X``, in the
    root mean square.
    """
    if not vectors.shape[1]:
        return None
    A = np.zeros((X.shape[1], vectors.shape[1]))
    A[columns] = vectors
    scale = np.sqrt(np.mean((X @ A) ** 2, axis=0))
    scale[scale == 0] = 1.0
    length = np.sqrt(np.mean(X.multiply(X).sum(axis=1)))
    return A / scale * (gamma * length / np.sqrt(A.shape[1]))


def top_singular(M, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors, signs fixed, and values of the k largest singular values that are above zero."""
    if not (M.nnz if sp.issparse(M) else np.any(M)):
        return np.zeros((M.shape[0], 0)), np.zeros(0)
    k = max(1, min(k, min(M.shape)))
    if k >= min(M.shape) - 1 or min(M.shape) <= 50:
        U, s, _ = np.linalg.svd(M.toarray() if sp.issparse(M) else M, full_matrices=False)
        U, s = U[:, :k], s[:k]
    else:
        from scipy.sparse.linalg import svds

        U, s, _ = svds(M, k=k, v0=np.random.default_rng(0).standard_normal(min(M.shape)))
        order = np.argsort(-s)
        U, s = U[:, order], s[order]
    # Directions that the matrix does not have are noise of the rounding; scaled up, they would decide labels.
    present = s > _RANK * s.max(initial=0.0)
    U, s = U[:, present], s[present]
    signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])])
    signs[signs == 0] = 1.0
    return U * signs, s


# -- CORAL (Sun, Feng and Saenko, AAAI 2016): give the source the target's correlations, in a reduced space


_GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
_FOLDS = 5
_NARROW = 10.0  # where a class has one document and nothing can be held out


class CorrelationAlignment(AlignedFeaturesClassifier):
    """Linear classifier on source rows whose covariance was made that of the target.

    Words are too many for a covariance matrix: rows are first reduced by a truncated SVD over both domains, so sparse
    rows stay sparse. It assumes that the domains differ by second moments only; the means stay different.

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
    isthmus_bench.baselines.aligned_features.SpectralFeatureAlignment : Aligns words instead of second moments.
    isthmus_bench.baselines.aligned_features.StructuralCorrespondence : Aligns words through pivots.

    References
    ----------
    B. Sun, J. Feng, K. Saenko: Return of frustratingly easy domain adaptation. AAAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus_bench.baselines.aligned_features import CorrelationAlignment
    >>> X = np.array([[3, 0], [0, 2], [4, 1], [1, 5]])
    >>> CorrelationAlignment().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_components": [FROM_1],
        "ridge": [NON_NEGATIVE],
        "C": [POSITIVE, StrOptions({"auto"})],
    }

    _keep_columns = False

    def __init__(
        self,
        *,
        n_components: int = 300,
        ridge: float = 1.0,
        C: Any = "auto",
    ):
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


# -- Spectral feature alignment (Pan et al., WWW 2010): words of the two domains meet through shared words


class SpectralFeatureAlignment(AlignedFeaturesClassifier):
    """Linear classifier on words plus clusters of domain-specific words.

    Words that are frequent in both domains and hardly depend on the domain serve as pivots. Other words
    are placed by the pivots they occur with: the leading singular vectors of the normalised co-occurrence matrix. It
    assumes that words with the same meaning keep the same company in both domains.

    Parameters
    ----------
    n_pivots : int, default=500
    n_components : int, default=100
    gamma : float, default=0.6
        Weight of the new features next to the words.
    C : float, default=10.0
        Of the logistic regression.

    See Also
    --------
    isthmus_bench.baselines.aligned_features.StructuralCorrespondence : Pivot words instead of a bipartite graph.
    isthmus_bench.baselines.aligned_features.CorrelationAlignment : Second moments instead of words.

    References
    ----------
    S. J. Pan, X. Ni, J.-T. Sun, Q. Yang, Z. Chen: Cross-domain sentiment classification via spectral feature alignment.
    WWW 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus_bench.baselines.aligned_features import SpectralFeatureAlignment
    >>> X = np.array([[3, 0, 1], [0, 2, 1], [4, 1, 0], [1, 5, 0]])
    >>> SpectralFeatureAlignment().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_pivots": [FROM_1],
        "n_components": [FROM_1],
        "gamma": [NON_NEGATIVE],
        "C": [POSITIVE],
    }

    def __init__(
        self,
        *,
        n_pivots: int = 500,
        n_components: int = 100,
        gamma: float = 0.6,
        C: float = 10.0,
    ):
        self.n_pivots = n_pivots
        self.n_components = n_components
        self.gamma = gamma
        self.C = C

    def _learn(self, X: sp.csr_matrix, domains: Domains) -> np.ndarray | None:
        if not len(domains.target) or X.shape[1] < 2:
            return None
        side = (domains.domain < 0).astype(int)
        both = np.minimum(document_frequency(X[side == 0]), document_frequency(X[domains.target]))
        # Frequent in both first; among those, the ones that depend least on the domain.
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


# -- Structural correspondence learning with pivots by mutual information (Blitzer et al., ACL 2007)


_DUAL_ROWS = 10_000  # rows beyond which pivot predictors learn from a sample of rows


class StructuralCorrespondence(AlignedFeaturesClassifier):
    """Linear classifier on words plus what they predict about pivot words.

    Pivots are words that are frequent in both domains and have the largest mutual information with the source labels
    (SCL-MI). Each pivot is predicted from the words that are no pivots, over the rows of both domains; the leading
    directions of these predictors are the new features. It assumes that words which predict the same pivots mean the
    same for the labels.

    Parameters
    ----------
    n_pivots : int, default=500
    n_components : int, default=50
    min_df : int, default=5
        Documents of each domain that must hold a pivot.
    gamma : float, default=1.0
        Weight of the new features next to the words.
    alpha : float, default=1.0
        Ridge of the pivot predictors (squared loss, where the paper has the modified Huber loss).
    C : float, default=10.0
        Of the logistic regression.
    random_state : int, RandomState or None, default=None
        Draws rows for the pivot predictors when there are more than 10,000.

    See Also
    --------
    isthmus_bench.baselines.aligned_features.SpectralFeatureAlignment : A graph of words instead of pivot predictors.
    isthmus_bench.baselines.aligned_features.CorrelationAlignment : Second moments instead of words.

    References
    ----------
    J. Blitzer, M. Dredze, F. Pereira: Biographies, Bollywood, boom-boxes and blenders. ACL 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus_bench.baselines.aligned_features import StructuralCorrespondence
    >>> X = np.array([[3, 0, 1], [0, 2, 1], [4, 1, 0], [1, 5, 0]])
    >>> StructuralCorrespondence().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_pivots": [FROM_1],
        "n_components": [FROM_1],
        "min_df": [FROM_1],
        "gamma": [NON_NEGATIVE],
        "alpha": [POSITIVE],
        "C": [POSITIVE],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_pivots: int = 500,
        n_components: int = 50,
        min_df: int = 5,
        gamma: float = 1.0,
        alpha: float = 1.0,
        C: float = 10.0,
        random_state: Any = None,
    ):
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
