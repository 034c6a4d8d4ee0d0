"""Manifold regularisation (MR): labels that spread over the bipartite graph of documents and words.

Sindhwani, Hu and Mojsilovic, "Regularized co-clustering with dual supervision", NIPS 2008, section 3.1, with the linear
kernels ``K_r = X Xᵀ`` and ``K_c = Xᵀ X``. Rows come first and columns second in every stacked array. Neither the
kernels nor the Laplacian is formed: every product passes over the non-zeros of ``X``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from isthmus._progress import progress
from isthmus._utils import warn
from isthmus.base import FROM_1, POSITIVE, Domains
from isthmus.classify.dual.base import DualClassifier, word_chances
from isthmus.classify.dual.solvers import KernelSolution, kernel_cg
from isthmus.features.gram import inverse_roots

CHUNK = 25  # words whose influence is computed together: bounds memory to a few arrays of (n + d) × CHUNK


def normalised_edges(X: sp.spmatrix) -> sp.csr_matrix:
    """Return the edge weights ``S = D_r^{-1/2} X D_c^{-1/2}`` of the bipartite graph of ``X``.

    The graph's normalised Laplacian is ``M = I - [[0, S], [Sᵀ, 0]]`` (Eq. 1). An empty row or column is a node without
    edges: its part of ``S`` is zero.

    Parameters
    ----------
    X : csr_matrix

    Returns
    -------
    csr_matrix
    """
    X = sp.csr_matrix(X, dtype=np.float64)
    rows = inverse_roots(np.asarray(X.sum(axis=1)).ravel())
    columns = inverse_roots(np.asarray(X.sum(axis=0)).ravel())
    edges = X.copy()
    edges.data *= np.repeat(rows, np.diff(X.indptr)) * columns[X.indices]
    return edges


class ManifoldSystem:
    """The linear system of Eq. 4 for the matrix ``X``: ``[γ + (μ M^p + J) K] a = b``.

    Parameters
    ----------
    X : CSR matrix of shape (n, d)
    weights : ndarray of shape (n + d,)
        Diagonal of ``J``: weights of the labels of rows and columns.
    gamma, mu : float
        Weights of the function norms and of smoothness over the graph.
    power : int
        Exponent of the Laplacian.
    """

    def __init__(self, X: sp.csr_matrix, weights: np.ndarray, gamma: float, mu: float, power: int):
        self.X, self.X_t, self.n_rows = X, X.T.tocsr(), X.shape[0]
        self.edges = normalised_edges(X)
        self.edges_t = self.edges.T.tocsr()
        self.weights, self.gamma, self.mu, self.power = weights, gamma, mu, power

    def kernel(self, a: np.ndarray) -> np.ndarray:
        """Return ``diag(K_r, K_c) a``.

        Parameters
        ----------
        a : ndarray

        Returns
        -------
        ndarray
        """
        n = self.n_rows
        return np.concatenate([self.X @ (self.X_t @ a[:n]), self.X_t @ (self.X @ a[n:])])

    def smoothness(self, values: np.ndarray) -> np.ndarray:
        """Return ``M^p values``.

        Parameters
        ----------
        values : ndarray

        Returns
        -------
        ndarray
        """
        n = self.n_rows
        for _ in range(self.power):
            values = values - np.concatenate([self.edges @ values[n:], self.edges_t @ values[:n]])
        return values

    def solve(self, rhs: np.ndarray, **settings: Any) -> KernelSolution:
        """Solve for each column of ``rhs``.

        Parameters
        ----------
        rhs : ndarray
        **settings
            Options of :func:`kernel_cg`.

        Returns
        -------
        KernelSolution
        """
        return kernel_cg(
            self.kernel,
            lambda values: self.mu * self.smoothness(values) + self.weights[:, None] * values,
            self.gamma,
            rhs,
            **settings,
        )


class ManifoldDualClassifier(DualClassifier):
    """Labels spread from documents and words over the graph that joins them (MR).

    Documents and words are the two kinds of nodes of a graph; a word is joined to the documents that contain it. Class
    scores of both are linear functions that fit the given labels and differ little along edges (Eq. 2). Their
    minimum is one linear system (Eq. 4).

    It assumes that a class shows in *which* words a document contains, and that the two domains share a good part of
    the words that matter, or words that co-occur with them. It fails if target documents are joined to the source only
    by words of no class. Labels and scores are normalised by class, which assumes that no class is rare in the target.

    Parameters
    ----------
    word_labels : mapping, optional
        Word, or column number where columns have no names, to a class or to ``{class: weight}``. A weight below 1 is
        a label with less confidence; a negative weight counts against the class.
    feature_names : sequence of str, optional
        Names of the columns. A data frame brings its own; in a pipeline the vectoriser's names are used.
    gamma : float, default=3.0
        Weight of the function norms.
    mu : float, default=1.0
        Weight of smoothness over the graph.
    power : int, default=2
        Exponent of the graph Laplacian.
    tol, max_iter : float, default=1e-6, int, default=2000
        Relative residual at which conjugate gradients stop, and their maximum number of steps.

    Attributes
    ----------
    word_transduction_ : ndarray
        Class of every column; labelled words keep theirs.
    document_scores_, word_scores_ : ndarray
        Class scores of fitted documents and of words.
    unknown_words_ : list
        Labelled words that no document contains.

    See Also
    --------
    isthmus.FactorDualClassifier : The other form, which factorises the matrix.
    isthmus.SourceOnlyClassifier : The baseline without words.

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

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "word_labels": [Mapping, None],
        "feature_names": ["array-like", None],
        "gamma": [POSITIVE],
        "mu": [POSITIVE],
        "power": [FROM_1],
        "tol": [POSITIVE],
        "max_iter": [FROM_1],
    }

    def __init__(self, *, word_labels=None, feature_names=None, gamma=3.0, mu=1.0, power=2, tol=1e-6, max_iter=2000):
        self.word_labels = word_labels
        self.feature_names = feature_names
        self.gamma = gamma
        self.mu = mu
        self.power = power
        self.tol = tol
        self.max_iter = max_iter

    def suggest_words(self, n_words=20, shortlist=100):
        """Return unlabelled words worth labelling next.

        A word is worth labelling if its label would change the labels of many target documents. The effect of a label
        is a rank-one change of Eq. 4 and known exactly; it is averaged over the classes that the word may have.

        Parameters
        ----------
        n_words : int
            Length of the list.
        shortlist : int
            Words whose effect is computed: those in most target documents, weighted by the uncertainty of their class.

        Returns
        -------
        list of dict
            ``word``, ``column``, ``likely`` (class), ``sureness`` of that, ``target_documents`` that contain it,
            ``expected_use`` (target documents whose label would change), ``expected_change`` of their scores.
        """
        check_is_fitted(self)
        rows = super().suggest_words(shortlist)
        X, weights = self.fitted_rows_, self._label_weights
        system = ManifoldSystem(X, weights, float(self.gamma), float(self.mu), int(self.power))
        target = self._target if len(self._target) else np.arange(X.shape[0])
        chosen = np.array([row["column"] for row in rows], dtype=np.int64)
        chances = word_chances(self.word_scores_)[chosen]
        effects = word_influence(
            system, self._values, chosen, chances, target, self._document_moments, max_iter=self.max_iter
        )
        for row, (flips, change) in zip(rows, effects, strict=True):
            row.update(expected_use=flips, expected_change=change)
        rows.sort(key=lambda row: (-row["expected_use"], -row["expected_change"], row["column"]))
        return rows[:n_words]

    def _fit(self, domains: Domains) -> np.ndarray:
        X, targets, weights = sides = self._read_sides(domains)
        system = ManifoldSystem(X, weights, float(self.gamma), float(self.mu), int(self.power))
        progress("spreading labels", 0, 1)
        found = system.solve(weights[:, None] * targets, tol=self.tol, max_iter=self.max_iter)
        progress("spreading labels", 1, 1)
        at_zero = 0.5 * float(np.sum(weights[:, None] * targets**2))
        self.n_iter_ = max(found.n_iter, 1)
        self.history_ = [at_zero, *(at_zero - np.cumsum(found.decreases)).tolist()]
        self.termination_condition_ = "tol" if found.residual <= self.tol else "max_iter"
        if found.residual > self.tol:
            warn(
                f"Conjugate gradients stopped after {self.max_iter} steps before its tolerance was reached; raise "
                "max_iter, gamma or tol.",
                code="not-converged",
            )
        n = X.shape[0]
        self._values, self._label_weights = found.values, weights
        self._document_weights = system.X_t @ found.coefficients[:n]
        self._word_weights = X @ found.coefficients[n:]
        return self._finish(domains, sides, found.values)


