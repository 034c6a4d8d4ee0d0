"""MR of dual supervision: labels of documents and words made smooth over the bipartite graph.

Sindhwani, Hu and Mojsilovic, "Regularized co-clustering with dual supervision", NIPS 2008, section 3.1. Rows come
first, columns second, in every stacked array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus.classify.dual.kernels import Kernel, shares_matrix
from isthmus.classify.dual.laplacian import BipartiteLaplacian, both_products
from isthmus.classify.dual.solvers import KernelSolution, kernel_cg, solve_in_place

HINGE_BEND = 0.25  # half-width of the parabola that rounds the hinge's corner


@dataclass
class ManifoldProblem:
    """Everything Eq. 2 names: kernels, graph, labels, and the weights of its terms."""

    row_kernel: Kernel
    column_kernel: Kernel
    graph: BipartiteLaplacian
    targets: np.ndarray
    weights: np.ndarray
    gamma: np.ndarray
    mu: float

    @property
    def n_rows(self) -> int:
        return self.graph.edges.shape[0]

    def kernel(self, a: np.ndarray) -> np.ndarray:
        """``diag(K_r, K_c) a``."""
        n = self.n_rows
        if shares_matrix(self.row_kernel, self.column_kernel):
            # K_r = X Xᵀ and K_c = Xᵀ X: two passes over X instead of four.
            X = self.row_kernel.X  # type: ignore[attr-defined]
            return np.concatenate(both_products(X, *both_products(X, a[:n], a[n:])))
        return np.concatenate([self.row_kernel.dot(a[:n]), self.column_kernel.dot(a[n:])])

    def dense_kernel(self) -> np.ndarray:
        n, total = self.n_rows, len(self.targets)
        K = np.zeros((total, total))
        K[:n, :n] = self.row_kernel.dense()
        K[n:, n:] = self.column_kernel.dense()
        return K

    def regulariser(self, a: np.ndarray, values: np.ndarray) -> float:
        """RKHS norms and the graph's smoothness term of Eq. 2."""
        norms = 0.5 * np.sum(self.gamma * a * values)
        return float(norms + 0.5 * self.mu * np.sum(values * self.graph.dot(values)))

    def solve_cg(self, weights: np.ndarray, rhs: np.ndarray, **settings: Any) -> KernelSolution:
        """Conjugate gradients for ``(γ + (W + μ M) K) a = rhs``: Eq. 4, with ``weights`` for the diagonal of ``W``."""
        return kernel_cg(
            self.kernel,
            lambda values: self.mu * self.graph.dot(values) + weights * values,
            self.gamma,
            rhs,
            **settings,
        )


@dataclass
class ManifoldFit:
    coefficients: np.ndarray
    values: np.ndarray
    history: list[float]
    n_iter: int
    converged: bool


def solve_manifold(
    problem: ManifoldProblem, *, loss: str = "squared", solver: str = "cg", tol: float = 1e-8, max_iter: int = 1000
) -> ManifoldFit:
    """Minimise Eq. 2: one linear system (Eq. 4) for the squared loss, Newton steps of that form for the others.

    Those are one class against the others, the hinge with a rounded corner. "direct" takes the LU of the (n + d)²
    system, "cg" conjugate gradients that form nothing.
    """
    if loss == "squared":
        return _solve_squared(problem, solver, tol, max_iter)
    return _solve_newton(problem, LOSSES[loss], solver, tol, max_iter)


def _solve_squared(problem: ManifoldProblem, solver: str, tol: float, max_iter: int) -> ManifoldFit:
    weights = problem.weights[:, None]
    rhs = weights * problem.targets
    at_zero = 0.5 * float(np.sum(weights * problem.targets**2))
    if solver == "direct":
        a, values = _direct(problem, problem.weights, rhs)
        gap = np.sum(weights * (values - problem.targets) ** 2)
        return ManifoldFit(a, values, [at_zero, problem.regulariser(a, values) + 0.5 * float(gap)], 1, True)
    found = problem.solve_cg(weights, rhs, tol=tol, max_iter=max_iter)
    history = [at_zero, *(at_zero - np.cumsum(found.decreases)).tolist()]
    return ManifoldFit(found.coefficients, found.values, history, max(found.n_iter, 1), found.residual <= tol)


