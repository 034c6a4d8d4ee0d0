"""Regularised least squares with a kernel: labelled rows alone."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from isthmus._math.dual_kernels import make_kernel
from isthmus._parameters import POSITIVE, StrOptions
from isthmus.base import Domains, TransferClassifier
from isthmus.classify.dual.base import balance, moments


class KernelLeastSquares(TransferClassifier):
    """Kernel ridge regression on class indicators (RLS): the yardstick without unlabelled rows and without words.

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
    >>> from isthmus.bench.baselines.rls import KernelLeastSquares
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
        kernel = make_kernel(
            self.kernel,
            X[rows],
            width=self.width,
            quantile=1.0 / domains.n_classes,
            max_exact=len(rows),
            n_landmarks=len(rows),
            rng=check_random_state(self.random_state),
        )
        penalty = self._penalty(X[rows], weights[:, None])
        system = self.gamma * np.eye(len(rows)) + penalty(kernel.dot(np.eye(len(rows))))
        self._function = kernel.predictor(np.linalg.solve(system, weights[:, None] * targets))
        self.n_iter_ = 1
        self.history_: list[float] = []
        self.termination_condition_ = "closed_form"
        self._moments = np.zeros(domains.n_classes), np.ones(domains.n_classes)
        if not len(domains.target):
            return np.zeros(0, dtype=np.int64)
        values = self._function(X[domains.target])
        if len(values) >= 10 * domains.n_classes:  # a handful of rows is no sample to take means of
            self._moments = moments(values, self.class_normalisation is not None)
        return self._scores(X[domains.target]).argmax(axis=1)

    def _rows_in_use(self, domains: Domains) -> np.ndarray:
        return domains.source

    def _penalty(self, X: sp.csr_matrix, weights: np.ndarray):
        return lambda values: weights * values

    def _scores(self, X) -> np.ndarray:
        return (self._function(sp.csr_matrix(X)) - self._moments[0]) / self._moments[1]
