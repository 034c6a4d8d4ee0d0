import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.shift.groups import clusterability, cross_clusterability, matchability


def test_clusterability_by_hand():
    X = sp.csr_matrix([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    labels = np.array([0, 0, 1])
    rows = X.toarray() / np.linalg.norm(X.toarray(), axis=1, keepdims=True)
    means = np.array([X.toarray()[:2].mean(axis=0), X.toarray()[2]])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    similarity = rows @ means.T
    expected = np.mean([similarity[0, 0] - similarity[0, 1], similarity[1, 0] - similarity[1, 1], 1 - means[0, 1]])
    assert clusterability(X, labels) == pytest.approx(expected)


def test_wrong_groups_are_less_clusterable():
    X = sp.csr_matrix(np.kron(np.eye(2), np.ones((4, 3))) + 0.01)
    right, wrong = np.repeat([0, 1], 4), np.tile([0, 1], 4)
    assert clusterability(X, right) > 0.9
    assert clusterability(X, wrong) < 0.05
    assert clusterability(X, np.zeros(8, dtype=int)) == 0.0


def test_matchability_of_both_sides():
    found = matchability(np.array([[0.9, 0.1, 0.2], [0.8, 0.1, 0.3]]))
    assert found.target_side == pytest.approx((0.7 + 0.5) / 2)
    assert found.source_side == pytest.approx((0.1 + 0.0 + 0.1) / 3)
    assert found.both == pytest.approx((found.target_side + found.source_side) / 2)


def test_one_group_has_no_rival():
    assert matchability(np.array([[0.4], [0.2]])).target_side == pytest.approx(0.3)


def test_cross_clusterability_weighs_by_guidance():
    match = matchability(np.eye(2))
    assert cross_clusterability(0.2, match, guidance=0.0) == pytest.approx(0.2)
    assert cross_clusterability(0.2, match, guidance=0.25) == pytest.approx(0.75 * 0.2 + 0.25)
