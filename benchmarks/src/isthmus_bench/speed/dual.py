"""Speed of dual supervision: conjugate gradients that form nothing against LU of the whole system (Eq. 4)."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lu_factor, lu_solve

from isthmus._math.rows import unit_rows
from isthmus.classify.dual.manifold import ManifoldSystem
from isthmus_bench.engine.suite import SpeedCase


def make_problem(
    n: int, d: int, *, words_per_row: int = 80, power: int = 1, seed: int = 0
) -> tuple[ManifoldSystem, np.ndarray]:
    """Return a system and its right-hand side: two classes, Zipf-like words, a tenth of both sides labelled.

    The graph and the transposes are built here, outside the clock: both solvers start from them.
    """
    rng = np.random.RandomState(seed)
    chance = 1.0 / (10.0 + np.arange(d))
    columns = rng.choice(d, size=n * words_per_row, p=chance / chance.sum())
    rows = np.repeat(np.arange(n), words_per_row)
    X = unit_rows(sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, d)))
    targets = np.zeros((n + d, 2))
    labelled = rng.permutation(n + d)[: (n + d) // 10]
    targets[labelled, rng.randint(2, size=len(labelled))] = 1.0
    weights = targets.sum(axis=1)
    return ManifoldSystem(X, weights, 1.0, 1.0, power), weights[:, None] * targets


def solve_directly(system: ManifoldSystem, rhs: np.ndarray) -> np.ndarray:
    """Return the values of Eq. 4 by LU of the whole (n + d)² system."""
    X = system.X
    K = sp.block_diag([X @ X.T, X.T @ X]).toarray()
    A = system.mu * system.smoothness(K) + system.weights[:, None] * K
    A[np.diag_indices_from(A)] += system.gamma
    return K @ lu_solve(lu_factor(A, overwrite_a=True, check_finite=False), rhs, check_finite=False)


def compare(n: int, d: int) -> dict:
    """Return seconds of both solvers on one problem, and the relative difference of their values."""
    system, rhs = make_problem(n, d)
    begin = time.perf_counter()
    ours = system.solve(rhs, tol=1e-8, max_iter=1000)
    ours_s = time.perf_counter() - begin
    begin = time.perf_counter()
    peer = solve_directly(system, rhs)
    peer_s = time.perf_counter() - begin
    difference = np.linalg.norm(ours.values - peer) / np.linalg.norm(peer)
    return {
        "ours_s": ours_s,
        "peer": "LU of the (n + d)² system",
        "peer_s": peer_s,
        "n": n,
        "d": d,
        "steps": ours.n_iter,
        "difference": float(difference),
    }


def _case(n: int, d: int) -> SpeedCase:
    def run(folder: Path) -> dict:
        return compare(n, d)

    summary = "Eq. 4, linear kernels, two classes"
    return SpeedCase(f"manifold-{n}x{d}", "dual-manifold", run, summary=summary, quick=n <= 2_000)


CASES = (_case(500, 631), _case(2000, 3000), _case(5000, 10000))
