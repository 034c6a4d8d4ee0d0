"""Conjugate gradients in the kernel's inner product against dense solutions."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.classify.dual.solvers import kernel_cg


def positive(rng, n, rank=None):
    root = rng.randn(n, rank or n)
    return root @ root.T


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 15), rank=st.integers(1, 15), columns=st.integers(1, 3))
def test_values_equal_the_direct_solution(seed, n, rank, columns):
    rng = np.random.RandomState(seed)
    K, B = positive(rng, n, min(rank, n)), positive(rng, n) / n
    rhs = rng.randn(n, columns)
    found = kernel_cg(lambda a: K @ a, lambda v: B @ v, 0.5, rhs, tol=1e-12, max_iter=500)
    expected = K @ np.linalg.solve(0.5 * np.eye(n) + B @ K, rhs)
    np.testing.assert_allclose(found.values, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))
    np.testing.assert_allclose(K @ found.coefficients, found.values, atol=1e-6 * max(1.0, np.abs(expected).max()))


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), steps=st.integers(0, 6))
def test_stopping_early_never_raises_the_objective(seed, steps):
    rng = np.random.RandomState(seed)
    n = 8
    K, B, rhs = positive(rng, n), positive(rng, n), rng.randn(n, 2)

    def objective(a):
        v = K @ a
        return 0.5 * np.sum(0.3 * a * v) + 0.5 * np.sum(v * (B @ v)) - np.sum(v * rhs)

    a = rng.randn(n, 2)
    found = kernel_cg(lambda x: K @ x, lambda v: B @ v, 0.3, rhs, start=(a, K @ a), max_iter=steps)
    before, after = objective(a), objective(found.coefficients)
    assert after <= before + 1e-8 * abs(before)
    np.testing.assert_allclose(before - after, sum(found.decreases), rtol=1e-5, atol=1e-6 * abs(before))
    assert all(step >= 0 for step in found.decreases)


def test_zero_right_hand_side_takes_no_step():
    found = kernel_cg(lambda a: a, lambda v: v, 1.0, np.zeros((4, 2)))
    assert found.n_iter == 0
    np.testing.assert_array_equal(found.values, 0)
