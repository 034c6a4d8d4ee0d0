"""Class centroids that settle among rows without labels; rows are centred without being made dense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.rows import unit_rows

_BLOCK = 4_096  # rows squared in one go


@dataclass
class CentredRows:
    """Rows of length one, minus ``mean``, at length one again; kept as a product, so that sparse rows stay sparse."""

    rows: Any
    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def about(cls, rows: Any, mean: np.ndarray | None = None) -> CentredRows:
        rows = unit_rows(rows)
        if mean is None:
            mean = np.asarray(rows.mean(axis=0)).ravel()
        own = _squares(rows)
        squared = own - 2 * (rows @ mean) + mean @ mean
        # A row equal to the mean has no direction; rounding must not give it one. A row of zeros has nothing to say.
        scale = np.where((squared > 1e-12) & (own > 0), 1 / np.sqrt(np.maximum(squared, 1e-12)), 0.0)
        return cls(rows, mean, scale)

    def dot(self, directions: np.ndarray) -> np.ndarray:
        return self.scale[:, None] * (self.rows @ directions.T - self.mean @ directions.T)

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Weighted sums of the rows, one per column of ``weights``."""
        weights = weights * self.scale[:, None]
        return np.asarray((self.rows.T @ weights).T) - np.outer(weights.sum(axis=0), self.mean)


def _squares(rows: Any) -> np.ndarray:
    """Squared length of each row; dense rows block by block, so that no second matrix of their size is made."""
    if hasattr(rows, "multiply"):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    blocks = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
    return np.concatenate([np.zeros(0), *((block * block).sum(axis=1) for block in blocks)])


def settle(
    source: np.ndarray, target: CentredRows, *, source_weight: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, list[float], bool]:
    """Let class centroids move from where the source has them to where the target's rows are.

    In turn each target row goes to the most similar centroid, and each centroid becomes the direction of
    ``source_weight`` · (the source's centroid) + (1 − ``source_weight``) · (the mean of its target rows). Returns
    centroids, classes of rows, the mean similarity of each step, and whether the rows came to rest.
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
    """Similarity of rows of length one to class centroids that do not hold them.

    ``products`` are those of the rows with the classes' ``sums``, ``codes`` the rows' own classes.
    """
    lengths = np.linalg.norm(sums, axis=1)
    own = np.arange(len(codes)), codes
    # Taking a row of length one out of its sum s: (s − x)·x = s·x − 1, and |s − x|² = |s|² − 2·s·x + 1.
    without = np.sqrt(np.maximum(lengths[codes] ** 2 - 2 * products[own] + 1, 1e-12))
    similarity = products / np.maximum(lengths, 1e-12)
    similarity[own] = (products[own] - 1) / without
    return similarity


def move_centroids(source: np.ndarray, means: np.ndarray, source_weight: float) -> np.ndarray:
    """Directions between the source's centroids and the means of their target rows."""
    return unit_rows(source_weight * source + (1 - source_weight) * means)
