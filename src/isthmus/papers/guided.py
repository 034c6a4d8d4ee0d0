"""Cross-guided clustering as its paper prints it.

I. Bhattacharya, S. Godbole, S. Joshi, A. Verma: Cross-guided clustering: transfer of relevant supervision across
domains for improved clustering. ICDM 2009.

Rows are tf-idf vectors of length one over one vocabulary. Each function is one equation or one step of figure 2. The
formulas of section V (pivot weights, projection) are lost in the text of the paper that we have; ours follow its
description. :class:`isthmus.CrossGuidedKMeans` differs: a stronger pull in the first guided iterations, no match for
pairs of negative contrast, pull along the target's words only, logarithms of context counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.utils.extmath import row_norms

from isthmus._math.rows import unit_rows
from isthmus.clustering.alignment import Aligner, Prepared, source_groups
from isthmus.clustering.guided import CrossGuidedKMeans
from isthmus.clustering.kmeans import ClusterSums, KMeansRun, assign_rows, metric_rows
from isthmus.features.contexts import Contexts, document_contexts, pivot_words
from isthmus.features.weights import document_frequency, smooth_idf
from isthmus.shift.similarity import CrossSimilarity

SMOOTHING = 0.1  # λ of the pivot weights; the paper gives no value
WARMUP = 5  # plain iterations before the first alignment
ITERATIONS = 25
_REST = 1e-9  # squared movement of the centres, relative to their squared length, below which they count as resting


def context_vectors(counts: sp.csr_matrix) -> sp.csr_matrix:
    """Section V: tf-idf of the counts of each word (row) near each context word (column)."""
    used = int(np.count_nonzero(np.diff(counts.indptr)))
    return sp.csr_matrix(counts @ sp.diags(smooth_idf(document_frequency(counts), used)))


def pivot_weights(source: sp.csr_matrix, target: sp.csr_matrix) -> np.ndarray:
    """Section V: (cosine + λ) / (1 + λ) of each pivot's context vectors (rows) in the two domains."""
    products = np.asarray(source.multiply(target).sum(axis=1)).ravel()
    lengths = np.sqrt(row_norms(source, squared=True) * row_norms(target, squared=True))
    cosine = np.divide(products, lengths, out=np.zeros(len(products)), where=lengths > 0)
    return (cosine + SMOOTHING) / (1.0 + SMOOTHING)


def projection(vectors: sp.csr_matrix, columns: np.ndarray, pivots: np.ndarray) -> sp.csr_matrix:
    """Section V: the share of each non-pivot word (row) that each pivot (column) receives.

    Parameters
    ----------
    vectors : CSR matrix of shape (n_words, n_contexts)
        Context vectors of one domain.
    columns : ndarray of int
        Words that the context columns stand for.
    pivots : ndarray of int
        Sorted words that both domains have.
    """
    shared = np.isin(columns, pivots)
    vectors = vectors[:, shared]
    outside = np.ones(vectors.shape[0])
    outside[pivots] = 0.0
    sums = np.asarray(vectors.sum(axis=1)).ravel()
    shares = sp.csr_matrix(sp.diags(np.divide(outside, sums, out=np.zeros(len(sums)), where=sums > 0)) @ vectors)
    shares.eliminate_zeros()
    places = np.searchsorted(pivots, columns[shared])[shares.indices]
    return sp.csr_matrix((shares.data, places, shares.indptr), shape=(len(outside), len(pivots)))


def compare(
    source: sp.csr_matrix,
    target: sp.csr_matrix,
    contexts: Contexts | None = None,
    *,
    weighted: bool | Mapping[int, float] = True,
    projected: bool = True,
) -> CrossSimilarity:
    """Section V: compare the domains by their pivot words.

    Parameters
    ----------
    source, target : CSR matrices over one vocabulary
    contexts : Contexts, optional
        Counts from running text; if omitted, words meet when a document contains both.
    weighted : bool or dict
        Weigh the pivots by their contexts; a dict replaces the weights of its columns.
    projected : bool
        Carry the weight of other words over to pivots.
    """
    pivots = pivot_words(source, target)
    found = contexts or document_contexts(source, target)
    sides = [context_vectors(counts) for counts in (found.source, found.target)]
    weights = np.ones(len(pivots))
    if weighted:
        weights = pivot_weights(*(vectors[pivots] for vectors in sides))
    if isinstance(weighted, Mapping):
        given = np.isin(pivots, list(weighted))
        weights[given] = [weighted[column] for column in pivots[given].tolist()]
    shares = [projection(vectors, found.columns, pivots) if projected else None for vectors in sides]
    return CrossSimilarity(pivots, weights, shares[0], shares[1], found)


def match(similarity: np.ndarray) -> np.ndarray:
    """Section IV: δ (clusters × groups) of the maximum-weight bipartite matching."""
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    delta = np.zeros_like(similarity)
    delta[rows, columns] = similarity[rows, columns]
    return delta


