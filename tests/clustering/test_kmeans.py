import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from isthmus._math.rows import group_means, unit_rows
from isthmus._utils import n_threads
from isthmus.clustering import CrossGuidedKMeans
from isthmus.clustering.kmeans import (
    ClusterSums,
    assign_rows,
    boosted_guidance,
    combined_divergence,
    kmeans,
    pulled_means,
)


def sparse_rows(seed, n=60, d=15):
    return sp.random(n, d, density=0.4, format="csr", random_state=seed) + sp.eye(n, d, format="csr") * 0.1


def reference_labels(X, centers):
    gaps = X.toarray()[:, None, :] - centers[None]
    return (gaps**2).sum(axis=2)


@given(seed=st.integers(0, 10_000), k=st.integers(1, 6))
@settings(max_examples=25)
def test_assignment_equals_the_dense_definition(seed, k):
    X = sparse_rows(seed).tocsr()
    centers = np.random.default_rng(seed).random((k, X.shape[1]))
    stats = assign_rows(X, centers)
    expected = reference_labels(X, centers)
    np.testing.assert_array_equal(stats.labels, expected.argmin(axis=1))
    counts = np.bincount(stats.labels, minlength=k)
    np.testing.assert_allclose(stats.sums, group_means(X, stats.labels, k) * counts[:, None])
    np.testing.assert_array_equal(stats.counts, counts)
    assert stats.divergence == pytest.approx(expected.min(axis=1).sum())
    assert stats.squares == pytest.approx(X.multiply(X).sum())


@given(seed=st.integers(0, 10_000), k=st.integers(2, 5))
@settings(max_examples=20)
def test_plain_runs_are_scikit_learns(seed, k):
    X = sparse_rows(seed).tocsr()
    start = X[np.random.default_rng(seed).choice(X.shape[0], k, replace=False)].toarray()
    ours = kmeans(X, start, max_iter=100)
    theirs = KMeans(k, init=start, n_init=1, max_iter=100, tol=0, algorithm="lloyd").fit(X)
    np.testing.assert_array_equal(ours.labels, theirs.labels_)
    np.testing.assert_allclose(ours.centers, theirs.cluster_centers_, atol=1e-10)
    assert ours.n_iter == theirs.n_iter_


@given(seed=st.integers(0, 10_000), cosine=st.booleans())
@settings(max_examples=20)
def test_divergence_of_plain_runs_never_rises(seed, cosine):
    X = sparse_rows(seed).tocsr()
    X = sp.csr_matrix(unit_rows(X.toarray())) if cosine else X
    run = kmeans(X, X[:4].toarray(), cosine=cosine)
    assert np.all(np.diff(run.history) <= 1e-9)
    assert run.termination == "stable"


class Fixed:
    """Alignment that stays: weights, anchors and similarities do not depend on the centres."""

    def __init__(self, weights, anchors):
        self.pulling, self.anchors = np.array(weights), np.array(anchors)
        self.asked = 0

    def spread(self, centers):
        return centers

    def pull_weights(self, spread):
        self.asked += 1
        return self.pulling

    def similarities(self, spread):
        return 0.5 * np.ones_like(self.pulling)


def sums_of(sums, counts):
    return ClusterSums(np.array(sums), np.array(counts), 0.0, 0.0)


@given(seed=st.integers(0, 10_000), guidance=st.floats(0.05, 0.95))
@settings(max_examples=20)
def test_pulled_means_are_the_best_centres_for_the_distance_to_rows_and_anchors(seed, guidance):
    """Each minimises α·Σ ‖x − c‖² + (1 − α)·Σ δ·|C|·‖a − c‖² of its cluster."""
    rng = np.random.default_rng(seed)
    X = sparse_rows(seed).tocsr()
    weights, anchors = np.diag(rng.random(3)), rng.random((3, X.shape[1]))
    stats = assign_rows(X, X[:3].toarray())

    def value(centers):
        pull = weights * stats.counts[:, None] * ((centers[:, None] - anchors) ** 2).sum(axis=2)
        return combined_divergence(stats, centers, guidance) + guidance * pull.sum()

    best = pulled_means(stats, X[:3].toarray(), weights, anchors, guidance)
    for _ in range(5):
        assert value(best + 0.05 * rng.standard_normal(best.shape)) >= value(best) - 1e-9


