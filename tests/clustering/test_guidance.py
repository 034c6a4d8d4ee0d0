from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from isthmus.clustering import CrossGuidedKMeans, guided
from isthmus.clustering import guidance as choice
from isthmus.clustering.alignment import (
    Aligner,
    Match,
    alignment_table,
    guided_kmeans,
    name_clusters,
    prepare,
    source_groups,
)
from isthmus.clustering.guidance import choose_n_clusters, count_counterparts
from isthmus.clustering.kmeans import initial_centers, kmeans, metric_rows
from isthmus.exceptions import IsthmusWarning, UsageError
from isthmus.shift.similarity import cross_similarity
from isthmus_bench.baselines.groups import cocluster, kmeans_with_source, plain_kmeans


def sides(task):
    X, groups, domain = task
    return X[domain > 0], groups[domain > 0], X[domain < 0], groups[domain < 0]


def test_groups_of_two_collections_are_kept_apart():
    X = sp.csr_matrix([[1.0, 0], [3.0, 0], [0, 2.0], [4.0, 0]])
    groups = source_groups(X, np.array([0, 0, 1, 0]), np.array([1, 1, 1, 2]))
    assert groups.centers.tolist() == [[2, 0], [0, 2], [4, 0]]
    assert groups.collections.tolist() == [1, 1, 2]


def test_similarity_without_switches_is_the_cosine_over_shared_words(task):
    source, _, target, _ = sides(task)
    similarity = cross_similarity(source, target, weighted=False, projected=False)
    a, b = np.asarray(target[:1].todense()), np.asarray(source[:1].todense())
    shared = similarity.pivots
    expected = a[0, shared] @ b[0, shared] / np.linalg.norm(a[0, shared]) / np.linalg.norm(b[0, shared])
    assert similarity.between(a, b)[0, 0] == pytest.approx(expected)


def test_parts_of_a_similarity_add_up(task):
    source, _, target, _ = sides(task)
    similarity = cross_similarity(source, target)
    a, b = np.asarray(target[:5].mean(axis=0)), np.asarray(source[:5].mean(axis=0))
    assert similarity.parts(a[0], b[0]).sum() == pytest.approx(similarity.between(a, b)[0, 0])


def test_projection_brings_synonyms_together():
    # "agent" (source) and "rep" (target) never meet, but both go with "call" and "polite".
    words = ["agent", "rep", "call", "polite", "bike"]
    source = sp.csr_matrix([[1, 0, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 1.0]])
    target = sp.csr_matrix([[0, 1, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 1.0]])
    a, b = np.eye(5)[[words.index("rep")]], np.eye(5)[[words.index("agent")]]
    apart = cross_similarity(source, target, weighted=False, projected=False).between(a, b)[0, 0]
    joined = cross_similarity(source, target, weighted=False, projected=True).between(a, b)[0, 0]
    assert apart == 0
    assert joined == pytest.approx(1.0)


def test_contrast_is_low_for_strangers_and_high_for_counterparts(task):
    source, codes, target, truth = sides(task)
    groups = source_groups(source, codes, np.ones(len(codes), dtype=int))
    aligner = Aligner(groups, cross_similarity(source, target), target.mean(axis=0))
    gold = np.vstack([np.asarray(target[truth == g].mean(axis=0)) for g in range(3)])
    contrast = aligner.contrasts(aligner.spread(gold))
    assert np.all(np.diag(contrast) > 0.5)
    assert np.all(contrast[~np.eye(3, dtype=bool)] < 0.1)


def test_a_single_cluster_has_nothing_to_contrast_with():
    """It is the mean of the target but for rounding: what is left after the mean is taken away has no meaning."""
    target = sp.csr_matrix([[3.0, 1.0], [1.0, 1.0]])
    groups = source_groups(sp.csr_matrix(np.eye(2)), np.array([0, 1]), np.array([1, 1]))
    aligner = Aligner(groups, cross_similarity(target, target, weighted=False, projected=False), target.mean(axis=0))
    apart = np.array([[2.0 - 1e-12, 1.0 + 1e-12]])  # leans to the second group by rounding alone
    assert aligner.contrasts(aligner.spread(apart))[0, 0] < 0
    assert np.flatnonzero(aligner.weights(aligner.spread(apart))[0]).tolist() == [0]


