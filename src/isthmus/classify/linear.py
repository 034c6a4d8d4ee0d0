"""Fit logistic regression and the linear SVM to a matrix or to chunks: loss and gradient are sums over documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from isthmus._utils import one_blas_thread
from isthmus.base import POSITIVE, StrOptions, check_parameters
from isthmus.classify.rules import LinearRule
from isthmus.features.blocks import Block, Passes, add_tuples

# The sums must not depend on how documents are cut into chunks. Values and slopes are therefore multiples of these
# powers of two: a double adds up 2¹⁵ full products of them without rounding, and the sums of chunks are integers.
_VALUE, _SLOPE, _LOSS = 2.0**20, 2.0**18, 2.0**30
_MOST_LOSS = 60.0  # of one document, so that the sum over 10⁷ of them fits in an integer
# Largest entry of the gradient at the minimum, per document and unit of C: scikit-learn's for its Newton solver, and
# a tenth of it for the hinge, whose labels would otherwise differ from the exact minimum in a few of 1,000 documents.
_TOLERANCE = {"logistic": 1e-4, "squared_hinge": 1e-5}
_MOST_ITERATIONS = 500


class LinearClassifier(ClassifierMixin, BaseEstimator):
    """Linear classifier with an L2 penalty.

    It minimises C · Σ loss + ½‖w‖² by L-BFGS. A matrix and the same documents in chunks give the same weights.

    Parameters
    ----------
    loss : {"logistic", "squared_hinge"}, default="logistic"
        "logistic": multinomial logistic regression, intercepts without penalty. "squared_hinge": a linear SVM, one
        class against the others, intercepts with penalty (as ``sklearn.svm.LinearSVC``).
    C : float, default=1.0
        Weight of the loss relative to the penalty.
    warm_start : bool, default=False
        Start at the weights of the last fit.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : ndarray of shape (n_classes,) or (1,)
    n_iter_ : int
    history_ : list of float
        The objective at each evaluation.
    """

    _parameter_constraints = {
        "loss": [StrOptions({"logistic", "squared_hinge"})],
        "C": [POSITIVE],
        "warm_start": ["boolean"],
    }

    coef_: np.ndarray
    intercept_: np.ndarray
    history_: list[float]

    def __init__(self, *, loss="logistic", C=1.0, warm_start=False):
        self.loss = loss
        self.C = C
        self.warm_start = warm_start

    def fit(self, X, y):
        """Fit the rows of a matrix.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)

        Returns
        -------
        self
        """
        check_parameters(self)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        classes, codes = np.unique(y, return_inverse=True)
        rows = rounded_rows(sp.csr_matrix(X))
        n_rows, n_columns = X.shape
        return self._minimise(partial(_sums, rows, codes, self.loss), n_rows, n_columns, classes)

    def fit_passes(self, passes: Passes, pseudo: tuple[str, np.ndarray] | None = None, n_pseudo: int = 0):
        """Fit the source's chunks; with ``pseudo`` also target documents under the labels that are stored with them.

        Parameters
        ----------
        passes : Passes
        pseudo : tuple of str and ndarray of shape (n_classes,), optional
            Name under which chunks of the target store labels and steps of confidence, and the step of each class from
            which on a document counts as labelled.
        n_pseudo : int, default=0
            About how many target documents count.
        """
        phase = "logistic regression" if self.loss == "logistic" else "support vectors"
        phase = phase if pseudo is None else f"{phase}, {pseudo[0]}"
        sides = "source" if pseudo is None else "both"

        def sums(point: np.ndarray) -> tuple[np.ndarray, int]:
            return passes.sum(_chunk_sums, sides, self.loss, pseudo, point, phase=phase, add=add_tuples)

        self.n_features_in_ = passes.n_columns
        return self._minimise(sums, passes.n_source + n_pseudo, passes.n_columns, passes.classes)

    @one_blas_thread()
    def _minimise(self, sums: Callable[[np.ndarray], Any], n_rows: int, n_columns: int, classes: np.ndarray):
        shape = n_columns + 1, 1 if len(classes) == 2 else len(classes)
        penalty = np.ones((shape[0], 1))
        if self.loss == "logistic":
            penalty[-1] = 0.0
        start = np.zeros(shape)
        if self.warm_start and getattr(self, "coef_", np.zeros(0)).shape == (shape[1], n_columns):
            start[:-1], start[-1] = self.coef_.T, self.intercept_
        self.history_ = []

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            point = flat.reshape(shape)
            gradient, loss = sums(point)
            shrunk = penalty * point
            self.history_.append(self.C * loss / _LOSS + 0.5 * float(np.sum(shrunk * point)))
            return self.history_[-1], (self.C / (_VALUE * _SLOPE) * gradient + shrunk).ravel()

        limits = {"gtol": _TOLERANCE[self.loss] * self.C * n_rows, "ftol": 0.0, "maxiter": _MOST_ITERATIONS}
        found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=limits)
        point = found.x.reshape(shape)
        self.classes_, self.n_iter_ = classes, int(found.nit)
        self.coef_, self.intercept_ = np.ascontiguousarray(point[:-1].T), point[-1].copy()
        return self

    def prediction_rule(self, power: float = 1.0) -> LinearRule:
        """Return the rule that labels new documents; see ``isthmus.classify.rules``.

        Parameters
        ----------
        power : float, default=1.0
            Factor on the decision values of the SVM.

        Returns
        -------
        LinearRule
        """
        return LinearRule(self.coef_, self.intercept_, "logistic" if self.loss == "logistic" else "margin", power)

    def decision_function(self, X) -> np.ndarray:
        """Return decision values.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        decision = X @ self.coef_.T + self.intercept_
        return decision.ravel() if len(self.coef_) == 1 else decision

    @available_if(lambda self: self.loss == "logistic")
    def predict_proba(self, X) -> np.ndarray:
        """Return class probabilities; only for the loss "logistic".

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.exp(self.prediction_rule().scores(X))

    def predict(self, X) -> np.ndarray:
        """Return predicted classes.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        decision = self.decision_function(X)
        codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[codes]


