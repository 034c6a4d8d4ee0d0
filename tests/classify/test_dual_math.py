"""The two methods of dual supervision against the paper's equations written out."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.classify.dual.base import moments
from isthmus.classify.dual.factorisation import FactorFit, Side, best_q, fit_factor, label_loss, objective, parabola
from isthmus.classify.dual.kernels import (
    GaussianKernel,
    LandmarkKernel,
    LinearKernel,
    make_kernel,
    quantile_width,
    shares_matrix,
    squared_distances,
)
from isthmus.classify.dual.laplacian import BipartiteLaplacian
from isthmus.classify.dual.manifold_system import LOSSES, ManifoldProblem, signs_of, solve_manifold, word_influence

N, D, M = 12, 9, 3


def matrix(seed, n=N, d=D):
    rng = np.random.RandomState(seed)
    X = rng.rand(n, d) * (rng.rand(n, d) < 0.5)
    X[0, 0] = X[1, 1] = 1.0
    return sp.csr_matrix(X)


def labels(seed, size, count, classes=M):
    rng = np.random.RandomState(seed + 17)
    targets, weights = np.zeros((size, classes)), np.zeros(size)
    chosen = rng.permutation(size)[:count]
    targets[chosen, rng.randint(classes, size=count)] = 1.0
    weights[chosen] = 0.5 + rng.rand(count)
    return targets, weights


def problem(seed, kind="gaussian", power=1):
    X = matrix(seed)
    kernels = [_kernel(kind, rows) for rows in (X, X.T.tocsr())]
    rows, row_weights = labels(seed, N, 5)
    columns, column_weights = labels(seed + 1, D, 3)
    gamma = np.concatenate([np.full((N, 1), 0.7), np.full((D, 1), 0.4)])
    targets, weights = np.concatenate([rows, columns]), np.concatenate([row_weights, column_weights])
    return ManifoldProblem(*kernels, BipartiteLaplacian(X, power), targets, weights, gamma, 1.3)


def _kernel(kind, rows):
    return GaussianKernel(rows, 0.8) if kind == "gaussian" else LinearKernel(rows, unit=kind == "cosine")


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), kind=st.sampled_from(["gaussian", "linear", "cosine"]), power=st.integers(1, 3))
def test_both_solvers_solve_equation_4(seed, kind, power):
    given_ = problem(seed, kind, power)
    K = given_.dense_kernel()
    MK = given_.graph.dot(K)
    A = np.diag(given_.gamma.ravel()) + given_.mu * MK + given_.weights[:, None] * K
    expected = K @ np.linalg.solve(A, given_.weights[:, None] * given_.targets)
    for solver in ("direct", "cg"):
        found = solve_manifold(given_, solver=solver, tol=1e-10)
        assert found.converged
        np.testing.assert_allclose(found.values, expected, atol=1e-7)
        assert np.all(np.diff(found.history) <= 1e-12)
        # The last objective is Eq. 2 with nothing expanded.
        a, f = found.coefficients, found.values
        literal = 0.5 * np.sum(given_.gamma * a * f) + 0.5 * given_.mu * np.sum(f * given_.graph.dot(f))
        literal += 0.5 * np.sum(given_.weights[:, None] * (f - given_.targets) ** 2)
        assert found.history[-1] == pytest.approx(literal, rel=1e-7)
    np.testing.assert_allclose(given_.kernel(given_.targets), K @ given_.targets, atol=1e-12)


def test_the_direct_way_needs_one_step_where_gradients_need_many():
    given_ = problem(0, "gaussian", 1)
    direct = solve_manifold(given_, solver="direct", max_iter=1)
    gradients = solve_manifold(given_, solver="cg", max_iter=1)
    assert (direct.converged, direct.n_iter, len(direct.history)) == (True, 1, 2)
    assert not gradients.converged
    assert direct.history[-1] < gradients.history[-1]


def test_a_score_that_differs_by_rounding_alone_is_left_where_it_is():
    """Divided by its deviation it would become noise as large as the scores of the other classes."""
    values = np.array([[1e6, 3.0], [1e6 + 1e-9, 5.0], [1e6, 7.0]])
    mean, deviation = moments(values, True)
    np.testing.assert_allclose(mean, [1e6, 5.0])
    np.testing.assert_allclose(deviation, [1.0, np.sqrt(8 / 3)])


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kind", ["gaussian", "linear"])
def test_other_losses_end_at_a_stationary_point(loss, kind):
    given_ = problem(3, kind)
    fits = [solve_manifold(given_, loss=loss, solver=solver, tol=1e-10) for solver in ("direct", "cg")]
    np.testing.assert_allclose(fits[0].values, fits[1].values, atol=1e-5)
    for fit in fits:
        assert fit.converged
        assert np.all(np.diff(fit.history) <= 0)
        signs, weights = signs_of(given_.targets, given_.weights)
        slope = weights * signs * LOSSES[loss](signs * fit.values)[1]
        gradient = given_.gamma * fit.coefficients + given_.mu * given_.graph.dot(fit.values) + slope
        # The gradient with respect to the coefficients is K times this.
        assert np.abs(given_.kernel(gradient)).max() < 1e-4


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_slopes_and_curvatures_are_those_of_the_loss(loss):
    margin = np.linspace(-2.0, 3.0, 41) + 0.013
    step = 1e-6
    value, slope, curvature = LOSSES[loss](margin)
    above, below = LOSSES[loss](margin + step), LOSSES[loss](margin - step)
    np.testing.assert_allclose(slope, (above[0] - below[0]) / (2 * step), atol=1e-5)
    np.testing.assert_allclose(curvature, (above[1] - below[1]) / (2 * step), atol=1e-4)
    assert np.all(value >= 0)


def test_a_word_against_a_class_says_nothing_of_the_others():
    signs, weights = signs_of(np.array([[1.0, 0, 0], [0, -1.0, 0], [0, 0, 0]]), np.array([2.0, 1.0, 0.0]))
    np.testing.assert_array_equal(weights, [[2, 2, 2], [0, 1, 0], [0, 0, 0]])
    assert signs[0].tolist() == [1, -1, -1]


def sides(seed, kind, classes):
    X = matrix(seed)
    rows = Side(_kernel(kind, X), *labels(seed, N, 5), 0.05)
    columns = Side(_kernel(kind, X.T.tocsr()), *labels(seed + 1, D, 3, classes), 0.03)
    rng = np.random.RandomState(seed)
    return X, rows, columns, (rng.randn(N, M), rng.randn(D, classes))


@settings(max_examples=15)
@given(
    seed=st.integers(0, 1000),
    kind=st.sampled_from(["gaussian", "linear"]),
    classes=st.integers(2, 5),
    solver=st.sampled_from(["direct", "cg"]),
)
def test_factor_objective_falls_at_every_block_step(seed, kind, classes, solver):
    X, rows, columns, start = sides(seed, kind, classes)
    fit = fit_factor(X, rows, columns, 0.5, start, solver=solver, max_iter=8, stop=0.0)
    assert fit.Q.shape == (M, classes)
    assert len(fit.history) == 3 * fit.n_iter
    assert np.all(np.diff(fit.history) <= 1e-9 * np.abs(fit.history[:-1]))
    # The reported objective is Eq. 7 with nothing expanded.
    F, G = fit.row_values, fit.column_values
    literal = 0.5 * rows.gamma * np.sum(fit.a * F) + 0.5 * columns.gamma * np.sum(fit.b * G)
    literal += 0.5 * np.sum(rows.weights[:, None] * (F - rows.targets) ** 2)
    literal += 0.5 * np.sum(columns.weights[:, None] * (G - columns.targets) ** 2)
    literal += 0.25 * np.sum((X.toarray() - F @ fit.Q @ G.T) ** 2)
    np.testing.assert_allclose(fit.history[-1], literal, rtol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_factor_with_other_losses_falls_to_a_stationary_point(loss, solver):
    X, rows, columns, start = sides(6, "gaussian", M)
    rows, columns = replace(rows, loss=loss), replace(columns, loss=loss)
    mu = 0.5
    fit = fit_factor(X, rows, columns, mu, start, solver=solver, max_iter=3000, stop=1e-13)
    assert np.all(np.diff(fit.history) <= 1e-9 * np.abs(fit.history[:-1]))
    F, G = fit.row_values, fit.column_values
    literal = 0.5 * rows.gamma * np.sum(fit.a * F) + 0.5 * columns.gamma * np.sum(fit.b * G)
    literal += 0.5 * mu * np.sum((X.toarray() - F @ fit.Q @ G.T) ** 2)
    gap = X.toarray() - F @ fit.Q @ G.T
    pulls = {"rows": -mu * gap @ G @ fit.Q.T, "columns": -mu * gap.T @ F @ fit.Q}
    for name, side, values, coefficients in (("rows", rows, F, fit.a), ("columns", columns, G, fit.b)):
        signs, weights = signs_of(side.targets, side.weights)
        value, slope, _ = LOSSES[loss](signs * values)
        literal += np.sum(weights * value)
        gradient = side.gamma * coefficients + weights * signs * slope + pulls[name]
        # The gradient with respect to the coefficients is K times this.
        assert np.abs(side.kernel.dot(gradient)).max() < 1e-3
    np.testing.assert_allclose(fit.history[-1], literal, rtol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_parabola_touches_the_loss_and_lies_above_it(loss):
    _, rows, _, _ = sides(2, "linear", M)
    rows = replace(rows, loss=loss)
    rng = np.random.RandomState(0)
    here = 2.0 * rng.randn(N, M)
    stand_in = parabola(rows, here)
    assert stand_in.loss == "squared"
    for scale in (0.0, 0.1, 1.0, 5.0):
        there = here + scale * rng.randn(N, M)
        above = label_loss(stand_in, there) - label_loss(stand_in, here)
        assert above >= label_loss(rows, there) - label_loss(rows, here) - 1e-9
    assert parabola(replace(rows, loss="squared"), here).targets is rows.targets


@pytest.mark.parametrize("solver", ["direct", "cg"])
@pytest.mark.parametrize("swapped", [False, True])
def test_factor_solves_the_paper_s_block_equations(solver, swapped):
    X, rows, columns, start = sides(4, "gaussian", M)
    if swapped:  # Eq. 9 is Eq. 10 of the transposed problem
        X, rows, columns, start = X.T.tocsr(), columns, rows, start[::-1]
    mu = 0.2
    fit = fit_factor(X, rows, columns, mu, start, solver=solver, max_iter=3, stop=0.0, cg_iter=2000)
    K, L = rows.kernel.dense(), columns.kernel.dense()
    a, b, Q = fit.a, fit.b, fit.Q
    Z_r = Q.T @ a.T @ K @ K @ a @ Q  # Eq. 11
    left = columns.gamma * b + columns.weights[:, None] * (L @ b) + mu * L @ b @ Z_r
    right = columns.weights[:, None] * columns.targets + mu * X.T @ (K @ a @ Q)
    np.testing.assert_allclose(left, right, atol=1e-6 * np.abs(right).max())
    # No small change of Q alone lowers the objective once Q is the best one (Eq. 8).
    F, G = K @ a, L @ b
    best = best_q(X, F, G)
    gap = np.sum((X.toarray() - F @ best @ G.T) ** 2)
    for seed in range(5):
        other = best + 1e-3 * np.random.RandomState(seed).randn(*best.shape)
        assert np.sum((X.toarray() - F @ other @ G.T) ** 2) >= gap


def test_best_q_survives_a_lost_class():
    X = matrix(0)
    F, G = np.random.RandomState(0).randn(N, 2), np.random.RandomState(1).randn(D, 2)
    F[:, 1] = 0.0
    Q = best_q(X, F, G)
    assert np.isfinite(Q).all()
    side = Side(LinearKernel(X), np.zeros((N, 2)), np.zeros(N), 1.0)
    fit = FactorFit(F * 0, G * 0, F, G, Q)
    words = Side(side.kernel, np.zeros((D, 2)), np.zeros(D), 1.0)
    size = float(X.multiply(X).sum())
    assert objective(X, size, fit, side, words, 1.0) <= 0.5 * size


def test_influence_of_a_label_is_what_the_label_does():
    given_ = problem(5)
    values = solve_manifold(given_, solver="direct").values
    word = int(np.flatnonzero(given_.weights[N:] == 0)[0])
    as_they_are = np.zeros(M), np.ones(M)
    rows = np.arange(N)
    for label in range(M):
        chances = np.eye(M)[[label]]
        flips, change = word_influence(
            given_, values, np.array([word]), chances, rows, as_they_are, tol=1e-12, max_iter=2000
        )[0]
        targets, weights = given_.targets.copy(), given_.weights.copy()
        targets[N + word, label], weights[N + word] = 1.0, 1.0
        told = ManifoldProblem(
            given_.row_kernel, given_.column_kernel, given_.graph, targets, weights, given_.gamma, given_.mu
        )
        new = solve_manifold(told, solver="direct").values[:N]
        assert change == pytest.approx(np.abs(new - values[:N]).mean(), rel=1e-5)
        assert flips == np.sum(new.argmax(axis=1) != values[:N].argmax(axis=1))


# -- kernels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gaussian", "linear", "cosine"])
def test_a_predictor_at_the_fitted_rows_gives_the_fitted_values(kind):
    X = matrix(1)
    a = np.random.RandomState(0).randn(N, 2)
    kernel = make_kernel(kind, X, width=0.9, quantile=0.5, max_exact=100, n_landmarks=5, rng=np.random.RandomState(0))
    np.testing.assert_allclose(kernel.predictor(a)(X), kernel.dot(a), atol=1e-10)
    K = kernel.dense()
    np.testing.assert_allclose(K @ a, kernel.dot(a), atol=1e-10)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    assert kernel.exact


def test_all_rows_as_landmarks_give_the_exact_kernel():
    X = matrix(2)
    exact = GaussianKernel(X, 0.8)
    through = LandmarkKernel(X, 0.8, np.arange(N))
    np.testing.assert_allclose(through.dense(), exact.dense(), atol=1e-6)
    a = np.random.RandomState(0).randn(N, 2)
    new = matrix(9)
    np.testing.assert_allclose(through.predictor(a)(new), exact.predictor(a)(new), atol=1e-5)


def test_few_landmarks_are_said_to_be_an_approximation():
    X = matrix(2)
    kernel = make_kernel(
        "gaussian", X, width=None, quantile=0.5, max_exact=10, n_landmarks=6, rng=np.random.RandomState(0)
    )
    assert not kernel.exact
    assert np.linalg.eigvalsh(kernel.dense()).min() > -1e-9


def test_squared_distances_and_the_width_rule():
    X = matrix(3)
    dense = X.toarray()
    literal = ((dense[:, None] - dense[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(X, X), literal, atol=1e-10)
    distances = np.sqrt(literal[np.triu_indices(N, 1)])
    expected = np.quantile(distances[distances > 0], 0.25)
    assert quantile_width(X, 0.25, np.random.RandomState(0)) == pytest.approx(expected)
    assert quantile_width(sp.csr_matrix((4, 3)), 0.5, np.random.RandomState(0)) == 1.0


def test_only_plain_linear_kernels_share_their_matrix():
    X = matrix(0)
    Xt = X.T.tocsr()
    assert shares_matrix(LinearKernel(X), LinearKernel(Xt))
    assert not shares_matrix(LinearKernel(X, unit=True), LinearKernel(Xt, unit=True))
    assert not shares_matrix(GaussianKernel(X, 1.0), LinearKernel(Xt))


def test_the_width_follows_the_quantile_that_is_asked_for():
    """The quantile fixed at one half."""
    X = sp.csr_matrix([[0.0], [1.0], [3.0], [7.0]])
    distances = [1, 3, 7, 2, 6, 4]
    for quantile in (0.2, 0.5, 0.9):
        width = quantile_width(X, quantile, np.random.RandomState(0))
        assert width == pytest.approx(np.quantile(distances, quantile))