def test_alignment_table_names_new_clusters():
    groups = source_groups(sp.csr_matrix(np.eye(2)), np.array([0, 1]), np.array([1, 1]))
    table = alignment_table(np.array([[0.0, 0.5], [0.0, 0.0]]), groups, np.array(["a", "b"]))
    assert [match.group for match in table] == ["b", None]
    assert table[0].strength == 0.5


def test_baselines_start_where_guided_starts(task):
    source, codes, target, _ = sides(task)
    prepared = prepare(source, codes, np.ones(len(codes), dtype=int), target)
    start = initial_centers(prepared.target, 3, "random", 4)
    np.testing.assert_array_equal(
        plain_kmeans(target, start, max_iter=25), guided_kmeans(prepared, start, guidance=0, max_iter=25).labels
    )
    together = kmeans_with_source(source, target, start, max_iter=25, cosine=False)
    reference = KMeans(3, init=start, n_init=1, max_iter=25, tol=0).fit(sp.vstack([source, target]))
    np.testing.assert_array_equal(together, reference.labels_[source.shape[0] :])


def test_cocluster_finds_easy_groups_and_takes_empty_rows(task):
    _, _, target, truth = sides(task)
    rows = sp.vstack([target, sp.csr_matrix((1, target.shape[1]))], format="csr")
    labels = cocluster(rows, 3)
    assert len(labels) == len(truth) + 1
    assert adjusted_rand_score(truth, labels[:-1]) > 0.8


def test_starts_are_scikit_learns(task):
    rows = metric_rows(task[0], True)
    found = initial_centers(rows, 3, "random", 1)
    picked = np.random.RandomState(1).choice(rows.shape[0], size=3, replace=False, p=np.full(rows.shape[0], 1 / 240))
    np.testing.assert_array_equal(found, rows[picked].toarray())
    with pytest.raises(UsageError):
        initial_centers(rows, 3, np.ones((2, 2)))


def test_number_of_clusters_follows_the_sources_grain(build_task):
    X, _, domain = build_task(n_topics=6, n=30, seed=9)
    rows = metric_rows(X, True)
    fine, table = choose_n_clusters(rows[domain < 0], rows[domain > 0], 6)
    coarse, _ = choose_n_clusters(rows[domain < 0], rows[domain > 0], 2)
    assert 4 <= fine <= 8
    assert coarse < fine
    divergence = [row["divergence"] for row in table]
    assert np.all(np.diff(divergence) <= 1e-12)


def test_counterparts_are_counted_and_strangers_are_not(build_task):
    X, groups, domain = build_task(n_topics=4, seed=8)
    source, target = X[domain > 0], X[(domain < 0) & (groups < 3)]
    prepared = prepare(source, groups[domain > 0], np.ones(160, dtype=int), target)
    assert count_counterparts(prepared) == 3
    assert count_counterparts(prepare(None, None, None, target)) == 0


def test_source_groups_with_a_counterpart_set_the_least_number(build_task, monkeypatch):
    X, groups, domain = build_task(n_topics=4, seed=8)
    labels = [int(group) if side > 0 else -1 for group, side in zip(groups, domain, strict=True)]
    monkeypatch.setattr("isthmus.clustering.guided.choose_n_clusters", lambda *args, **options: (2, []))
    assert CrossGuidedKMeans(random_state=0).fit(X, labels, sample_domain=domain).n_clusters_ == 4


def test_few_rows_give_one_cluster():
    assert choose_n_clusters(sp.csr_matrix(np.eye(3)), None, 0) == (1, [])


def test_the_estimator_looks_for_the_number_of_target_clusters_with_the_source_as_its_measure(build_task, monkeypatch):
    """Source and target swapped on the way to the choice."""
    X, groups, domain = build_task(n_topics=3, n=20, seed=4)
    keep = np.concatenate([np.flatnonzero(domain > 0), np.flatnonzero(domain < 0)[:30]])  # sides of unequal size
    seen = []

    def choose(target, source, n_groups, **options):
        seen.append((target.shape[0], source.shape[0], n_groups))
        return 2, []

    monkeypatch.setattr("isthmus.clustering.guided.choose_n_clusters", choose)
    labels = [int(g) if d > 0 else -1 for g, d in zip(groups[keep], domain[keep], strict=True)]
    CrossGuidedKMeans(random_state=0).fit(X[keep], labels, sample_domain=domain[keep])
    assert seen == [(30, int((domain > 0).sum()), 3)]


