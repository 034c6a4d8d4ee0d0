"""MA of dual supervision: labels of documents and words that also explain the matrix, ``X ≈ F_r Q F_cᵀ``.

Sindhwani, Hu and Mojsilovic, "Regularized co-clustering with dual supervision", NIPS 2008, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from isthmus.classify.dual.kernels import Kernel
from isthmus.classify.dual.manifold_system import LOSSES, MOST_CURVED, signs_of
from isthmus.classify.dual.solvers import diagonal_direct, kernel_cg


@dataclass
class Side:
    """One side of the matrix (documents or words): kernel, labels, weights of the labels, ``γ``, and the loss."""

    kernel: Kernel
    targets: np.ndarray
    weights: np.ndarray
    gamma: float
    loss: str = "squared"


@dataclass
class FactorFit:
    a: np.ndarray
    b: np.ndarray
    row_values: np.ndarray
    column_values: np.ndarray
    Q: np.ndarray
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = False


def fit_factor(
    X: sp.csr_matrix,
    rows: Side,
    columns: Side,
    mu: float,
    start: tuple[np.ndarray, np.ndarray],
    *,
    solver: str = "cg",
    tol: float = 1e-10,
    cg_iter: int = 200,
    max_iter: int = 40,
    stop: float = 1e-4,
    watch: Callable[[int, int], None] | None = None,
) -> FactorFit:
    """Block coordinate descent on Eq. 7 from ``start`` = (α, β).

    One outer step solves for ``Q`` (Eq. 8), ``α`` (Eq. 9) and ``β`` (Eq. 10) in turn, until the objective falls by less
    than ``stop`` of itself. Each block is convex, so the objective falls at every block step; other losses than the
    squared one are replaced by :func:`parabola`.
    """
    X_t = X.T.tocsr()
    a, b = start
    F, G = rows.kernel.dot(a), columns.kernel.dot(b)
    K_r = rows.kernel.dense() if solver == "direct" else None
    K_c = columns.kernel.dense() if solver == "direct" else None
    size = float(X.multiply(X).sum())
    Q = best_q(X, F, G)
    fit = FactorFit(a, b, F, G, Q)
    history = [objective(X, size, fit, rows, columns, mu)]
    for step in range(max_iter):
        if step:
            fit.Q = best_q(X, fit.row_values, fit.column_values)
            history.append(objective(X, size, fit, rows, columns, mu))
        Z = fit.Q @ (fit.column_values.T @ fit.column_values) @ fit.Q.T
        pull = X @ (fit.column_values @ fit.Q.T)
        side = parabola(rows, fit.row_values)
        fit.a, fit.row_values = _solve_side(side, K_r, Z, pull, mu, (fit.a, fit.row_values), tol, cg_iter)
        history.append(objective(X, size, fit, rows, columns, mu))
        Z = fit.Q.T @ (fit.row_values.T @ fit.row_values) @ fit.Q
        pull = X_t @ (fit.row_values @ fit.Q)
        side = parabola(columns, fit.column_values)
        fit.b, fit.column_values = _solve_side(side, K_c, Z, pull, mu, (fit.b, fit.column_values), tol, cg_iter)
        history.append(objective(X, size, fit, rows, columns, mu))
        fit.n_iter = step + 1
        if watch is not None:
            watch(step + 1, max_iter)
        before = history[max(len(history) - 4, 0)]
        if before - history[-1] <= stop * abs(before):
            fit.converged = True
            break
    fit.history = history
    return fit


def best_q(X: sp.csr_matrix, F: np.ndarray, G: np.ndarray) -> np.ndarray:
    """``Q = (FᵀF)⁻¹ Fᵀ X G (GᵀG)⁻¹`` (Eq. 8); the pseudo-inverse serves where an inverse does not exist."""
    middle = F.T @ (X @ G)
    return np.asarray(np.linalg.pinv(F.T @ F, hermitian=True) @ middle @ np.linalg.pinv(G.T @ G, hermitian=True))


def objective(X: sp.csr_matrix, size: float, fit: FactorFit, rows: Side, columns: Side, mu: float) -> float:
    """Eq. 7, with ``|X - F Q Gᵀ|²`` expanded so that the dense product is never formed. ``size`` is ``|X|²``."""
    F, G, Q = fit.row_values, fit.column_values, fit.Q
    cross = np.sum((X @ G) * (F @ Q))
    fitted = np.sum((Q @ (G.T @ G) @ Q.T) * (F.T @ F))
    labels = label_loss(rows, F) + label_loss(columns, G)
    norms = rows.gamma * np.sum(fit.a * F) + columns.gamma * np.sum(fit.b * G)
    return float(labels + 0.5 * (norms + mu * (size - 2.0 * cross + fitted)))


def label_loss(side: Side, values: np.ndarray) -> float:
    if side.loss == "squared":
        return 0.5 * float(np.sum(side.weights[:, None] * (values - side.targets) ** 2))
    signs, weights = signs_of(side.targets, side.weights)
    return float(np.sum(weights * LOSSES[side.loss](signs * values)[0]))


def parabola(side: Side, values: np.ndarray) -> Side:
    """The side with a squared loss that equals its own at ``values`` and is nowhere below it.

    It is as bent as the loss at its most curved point. Weights stay one a row, which the Sylvester equations need.
    """
    if side.loss == "squared":
        return side
    signs, weights = signs_of(side.targets, side.weights)
    bend = MOST_CURVED[side.loss]
    firmness = np.where(side.weights > 0, side.weights, 1.0)[:, None]
    slope = weights * signs * LOSSES[side.loss](signs * values)[1]
    return replace(side, targets=values - slope / (bend * firmness), weights=bend * side.weights, loss="squared")


def _solve_side(
    side: Side,
    K: np.ndarray | None,
    Z: np.ndarray,
    pull: np.ndarray,
    mu: float,
    start: tuple[np.ndarray, np.ndarray],
    tol: float,
    cg_iter: int,
) -> tuple[np.ndarray, np.ndarray]:
    """``[γ + J K] a + μ K a Z = J Y + μ·pull`` (Eqs. 9, 10).

    In the basis of the eigenvectors of ``Z``, which is small and symmetric, the Sylvester equation falls into one
    system ``(γ + D_j K) a_j = b_j`` per class, with the diagonal ``D_j = J + μ z_j``.
    """
    z, U = np.linalg.eigh(0.5 * (Z + Z.T))
    diagonal = side.weights[:, None] + mu * np.maximum(z, 0.0)
    rhs = (side.weights[:, None] * side.targets + mu * pull) @ U
    if K is not None:
        columns = [diagonal_direct(K, diagonal[:, j], side.gamma, rhs[:, j]) for j in range(len(z))]
        a = np.stack(columns, axis=1) @ U.T
        return a, K @ a
    found = kernel_cg(
        side.kernel.dot,
        lambda values: diagonal * values,
        side.gamma,
        rhs,
        start=(start[0] @ U, start[1] @ U),
        tol=tol,
        max_iter=cg_iter,
    )
    return found.coefficients @ U.T, found.values @ U.T
