"""Multinomial logistic regression with an offset and a ridge: what has to be added to scores that are already there."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax

MOST_EXACT = 1_000  # rows up to which the problem is turned into one with as many unknowns as rows
_TINY = 1e-9  # share of the largest eigenvalue below which a direction counts as empty


def fit_softmax_ridge(
    rows: Any, targets: np.ndarray, offset: np.ndarray, strength: float = 1.0, *, max_iter: int = 100
) -> np.ndarray:
    """Coefficients W (columns × classes) that minimise −Σ targets · log softmax(offset + rows W) + strength/2 · ‖W‖².

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n_rows, n_columns)
    targets : ndarray of int of shape (n_rows,), or of float of shape (n_rows, n_classes)
        Class of each row, a column of ``offset``; or how much each row speaks for each class.
    offset : ndarray of shape (n_rows, n_classes)
        Scores to start from; without rows that say otherwise they are the answer.
    strength : float
        Of the ridge; the larger, the nearer to the offset.
    max_iter : int
        Steps of L-BFGS.

    Notes
    -----
    The minimum lies in the span of the rows (W = rowsᵀ A). With few rows the problem is therefore solved in the basis
    of their Gram matrix, which is exact and does not depend on the number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus._math.softmax_ridge import fit_softmax_ridge
    >>> coef = fit_softmax_ridge(np.array([[1.0], [1.0]]), np.array([0, 0]), np.zeros((2, 2)), 1.0)
    >>> coef.round(3).tolist()  # w = 2 (1 − p), p = 1 / (1 + exp(−2w))
    [[0.521, -0.521]]
    """
    n_rows = rows.shape[0]
    if targets.ndim == 1:
        targets = np.eye(offset.shape[1])[targets]
    if n_rows > min(MOST_EXACT, rows.shape[1]):
        return _minimise(rows, targets, offset, strength, max_iter)
    gram = rows @ rows.T
    gram = gram.toarray() if sp.issparse(gram) else np.asarray(gram)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = values > _TINY * max(float(values[-1]), _TINY)
    if not kept.any():
        return np.zeros((rows.shape[1], offset.shape[1]))
    values, vectors = values[kept], vectors[:, kept]
    reduced = _minimise(vectors * np.sqrt(values), targets, offset, strength, max_iter)
    return np.asarray(rows.T @ (vectors @ (reduced / np.sqrt(values)[:, None])))


def _minimise(rows: Any, targets: np.ndarray, offset: np.ndarray, strength: float, max_iter: int) -> np.ndarray:
    shape = rows.shape[1], offset.shape[1]
    weight = targets.sum(axis=1, keepdims=True)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        coef = flat.reshape(shape)
        logs = log_softmax(offset + rows @ coef, axis=1)
        slope = rows.T @ (weight * np.exp(logs) - targets) + strength * coef
        return float(strength / 2 * np.sum(coef**2) - np.sum(targets * logs)), np.asarray(slope).ravel()

    options = {"maxiter": max_iter, "gtol": 1e-6}
    return minimize(objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(shape)