def test_counterparts_are_counted_in_the_tightest_of_several_runs(build_task, monkeypatch):
    """The loosest run taken instead."""
    X, groups, domain = build_task(n_topics=4, seed=8)
    prepared = prepare(X[domain > 0], groups[domain > 0], np.ones(160, dtype=int), X[(domain < 0) & (groups < 3)])
    runs = []

    def worse_first(*arguments, **options):
        run = guided_kmeans(*arguments, **options)
        if runs:  # every run but the first is spoiled: all documents in one cluster, far from it
            worse = replace(run.stats, labels=0 * run.labels, divergence=run.stats.divergence + 1 + len(runs))
            run = replace(run, stats=worse)
        runs.append(run)
        return run

    monkeypatch.setattr("isthmus.clustering.guidance.guided_kmeans", worse_first)
    assert count_counterparts(prepared) == 3
    assert len(runs) > 1


def test_the_tolerance_is_a_share_of_the_mean_variance_of_columns(monkeypatch):
    """Variances taken over rows instead."""
    given = []

    def watched(*arguments, **settings):
        given.append(settings["tol"])
        return kmeans(*arguments, **settings)

    monkeypatch.setattr("isthmus.clustering.alignment.kmeans", watched)
    X = np.array([[5.0, 0, 0, 0, 0, 1], [4, 0, 0, 1, 0, 0], [0, 0, 6, 0, 0, 0]])
    CrossGuidedKMeans(2, metric="euclidean", tol=0.5, n_init=1, random_state=0).fit(X)
    assert given == [pytest.approx(0.5 * X.var(axis=0).mean())]


def test_new_documents_go_to_the_centre_that_the_metric_calls_nearest():
    """The other metric taken for new documents."""
    X = np.array([[1.0, 1], [1, 1.2], [1.2, 1], [9, 0.5], [9, 1], [10, 1]])
    new = np.array([[1.5, 0.2]])  # near the first three, in the direction of the others
    plain = CrossGuidedKMeans(2, metric="euclidean", random_state=0).fit(X)
    turned = CrossGuidedKMeans(2, metric="cosine", random_state=0).fit(X)
    assert plain.predict(new)[0] == plain.labels_[0]
    assert plain.predict(np.array([[9.5, 0.8]]))[0] == plain.labels_[5]  # its length counts
    assert turned.predict(new)[0] == turned.labels_[5]
    assert plain.labels_[0] != plain.labels_[5]
    assert turned.labels_[0] != turned.labels_[5]


def test_guided_centres_rest_before_a_run_is_called_stable():
    """Stopped as soon as the labels, or the pairs, stay the same, while centres still follow their matches."""
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(40, 0.08), 4)
    rows = np.array([rng.multinomial(25, topics[i % 4]) for i in range(160)], dtype=float)
    groups = np.array([f"g{i % 4}" if i < 80 else None for i in range(160)], dtype=object)
    model = CrossGuidedKMeans(4, tol=0.0, n_init=1, random_state=0).fit(rows, groups)
    assert model.termination_condition_ == "stable"
    assert abs(model.history_[-1] - model.history_[-2]) < 1e-5 * model.history_[-1]
    assert model.n_iter_ >= 8


def test_the_price_of_a_cluster_is_the_slope_of_the_sources_own_curve(monkeypatch):
    """A wrong price: J(k) + λ·k with λ from the source at its own number of groups."""
    asked = []

    def curve(rows, numbers, rng, cosine):
        asked.append((rows.sum(), numbers.tolist()))
        return 10.0 / np.asarray(numbers, dtype=float)

    monkeypatch.setattr(choice, "_divergences", curve)
    target, source = sp.csr_matrix(np.eye(40)), sp.csr_matrix(2 * np.eye(40))
    best, table = choice.choose_n_clusters(target, source, 4)
    (of_target, grid), (of_source, around) = asked
    assert (of_target, of_source) == (40, 80)
    low, high = around
    assert low < 4 < high
    price = (10 / low - 10 / high) / (high - low)
    for row in table:
        divergence = np.interp(np.log(row["n_clusters"]), np.log(grid), 10 / np.array(grid))
        assert row["score"] == pytest.approx(divergence + price * row["n_clusters"])
    assert best == min(table, key=lambda row: row["score"])["n_clusters"]


