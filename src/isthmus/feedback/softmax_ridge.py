"""Fit a multinomial logistic regression with an offset and a ridge penalty: a correction of existing scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

MOST_EXACT = 1_000  # rows; with fewer, the problem is reduced to as many unknowns as rows
_TINY = 1e-9  # share of the largest eigenvalue below which a direction counts as empty


def fit_softmax_ridge(
    rows: Any,
    targets: np.ndarray,
    offset: np.ndarray,
    strength: float = 1.0,
    *,
    max_iter: int = 100,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Return the coefficients W that minimise −Σ targets · log softmax(offset + rows W) + strength/2 · ‖W‖².

    The minimum lies in the span of the rows (W = rowsᵀ A). With fewer rows than columns the problem is therefore solved
    in a basis of that span (:func:`span_rows`), which is exact.

    Parameters
    ----------
    rows : CSR matrix or ndarray of shape (n_rows, n_columns)
    targets : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Class of each row, or the weight of each class.
    offset : ndarray of shape (n_rows, n_classes)
        Scores before the correction.
    strength : float
    max_iter : int
    start : ndarray of shape (n_columns, n_classes), optional
        Start of the optimisation; it excludes the reduction to the span.

    Returns
    -------
    ndarray of shape (n_columns, n_classes)
    """
    if targets.ndim == 1:
        targets = np.eye(offset.shape[1])[targets]
    if start is not None or rows.shape[0] >= min(MOST_EXACT, rows.shape[1]):
        return _minimise(rows, targets, offset, strength, max_iter, start)
    reduced, widen = span_rows(rows)
    return widen(_minimise(reduced, targets, offset, strength, max_iter))


def span_rows(rows: Any) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Return the rows in a basis of their own span, and a function that transforms coefficients back to the columns.

    The ridge penalty is the same in both bases. The reduction saves time if there are fewer rows than columns.

    Parameters
    ----------
    rows : CSR matrix or ndarray of shape (n_rows, n_columns)

    Returns
    -------
    rows : ndarray of shape (n_rows, n_directions)
    widen : callable
    """
    gram = rows @ rows.T
    gram = gram.toarray() if sp.issparse(gram) else np.asarray(gram)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = values > _TINY * max(float(values[-1]), _TINY) if len(values) else np.zeros(0, dtype=bool)
    values, vectors = values[kept], vectors[:, kept]

    def widen(coef: np.ndarray) -> np.ndarray:
        return np.asarray(rows.T @ (vectors @ (coef / np.sqrt(values)[:, None])))

    return vectors * np.sqrt(values), widen


def _minimise(
    rows: Any,
    targets: np.ndarray,
    offset: np.ndarray,
    strength: float,
    max_iter: int,
    start: np.ndarray | None = None,
) -> np.ndarray:
    shape = rows.shape[1], offset.shape[1]
    if not shape[0]:
        return np.zeros(shape)
    # A row whose targets sum to w counts as w documents.
    weight = targets.sum(axis=1, keepdims=True)

    from scipy.optimize import minimize  # imported here, because applying a model does not need it

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        coef = flat.reshape(shape)
        logs = log_softmax(offset + rows @ coef, axis=1)
        slope = rows.T @ (weight * np.exp(logs) - targets) + strength * coef
        return float(strength / 2 * np.sum(coef**2) - np.sum(targets * logs)), np.asarray(slope).ravel()

    options = {"maxiter": max_iter, "gtol": 1e-6}
    first = np.zeros(shape) if start is None else start
    return minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(shape)
