"""k-means on sparse rows from sufficient statistics of chunks, with an optional pull of the centres by source groups.

The loop sees rows only through :class:`ClusterSums`. Rows in memory are one chunk; rows in files are many, whose
statistics are added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from isthmus._math.rows import row_blocks, unit_rows
from isthmus.exceptions import UsageError

BLOCK_ROWS = 8192  # rows that one thread assigns at a time
WARMUP = 5  # plain iterations before the first alignment (figure 2 of the paper)
BOOST = 4.0  # factor on the odds of source to target in the first guided iterations
BOOST_ITER = 5  # guided iterations with the stronger pull
_REST = 1e-9  # squared movement of the centres, relative to their squared length, below which they count as resting


@dataclass
class ClusterSums:
    """Sufficient statistics of a chunk of rows for one iteration; ``+`` adds chunks."""

    sums: np.ndarray  # clusters × words
    counts: np.ndarray  # rows per cluster
    divergence: float  # squared distances of the rows to their centres
    squares: float  # squared lengths of the rows
    labels: Any = None  # cluster of each row of the chunk; None for a sum of chunks

    def __add__(self, other: ClusterSums) -> ClusterSums:
        """Return the sum of two chunks."""
        divergence, squares = self.divergence + other.divergence, self.squares + other.squares
        return ClusterSums(self.sums + other.sums, self.counts + other.counts, divergence, squares)

    def means(self, otherwise: np.ndarray) -> np.ndarray:
        """Return the mean of each cluster; a cluster without rows gets its row of ``otherwise``.

        Parameters
        ----------
        otherwise : ndarray of shape (n_clusters, n_words)

        Returns
        -------
        ndarray of shape (n_clusters, n_words)
        """
        means = self.sums / np.maximum(self.counts, 1)[:, None]
        empty = self.counts == 0
        means[empty] = otherwise[empty]
        return means


@dataclass
class KMeansRun:
    """Result of one start: centres, the statistics of the last assignment, and how the run ended."""

    centers: np.ndarray
    stats: ClusterSums
    n_iter: int
    termination: str  # "stable", "tolerance" or "max_iter"
    history: list[float]  # combined divergence, equation (2), after each iteration
    guided: bool = False  # whether the last iteration was aligned with source groups

    @property
    def labels(self) -> Any:
        """Cluster of each row, if the rows are one chunk."""
        return self.stats.labels


def metric_rows(X: Any, cosine: bool) -> sp.csr_matrix:
    """Return rows in the form that the metric compares: of length one for the cosine.

    Parameters
    ----------
    X : sparse matrix
    cosine : bool

    Returns
    -------
    csr_matrix
    """
    X = sp.csr_matrix(X, dtype=np.float64)
    return normalize(X, copy=True) if cosine else X


def initial_centers(X: sp.csr_matrix, n_clusters: int, init: Any = "k-means++", random_state: Any = None) -> np.ndarray:
    """Return the first centres, drawn as scikit-learn's ``KMeans`` draws them.

    Parameters
    ----------
    X : CSR matrix
    n_clusters : int
    init : {"random", "k-means++"} or array-like of shape (n_clusters, n_words)
        Rows of ``X`` at random, rows far from each other, or the centres themselves.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray of shape (n_clusters, n_words)
    """
    if not isinstance(init, str):
        centers = np.asarray(init.toarray() if sp.issparse(init) else init, dtype=np.float64)
        if centers.shape != (n_clusters, X.shape[1]):
            raise UsageError(
                f"init has shape {centers.shape}; {n_clusters} centres of {X.shape[1]} words are expected.",
                code="bad-parameter",
            )
        return centers
    rng = check_random_state(random_state)
    n = X.shape[0]
    if init == "random":
        return X[rng.choice(n, size=n_clusters, replace=False, p=np.full(n, 1.0 / n))].toarray()
    if init == "k-means++":
        centers, _ = kmeans_plusplus(X, n_clusters, random_state=rng)
        return centers.toarray() if sp.issparse(centers) else np.asarray(centers)
    raise UsageError(f"init={init!r}; use 'k-means++', 'random' or an array of centres.", code="bad-parameter")


def assign_rows(
    X: sp.csr_matrix,
    centers: np.ndarray,
    *,
    cosine: bool = False,
    norms: np.ndarray | None = None,
    n_threads: int = 1,
    relocate: bool = False,
) -> ClusterSums:
    """Assign every row to its nearest centre and return the statistics of the rows.

    Parameters
    ----------
    X : CSR matrix
    centers : ndarray of shape (n_clusters, n_words)
    cosine : bool
        Use only the direction of the centres: among unit vectors the squared distance is 2·(1 − cosine).
    norms : ndarray, optional
        Squared lengths of the rows, if they are known.
    n_threads : int
    relocate : bool
        Give each empty cluster the row that is farthest from its own centre, as scikit-learn does.

    Returns
    -------
    ClusterSums
    """
    # Importing numba is slow, so the kernels are imported on first use.
    from isthmus.clustering.kmeans_kernels import add_rows, nearest_centers

    centers = np.ascontiguousarray(unit_rows(centers) if cosine else centers)
    n_clusters = len(centers)
    # Centres as words × clusters of 32 bits, copied some words at a time so that both sides fit the cache.
    by_word = np.empty(centers.shape[::-1], dtype=np.float32)
    for words in row_blocks(len(by_word), 256):
        by_word[words] = centers[:, words].T
    center_norms = np.ones(n_clusters) if cosine else np.einsum("ij,ij->i", centers, centers)
    norms = row_norms(X, squared=True) if norms is None else norms
    lengths = np.sqrt(norms)
    labels = np.empty(X.shape[0], dtype=np.int32)

    def assign(rows: slice) -> None:
        indptr = X.indptr[rows.start : rows.stop + 1]
        nearest_centers(X.data, X.indices, indptr, lengths[rows], by_word, centers, center_norms, labels[rows])

    blocks = row_blocks(X.shape[0], BLOCK_ROWS)
    # A block is the smallest unit of work.
    n_threads = max(1, min(n_threads, len(blocks)))
    _in_threads(assign, blocks, n_threads)
    counts = np.bincount(labels, minlength=n_clusters)
    order = np.argsort(labels.astype(np.min_scalar_type(n_clusters)), kind="stable")  # short numbers sort sooner
    bounds = np.concatenate([[0], np.cumsum(counts)])
    sums, distances = np.zeros(centers.shape), np.empty(X.shape[0])

    def add(first: int) -> None:
        cells = X.data, X.indices, X.indptr, order, bounds
        add_rows(*cells, centers, center_norms, distances, sums, first, n_threads)

    # Threads share no centre, so they need no lock.
    _in_threads(add, range(n_threads), n_threads)
    distances += norms
    np.maximum(distances, 0.0, out=distances)
    empty = np.flatnonzero(counts == 0)
    if relocate and len(empty) and distances.max() > 0:
        farthest = np.argpartition(distances, -len(empty))[: -len(empty) - 1 : -1]
        for cluster, row in zip(empty, farthest, strict=True):
            moved = X[row].toarray()[0]
            sums[labels[row]] -= moved
            counts[labels[row]] -= 1
            sums[cluster], counts[cluster] = moved, 1
    return ClusterSums(sums, counts, float(distances.sum()), float(norms.sum()), labels)


def _in_threads(function: Callable[[Any], None], parts: Sequence[Any], n_threads: int) -> None:
    if n_threads == 1:
        for part in parts:
            function(part)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(function, parts))


def kmeans(
    X: sp.csr_matrix,
    start: np.ndarray,
    *,
    cosine: bool = False,
    norms: np.ndarray | None = None,
    n_threads: int = 1,
    **settings: Any,
) -> KMeansRun:
    """Run Lloyd's algorithm on rows in memory.

    Parameters
    ----------
    X : csr_matrix of shape (n_rows, n_words)
    start : ndarray of shape (n_clusters, n_words)
    cosine : bool
    norms : ndarray of shape (n_rows,), optional
        Squared lengths of the rows.
    n_threads : int
    **settings
        Of :func:`iterate`.

    Returns
    -------
    KMeansRun
    """
    norms = row_norms(X, squared=True) if norms is None else norms

    def assign(centers: np.ndarray, *, relocate: bool = True) -> ClusterSums:
        return assign_rows(X, centers, cosine=cosine, norms=norms, n_threads=n_threads, relocate=relocate)

    run = iterate(assign, start, cosine=cosine, **settings)
    return replace(run, stats=assign(run.centers, relocate=False))


def iterate(
    assign: Callable[[np.ndarray], ClusterSums],
    start: np.ndarray,
    *,
    max_iter: int = 100,
    tol: float | None = 0.0,
    cosine: bool = False,
    aligner: Any = None,
    guidance: float = 0.0,
    warmup: int = WARMUP,
    boost: float = BOOST,
    rest: float = _REST,
) -> KMeansRun:
    """Alternate assignment and means from ``start``; with an aligner, source groups pull the centres.

    Parameters
    ----------
    assign : callable
        Returns the statistics of all rows under given centres.
    start : ndarray of shape (n_clusters, n_words)
    max_iter : int
    tol : float or None
        Squared movement of all centres at which a run stops; None: only when the assignment no longer changes.
    cosine : bool
        Compare the directions of rows of length one; centres remain means, as in the paper.
    aligner : Aligner of ``isthmus.clustering.alignment``, optional
    guidance : float
        Weight 1 − α of the source.
    warmup : int
        Plain iterations before the first alignment.
    boost : float
        Factor on the odds (1 − α)/α in the first guided iterations.
    rest : float
        Movement of guided centres, relative to their length, below which an unchanged assignment ends a run.

    Returns
    -------
    KMeansRun
    """
    centers = np.array(start, dtype=np.float64)
    aligner = aligner if guidance > 0 else None
    guidance = guidance if aligner is not None else 0.0
    boosted = BOOST_ITER if boost > 1 else 0
    sums_before, pairs_before, spread, weights, similarity = None, None, None, None, None
    history: list[float] = []
    termination, n_iter = "max_iter", 0
    for n_iter in range(1, max_iter + 1):
        stats = assign(centers)
        strong = False
        if aligner is not None and n_iter > warmup:
            weights = aligner.pull_weights(aligner.spread(centers) if spread is None else spread)
            strong = boosted > 0
            boosted -= strong
            strength = boosted_guidance(guidance, boost) if strong else guidance
            moved = pulled_means(stats, centers, weights, aligner.anchors, strength)
            spread = aligner.spread(moved)  # the next iteration aligns these centres
            similarity = aligner.similarities(spread)
        else:
            moved = stats.means(centers)
        history.append(combined_divergence(stats, moved, guidance, weights, similarity, cosine=cosine))
        gaps = moved - centers
        shift = float(np.square(gaps, out=gaps).sum())
        centers = moved
        ends = sums_before is not None and np.array_equal(stats.sums, sums_before)
        sums_before = stats.sums
        if aligner is not None and (weights is None or strong):
            continue  # the guided iterations proper are still to come
        same_pairs = True
        if weights is not None:
            # Match weights follow the centres smoothly, so equal sums alone do not mean that centres rest.
            pairs = weights > 0
            same_pairs = pairs_before is not None and np.array_equal(pairs, pairs_before)
            pairs_before = pairs
            ends = ends and same_pairs and shift <= rest * float((centers**2).sum())
        if ends:
            termination = "stable"
            break
        if tol is not None and shift <= tol and same_pairs:
            termination = "tolerance"
            break
    return KMeansRun(centers, stats, n_iter, termination, history, weights is not None)


def boosted_guidance(guidance: float, boost: float) -> float:
    """Return the guidance whose odds are ``boost`` times as large; 0 and 1 are unchanged.

    Parameters
    ----------
    guidance : float
    boost : float

    Returns
    -------
    float
    """
    return guidance * boost / (guidance * boost + 1.0 - guidance)


def pulled_means(
    stats: ClusterSums, centers: np.ndarray, weights: np.ndarray, anchors: np.ndarray, guidance: float
) -> np.ndarray:
    """Return the new centres of equation (3).

    A centre is the weighted mean of its cluster's mean (α) and of the anchors ((1 − α)·δ); the number of rows cancels.

    Parameters
    ----------
    stats : ClusterSums
    centers : ndarray of shape (n_clusters, n_words)
        Centres of the clusters that no row chose; these do not move.
    weights : ndarray of shape (n_clusters, n_groups)
        Pull of each source group.
    anchors : ndarray of shape (n_groups, n_words)
    guidance : float
        1 − α.

    Returns
    -------
    ndarray of shape (n_clusters, n_words)
    """
    means = stats.means(centers)
    pull = guidance * weights.sum(axis=1)
    active = (stats.counts > 0) & (pull > 0)
    alpha = 1.0 - guidance
    mixed = alpha * means[active] + guidance * (weights[active] @ anchors)
    means[active] = mixed / (alpha + pull)[active, None]
    return means


def combined_divergence(
    stats: ClusterSums,
    centers: np.ndarray,
    guidance: float = 0.0,
    weights: np.ndarray | None = None,
    similarity: np.ndarray | None = None,
    *,
    cosine: bool = False,
) -> float:
    """Return the objective of equation (2) for given assignments, alignment and centres.

    Parameters
    ----------
    stats : ClusterSums
    centers : ndarray of shape (n_clusters, n_words)
    guidance : float
        1 − α.
    weights, similarity : ndarray of shape (n_clusters, n_groups), optional
        Pull of the source groups, and their similarity to the centres across the domains; None before the first
        alignment.
    cosine : bool
        Measure the distance of the rows to the directions of the centres.

    Returns
    -------
    float
    """
    shown = unit_rows(centers) if cosine else centers
    cross = float(np.einsum("ij,ij->", shown, stats.sums))
    spread = float(stats.counts @ np.einsum("ij,ij->i", shown, shown))
    inside = max(stats.squares - 2.0 * cross + spread, 0.0)
    across = 0.0
    if weights is not None and similarity is not None:
        across = float(stats.counts @ (weights * (1.0 - similarity) ** 2).sum(axis=1))
    return (1.0 - guidance) * inside + guidance * across