@pytest.mark.parametrize(("n_target", "n_source"), [(60, 40), (40, 60), (40, 40)])
def test_both_curves_are_taken_on_as_many_rows(monkeypatch, n_target, n_source):
    """The larger side in full: chance alone lowers the curve more in few rows."""
    asked = []

    def curve(rows, numbers, rng, cosine):
        asked.append(rows.shape[0])
        return 10.0 / np.asarray(numbers, dtype=float)

    monkeypatch.setattr(choice, "_divergences", curve)
    choice.choose_n_clusters(sp.csr_matrix(np.eye(n_target)), sp.csr_matrix(np.eye(n_source)), 4)
    assert asked == [40, 40]


def test_the_source_pulls_from_the_iteration_after_the_warm_up():
    """Warm-up one short."""
    source = sp.csr_matrix([[3.0, 0, 1], [2, 0, 1], [0, 3, 1], [0, 2, 1]])
    prepared = prepare(source, np.array([0, 0, 1, 1]), np.ones(4, dtype=int), source)
    start = source[[0, 2]].toarray()
    runs = [guided_kmeans(prepared, start, max_iter=n, warmup=2) for n in (1, 2, 3)]
    assert [run.guided for run in runs] == [False, False, True]


def test_entries_stored_in_unequal_parts_are_added_up():
    """``sum_duplicates`` dropped: the fixture elsewhere halves every entry, which lengths of one hide."""
    split = sp.csr_matrix((np.array([1.0, 2.0, 5.0, 0.0]), np.array([0, 0, 1, 1]), np.array([0, 3, 4])), shape=(2, 2))
    with pytest.warns(IsthmusWarning, match="1 of 2 target documents"):
        model = CrossGuidedKMeans(1, metric="euclidean").fit(split)
    assert model.cluster_centers_.tolist() == [[3.0, 5.0]]
    assert split.nnz == 4, "the caller's rows are left as they are"


def crossed_task(*, misleading):
    """Two plain topics of twenty words each; the source's groups are these topics, or half of each."""
    rng = np.random.default_rng(0)
    topics = [np.arange(20), np.arange(20, 40)]
    crossed = [np.r_[0:10, 20:30], np.r_[10:20, 30:40]]
    groups = np.repeat([0, 1], 40)

    def documents(words):
        return sp.csr_matrix([np.bincount(rng.choice(words[group], 8), minlength=40) for group in groups], dtype=float)

    return documents(crossed if misleading else topics), groups, documents(topics)


@pytest.mark.parametrize("misleading", [False, True])
def test_words_that_took_no_part_tell_how_much_weight_the_source_gets(misleading):
    source, groups, target = crossed_task(misleading=misleading)
    ones = np.ones(len(groups), dtype=int)
    chosen, table = choice.choose_guidance(source, groups, ones, target, n_clusters=2)
    assert [row["guidance"] for row in table] == [0.0, 0.25, 0.5, 0.75]
    assert (chosen < 0.5) == misleading, table
    model = CrossGuidedKMeans(2, guidance="auto", random_state=0)
    X, y = sp.vstack([source, target]), np.r_[groups, np.full(target.shape[0], -1)]
    fixed = CrossGuidedKMeans(2, guidance=model.fit(X, y).guidance_, random_state=0).fit(X, y)
    assert (model.guidance_ < 0.5) == misleading, model.guidance_table_
    assert model.labels_.tolist() == fixed.labels_.tolist()
    assert adjusted_rand_score(groups, model.labels_[len(groups) :]) == 1.0
    order = np.random.default_rng(1).permutation(X.shape[0])
    assert CrossGuidedKMeans(2, guidance="auto", random_state=0).fit(X[order], y[order]).guidance_ == model.guidance_


