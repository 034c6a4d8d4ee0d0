"""Linear systems of kernel methods: ``Γ a + B(K a) = b`` with ``K`` and ``B`` symmetric and not negative.

Manifold regularisation and both blocks of the tri-factorisation of dual supervision have this form. The operator
``A = Γ + B K`` is not symmetric, but self-adjoint in the inner product ``⟨a, b⟩ = aᵀ K b``; conjugate gradients in that
inner product need one product with ``K`` and one with ``B`` per step and never form either.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg

Operator = Callable[[np.ndarray], np.ndarray]


@dataclass
class KernelSolution:
    """Coefficients ``a``, values ``K a``, steps taken and the relative residual that is left (in the K-norm).

    ``decreases`` says by how much each step lowered the objective, summed over the columns.
    """

    coefficients: np.ndarray
    values: np.ndarray
    n_iter: int
    residual: float
    decreases: list[float] = field(default_factory=list)


def kernel_cg(
    kernel: Operator,
    penalty: Operator,
    gamma: np.ndarray | float,
    rhs: np.ndarray,
    *,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    tol: float = 1e-10,
    max_iter: int = 200,
    coupled: bool = False,
) -> KernelSolution:
    """Conjugate gradients for ``γ a + penalty(kernel(a)) = rhs`` in the kernel's inner product, one system per column.

    ``gamma`` is constant on each block of a block-diagonal kernel, so that it commutes with it; ``start`` is (``a``,
    ``K a``); ``coupled`` where ``penalty`` mixes columns: then one step length serves the whole array. Each step lowers
    the regularised objective ``½ ⟨a, A a⟩ - ⟨a, b⟩``, so stopping early never makes it worse. Components of ``a`` in
    the null space of ``K`` change no prediction and stay.
    """
    axis = None if coupled else 0
    if start is None:
        a, values = np.zeros_like(rhs), np.zeros_like(rhs)
        r = rhs.copy()
    else:
        a, values = start[0].copy(), start[1].copy()
        r = rhs - gamma * a - penalty(values)
    scale = np.maximum(np.sum(rhs * kernel(rhs), axis=axis), np.finfo(float).tiny)
    z = kernel(r)
    rho = np.maximum(np.sum(r * z, axis=axis), 0.0)
    p, kp = r.copy(), z.copy()
    done = 0
    goal = tol * tol * scale
    decreases = []
    while done < max_iter and np.any(rho > goal):
        q = gamma * p + penalty(kp)
        curvature = np.sum(kp * q, axis=axis)
        step = _ratio(rho, curvature)
        decreases.append(float(0.5 * np.sum(step * rho)))
        a += step * p
        values += step * kp
        r -= step * q
        z = kernel(r)
        rho_next = np.maximum(np.sum(r * z, axis=axis), 0.0)
        turn = _ratio(rho_next, rho)
        p = r + turn * p
        kp = z + turn * kp
        rho = rho_next
        done += 1
    return KernelSolution(a, values, done, float(np.sqrt(np.max(rho / scale))), decreases)


def _ratio(above: Any, below: Any) -> np.ndarray:
    """Quotient, 0 where a finished column has nothing left to divide."""
    return np.divide(above, below, out=np.zeros_like(np.asarray(above, dtype=float)), where=np.asarray(below) > 0)


def solve_in_place(A: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """``A⁻¹ rhs`` by LU with partial pivoting; ``A`` is overwritten."""
    factors = scipy.linalg.lu_factor(A, overwrite_a=True, check_finite=False)
    return np.asarray(scipy.linalg.lu_solve(factors, rhs, check_finite=False))


def diagonal_direct(kernel: np.ndarray, diagonal: np.ndarray, gamma: float, rhs: np.ndarray) -> np.ndarray:
    """``(γ I + D K)⁻¹ rhs`` for a diagonal ``D``: by Cholesky of ``γ I + √D K √D``, by LU where ``D`` has zeros.

    Also by LU where rounding of a very large ``D`` or ``K`` has swallowed γ, so that the matrix is no longer positive.
    """
    if diagonal.min() > 1e-12 * diagonal.max():
        root = np.sqrt(diagonal)
        A = root[:, None] * kernel * root
        A[np.diag_indices_from(A)] += gamma
        with suppress(np.linalg.LinAlgError):
            factor = scipy.linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
            return root * scipy.linalg.cho_solve(factor, rhs / root, check_finite=False)
    A = diagonal[:, None] * kernel
    A[np.diag_indices_from(A)] += gamma
    return solve_in_place(A, rhs)
