"""A linear SVM for few dense features and many classes, all classes solved at once."""

from __future__ import annotations

import numpy as np


def fit_squared_hinge(
    X: np.ndarray, codes: np.ndarray, n_classes: int, *, C: float = 1.0, tol: float = 1e-2, max_iter: int = 50
) -> tuple[np.ndarray, np.ndarray, int]:
    """Minimise ½‖w‖² + C·Σ max(0, 1 − y·(w·x))² for every class by truncated Newton steps.

    The weight of a column of ones is the intercept. The iteration ends when the gradient of every class, relative to
    that of the zero vector, is below ``tol``.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    codes : ndarray of int of shape (n_rows,)
    n_classes : int
    C : float
    tol : float
    max_iter : int

    Returns
    -------
    coef : ndarray of shape (n_classes, n_features)
    intercept : ndarray of shape (n_classes,)
    n_steps : int
    """
    X = np.hstack([X, np.ones((len(X), 1))])
    sign = -np.ones((len(X), n_classes))
    sign[np.arange(len(X)), codes] = 1.0
    roots, basis = np.linalg.eigh(X.T @ X)
    weights = np.zeros((X.shape[1], n_classes))
    values = np.zeros_like(sign)  # X @ weights
    slack = np.maximum(1.0 - sign * values, 0.0)
    first = np.linalg.norm(2.0 * C * (X.T @ (sign * slack)), axis=0)
    loss = C * np.sum(slack**2, axis=0)
    for step in range(max_iter):
        gradient = weights - 2.0 * C * (X.T @ (sign * slack))
        if np.all(np.linalg.norm(gradient, axis=0) <= tol * np.maximum(first, 1e-12)):
            return weights[:-1].T.copy(), weights[-1].copy(), step
        direction, moved = _newton_direction(X, gradient, slack > 0, C, roots, basis)
        size = np.ones(n_classes)
        for _ in range(20):  # halve the step of those classes whose loss has not fallen
            new_weights, new_values = weights + size * direction, values + size * moved
            new_slack = np.maximum(1.0 - sign * new_values, 0.0)
            new_loss = 0.5 * np.sum(new_weights**2, axis=0) + C * np.sum(new_slack**2, axis=0)
            worse = new_loss > loss + 1e-12 * np.abs(loss)
            if not worse.any():
                break
            size[worse] *= 0.5
        weights, values, slack, loss = new_weights, new_values, new_slack, new_loss
    return weights[:-1].T.copy(), weights[-1].copy(), max_iter


def _newton_direction(
    X: np.ndarray,
    gradient: np.ndarray,
    active: np.ndarray,
    C: float,
    roots: np.ndarray,
    basis: np.ndarray,
    max_steps: int = 8,
) -> tuple[np.ndarray, np.ndarray]:
    """Conjugate gradients for all classes side by side; also X @ direction, which the steps give for free.

    The Hessian of class k is I + 2C·XᵀA_kX with A_k the rows inside the margin. The preconditioner I + 2C·a_k·XᵀX, with
    a_k their share, is close to it and diagonal in one basis for all classes.
    """
    scale = 1.0 / (1.0 + 2.0 * C * np.outer(np.maximum(roots, 0.0), active.mean(axis=0)))
    direction, moved = np.zeros_like(gradient), np.zeros(active.shape)
    residual = -gradient
    goal = 0.1 * np.linalg.norm(residual, axis=0)
    solved = basis @ (scale * (basis.T @ residual))
    search = solved.copy()
    power = np.sum(residual * solved, axis=0)
    for _ in range(max_steps):
        open_ = np.linalg.norm(residual, axis=0) > goal
        if not open_.any():
            break
        along = X @ search
        curved = search + 2.0 * C * (X.T @ (active * along))
        length = np.where(open_, power / np.maximum(np.sum(search * curved, axis=0), 1e-300), 0.0)
        direction += length * search
        moved += length * along
        residual = residual - length * curved
        solved = basis @ (scale * (basis.T @ residual))
        new_power = np.sum(residual * solved, axis=0)
        search = solved + np.divide(new_power, power, out=np.zeros_like(power), where=power > 0) * search
        power = new_power
    return direction, moved
