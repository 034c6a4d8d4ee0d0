"""Adapt class centroids to unlabelled rows; sparse rows are centred without being made dense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.rows import unit_rows

_BLOCK = 4_096  # rows squared in one go


@dataclass
class CentredRows:
    """Rows of length one, minus ``mean``, scaled to length one again.

    The product form keeps sparse rows sparse.

    Attributes
    ----------
    rows : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows of length one, not centred.
    mean : ndarray of shape (n_features,)
    scale : ndarray of shape (n_rows,)
        Factor that gives each centred row length one; 0 for rows without a direction.
    """

    rows: Any
    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def about(cls, rows: Any, mean: np.ndarray | None = None) -> CentredRows:
        """Centre rows about a mean.

        Parameters
        ----------
        rows : ndarray or sparse matrix of shape (n_rows, n_features)
        mean : ndarray of shape (n_features,), optional
            The mean of the rows of length one if omitted.

        Returns
        -------
        CentredRows
        """
        rows = unit_rows(rows)
        if mean is None:
            mean = np.asarray(rows.mean(axis=0)).ravel()
        own = _squares(rows)
        squared = own - 2 * (rows @ mean) + mean @ mean
        # Rows equal to the mean and rows of zeros have no direction; rounding must not give them one.
        scale = np.where((squared > 1e-12) & (own > 0), 1 / np.sqrt(np.maximum(squared, 1e-12)), 0.0)
        return cls(rows, mean, scale)

    def dot(self, directions: np.ndarray) -> np.ndarray:
        """Return the products of the centred rows with directions.

        Parameters
        ----------
        directions : ndarray of shape (n_directions, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_directions)
        """
        return self.scale[:, None] * (self.rows @ directions.T - self.mean @ directions.T)

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Return weighted sums of the centred rows.

        Parameters
        ----------
        weights : ndarray of shape (n_rows, n_sums)

        Returns
        -------
        ndarray of shape (n_sums, n_features)
        """
        weights = weights * self.scale[:, None]
        return np.asarray((self.rows.T @ weights).T) - np.outer(weights.sum(axis=0), self.mean)


def _squares(rows: Any) -> np.ndarray:
    """Return the squared length of each row; blocks of dense rows avoid a second matrix of their size."""
    if hasattr(rows, "multiply"):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    blocks = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
    return np.concatenate([np.zeros(0), *((block * block).sum(axis=1) for block in blocks)])


def settle(
    source: np.ndarray, target: CentredRows, *, source_weight: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, list[float], bool]:
    """Move class centroids from the source towards the rows of the target.

    Each iteration assigns every target row to the most similar centroid. It then replaces each centroid by the
    direction of ``source_weight`` · (centroid of the source) + (1 − ``source_weight``) · (mean of its target rows).

    Parameters
    ----------
    source : ndarray of shape (n_classes, n_features)
        Class centroids of the source.
    target : CentredRows
    source_weight : float
    max_iter : int

    Returns
    -------
    centroids : ndarray of shape (n_classes, n_features)
    codes : ndarray of int of shape (n_rows,)
        Class of each target row.
    history : list of float
        Mean similarity of the rows to their centroids, per iteration.
    converged : bool
        Whether the classes of the rows stopped changing.
    """
    centroids = source
    codes = np.full(len(target.scale), -1)
    history: list[float] = []
    for _ in range(max_iter):
        similarity = target.dot(centroids)
        new = similarity.argmax(axis=1)
        history.append(float(similarity.max(axis=1).mean()) if len(new) else 0.0)
        if np.array_equal(new, codes):
            return centroids, codes, history, True
        codes = new
        means = unit_rows(target.sums(np.eye(len(source))[codes]))
        present = np.bincount(codes, minlength=len(source)) > 0
        moved = move_centroids(source, means, source_weight)
        centroids = np.where(present[:, None], moved, source)
    return centroids, target.dot(centroids).argmax(axis=1), history, False


def left_out_similarity(products: np.ndarray, sums: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the similarity of rows of length one to class centroids that exclude the row.

    Parameters
    ----------
    products : ndarray of shape (n_rows, n_classes)
        Products of the rows with ``sums``.
    sums : ndarray of shape (n_classes, n_features)
        Sum of the rows of each class.
    codes : ndarray of int of shape (n_rows,)
        Class of each row.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    lengths = np.linalg.norm(sums, axis=1)
    own = np.arange(len(codes)), codes
    # A row x of length one is removed from its sum s: (s − x)·x = s·x − 1, and |s − x|² = |s|² − 2·s·x + 1.
    without = np.sqrt(np.maximum(lengths[codes] ** 2 - 2 * products[own] + 1, 1e-12))
    similarity = products / np.maximum(lengths, 1e-12)
    similarity[own] = (products[own] - 1) / without
    return similarity


def move_centroids(source: np.ndarray, means: np.ndarray, source_weight: float) -> np.ndarray:
    """Return directions between the centroids of the source and the means of their target rows.

    Parameters
    ----------
    source, means : ndarray of shape (n_classes, n_features)
    source_weight : float
        Weight of the source centroids, 0 to 1.

    Returns
    -------
    ndarray of shape (n_classes, n_features)
        Rows of length one.
    """
    return unit_rows(source_weight * source + (1 - source_weight) * means)
