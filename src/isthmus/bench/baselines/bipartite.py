"""Spectral partition of the bipartite graph (Dhillon 2001): groups of rows without any label."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def bipartite_groups(X, n_groups: int, random_state=None) -> np.ndarray:
    """Group number of each row by scikit-learn's spectral co-clustering. Rows without any entry go to group 0.

    Parameters
    ----------
    X : {sparse matrix, ndarray} of shape (n_rows, n_columns)
        Non-negative weights.
    n_groups : int
    random_state : int, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.bench.baselines.bipartite import bipartite_groups
    >>> X = np.kron(np.eye(2), np.ones((3, 4)))
    >>> groups = bipartite_groups(X, 2, random_state=0)
    >>> len(set(groups[:3])), len(set(groups[3:])), groups[0] != groups[3]
    (1, 1, np.True_)
    """
    from sklearn.cluster import SpectralCoclustering

    X = sp.csr_matrix(X)
    rows = np.flatnonzero(np.asarray(X.sum(axis=1)).ravel() > 0)
    columns = np.flatnonzero(np.asarray(X.sum(axis=0)).ravel() > 0)
    groups = np.zeros(X.shape[0], dtype=np.int64)
    model = SpectralCoclustering(n_clusters=n_groups, random_state=random_state).fit(X[rows][:, columns])
    groups[rows] = model.row_labels_
    return groups
