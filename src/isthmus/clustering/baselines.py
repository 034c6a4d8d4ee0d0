"""Clusterings to compare with: k-means on the target, on source and target, and bipartite co-clustering."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import SpectralCoclustering

from isthmus.clustering.kmeans import kmeans
from isthmus.clustering.run import metric_rows


def plain_kmeans(target: sp.csr_matrix, start: np.ndarray, *, max_iter: int = 25, cosine: bool = True) -> np.ndarray:
    """KM: k-means on the target alone. With the cosine it is spherical k-means, without it Lloyd's algorithm.

    >>> X = sp.csr_matrix([[2.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    >>> plain_kmeans(X, X[:2].toarray()).tolist()
    [0, 1, 0]
    """
    return kmeans(metric_rows(target, cosine), start, max_iter=max_iter, cosine=cosine).labels


def kmeans_with_source(
    source: sp.csr_matrix, target: sp.csr_matrix, start: np.ndarray, *, max_iter: int = 25, cosine: bool = True
) -> np.ndarray:
    """KM-ASD: k-means on all source documents and the target together; the clusters of the target rows.

    It sees the source's words but not its groups, so what guidance gains over it comes from the groups.
    """
    rows = metric_rows(sp.vstack([source, target], format="csr"), cosine)
    return kmeans(rows, start, max_iter=max_iter, cosine=cosine).labels[source.shape[0] :]


def cocluster(target, n_clusters: int, random_state=0) -> np.ndarray:
    """Bipartite spectral co-clustering of documents and words (Dhillon, KDD 2001), as scikit-learn has it.

    Rows without words cannot be part of the graph; they get cluster 0.

    >>> groups = cocluster(np.kron(np.eye(2), np.ones((3, 4))), 2)
    >>> len(set(groups[:3])), len(set(groups[3:])), groups[0] != groups[3]
    (1, 1, np.True_)
    """
    target = sp.csr_matrix(target)
    filled = np.flatnonzero(np.diff(target.indptr) > 0)
    used = np.flatnonzero(np.bincount(target.indices, minlength=target.shape[1]))
    labels = np.zeros(target.shape[0], dtype=np.int64)
    model = SpectralCoclustering(n_clusters, random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's own deprecations and solver notes
        labels[filled] = model.fit(target[filled][:, used]).row_labels_
    return labels
