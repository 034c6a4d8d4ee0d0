"""Kernels that are not string kernels, and the rule that predicts with them; neither needs scikit-learn.

A kernel has the methods of :class:`isthmus.StringKernel` that the classifier calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import row_blocks, unit_rows
from isthmus.classify.rules import KernelBend
from isthmus.exceptions import DataError
from isthmus.features.gram import normalize_kernel


class PrecomputedKernel:
    """A normalised kernel matrix in place of the documents."""

    def gram(self, X: Any, *, normalize: bool = True) -> np.ndarray:
        """Return the matrix; refuse one that is not a kernel.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_rows)
        normalize : bool
            Unused.

        Returns
        -------
        ndarray of shape (n_rows, n_rows)
        """
        K = np.array(_dense(X), dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.all(np.isfinite(K)):
            raise bad_kernel(f"has shape {K.shape}" if np.all(np.isfinite(K)) else "has entries that are NaN or inf")
        gap = float(np.abs(K - K.T).max(initial=0.0))
        if gap > 1e-8 * max(float(np.abs(K).max(initial=0.0)), 1e-300):
            raise bad_kernel(f"is not symmetric: K and its transpose differ by up to {gap:g}")
        if np.any(np.diag(K) < 0):
            raise bad_kernel(f"has {int(np.sum(np.diag(K) < 0))} negative values on its diagonal")
        return K

    def cross(self, X: Any, columns: Any, *, normalize: bool = True) -> np.ndarray:
        """Return the rows of new documents, which are their kernel with the fitted rows.

        Parameters
        ----------
        X : ndarray or rows
        columns : rows
            Unused.
        normalize : bool
            Unused.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
        """
        return np.array(_dense(X), dtype=np.float64)


@dataclass(frozen=True)
class CallableKernel(PrecomputedKernel):
    """A function of two sets of rows, normalised by the kernel of each row with itself."""

    function: Any

    def gram(self, X: Any, *, normalize: bool = True) -> np.ndarray:
        """Return the normalised kernel of the rows with each other.

        Parameters
        ----------
        X : ndarray or rows
        normalize : bool
            Accepted for the interface of string kernels; the result is always normalised.

        Returns
        -------
        ndarray of shape (n_rows, n_rows)
        """
        K = super().gram(self.function(X, X))
        return normalize_kernel(K, np.diag(K).copy(), np.diag(K).copy())

    def cross(self, X: Any, columns: Any, *, normalize: bool = True) -> np.ndarray:
        """Return the normalised kernel of ``X`` with ``columns``.

        Parameters
        ----------
        X : ndarray or rows
        columns : rows
            Fitted rows.
        normalize : bool
            Unused.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
        """
        K = np.array(self.function(X, columns), dtype=np.float64)
        if not np.all(np.isfinite(K)):
            raise bad_kernel("has entries that are NaN or inf")
        return normalize_kernel(K, self._self_similarity(X), self._self_similarity(columns))

    def _self_similarity(self, X: Any) -> np.ndarray:
        """Return K(x, x) of each row, from small blocks."""
        blocks = [X[rows] for rows in row_blocks(len(X) if isinstance(X, list) else X.shape[0], 64)]
        return np.concatenate([np.diag(np.asarray(self.function(block, block), dtype=np.float64)) for block in blocks])


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


@dataclass(frozen=True)
class KernelRule:
    """A kernel between new and fitted rows, with the weights of a ridge regression.

    Attributes
    ----------
    kernel : object
        ``kernel.cross(X, columns)`` returns the normalised kernel.
    columns : list of str, ndarray or sparse matrix
        Fitted rows; None for a precomputed kernel.
    """

    kernel: Any
    columns: Any
    bend: KernelBend
    weights: np.ndarray
    offset: np.ndarray
    power: float

    def scores(self, X: Any) -> np.ndarray:
        """Return class scores of rows.

        Parameters
        ----------
        X : list of str, ndarray or sparse matrix

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        rows = self.bend(check_kernel(self.kernel.cross(X, self.columns)))
        return (rows @ self.weights + self.offset) * self.power


def check_kernel(K: np.ndarray) -> np.ndarray:
    """Return a normalised kernel; refuse values above one.

    Parameters
    ----------
    K : ndarray

    Returns
    -------
    ndarray

    Raises
    ------
    DataError
        With code ``bad-kernel``.
    """
    if float(K.max(initial=0.0)) > 1 + 1e-6:
        raise bad_kernel(f"has values up to {float(K.max()):g}, but exp(K − 1) needs ones on the diagonal")
    return K


def bad_kernel(problem: str) -> DataError:
    """Return the error for a matrix that is not a kernel.

    Parameters
    ----------
    problem : str
        Predicate of the sentence.

    Returns
    -------
    DataError
    """
    return DataError(
        f"The kernel matrix {problem}; a kernel is a finite symmetric matrix, one row and column per document. "
        "Normalise it by the root of its diagonal on both sides.",
        code="bad-kernel",
    )


@dataclass(frozen=True)
class CosineKernel:
    """Cosines of the rows of one or two matrices, for ``TransductiveKernelClassifier(kernel=CosineKernel())``."""

    def __call__(self, rows_a: Any, rows_b: Any = None) -> np.ndarray:
        """Return the cosines of all rows of two matrices, or of one matrix with itself.

        Parameters
        ----------
        rows_a, rows_b : ndarray or sparse matrix

        Returns
        -------
        ndarray of shape (n_rows_a, n_rows_b)
        """
        first = unit_rows(rows_a)
        products = first @ (first if rows_b is None else unit_rows(rows_b)).T
        return products.toarray() if sp.issparse(products) else products
