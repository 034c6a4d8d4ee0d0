"""The bipartite graph's Laplacian: equal to the square matrix it stands for."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.classify.dual.manifold import ManifoldSystem, normalised_edges
from isthmus_bench.baselines.least_squares import neighbour_laplacian


def random_matrix(seed, n=7, d=5, density=0.6):
    rng = np.random.RandomState(seed)
    return sp.csr_matrix(rng.rand(n, d) * (rng.rand(n, d) < density))


def square_laplacian(X):
    """Eq. 1, literally."""
    n, d = X.shape
    W = np.zeros((n + d, n + d))
    W[:n, n:] = X.toarray()
    W[n:, :n] = X.toarray().T
    degree = W.sum(axis=1)
    root = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
    return np.eye(n + d) - root[:, None] * W * root


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), power=st.integers(1, 4))
def test_product_equals_the_square_matrix(seed, power):
    X = random_matrix(seed)
    scores = np.random.RandomState(seed + 1).randn(12, 3)
    expected = np.linalg.matrix_power(square_laplacian(X), power) @ scores
    before = scores.copy()
    np.testing.assert_allclose(
        ManifoldSystem(X, np.zeros(12), 1.0, 1.0, power).smoothness(scores), expected, atol=1e-12
    )
    np.testing.assert_array_equal(scores, before)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_laplacian_is_not_negative_and_has_the_degrees_as_null_vector(seed):
    X = random_matrix(seed, density=0.9)
    M = ManifoldSystem(X, np.zeros(12), 1.0, 1.0, 1).smoothness(np.eye(12))
    np.testing.assert_allclose(M, M.T, atol=1e-12)
    assert np.linalg.eigvalsh(M).min() > -1e-10
    degrees = np.concatenate([np.asarray(X.sum(axis=1)).ravel(), np.asarray(X.sum(axis=0)).ravel()])
    np.testing.assert_allclose(M @ np.sqrt(degrees), 0.0, atol=1e-10)


def test_empty_rows_and_columns_are_nodes_without_edges():
    X = sp.csr_matrix(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0]]))
    edges = normalised_edges(X).toarray()
    assert np.isfinite(edges).all()
    np.testing.assert_array_equal(edges[1], 0)
    np.testing.assert_array_equal(edges[:, 1], 0)


@pytest.mark.parametrize("n_neighbors", [1, 3, 50])
def test_neighbour_graph_is_symmetric_and_not_negative(n_neighbors):
    L = neighbour_laplacian(random_matrix(0, 12, 4), n_neighbors).toarray()
    np.testing.assert_allclose(L, L.T, atol=1e-12)
    assert np.linalg.eigvalsh(L).min() > -1e-10
