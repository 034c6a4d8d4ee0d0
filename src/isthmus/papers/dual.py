"""Dual supervision as printed: Sindhwani, Hu and Mojsilovic, "Regularized co-clustering …", NIPS 2008.

Manifold regularisation (MR, section 3.1) and matrix approximation (MA, section 3.2) with Gaussian kernels, which are
held whole. Rows (documents) come first and columns (words) second in stacked arrays.

Readings of the text: a kernel of width σ is exp(−d²/2σ²); the exponent of the iterated Laplacian is not given, 1 is the
plain one; "class normalization" brings the scores of each class to mean 0 and deviation 1 over the unlabelled rows
(Huang and Kecman 2004); MA starts from the solution of MR with γ = μ = 1, since the paper does not name its start;
``start="random"`` starts from random coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from isthmus._progress import progress
from isthmus.base import FROM_1, POSITIVE, Domains, StrOptions
from isthmus.classify.dual.base import DualClassifier
from isthmus.classify.dual.solvers import KernelSolution, kernel_cg
from isthmus.classify.rules import GaussianDualRule, gaussian_kernel, squared_distances
from isthmus.exceptions import DataError
from isthmus.features.gram import inverse_roots

BLOCK = 2048  # new rows compared with the fitted ones in one go
SAMPLED = 1000  # rows behind the width rule
LARGEST = 25_000  # documents or words; the kernel of so many takes 5 GB
CG_TOL, CG_STEPS = 1e-10, 200  # of conjugate gradients inside a block of MA (section 3.2)
MA_TOL, MA_STEPS = 1e-4, 40  # relative decrease that ends MA, and most outer steps (section 3.2)
MR_TOL, MR_STEPS = 1e-10, 2000  # the linear system of MR, which the paper does not limit
START_TOL = 1e-6  # relative residual of the start of MA


# -- Kernels and the graph


def quantile_width(X: sp.csr_matrix, quantile: float, rng: np.random.RandomState) -> float:
    """Return the quantile of the pairwise distances of rows; section 4 takes 1 / number of classes."""
    if X.shape[0] > SAMPLED:
        X = X[np.sort(rng.choice(X.shape[0], size=SAMPLED, replace=False))]
    distances = np.sqrt(squared_distances(X, X)[np.triu_indices(X.shape[0], k=1)])
    distances = distances[distances > 0]
    return float(np.quantile(distances, quantile)) if len(distances) else 1.0


def normalised_laplacian(X: sp.csr_matrix) -> sp.csr_matrix:
    """Return ``M = I − D^{-1/2} W D^{-1/2}`` of the bipartite graph of rows and columns (Eq. 1)."""
    W = sp.bmat([[None, X], [X.T, None]], format="csr")
    roots = sp.diags(inverse_roots(np.asarray(W.sum(axis=1)).ravel()))
    return sp.csr_matrix(sp.identity(W.shape[0]) - roots @ W @ roots)


# -- Manifold regularisation


def manifold_coefficients(
    K: tuple[np.ndarray, np.ndarray],
    M: sp.csr_matrix,
    targets: np.ndarray,
    weights: np.ndarray,
    gamma: float,
    mu: float,
    power: int,
    **limits: Any,
) -> KernelSolution:
    """Solve ``[γ I + μ M^p diag(K_r, K_c) + diag(J_r K_r, J_c K_c)] [α; β] = J [Y_r; Y_c]`` (Eq. 4).

    Parameters
    ----------
    K : tuple of ndarray
        Kernels of rows and of columns.
    M : CSR matrix
        Laplacian of the graph.
    targets, weights : ndarray
        ``Y``, and the diagonal of ``J``.
    gamma, mu : float
    power : int
        Exponent of the iterated Laplacian.
    **limits
        ``tol`` and ``max_iter`` of the conjugate gradients.

    Returns
    -------
    KernelSolution
        Coefficients ``[α; β]``, the scores ``diag(K_r, K_c) [α; β]``, and the decreases of Eq. 2 in each step.
    """
    n = len(K[0])

    def kernel(a: np.ndarray) -> np.ndarray:
        return np.concatenate([K[0] @ a[:n], K[1] @ a[n:]])

    def penalty(values: np.ndarray) -> np.ndarray:
        smooth = values
        for _ in range(power):
            smooth = M @ smooth
        return mu * smooth + weights[:, None] * values

    return kernel_cg(kernel, penalty, gamma, weights[:, None] * targets, **limits)


# -- Matrix approximation


def best_q(X: sp.csr_matrix, F_r: np.ndarray, F_c: np.ndarray) -> np.ndarray:
    """Return ``Q = (αᵀK_r²α)⁻¹ (αᵀK_r X K_c β) (βᵀK_c²β)⁻¹`` with ``F_r = K_r α``, ``F_c = K_c β`` (Eq. 8)."""
    left, right = np.linalg.pinv(F_r.T @ F_r, hermitian=True), np.linalg.pinv(F_c.T @ F_c, hermitian=True)
    return np.asarray(left @ (F_r.T @ (X @ F_c)) @ right)


def solve_block(
    K: np.ndarray, J: np.ndarray, right: np.ndarray, Z: np.ndarray, gamma: float, mu: float, start: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Solve ``[γ I + J K] a + μ K a Z = right`` (Eqs. 9 and 10) by conjugate gradients from ``start``.

    ``Z`` is symmetric (Eq. 11). In the basis of its eigenvectors the Kronecker system of Eqs. 12 and 13 has one block
    per class.

    Returns
    -------
    coefficients, values : ndarray
        The solution ``a``, and ``K a``.
    """
    z, U = np.linalg.eigh(0.5 * (Z + Z.T))
    diagonal = J[:, None] + mu * np.maximum(z, 0.0)
    found = kernel_cg(
        lambda a: K @ a,
        lambda values: diagonal * values,
        gamma,
        right @ U,
        start=(start[0] @ U, start[1] @ U),
        tol=CG_TOL,
        max_iter=CG_STEPS,
    )
    return found.coefficients @ U.T, found.values @ U.T


