"""Ridge on growing training sets, leave-one-out, choice of confident rows, faults of kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.classify.strings.kernel_ridge import (
    GrowingRidge,
    centroid_scores,
    discriminant_responses,
    indicator,
    inverse_root,
    kernel_problem,
    leave_one_out,
    most_confident,
    rbf,
)


def rows_of(n, p, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


@settings(max_examples=25)
@given(seed=st.integers(0, 99), n_old=st.integers(2, 8), n_new=st.integers(1, 5), p=st.sampled_from([4, 30]))
def test_growing_equals_solving_at_once(seed, n_old, n_new, p):
    R = rows_of(20, p, seed)
    Y = rows_of(n_old + n_new, 2, seed + 1)
    grown = GrowingRidge(R, 0.1, linear=True)
    grown.extend(np.arange(n_old))
    grown.extend(np.arange(n_old, n_old + n_new))
    train = R[: n_old + n_new]
    expected = R @ train.T @ np.linalg.solve(train @ train.T + 0.1 * np.eye(len(train)), Y)
    np.testing.assert_allclose(grown.scores(grown.weights(Y), np.arange(20)), expected, rtol=1e-5, atol=1e-8)


def test_kernel_and_features_agree():
    R, Y, train = rows_of(12, 30), rows_of(6, 2, 1), np.arange(6)
    scores = []
    for matrix, linear in ((R, True), (R @ R.T, False)):
        ridge = GrowingRidge(matrix, 1e-3, linear=linear)
        ridge.extend(train)
        scores.append(ridge.scores(ridge.weights(Y), np.arange(12)))
    np.testing.assert_allclose(*scores)


def test_identical_rows_without_ridge_are_solved_all_the_same():
    R = np.vstack([rows_of(4, 9), rows_of(4, 9)])
    Y = np.vstack([rows_of(4, 2, 1)] * 2)
    ridge = GrowingRidge(R @ R.T, 0.0, linear=False)
    ridge.extend(np.arange(8))
    np.testing.assert_allclose(ridge.scores(ridge.weights(Y), np.arange(8)), Y, rtol=1e-5, atol=1e-8)


def test_leave_one_out_equals_leaving_one_out():
    R, Y = rows_of(9, 15), rows_of(9, 2, 1)
    A = R @ R.T
    expected = []
    for i in range(9):
        rest = np.delete(np.arange(9), i)
        expected.append(A[i, rest] @ np.linalg.solve(A[np.ix_(rest, rest)] + 0.5 * np.eye(8), Y[rest]))
    np.testing.assert_allclose(leave_one_out(A, Y, 0.5), expected, rtol=1e-5, atol=1e-8)


def test_discriminant_responses_are_orthonormal_and_centred():
    codes = np.array([0, 0, 1, 2, 2, 2, 1])
    Z = discriminant_responses(codes, 3)
    assert Z.shape == (7, 2)
    np.testing.assert_allclose(Z.sum(axis=0), 0, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(Z.T @ Z, 7 * np.eye(2), rtol=1e-5, atol=1e-8)
    centres = np.array([Z[codes == c][0] for c in range(3)])
    np.testing.assert_array_equal(centroid_scores(Z, centres, 1.0).argmax(axis=1), codes)


def test_most_confident_with_and_without_balance():
    scores = np.array([[0.9, 0], [0.8, 0], [0.7, 0], [0, 0.2], [0, 0.1]])
    assert most_confident(scores, 3).tolist() == [0, 1, 2]
    assert sorted(most_confident(scores, 4, balanced=True).tolist()) == [0, 1, 3, 4]
    assert len(most_confident(scores, 5, balanced=True)) == 5


def test_indicator_and_rbf():
    assert indicator(np.array([1, 0]), 2).tolist() == [[-1, 1], [1, -1]]
    np.testing.assert_allclose(rbf(np.array([[1.0, 0.0]])), [[1.0, np.exp(-1)]], rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    ("K", "word"),
    [
        (np.zeros((2, 3)), "square"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
        (np.array([[1.0, 0.5], [0.1, 1.0]]), "symmetric"),
        (np.array([[-1.0, 0.0], [0.0, 1.0]]), "negative"),
    ],
)
def test_faults_of_a_kernel_are_named(K, word):
    assert word in kernel_problem(K)


def test_a_sound_kernel_has_no_fault():
    assert kernel_problem(np.eye(3)) is None
    assert kernel_problem(np.diag([1.0, 0.0])) is None  # an empty document is like nothing, also not like itself


def test_inverse_root():
    R = rows_of(5, 8)
    K = R @ R.T
    root = inverse_root(K)
    np.testing.assert_allclose(root @ K @ root, np.eye(5), rtol=1e-5, atol=1e-8)


def test_weights_of_more_rows_than_columns_have_no_part_where_the_rows_have_none():
    """Directions without weight kept: rows (1, 1), (1, 1), (2, 2) say nothing about (1, −1)."""
    ridge = GrowingRidge(np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]]), 0.0, linear=True)
    ridge.extend(np.arange(3))
    weights = ridge.weights(np.array([[1.0], [0.0], [0.0]]))
    assert weights.ravel() == pytest.approx([1 / 12, 1 / 12])  # RᵀR is 6 everywhere: its eigenvalues are 12 and 0


def test_ridge_drops_directions_without_weight():
    """The eigenvalue cut: a kernel of rank one must not be inverted in its null space."""
    row = np.array([1.0, 2.0, 2.0])
    K = np.outer(row, row)
    ridge = GrowingRidge(K, 0.0, linear=False)
    ridge.extend(np.arange(3))
    ridge._factor = None  # as after a failed Cholesky factorisation
    weights = ridge.dual(np.array([[1.0], [0.0], [0.0]]))
    assert weights.ravel() == pytest.approx(row / 81)  # the pseudo-inverse, by hand: 1/9 · u·uᵀ/9 with |row|² = 9
    assert np.abs(weights).max() < 1
