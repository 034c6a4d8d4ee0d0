"""The two methods of dual supervision against the paper's equations written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.classify.dual.base import balance, moments
from isthmus.classify.dual.factor import FactorFit
from isthmus.classify.dual.manifold import ManifoldSystem, word_influence

N, D, M = 12, 9, 3


def matrix(seed, n=N, d=D):
    rng = np.random.RandomState(seed)
    X = rng.rand(n, d) * (rng.rand(n, d) < 0.5)
    X[0, 0] = X[1, 1] = 1.0
    return sp.csr_matrix(X)


def labels(seed, size, count):
    rng = np.random.RandomState(seed + 17)
    targets, weights = np.zeros((size, M)), np.zeros(size)
    chosen = rng.permutation(size)[:count]
    targets[chosen, rng.randint(M, size=count)] = 1.0
    weights[chosen] = 0.5 + rng.rand(count)
    return targets, weights


def both_labels(seed):
    (rows, row_weights), (columns, column_weights) = labels(seed, N, 5), labels(seed + 1, D, 3)
    return np.concatenate([rows, columns]), np.concatenate([row_weights, column_weights])


def dense_kernels(X):
    X = X.toarray()
    return np.block([[X @ X.T, np.zeros((N, D))], [np.zeros((D, N)), X.T @ X]])


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), power=st.integers(1, 3))
def test_the_system_is_equation_4(seed, power):
    X, (targets, weights) = matrix(seed), both_labels(seed)
    system = ManifoldSystem(X, weights, 0.7, 1.3, power)
    K = dense_kernels(X)
    rhs = weights[:, None] * targets
    A = 0.7 * np.eye(N + D) + 1.3 * system.smoothness(K) + weights[:, None] * K
    found = system.solve(rhs, tol=1e-10, max_iter=1000)
    np.testing.assert_allclose(found.values, K @ np.linalg.solve(A, rhs), atol=1e-7)
    np.testing.assert_allclose(system.kernel(targets), K @ targets, atol=1e-12)
    # The decreases add up to Eq. 2 with nothing expanded.
    a, f = found.coefficients, found.values
    literal = 0.5 * 0.7 * np.sum(a * f) + 0.5 * 1.3 * np.sum(f * system.smoothness(f))
    literal += 0.5 * np.sum(weights[:, None] * (f - targets) ** 2)
    at_zero = 0.5 * np.sum(weights[:, None] * targets**2)
    assert at_zero - sum(found.decreases) == pytest.approx(literal, rel=1e-7)


def test_a_score_that_differs_by_rounding_is_not_divided_by_its_deviation():
    values = np.array([[1e6, 3.0], [1e6 + 1e-9, 5.0], [1e6, 7.0]])
    mean, deviation = moments(values)
    np.testing.assert_allclose(mean, [1e6, 5.0])
    np.testing.assert_allclose(deviation, [1.0, np.sqrt(8 / 3)])


def test_balanced_labels_have_equal_sums_per_class():
    targets = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.0, 0.0]])
    weights = balance(targets, np.array([1.0, 1.0, 1.0, 1.0, 0.0]))
    assert weights[0] == weights[1] < weights[2] < weights[3]
    assert weights[4] == 0
    only_words_of_one_class = balance(targets[:2], np.array([1.0, 3.0]))
    np.testing.assert_array_equal(only_words_of_one_class, [1.0, 3.0])


def fit_factor(seed, mu=0.5, cg_iter=200):
    X, (targets, weights) = matrix(seed), both_labels(seed)
    start = np.random.RandomState(seed).randn(N + D, M)
    return X, targets, weights, FactorFit(X, targets, weights, 0.05, mu, start, cg_iter, 1e-10)


@settings(max_examples=15)
@given(seed=st.integers(0, 1000))
def test_factor_objective_falls_at_every_block_step(seed):
    X, targets, weights, fit = fit_factor(seed)
    fit.descend(8, 0.0)
    assert np.all(np.diff(fit.history) <= 1e-9 * np.abs(fit.history[:-1]))
    # The reported objective is Eq. 7 with nothing expanded.
    (a, b), (F, G) = fit.coefficients, fit.values
    literal = 0.5 * 0.05 * (np.sum(a * F) + np.sum(b * G))
    literal += 0.5 * np.sum(weights[:, None] * (np.concatenate([F, G]) - targets) ** 2)
    literal += 0.25 * np.sum((X.toarray() - F @ fit.Q @ G.T) ** 2)
    np.testing.assert_allclose(fit.history[-1], literal, rtol=1e-8)


@pytest.mark.parametrize("side", [0, 1])
def test_factor_solves_the_paper_s_block_equations(side):
    X, targets, weights, fit = fit_factor(4, mu=0.2, cg_iter=2000)
    fit.solve_side(side)
    dense = X.toarray() if side == 0 else X.toarray().T
    K, part = dense @ dense.T, slice(0, N) if side == 0 else slice(N, None)
    J, Y, a = weights[part][:, None], targets[part], fit.coefficients[side]
    Q, other = fit.Q if side == 0 else fit.Q.T, fit.values[1 - side]
    Z = Q @ other.T @ other @ Q.T  # Eq. 11
    residual = 0.05 * a + J * (K @ a) + 0.2 * K @ a @ Z - (J * Y + 0.2 * dense @ other @ Q.T)
    # Components in the null space of K change no score.
    assert np.abs(K @ residual).max() < 1e-6
    # No small change of Q lowers the objective once Q is the best one (Eq. 8).
    fit.solve_q()
    F, G = fit.values
    gap = np.sum((X.toarray() - F @ fit.Q @ G.T) ** 2)
    for seed in range(5):
        changed = fit.Q + 1e-3 * np.random.RandomState(seed).randn(M, M)
        assert np.sum((X.toarray() - F @ changed @ G.T) ** 2) >= gap


def test_factor_survives_a_lost_class():
    _, _, _, fit = fit_factor(0)
    fit.values[0][:, 1] = 0.0
    fit.solve_q()
    assert np.isfinite(fit.Q).all()
    assert np.isfinite(fit.objective())


def test_influence_of_a_label_is_the_effect_of_the_label():
    X, (targets, weights) = matrix(5), both_labels(5)
    exact = {"tol": 1e-12, "max_iter": 2000}
    system = ManifoldSystem(X, weights, 0.7, 1.3, 1)
    values = system.solve(weights[:, None] * targets, **exact).values
    word, rows = int(np.flatnonzero(weights[N:] == 0)[0]), np.arange(N)
    for label in range(M):
        as_they_are, chances = (np.zeros(M), np.ones(M)), np.eye(M)[[label]]
        flips, change = word_influence(system, values, np.array([word]), chances, rows, as_they_are, **exact)[0]
        new_targets, new_weights = targets.copy(), weights.copy()
        new_targets[N + word, label], new_weights[N + word] = 1.0, 1.0
        taught = ManifoldSystem(X, new_weights, 0.7, 1.3, 1)
        new = taught.solve(new_weights[:, None] * new_targets, **exact).values[:N]
        assert change == pytest.approx(np.abs(new - values[:N]).mean(), rel=1e-5)
        assert flips == np.sum(new.argmax(axis=1) != values[:N].argmax(axis=1))
