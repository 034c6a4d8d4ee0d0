"""Statistics of a chunk for cross-guided k-means, on a handful of documents."""

import numpy as np
import scipy.sparse as sp
from cut_passes import CutPasses

from isthmus.clustering import CrossGuidedKMeans
from isthmus.clustering.guided import assign_chunk, sum_groups
from isthmus.features.blocks import Block, RowBlock


def test_rows_of_a_chunk_are_added_up_by_the_nearest_centre():
    # Two documents of the first word, one of the second, one without a word.
    rows = RowBlock(np.array([0, 1, 2, 3, 3]), np.array([0, 0, 1], np.int32), np.array([1, 3, 2], np.int32), 2)
    idf, centers = np.ones(2), np.eye(2)
    target = Block("target", lambda: rows)
    stats = assign_chunk(target, idf, centers)
    assert stats.counts.tolist() == [2, 1]
    assert stats.sums.tolist() == [[2.0, 0.0], [0.0, 1.0]]
    total, documents = sum_groups(target, idf, 1)  # a target: all in one
    assert (total.tolist(), documents.tolist()) == ([[2.0, 1.0]], [4])
    source = Block("source", lambda: rows, codes=np.array([1, -1, 0, 1]))
    by_label, labelled = sum_groups(source, idf, 2)
    assert (by_label.tolist(), labelled.tolist()) == ([[0.0, 1.0], [1.0, 0.0]], [1, 2])


def topics(seed=0, n=45):
    """Documents about three topics of five words each, and of which one each is."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 3
    X = rng.poisson(np.where(np.arange(15) // 5 == codes[:, None], 1.5, 0.2)) + (np.arange(15) == 5 * codes[:, None])
    return sp.csr_matrix(X), codes


NAMES = np.array(["bike", "price", "staff"])


def grouped(**settings):
    X, codes = topics()
    passes = CutPasses(X, topics(seed=1)[0], codes, NAMES, 3)
    model = CrossGuidedKMeans(3, n_init=2, random_state=0, **settings)
    return model.fit_passes(passes, 20)


def test_blocks_follow_the_groups_unless_they_are_told_not_to():
    assert sorted(match.group for match in grouped().alignment_) == NAMES.tolist()
    plain = grouped(guidance=0.0)
    assert [match.group for match in plain.alignment_] == [None] * 3, "guidance=0 follows no group"
    assert plain.termination_condition_ == "stable"


def test_a_source_that_was_found_to_be_of_no_use_is_not_followed_by_all_documents_either(monkeypatch):
    monkeypatch.setattr("isthmus.clustering.guided.choose_guidance", lambda *arguments, **settings: (0.0, []))
    model = grouped(guidance="auto")
    assert model.guidance_ == 0
    assert [match.group for match in model.alignment_] == [None] * 3, "as in memory, where nothing is aligned"


def test_the_cut_into_chunks_changes_nothing():
    X, codes = topics()
    fits = []
    for cuts in (1, 4):
        passes = CutPasses(X, topics(seed=1)[0], codes, NAMES, cuts)
        fits.append(CrossGuidedKMeans(3, n_init=2, random_state=0).fit_passes(passes, 20))
    np.testing.assert_array_equal(fits[0].cluster_centers_, fits[1].cluster_centers_)
    assert fits[0].n_iter_ == fits[1].n_iter_ == len(fits[0].history_)


def test_in_one_block_or_several_without_guidance_the_means_are_those_of_k_means():
    model = grouped(guidance=0.0)
    X = topics(seed=1)[0]
    rows = X.multiply(model.idf_[None, :]).toarray()
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    nearest = model.predict(sp.csr_matrix(rows))
    expected = [rows[nearest == cluster].mean(axis=0) for cluster in range(3)]
    np.testing.assert_allclose(model.cluster_means_, expected, atol=1e-4, err_msg="means of the documents of a cluster")
    assert model.n_iter_ <= 20


def test_passes_end_where_they_are_told_to():
    X, codes = topics()
    passes = CutPasses(X, X, codes, NAMES, 2)
    model = CrossGuidedKMeans(3, n_init=1, random_state=0).fit_passes(passes, 1)
    assert (model.n_iter_, model.termination_condition_) == (1, "max_iter")
