"""Ridge regression on the rows of a symmetric kernel in a few steps, without the products of these rows.

For training rows T of a kernel R between all documents, (R_T·R_Tᵀ + αI)·a = y is solved by conjugate gradients. Most of
R_T·R_Tᵀ is the square of R_TT, so with P = R_TT + δI the matrix P⁻¹(R_T·R_Tᵀ + αI)P⁻¹ is close to the identity, and
about seven steps make the residual ten thousand times smaller. The factor of P and the steps are in single precision;
residuals are in double precision, and what they leave is solved for again.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import strsm, strsv
from scipy.linalg.lapack import spotrf

TOLERANCE = 1e-7  # of the residual, relative to the responses
GAIN = 1e-4  # what single precision can take off a residual before it is computed anew
MOST_ROUNDS, MOST_STEPS = 6, 25  # a kernel that needs more is left to the direct solution
SAME = 1e-13  # rows whose sums are nearer than this, relative to the largest, may be equal
STRIP = 256  # rows copied in one go


def solve_in_steps(R: np.ndarray, train: np.ndarray | slice, Y: np.ndarray, alpha: float) -> np.ndarray | None:
    """R_trainᵀ·a for the ridge's dual weights a; None where R is not symmetric or the residual does not vanish.

    Rows of R may have been centred by one row for all (``align="mean"``): without its mean, each is symmetric again.
    """
    rows = _Rows(R, train)
    known, means = _symmetric_up_to_means(R)
    if not known:
        return None
    P, H = rows.split(means)
    total = rows.transposed_times(np.ones((rows.n, 1)))  # one column each: of the direction that all rows share
    along = rows.times(total)
    Y = _mean_of_equal_rows(rows, along[:, 0], Y)
    along += alpha
    system = _Preconditioned.build(P, H, None if means is None else means[train], R.shape[1], alpha)
    if system is None:
        return None
    a, s = np.zeros(Y.shape), Y
    norm = np.maximum(np.linalg.norm(Y, axis=0), 1e-300)
    left = 1.0
    for _ in range(MOST_ROUNDS):
        a += system.solve(s, max(GAIN, TOLERANCE / (4 * left)))
        weights = rows.transposed_times(a)
        s = Y - rows.times(weights) - alpha * a
        # The kernel is greatest by far along the constant, where a small residual is a large error: take that out.
        constant = s.sum(axis=0) / along.sum()
        a, weights, s = a + constant, weights + total * constant, s - along * constant
        before, left = left, float(np.max(np.linalg.norm(s, axis=0) / norm))
        if left <= TOLERANCE:
            return weights
        if not left < before:
            break
    return None


class _Rows:
    """The training rows of a matrix, multiplied without a copy of them."""

    def __init__(self, R: np.ndarray, train: np.ndarray | slice):
        self.R, self.train, self.n = R, train, len(R[train]) if isinstance(train, slice) else len(train)
        self.own = R[train] if isinstance(train, slice) else None

    def transposed_times(self, a: np.ndarray) -> np.ndarray:
        if self.own is not None:
            return self.own.T @ a
        padded = np.zeros((len(self.R), a.shape[1]))  # to multiply by all rows takes less time than to copy these
        padded[self.train] = a
        return self.R.T @ padded

    def times(self, weights: np.ndarray) -> np.ndarray:
        return self.own @ weights if self.own is not None else (self.R @ weights)[self.train]

    def split(self, means: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the training documents, from the diagonal on, and of all others, less the rows' means; single."""
        train = np.arange(len(self.R))[self.train]
        others = np.ones(len(self.R), bool)
        others[train] = False
        others = np.flatnonzero(others)
        P, H = np.empty((self.n, self.n), np.float32), np.empty((self.n, len(others)), np.float32)
        for start in range(0, self.n, STRIP):
            strip = slice(start, start + STRIP)
            part = self.R[train[strip]] if self.own is None else self.own[strip]
            if means is not None:
                part = part - means[train[strip], None]
            P[strip, start:], H[strip] = part[:, as_run(train[start:])], part[:, as_run(others)]
        return P, H