def approximation_objective(
    X: sp.csr_matrix, a: Any, F: Any, Q: np.ndarray, Y: Any, J: Any, gamma: float, mu: float
) -> float:
    """Return Eq. 7, whose pairs of arguments belong to rows and columns; |X − F_r Q F_cᵀ|² is expanded."""
    norms = gamma * sum(np.sum(a[side] * F[side]) for side in (0, 1))
    losses = sum(np.sum(J[side][:, None] * (F[side] - Y[side]) ** 2) for side in (0, 1))
    fitted = np.sum((Q @ (F[1].T @ F[1]) @ Q.T) * (F[0].T @ F[0]))
    gap = X.multiply(X).sum() - 2.0 * np.sum((X @ F[1]) * (F[0] @ Q)) + fitted
    return 0.5 * float(norms + losses + mu * gap)


# -- Estimators, which read labels of documents and words in the same way as the product's


class LiteralDualClassifier(DualClassifier):
    """Base of both methods: Gaussian kernels, class normalisation of scores, new rows and columns (Eq. 5)."""

    _balances_labels = False

    def _kernels(self, X: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        if max(X.shape) > LARGEST:
            raise DataError(
                f"{X.shape[0]:,} documents × {X.shape[1]:,} words: the paper's kernels are held whole, for at most "
                f"{LARGEST:,} of either. Raise min_df, use fewer documents, or use the methods dual-manifold or "
                "dual-factor, whose kernels are linear.",
                code="too-large",
            )
        rng = check_random_state(self.random_state)
        sides, quantile = (X, X.T.tocsr()), 1.0 / len(self.classes_)
        self.widths_ = [
            quantile_width(side, quantile, rng) if width is None else float(width)
            for side, width in zip(sides, (self.width, self.word_width), strict=True)
        ]
        K_r, K_c = (gaussian_kernel(side, side, width) for side, width in zip(sides, self.widths_, strict=True))
        return K_r, K_c

    def _word_values(self, columns: sp.csr_matrix) -> np.ndarray:
        return gaussian_kernel(columns, self.fitted_rows_.T.tocsr(), self.widths_[1]) @ self._coefficients[1]

    def prediction_rule(self) -> GaussianDualRule:
        """Return the arrays that label new documents: ``Σ_i α_ij k_r(x, x_i)`` (Eq. 5), normalised by class."""
        return GaussianDualRule(
            self.fitted_rows_,
            self._coefficients[0],
            self.widths_[0],
            self._document_moments,
            self._sharpness,
            self.labelled_words_,
            self.word_scores_,
        )


class LiteralManifold(LiteralDualClassifier):
    """MR as printed, for the method ``dual-manifold-paper``.

    Parameters
    ----------
    word_labels, feature_names
        As for :class:`isthmus.ManifoldDualClassifier`.
    width, word_width : float or None, default=0.43, 0.69
        Widths of the Gaussian kernels of documents and of words. None: the (1 / classes) quantile of the distances.
    gamma, mu : float, default=1.0
        Weights of the function norms and of smoothness over the graph.
    power : int, default=1
        Exponent of the iterated Laplacian.
    random_state : int, RandomState or None
        Draws the rows behind the width rule if there are more than 1,000.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "word_labels": [Mapping, None],
        "feature_names": ["array-like", None],
        "width": [POSITIVE, None],
        "word_width": [POSITIVE, None],
        "gamma": [POSITIVE],
        "mu": [POSITIVE],
        "power": [FROM_1],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        word_labels=None,
        feature_names=None,
        width=0.43,
        word_width=0.69,
        gamma=1.0,
        mu=1.0,
        power=1,
        random_state=None,
    ):
        self.word_labels = word_labels
        self.feature_names = feature_names
        self.width = width
        self.word_width = word_width
        self.gamma = gamma
        self.mu = mu
        self.power = power
        self.random_state = random_state

    def _fit(self, domains: Domains) -> np.ndarray:
        X, targets, weights = sides = self._read_sides(domains)
        n, M = X.shape[0], normalised_laplacian(X)
        limits = {"tol": MR_TOL, "max_iter": MR_STEPS}
        K = self._kernels(X)
        found = manifold_coefficients(K, M, targets, weights, self.gamma, self.mu, self.power, **limits)
        at_zero = 0.5 * float(np.sum(weights[:, None] * targets**2))
        self.n_iter_ = max(found.n_iter, 1)
        self.history_ = [at_zero, *(at_zero - np.cumsum(found.decreases)).tolist()]
        self.termination_condition_ = "tol" if found.residual <= MR_TOL else "max_iter"
        self._coefficients = found.coefficients[:n], found.coefficients[n:]
        return self._finish(domains, sides, found.values)


class LiteralFactor(LiteralDualClassifier):
    """MA as printed, for the method ``dual-factor-paper``.

    Parameters
    ----------
    word_labels, feature_names, width, word_width, random_state
        As for :class:`LiteralManifold`.
    gamma : float, default=1e-4
        Weight of the function norms.
    mu : float, default=0.01
        Weight of the approximation.
    start : {"graph", "random"}, default="graph"
        Coefficients before the first iteration: the solution of MR with γ = μ = 1, or normal random numbers divided by
        the number of rows or columns.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        name: allowed for name, allowed in LiteralManifold._parameter_constraints.items() if name != "power"
    } | {"start": [StrOptions({"graph", "random"})]}

    def __init__(
        self,
        *,
        word_labels=None,
        feature_names=None,
        width=0.43,
        word_width=0.69,
        gamma=1e-4,
        mu=0.01,
        start="graph",
        random_state=None,
    ):
        self.word_labels = word_labels
        self.feature_names = feature_names
        self.width = width
        self.word_width = word_width
        self.gamma = gamma
        self.mu = mu
        self.start = start
        self.random_state = random_state

    def _fit(self, domains: Domains) -> np.ndarray:
        X, targets, weights = sides = self._read_sides(domains)
        n, K = X.shape[0], self._kernels(X)
        Y, J, matrices = (targets[:n], targets[n:]), (weights[:n], weights[n:]), (X, X.T.tocsr())
        start = self._start(K, X, targets, weights)
        a = [start[:n], start[n:]]
        F = [K[side] @ a[side] for side in (0, 1)]
        self.history_: list[float] = []
        self.termination_condition_ = "max_iter"
        for step in range(MA_STEPS):
            Q = best_q(X, F[0], F[1])
            self.history_.append(approximation_objective(X, a, F, Q, Y, J, self.gamma, self.mu))
            for side in (0, 1):
                other, turned = F[1 - side], Q if side == 0 else Q.T
                right = J[side][:, None] * Y[side] + self.mu * (matrices[side] @ other @ turned.T)
                Z = turned @ (other.T @ other) @ turned.T  # Eq. 11
                current = a[side], F[side]
                a[side], F[side] = solve_block(K[side], J[side], right, Z, self.gamma, self.mu, current)
                self.history_.append(approximation_objective(X, a, F, Q, Y, J, self.gamma, self.mu))
            self.n_iter_ = step + 1
            progress("spreading labels", step + 1, MA_STEPS)
            before = self.history_[max(len(self.history_) - 4, 0)]
            if before - self.history_[-1] <= MA_TOL * abs(before):
                self.termination_condition_ = "tol"
                break
        self.Q_, self._coefficients = Q, a
        return self._finish(domains, sides, np.concatenate(F))

    def _start(self, K: tuple, X: sp.csr_matrix, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return α and β to start from: the solution of MR with γ = μ = 1, or random numbers."""
        if self.start == "random":
            sizes = np.repeat([len(side) for side in K], [len(side) for side in K])
            return check_random_state(self.random_state).standard_normal(targets.shape) / sizes[:, None]
        M = normalised_laplacian(X)
        limits = {"tol": START_TOL, "max_iter": CG_STEPS}
        return manifold_coefficients(K, M, targets, weights, 1.0, 1.0, 1, **limits).coefficients
