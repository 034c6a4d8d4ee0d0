"""Weights behind the map and the search for groups, seen from outside."""

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from isthmus.features.weights import weigh_tfidf
from isthmus.shift import groups
from isthmus.shift.novelty import _cosines
from isthmus.shift.space import joint_space


def test_a_word_said_often_counts_by_its_logarithm():
    texts = ["staff staff staff staff bike", "bike fast engine", "kind staff", "engine engine fast", "kind bike staff"]
    space = joint_space(texts[:3], texts[3:])
    placed = weigh_tfidf(space.counts, space.idf, sublinear=True) @ space.components.T
    lengths = np.linalg.norm(placed, axis=1, keepdims=True)
    np.testing.assert_allclose(space.vectors, placed / lengths, atol=1e-12)
    np.testing.assert_allclose(space.project(texts), space.vectors, atol=1e-12)
    plain = weigh_tfidf(space.counts, space.idf, sublinear=False) @ space.components.T
    assert np.abs(plain / np.linalg.norm(plain, axis=1, keepdims=True) - space.vectors).max() > 0.01


def test_groups_are_looked_for_among_words_of_at_least_two_documents(monkeypatch):
    widths = []

    def clusters(X, n_clusters, **settings):
        widths.append(X.shape[1])
        return np.arange(X.shape[0]) % n_clusters

    monkeypatch.setattr(groups, "quiet_kmeans", clusters)
    # word 0 in all eight documents, word 1 in three, word 2 in two, the others in one each
    table = np.zeros((8, 11))
    table[:, 0], table[:3, 1], table[:2, 2], table[:, 3:] = 1, 1, 1, np.eye(8)
    counts = sp.csr_matrix(table)
    assert groups.group_facts(counts, np.arange(8) % 2, counts, 2) is not None
    assert widths[:2] == [3, 3]


def test_cosines_are_those_of_the_way_from_the_centre():
    rows, centre = np.array([[3.0, 0.0], [0.0, 4.0], [1.0, 1.0]]), np.ones(2)
    found = _cosines(rows, (rows**2).sum(axis=1), centre, np.array([[1.0, 0.0], [0.6, 0.8]]))
    # (2, -1), (-1, 3) and a row at the centre itself, which points nowhere
    np.testing.assert_allclose(
        found, [[2 / 5**0.5, 0.4 / 5**0.5], [-1 / 10**0.5, 1.8 / 10**0.5], [0.0, 0.0]], atol=1e-12
    )


def test_k_means_runs_in_one_thread(monkeypatch):
    class Probe:
        def __init__(self, n_clusters):
            pass

        def fit(self, X):
            self.labels_ = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]
            return self

    monkeypatch.setattr(groups, "KMeans", Probe)
    with threadpool_limits(2, user_api="openmp"):
        assert set(groups.quiet_kmeans(np.eye(3), 2)) == {1}