def _direct(problem: ManifoldProblem, weights: np.ndarray, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    K = problem.dense_kernel()
    # The graph is sparse: its product with K costs far less than the factorisation that follows.
    A = problem.graph.dot(K)
    A *= problem.mu
    A += weights[:, None] * K
    A[np.diag_indices_from(A)] += problem.gamma.ravel()
    a = solve_in_place(A, rhs)
    return a, K @ a


# Losses of the margin s = t·f: value, slope and curvature.
Loss = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def rounded_hinge(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``max(0, 1 - s)`` with its corner rounded by a parabola of half-width ``HINGE_BEND``."""
    short = 1.0 - margin
    bend = np.abs(short) <= HINGE_BEND
    over = short > HINGE_BEND
    value = np.where(over, short, np.where(bend, (short + HINGE_BEND) ** 2 / (4 * HINGE_BEND), 0.0))
    slope = np.where(over, -1.0, np.where(bend, -(short + HINGE_BEND) / (2 * HINGE_BEND), 0.0))
    return value, slope, np.where(bend, 1.0 / (2 * HINGE_BEND), 0.0)


def logistic(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    value = np.logaddexp(0.0, -margin)
    slope = -np.exp(-margin - value)
    return value, slope, -slope * (1.0 + slope)


LOSSES: dict[str, Loss] = {"hinge": rounded_hinge, "logistic": logistic}
MOST_CURVED = {"hinge": 1.0 / (2 * HINGE_BEND), "logistic": 0.25}  # the largest curvature of each


def signs_of(targets: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One-against-others targets ±1 and their weights.

    A word that only speaks against a class says nothing of the others: those have weight 0.
    """
    signs = np.where(targets > 0, 1.0, -1.0)
    speaks = (targets > 0).any(axis=1, keepdims=True) | (targets < 0)
    return signs, np.where(speaks, weights[:, None], 0.0)


def _solve_newton(problem: ManifoldProblem, loss: Loss, solver: str, tol: float, max_iter: int) -> ManifoldFit:
    signs, weights = signs_of(problem.targets, problem.weights)
    a, values = np.zeros_like(signs), np.zeros_like(signs)

    def objective(a: np.ndarray, values: np.ndarray) -> float:
        return problem.regulariser(a, values) + float(np.sum(weights * loss(signs * values)[0]))

    history = [objective(a, values)]
    converged = False
    for _ in range(50):
        _, slope, curvature = loss(signs * values)
        hessian = weights * curvature
        # Newton: replace the loss by its parabola at the current values; Eq. 4 with J = hessian solves it.
        rhs = hessian * values - weights * signs * slope
        if solver == "direct":
            pairs = [_direct(problem, hessian[:, j], rhs[:, [j]]) for j in range(rhs.shape[1])]
            new_a, new_values = (np.hstack(parts) for parts in zip(*pairs, strict=True))
        else:
            found = problem.solve_cg(hessian, rhs, start=(a, values), tol=tol, max_iter=max_iter)
            new_a, new_values = found.coefficients, found.values
        step, current = 1.0, history[-1]
        while step > 1e-6:
            trial_a, trial_values = a + step * (new_a - a), values + step * (new_values - values)
            value = objective(trial_a, trial_values)
            if value <= current:
                break
            step *= 0.5
        else:
            converged = True
            break
        a, values = trial_a, trial_values
        history.append(value)
        if current - value <= 1e-9 * max(abs(current), 1e-12):
            converged = True
            break
    return ManifoldFit(a, values, history, max(len(history) - 1, 1), converged)


# -- What one more word label would do, before it is given


CHUNK = 25  # words worked out together: bounds memory to a few arrays of (n + d) × CHUNK


def word_influence(
    problem: ManifoldProblem,
    values: np.ndarray,
    words: np.ndarray,
    chances: np.ndarray,
    rows: np.ndarray,
    moments: tuple[np.ndarray, np.ndarray],
    *,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> list[tuple[float, float]]:
    """Expected number of flipped ``rows`` and expected change of their scores for each candidate word.

    A label ``y`` of weight 1 on node ``w`` adds ``e_w e_wᵀ K`` to the matrix of Eq. 4 and ``e_w y`` to its right-hand
    side. With ``g = K A⁻¹ e_w`` values become ``F + g (y - F_w) / (1 + g_w)`` (Sherman and Morrison): exact for the
    squared loss, the first step for others. ``moments`` make values comparable scores.
    """
    n, total = problem.n_rows, len(problem.targets)
    current = (values[rows] - moments[0]) / moments[1]
    labels = current.argmax(axis=1)
    table: list[tuple[float, float]] = []
    for start in range(0, len(words), CHUNK):
        chunk = words[start : start + CHUNK]
        units = np.zeros((total, len(chunk)))
        units[n + chunk, np.arange(len(chunk))] = 1.0
        influence = problem.solve_cg(problem.weights[:, None], units, tol=tol, max_iter=max_iter).values
        for j, word in enumerate(chunk):
            reach = influence[rows, j] / (1.0 + influence[n + word, j])
            flips = change = 0.0
            for label, chance in enumerate(chances[start + j]):
                surprise = (np.arange(values.shape[1]) == label) - values[n + word]
                moved = np.outer(reach, surprise / moments[1])
                flips += chance * float(np.sum((current + moved).argmax(axis=1) != labels))
                change += chance * float(np.mean(np.abs(moved)))
            table.append((flips, change))
    return table
