"""Spectral graph transducer: the graph, the constrained problem, labels along a shape."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.exceptions import UsageError
from isthmus_bench.baselines import sgt
from isthmus_bench.baselines.sgt import SpectralGraphTransducer, nearest, smooth_directions, transduce


def test_nearest_finds_the_largest_cosines_whatever_the_form():
    rng = np.random.default_rng(0)
    X = rng.random((30, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    cosine = X @ X.T
    np.fill_diagonal(cosine, -1)
    graph = nearest(X, X, 4, same=True, block=7)
    np.testing.assert_allclose(
        graph.toarray().sum(axis=1), np.sort(cosine, axis=1)[:, -4:].sum(axis=1), rtol=1e-5, atol=1e-8
    )
    np.testing.assert_allclose(
        nearest(sp.csr_matrix(X), sp.csr_matrix(X), 4, same=True).toarray(), graph.toarray(), rtol=1e-5, atol=1e-8
    )


def test_directions_are_orthonormal_and_sparse_agrees_with_dense():
    A = sp.random(260, 260, 0.1, random_state=1)
    graph = (A + A.T).tocsr()
    vectors = smooth_directions(graph, 5, seed=0)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-6, rtol=1e-5)
    degree = np.asarray(graph.sum(axis=1)).ravel() ** -0.5
    values = np.sort(np.linalg.eigvalsh(graph.toarray() * degree[:, None] * degree))[::-1]
    rayleigh = [v @ (graph @ (degree * v) * degree) for v in vectors.T]
    np.testing.assert_allclose(rayleigh, values[1:6], atol=1e-3, rtol=1e-5)


def test_the_solution_has_the_length_the_problem_asks_for_and_no_better_neighbour():
    rng = np.random.default_rng(2)
    vectors = np.linalg.qr(rng.normal(size=(40, 6)))[0]
    known, positive, c = np.arange(12), np.arange(12) < 5, 10.0
    scores = transduce(vectors, known, positive, c)
    high, low = np.sqrt(7 / 5), -np.sqrt(5 / 7)
    z = scores + (high + low) / 2
    assert z @ z == pytest.approx(40, rel=1e-6)

    def loss(z):
        w = vectors.T @ z
        gamma, cost = np.where(positive, high, low), np.where(positive, 12 / 10, 12 / 14)
        return float((w**2) @ np.arange(1, 7) ** 2 + c * cost @ (z[known] - gamma) ** 2)

    best = loss(z)
    for _ in range(200):
        w = vectors.T @ z + rng.normal(size=6) * 0.3
        other = vectors @ (w * np.sqrt(40) / np.linalg.norm(w))
        assert loss(other) >= best - 1e-6


def test_labels_follow_the_neighbours():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.05), size=2)
    y = np.repeat([0, 1], 60)
    X = np.vstack([rng.multinomial(30, topics[c]) for c in y])
    labels = np.where(np.arange(120) % 60 < 3, y, -1)
    model = SpectralGraphTransducer(n_neighbors=10, n_eigenvectors=6, random_state=0).fit(sp.csr_matrix(X), labels)
    assert np.mean(model.transduction_ == y) > 0.95
    assert np.mean(model.predict(sp.csr_matrix(X)) == y) > 0.95
    assert model.scores_.shape == (120, 2)


def test_three_classes():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.05), size=3)
    y = np.repeat(["a", "b", "c"], 40)
    X = np.vstack([rng.multinomial(30, topics["abc".index(c)]) for c in y])
    labels = np.where(np.arange(120) % 40 < 4, y, None)
    model = SpectralGraphTransducer(n_neighbors=10, n_eigenvectors=6, random_state=0).fit(X, labels)
    assert np.mean(model.transduction_ == y) > 0.95
    assert model.n_iter_ == 3


@pytest.mark.parametrize("wrong", [{"n_neighbors": 0}, {"n_eigenvectors": 0}, {"c": -1}], ids=str)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        SpectralGraphTransducer(**wrong).fit([[0.0], [1.0], [2.0]], [0, 1, -1])


@pytest.mark.parametrize("count", [6, 7, 50])
def test_nearly_all_directions_of_many_rows_are_there(count, monkeypatch):
    """The sparse solver cannot give them."""
    monkeypatch.setattr(sgt, "_DENSE", 3)
    A = np.random.default_rng(0).random((8, 8))
    graph = sp.csr_matrix(A + A.T)
    vectors = smooth_directions(graph, count, seed=0)
    assert vectors.shape == (8, min(count, 7))
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-6)
    trivial = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    np.testing.assert_allclose(trivial @ vectors, 0, atol=1e-3, err_msg="the trivial direction is none of them")


def test_scores_without_any_edge_have_no_roughness():
    assert sgt._roughness(sp.csr_matrix((3, 3)), np.ones(3)) == 0.0
    one_edge = sp.csr_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert sgt._roughness(one_edge, np.array([1.0, -1.0])) == pytest.approx(2.0)  # 2 · 2² / (2 · 2)


def test_the_multiplier_stays_below_a_direction_that_no_label_reaches():
    """(0.1 / (2 − λ))² is at most 0.01 up to λ = 1, far from 4."""
    found = sgt._multiplier(np.array([1.0, 2.0]), np.array([0.0, 0.1]), 4)
    assert 1 - 1e-6 < found < 1
    reached = sgt._multiplier(np.array([1.0, 2.0]), np.array([2.0, 0.0]), 4)
    assert reached == pytest.approx(0.0)  # (2 / (1 − λ))² = 4


def test_a_document_is_explained_by_its_nearest_fitted_rows():
    """By hand: the text is the first word; of the two nearest rows one is that word, the other has it with 0.6."""
    model = SpectralGraphTransducer(n_neighbors=2)
    model.rows_ = sp.csr_matrix([[0, 1, 0], [0.6, 0.8, 0], [0, 0, 1.0], [1.0, 0, 0]])
    model.node_scores_ = np.array([[9.0, -9], [1.0, -1], [7.0, -7], [2.0, -4]])
    row = sp.csr_matrix([[3.0, 0, 0]])
    found = model.term_contributions(row)
    assert list(found) == [0]
    assert found[0] == pytest.approx([(0.6 * 1 + 1.0 * 2) / 1.6, -(0.6 * 1 + 1.0 * 4) / 1.6])
    model.rows_, model.node_scores_ = model.rows_[[0, 2]], model.node_scores_[:2]
    assert model.term_contributions(row) == {}, "no fitted row shares a word"
