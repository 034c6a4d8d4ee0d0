"""Least squares with a kernel (RLS) and with a nearest-neighbour graph (LapRLS): the baselines of dual supervision."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from isthmus._math.rows import unit_rows
from isthmus.base import FROM_1, NON_NEGATIVE, POSITIVE, Domains, StrOptions, TransferClassifier
from isthmus.classify.dual.base import balance, moments
from isthmus.features.gram import inverse_roots
from isthmus.papers.dual import gaussian_kernel, quantile_width


class KernelLeastSquares(TransferClassifier):
    """Kernel ridge regression on class indicators (RLS): the baseline without unlabelled rows and words.

    Parameters
    ----------
    kernel : {"gaussian", "linear", "cosine"}, default="gaussian"
    width : float, optional
        Gaussian width; if omitted, the (1 / classes) quantile of the pairwise distances.
    gamma : float, default=0.1
    class_normalisation : {"both", None}, default="both"
        "both": labels weighed to equal sums a class, and scores of the unlabelled rows brought to mean 0 and deviation
        1 for each class, exactly what the dual methods get. None: neither.
    random_state : int, RandomState or None
        Draws the sample behind the width rule.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus_bench.baselines.least_squares import KernelLeastSquares
    >>> X = np.array([[3, 0], [0, 2], [4, 1], [1, 5]])
    >>> KernelLeastSquares().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints = {
        "kernel": [StrOptions({"gaussian", "linear", "cosine"})],
        "width": [POSITIVE, None],
        "gamma": [POSITIVE],
        "class_normalisation": [StrOptions({"both"}), None],
        "random_state": ["random_state"],
    }

    def __init__(self, *, kernel="gaussian", width=None, gamma=0.1, class_normalisation="both", random_state=None):
        self.class_normalisation = class_normalisation
        self.kernel = kernel
        self.width = width
        self.gamma = gamma
        self.random_state = random_state

    def _fit(self, domains: Domains) -> np.ndarray:
        X = sp.csr_matrix(domains.X)
        rows = self._rows_in_use(domains)
        labelled = np.flatnonzero(domains.codes[rows] >= 0)
        targets = np.zeros((len(rows), domains.n_classes))
        targets[labelled, domains.codes[rows][labelled]] = 1.0
        weights = np.zeros(len(rows))
        weights[labelled] = 1.0
        if self.class_normalisation:
            weights = balance(targets, weights)
        known = X[rows]
        if self.kernel == "gaussian":
            rng = check_random_state(self.random_state)
            width = quantile_width(known, 1.0 / domains.n_classes, rng) if self.width is None else self.width
            self._kernel = lambda new: gaussian_kernel(new, known, width)
        else:
            scale = unit_rows if self.kernel == "cosine" else sp.csr_matrix
            self._kernel = lambda new: (scale(new) @ scale(known).T).toarray()
        penalty = self._penalty(known, weights[:, None])
        system = self.gamma * np.eye(len(rows)) + penalty(self._kernel(known))
        self._coefficients = np.linalg.solve(system, weights[:, None] * targets)
        self.n_iter_ = 1
        self.history_: list[float] = []
        self.termination_condition_ = "closed_form"
        self._moments = np.zeros(domains.n_classes), np.ones(domains.n_classes)
        if not len(domains.target):
            return np.zeros(0, dtype=np.int64)
        values = self._kernel(X[domains.target]) @ self._coefficients
        if (
            self.class_normalisation and len(values) >= 10 * domains.n_classes
        ):  # a handful of rows is no sample to take means of
            self._moments = moments(values)
        return self._scores(X[domains.target]).argmax(axis=1)

    def _rows_in_use(self, domains: Domains) -> np.ndarray:
        return domains.source

    def _penalty(self, X: sp.csr_matrix, weights: np.ndarray):
        return lambda values: weights * values

    def _scores(self, X) -> np.ndarray:
        return (self._kernel(sp.csr_matrix(X)) @ self._coefficients - self._moments[0]) / self._moments[1]


# -- Laplacian regularised least squares: unlabelled rows through a nearest-neighbour graph, no words


class LaplacianLeastSquares(KernelLeastSquares):
    """Kernel ridge regression whose values are also smooth over a graph of similar rows (LapRLS; Belkin et al. 2006).

    Parameters
    ----------
    kernel, width, gamma, class_normalisation, random_state
        As for :class:`KernelLeastSquares`.
    mu : float, default=1.0
        Weight of smoothness.
    n_neighbors : int, default=10
        Of the Euclidean nearest-neighbour graph over all fitted rows.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus_bench.baselines.least_squares import LaplacianLeastSquares
    >>> X = np.array([[3, 0], [0, 2], [4, 1], [1, 5]])
    >>> LaplacianLeastSquares(n_neighbors=1).fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints = {
        **KernelLeastSquares._parameter_constraints,
        "mu": [NON_NEGATIVE],
        "n_neighbors": [FROM_1],
    }

    def __init__(
        self,
        *,
        kernel="gaussian",
        width=None,
        gamma=0.1,
        mu=1.0,
        n_neighbors=10,
        class_normalisation="both",
        random_state=None,
    ):
        super().__init__(
            kernel=kernel,
            width=width,
            gamma=gamma,
            class_normalisation=class_normalisation,
            random_state=random_state,
        )
        self.mu = mu
        self.n_neighbors = n_neighbors

    def _rows_in_use(self, domains: Domains) -> np.ndarray:
        return np.arange(domains.n_rows)

    def _penalty(self, X: sp.csr_matrix, weights: np.ndarray):
        graph = neighbour_laplacian(X, self.n_neighbors)
        return lambda values: self.mu * (graph @ values) + weights * values


def neighbour_laplacian(X: sp.spmatrix, n_neighbors: int) -> sp.csr_matrix:
    """Normalised Laplacian of the symmetric nearest-neighbour graph of the rows of ``X`` (0/1 weights, Euclidean)."""
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, n_neighbors=min(n_neighbors, X.shape[0] - 1), include_self=False)
    graph = graph.maximum(graph.T).tocsr()
    roots = inverse_roots(np.asarray(graph.sum(axis=1)).ravel())
    scaled = sp.diags(roots) @ graph @ sp.diags(roots)
    return sp.csr_matrix(sp.identity(X.shape[0], format="csr") - scaled)