def rounded_rows(X: sp.csr_matrix) -> sp.csr_matrix:
    """Round the values of rows so that sums of their products do not depend on the order.

    Parameters
    ----------
    X : csr_matrix

    Returns
    -------
    csr_matrix
    """
    return sp.csr_matrix((np.rint(X.data * _VALUE) / _VALUE, X.indices, X.indptr), X.shape)


def _chunk_sums(block: Block, loss: str, pseudo: tuple[str, np.ndarray] | None, point: np.ndarray):
    """Return the contribution of a chunk to the gradient and the loss."""
    codes = block.codes
    if pseudo is not None and block.side == "target":
        name, least = pseudo
        stored = block.kept(name)
        assert stored is not None
        codes = np.where(stored["steps"] >= least[stored["labels"]], stored["labels"], -1)
    derived = block.rows.derived
    if "rounded" not in derived:
        derived["rounded"] = rounded_rows(block.weighed)
    rows, labelled = derived["rounded"], codes >= 0
    if not labelled.all():
        rows, codes = rows[labelled], codes[labelled]
    return _sums(rows, codes, loss, point)


def _sums(X: sp.csr_matrix, codes: np.ndarray, loss: str, point: np.ndarray) -> tuple[np.ndarray, int]:
    """Return gradient (features and intercept × columns of weights) and loss of rows, in fixed point."""
    scores = X @ point[:-1] + point[-1]
    own = codes[:, None] == (np.arange(point.shape[1]) if point.shape[1] > 1 else 1)
    if loss == "squared_hinge":
        sign = np.where(own, 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - sign * scores)
        losses, slopes = (slack * slack).sum(axis=1), -2.0 * sign * slack
    elif point.shape[1] == 1:
        losses = np.logaddexp(0.0, scores[:, 0]) - own[:, 0] * scores[:, 0]
        slopes = 0.5 * np.tanh(0.5 * scores) + 0.5 - own
    else:
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        totals = chances.sum(axis=1, keepdims=True)
        losses = np.log(totals[:, 0]) - scores[own]
        slopes = chances / totals - own
    slopes = np.rint(slopes * _SLOPE)
    gradient = np.vstack([X.T @ slopes, slopes.sum(axis=0)]) * _VALUE
    return gradient.astype(np.int64), int(np.rint(np.minimum(losses, _MOST_LOSS) * _LOSS).sum())
