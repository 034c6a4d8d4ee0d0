"""Statistics of a block for cross-guided k-means, on a handful of documents."""

import numpy as np
import scipy.sparse as sp
from cut_passes import CutPasses

from isthmus.clustering import CrossGuidedKMeans, blocks
from isthmus.features.blocks import MemoryBlock, RowBlock


def test_rows_of_a_block_are_added_up_by_the_nearest_centre():
    # Two documents of the first word, one of the second, one without a word.
    rows = RowBlock(np.array([0, 1, 2, 3, 3]), np.array([0, 0, 1], np.int32), np.array([1, 3, 2], np.int32), 2)
    idf, directions = np.ones(2), np.eye(2)
    target = MemoryBlock("target", lambda: rows)
    sums, counts = blocks.assign_rows(target, idf, directions)
    assert counts.tolist() == [2, 1]
    assert (sums / blocks.ONE).tolist() == [[2.0, 0.0], [0.0, 1.0]]
    total, documents = blocks.group_sums(target, idf, 1)  # a target: all in one
    assert (total / blocks.ONE).tolist() == [[2.0], [1.0]]
    assert documents.tolist() == [4]
    source = MemoryBlock("source", lambda: rows, codes=np.array([1, -1, 0, 1]))
    by_label, labelled = blocks.group_sums(source, idf, 2)
    assert (by_label / blocks.ONE).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert labelled.tolist() == [1, 2]


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
    return blocks.fit_passes(model, passes, 20)


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


def test_the_least_contrast_of_the_model_holds_for_all_documents():
    strict = grouped(min_contrast=1.0)
    assert [match.group for match in strict.alignment_] == [None] * 3, "no pair has a contrast of one"


def test_in_one_block_or_several_without_guidance_the_means_are_those_of_k_means():
    model = grouped(guidance=0.0)
    X = topics(seed=1)[0]
    rows = X.multiply(model.idf_[None, :]).toarray()
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    nearest = (rows @ blocks.cluster_directions(model.cluster_centers_)).argmax(axis=1)
    expected = [rows[nearest == cluster].mean(axis=0) for cluster in range(3)]
    np.testing.assert_allclose(model.cluster_means_, expected, atol=1e-4, err_msg="means of the documents of a cluster")
    assert model.n_iter_ <= 20


def test_passes_end_where_they_are_told_to():
    X, codes = topics()
    passes = CutPasses(X, X, codes, NAMES, 2)
    model = blocks.fit_passes(CrossGuidedKMeans(3, n_init=1, random_state=0), passes, 1)
    assert (model.n_iter_, model.termination_condition_) == (1, "max_iter")
