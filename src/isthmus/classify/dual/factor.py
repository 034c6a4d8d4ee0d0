"""Tri-factorisation (MA): labels of documents and words that also explain the matrix, ``X ≈ F_r Q F_cᵀ``.

Sindhwani, Hu and Mojsilovic, "Regularized co-clustering with dual supervision", NIPS 2008, section 3.2, with the linear
kernels ``K_r = X Xᵀ`` and ``K_c = Xᵀ X``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from isthmus._progress import progress
from isthmus.base import FROM_1, POSITIVE, Domains
from isthmus.classify.dual.base import DualClassifier
from isthmus.classify.dual.manifold import ManifoldSystem
from isthmus.classify.dual.solvers import kernel_cg

START_TOL = 1e-6  # relative residual of the graph method's solution, from which the descent starts


class FactorFit:
    """Block coordinate descent on Eq. 7 with linear kernels.

    One outer step solves for ``Q`` (Eq. 8), ``α`` (Eq. 9) and ``β`` (Eq. 10) in turn. Each block is convex, so the
    objective falls at every block step; ``history`` has its value after each of them.

    Parameters
    ----------
    X : CSR matrix of shape (n, d)
    targets, weights : ndarray
        Targets and label weights of rows and then of columns.
    gamma, mu : float
        Weights of the function norms and of the approximation.
    start : ndarray of shape (n + d, n_classes)
        Coefficients α and β to start from.
    cg_iter, cg_tol : int, float
        Limits of the conjugate gradients inside a block.
    """

    def __init__(self, X: sp.csr_matrix, targets, weights, gamma: float, mu: float, start, cg_iter: int, cg_tol: float):
        n = X.shape[0]
        self.matrices = X, X.T.tocsr()  # of the two sides: rows, columns
        self.sides = (targets[:n], weights[:n]), (targets[n:], weights[n:])
        self.gamma, self.mu, self.cg_iter, self.cg_tol = gamma, mu, cg_iter, cg_tol
        self.size = float(X.multiply(X).sum())
        self.coefficients = [start[:n], start[n:]]
        self.values = [self.kernel(side, self.coefficients[side]) for side in (0, 1)]
        self.solve_q()
        self.history = [self.objective()]

    def kernel(self, side: int, a: np.ndarray) -> np.ndarray:
        """Return ``K_r a`` for side 0 and ``K_c a`` for side 1.

        Parameters
        ----------
        side : int
        a : ndarray

        Returns
        -------
        ndarray
        """
        return np.asarray(self.matrices[side] @ (self.matrices[1 - side] @ a))

    def solve_q(self) -> None:
        """Set ``Q = (F_rᵀF_r)⁻¹ F_rᵀ X F_c (F_cᵀF_c)⁻¹`` (Eq. 8), with pseudo-inverses."""
        F, G = self.values
        left, right = np.linalg.pinv(F.T @ F, hermitian=True), np.linalg.pinv(G.T @ G, hermitian=True)
        self.Q = np.asarray(left @ (F.T @ (self.matrices[0] @ G)) @ right)

    def solve_side(self, side: int) -> None:
        """Solve ``[γ + J K] a + μ K a Z = J Y + μ X F Qᵀ`` for one side (Eqs. 9 and 10).

        In the basis of the eigenvectors of ``Z``, which is small and symmetric, the Sylvester equation becomes one
        system ``(γ + (J + μ z_j) K) a_j = b_j`` per class (Eqs. 11 to 13).

        Parameters
        ----------
        side : {0, 1}
            0 for documents, 1 for words.
        """
        targets, weights = self.sides[side]
        other, Q = self.values[1 - side], self.Q if side == 0 else self.Q.T
        Z = Q @ (other.T @ other) @ Q.T
        z, U = np.linalg.eigh(0.5 * (Z + Z.T))
        diagonal = weights[:, None] + self.mu * np.maximum(z, 0.0)
        pull = self.matrices[side] @ (other @ Q.T)
        found = kernel_cg(
            lambda a: self.kernel(side, a),
            lambda values: diagonal * values,
            self.gamma,
            (weights[:, None] * targets + self.mu * pull) @ U,
            start=(self.coefficients[side] @ U, self.values[side] @ U),
            tol=self.cg_tol,
            max_iter=self.cg_iter,
        )
        self.coefficients[side], self.values[side] = found.coefficients @ U.T, found.values @ U.T

    def objective(self) -> float:
        """Return Eq. 7; ``|X - F_r Q F_cᵀ|²`` is expanded, so that the dense product is not formed.

        Returns
        -------
        float
        """
        F, G = self.values
        cross = np.sum((self.matrices[0] @ G) * (F @ self.Q))
        fitted = np.sum((self.Q @ (G.T @ G) @ self.Q.T) * (F.T @ F))
        total = self.mu * (self.size - 2.0 * cross + fitted)
        for a, values, (targets, weights) in zip(self.coefficients, self.values, self.sides, strict=True):
            total += np.sum(weights[:, None] * (values - targets) ** 2) + self.gamma * np.sum(a * values)
        return 0.5 * float(total)

    def descend(self, max_iter: int, tol: float) -> bool:
        """Take outer steps until the objective falls by less than ``tol`` of itself; return whether it did.

        Parameters
        ----------
        max_iter : int
        tol : float

        Returns
        -------
        bool
        """
        for step in range(max_iter):
            if step:
                self.solve_q()
                self.history.append(self.objective())
            for side in (0, 1):
                self.solve_side(side)
                self.history.append(self.objective())
            self.n_iter = step + 1
            progress("spreading labels", step + 1, max_iter)
            before = self.history[max(len(self.history) - 4, 0)]
            if before - self.history[-1] <= tol * abs(before):
                return True
        return False


class FactorDualClassifier(DualClassifier):
    """Labels of documents and words that also explain the matrix, ``X ≈ F_r Q F_cᵀ`` (MA).

    Class scores of documents and of words are linear functions that fit the given labels and whose product
    approximates the matrix (Eq. 7). Blocks are solved in turn (Eqs. 8 to 10); the objective falls at each of them. It
    is not convex: results depend on the start. The first start is the graph method's solution, the others are
    disturbed copies; the lowest objective wins.

    It assumes that documents of one class share a profile of word classes in both domains. It fails if the strongest
    structure of the matrix is not the classes (topics within a class, the two domains themselves).

    Parameters
    ----------
    word_labels, feature_names
        As for :class:`ManifoldDualClassifier`.
    gamma : float, default=1.0
        Weight of the function norms.
    mu : float, default=0.1
        Weight of the approximation.
    n_init : int, default=1
        Number of starts.
    max_iter, tol : int, float
        Maximum number of outer steps, and the relative decrease below which they end (the paper: 40 and 1e-4).
        ``termination_condition_`` reports which of them ended the fit; "max_iter" is common.
    cg_iter, cg_tol : int, float
        Limits of the inner conjugate gradients.
    random_state : int, RandomState or None
        Draws the disturbances of further starts.

    Attributes
    ----------
    Q_ : ndarray
        Association of document classes with word classes.
    starts_ : list of float
        Final objective of each start.
    word_transduction_, document_scores_, word_scores_, unknown_words_
        As for :class:`ManifoldDualClassifier`.

    See Also
    --------
    isthmus.ManifoldDualClassifier : The other form, which spreads labels over a graph.
    isthmus.SourceOnlyClassifier : The baseline without words.

    References
    ----------
    Sindhwani, Hu, Mojsilovic: Regularized co-clustering with dual supervision. NIPS 2008, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import FactorDualClassifier
    >>> X = np.array([[2, 0, 1, 0], [0, 2, 0, 1], [1, 0, 2, 0], [0, 1, 0, 3]])
    >>> FactorDualClassifier(word_labels={2: "good"}).fit(X, ["good", "bad", None, None]).transduction_.tolist()
    ['good', 'bad', 'good', 'bad']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "word_labels": [Mapping, None],
        "feature_names": ["array-like", None],
        "gamma": [POSITIVE],
        "mu": [POSITIVE],
        "n_init": [FROM_1],
        "max_iter": [FROM_1],
        "tol": [POSITIVE],
        "cg_iter": [FROM_1],
        "cg_tol": [POSITIVE],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        word_labels=None,
        feature_names=None,
        gamma=1.0,
        mu=0.1,
        n_init=1,
        max_iter=40,
        tol=1e-4,
        cg_iter=50,
        cg_tol=1e-10,
        random_state=None,
    ):
        self.word_labels = word_labels
        self.feature_names = feature_names
        self.gamma = gamma
        self.mu = mu
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.cg_iter = cg_iter
        self.cg_tol = cg_tol
        self.random_state = random_state

    def _fit(self, domains: Domains) -> np.ndarray:
        X, targets, weights = sides = self._read_sides(domains)
        n = X.shape[0]
        # The graph method with weights one and the plain Laplacian gives the first start.
        graph = ManifoldSystem(X, weights, 1.0, 1.0, 1)
        first = graph.solve(weights[:, None] * targets, tol=START_TOL, max_iter=self.cg_iter).coefficients
        rng = check_random_state(self.random_state)
        limits: Any = {"cg_iter": self.cg_iter, "cg_tol": self.cg_tol}
        self.starts_: list[float] = []
        for number in range(self.n_init):
            start = first.copy()
            if number:
                for part in (start[:n], start[n:]):
                    part += part.std() * rng.standard_normal(part.shape)
            fit = FactorFit(X, targets, weights, float(self.gamma), float(self.mu), start, **limits)
            converged = fit.descend(self.max_iter, self.tol)
            self.starts_.append(fit.history[-1])
            if self.starts_[-1] <= min(self.starts_):
                best, self.termination_condition_ = fit, "tol" if converged else "max_iter"
        self.Q_, self.n_iter_, self.history_ = best.Q, best.n_iter, best.history
        self._document_weights = best.matrices[1] @ best.coefficients[0]
        self._word_weights = X @ best.coefficients[1]
        return self._finish(domains, sides, np.concatenate(best.values))
