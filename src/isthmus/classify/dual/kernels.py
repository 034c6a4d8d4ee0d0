"""Kernels over documents and over words as operators: linear, cosine, Gaussian, and Gaussian through landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import row_blocks, unit_rows

BLOCK = 2048  # new rows are compared with fitted ones in blocks of this many


class Kernel(Protocol):
    """What the solvers ask of a kernel over the rows it was built on."""

    exact: bool

    def dot(self, a: np.ndarray) -> np.ndarray:
        """``K a``."""

    def dense(self) -> np.ndarray:
        """``K`` as an array."""

    def predictor(self, a: np.ndarray) -> Predictor:
        """The functions ``f_j(x) = Σ_i a_ij k(x, x_i)`` (Eq. 3), ready for new rows."""


@dataclass
class Predictor:
    """Functions of an RKHS at new rows. Linear kernels keep one weight per feature, Gaussian ones their rows."""

    weights: np.ndarray
    centres: sp.csr_matrix | None = None
    width: float = 1.0
    unit: bool = False

    def __call__(self, X: sp.spmatrix) -> np.ndarray:
        if self.unit:
            X = unit_rows(X)
        if self.centres is None:
            return np.asarray(X @ self.weights)
        return gaussian_times(X, self.centres, self.width, self.weights)


class LinearKernel:
    """``K = X Xᵀ``, kept as ``X``; ``unit=True`` first brings rows to length 1 (the cosine kernel)."""

    exact = True

    def __init__(self, X: sp.csr_matrix, unit: bool = False):
        self.X = unit_rows(X) if unit else X
        self.X_t = self.X.T.tocsr()
        self.unit = unit

    def dot(self, a: np.ndarray) -> np.ndarray:
        return np.asarray(self.X @ (self.X_t @ a))

    def dense(self) -> np.ndarray:
        return np.asarray((self.X @ self.X_t).toarray())

    def predictor(self, a: np.ndarray) -> Predictor:
        return Predictor(self.X_t @ a, unit=self.unit)


def shares_matrix(rows: Kernel, columns: Kernel) -> bool:
    """Whether two kernels are ``X Xᵀ`` and ``Xᵀ X`` of one matrix."""
    plain = isinstance(rows, LinearKernel) and isinstance(columns, LinearKernel)
    return plain and not rows.unit and not columns.unit  # type: ignore[attr-defined]


class GaussianKernel:
    """``exp(-|x - x'|² / 2σ²)`` as a dense matrix: exact, n² memory."""

    exact = True

    def __init__(self, X: sp.csr_matrix, width: float):
        self.X = X
        self.width = width
        self.K = gaussian(X, X, width)
        self.K[np.diag_indices_from(self.K)] = 1.0

    def dot(self, a: np.ndarray) -> np.ndarray:
        return self.K @ a

    def dense(self) -> np.ndarray:
        return self.K

    def predictor(self, a: np.ndarray) -> Predictor:
        return Predictor(a, centres=self.X, width=self.width)


class LandmarkKernel:
    """Gaussian kernel of rank ``r`` through landmark rows (Nyström): ``K ≈ Z Zᵀ``, ``Z = k(X, L) k(L, L)^{-1/2}``."""

    exact = False

    def __init__(self, X: sp.csr_matrix, width: float, landmarks: np.ndarray):
        self.centres = X[landmarks]
        self.width = width
        values, vectors = np.linalg.eigh(gaussian(self.centres, self.centres, width))
        kept = values > values.max() * 1e-10
        self.root = vectors[:, kept] / np.sqrt(values[kept])
        self.Z = gaussian_times(X, self.centres, width, self.root)

    def dot(self, a: np.ndarray) -> np.ndarray:
        return self.Z @ (self.Z.T @ a)

    def dense(self) -> np.ndarray:
        return self.Z @ self.Z.T

    def predictor(self, a: np.ndarray) -> Predictor:
        return Predictor(self.root @ (self.Z.T @ a), centres=self.centres, width=self.width)


def make_kernel(
    kind: str,
    X: sp.csr_matrix,
    *,
    width: float | None,
    quantile: float,
    max_exact: int,
    n_landmarks: int,
    rng: np.random.RandomState,
) -> Kernel:
    """The kernel called ``kind``.

    A Gaussian one over more than ``max_exact`` rows is approximated through ``n_landmarks`` random rows. Without
    ``width``, :func:`quantile_width` sets it.
    """
    if kind in ("linear", "cosine"):
        return LinearKernel(X, unit=kind == "cosine")
    if width is None:
        width = quantile_width(X, quantile, rng)
    if X.shape[0] <= max_exact:
        return GaussianKernel(X, width)
    size = min(n_landmarks, X.shape[0])
    return LandmarkKernel(X, width, np.sort(rng.choice(X.shape[0], size=size, replace=False)))


def quantile_width(X: sp.csr_matrix, quantile: float, rng: np.random.RandomState, sample: int = 1000) -> float:
    """The ``quantile`` of the pairwise Euclidean distances between rows (the paper takes 1 / number of classes)."""
    if X.shape[0] > sample:
        X = X[np.sort(rng.choice(X.shape[0], size=sample, replace=False))]
    distances = np.sqrt(squared_distances(X, X)[np.triu_indices(X.shape[0], k=1)])
    distances = distances[distances > 0]
    return float(np.quantile(distances, quantile)) if len(distances) else 1.0


def gaussian(X: sp.spmatrix, centres: sp.spmatrix, width: float) -> np.ndarray:
    values = squared_distances(X, centres)
    values *= -0.5 / (width * width)
    np.exp(values, out=values)
    return values


def gaussian_times(X: sp.spmatrix, centres: sp.spmatrix, width: float, weights: np.ndarray) -> np.ndarray:
    out = np.empty((X.shape[0], weights.shape[1]))
    for rows in row_blocks(X.shape[0], BLOCK):
        out[rows] = gaussian(X[rows], centres, width) @ weights
    return out


def squared_distances(X: sp.spmatrix, Y: sp.spmatrix) -> np.ndarray:
    values = np.asarray((X @ Y.T).toarray())
    values *= -2.0
    values += squared_norms(X)[:, None]
    values += squared_norms(Y)[None, :]
    np.maximum(values, 0.0, out=values)
    return values


def squared_norms(X: sp.spmatrix) -> np.ndarray:
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
