"""Dual supervision over the graph of documents and words (MR). The arithmetic is in ``manifold_system``."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isthmus._parameters import FROM_1, StrOptions, parameter, parameters
from isthmus._progress import progress
from isthmus._utils import warn
from isthmus.base import Domains
from isthmus.classify.dual.base import DualClassifier, Sides, word_chances
from isthmus.classify.dual.laplacian import BipartiteLaplacian
from isthmus.classify.dual.manifold_system import ManifoldProblem, solve_manifold, word_influence


@parameters
class ManifoldDualClassifier(DualClassifier):
    """Labels spread from documents and words over the graph that joins them (MR).

    Documents and words are the two kinds of nodes of a graph; a word weighs on the documents that hold it. Class
    scores of both are functions in a kernel's space that fit the given labels and differ little along edges (Eq. 2).
    With the squared loss that is one linear system (Eq. 4).

    It assumes that a class shows in *which* words a document holds, and that the two domains share a good part of the
    words that matter, or words that co-occur with them. It fails where target documents are joined to the source only
    by words of no class. Class normalisation assumes that the classes are about as frequent in the target as each
    other; turn it off (``class_normalisation=None``) where one class is rare.

    Parameters
    ----------
    word_labels : mapping, optional
        Word, or column number where columns have no names, to a class or to ``{class: weight}``. A weight below 1 is
        a label held less firmly; a negative weight speaks against the class.
    feature_names : sequence of str, optional
        Names of the columns. A data frame brings its own; in a pipeline the vectoriser's are taken.
    kernel : {"gaussian", "linear", "cosine"}, default="gaussian"
        Over documents, and over words unless ``word_kernel`` says otherwise.
    word_kernel : str, optional
    width, word_width : float, optional
        Gaussian widths. If omitted, the (1 / classes) quantile of the pairwise distances, the paper's rule.
    gamma, word_gamma : float, default=0.3
        Weights of the two function norms; ``word_gamma`` is ``gamma`` if omitted.
    mu : float, default=3.0
        Weight of smoothness over the graph.
    power : int, default=2
        Exponent of the graph Laplacian.
    loss : {"squared", "hinge", "logistic"}, default="squared"
    class_normalisation : {"both", "labels", "scores", None}, default="both"
        "labels": classes with many labels do not outweigh the others. "scores": each class's scores are brought to
        mean 0 and deviation 1 over the unlabelled documents before they are compared.
    solver : {"auto", "direct", "cg"}, default="auto"
        LU of the whole system, or conjugate gradients that never form it; "auto" goes by size.
    tol, max_iter : float, default=1e-6, int
        Of conjugate gradients: relative residual at which they stop, and most steps.
    max_exact, n_landmarks : int
        A Gaussian kernel over more documents or words than ``max_exact`` is approximated through ``n_landmarks`` of
        them.
    random_state : int, RandomState or None
        Draws landmarks, and the sample behind the width rule.

    Attributes
    ----------
    word_transduction_ : ndarray
        Class of every column; labelled words keep theirs.
    document_scores_, word_scores_ : ndarray
        Class scores of fitted documents and of words.
    unknown_words_ : list
        Labelled words that no document holds.
    solver_, kernels_ : str, dict
        How it was solved, and with which kernels.

    See Also
    --------
    isthmus.FactorDualClassifier : The other form, which factorises the matrix.
    isthmus.SourceOnlyClassifier : The yardstick without words.

    References
    ----------
    Sindhwani, Hu, Mojsilovic: Regularized co-clustering with dual supervision. NIPS 2008, section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import ManifoldDualClassifier
    >>> X = np.array([[2, 0, 1, 0], [0, 2, 0, 1], [0, 0, 2, 0], [0, 0, 0, 3]])
    >>> names = ["superb", "awful", "gripping", "tedious"]
    >>> words = {"superb": "good", "awful": "bad"}
    >>> model = ManifoldDualClassifier(word_labels=words, feature_names=names).fit(X, [None] * 4)
    >>> model.transduction_.tolist(), model.word_transduction_.tolist()
    (['good', 'bad', 'good', 'bad'], ['good', 'bad', 'good', 'bad'])
    """

    power: int = parameter(FROM_1, default=2)
    loss: str = parameter(StrOptions({"squared", "hinge", "logistic"}), default="squared")

    def suggest_words(self, n_words=20, shortlist=100):
        """Unlabelled words worth labelling next.

        A word is worth labelling if its label would move many target documents. What a label does is known exactly
        before it is given (a rank-one change of Eq. 4); it is averaged over the classes the word may turn out to
        have.

        Parameters
        ----------
        n_words : int
            Length of the list.
        shortlist : int
            Words whose effect is worked out: those in most target documents, weighted by how unsure their class is.

        Returns
        -------
        list of dict
            ``word``, ``column``, ``likely`` (class), ``sureness`` of that, ``target_documents`` that hold it,
            ``expected_use`` (target documents whose label would change), ``expected_change`` of their scores.
        """
        check_is_fitted(self)
        rows = super().suggest_words(shortlist)
        chosen = np.array([row["column"] for row in rows], dtype=np.int64)
        problem = self._restore_problem()
        target = self._target if len(self._target) else np.arange(problem.n_rows)
        effects = word_influence(
            problem,
            problem.kernel(self._coefficients),
            chosen,
            word_chances(self.word_scores_)[chosen],
            target,
            self._document_moments,
            max_iter=self.max_iter,
        )
        for row, (flips, change) in zip(rows, effects, strict=True):
            row.update(expected_use=flips, expected_change=change)
        rows.sort(key=lambda row: (-row["expected_use"], -row["expected_change"], row["column"]))
        return rows[:n_words]

    def _fit(self, domains: Domains) -> np.ndarray:
        sides = self._open_sides(domains, domains.classes)
        problem = self._problem(sides)
        progress("spreading labels", 0, 1)
        found = solve_manifold(problem, loss=self.loss, solver=self.solver_, tol=self.tol, max_iter=self.max_iter)
        progress("spreading labels", 1, 1)
        self.n_iter_, self.history_ = found.n_iter, found.history
        self.termination_condition_ = "tol" if found.converged else "max_iter"
        if not found.converged:
            warn(
                f"Conjugate gradients stopped after {self.max_iter} steps before its tolerance was reached; raise "
                "max_iter, gamma or tol.",
                code="not-converged",
            )
        n = problem.n_rows
        a = found.coefficients
        self._coefficients, self._labels = a, (problem.targets, problem.weights)
        functions = sides.row_kernel.predictor(a[:n]), sides.column_kernel.predictor(a[n:])
        return self._finish(domains, sides, found.values[:n], found.values[n:], functions)

    def _problem(self, sides: Sides) -> ManifoldProblem:
        gamma = np.full((sum(sides.X.shape), 1), float(self.gamma))
        gamma[sides.X.shape[0] :] = self.gamma if self.word_gamma is None else self.word_gamma
        return ManifoldProblem(
            sides.row_kernel,
            sides.column_kernel,
            BipartiteLaplacian(sides.X, self.power),
            np.concatenate([sides.row_targets, sides.column_targets]),
            np.concatenate([sides.row_weights, sides.column_weights]),
            gamma,
            float(self.mu),
        )

    def _restore_problem(self) -> ManifoldProblem:
        """The fitted problem again, from the rows: kernels are too large to keep."""
        X, n = self.fitted_rows_, self.fitted_rows_.shape[0]
        width, word_width = self._document_function.width, self._word_function.width
        rows, columns = self._open_kernels(X, width, word_width, check_random_state(0))
        targets, weights = self._labels
        return self._problem(Sides(X, targets[:n], weights[:n], targets[n:], weights[n:], rows, columns))
