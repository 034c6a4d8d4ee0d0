"""What SFA, SCL and CORAL have in common: change the representation with unlabelled rows, then a linear classifier."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from isthmus._parameters import POSITIVE
from isthmus.base import Domains, TransferClassifier

_RANK = 1e-10  # of the largest singular value; smaller ones are rounding


class AlignedFeaturesClassifier(TransferClassifier):
    """Base: a subclass writes ``_learn(X, domains)``, which returns a map A (columns × new features) or None.

    The classifier sees the columns themselves beside X·A (``_keep_columns``), or X·A alone. Either way its score is
    linear in X, so the weights are folded back onto the columns: ``estimator_`` is a linear model of X.
    """

    _parameter_constraints = {"C": [POSITIVE]}
    _row_kind = "matrix"
    _keep_columns = True

    def _fit(self, domains: Domains) -> np.ndarray:
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
        if not len(domains.target):
            return np.zeros(0, np.int64)
        return self._scores(X[domains.target]).argmax(axis=1)

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
    """The map that has ``vectors`` on ``columns`` and nothing elsewhere, its new features equally large over the rows.

    A row of new features is ``gamma`` times as long as a row of ``X``, in the root mean square. None where there are no
    new features.
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
    """Left singular vectors and values of the k largest singular values, signs fixed; few enough columns: dense.

    Fewer than k where the matrix has no more directions; none at all where it is zero.
    """
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
    there = s > _RANK * s.max(initial=0.0)
    U, s = U[:, there], s[there]
    signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])])
    signs[signs == 0] = 1.0
    return U * signs, s
