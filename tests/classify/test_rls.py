"""Baselines of dual supervision: least squares with and without a neighbour graph, and label-free groups."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.bench.baselines.bipartite import bipartite_groups
from isthmus.bench.baselines.laprls import LaplacianLeastSquares
from isthmus.bench.baselines.nmf import nmf_groups
from isthmus.bench.baselines.rls import KernelLeastSquares


def blocks(n=30, d=12, seed=0):
    rng = np.random.RandomState(seed)
    y = np.repeat([0, 1], n // 2)
    X = rng.poisson(np.where(y[:, None] == np.repeat([0, 1], d // 2), 2.0, 0.2)).astype(float)
    return sp.csr_matrix(X), y


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "cosine"])
def test_least_squares_equals_ridge_on_class_indicators(kernel):
    X, y = blocks()
    known = np.where(np.arange(30) % 3 == 0, y, -1)
    model = KernelLeastSquares(kernel=kernel, width=2.0, gamma=0.5).fit(X, known)
    rows = known >= 0
    A = X[rows].toarray()
    B = X.toarray()
    if kernel == "cosine":
        A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    if kernel == "gaussian":
        K, C = (np.exp(-((M[:, None] - A[None]) ** 2).sum(axis=2) / 8.0) for M in (A, B))
    else:
        K, C = A @ A.T, B @ A.T
    expected = C @ np.linalg.solve(K + 0.5 * np.eye(len(K)), np.eye(2)[known[rows]])
    np.testing.assert_allclose(model._scores(X), expected, atol=1e-6)


def test_unlabelled_rows_change_only_the_laplacian_variant():
    X, y = blocks()
    known = np.full(30, -1)
    known[[0, 29]] = y[[0, 29]]
    part = np.array([0, 29, 1, 2])
    for cls, same in ((KernelLeastSquares, True), (LaplacianLeastSquares, False)):
        whole = cls(width=2.0).fit(X, known)._scores(X[part])
        less = cls(width=2.0).fit(X[part], known[part])._scores(X[part])
        assert np.allclose(whole, less, atol=1e-6) == same


def test_laplacian_least_squares_labels_through_neighbours():
    X, y = blocks(60)
    known = np.full(60, -1)
    known[[0, 59]] = y[[0, 59]]
    model = LaplacianLeastSquares(n_neighbors=5).fit(X, known)
    assert np.mean(model.transduction_ == y) > 0.9


@pytest.mark.parametrize("group", [bipartite_groups, nmf_groups])
def test_groups_find_blocks_and_keep_empty_rows(group):
    X, y = blocks()
    X = sp.vstack([X, sp.csr_matrix((1, 12))], format="csr")
    X = sp.hstack([X, sp.csr_matrix((31, 1))], format="csr")
    groups = group(X, 2, random_state=0)
    assert len(groups) == 31
    agreement = np.mean(groups[:30] == y)
    assert max(agreement, 1 - agreement) > 0.9