def update_centers(
    means: np.ndarray, sizes: np.ndarray, groups: np.ndarray, delta: np.ndarray, guidance: float
) -> np.ndarray:
    """Equation (3): (α·|C|·mean + (1 − α)·|C|·Σ δ·group) / (α·|C| + (1 − α)·|C|·Σ δ) per cluster C."""
    own, other = (1.0 - guidance) * sizes, guidance * sizes[:, None] * delta
    total = own + other.sum(axis=1)
    moved = means.copy()  # a cluster without weight does not move
    moved[total > 0] = (own[:, None] * means + other @ groups)[total > 0] / total[total > 0, None]
    return moved


def divergence(stats: ClusterSums, centers: np.ndarray) -> float:
    """Equation (1): Σ ‖x − c(x)‖² = Σ ‖x‖² − 2·Σ c·(sum of its rows) + Σ |C|·‖c‖²."""
    spread = stats.counts @ np.einsum("ij,ij->i", centers, centers)
    return max(float(stats.squares - 2.0 * np.einsum("ij,ij->", centers, stats.sums) + spread), 0.0)


def combined_divergence(inside: float, sizes: np.ndarray, similarity: Any, delta: np.ndarray, guidance: float) -> float:
    """Equation (2): α·(1) + (1 − α)·Σ δ·|C|·(1 − similarity)²."""
    return (1.0 - guidance) * inside + guidance * float(sizes @ (delta * (1.0 - similarity) ** 2).sum(axis=1))


class PaperAligner(Aligner):
    """Alignment in which every cluster is matched that can be; all source groups are one collection."""

    def weights(self, spread: np.ndarray) -> np.ndarray:
        """Return δ, clusters × groups."""
        return match(self.similarities(spread))


def cross_guided_clustering(
    prepared: Prepared,
    start: np.ndarray,
    *,
    guidance: float = 0.5,
    max_iter: int = ITERATIONS,
    cosine: bool = True,
    n_threads: int = 1,
    tol: float = 0.0,
) -> KMeansRun:
    """Figure 2: five plain iterations, then assign, align and re-estimate until nothing changes.

    Parameters
    ----------
    prepared : Prepared
        Of :func:`prepare`.
    start : ndarray of shape (n_clusters, n_words)
    guidance : float
        Weight 1 − α of the source.
    max_iter : int
    cosine : bool
        Assign by the directions of the centres.
    n_threads : int
    tol : float
        Not used: the paper has no tolerance.
    """
    aligner = prepared.aligner if guidance > 0 else None
    guidance = guidance if aligner is not None else 0.0
    settings: dict[str, Any] = {"cosine": cosine, "norms": prepared.norms, "n_threads": n_threads}
    centers = np.array(start, dtype=np.float64)
    before: tuple[np.ndarray, ...] = (np.zeros(0), np.zeros(0))
    history: list[float] = []
    termination, iteration = "max_iter", 0
    for iteration in range(1, max_iter + 1):
        stats = assign_rows(prepared.target, centers, relocate=True, **settings)
        moved = stats.means(centers)
        delta = similarity = np.zeros((len(centers), 1))
        if aligner is not None and iteration > WARMUP:
            delta = aligner.weights(aligner.spread(centers))
            moved = update_centers(moved, stats.counts, aligner.groups.centers, delta, guidance)
            similarity = aligner.similarities(aligner.spread(moved))
        inside = divergence(stats, unit_rows(moved) if cosine else moved)
        history.append(combined_divergence(inside, stats.counts, similarity, delta, guidance))
        rests = float(((moved - centers) ** 2).sum()) <= _REST * float((moved**2).sum())
        state = stats.labels, delta > 0
        unchanged = all(map(np.array_equal, state, before))
        centers, before = moved, state
        if unchanged and rests and (aligner is None or delta.any()):
            termination = "stable"
            break
    stats = assign_rows(prepared.target, centers, **settings)
    return KMeansRun(centers, stats, iteration, termination, history, bool(delta.any()))


def prepare(
    source: Any,
    codes: Any,
    collections: Any,
    target: Any,
    *,
    cosine: bool = True,
    pivot_weights: bool | Mapping[int, float] = True,
    projection: bool = True,
    contexts: Contexts | None = None,
) -> Prepared:
    """Compute source groups and the comparison once for all starts; parameters as for ``alignment.prepare``."""
    target = metric_rows(target, cosine)
    norms = row_norms(target, squared=True)
    if source is None or source.shape[0] == 0:
        return Prepared(target, norms)
    source = metric_rows(source, cosine)
    groups = source_groups(source, codes, collections)
    similarity = compare(source, target, contexts, weighted=pivot_weights, projected=projection)
    if len(similarity.pivots) == 0:
        return Prepared(target, norms, groups)
    return Prepared(target, norms, groups, PaperAligner(groups, similarity, target.mean(axis=0)))


class LiteralGuidedKMeans(CrossGuidedKMeans):
    """Estimator of the method ``guided-paper``: :class:`isthmus.CrossGuidedKMeans` with the steps of this file."""

    _prepare_rows = staticmethod(prepare)
    _run = staticmethod(cross_guided_clustering)
