import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.utils.extmath import row_norms

from isthmus._math.rows import group_means, unit_rows
from isthmus._utils import n_threads
from isthmus.clustering import CrossGuidedKMeans
from isthmus.clustering.kmeans import (
    ClusterSums,
    Pull,
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
    labels, distances, stats = assign_rows(X, centers)
    expected = reference_labels(X, centers)
    np.testing.assert_array_equal(labels, expected.argmin(axis=1))
    np.testing.assert_allclose(distances, expected.min(axis=1), atol=1e-10)
    np.testing.assert_allclose(stats.sums, group_means(X, labels, k) * np.bincount(labels, minlength=k)[:, None])
    assert stats.counts.sum() == X.shape[0]


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


@given(seed=st.integers(0, 10_000), guidance=st.floats(0.05, 0.95))
@settings(max_examples=20)
def test_combined_divergence_never_rises_while_the_alignment_stays(seed, guidance):
    rng = np.random.default_rng(seed)
    X = sparse_rows(seed).tocsr()
    pull = Pull(np.diag(rng.random(3)), rng.random((3, X.shape[1])))
    run = kmeans(X, X[:3].toarray(), align=lambda centers, iteration: pull, guidance=guidance, max_iter=30)
    # The assignment ignores the pull's term |C|·δ·d², so a step may trade some of it; each re-estimation may not.
    labels, _, stats = assign_rows(X, run.centers)
    best = combined_divergence(
        stats, row_norms(X, squared=True), pulled_means(stats, run.centers, pull, guidance), pull, guidance
    )
    for _ in range(5):
        other = run.centers + 0.05 * rng.standard_normal(run.centers.shape)
        assert combined_divergence(stats, row_norms(X, squared=True), other, pull, guidance) >= best - 1e-9
    assert len(labels) == X.shape[0]


def test_pulled_means_follow_equation_3():
    stats = ClusterSums(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2, 4]), 0.0)
    pull = Pull(np.array([[0.5], [0.0]]), np.array([[0.0, 3.0]]))
    moved = pulled_means(stats, np.zeros((2, 2)), pull, 0.4)
    weight = 0.6 * 2 + 0.4 * 2 * 0.5
    np.testing.assert_allclose(moved[0], (0.6 * np.array([2.0, 0.0]) + 0.4 * 2 * 0.5 * np.array([0.0, 3.0])) / weight)
    np.testing.assert_allclose(moved[1], [0.0, 1.0])


def test_full_guidance_leaves_unmatched_clusters_at_their_mean():
    stats = ClusterSums(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2, 4]), 0.0)
    moved = pulled_means(stats, np.zeros((2, 2)), Pull(np.array([[0.5], [0.0]]), np.array([[0.0, 3.0]])), 1.0)
    np.testing.assert_allclose(moved, [[0.0, 3.0], [0.0, 1.0]])


