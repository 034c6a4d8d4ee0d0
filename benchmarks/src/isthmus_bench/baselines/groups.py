"""Groups without labels: factors (NMF), k-means on the target, and co-clustering of documents and words."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import SpectralCoclustering
from sklearn.utils import check_random_state

from isthmus.clustering.kmeans import kmeans, metric_rows

# -- Non-negative matrix factorisation by alternating constrained least squares: groups of rows without any label


def nmf_groups(X, n_groups: int, random_state=None, *, penalty: float = 0.5, max_iter: int = 200) -> np.ndarray:
    """Group number of each row: its largest factor.

    Parameters
    ----------
    X : {sparse matrix, ndarray} of shape (n_rows, n_columns)
        Non-negative weights.
    n_groups : int
    random_state : int, RandomState or None
    penalty, max_iter : float, int
        Of :func:`factorise`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus_bench.baselines.groups import nmf_groups
    >>> groups = nmf_groups(np.kron(np.eye(2), np.ones((3, 4))), 2, random_state=0)
    >>> len(set(groups[:3])), len(set(groups[3:])), groups[0] != groups[3]
    (1, 1, np.True_)
    """
    return factorise(X, n_groups, random_state, penalty=penalty, max_iter=max_iter)[0].argmax(axis=1)


def factorise(X, n_groups: int, random_state=None, *, penalty: float = 0.5, max_iter: int = 200, tol: float = 1e-6):
    """``X ≈ W H`` by ACLS (Langville, Meyer and Albright 2006), which the paper on dual supervision compares with.

    In turn each factor is the ridge solution for the other, ``(WᵀW + λI) H = WᵀX``, and what is negative becomes zero.
    The authors' own λ is 0.5 on both sides. No objective is promised to fall; the loop ends when ``W`` rests.

    Returns
    -------
    W, H : ndarray
        Of shapes (n_rows, n_groups) and (n_groups, n_columns).

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus_bench.baselines.groups import factorise
    >>> W, H = factorise(np.outer([1.0, 2.0], [3.0, 1.0]), 1, 0, penalty=0.0)
    >>> (W @ H).round(6).tolist()
    [[3.0, 1.0], [6.0, 2.0]]
    """
    X = sp.csr_matrix(X, dtype=np.float64)
    W = check_random_state(random_state).rand(X.shape[0], n_groups)
    for _ in range(max_iter):
        H = _half_step(X.T @ W, W, penalty).T
        before, W = W, _half_step(X @ H.T, H.T, penalty)
        if np.sum((W - before) ** 2) <= tol**2 * np.sum(W**2):
            break
    return W, H


def _half_step(products: np.ndarray, other: np.ndarray, penalty: float) -> np.ndarray:
    """The ridge solution for one factor, its negative entries set to zero; ``products`` is the data times the other."""
    gram = other.T @ other + penalty * np.eye(other.shape[1])
    return np.maximum(np.linalg.lstsq(gram, products.T, rcond=None)[0].T, 0.0)


# -- Clusterings: k-means on the target, on source and target, and bipartite co-clustering


def plain_kmeans(target: sp.csr_matrix, start: np.ndarray, *, max_iter: int = 25, cosine: bool = True) -> np.ndarray:
    """Cluster only the target by k-means (KM): spherical k-means with the cosine, otherwise Lloyd's algorithm.

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
