"""Latent semantic vectors: a collection's own directions of meaning, from which words occur together."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lu
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from isthmus._validation import check_rows
from isthmus.base import FROM_1, check_parameters
from isthmus.features.counting import rows_key, shared
from isthmus.features.term_rows import LatentRows

OVERSAMPLING = 10  # directions computed beyond those returned, so that the last ones are accurate
POWER_STEPS = 3  # multiplications by XᵀX, which separate leading directions from the others


class LatentSemantics(TransformerMixin, BaseEstimator):
    """Rows of weighted terms → a few hundred numbers each, by latent semantic analysis of all rows together.

    Words that keep the same company get similar vectors, so two documents can be alike without sharing a word. The
    directions come from the collections at hand alone; nothing else is needed.

    Parameters
    ----------
    n_components : int, default=200
        Directions; fewer where there are fewer terms or rows.
    random_state : int or None, default=None
        Start of the randomised solver.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_terms)
    singular_values_ : ndarray

    See Also
    --------
    isthmus.features.TextEmbedder : vectors from a model trained elsewhere.

    References
    ----------
    S. Deerwester, S. Dumais, G. Furnas, T. Landauer, R. Harshman: Indexing by latent semantic analysis. JASIS 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.features import LatentSemantics
    >>> rows = np.array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1.0]])
    >>> LatentSemantics(n_components=2, random_state=0).fit_transform(rows).shape
    (4, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_components": [FROM_1],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 200,
        *,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X, y=None):
        """Learn the directions of the rows."""
        check_parameters(self)
        X = check_rows(self, X, reset=True)
        size = max(1, min(self.n_components, X.shape[0] - 1, X.shape[1]))
        key = ("latent", size, self.random_state, rows_key(X))
        directions, self.singular_values_ = shared(key, lambda: leading_directions(X, size, self.random_state))
        self.components_ = directions.T  # shared with earlier callers; this memory layout makes products fast
        return self

    def fit_transform(self, X, y=None):
        """Learn the directions and return the rows along them."""
        return self.fit(X).transform(X)

    def transform(self, X):
        """Rows along the learned directions."""
        check_is_fitted(self)
        return self.row_step()(check_rows(self, X))

    def row_step(self) -> LatentRows:
        """Return the step that makes vectors of new rows; see ``isthmus.features.term_rows``."""
        return LatentRows(self.components_)

    def __sklearn_tags__(self):
        """Return the tags of an estimator that reads sparse rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def leading_directions(X: Any, n_components: int, random_state: int | None = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``n_components`` leading right singular vectors of ``X`` as columns, and the singular values.

    Randomised subspace iteration (Halko, Martinsson and Tropp 2011). The random start has one row per column of ``X``,
    so that the order of the rows changes nothing but rounding.
    """
    n_columns = X.shape[1]
    size = min(n_components + OVERSAMPLING, n_columns)
    rng = np.random.default_rng(random_state)
    basis = rng.standard_normal((n_columns, size))
    for step in range(POWER_STEPS):
        basis = X.T @ (X @ basis)
        # On the way any well-conditioned basis of the subspace will do, and LU costs a quarter of QR.
        last = step == POWER_STEPS - 1
        basis = np.linalg.qr(basis)[0] if last else lu(basis, permute_l=True, check_finite=False)[0]
    # Within the subspace the problem is small: the eigenvectors of (XB)ᵀ(XB).
    image = X @ basis
    values, vectors = np.linalg.eigh(image.T @ image)
    order = np.argsort(-values)[:n_components]
    return basis @ vectors[:, order], np.sqrt(np.maximum(values[order], 0.0))