def test_pulled_means_follow_equation_3():
    stats = sums_of([[2.0, 0.0], [0.0, 4.0]], [2, 4])
    moved = pulled_means(stats, np.zeros((2, 2)), np.array([[0.5], [0.0]]), np.array([[0.0, 3.0]]), 0.4)
    weight = 0.6 * 2 + 0.4 * 2 * 0.5
    np.testing.assert_allclose(moved[0], (0.6 * np.array([2.0, 0.0]) + 0.4 * 2 * 0.5 * np.array([0.0, 3.0])) / weight)
    np.testing.assert_allclose(moved[1], [0.0, 1.0])


def test_full_guidance_leaves_unmatched_clusters_at_their_mean():
    stats = sums_of([[2.0, 0.0], [0.0, 4.0]], [2, 4])
    moved = pulled_means(stats, np.zeros((2, 2)), np.array([[0.5], [0.0]]), np.array([[0.0, 3.0]]), 1.0)
    np.testing.assert_allclose(moved, [[0.0, 3.0], [0.0, 1.0]])


@pytest.mark.parametrize(("boost", "n_iter"), [(1.0, 6), (2.0, 11)])
def test_rows_at_rest_do_not_end_a_run_before_its_guided_iterations(boost, n_iter):
    X = sp.csr_matrix([[3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [0.0, 3.0]])
    aligner = Fixed(np.diag([0.5, 0.5]), [[4.0, 0.0], [0.0, 1.0]])
    # Plain steps first; the rows do not change their cluster from the second step on.
    run = kmeans(X, X[[0, 2]].toarray(), aligner=aligner, guidance=0.5, warmup=4, boost=boost, max_iter=30)
    # Two guided iterations show that pairs do not change; the boosted ones before them do not count.
    assert (run.n_iter, aligner.asked) == (n_iter, n_iter - 4)
    # (2 · 3 · 0.5 + 0.5 · 2 · 0.5 · 4) / (0.5 · 2 + 0.5 · 2 · 0.5) and likewise
    np.testing.assert_allclose(run.centers, [[10 / 3, 0.0], [0.0, 7 / 3]])


@given(seed=st.integers(0, 1_000), cut=st.integers(1, 59))
@settings(max_examples=20)
def test_statistics_of_blocks_add_up(seed, cut):
    X = sparse_rows(seed).tocsr()
    centers = X[:3].toarray()
    whole = assign_rows(X, centers)
    parts = assign_rows(X[:cut], centers) + assign_rows(X[cut:], centers)
    np.testing.assert_allclose(parts.sums, whole.sums)
    np.testing.assert_array_equal(parts.counts, whole.counts)
    assert parts.divergence == pytest.approx(whole.divergence)
    assert parts.squares == pytest.approx(whole.squares)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("isthmus.clustering.kmeans.BLOCK_ROWS", 7)
    X = sparse_rows(3).tocsr()
    one, two = (assign_rows(X, X[:4].toarray(), n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.sums, two.sums, err_msg="each centre is added up by one thread, row by row")
    np.testing.assert_array_equal(one.counts, two.counts)
    assert one.divergence == two.divergence


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30], ids=["plain", "below 32 bits", "beyond 32 bits"])
def test_what_32_bits_cannot_tell_apart_is_told_by_64(scale):
    """Pairs of centres that differ in the ninth digit, and one that stands twice."""
    rng = np.random.default_rng(0)
    X = (sparse_rows(2) * scale).tocsr()
    centers = 0.9 * X[:3].toarray()  # no row lies on a centre, where even 64 bits are too few
    centers = np.concatenate([centers, centers + 1e-9 * scale * rng.standard_normal(centers.shape), centers[:1]])
    found = assign_rows(X, centers).labels
    scores = (centers**2).sum(axis=1) - 2 * X.toarray() @ centers.T
    expected = scores[:, :-1].argmin(axis=1)
    np.testing.assert_array_equal(found, expected, err_msg="nearest by 64 bits, the first of equals")
    with np.errstate(over="ignore", invalid="ignore"):
        short = (centers**2).sum(axis=1) - 2.0 * (X.toarray().astype("f4") @ centers.T.astype("f4"))
    assert np.any(short.argmin(axis=1) != expected), "32 bits alone would have sufficed: nothing was tested"