@pytest.mark.parametrize("misleading", [False, True])
def test_of_large_collections_some_documents_tell_the_same(misleading, monkeypatch):
    """Rows and their groups are drawn together: 60 of 80 on either side."""
    monkeypatch.setattr(choice, "_SAMPLE", 60)
    source, groups, target = crossed_task(misleading=misleading)
    chosen, _ = choice.choose_guidance(source, groups, np.ones(80, dtype=int), target, n_clusters=2)
    assert (chosen < 0.5) == misleading


def test_the_usual_weight_stays_unless_another_is_ahead_at_99_percent(monkeypatch):
    """Student's t of ten halves: 3.25 standard errors."""
    source, groups, target = crossed_task(misleading=False)
    for lead, expected in ((3.2, 0.5), (3.3, 0.25)):
        noise = np.tile([1.0, -1.0], 5)  # ten halves: mean 0, standard error 1 / 3
        given = iter(np.column_stack([np.zeros(10), lead / 3 + noise, np.zeros(10), np.zeros(10)]).ravel())
        monkeypatch.setattr(choice, "_likeness", lambda *_, given=given: next(given))
        ones = np.ones(len(groups), dtype=int)
        assert choice.choose_guidance(source, groups, ones, target, n_clusters=2)[0] == expected, lead


