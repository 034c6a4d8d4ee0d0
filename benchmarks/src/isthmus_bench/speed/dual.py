"""Speed of dual supervision: conjugate gradients that form nothing against LU of the whole system (Eq. 4)."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import unit_rows
from isthmus.classify.dual.kernels import LinearKernel
from isthmus.classify.dual.laplacian import BipartiteLaplacian
from isthmus.classify.dual.manifold_system import ManifoldProblem, solve_manifold
from isthmus_bench.engine.suite import SpeedCase


def make_problem(n: int, d: int, *, words_per_row: int = 80, power: int = 1, seed: int = 0) -> ManifoldProblem:
    """Two classes of synthetic documents with Zipf-like words, rows of length 1, a tenth of both sides labelled.

    The graph, the kernels and their transposes are built here, outside the clock: both solvers start from them.
    """
    rng = np.random.RandomState(seed)
    chance = 1.0 / (10.0 + np.arange(d))
    columns = rng.choice(d, size=n * words_per_row, p=chance / chance.sum())
    rows = np.repeat(np.arange(n), words_per_row)
    X = unit_rows(sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, d)))
    targets = np.zeros((n + d, 2))
    labelled = rng.permutation(n + d)[: (n + d) // 10]
    targets[labelled, rng.randint(2, size=len(labelled))] = 1.0
    return ManifoldProblem(
        LinearKernel(X),
        LinearKernel(X.T.tocsr()),
        BipartiteLaplacian(X, power),
        targets,
        targets.sum(axis=1),
        np.ones((n + d, 1)),
        1.0,
    )


def compare(n: int, d: int) -> dict:
    """Seconds of both solvers on one problem, and the relative difference of their values."""
    problem = make_problem(n, d)
    begin = time.perf_counter()
    ours = solve_manifold(problem, solver="cg", tol=1e-8)
    ours_s = time.perf_counter() - begin
    begin = time.perf_counter()
    peer = solve_manifold(problem, solver="direct")
    peer_s = time.perf_counter() - begin
    difference = np.linalg.norm(ours.values - peer.values) / np.linalg.norm(peer.values)
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
