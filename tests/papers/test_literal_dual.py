"""Dual supervision written out from the paper's equations (Sindhwani, Hu and Mojsilovic, NIPS 2008), in plain numpy."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.exceptions import DataError
from isthmus.papers.dual import LiteralFactor, LiteralManifold, quantile_width

WIDTH, WORD_WIDTH = 0.8, 1.1


def gaussian(rows, width):
    """exp(−d²/2σ²), our reading of a kernel of width σ."""
    return np.array([[np.exp(-np.sum((a - b) ** 2) / (2 * width**2)) for b in rows] for a in rows])


def laplacian(X):
    """Eq. 1: the normalised Laplacian of the bipartite graph of rows and columns."""
    n, d = X.shape
    adjacency = np.block([[np.zeros((n, n)), X], [X.T, np.zeros((d, d))]])
    roots = np.diag(1 / np.sqrt(adjacency.sum(axis=1)))
    return np.eye(n + d) - roots @ adjacency @ roots


def draw(seed, n=14, d=10):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) + 0.1
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    rows, columns = np.full(n, -1), np.full(d, -1)
    rows[:5], columns[:4] = [0, 1, 2, 0, 1], [0, 1, 2, 0]
    return X, rows, columns


def one_hot(codes):
    """J·Y and the diagonal of J: rows without a label are zero in both."""
    targets = np.zeros((len(codes), 3))
    targets[codes >= 0, codes[codes >= 0]] = 1.0
    return targets, (codes >= 0).astype(float)


def normalised(values, known):
    """Class normalisation: mean 0 and deviation 1 of each class over rows (Huang and Kecman 2004)."""
    return (values - values[known].mean(axis=0)) / values[known].std(axis=0)


@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("seed", range(2))
def test_manifold_regularisation_is_equation_4(seed, power):
    X, rows, columns = draw(seed)
    gamma, mu = 0.7, 1.3
    words = {int(j): int(c) for j, c in enumerate(columns) if c >= 0}
    model = LiteralManifold(word_labels=words, width=WIDTH, word_width=WORD_WIDTH, gamma=gamma, mu=mu, power=power).fit(
        X, rows
    )
    n, d = X.shape
    K = np.block([[gaussian(X, WIDTH), np.zeros((n, d))], [np.zeros((d, n)), gaussian(X.T, WORD_WIDTH)]])
    (row_targets, row_given), (column_targets, column_given) = one_hot(rows), one_hot(columns)
    J = np.diag(np.concatenate([row_given, column_given]))
    M = np.linalg.matrix_power(laplacian(X), power)
    system = gamma * np.eye(n + d) + mu * M @ K + J @ K
    values = K @ np.linalg.solve(system, np.vstack([row_targets, column_targets]))
    # Fewer than ten unlabelled documents per class: scores are normalised over all of them.
    scores = normalised(values[:n], slice(None))
    np.testing.assert_allclose(model.document_scores_, scores, rtol=0, atol=1e-7)
    np.testing.assert_allclose(model.word_scores_, normalised(values[n:], columns < 0), rtol=0, atol=1e-7)
    np.testing.assert_array_equal(model.transduction_[5:], scores[5:].argmax(axis=1))
    new = draw(seed + 10)[0]
    likeness = np.exp(-((new[:, None] - X[None]) ** 2).sum(axis=2) / (2 * WIDTH**2))
    expected = likeness @ np.linalg.solve(K, values)[:n]
    expected = (expected - values[:n].mean(axis=0)) / values[:n].std(axis=0)
    np.testing.assert_array_equal(model.predict(new), expected.argmax(axis=1))


@pytest.mark.parametrize("seed", range(2))
def test_matrix_approximation_is_equations_8_to_11(seed):
    X, rows, columns = draw(seed)
    gamma, mu = 0.05, 0.4
    K_r, K_c = gaussian(X, WIDTH), gaussian(X.T, WORD_WIDTH)
    (Y_r, given_r), (Y_c, given_c) = one_hot(rows), one_hot(columns)
    words = {int(j): int(c) for j, c in enumerate(columns) if c >= 0}
    model = LiteralFactor(word_labels=words, width=WIDTH, word_width=WORD_WIDTH, gamma=gamma, mu=mu).fit(X, rows)
    # The start is the solution of Eq. 4 with γ = μ = 1.
    K = np.block([[K_r, np.zeros((len(rows), len(columns)))], [np.zeros((len(columns), len(rows))), K_c]])
    J = np.diag(np.concatenate([given_r, given_c]))
    start = np.linalg.solve(np.eye(len(K)) + laplacian(X) @ K + J @ K, np.vstack([Y_r, Y_c]))
    a, b = start[: len(rows)], start[len(rows) :]

    def sylvester(K, J, Z, right):
        """[γI + JK]·x + μ·K·x·Z = right, by the Kronecker product that the paper names."""
        n, m = right.shape
        system = np.kron(np.eye(m), gamma * np.eye(n) + J @ K) + mu * np.kron(Z.T, K)
        return np.linalg.solve(system, right.T.ravel()).reshape(m, n).T

    def objective():
        labels = np.sum(given_r[:, None] * (K_r @ a - Y_r) ** 2) + np.sum(given_c[:, None] * (K_c @ b - Y_c) ** 2)
        norms = gamma * (np.trace(a.T @ K_r @ a) + np.trace(b.T @ K_c @ b))
        return 0.5 * (labels + norms + mu * np.sum((X - K_r @ a @ Q @ b.T @ K_c) ** 2))

    history = []
    for _ in range(model.n_iter_):
        Q = np.linalg.inv(a.T @ K_r @ K_r @ a) @ (a.T @ K_r @ X @ K_c @ b) @ np.linalg.inv(b.T @ K_c @ K_c @ b)
        history.append(objective())
        Z = Q @ b.T @ K_c @ K_c @ b @ Q.T
        a = sylvester(K_r, np.diag(given_r), Z, given_r[:, None] * Y_r + mu * X @ K_c @ b @ Q.T)
        history.append(objective())
        Z = Q.T @ a.T @ K_r @ K_r @ a @ Q
        b = sylvester(K_c, np.diag(given_c), Z, given_c[:, None] * Y_c + mu * X.T @ K_r @ a @ Q)
        history.append(objective())
    np.testing.assert_allclose(model.history_, history, rtol=1e-5)
    np.testing.assert_allclose(model.document_scores_, normalised(K_r @ a, slice(None)), rtol=0, atol=1e-3)
    np.testing.assert_array_equal(model.transduction_[5:], normalised(K_r @ a, slice(None))[5:].argmax(axis=1))
    assert model.history_[-1] < model.history_[0]


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
def test_the_width_is_a_quantile_of_the_distances(quantile):
    distances = [1, 3, 7, 2, 6, 4]
    width = quantile_width(sp.csr_matrix([[0.0], [1.0], [3.0], [7.0]]), quantile, np.random.RandomState(0))
    assert width == pytest.approx(np.quantile(distances, quantile))


def test_kernels_too_large_to_hold_are_refused(monkeypatch):
    monkeypatch.setattr("isthmus.papers.dual.LARGEST", 13)
    X, rows, _ = draw(0)
    with pytest.raises(DataError) as caught:
        LiteralManifold().fit(X, rows)
    assert caught.value.code == "too-large"
