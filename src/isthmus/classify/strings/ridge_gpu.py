"""Kernel ridge regression on a device: the rows stay raw counts, the factor is single precision, the answer is double.

The matrix of the ridge, R·Rᵀ for the rows R of the aligned kernel, is multiplied and factorised once, with its rows in
single precision (tensor cores); that factor preconditions conjugate gradients in double precision, whose products with
R come from the counts, block by block. So the result is that of the CPU, and neither R nor R·Rᵀ is held in double.

Like :mod:`isthmus.features.gram_gpu`, every function takes the array module, and numpy stands in for CuPy.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._utils import warn
from isthmus.classify.strings.kernel_ridge import leave_one_out
from isthmus.exceptions import DataError
from isthmus.features.gram import inverse_roots
from isthmus.features.gram_gpu import SLACK, GramIndex, add_products, fill_rows, free_bytes, padded, spans, to_host

PANEL = 4_096  # columns of the rows made in one go
FACTOR_BLOCK = 2_048  # rows of the factor whose triangle is inverted
ROW_BLOCK = 2_048  # rows scored in one go
TOLERANCE = 1e-8  # of the residual, relative to the responses
MOST_STEPS = 300  # of conjugate gradients
DIRECTIONS = 256  # in which the rows are longest; solved for apart
POWER_STEPS = 2  # that find them
SHIFTS = (1e-3, 3e-2, 1.0)  # on the diagonal of the factor, in mean diagonal values, until it can be taken


def solve_bytes(n: int, n_train: int, itemsize: int) -> int:
    """Memory for the counts of n documents, the factor of the training rows, and the blocks in between."""
    panels = 3 * 8 * PANEL * n
    directions = 6 * 8 * DIRECTIONS * n
    return int(SLACK * (n * n * itemsize + 4 * n_train * (n_train + FACTOR_BLOCK) + panels + directions))


@dataclass
class DeviceRows:
    """Rows of the aligned kernel, made from the raw kernel when they are asked for."""

    xp: Any
    values: Any  # raw kernel of all documents; its diagonal is not looked at where unit is true
    roots: Any  # 1/√d, what a row and a column are multiplied with
    unit: bool  # ones on the diagonal of the normalised kernel
    curved: bool  # exp(K̂ − 1)
    centre: Any = None  # rows that are subtracted …
    group: Any = None  # … and which of them, for each row
    factor: Any = None  # what a row is multiplied with in the end

    def __post_init__(self):
        n = len(self.values)
        self.centre = self.xp.zeros((1, n))
        self.group = self.xp.zeros(n, np.int64)
        self.factor = self.xp.ones(n)

    @property
    def n(self) -> int:
        return len(self.values)

    def block(self, rows: Any, a: int, b: int, *, dtype: Any = np.float64) -> Any:
        return fill_rows(self.xp, self.values, rows, a, b, self, dtype)

    def align(self, how: str | None, domain: np.ndarray, target: np.ndarray) -> tuple[np.ndarray | None, float]:
        """Centre the rows as :class:`KernelRows` does; its centre and length for later documents are returned."""
        if how is None:
            return None, 1.0
        xp, n = self.xp, self.n
        blocks = [xp.arange(a, b) for a, b in spans(0, n, ROW_BLOCK)]
        whole = how == "mean" or not len(target)
        kinds, group = np.unique(np.zeros(n) if whole else domain, return_inverse=True)
        sums = xp.zeros((len(kinds), n))
        members = xp.asarray((group == np.arange(len(kinds))[:, None]).astype(float))
        for rows in blocks:
            sums += members[:, rows] @ self.block(rows, 0, n)
        self.centre = sums / members.sum(axis=1)[:, None]
        self.group = xp.asarray(group.astype(np.int64))
        squares = xp.concatenate([(self.block(rows, 0, n) ** 2).sum(axis=1) for rows in blocks])
        length = (float(squares.mean()) ** 0.5 or 1.0) if whole else 1.0
        self.factor = xp.full(n, 1.0 / length)
        if how == "domain":
            self.factor = 1.0 / xp.where(squares > 0, xp.sqrt(squares), 1.0)
        kept = 0 if whole else int(group[target[0]])
        return to_host(self.centre[kept]), length


class DeviceRidge:
    """The interface of :class:`GrowingRidge` on a device; ``most``: training rows in the end, room for their factor."""

    def __init__(self, rows: DeviceRows, alpha: float, *, linear: bool, most: int):
        self.rows = rows
        self.alpha = alpha
        self.linear = linear
        self.train = np.zeros(0, np.int64)
        self.n_steps = 0  # of conjugate gradients, of the last solution
        self.shift = 0.0  # on the diagonal of the factor, of the last extension
        self._xp = rows.xp
        free_bytes(self._xp)
        self._index = self._xp.zeros(0, np.int64)  # the training rows on the device
        self._factor = self._xp.zeros((most, padded(most)), np.float32)
        self._triangles: list[tuple[int, int, Any]] = []  # first row, last row + 1, inverse of the triangle there
        self._Q: Any = None  # long directions of the rows, and what follows from them

    # -- The factor

    def extend(self, new: np.ndarray) -> None:
        old = len(self.train)
        self.train = np.concatenate([self.train, new])
        self._index = self._xp.asarray(self.train)
        if self.linear:
            self._deflate(old)
        known = self._triangles
        for self.shift in SHIFTS:
            self._multiply(old)
            stretch = self._xp.arange(old, len(self.train))
            diagonal = self._factor[stretch, stretch]
            self._factor[stretch, stretch] = diagonal + np.float32(self.shift * float(diagonal.mean()) + self.alpha)
            self._triangles = known
            if self._factorise(old):
                break
        else:
            raise DataError(
                "The kernel of the training documents is not positive definite, which the ridge on a GPU needs; "
                "use device='cpu', or a kernel without negative eigenvalues.",
                code="bad-kernel",
            )
        if self.linear:
            self._correct()

    def _deflate(self, old: int) -> None:
        """Directions in which the rows are long, taken out of the factor: R·Rᵀ = (R − ZQ)(R − ZQ)ᵀ + ZZᵀ for Z = R·Qᵀ.

        Single precision could not hold their eigenvalues and the others at once.
        """
        xp = self._xp
        if self._Q is None:
            k = min(DIRECTIONS, max(1, len(self.train) // 4))
            drawn = np.random.RandomState(0).standard_normal((k, len(self.train)))
            self._Q = _orthonormal(xp, self._products(xp.asarray(drawn)))
            for _ in range(POWER_STEPS):
                self._Q = _orthonormal(xp, self._products(self.scores_on_device(self._Q, self._index)))
            self._Z = xp.zeros((k, 0))
        fresh = self.scores_on_device(self._Q, self._index[old:])
        self._Z = xp.concatenate([self._Z, fresh], axis=1)

    def _correct(self) -> None:
        """Where the factor, which lacks ZZᵀ, is far from the matrix: in the span U of what it makes of Z."""
        self._U = _orthonormal(self._xp, self._substitute(self._Z))
        self._AU = self._times(self._U)
        self._E = self._xp.linalg.inv(self._AU @ self._U.T)

    def _multiply(self, old: int) -> None:
        """The lower triangle of the new rows' kernel with all training rows, in single precision, into the factor."""
        xp, factor, total = self._xp, self._factor, len(self.train)
        factor[old:total, :total] = 0
        stripes = spans(old, total, FACTOR_BLOCK)
        if not self.linear:
            for a, b in stripes:
                block = self.rows.block(self._index[a:b], 0, self.rows.n, dtype=np.float32)
                factor[a:b, :b] = block[:, self._index[:b]]
            return
        Z = xp.ascontiguousarray(self._Z.T, dtype=np.float32)
        for start, stop, panel in self._panels(self._index, np.float32):
            add_products(xp, panel, Z, xp.ascontiguousarray(self._Q[:, start:stop].T, dtype=np.float32), sign=-1)
            for a, b in stripes:
                add_products(xp, factor[a:b, :b], panel[a:b], panel[:b], fast=True)

    def _factorise(self, old: int) -> bool:
        """Cholesky factor of the new rows, by blocks of columns; False where a block is not positive definite."""
        xp, factor, total = self._xp, self._factor, len(self.train)
        starts = [(a, b) for a, b, _ in self._triangles] + spans(old, total, FACTOR_BLOCK)
        for number, (a, b) in enumerate(starts):
            if a >= old:
                triangle = _cholesky(xp, factor[a:b, a:b])
                if triangle is None:
                    return False
                self._triangles = [*self._triangles, (a, b, xp.linalg.inv(triangle))]
                factor[a:b, a:b] = triangle
            first = max(old, b)
            below = xp.zeros((total - first, b - a), np.float32)
            add_products(xp, below, factor[first:total, a:b], self._triangles[number][2])
            factor[first:total, a:b] = below
            for c, d in spans(first, total, FACTOR_BLOCK):
                add_products(xp, factor[c:d, b:d], factor[c:d, a:b], factor[b:d, a:b], sign=-1, fast=True)
        return True

    def _precondition(self, X: Any) -> Any:
        """About A⁻¹, for right-hand sides in rows: exact in the span U, by the factor elsewhere."""
        if not self.linear:
            return self._substitute(X)
        along = (X @ self._U.T) @ self._E
        solved = self._substitute(X - along @ self._AU)
        return solved + (along - (solved @ self._AU.T) @ self._E) @ self._U

    def _substitute(self, X: Any) -> Any:
        xp, total = self._xp, len(self.train)
        x = X.astype(np.float32)
        for a, b, inverse in self._triangles:
            part = xp.ascontiguousarray(x[:, a:b])
            add_products(xp, part, x[:, :a], self._factor[a:b, :a], sign=-1)
            x[:, a:b] = part @ inverse.T
        for a, b, inverse in reversed(self._triangles):
            part = xp.ascontiguousarray(x[:, a:b])
            add_products(xp, part, x[:, b:], self._factor[b:total, a:b], sign=-1, flip=False)
            x[:, a:b] = part @ inverse
        return x.astype(np.float64)

    # -- Products in double precision, and the solution

    def _panels(self, rows: Any, dtype: Any = np.float64):
        for start, stop in spans(0, self.rows.n, PANEL):
            yield start, stop, self.rows.block(rows, start, stop, dtype=dtype)

    def _spread(self, X: Any) -> Any:
        whole = self._xp.zeros((len(X), self.rows.n))
        whole[:, self._index] = X
        return whole

    def _products(self, X: Any) -> Any:
        out = self._xp.empty((len(X), self.rows.n))
        for start, stop, panel in self._panels(self._index):
            out[:, start:stop] = X @ panel
        return out

    def _times(self, X: Any) -> Any:
        """X·(A + αI), each panel of rows made once."""
        if not self.linear:
            return self.scores_on_device(self._spread(X), self._index) + self.alpha * X
        total = self.alpha * X
        for _, _, panel in self._panels(self._index):
            total += (X @ panel) @ panel.T
        return total

    def _dual(self, Y: np.ndarray) -> Any:
        """Dual weights, one row per class: conjugate gradients, all classes in one product."""
        xp = self._xp
        B = xp.asarray(np.ascontiguousarray(Y.T, dtype=np.float64))
        X = xp.zeros_like(B)
        residual = B.copy()
        direction = solved = self._precondition(residual)
        along = (residual * solved).sum(axis=1)
        size = xp.sqrt((B * B).sum(axis=1))
        for self.n_steps in range(1, MOST_STEPS + 1):
            product = self._times(direction)
            curvature = (direction * product).sum(axis=1)
            step = xp.where(curvature > 0, along / xp.where(curvature > 0, curvature, 1.0), 0.0)[:, None]
            X += step * direction
            before = residual
            residual = residual - step * product
            if bool((xp.sqrt((residual * residual).sum(axis=1)) <= TOLERANCE * size).all()):
                return X
            solved = self._precondition(residual)
            # The change of the residual instead of the residual: forgives a preconditioner in single precision.
            change = ((residual - before) * solved).sum(axis=1)
            turn = xp.where(along > 0, change / xp.where(along > 0, along, 1.0), 0.0)[:, None]
            along = (residual * solved).sum(axis=1)
            direction = solved + turn * direction
        left = float((xp.sqrt((residual * residual).sum(axis=1)) / xp.where(size > 0, size, 1.0)).max())
        warn(
            f"The ridge on the GPU stopped after {MOST_STEPS} steps with a residual of {left:.1g}; "
            "a larger alpha makes it converge, device='cpu' solves it directly.",
            code="not-converged",
        )
        return X

    def weights(self, Y: np.ndarray) -> np.ndarray:
        dual = self._dual(Y)
        return np.ascontiguousarray(to_host(self._products(dual) if self.linear else dual).T)

    def scores_on_device(self, W: Any, rows: Any) -> Any:
        """W·Rᵀ for the given rows R, with one row of W per class."""
        out = self._xp.empty((len(W), len(rows)))
        for a, b in spans(0, len(rows), ROW_BLOCK):
            out[:, a:b] = W @ self.rows.block(rows[a:b], 0, self.rows.n).T
        return out

    def scores(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        W = self._xp.asarray(np.ascontiguousarray(weights.T))
        W = W if self.linear else self._spread(W)
        return np.ascontiguousarray(to_host(self.scores_on_device(W, self._xp.asarray(rows))).T)

    def held_out_scores(self, places: np.ndarray, Y: np.ndarray) -> np.ndarray:
        rows = self._index[self._xp.asarray(places)]
        if self.linear:
            kernel = sum(panel @ panel.T for _, _, panel in self._panels(rows))
        else:
            kernel = self.rows.block(rows, 0, self.rows.n)[:, rows]
        return leave_one_out(to_host(kernel), Y, self.alpha)


def new_scores(index: GramIndex, rows: Any, weights: np.ndarray) -> np.ndarray:
    """Scores of new documents, block by block: ``index`` has the known ones before its split, ``rows`` the settings."""
    xp, split, n = index.xp, index.split, len(index.diag)
    roots = xp.asarray(inverse_roots(index.diag))
    W = xp.asarray(weights)
    centre = None if rows.centre is None else xp.asarray(rows.centre)
    parts = []
    for a, b in spans(split, n, ROW_BLOCK):
        K = index.tile(a, b) * roots[a:b, None]
        K *= roots[:split]
        K = xp.exp(K - 1.0) if rows.use_rbf else K
        if centre is not None:
            K = (K - centre) / rows.length
        if rows.align == "domain":
            length = xp.sqrt((K * K).sum(axis=1))
            K /= xp.where(length > 0, length, 1.0)[:, None]
        parts.append(to_host(K @ W))
    return np.concatenate(parts)


def _orthonormal(xp: Any, X: Any) -> Any:
    """Rows of length one, at right angles, that span what the given rows span."""
    return xp.ascontiguousarray(xp.linalg.qr(X.T)[0].T)


def _cholesky(xp: Any, block: Any) -> Any:
    """Lower factor of a small block, or None where it is not positive definite."""
    raising: Any = nullcontext()
    if xp is not np:
        from cupyx import errstate  # type: ignore[import-not-found]

        raising = errstate(linalg="raise")
    try:
        with raising:
            lower = xp.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        return None
    return lower if bool(xp.isfinite(lower).all()) else None
