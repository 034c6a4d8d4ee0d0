"""Centroids that settle: domains are centred, sparse equals dense, probabilities are sane."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import TransductiveCentroidClassifier


def two_domains(shift, n=60, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[4.0, 0, 0, 1], [0, 4.0, 0, 1], [0, 0, 4.0, 1]])
    codes = np.arange(n) % 3
    source = centres[codes] + rng.normal(scale=0.8, size=(n, 4))
    target = centres[codes] + shift + rng.normal(scale=0.8, size=(n, 4))
    labels = [f"class {code}" for code in codes]
    return np.vstack([source, target]), np.array([*labels, *([None] * n)], dtype=object), np.array(labels)


def test_a_moved_target_is_labelled_by_its_own_groups():
    X, y, truth = two_domains(shift=np.array([6.0, 6.0, 0.0, 0.0]))
    model = TransductiveCentroidClassifier().fit(X, y)
    assert np.mean(model.transduction_[len(truth) :] == truth) > 0.95
    assert model.termination_condition_ == "settled"
    assert len(model.history_) == model.n_iter_


def test_without_moving_it_is_a_nearest_centroid():
    X, y, truth = two_domains(shift=np.zeros(4))
    model = TransductiveCentroidClassifier(source_weight=1.0).fit(X, y)
    assert model.n_iter_ == 2  # assigned once, looked at once more
    assert np.mean(model.transduction_[len(truth) :] == truth) > 0.95


def test_sparse_rows_give_the_same_labels_and_stay_sparse():
    X, y, _ = two_domains(shift=np.array([2.0, 0, 0, 0]))
    dense = TransductiveCentroidClassifier().fit(X, y)
    sparse = TransductiveCentroidClassifier().fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(dense.transduction_, sparse.transduction_)
    np.testing.assert_allclose(dense.predict_proba(X[60:]), sparse.predict_proba(sp.csr_matrix(X[60:])), atol=1e-8)


def test_predictions_of_the_fitted_rows_are_the_labels():
    X, y, truth = two_domains(shift=np.array([2.0, 0, 0, 0]))
    model = TransductiveCentroidClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(X[60:]), model.transduction_[60:])
    proba = model.predict_proba(X[60:])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert abs(proba.max(axis=1).mean() - np.mean(model.predict(X[60:]) == truth)) < 0.15


def test_rows_of_zeros_are_no_error():
    X, y, _ = two_domains(shift=np.zeros(4))
    X[-1] = 0.0
    model = TransductiveCentroidClassifier().fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X[60:])))


@pytest.mark.parametrize("order", [np.arange(120)[::-1], np.random.default_rng(1).permutation(120)])
def test_the_order_of_rows_changes_nothing(order):
    X, y, _ = two_domains(shift=np.array([2.0, 1.0, 0, 0]))
    domain = np.where(np.arange(120) < 60, 1, -1)
    first = TransductiveCentroidClassifier().fit(X, y, sample_domain=domain)
    second = TransductiveCentroidClassifier().fit(X[order], y[order], sample_domain=domain[order])
    np.testing.assert_array_equal(first.transduction_[order], second.transduction_)