def as_run(index: np.ndarray) -> slice | np.ndarray:
    """Row numbers; a run of neighbours (the source, as a rule) as a slice, which saves a copy of the rows."""
    if len(index) and index[-1] - index[0] == len(index) - 1 and np.all(np.diff(index) == 1):
        return slice(index[0], index[-1] + 1)
    return index


def _symmetric_up_to_means(R: np.ndarray) -> tuple[bool, np.ndarray | None]:
    """Whether R is symmetric, as it is or less the mean of each row (then these), judged by a few rows."""
    some = np.unique(np.linspace(0, len(R) - 1, 8).astype(int))
    slack = 1e-9 * float(np.abs(R[some]).max())
    if np.abs(R[some] - R[:, some].T).max() <= slack:
        return True, None
    means = R.mean(axis=1)
    apart = (R[some] - means[some, None]) - (R[:, some] - means[:, None]).T
    return bool(np.abs(apart).max() <= slack), means


def _mean_of_equal_rows(rows: _Rows, sums: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Responses averaged over equal rows: the same weights, and no dual weight as large as 1/α to be rounded."""
    order = np.argsort(sums, kind="stable")
    same = np.flatnonzero(np.diff(sums[order]) <= SAME * np.abs(sums).max())
    if not len(same):
        return Y
    train, first = np.arange(len(rows.R))[rows.train], np.arange(rows.n)
    for place in same:
        one, other = order[place], order[place + 1]
        if np.allclose(rows.R[train[one]], rows.R[train[other]], rtol=0, atol=1e-12):
            first[other] = first[one]
    averaged = np.zeros(Y.shape)
    np.add.at(averaged, first, Y)
    return averaged[first] / np.bincount(first)[first][:, None]


class _Preconditioned:
    """P⁻¹(R_T·R_Tᵀ + αI)P⁻¹ for R_T = [P − δI, H] + means, where P⁻¹P is never multiplied out."""

    def __init__(self, factor, H, means, width, alpha, shift):
        self.factor, self.H, self.means, self.width, self.alpha, self.shift = factor, H, means, width, alpha, shift

    @classmethod
    def build(cls, P, H, means, width, alpha) -> _Preconditioned | None:
        places = np.diag_indices(len(P))
        shift = max(np.sqrt(alpha), 1e-3 * float(P[places].mean()))
        P[places] += np.float32(shift)
        # Transposed, the symmetric matrix lies as LAPACK wants it.
        factor, problem = spotrf(P.T, lower=1, clean=0, overwrite_a=1)
        return None if problem else cls(factor, H, means, width, alpha, shift)

    def _divide(self, V: np.ndarray) -> np.ndarray:
        V = V.astype(np.float32)
        if V.shape[1] == 1:
            return strsv(self.factor, strsv(self.factor, V[:, 0], lower=1), lower=1, trans=1)[:, None]
        return strsm(1.0, self.factor, strsm(1.0, self.factor, V, lower=1), lower=1, trans_a=1)

    def _apply(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The matrix times V, and P⁻¹V."""
        Z = self._divide(V).astype(np.float64)
        thin = Z.astype(np.float32)
        inner = self.H @ (self.H.T @ thin) + (self.shift**2 + self.alpha) * Z - 2 * self.shift * V
        if self.means is not None:
            inner += self.width * np.outer(self.means, self.means @ Z)
        return V + self._divide(inner), Z

    def solve(self, S: np.ndarray, gain: float) -> np.ndarray:
        """Dual weights for the responses S, until the residual is ``gain`` times as large as at first."""
        R = self._divide(S).astype(np.float64)
        direction, squares = R, (R * R).sum(axis=0)
        found, goal = np.zeros(S.shape), gain**2 * squares
        for _ in range(MOST_STEPS):
            if np.all(squares <= goal):
                break
            product, Z = self._apply(direction)
            curved = (direction * product).sum(axis=0)
            step = np.divide(squares, curved, out=np.zeros_like(squares), where=curved > 0)
            found += Z * step
            R = R - product * step
            squares, before = (R * R).sum(axis=0), squares
            direction = R + direction * np.divide(squares, before, out=np.zeros_like(before), where=before > 0)
        return found
