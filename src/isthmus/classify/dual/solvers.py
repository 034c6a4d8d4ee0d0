"""Conjugate gradients for ``γ a + B(K a) = b`` with ``K`` and ``B`` symmetric and not negative.

Manifold regularisation and both blocks of the tri-factorisation have this form. The operator ``A = γ + B K`` is not
symmetric, but it is self-adjoint in the inner product ``⟨a, b⟩ = aᵀ K b``. Conjugate gradients in that inner product
need one product with ``K`` and one with ``B`` per step and form neither of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Operator = Callable[[np.ndarray], np.ndarray]


class KernelSolution(NamedTuple):
    """Result of :func:`kernel_cg`."""

    coefficients: np.ndarray  # a
    values: np.ndarray  # K a
    n_iter: int
    residual: float  # relative, in the norm of K
    decreases: list[float]  # of the objective in each step, summed over the columns


def kernel_cg(
    kernel: Operator,
    penalty: Operator,
    gamma: float,
    rhs: np.ndarray,
    *,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    tol: float = 1e-10,
    max_iter: int = 200,
) -> KernelSolution:
    """Solve ``γ a + penalty(kernel(a)) = rhs`` for each column by conjugate gradients in the kernel's inner product.

    Each step lowers the regularised objective ``½ ⟨a, A a⟩ - ⟨a, b⟩``, so an early stop never makes it worse.
    Components of ``a`` in the null space of ``K`` change no prediction and remain.

    Parameters
    ----------
    kernel, penalty : callable
        Products with ``K`` and with ``B``.
    gamma : float
    rhs : ndarray of shape (n, n_columns)
    start : tuple of ndarray, optional
        ``a`` and ``K a`` to start from; zeros if omitted.
    tol : float
        Relative residual at which a column stops.
    max_iter : int

    Returns
    -------
    KernelSolution
    """
    if start is None:
        a, values = np.zeros_like(rhs), np.zeros_like(rhs)
        r = rhs.copy()
    else:
        a, values = start[0].copy(), start[1].copy()
        r = rhs - gamma * a - penalty(values)
    scale = np.maximum(np.sum(rhs * kernel(rhs), axis=0), np.finfo(float).tiny)
    z = kernel(r)
    rho = np.maximum(np.sum(r * z, axis=0), 0.0)
    p, kp = r.copy(), z.copy()
    done = 0
    goal = tol * tol * scale
    decreases = []
    while done < max_iter and np.any(rho > goal):
        q = gamma * p + penalty(kp)
        step = _ratio(rho, np.sum(kp * q, axis=0))
        decreases.append(float(0.5 * np.sum(step * rho)))
        a += step * p
        values += step * kp
        r -= step * q
        z = kernel(r)
        rho_next = np.maximum(np.sum(r * z, axis=0), 0.0)
        turn = _ratio(rho_next, rho)
        p = r + turn * p
        kp = z + turn * kp
        rho = rho_next
        done += 1
    return KernelSolution(a, values, done, float(np.sqrt(np.max(rho / scale))), decreases)


def _ratio(above: Any, below: Any) -> np.ndarray:
    """Return the quotient, 0 where a column has converged and there is nothing left to divide."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
