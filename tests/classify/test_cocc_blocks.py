"""Co-clustering over blocks: when it stops, and that it finds what co-clustering in memory finds."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from cut_passes import CutPasses

from isthmus import CoClusteringClassifier
from isthmus.classify.cocc import blocks, co_clustering
from isthmus.classify.cocc.steps import refine_by_centroids
from isthmus.classify.rules import CoClusterRule
from isthmus.exceptions import DataError
from isthmus.features.blocks import MemoryBlock, MemoryPasses, RowBlock


def two_domains(n=120, d=60, seed=0):
    """Two classes whose words differ between the domains, but for some that both use."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n)
    rates = np.full((2, 2, d), 0.05)  # domain, class, word
    rates[0, 0, :12], rates[0, 1, 12:24] = 1.0, 1.0
    rates[1, 0, 6:12], rates[1, 1, 18:24] = 0.8, 0.8
    rates[1, 0, 24:40], rates[1, 1, 40:56] = 0.6, 0.6
    rows = [sp.csr_matrix(rng.poisson(rates[side][codes])) for side in (0, 1)]
    return rows[0], rows[1], codes


CUTS = [1, 1, 50]  # one row, none, and the rest in two


def test_blocks_give_the_labels_of_rows_in_memory():
    source, target, codes = two_domains()
    y = np.concatenate([codes, np.full(target.shape[0], -1)])
    memory = CoClusteringClassifier(random_state=0).fit(sp.vstack([source, target]).tocsr(), y)
    passes = CutPasses(source, target, codes, np.array([0, 1]), CUTS)
    blocks = CoClusteringClassifier(random_state=0).fit_passes(passes)
    scores, no_known_terms = blocks.block_scores(passes.target_sample)
    assert scores.argmax(axis=1).tolist() == memory.transduction_[len(codes) :].tolist()
    assert no_known_terms.tolist() == (np.diff(target.indptr) == 0).tolist()
    assert (blocks.history_, blocks.refine_history_) == (memory.history_, memory.refine_history_)
    assert all(later <= before + 1e-9 for before, later in zip(blocks.history_, blocks.history_[1:], strict=False))


def test_values_left_to_auto_are_chosen_in_blocks_as_in_memory():
    source, target, codes = two_domains(n=60)
    settings = {"n_word_clusters": "auto", "n_init": 1, "max_iter": 5, "random_state": 0}
    y = np.concatenate([codes, np.full(target.shape[0], -1)])
    memory = CoClusteringClassifier(**settings).fit(sp.vstack([source, target]).tocsr(), y)
    blocks = CoClusteringClassifier(**settings).fit_passes(CutPasses(source, target, codes, np.array([0, 1]), CUTS))
    assert blocks.choice_ == memory.choice_


def test_co_clustering_stops_where_a_step_gains_little_of_all_that_was_gained(monkeypatch):
    """The tolerance as a share of the objective, of the last step, or of what came after the first one."""
    # after the start, then after each word step and each document step
    objectives = iter([10.0, 8.0, 6.0, 5.5, 5.0, 4.8, 4.7, 4.65, 4.6])
    state = SimpleNamespace(
        n_clusters=2,
        place=lambda counts: None,
        tables=lambda words: None,
        word_step=lambda words: 1,
        document_step=lambda words, placed: 1,
        objective=lambda: next(objectives),
        target_table=np.ones((2, 2)),
        source_table=np.ones((2, 2)),
        by_cluster=np.ones((2, 2)),
    )
    monkeypatch.setattr(co_clustering, "Search", lambda *arguments: state)
    start = SimpleNamespace(sums=None)
    start.copy = lambda: start
    result = co_clustering.co_cluster(None, np.ones((2, 2)), start, np.array([0, 1]), 2, max_iter=5, tol=0.1)
    # the third step gains 0.3: less than a tenth of 5.3, but not of what was gained since the first step, 1.3
    assert result.history == [10.0, 8.0, 6.0, 5.5, 5.0, 4.8, 4.7]
    assert not result.converged


