"""Co-clustering over blocks: when it stops, and that it finds what co-clustering in memory finds."""

import numpy as np
import pytest
import scipy.sparse as sp
from cut_passes import CutPasses

from isthmus import CoClusteringClassifier
from isthmus.classify.cocc import blocks
from isthmus.classify.cocc.classifier import settle
from isthmus.classify.cocc.co_clustering import CoClustering
from isthmus.exceptions import DataError
from isthmus.features.blocks import Block, RowBlock


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


def test_co_clustering_stops_where_a_step_gains_little_of_all_that_was_gained():
    """The tolerance as a share of the objective, of the last step, or of what came after the first one."""
    # after the start, then after each word step and each document step
    objectives = iter([8.0, 6.0, 5.5, 5.0, 4.8, 4.7, 4.65, 4.6])
    search = object.__new__(CoClustering)
    search.history, search.n_iter, search.converged = [10.0], 0, False
    search.word_step = search.document_step = lambda: 1
    search.objective = lambda: next(objectives)
    search.run(5, 0.1)
    # the third step gains 0.3: less than a tenth of 5.3, but not of what was gained since the first step, 1.3
    assert search.history == [10.0, 8.0, 6.0, 5.5, 5.0, 4.8, 4.7]
    assert not search.converged


@pytest.mark.parametrize(("left", "settles"), [(5, True), (4, False)])
def test_documents_do_not_settle_where_a_class_loses_more_than_half(left, settles):
    """Ten documents of the second class at first; five that stay are enough, four are not."""

    class Documents:
        sums = np.ones((2, 3))
        idf = np.ones(3)
        sizes = np.array([2, 10])

        def move(self, scores, phase):
            self.sizes = np.array([12 - left, left])
            return 0

    assert (settle(Documents())[2] == "converged") is settles


@pytest.mark.parametrize("n_moved", [0, 2, 60])
def test_the_table_follows_the_documents_however_many_move(n_moved):
    _, target, _ = two_domains(n=60)
    before = np.arange(60, dtype=np.int32) % 2
    after = before.copy()
    after[:n_moved] = 1 - after[:n_moved]
    rows = RowBlock.of(target)
    steps = blocks.weight_steps(rows)
    tables = [blocks.table_change(rows, steps, np.full(60, -1), labels, 2).toarray() for labels in (before, after)]
    change = blocks.table_change(rows, steps, before, after, 2).toarray()
    np.testing.assert_array_equal(tables[0] + change, tables[1], err_msg="clusters × words, as counted anew")
    expected = np.stack([np.log1p(target.toarray())[after == c].sum(axis=0) for c in range(2)])
    np.testing.assert_allclose(tables[1] / blocks.ONE, expected, atol=1e-7)


def test_documents_without_a_label_are_left_out_of_the_classes_table():
    rows = sp.csr_matrix(np.array([[2, 0, 1], [5, 5, 5], [0, 3, 0], [1, 0, 0]]))
    block = Block("source", lambda: RowBlock.of(rows), codes=np.array([1, -1, 0, 1], dtype=np.int32))
    table, documents = blocks.class_table(block, 2)
    logs = np.log1p([[0, 3, 0], [2, 0, 1]]) + np.log1p([[0, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(table.toarray() / blocks.ONE, logs, atol=1e-9)
    assert documents.tolist() == [1, 2], "one document of the first class, two of the second"


def test_domains_without_a_word_in_common_are_refused_in_blocks_too():
    half = np.array([[1, 2, 0, 0], [2, 1, 0, 0]] * 3)
    passes = CutPasses(sp.csr_matrix(half), sp.csr_matrix(half[:, ::-1]), np.arange(6) % 2, np.array(["a", "b"]), 2)
    with pytest.raises(DataError, match="shares 0 of its 2 words with the source's 2") as caught:
        CoClusteringClassifier(random_state=0).fit_passes(passes)
    assert caught.value.code == "no-shared-words"
