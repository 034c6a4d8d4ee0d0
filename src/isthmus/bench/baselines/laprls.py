"""Laplacian regularised least squares: unlabelled rows through a nearest-neighbour graph, no words."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus._math.laplacian import neighbour_laplacian
from isthmus._parameters import FROM_1, NON_NEGATIVE
from isthmus.base import Domains
from isthmus.bench.baselines.rls import KernelLeastSquares


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
    >>> from isthmus.bench.baselines.laprls import LaplacianLeastSquares
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
