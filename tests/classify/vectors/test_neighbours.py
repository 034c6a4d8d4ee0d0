"""Self-training on centred rows with spreading: each part computed by hand, copies, sizes and odd rows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression

import isthmus.classify.neighbours
from isthmus import NeighbourSelfTraining

N = 60


def two_domains(shift=(6.0, 6.0, 0.0, 0.0), noise=0.8, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[4.0, 0, 0, 1], [0, 4.0, 0, 1], [0, 0, 4.0, 1]])
    codes = np.arange(N) % 3
    source, target = (centres[codes] + rng.normal(scale=noise, size=(N, 4)) for _ in range(2))
    labels = [f"class {code}" for code in codes]
    return np.vstack([source, target + shift]), np.array([*labels, *([None] * N)], dtype=object), np.array(labels)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def centred(rows):
    rows = unit(rows)
    return unit(rows - rows.mean(axis=0))


def test_a_moved_target_is_labelled_by_its_own_groups():
    X, y, truth = two_domains()
    model = NeighbourSelfTraining().fit(X, y)
    assert np.mean(model.transduction_[N:] == truth) > 0.95
    assert len(model.history_) == model.n_iter_ == 5


def test_without_rounds_and_neighbours_it_is_logistic_regression_on_centred_rows():
    X, y, truth = two_domains()
    model = NeighbourSelfTraining(max_iter=0, n_neighbors=0).fit(X, y)
    peer = LogisticRegression(C=10.0, max_iter=1000).fit(centred(X[:N]), truth)
    np.testing.assert_allclose(model.predict_proba(X[N:]), peer.predict_proba(centred(X[N:])), atol=1e-3)
    assert model.termination_condition_ == "max_iter"
    assert model.history_ == []


def test_one_round_learns_the_most_confident_target_rows_by_their_confidence():
    X, y, truth = two_domains(noise=1.5)
    settings = {"max_iter": 1, "first_share": 0.5, "source_weight": 0.2}
    model = NeighbourSelfTraining(n_neighbors=0, **settings).fit(X, y)
    source, target = centred(X[:N]), centred(X[N:])
    proba = LogisticRegression(C=10.0, max_iter=1000).fit(source, truth).predict_proba(target)
    chosen = np.argsort(-proba.max(axis=1))[: N // 2]
    weights = np.r_[np.full(N, 0.2), proba.max(axis=1)[chosen]]
    wanted = np.r_[truth, np.unique(truth)[proba.argmax(axis=1)][chosen]]
    peer = LogisticRegression(C=10.0, max_iter=1000).fit(np.vstack([source, target[chosen]]), wanted, weights)
    np.testing.assert_allclose(model.predict_proba(X[N:]), peer.predict_proba(target), atol=2e-3)


@pytest.mark.parametrize("n_steps", [1, 4])
def test_spreading_mixes_with_cubed_cosines_to_the_nearest_target_rows(n_steps):
    X, y, _ = two_domains(noise=1.5)
    own = NeighbourSelfTraining(n_neighbors=0).fit(X, y).predict_proba(X[N:])
    model = NeighbourSelfTraining(n_neighbors=3, n_steps=n_steps, spread=0.4).fit(X, y)
    cosines = 1 - cdist(centred(X[N:]), centred(X[N:]), "cosine")
    np.fill_diagonal(cosines, -1)
    weights = np.where(cosines >= np.sort(cosines, axis=1)[:, [-3]], np.maximum(cosines, 0) ** 3, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    expected = own
    for _ in range(n_steps):
        expected = 0.6 * own + 0.4 * weights @ expected
    np.testing.assert_allclose(model.predict_proba(X[N:]), expected, atol=1e-4)


def test_labels_of_the_fit_are_the_predictions_of_the_same_rows():
    X, y, _ = two_domains(noise=2.0)
    model = NeighbourSelfTraining().fit(X, y)
    np.testing.assert_array_equal(model.predict(X[N:]), model.transduction_[N:])


def test_copies_are_no_neighbours():
    X, y, _ = two_domains(noise=2.0)
    X = np.vstack([X, np.repeat(X[-1:], 30, axis=0)])
    y = np.r_[y, np.full(30, None, dtype=object)]
    own = NeighbourSelfTraining(n_neighbors=0).fit(X, y).predict_proba(X[-1:])
    many = NeighbourSelfTraining(n_neighbors=5).fit(X, y).predict_proba(X[-1:])
    assert np.abs(many - own).max() > 0.001  # neighbours other than the copies have a say


def test_a_sample_of_the_target_is_enough_for_neighbours(monkeypatch):
    monkeypatch.setattr(isthmus.classify.neighbours, "MOST_REFERENCES", 20)
    X, y, truth = two_domains()
    model = NeighbourSelfTraining().fit(X, y)
    assert len(model.prediction_rule().reference) == 20
    assert np.mean(model.transduction_[N:] == truth) > 0.95


def test_several_source_domains_are_centred_one_by_one():
    X, y, truth = two_domains()
    moved = X[:N].copy()
    moved[::2] += [0, 9, 9, 0]
    domain = np.r_[np.where(np.arange(N) % 2, 1, 2), np.full(N, -1)]
    model = NeighbourSelfTraining().fit(np.vstack([moved, X[N:]]), y, sample_domain=domain)
    assert np.mean(model.transduction_[N:] == truth) > 0.9


def test_rows_of_zeros_have_a_probability():
    X, y, _ = two_domains()
    X[-1] = 0.0
    proba = NeighbourSelfTraining().fit(X, y).predict_proba(X[N:])
    assert np.all(np.isfinite(proba))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_source_rows_without_a_target_are_learned():
    X, y, truth = two_domains()
    model = NeighbourSelfTraining().fit(X[:N], y[:N])
    assert model.termination_condition_ == "no_target"
    assert np.mean(model.predict(X[:N]) == truth) > 0.9