def test_an_empty_cluster_gets_the_farthest_row():
    X = sp.csr_matrix([[1.0, 0.0], [1.1, 0.0], [0.0, 5.0], [0.9, 0.0]])
    start = np.array([[1.0, 0.0], [-50.0, -50.0]])
    ours = kmeans(X, start)
    theirs = KMeans(2, init=start, n_init=1, tol=0).fit(X)
    np.testing.assert_array_equal(ours.labels, theirs.labels_)
    assert set(ours.labels) == {0, 1}


def test_row_order_does_not_matter():
    X = sparse_rows(5).tocsr()
    start = X[:3].toarray()
    order = np.random.default_rng(0).permutation(X.shape[0])
    np.testing.assert_array_equal(kmeans(X[order], start).labels, kmeans(X, start).labels[order])


@pytest.mark.parametrize(("guidance", "expected"), [(0.0, 0.0), (0.5, 0.8), (1.0, 1.0)])
def test_boost_multiplies_the_odds(guidance, expected):
    assert boosted_guidance(guidance, 4.0) == pytest.approx(expected)


def test_n_threads_counts_like_joblib():
    assert n_threads(None) == 1
    assert n_threads(2) == 2
    assert n_threads(-1) >= 1


def test_combined_divergence_by_hand_in_the_cosine_metric():
    # Two unit rows, (1, 0) and (.6, .8), in one cluster whose centre (3, 0) points along the first axis.
    stats = ClusterSums(np.array([[1.6, 0.8]]), np.array([2.0]), 0.0, 2.0)
    inside = 0.0 + (0.4**2 + 0.8**2)  # squared distances of the rows from (1, 0)
    weights, similarity = np.array([[0.5]]), np.array([[0.4]])
    found = combined_divergence(stats, np.array([[3.0, 0.0]]), 0.25, weights, similarity, cosine=True)
    assert found == pytest.approx(0.75 * inside + 0.25 * (0.5 * 2 * 0.6**2))


def test_every_assignment_of_a_run_uses_the_threads_that_were_asked_for(monkeypatch):
    seen = []

    def note(*arguments, **settings):
        seen.append(settings.get("n_threads"))
        return assign_rows(*arguments, **settings)

    monkeypatch.setattr("isthmus.clustering.kmeans.assign_rows", note)
    X = sparse_rows(0).tocsr()
    CrossGuidedKMeans(2, n_init=1, max_iter=2, n_jobs=3, random_state=0).fit(X)
    assert len(seen) >= 2
    assert set(seen) == {3}, "n_jobs=3 was asked for"


def test_an_alignment_of_no_weight_is_never_asked():
    X = sparse_rows(1).tocsr()
    start = X[:3].toarray()
    aligner = Fixed(np.eye(3), start)
    aligned, plain = kmeans(X, start, aligner=aligner, guidance=0.0), kmeans(X, start)
    assert aligner.asked == 0, "nothing is pulled at guidance=0"
    np.testing.assert_array_equal(aligned.centers, plain.centers, err_msg="plain k-means")
    assert aligned.history == plain.history