@pytest.mark.parametrize(("boost", "n_iter"), [(1.0, 6), (2.0, 9)])
def test_rows_at_rest_do_not_end_a_run_before_its_guided_iterations(boost, n_iter):
    X = sp.csr_matrix([[3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [0.0, 3.0]])
    pull = Pull(np.diag([0.5, 0.5]), np.array([[4.0, 0.0], [0.0, 1.0]]))
    asked = []

    def align(centers, iteration):
        asked.append(iteration)
        return pull if iteration > 4 else None  # plain steps first; the rows stay where they are from the second on

    run = kmeans(X, X[[0, 2]].toarray(), align=align, guidance=0.5, boost=boost, boost_iter=3, max_iter=30)
    # Two guided iterations show that pairs stay; the boosted ones before them do not count.
    assert asked == list(range(1, n_iter + 1))
    assert run.n_iter == n_iter
    # (2 · 3 · 0.5 + 0.5 · 2 · 0.5 · 4) / (0.5 · 2 + 0.5 · 2 · 0.5) and likewise
    np.testing.assert_allclose(run.centers, [[10 / 3, 0.0], [0.0, 7 / 3]])


@given(seed=st.integers(0, 1_000), cut=st.integers(1, 59))
@settings(max_examples=20)
def test_statistics_of_blocks_add_up(seed, cut):
    X = sparse_rows(seed).tocsr()
    centers = X[:3].toarray()
    whole = assign_rows(X, centers)[2]
    parts = assign_rows(X[:cut], centers)[2] + assign_rows(X[cut:], centers)[2]
    np.testing.assert_allclose(parts.sums, whole.sums)
    np.testing.assert_array_equal(parts.counts, whole.counts)
    assert parts.divergence == pytest.approx(whole.divergence)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("isthmus.clustering.kmeans.BLOCK_ROWS", 7)
    X = sparse_rows(3).tocsr()
    one, two = (assign_rows(X, X[:4].toarray(), n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[2].sums, two[2].sums, err_msg="each centre is added up by one thread, row by row")
    np.testing.assert_array_equal(one[2].counts, two[2].counts)
    assert one[2].divergence == two[2].divergence


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30], ids=["plain", "below 32 bits", "beyond 32 bits"])
def test_what_32_bits_cannot_tell_apart_is_told_by_64(scale):
    """Pairs of centres that differ in the ninth digit, and one that stands twice."""
    rng = np.random.default_rng(0)
    X = (sparse_rows(2) * scale).tocsr()
    centers = 0.9 * X[:3].toarray()  # no row lies on a centre, where even 64 bits are too few
    centers = np.concatenate([centers, centers + 1e-9 * scale * rng.standard_normal(centers.shape), centers[:1]])
    found = assign_rows(X, centers)[0]
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
    # Two unit rows in one cluster whose centre (3, 0) points along the first; the anchor (0, 2) along the second axis.
    stats = ClusterSums(np.array([[1.6, 0.8]]), np.array([2.0]), 0.0)  # rows (1, 0) and (.6, .8)
    centers, norms, weights, anchors = np.array([[3.0, 0.0]]), np.ones(2), np.array([[0.5]]), np.array([[0.0, 2.0]])
    inside = 0.0 + (0.4**2 + 0.8**2)  # squared distances of the rows from (1, 0)
    told = combined_divergence(stats, norms, centers, Pull(weights, anchors), 0.25, cosine=True)
    assert told == pytest.approx(0.75 * inside + 0.25 * (0.5 * 2 * 2.0))  # |(1, 0) - (0, 1)|² = 2
    seen = []

    def similarity(rows):
        seen.append(rows.tolist())
        return np.array([[0.4]])

    told = combined_divergence(stats, norms, centers, Pull(weights, anchors, similarity), 0.25, cosine=True)
    assert told == pytest.approx(0.75 * inside + 0.25 * (0.5 * 2 * 0.6**2))
    assert seen == [[[3.0, 0.0]]]  # a similarity reads the centres as they are


def test_centres_are_drawn_only_to_anchors_with_weight():
    """Every anchor drawing every centre."""
    assert Pull(np.array([[0.5, 0.0], [0.0, 0.0]]), np.eye(2)).pairs.tolist() == [[True, False], [False, False]]


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
    def align(centers, iteration):
        raise AssertionError("nothing is drawn anywhere at guidance=0")

    X = sparse_rows(1).tocsr()
    start = X[:3].toarray()
    aligned, plain = kmeans(X, start, align=align, guidance=0.0), kmeans(X, start)
    np.testing.assert_array_equal(aligned.centers, plain.centers, err_msg="plain k-means")
    assert aligned.history == plain.history


def test_a_pull_of_no_weight_changes_neither_centres_nor_divergence():
    X = sp.csr_matrix([[2.0, 0.0], [0.0, 1.0]])
    stats = assign_rows(X, X.toarray())[2]
    pull = Pull(np.array([[0.5], [0.5]]), np.array([[9.0, 9.0]]))
    means = pulled_means(stats, np.zeros((2, 2)), pull, 0.0)
    np.testing.assert_array_equal(means, X.toarray(), err_msg="the means of the rows")
    moved = means + 1.0  # each row lies 2 away, squared, from its centre
    assert combined_divergence(stats, row_norms(X, squared=True), moved, pull, 0.0) == pytest.approx(4.0)
