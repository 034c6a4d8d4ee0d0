import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from isthmus import CrossGuidedKMeans
from isthmus._math.content import content_order
from isthmus.clustering.alignment import Aligner, guided_kmeans, match_weights, prepare, source_groups
from isthmus.exceptions import DataError, IsthmusError, IsthmusWarning, UsageError
from isthmus.shift.similarity import cross_similarity


def test_groups_are_found_and_aligned(task):
    X, groups, domain = task
    model = CrossGuidedKMeans(n_clusters=3, random_state=0).fit(X, groups, sample_domain=domain)
    assert adjusted_rand_score(groups[domain < 0], model.labels_[domain < 0]) > 0.9
    for cluster, match in enumerate(model.alignment_):
        members = groups[(model.labels_ == cluster) & (domain < 0)]
        assert match.cluster == cluster
        assert match.group == np.bincount(members).argmax()
        assert 0 < match.strength <= 1
    aligned = {match.group: match.cluster for match in model.alignment_}
    np.testing.assert_array_equal(model.labels_[domain > 0], [aligned[group] for group in groups[domain > 0]])


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_no_guidance_is_scikit_learns_kmeans(task, init):
    X, groups, domain = task
    ours = CrossGuidedKMeans(4, guidance=0, metric="euclidean", init=init, n_init=3, random_state=5)
    ours.fit(X, groups, sample_domain=domain)
    order = content_order(X[domain < 0])  # starts are drawn from the rows sorted by content
    theirs = KMeans(4, init=init, n_init=3, max_iter=100, random_state=5).fit(X[domain < 0][order])
    np.testing.assert_array_equal(ours.labels_[domain < 0][order], theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    assert all(match.group is None for match in ours.alignment_)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_no_guidance_does_not_look_at_the_source(task, metric):
    X, groups, domain = task
    model = CrossGuidedKMeans(3, guidance=0, metric=metric, random_state=0)
    first = model.fit(X, groups, sample_domain=domain).labels_[domain < 0]
    alone = clone(model).fit(X[domain < 0]).labels_
    np.testing.assert_array_equal(first, alone)


def test_given_starts_are_used_as_they_are(task):
    X, groups, domain = task
    start = X[np.flatnonzero(domain < 0)[[0, 50, 100]]].toarray()
    guided = CrossGuidedKMeans(3, init=start, random_state=0).fit(X, groups, sample_domain=domain)
    again = CrossGuidedKMeans("auto", init=start, random_state=0).fit(X, groups, sample_domain=domain)
    assert again.n_clusters_ == 3
    np.testing.assert_array_equal(guided.labels_, again.labels_)


def test_fitted_target_rows_are_predicted_as_they_were_grouped(task):
    X, groups, domain = task
    model = CrossGuidedKMeans(3, random_state=0).fit(X, groups, sample_domain=domain)
    np.testing.assert_array_equal(model.predict(X[domain < 0]), model.labels_[domain < 0])
    np.testing.assert_array_equal(
        CrossGuidedKMeans(3, random_state=0).fit_predict(X, groups, sample_domain=domain), model.labels_
    )


def test_more_clusters_than_groups_gives_new_clusters(build_task):
    X, groups, domain = build_task(n_topics=4, seed=2)
    kept = (domain < 0) | (groups < 2)
    model = CrossGuidedKMeans(4, random_state=0).fit(X[kept], groups[kept], sample_domain=domain[kept])
    new = [match.cluster for match in model.alignment_ if match.group is None]
    assert len(new) == 2
    in_new = np.isin(model.labels_[domain[kept] < 0], new)
    assert np.mean(in_new == (groups[domain < 0] >= 2)) > 0.9


def test_more_groups_than_clusters_leaves_groups_without_cluster(build_task):
    X, groups, domain = build_task(n_topics=4, seed=3)
    kept = (domain > 0) | (groups < 2)
    model = CrossGuidedKMeans(2, random_state=0).fit(X[kept], groups[kept], sample_domain=domain[kept])
    assert {match.group for match in model.alignment_} == {0, 1}
    source_labels = model.labels_[domain[kept] > 0]
    assert set(source_labels[groups[domain > 0] >= 2]) == {-1}


def test_automatic_number_is_near_the_truth(build_task):
    X, groups, domain = build_task(n_topics=4, seed=4)
    model = CrossGuidedKMeans(random_state=0).fit(X, groups, sample_domain=domain)
    assert 3 <= model.n_clusters_ <= 6
    assert model.n_clusters_table_[0]["n_clusters"] == 2


def test_two_collections_pull_together(build_task):
    X, groups, domain = build_task(seed=6)
    domains = domain.copy()
    domains[np.flatnonzero(domain > 0)[::2]] = 2
    names = np.where(domains == 2, groups + 10, groups)
    model = CrossGuidedKMeans(3, random_state=0).fit(X, names, sample_domain=domains)
    assert model.match_weights_.shape == (3, 6)
    np.testing.assert_array_equal(np.count_nonzero(model.match_weights_, axis=1), [2, 2, 2])
    assert {match.collection for match in model.alignment_} <= {1, 2}
    assert adjusted_rand_score(groups[domain < 0], model.labels_[domain < 0]) > 0.9


def test_pull_of_one_collection_is_the_match_weight():
    similarity = np.array([[0.6, 0.1, 0.5], [0.3, 0.2, 0.7]])
    weights = match_weights(similarity, np.array([1, 1, 1]))
    assert weights.tolist() == [[0.6, 0, 0], [0, 0, 0.7]]
    rows = sp.csr_matrix(np.eye(3) + 0.3)
    for collections in ([1, 1, 1], [1, 1, 2]):
        groups = source_groups(rows, np.arange(3), np.array(collections))
        aligner = Aligner(groups, cross_similarity(rows, rows, weighted=False, projected=False), rows.mean(axis=0))
        spread = aligner.spread(rows.toarray()[:2] + np.array([[0.0, 0, 0], [0, 0, 1.0]]))
        delta, pull = aligner.weights(spread), aligner.pull_weights(spread)
        np.testing.assert_allclose(pull.sum(axis=1), (delta**2).sum(axis=1) / delta.sum(axis=1))
        assert len(set(collections)) == 2 or np.array_equal(pull, delta)


def test_switches_change_the_similarity_only(task):
    X, groups, domain = task
    plain = CrossGuidedKMeans(3, pivot_weights=False, projection=False, random_state=0).fit(
        X, groups, sample_domain=domain
    )
    both = CrossGuidedKMeans(3, random_state=0).fit(X, groups, sample_domain=domain)
    assert not np.allclose(plain.match_weights_, both.match_weights_)
    assert adjusted_rand_score(plain.labels_[domain < 0], both.labels_[domain < 0]) > 0.95


def test_names_of_groups_and_order_of_rows_do_not_matter(task):
    X, groups, domain = task
    start = X[np.flatnonzero(domain < 0)[[0, 50, 100]]].toarray()
    reference = CrossGuidedKMeans(3, init=start, random_state=0).fit(X, groups, sample_domain=domain)
    names = np.array(["b", "c", "a"])[groups]
    renamed = CrossGuidedKMeans(3, init=start, random_state=0).fit(X, names, sample_domain=domain)
    np.testing.assert_array_equal(renamed.labels_, reference.labels_)
    order = np.random.default_rng(0).permutation(len(groups))
    shuffled = CrossGuidedKMeans(3, init=start, random_state=0).fit(
        X[order], groups[order], sample_domain=domain[order]
    )
    np.testing.assert_array_equal(shuffled.labels_, reference.labels_[order])


def test_no_shared_word_falls_back_and_says_why():
    rng = np.random.default_rng(0)
    left, right = rng.integers(1, 4, (12, 6)), rng.integers(1, 4, (12, 6))
    X = sp.block_diag([left, right], format="csr")
    domain = np.repeat([1, -1], 12)
    groups = np.arange(24) % 2
    with pytest.warns(IsthmusWarning, match="share no word") as caught:
        model = CrossGuidedKMeans(2, random_state=0).fit(X, groups, sample_domain=domain)
    assert caught[0].message.code == "fallback"
    plain = CrossGuidedKMeans(2, guidance=0, random_state=0).fit(X, groups, sample_domain=domain)
    np.testing.assert_array_equal(model.labels_[domain < 0], plain.labels_[domain < 0])


def test_empty_documents_are_kept_and_reported(task):
    X, groups, domain = task
    X = X.tolil()
    gone = np.flatnonzero(domain < 0)[[3, 70]]
    X[gone] = 0
    with pytest.warns(IsthmusWarning, match="2 of 120 target documents have no known word"):
        model = CrossGuidedKMeans(3, random_state=0).fit(X.tocsr(), groups, sample_domain=domain)
    assert model.n_empty_ == 2
    assert np.all(model.labels_[gone] >= 0)
    np.testing.assert_array_equal(model.predict(X.tocsr()[gone]), model.labels_[gone])


def test_one_source_group_is_refused(task):
    X, groups, domain = task
    with pytest.raises(DataError, match="one class") as caught:
        CrossGuidedKMeans(3, random_state=0).fit(X, np.zeros_like(groups), sample_domain=domain)
    assert caught.value.code == "one-class"
    CrossGuidedKMeans(3, guidance=0, random_state=0).fit(X, np.zeros_like(groups), sample_domain=domain)


def test_more_clusters_than_documents_is_refused(task):
    X, groups, domain = task
    with pytest.raises(DataError, match=r"121.*120 documents"):
        CrossGuidedKMeans(121, random_state=0).fit(X, groups, sample_domain=domain)


@pytest.mark.parametrize(
    "setting",
    [{"guidance": 1.5}, {"n_clusters": 0}, {"metric": "manhattan"}, {"init": "far"}, {"n_init": 0}],
)
def test_wrong_parameters_are_refused(task, setting):
    X, groups, domain = task
    with pytest.raises(UsageError) as caught:
        CrossGuidedKMeans(**{"n_clusters": 3, **setting}).fit(X, groups, sample_domain=domain)
    assert caught.value.code == "bad-parameter"


def test_full_guidance_takes_the_source_centres(task):
    X, groups, domain = task
    model = CrossGuidedKMeans(3, guidance=1.0, random_state=0).fit(X, groups, sample_domain=domain)
    assert adjusted_rand_score(groups[domain < 0], model.labels_[domain < 0]) > 0.9


def test_stored_zeros_and_repeated_entries_do_not_matter(task):
    X, groups, domain = task
    reference = CrossGuidedKMeans(3, random_state=0).fit(X, groups, sample_domain=domain)
    half = X.copy()
    half.data /= 2
    columns = np.concatenate([X.indices, X.indices, np.zeros(1, dtype=X.indices.dtype)])
    rows = np.concatenate([np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))] * 2 + [[0]])
    order = np.argsort(rows, kind="stable")
    data = np.concatenate([half.data, half.data, [0.0]])[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    messy = sp.csr_matrix((data, columns[order], starts), shape=X.shape)
    assert not messy.has_canonical_format
    found = CrossGuidedKMeans(3, random_state=0).fit(messy, groups, sample_domain=domain)
    np.testing.assert_array_equal(found.labels_, reference.labels_)
    assert not messy.has_canonical_format


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_history_is_equation_2_with_the_distance_across_domains(task, metric):
    X, groups, domain = task
    rows = sp.csr_matrix(X, dtype=float)
    if metric == "cosine":
        rows = sp.csr_matrix(rows / np.linalg.norm(rows.toarray(), axis=1, keepdims=True))
    target = rows[domain < 0]
    ones = np.ones((domain > 0).sum(), dtype=int)
    prepared = prepare(rows[domain > 0], groups[domain > 0], ones, target, cosine=metric == "cosine")
    start = target[:3].toarray()
    settings = {"guidance": 0.4, "boost": 3.0, "warmup": 1, "cosine": metric == "cosine"}
    for steps in (2, 4, 6):
        before = guided_kmeans(prepared, start, max_iter=steps - 1, **settings)
        run = guided_kmeans(prepared, start, max_iter=steps, **settings)
        delta = prepared.aligner.weights(
            prepared.aligner.spread(before.centers)
        )  # one collection: the pull is the match weight
        distance = 1.0 - prepared.aligner.similarity.between(run.centers, prepared.groups.centers)
        shown = run.centers / np.linalg.norm(run.centers, axis=1, keepdims=True) if metric == "cosine" else run.centers
        inside = sum(np.sum((target[i].toarray()[0] - shown[c]) ** 2) for i, c in enumerate(before.labels))
        sizes = np.bincount(before.labels, minlength=3)
        across = sum(
            delta[i, j] * sizes[i] * distance[i, j] ** 2 for i in range(3) for j in range(len(prepared.groups))
        )
        assert run.history[-1] == pytest.approx(0.6 * inside + 0.4 * across, rel=1e-9)


def test_centres_are_pulled_along_the_words_of_the_target_only(task):
    X, groups, domain = task
    target = sp.csr_matrix(X[domain < 0], dtype=float).tolil()
    target[:, 0] = 0
    ready = prepare(X[domain > 0], groups[domain > 0], np.ones(120, dtype=int), target.tocsr(), cosine=False)
    assert ready.aligner.anchors[:, 0].max() == 0 < ready.groups.centers[:, 0].max()


def test_the_number_of_starts_is_the_number_of_clusters_whatever_holds_them(task):
    X = task[0]
    for start in (X[:4].toarray(), X[:4].toarray().tolist(), X[:4]):
        model = CrossGuidedKMeans(init=start, metric="euclidean").fit(X)
        assert model.n_clusters_ == 4, f"four starts in a {type(start).__name__}"


def test_without_a_source_the_number_is_still_found(build_task):
    X, _, domain = build_task(n_topics=3, n=20, seed=2)
    model = CrossGuidedKMeans(n_init=2, random_state=0).fit(X[domain < 0])
    assert 2 <= model.n_clusters_ <= 9
    assert [row["n_clusters"] for row in model.n_clusters_table_] == list(range(2, 10))
    assert model.guidance_ == 0


def test_domains_without_groups_are_refused(task):
    X, _, domain = task
    with pytest.raises(IsthmusError) as caught:
        CrossGuidedKMeans(2).fit(X, sample_domain=domain)
    assert caught.value.code == "no-labels"
