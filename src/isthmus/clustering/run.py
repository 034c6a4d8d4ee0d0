"""One cross-guided run from one start, and what all starts share: plain functions on arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from isthmus.clustering.alignment import Aligner, SourceGroups, source_groups
from isthmus.clustering.kmeans import KMeansRun, kmeans
from isthmus.exceptions import UsageError
from isthmus.shift.similarity import cross_similarity

# -- First centres, drawn as scikit-learn's ``KMeans`` draws them, so that methods can share starts


def initial_centers(X: sp.csr_matrix, n_clusters: int, init="k-means++", random_state=None) -> np.ndarray:
    """Rows of ``X`` to start from: at random ("random"), far from each other ("k-means++"), or the array given."""
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
        rows = rng.choice(n, size=n_clusters, replace=False, p=np.full(n, 1.0 / n))
        return X[rows].toarray()
    if init == "k-means++":
        centers, _ = kmeans_plusplus(X, n_clusters, random_state=rng)
        return centers.toarray() if sp.issparse(centers) else np.asarray(centers)
    raise UsageError(f"init={init!r}; use 'k-means++', 'random' or an array of centres.", code="bad-parameter")


@dataclass(frozen=True)
class Prepared:
    """What runs from several starts share: target rows in the metric's form, source groups, the aligner."""

    target: sp.csr_matrix
    norms: np.ndarray
    groups: SourceGroups | None
    aligner: Aligner | None


def guided_kmeans(prepared: Prepared, start, *, guidance=0.5, cosine=True, **settings) -> KMeansRun:
    """One run from one start: plain k-means for the warm-up, then assign, align, re-estimate (figure 2 of the paper).

    ``settings`` are those of :func:`isthmus.clustering.kmeans.kmeans`; without guidance it is plain k-means.
    """
    return kmeans(
        prepared.target,
        start,
        cosine=cosine,
        align=prepared.aligner if guidance > 0 else None,
        guidance=guidance,
        norms=prepared.norms,
        **settings,
    )


def prepare(
    source,
    codes,
    collections,
    target,
    *,
    cosine=True,
    warmup=5,
    min_contrast=0.0,
    pivot_weights=True,
    projection=True,
    smoothing=0.1,
    contexts=None,
    context_counts="log",
    own_words=True,
) -> Prepared:
    """Source centres, pivots and weights, computed once for all starts; without shared words there is no aligner."""
    target = metric_rows(target, cosine)
    norms = row_norms(target, squared=True)
    if source is None or source.shape[0] == 0:
        return Prepared(target, norms, None, None)
    source = metric_rows(source, cosine)
    groups = source_groups(source, codes, collections)
    similarity = cross_similarity(
        source,
        target,
        weighted=pivot_weights,
        projected=projection,
        smoothing=smoothing,
        contexts=contexts,
        context_counts=context_counts,
    )
    if len(similarity.pivots) == 0:
        return Prepared(target, norms, groups, None)
    settings = {"warmup": warmup, "min_contrast": min_contrast, "own_words": own_words}
    aligner = Aligner(groups, similarity, target.mean(axis=0), **settings)
    return Prepared(target, norms, groups, aligner)


def clean_rows(X) -> sp.csr_matrix:
    X = sp.csr_matrix(X, dtype=np.float64)
    if X.has_canonical_format and np.all(X.data):
        return X
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def metric_rows(X, cosine: bool) -> sp.csr_matrix:
    X = sp.csr_matrix(X, dtype=np.float64)
    return normalize(X, copy=True) if cosine else X
