"""k-means on sparse rows, written as sums over row blocks, with an optional pull on the centres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from isthmus._math.rows import row_blocks, unit_rows

BLOCK_ROWS = 8192
_REST = 1e-9  # share of their squared length below which centres count as resting


@dataclass
class ClusterSums:
    """What a block of rows tells about the clusters: sum and number of its rows, and their squared distances."""

    sums: np.ndarray
    counts: np.ndarray
    divergence: float

    def __add__(self, other: ClusterSums) -> ClusterSums:
        return ClusterSums(self.sums + other.sums, self.counts + other.counts, self.divergence + other.divergence)

    def means(self, otherwise: np.ndarray) -> np.ndarray:
        """Mean of each cluster; a cluster without rows keeps its row of ``otherwise``."""
        means = self.sums / np.maximum(self.counts, 1)[:, None]
        empty = self.counts == 0
        means[empty] = otherwise[empty]
        return means


@dataclass
class KMeansRun:
    centers: np.ndarray
    labels: np.ndarray
    counts: np.ndarray
    divergence: float
    n_iter: int
    termination: str
    history: list[float] = field(default_factory=list)
    pull: Pull | None = None


@dataclass
class Pull:
    """Where centres are drawn to: ``weights`` (clusters × anchors) and the ``anchors`` themselves, in row space.

    ``similarity(centers)`` (clusters × anchors) is that of the space in which the domains are compared; equation (2)
    measures the pull there, or without it by the distance in row space.
    """

    weights: np.ndarray
    anchors: np.ndarray
    similarity: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def strength(self) -> np.ndarray:
        return self.weights.sum(axis=1)

    @property
    def pairs(self) -> np.ndarray:
        return self.weights > 0

    def divergence(self, centers: np.ndarray, counts: np.ndarray, *, cosine: bool = False) -> float:
        """Σᵢⱼ δᵢⱼ·|Cᵢ|·dₓ(cᵢ, aⱼ)², the second term of equation (2); dₓ is 1 − similarity where there is one."""
        if self.similarity is not None:
            gaps = (1.0 - self.similarity(centers)) ** 2
            return float(counts @ (self.weights * gaps).sum(axis=1))
        anchors = unit_rows(self.anchors) if cosine else self.anchors
        total = 0.0
        for i, j in zip(*np.nonzero(self.weights), strict=True):
            gap = centers[i] - anchors[j]
            total += float(self.weights[i, j] * counts[i]) * float(gap @ gap)
        return total


def assign_rows(
    X: sp.csr_matrix,
    centers: np.ndarray,
    *,
    cosine: bool = False,
    norms: np.ndarray | None = None,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray, ClusterSums]:
    """Nearest centre of every row, the squared distance to it, and the statistics of all blocks added up.

    ``cosine`` takes the direction of the centres only: among unit vectors the squared distance is 2·(1 − cosine).
    """
    from isthmus.clustering.kmeans_kernels import add_rows, nearest_centers

    centers = np.ascontiguousarray(unit_rows(centers) if cosine else centers)
    n_clusters = len(centers)
    by_word = _by_word(centers)
    center_norms = np.ones(n_clusters) if cosine else np.einsum("ij,ij->i", centers, centers)
    norms = row_norms(X, squared=True) if norms is None else norms
    lengths = np.sqrt(norms)
    labels = np.empty(X.shape[0], dtype=np.int32)

    def assign(rows: slice) -> None:
        indptr = X.indptr[rows.start : rows.stop + 1]
        nearest_centers(X.data, X.indices, indptr, lengths[rows], by_word, centers, center_norms, labels[rows])

    blocks = row_blocks(X.shape[0], BLOCK_ROWS)
    n_threads = max(1, min(n_threads, len(blocks)))
    _in_threads(assign, blocks, n_threads)
    counts = np.bincount(labels, minlength=n_clusters)
    order = np.argsort(labels.astype(np.min_scalar_type(n_clusters)), kind="stable")  # short numbers sort sooner
    bounds = np.concatenate([[0], np.cumsum(counts)])
    sums, distances = np.zeros(centers.shape), np.empty(X.shape[0])

    def add(first: int) -> None:
        cells = X.data, X.indices, X.indptr, order, bounds
        add_rows(*cells, centers, center_norms, distances, sums, first, n_threads)

    _in_threads(add, range(n_threads), n_threads)
    distances += norms
    np.maximum(distances, 0.0, out=distances)
    return labels, distances, ClusterSums(sums, counts, float(distances.sum()))


def _by_word(centers: np.ndarray) -> np.ndarray:
    """Centres as words × clusters of 32 bits, some words at a time, so that both sides stay in the cache."""
    by_word = np.empty(centers.shape[::-1], dtype=np.float32)
    for words in row_blocks(len(by_word), 256):
        by_word[words] = centers[:, words].T
    return by_word


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
    max_iter: int = 100,
    tol: float = 0.0,
    cosine: bool = False,
    align: Callable[[np.ndarray, int], Pull | None] | None = None,
    guidance: float = 0.0,
    boost: float = 1.0,
    boost_iter: int = 5,
    norms: np.ndarray | None = None,
    n_threads: int = 1,
) -> KMeansRun:
    """Lloyd's iterations from ``start``; with ``align``, centres are also drawn towards anchors.

    ``align(centers, iteration)`` gives the :class:`Pull` of an iteration or None, ``guidance`` is its weight 1 − α; in
    the first ``boost_iter`` guided iterations the odds (1 − α)/α are multiplied by ``boost``. ``cosine`` compares
    directions of rows of length one; centres stay means, as in the paper. ``tol``: squared movement of all centres
    together at which it stops. ``history`` holds the combined divergence of equation (2).
    """
    centers = np.array(start, dtype=np.float64)
    norms = row_norms(X, squared=True) if norms is None else norms
    share = guidance if align is not None else 0.0
    before, before_pairs, pull = None, None, None
    boosted = boost_iter if boost > 1 else 0
    history: list[float] = []
    termination, n_iter = "max_iter", 0
    for n_iter in range(1, max_iter + 1):
        labels, distances, stats = assign_rows(X, centers, cosine=cosine, norms=norms, n_threads=n_threads)
        relocate_empty(X, labels, distances, stats)
        pull = align(centers, n_iter) if align is not None and share > 0 else None
        strong = pull is not None and boosted > 0
        boosted -= strong
        moved = pulled_means(stats, centers, pull, boosted_guidance(share, boost) if strong else share)
        history.append(combined_divergence(stats, norms, moved, pull, share, cosine=cosine))
        gaps = moved - centers
        shift = float(np.square(gaps, out=gaps).sum())
        centers = moved
        same_rows = before is not None and np.array_equal(labels, before)
        before = labels
        if share > 0 and (pull is None or strong):
            continue  # the guided iterations proper are still to come
        if pull is not None:
            # Match weights follow the centres smoothly, so equal labels alone do not mean that centres rest.
            same_pairs = before_pairs is not None and np.array_equal(pull.pairs, before_pairs)
            before_pairs = pull.pairs
            same_rows = same_rows and same_pairs and shift <= _REST * float((centers**2).sum())
        if same_rows:
            termination = "stable"
            break
        if shift <= tol and (pull is None or same_pairs):
            termination = "tolerance"
            break
    labels, _, stats = assign_rows(X, centers, cosine=cosine, norms=norms, n_threads=n_threads)
    return KMeansRun(centers, labels, stats.counts, stats.divergence, n_iter, termination, history, pull)


def boosted_guidance(guidance: float, boost: float) -> float:
    """Guidance whose odds are ``boost`` times as large; 0 stays 0 and 1 stays 1."""
    return guidance * boost / (guidance * boost + 1.0 - guidance)


def pulled_means(stats: ClusterSums, centers: np.ndarray, pull: Pull | None, guidance: float) -> np.ndarray:
    """Equation (3): weighted mean of the cluster's mean (α) and the anchors ((1 − α)·δ); the number of rows cancels.

    A cluster that no row chose stays where it is.
    """
    means = stats.means(centers)
    if pull is None or guidance == 0:
        return means
    alpha = 1.0 - guidance
    weight = alpha + guidance * pull.strength
    active = (stats.counts > 0) & (guidance * pull.strength > 0)
    mixed = alpha * means[active] + guidance * (pull.weights[active] @ pull.anchors)
    means[active] = mixed / weight[active, None]
    return means


def combined_divergence(
    stats: ClusterSums,
    norms: np.ndarray,
    centers: np.ndarray,
    pull: Pull | None,
    guidance: float,
    *,
    cosine: bool = False,
) -> float:
    """Equation (2) for given assignments, alignment and centres, from the block statistics alone."""
    moved = centers
    centers = unit_rows(centers) if cosine else centers
    cross = float(np.einsum("ij,ij->", centers, stats.sums))
    spread = float(stats.counts @ np.einsum("ij,ij->i", centers, centers))
    inside = max(float(norms.sum()) - 2.0 * cross + spread, 0.0)
    if pull is None or guidance == 0:
        return (1.0 - guidance) * inside
    # A similarity reads the centres as they are: it may keep what it worked out for the alignment that follows.
    reached = pull.divergence(moved if pull.similarity else centers, stats.counts, cosine=cosine)
    return (1.0 - guidance) * inside + guidance * reached


def relocate_empty(X: sp.csr_matrix, labels: np.ndarray, distances: np.ndarray, stats: ClusterSums) -> None:
    """Give each empty cluster the row that lies farthest from its own centre (in place), as scikit-learn does."""
    empty = np.flatnonzero(stats.counts == 0)
    if len(empty) == 0 or distances.max() == 0:
        return
    farthest = np.argpartition(distances, -len(empty))[: -len(empty) - 1 : -1]
    for cluster, row in zip(empty, farthest, strict=True):
        entries = slice(X.indptr[row], X.indptr[row + 1])
        old = labels[row]
        np.subtract.at(stats.sums[old], X.indices[entries], X.data[entries])
        stats.sums[cluster] = 0.0
        np.add.at(stats.sums[cluster], X.indices[entries], X.data[entries])
        stats.counts[old] -= 1
        stats.counts[cluster] = 1
