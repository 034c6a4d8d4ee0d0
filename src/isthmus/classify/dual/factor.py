"""Dual supervision by tri-factorisation (MA). The arithmetic is in ``factorisation``."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from isthmus._parameters import FROM_0, FROM_1, POSITIVE, Interval, StrOptions, parameter, parameters
from isthmus._progress import progress
from isthmus.base import Domains
from isthmus.classify.dual.base import DualClassifier, Sides, classes_of
from isthmus.classify.dual.factorisation import FactorFit, Side, fit_factor
from isthmus.classify.dual.laplacian import BipartiteLaplacian
from isthmus.classify.dual.manifold_system import ManifoldProblem, solve_manifold


@parameters
class FactorDualClassifier(DualClassifier):
    """Labels of documents and words that also explain the matrix, ``X ≈ F_r Q F_cᵀ`` (MA).

    Class scores of documents and of words are functions in kernel spaces that fit the given labels and whose product
    approximates the matrix (Eq. 7). Blocks are solved in turn (Eqs. 8 to 10); the objective falls at every one. It is
    not convex: results depend on the start. The first start is the graph method's solution, further ones are
    disturbed copies; the lowest objective wins.

    It assumes that documents of one class share a profile of word classes in both domains. It fails where the strongest
    structure of the matrix is not the classes (topics within a class, the two domains themselves).

    Parameters
    ----------
    word_labels, feature_names, kernel, word_kernel, width, word_width
        As for :class:`ManifoldDualClassifier`.
    gamma, word_gamma : float, default=1e-4
        Weights of the two function norms; ``word_gamma`` is ``gamma`` if omitted.
    mu : float, default=0.01
        Weight of the approximation.
    loss : {"squared", "hinge", "logistic"}, default="squared"
        The last two are one class against the others; the hinge's corner is rounded.
    word_classes : int or sequence, optional
        Classes of words, where they are not those of documents: their number, or their names (word labels then use
        these).
    n_init : int, default=1
    annealing : int, default=0
        Stages of at most five outer steps before the fit proper, in which ``mu`` doubles on its way to its value.
    class_normalisation, solver, max_exact, n_landmarks, random_state
        As for :class:`ManifoldDualClassifier`.
    max_iter, tol : int, float
        Outer steps, and the relative decrease below which they end (the paper: 40 and 1e-4). Ending at ``max_iter`` is
        common and no fault; ``termination_condition_`` says so.
    cg_iter, cg_tol : int, float
        Of the inner conjugate gradients (the paper: 200 and 1e-10).

    Attributes
    ----------
    word_classes_ : ndarray
        Names of the word classes; a class without a name has its number.
    Q_ : ndarray
        Which word classes go with which document classes.
    starts_ : list of float
        Final objective of each start.
    word_transduction_, document_scores_, word_scores_, unknown_words_, solver_, kernels_
        As for :class:`ManifoldDualClassifier`.

    See Also
    --------
    isthmus.ManifoldDualClassifier : The other form, which spreads labels over a graph.
    isthmus.SourceOnlyClassifier : The yardstick without words.

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

    gamma: float = parameter(POSITIVE, default=1e-4)
    mu: float = parameter(POSITIVE, default=0.01)
    loss: str = parameter(StrOptions({"squared", "hinge", "logistic"}), default="squared")
    word_classes: Any = parameter(Interval(Integral, 2, None, closed="left"), "array-like", None, default=None)
    n_init: int = parameter(FROM_1, default=1)
    annealing: int = parameter(FROM_0, default=0)
    max_iter: int = parameter(FROM_1, default=40)
    tol: float = parameter(POSITIVE, default=1e-4)
    cg_iter: int = parameter(FROM_1, default=200)
    cg_tol: float = parameter(POSITIVE, default=1e-10)

    def _extra_classes(self):
        # Named word classes are a set of their own: they say nothing about the documents' classes.
        return None if self._names_word_classes() else classes_of(self.word_labels)

    def _names_word_classes(self) -> bool:
        return self.word_classes is not None and not isinstance(self.word_classes, Integral)

    def _word_class_names(self) -> np.ndarray:
        return self.word_classes_

    def _read_word_classes(self, classes: np.ndarray) -> np.ndarray:
        if self._names_word_classes():
            return np.array(list(self.word_classes), dtype=object)
        count = len(classes) if self.word_classes is None else int(self.word_classes)
        if count == len(classes):
            return classes
        if count < len(classes):
            return np.arange(count)
        return np.array([*classes.tolist(), *range(len(classes), count)], dtype=object)

    def _fit(self, domains: Domains) -> np.ndarray:
        self.word_classes_ = self._read_word_classes(domains.classes)
        sides = self._open_sides(domains, self.word_classes_)
        word_gamma = float(self.gamma if self.word_gamma is None else self.word_gamma)
        rows = Side(sides.row_kernel, sides.row_targets, sides.row_weights, float(self.gamma), self.loss)
        columns = Side(sides.column_kernel, sides.column_targets, sides.column_weights, word_gamma, self.loss)
        rng = check_random_state(self.random_state)
        fits = [self._descend(sides, rows, columns, start) for start in self._starts(sides, rng)]
        self.starts_ = [fit.history[-1] for fit in fits]
        best = fits[int(np.argmin(self.starts_))]
        self.Q_ = best.Q
        self.n_iter_, self.history_ = best.n_iter, best.history
        self.termination_condition_ = "tol" if best.converged else "max_iter"
        functions = sides.row_kernel.predictor(best.a), sides.column_kernel.predictor(best.b)
        return self._finish(domains, sides, best.row_values, best.column_values, functions)

    def _descend(self, sides: Sides, rows: Side, columns: Side, start) -> FactorFit:
        settings: dict[str, Any] = {"solver": self.solver_, "tol": self.cg_tol, "cg_iter": self.cg_iter}
        settings["stop"] = self.tol
        for stage in range(self.annealing):
            mu = self.mu * 2.0 ** (stage - self.annealing)
            stage_fit = fit_factor(sides.X, rows, columns, mu, start, max_iter=5, **settings)
            start = stage_fit.a, stage_fit.b

        settings |= {"max_iter": self.max_iter, "watch": partial(progress, "spreading labels")}
        return fit_factor(sides.X, rows, columns, float(self.mu), start, **settings)

    def _starts(self, sides: Sides, rng):
        """Coefficients to descend from: the graph method's solution, then disturbed copies of it."""
        a, b = self._graph_start(sides, rng)
        yield a, b
        for _ in range(int(self.n_init) - 1):
            yield a + a.std() * rng.standard_normal(a.shape), b + b.std() * rng.standard_normal(b.shape)

    def _graph_start(self, sides: Sides, rng) -> tuple[np.ndarray, np.ndarray]:
        n, m = sides.row_targets.shape
        d, k = sides.column_targets.shape
        shared = k >= m and not self._names_word_classes()
        targets = np.zeros((n + d, m))
        targets[:n] = sides.row_targets
        weights = np.concatenate([sides.row_weights, np.zeros(d)])
        if shared:
            targets[n:] = sides.column_targets[:, :m]
            weights[n:] = sides.column_weights * (targets[n:] != 0).any(axis=1)
        graph = BipartiteLaplacian(sides.X)
        problem = ManifoldProblem(
            sides.row_kernel, sides.column_kernel, graph, targets, weights, np.ones((n + d, 1)), 1.0
        )
        found = solve_manifold(problem, solver=self.solver_, tol=1e-6, max_iter=self.cg_iter).coefficients
        a, b = found[:n], found[n:]
        if shared and k == m:
            return a, b
        scale = max(float(b.std()), 1e-3)
        if shared:
            return a, np.hstack([b, scale * rng.standard_normal((d, k - m))])
        # No word class is a document class: words start from their own labels and a random mixture.
        return a, sides.column_weights[:, None] * sides.column_targets + scale * rng.standard_normal((d, k))
