"""Calibrate scores on held-out rows: one temperature, or one slope and an offset per class."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp


def fit_temperature(scores: np.ndarray, codes: np.ndarray, *, bounds: tuple[float, float] = (1e-3, 1e3)) -> float:
    """Return the factor a that makes softmax(a·scores) most likely for the true classes.

    One parameter, because held-out rows are few; the most likely class does not change.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
    codes : ndarray of int of shape (n_rows,)
        True class of each row.
    bounds : tuple of float
        Smallest and largest factor.

    Returns
    -------
    float
    """
    rows = np.arange(len(codes))

    def loss(log_factor: float) -> float:
        scaled = scores * np.exp(log_factor)
        return float(np.mean(logsumexp(scaled, axis=1) - scaled[rows, codes]))

    low, high = np.log(bounds[0]), np.log(bounds[1])
    return float(np.exp(minimize_scalar(loss, bounds=(low, high), method="bounded").x))


def fit_affine(logs: np.ndarray, codes: np.ndarray) -> tuple[float, np.ndarray]:
    """Return a slope a ≥ 0 and offsets per class that make softmax(a·logs + offsets) most likely for the true classes.

    The offsets supply the class frequencies that the scores lack; a weak penalty keeps them finite.

    Parameters
    ----------
    logs : ndarray of shape (n_rows, n_classes)
    codes : ndarray of int of shape (n_rows,)
        True class of each row.

    Returns
    -------
    slope : float
    offsets : ndarray of shape (n_classes,)
    """
    n, n_classes = logs.shape
    wanted = np.eye(n_classes)[codes]

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        slope, offsets = np.exp(values[0]), values[1:]
        scaled = slope * logs + offsets
        norm = logsumexp(scaled, axis=1, keepdims=True)
        wrong = np.exp(scaled - norm) - wanted
        own = float(np.mean(norm[:, 0] - scaled[np.arange(n), codes])) + 1e-4 * float(values @ values)
        gradient = np.concatenate([[slope * np.mean(np.sum(wrong * logs, axis=1))], wrong.mean(axis=0)])
        return own, gradient + 2e-4 * values

    found = minimize(
        loss, np.zeros(n_classes + 1), jac=True, method="L-BFGS-B", bounds=[(-7, 4)] + [(-8, 8)] * n_classes
    )
    return float(np.exp(found.x[0])), found.x[1:]
