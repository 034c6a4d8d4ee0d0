import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.features.contexts import (
    Contexts,
    context_words,
    document_contexts,
    pivot_weights,
    pivot_words,
    projection_matrix,
    window_contexts,
)

WORDS = {"loud": 0, "engine": 1, "new": 2, "agent": 3, "polite": 4}


def slow_window(documents, window):
    counts = np.zeros((len(WORDS), len(WORDS)))
    for tokens in documents:
        for i, first in enumerate(tokens):
            for j, second in enumerate(tokens):
                met = i != j and abs(i - j) <= window and first in WORDS and second in WORDS
                if met and first != second:
                    counts[WORDS[first], WORDS[second]] += 1
    return counts


@given(
    documents=st.lists(st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=8), max_size=5),
    window=st.integers(1, 4),
)
@settings(max_examples=50)
def test_window_counts_equal_the_double_loop(documents, window):
    found = window_contexts(documents, documents[:1], WORDS, np.arange(5), window=window)
    np.testing.assert_array_equal(found.source.toarray(), slow_window(documents, window))
    np.testing.assert_array_equal(found.target.toarray(), slow_window(documents[:1], window))


def test_context_columns_can_be_a_selection():
    found = window_contexts([["loud", "engine", "new"]], [], WORDS, np.array([0, 2]), window=2)
    assert found.source.toarray()[1].tolist() == [1.0, 1.0]
    assert found.source.toarray()[0].tolist() == [0.0, 1.0]


def test_document_contexts_count_documents_with_both_words():
    X = sp.csr_matrix([[2.0, 1, 0], [1, 1, 1], [0, 0, 3]])
    found = document_contexts(X, X)
    assert found.source.toarray().tolist() == [[0, 2, 1], [2, 0, 1], [1, 1, 0]]


def test_pivots_are_in_both_domains_and_contexts_the_frequent_ones():
    source = sp.csr_matrix([[1, 1, 0, 1], [1, 0, 0, 1]])
    target = sp.csr_matrix([[0, 1, 1, 1], [0, 0, 1, 1]])
    assert pivot_words(source, target).tolist() == [1, 3]
    assert context_words(source, target, limit=1).tolist() == [3]


def test_context_words_are_frequent_by_shares_of_documents_not_by_their_number():
    source = sp.csr_matrix([[1, 1]] * 2 + [[1, 0]] * 3 + [[0, 0]] * 5)  # half and a fifth of ten
    target = sp.csr_matrix([[1, 1], [0, 1]])  # half and all of two
    assert context_words(source, target, limit=1).tolist() == [0]


def test_same_company_gives_weight_one_and_other_company_the_floor():
    same = sp.csr_matrix([[0, 3.0, 0, 0], [3.0, 0, 0, 0], [0, 0, 0, 2.0], [0, 0, 2.0, 0]])
    swapped = same[[2, 1, 0, 3]]
    weights = pivot_weights(Contexts(np.arange(4), same, swapped), np.arange(4), smoothing=0.25)
    np.testing.assert_allclose(weights[1], 1.0)
    np.testing.assert_allclose(weights[0], 0.25 / 1.25)


def test_projection_spreads_all_weight_of_a_word_over_its_pivots():
    contexts = sp.csr_matrix([[0, 1.0], [1.0, 0], [3.0, 1.0], [0, 0]])
    spread = projection_matrix(contexts, np.array([0, 1]), np.array([0, 1])).toarray()
    assert spread[:2].sum() == 0  # pivots keep their own weight
    np.testing.assert_allclose(spread[2].sum(), 1.0)
    assert spread[2, 0] > spread[2, 1]
    assert spread[3].sum() == 0


def test_context_words_that_are_no_pivots_give_their_weight_to_nobody():
    contexts = sp.csr_matrix([[0, 1.0, 0], [1.0, 0, 0], [3.0, 1.0, 5.0], [0, 0, 2.0]])
    columns, pivots = np.array([0, 1, 3]), np.array([0, 1])
    spread = projection_matrix(contexts, columns, pivots).toarray()
    np.testing.assert_allclose(spread[2], projection_matrix(contexts[:, :2], columns[:2], pivots).toarray()[2])
    # A word beyond the last pivot raised IndexError; one between two pivots gave its weight to the next.
    between = projection_matrix(contexts[:, [0, 2]], np.array([0, 2]), np.array([0, 3])).toarray()
    assert between[:, 1].sum() == 0
    assert spread[3].sum() == 0  # its only context is no pivot


def test_pivot_weight_is_a_cosine_of_both_sides():
    """The cosine without the target's length: twice the counts would then weigh twice as much."""
    one = sp.csr_matrix([[0, 2, 1], [2, 0, 3], [1, 3, 0.0]])
    other = sp.csr_matrix([[0, 1, 4], [5, 0, 1], [2, 2, 0.0]])
    pivots = np.arange(3)

    def weighed(side):
        side = side.toarray()
        idf = np.log((1 + np.count_nonzero(side.any(axis=1))) / (1 + np.count_nonzero(side, axis=0))) + 1
        return np.log1p(side) * idf

    a, b = weighed(one), weighed(other)
    cosine = np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    found = pivot_weights(Contexts(pivots, one, other), pivots, smoothing=0.1)
    assert found == pytest.approx((cosine + 0.1) / 1.1)
    assert found.max() <= 1


def test_contexts_of_many_documents_are_those_of_all_blocks(monkeypatch):
    monkeypatch.setattr("isthmus.features.contexts._BLOCK_DOCUMENTS", 2)
    documents = [["loud", "engine"], ["new", "engine"], ["polite", "agent"], ["loud", "agent"], ["new", "agent"]]
    found = window_contexts(documents, documents[:3], WORDS, np.arange(5), window=2)
    np.testing.assert_array_equal(found.source.toarray(), slow_window(documents, 2))
    np.testing.assert_array_equal(found.target.toarray(), slow_window(documents[:3], 2))


def test_a_number_of_context_words_is_kept_to():
    source = sp.csr_matrix([[1, 1, 1], [1, 1, 0], [1, 0, 0]])
    assert document_contexts(source, source, limit=2).columns.tolist() == [0, 1], "the most frequent ones"
    assert document_contexts(source, source).columns.tolist() == [0, 1, 2]