def word_influence(
    system: ManifoldSystem,
    values: np.ndarray,
    words: np.ndarray,
    chances: np.ndarray,
    rows: np.ndarray,
    moments: tuple[np.ndarray, np.ndarray],
    *,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> list[tuple[float, float]]:
    """Compute the expected effect of a label on each candidate word.

    A label ``y`` of weight 1 on node ``w`` adds ``e_w e_wᵀ K`` to the matrix of Eq. 4 and ``e_w y`` to its right-hand
    side. With ``g = K A⁻¹ e_w`` values become ``F + g (y - F_w) / (1 + g_w)`` (Sherman and Morrison), exactly.

    Parameters
    ----------
    system : ManifoldSystem
    values : ndarray of shape (n + d, n_classes)
        Fitted values of rows and columns.
    words : ndarray of int
        Columns of the candidates.
    chances : ndarray of shape (n_words, n_classes)
        Probability of each class for each candidate.
    rows : ndarray of int
        Rows whose labels matter.
    moments : tuple of ndarray
        Mean and deviation that make values of classes comparable scores.
    tol, max_iter
        As for :func:`kernel_cg`.

    Returns
    -------
    list of (float, float)
        Expected number of rows with a new label, and expected change of their scores.
    """
    n, total = system.n_rows, len(values)
    current = (values[rows] - moments[0]) / moments[1]
    labels = current.argmax(axis=1)
    table: list[tuple[float, float]] = []
    for start in range(0, len(words), CHUNK):
        chunk = words[start : start + CHUNK]
        units = np.zeros((total, len(chunk)))
        units[n + chunk, np.arange(len(chunk))] = 1.0
        influence = system.solve(units, tol=tol, max_iter=max_iter).values
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
