"""Spectral graph transducer: labels along the smooth directions of a nearest-neighbour graph (Joachims, ICML 2003)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from isthmus._math.calibration import fit_temperature
from isthmus._progress import progress
from isthmus.base import FROM_1, POSITIVE, Domains, TransferClassifier, row_blocks

_DENSE = 200  # rows up to which a dense decomposition is the quicker one


def nearest(rows, pool, k: int, *, same: bool = False, block: int = 512) -> sp.csr_matrix:
    """Cosines above zero of each row with its ``k`` nearest of ``pool``, both of unit length, as a sparse matrix.

    ``same``: both are one collection, and a row is not its own neighbour.
    """
    columns = sp.csc_matrix(pool.T) if sp.issparse(pool) else pool.T
    k = max(1, min(k, pool.shape[0] - int(same)))
    found, at, where = [], [], []
    for part in row_blocks(rows.shape[0], block):
        cosine = rows[part] @ columns
        cosine = cosine.toarray() if sp.issparse(cosine) else np.asarray(cosine)
        if same:
            cosine[np.arange(part.stop - part.start), np.arange(part.start, part.stop)] = -np.inf
        top = np.argpartition(-cosine, min(k, cosine.shape[1]) - 1, axis=1)[:, :k]
        found.append(np.take_along_axis(cosine, top, axis=1).ravel())
        where.append(top.ravel())
        at.append(np.repeat(np.arange(part.start, part.stop), top.shape[1]))
    values = np.maximum(np.concatenate(found), 0.0)
    shape = (rows.shape[0], pool.shape[0])
    return sp.csr_matrix((values, (np.concatenate(at), np.concatenate(where))), shape=shape)


def smooth_directions(graph: sp.csr_matrix, count: int, seed: int) -> np.ndarray:
    """Eigenvectors of the normalised Laplacian for its smallest eigenvalues, the trivial one left out."""
    n = graph.shape[0]
    count = max(1, min(count, n - 1))
    degree = np.asarray(graph.sum(axis=1)).ravel()
    scale = 1.0 / np.sqrt(np.where(degree > 0, degree, 1.0))
    adjacency = sp.diags(scale) @ graph @ sp.diags(scale)
    # The trivial eigenvector is known; it is pushed to the far end, so that it cannot mix with others of its eigenvalue
    # when the graph falls into parts.
    trivial = np.sqrt(degree) / max(float(np.sqrt(degree.sum())), 1e-300)
    if n <= _DENSE or count + 1 >= n - 1:
        vectors = eigh(adjacency.toarray() - 2 * np.outer(trivial, trivial))[1]
    else:
        start = np.random.default_rng(seed).standard_normal(n)
        deflated = LinearOperator((n, n), dtype=float, matvec=lambda x: adjacency @ x - 2 * trivial * (trivial @ x))
        vectors = eigsh(deflated, k=count, which="LA", v0=start, tol=1e-4)[1]
    return vectors[:, ::-1][:, :count]


def transduce(vectors: np.ndarray, known: np.ndarray, positive: np.ndarray, c: float) -> np.ndarray:
    """Score of every node in one two-class problem; above zero is positive.

    Minimises zᵀLz + c·(z − γ)ᵀC(z − γ) with zᵀz = n over z = V·w, the Laplacian's eigenvalues replaced by i². The
    constraint's multiplier is the root of a secular equation below the smallest eigenvalue of the quadratic form.
    """
    n, count = vectors.shape
    n_known, n_positive = len(known), int(positive.sum())
    n_negative = n_known - n_positive
    high, low = np.sqrt(n_negative / n_positive), -np.sqrt(n_positive / n_negative)
    gamma = np.where(positive, high, low)
    cost = np.where(positive, n_known / (2 * n_positive), n_known / (2 * n_negative))
    V = vectors[known]
    G = np.diag(np.arange(1.0, count + 1) ** 2) + c * (V.T * cost) @ V
    b = c * V.T @ (cost * gamma)
    values, basis = eigh(G)
    beta = basis.T @ b
    w = basis @ (beta / (values - _multiplier(values, beta, n)))
    return vectors @ w - (high + low) / 2


def _multiplier(values: np.ndarray, beta: np.ndarray, n: int) -> float:
    """The λ below all ``values`` with Σ (β_i / (values_i − λ))² = n; the sum grows from 0 to infinity on the way up."""
    norm = float(np.linalg.norm(beta))
    lowest = float(values[0])
    reach = norm / np.sqrt(n)
    # At λ = lowest − reach every denominator is at least reach, so the sum is at most n.
    gap = max(reach, 1e-12) * 2
    close = gap * 1e-12

    def excess(log_gap: float) -> float:
        return float(np.sum((beta / (values - lowest + np.exp(log_gap))) ** 2)) - n

    low, high = np.log(close), np.log(gap)
    if excess(low) <= 0:  # the right-hand side is orthogonal to the lowest direction
        return lowest - close
    return lowest - float(np.exp(brentq(excess, low, high)))


class SpectralGraphTransducer(TransferClassifier):
    """Spectral graph transducer: a cut through the similarity graph of source and target that respects source labels.

    It assumes that neighbours, across domains too, share their class: if target documents are nearest to source
    documents of the wrong class, the graph carries wrong labels. More than two classes are taken one against the rest.
    New documents take the mean score of their nearest fitted rows.

    Parameters
    ----------
    n_neighbors : int, default=100
    n_eigenvectors : int, default=80
    c : float, default=3200.0
        Weight of the source labels against smoothness.
    random_state : int, RandomState or None, default=None
        Start vector of the eigenvalue solver.

    Attributes
    ----------
    scores_ : ndarray of shape (n_rows, n_classes)
        Score of every fitted row.
    n_iter_ : int
        Two-class problems solved.
    history_ : list of float
        Smoothness of each solution (share of squared difference along edges).
    termination_condition_ : {"solved", "no_target"}

    See Also
    --------
    isthmus_bench.baselines.tsvm.TransductiveSVM : A margin instead of a graph cut.
    isthmus.CoClusteringClassifier : Uses the words, not only the documents.

    References
    ----------
    .. [1] T. Joachims. Transductive learning via spectral graph partitioning. ICML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus_bench.baselines.sgt import SpectralGraphTransducer
    >>> X = np.array([[3, 0, 1], [0, 3, 1], [2, 0, 1], [0, 2, 1], [4, 1, 0], [1, 4, 0]])
    >>> model = SpectralGraphTransducer(n_neighbors=3, random_state=0)
    >>> model.fit(X, ["a", "b", None, None, None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b', 'a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_neighbors": [FROM_1],
        "n_eigenvectors": [FROM_1],
        "c": [POSITIVE],
        "random_state": ["random_state"],
    }

    history_measure = "roughness of each solution"

    def __init__(
        self,
        *,
        n_neighbors: int = 100,
        n_eigenvectors: int = 80,
        c: float = 3200.0,
        random_state: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_eigenvectors = n_eigenvectors
        self.c = c
        self.random_state = random_state

    def _fit(self, domains: Domains) -> np.ndarray:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        order = np.concatenate([domains.source, domains.target])
        self.rows_ = normalize(domains.rows(order))
        graph = nearest(self.rows_, self.rows_, self.n_neighbors, same=True)
        graph = (graph + graph.T).tocsr()
        progress("spreading labels", 1, 2)
        vectors = smooth_directions(graph, self.n_eigenvectors, seed)
        known, codes = np.arange(len(domains.source)), domains.source_codes
        columns = [transduce(vectors, known, codes == c, self.c) for c in range(domains.n_classes)]
        if domains.n_classes == 2:  # the second problem is the first with its signs turned
            columns = [-columns[1], columns[1]]
        progress("spreading labels", 2, 2)
        by_order = np.array(columns).T
        self.node_scores_ = by_order
        self.scores_ = np.zeros((domains.n_rows, domains.n_classes))
        self.scores_[domains.order[order]] = by_order
        self.n_iter_ = len(columns)
        self.history_ = [_roughness(graph, column) for column in columns]
        self.termination_condition_ = "solved" if len(domains.target) else "no_target"
        self.inverse_temperature_ = fit_temperature(by_order[known], codes)
        return by_order[len(known) :].argmax(axis=1)

    def term_contributions(self, row) -> dict[int, np.ndarray]:
        """Return what each term adds to the mean score of the nearest fitted rows: cosines are sums over terms."""
        row = normalize(row)
        weights = nearest(row, self.rows_, self.n_neighbors)
        total = weights.sum()
        if total == 0:
            return {}
        neighbours = self.rows_[weights.indices][:, row.indices]
        shares = np.asarray(neighbours.T @ self.node_scores_[weights.indices]) * row.data[:, None] / total
        return dict(zip(row.indices.tolist(), shares, strict=True))

    def _scores(self, X) -> np.ndarray:
        weights = nearest(normalize(X), self.rows_, self.n_neighbors)
        total = np.asarray(weights.sum(axis=1)).ravel()
        means = (weights @ self.node_scores_) / np.where(total > 0, total, 1.0)[:, None]
        return self.inverse_temperature_ * means


def _roughness(graph: sp.csr_matrix, scores: np.ndarray) -> float:
    edges = graph.tocoo()
    squares = float(edges.data @ (scores[edges.row] - scores[edges.col]) ** 2)
    spread = float(np.asarray(graph.sum(axis=1)).ravel() @ scores**2)
    return squares / (2 * spread) if spread > 0 else 0.0
