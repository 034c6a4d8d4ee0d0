"""Baselines of dual supervision: least squares with and without a neighbour graph, and label-free groups."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus_bench.baselines.groups import cocluster, factorise, nmf_groups
from isthmus_bench.baselines.least_squares import KernelLeastSquares, LaplacianLeastSquares, neighbour_laplacian


def blocks(n=30, d=12, seed=0):
    rng = np.random.RandomState(seed)
    y = np.repeat([0, 1], n // 2)
    X = rng.poisson(np.where(y[:, None] == np.repeat([0, 1], d // 2), 2.0, 0.2)).astype(float)
    return sp.csr_matrix(X), y


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "cosine"])
def test_least_squares_equals_ridge_on_class_indicators(kernel):
    X, y = blocks()
    known = np.where(np.arange(30) % 3 == 0, y, -1)
    model = KernelLeastSquares(kernel=kernel, width=2.0, gamma=0.5, class_normalisation=None).fit(X, known)
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
        model = cls(width=2.0, class_normalisation=None)
        whole = model.fit(X, known)._scores(X[part])
        less = model.fit(X[part], known[part])._scores(X[part])
        assert np.allclose(whole, less, atol=1e-6) == same


@pytest.mark.parametrize("cls", [KernelLeastSquares, LaplacianLeastSquares])
def test_class_normalisation_by_hand(cls):
    X, y = blocks(60)
    X = sp.csr_matrix(X.toarray() + np.random.RandomState(1).rand(60, 12))  # no two neighbours equally far
    known = np.where((np.arange(60) < 12) | (np.arange(60) == 59), y, -1)  # twelve labels against one
    plain = cls(kernel="linear", gamma=0.5, class_normalisation=None).fit(X, known)
    model = cls(kernel="linear", gamma=0.5).fit(X, known)
    rows = np.flatnonzero(known >= 0) if cls is KernelLeastSquares else np.arange(60)
    weights = np.where(known == 0, 13 / 2 / 12, np.where(known == 1, 13 / 2, 0.0))[rows]  # equal sums, the same total
    K = (X @ X.T).toarray()
    B = np.diag(weights)
    if cls is LaplacianLeastSquares:
        B = B + neighbour_laplacian(X, 10).toarray()
    Y = np.eye(2)[known[rows]] * (known[rows] >= 0)[:, None]
    values = K[:, rows] @ np.linalg.solve(0.5 * np.eye(len(rows)) + B @ K[np.ix_(rows, rows)], weights[:, None] * Y)
    free = values[known < 0]
    expected = (values - free.mean(axis=0)) / free.std(axis=0)
    np.testing.assert_allclose(model._scores(X), expected, atol=1e-5)
    assert not np.allclose(plain._scores(X), expected, atol=1e-2)


def test_factors_are_alternating_ridge_solutions_cut_at_zero():
    X, _ = blocks()
    W, _ = factorise(X, 3, 0, max_iter=1)
    A, start = X.toarray(), np.random.RandomState(0).rand(30, 3)
    H = np.maximum(np.linalg.solve(start.T @ start + 0.5 * np.eye(3), start.T @ A), 0.0)
    expected = np.maximum(np.linalg.solve(H @ H.T + 0.5 * np.eye(3), H @ A.T).T, 0.0)
    np.testing.assert_allclose(W, expected, atol=1e-10)
    W, H = factorise(X, 2, 0)
    left = np.linalg.norm(A - W @ H) / np.linalg.norm(A)
    best = np.sqrt(np.sum(np.linalg.svd(A, compute_uv=False)[2:] ** 2)) / np.linalg.norm(A)
    assert best <= left < 1.2 * best


def test_laplacian_least_squares_labels_through_neighbours():
    X, y = blocks(60)
    known = np.full(60, -1)
    known[[0, 59]] = y[[0, 59]]
    model = LaplacianLeastSquares(n_neighbors=5).fit(X, known)
    assert np.mean(model.transduction_ == y) > 0.9


@pytest.mark.parametrize("group", [cocluster, nmf_groups])
def test_groups_find_blocks_and_keep_empty_rows(group):
    X, y = blocks()
    X = sp.vstack([X, sp.csr_matrix((1, 12))], format="csr")
    X = sp.hstack([X, sp.csr_matrix((31, 1))], format="csr")
    groups = group(X, 2, random_state=0)
    assert len(groups) == 31
    agreement = np.mean(groups[:30] == y)
    assert max(agreement, 1 - agreement) > 0.9
