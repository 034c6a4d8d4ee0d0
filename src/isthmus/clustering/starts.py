"""First centres, drawn as scikit-learn's ``KMeans`` draws them, so that methods can share starts."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state

from isthmus.exceptions import UsageError


def initial_centers(X: sp.csr_matrix, n_clusters: int, init="k-means++", random_state=None) -> np.ndarray:
    """Centres to start from: rows of ``X``.

    Parameters
    ----------
    X : CSR matrix
        Rows to be clustered.
    n_clusters : int
    init : {"k-means++", "random"} or ndarray
        "random" takes rows at random, "k-means++" rows far from each other; an array is returned as it is.
    random_state : int, RandomState or None

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from isthmus.clustering.starts import initial_centers
    >>> initial_centers(sp.csr_matrix([[1.0, 0.0], [0.0, 1.0]]), 2, "random", 0).sum().item()
    2.0
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
        rows = rng.choice(n, size=n_clusters, replace=False, p=np.full(n, 1.0 / n))
        return X[rows].toarray()
    if init == "k-means++":
        centers, _ = kmeans_plusplus(X, n_clusters, random_state=rng)
        return centers.toarray() if sp.issparse(centers) else np.asarray(centers)
    raise UsageError(f"init={init!r}; use 'k-means++', 'random' or an array of centres.", code="bad-parameter")
