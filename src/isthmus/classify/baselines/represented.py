"""What SFA, SCL and CORAL have in common: change the representation with unlabelled rows, then a linear classifier."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from isthmus.base import Domains, TransferClassifier


class RepresentedClassifier(TransferClassifier):
    """Base: a subclass writes ``_learn(domains)`` (store the map) and ``_map(X)``; may override ``_map_source(X)``."""

    _row_kind = "matrix"

    def _fit(self, domains: Domains) -> np.ndarray:
        X = sp.csr_matrix(domains.X)
        self._learn(X, domains)
        self.estimator_ = LogisticRegression(C=self.C, max_iter=1000)
        self.estimator_.fit(self._map_source(X[domains.source]), domains.source_codes)
        self.n_iter_ = 1
        self.history_ = []
        self.termination_condition_ = "closed_form"
        if not len(domains.target):
            return np.zeros(0, np.int64)
        return self._log_proba(self._map(X[domains.target])).argmax(axis=1)

    def _scores(self, X) -> np.ndarray:
        return self._log_proba(self._map(sp.csr_matrix(X)))

    def _log_proba(self, Z) -> np.ndarray:
        scores = self.estimator_.decision_function(Z)
        if scores.ndim == 1:
            return np.column_stack([np.zeros(len(scores)), scores])
        return scores

    def _map_source(self, X):
        return self._map(X)

    def _learn(self, X: sp.csr_matrix, domains: Domains) -> None:
        raise NotImplementedError

    def _map(self, X: sp.csr_matrix):
        raise NotImplementedError


def mutual_information(X: sp.csr_matrix, groups: np.ndarray, n_groups: int) -> np.ndarray:
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


def document_frequency(X: sp.csr_matrix, rows: np.ndarray) -> np.ndarray:
    """In how many of the rows each column is not zero."""
    return np.asarray((X[rows] != 0).sum(axis=0)).ravel()


def unit_columns(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale of each column (its root mean square), and the columns divided by it."""
    scale = np.sqrt(np.mean(Z**2, axis=0))
    scale[scale == 0] = 1.0
    return scale, Z / scale


def top_singular(M, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and values of the k largest singular values, signs fixed; few enough columns: dense."""
    k = max(1, min(k, min(M.shape)))
    if k >= min(M.shape) - 1 or min(M.shape) <= 50:
        U, s, _ = np.linalg.svd(M.toarray() if sp.issparse(M) else M, full_matrices=False)
        U, s = U[:, :k], s[:k]
    else:
        from scipy.sparse.linalg import svds

        U, s, _ = svds(M, k=k, v0=np.ones(min(M.shape)))
        order = np.argsort(-s)
        U, s = U[:, order], s[order]
    signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])])
    signs[signs == 0] = 1.0
    return U * signs, s