@pytest.mark.parametrize(("left", "settles"), [(5, True), (4, False)])
def test_documents_do_not_settle_where_a_class_loses_more_than_half(left, settles):
    """Ten documents of the second class at first; five that stay are enough, four are not."""

    class Documents:
        sums = np.ones((3, 2))
        sizes = np.array([2, 10])

        def mean_cosine(self, centroids):
            return 1.0

        def move(self, centroids):
            self.sizes = np.array([12 - left, left])
            return 0

    assert (refine_by_centroids(Documents()).stopped == "converged") is settles


def test_a_sample_too_small_leaves_scores_as_they_are():
    source, target, codes = two_domains(n=40)
    passes = MemoryPasses(source, target, codes, np.array([0, 1]))
    model = CoClusteringClassifier(random_state=0).fit_passes(passes)
    assert (model.length_power_, model.inverse_temperature_) == (0.0, 1.0)
    nothing = MemoryBlock("target", lambda: passes.target_sample.rows)
    np.testing.assert_array_equal(model.block_scores(nothing)[0], model.block_scores(passes.target_sample)[0])


@pytest.mark.parametrize(("n_moved", "listed"), [(0, True), (2, True), (60, False)])
def test_the_table_follows_the_documents_however_many_move(n_moved, listed):
    """Few moves travel as places, many as a table."""
    _, target, _ = two_domains(n=60)
    problem = blocks.problem_in_memory(sp.csr_matrix(target, dtype=float), 2)
    before = np.arange(60, dtype=np.int32) % 2
    placed = problem.placed(before)
    after = before.copy()
    after[:n_moved] = 1 - after[:n_moved]
    block = problem.sample
    block.keep("other", {"labels": after})
    by = blocks.ByClusters("other", np.arange(2))
    change, sizes, moved = blocks.move_documents(block, problem.weigher, by, 2, placed.name, "after", None)
    expected = np.stack([target[after == c].sum(axis=0).A1 for c in range(2)], axis=1)
    found = change.added_to(placed.table) / problem.weigher.one
    np.testing.assert_array_equal(found, expected, err_msg="words × clusters, as counted anew")
    assert (moved, sizes.tolist()) == (n_moved, np.bincount(after, minlength=2).tolist())
    assert (change.table is None) == listed, "the shorter of the two should travel"


def test_documents_without_a_label_are_left_out_of_the_classes_table():
    rows = sp.csr_matrix(np.array([[2, 0, 1], [5, 5, 5], [0, 3, 0], [1, 0, 0]]))
    block = MemoryBlock("source", lambda: RowBlock.of(rows), codes=np.array([1, -1, 0, 1], dtype=np.int32))
    table, documents = blocks.class_table(block, blocks.Weigher("counts", 0), 2)
    assert table.tolist() == [[0, 3], [3, 0], [0, 1]]
    assert documents.tolist() == [1, 2], "one document of the first class, two of the second"


def test_domains_without_a_word_in_common_are_refused_in_blocks_too():
    half = np.array([[1, 2, 0, 0], [2, 1, 0, 0]] * 3)
    passes = CutPasses(sp.csr_matrix(half), sp.csr_matrix(half[:, ::-1]), np.arange(6) % 2, np.array(["a", "b"]), 2)
    with pytest.raises(DataError, match="shares 0 of its 2 words with the source's 2") as caught:
        CoClusteringClassifier(random_state=0).fit_passes(passes)
    assert caught.value.code == "no-shared-words"


@pytest.mark.parametrize(("n", "placed"), [(99, False), (100, True)])
def test_scores_are_calibrated_from_a_hundred_documents_on(n, placed):
    source, target, codes = two_domains(n=n)
    model = CoClusteringClassifier(random_state=0, n_init=1, max_iter=2, refine=None)
    model.fit_passes(MemoryPasses(source, target, codes, np.array([0, 1])))
    assert ((model.length_power_, model.inverse_temperature_) != (0.0, 1.0)) is placed, f"{n} documents"


def test_a_class_without_a_cluster_is_below_every_other():
    """Also where clusters are further apart than anything that probabilities can show; two clusters: the better one."""
    rule = CoClusterRule("count", 0, np.zeros((3, 1)), None, 1.0, 1.0, columns=np.array([2, 0, 2]), n_classes=3)
    found = rule.by_class(np.array([[5.0, -2000.0, 7.0], [-1.0, 3.0, -4.0]]))
    assert found.tolist() == [[-2000.0, -2700.0, 7.0], [3.0, -704.0, -1.0]]