def test_likeness_by_hand():
    rows = sp.csr_matrix([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    # In the first cluster each document is compared with the other one, and the document alone with nothing.
    assert choice._likeness(rows, np.array([0, 0, 1]), 2) == pytest.approx((0.6 + 0.6 + 0.0) / 3)


def test_a_weight_that_is_given_replaces_that_of_the_contexts(task):
    source, _, target, _ = sides(task)
    usual = cross_similarity(source, target)
    given = cross_similarity(source, target, weighted={int(usual.pivots[1]): 0.0})
    assert given.weights[1] == 0
    assert np.delete(given.weights, 1).tolist() == np.delete(usual.weights, 1).tolist()


def test_rows_groups_and_collections_of_a_sample_belong_together(monkeypatch):
    monkeypatch.setattr(choice, "_SAMPLE", 60)
    source, groups, target = crossed_task(misleading=False)
    handed = []

    def noted(rows, codes, collections, *rest, **options):
        handed.append((codes, collections))
        return prepare(rows, codes, collections, *rest, **options)

    monkeypatch.setattr(choice, "prepare", noted)
    choice.choose_guidance(source, groups, 1 + groups, target, n_clusters=2)
    assert handed
    for codes, collections in handed:
        np.testing.assert_array_equal(collections, 1 + codes, err_msg="collections of other rows")


def test_the_weight_is_chosen_for_the_model_as_it_was_set(monkeypatch):
    given = {}
    monkeypatch.setattr(guided, "choose_guidance", lambda *rows, **settings: given.update(settings) or (0.5, []))
    source, groups, target = crossed_task(misleading=False)
    model = CrossGuidedKMeans(2, guidance="auto", metric="euclidean", random_state=0)
    model.fit(sp.vstack([source, target]), np.r_[groups, np.full(target.shape[0], -1)])
    del given["random_state"]
    assert given == {"n_clusters": 2, "cosine": False}


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_the_number_of_clusters_is_looked_for_in_the_metric_of_the_model(build_task, monkeypatch, metric):
    """By the choice, by the count of counterparts and by the runs of that count."""
    X, groups, domain = build_task(n=12, seed=4)
    seen = []

    def choose(*arguments, **options):
        seen.append(("choice", options["cosine"]))
        return 2, []

    def run(*arguments, **options):
        seen.append(("run", options["cosine"]))
        return guided_kmeans(*arguments, **options)

    monkeypatch.setattr("isthmus.clustering.guided.choose_n_clusters", choose)
    monkeypatch.setattr("isthmus.clustering.guidance.guided_kmeans", run)
    labels = [int(g) if d > 0 else -1 for g, d in zip(groups, domain, strict=True)]
    CrossGuidedKMeans(metric=metric, n_init=1, random_state=0).fit(X, labels, sample_domain=domain)
    assert set(seen) == {("choice", metric == "cosine"), ("run", metric == "cosine")}


@pytest.mark.parametrize("n_groups", [0, 1])
@pytest.mark.parametrize("has_source", [False, True])
def test_without_groups_the_price_of_a_cluster_is_the_mean_gain(monkeypatch, n_groups, has_source):
    asked = []

    def curve(rows, numbers, rng, cosine):
        asked.append(numbers)
        return 10.0 / np.asarray(numbers, dtype=float)

    monkeypatch.setattr(choice, "_divergences", curve)
    target = sp.csr_matrix(np.eye(40))
    best, table = choose_n_clusters(target, 2 * target if has_source else None, n_groups)
    (grid,) = asked  # no curve of a source
    assert (grid[0], grid[-1]) == (1, 9)
    price = (10 - 10 / 9) / 8
    for row in table:
        expected = row["divergence"] + price * row["n_clusters"]
        assert row["score"] == pytest.approx(expected), f"{row['n_clusters']} clusters"
    assert best == min(table, key=lambda row: row["score"])["n_clusters"]


def test_groups_without_a_source_of_their_own_have_no_price(monkeypatch):
    monkeypatch.setattr(choice, "_divergences", lambda rows, numbers, rng, cosine: 10.0 / np.asarray(numbers, float))
    assert (
        choose_n_clusters(sp.csr_matrix(np.eye(40)), None, 3)[1]
        == choose_n_clusters(sp.csr_matrix(np.eye(40)), None, 0)[1]
    )


@pytest.mark.parametrize(("n", "numbers"), [(7, []), (8, [2]), (12, [2, 3])])
def test_a_cluster_has_four_documents_on_average(n, numbers):
    best, table = choose_n_clusters(sp.csr_matrix(np.eye(n)), None, 0)
    assert [row["n_clusters"] for row in table] == numbers, f"{n} documents"
    assert best in (numbers or [1])


def test_one_group_or_one_document_has_no_counterpart_to_be_told_by(task):
    source, codes, target, _ = sides(task)
    one = prepare(source, np.zeros_like(codes), np.ones(len(codes), dtype=int), target)
    assert count_counterparts(one) == 0
    alone = prepare(source, codes, np.ones(len(codes), dtype=int), target[:1])
    assert count_counterparts(alone) == 0


def test_starts_may_be_sparse_and_others_are_refused(task):
    rows = metric_rows(task[0], True)
    np.testing.assert_array_equal(initial_centers(rows, 3, rows[:3]), rows[:3].toarray())
    with pytest.raises(UsageError, match="init='farthest'") as caught:
        initial_centers(rows, 3, "farthest")
    assert caught.value.code == "bad-parameter"


def test_a_single_group_is_matched_whatever_its_contrast():
    """Its centre is the mean of all groups: nothing sets it apart, and nothing could."""
    groups = source_groups(sp.csr_matrix([[1.0, 1.0]]), np.array([0]), np.array([1]))
    target = sp.csr_matrix([[3.0, 1.0], [1.0, 3.0]])
    similarity = cross_similarity(target, target, weighted=False, projected=False)
    aligner = Aligner(groups, similarity, target.mean(axis=0))
    assert (aligner.weights(aligner.spread(target.toarray())) > 0).sum() == 1, (
        "the better of two clusters has the group"
    )


def test_clusters_without_any_group_are_new():
    groups = source_groups(sp.csr_matrix(np.eye(2)), np.array([0, 1]), np.array([1, 1]))
    for weights in (np.zeros((2, 0)), np.zeros((2, 2))):
        assert alignment_table(weights, groups, np.array(["a", "b"])) == [
            Match(0, None, 0.0, None),
            Match(1, None, 0.0, None),
        ]


def test_no_name_stands_twice():
    model = SimpleNamespace(
        alignment_=[
            Match(0, "staff", 0.5, 1),
            Match(1, None, 0.0, None),
            Match(2, "staff", 0.4, 2),
            Match(3, None, 0.0, None),
        ],
        cluster_means_=np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]),
        target_mean_=np.array([1.0, 1.0]),
    )
    names = name_clusters(model, ["kind", "price"])
    assert names == ["staff", "price", "staff (2)", "no distinctive words"]
