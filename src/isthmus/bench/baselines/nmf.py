"""Non-negative matrix factorisation: groups of rows without any label."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp


def nmf_groups(X, n_groups: int, random_state=None, *, penalty: float = 0.0) -> np.ndarray:
    """Group number of each row: its largest factor in scikit-learn's alternating least squares (coordinate descent).

    Parameters
    ----------
    X : {sparse matrix, ndarray} of shape (n_rows, n_columns)
        Non-negative weights.
    n_groups : int
    random_state : int, RandomState or None
    penalty : float, default=0
        Weight of the factors' squared size, as in the alternating constrained least squares of the paper's comparison.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.bench.baselines.nmf import nmf_groups
    >>> groups = nmf_groups(np.kron(np.eye(2), np.ones((3, 4))), 2, random_state=0)
    >>> len(set(groups[:3])), len(set(groups[3:])), groups[0] != groups[3]
    (1, 1, np.True_)
    """
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    model = NMF(n_components=n_groups, init="random", random_state=random_state, alpha_W=penalty, max_iter=300)
    with warnings.catch_warnings():
        # Groups settle long before the factors do.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_transform(sp.csr_matrix(X)).argmax(axis=1)
