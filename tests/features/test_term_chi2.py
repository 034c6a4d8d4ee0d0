"""χ² statistics: against the 2 × 2 table taken literally, and as sums over blocks."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.features import term_chi2
from isthmus.features.blocks import as_counts
from isthmus.features.term_chi2 import (
    TermStatistics,
    chi2_per_class,
    count_terms,
    discriminability,
    summarise,
)


def literal_chi2(X, codes, n_classes, level):
    """χ² cell by cell, as the paper writes it."""
    table = X if level == "occurrences" else (X > 0).astype(float)
    values = np.zeros((X.shape[1], n_classes))
    for t in range(X.shape[1]):
        for c in range(n_classes):
            inside = codes == c
            if level == "occurrences":
                a, b = table[inside, t].sum(), table[~inside, t].sum()
                rest_in, rest_out = table[inside].sum() - a, table[~inside].sum() - b
            else:
                a, b = table[inside, t].sum(), table[~inside, t].sum()
                rest_in, rest_out = inside.sum() - a, (~inside).sum() - b
            n = a + b + rest_in + rest_out
            below = (a + rest_in) * (b + rest_out) * (a + b) * (rest_in + rest_out)
            values[t, c] = n * (a * rest_out - b * rest_in) ** 2 / below if below > 0 else 0.0
    return values


@st.composite
def corpora(draw):
    n, d, n_classes = draw(st.integers(2, 12)), draw(st.integers(1, 9)), draw(st.integers(2, 4))
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    X = rng.poisson(draw(st.sampled_from([0.2, 0.8, 3.0])), size=(n, d)).astype(float)
    return X, rng.integers(0, n_classes, size=n), n_classes


def equal(a: TermStatistics, b: TermStatistics) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in a.__dataclass_fields__)


@settings(max_examples=60)
@given(corpora(), st.sampled_from(["occurrences", "documents"]))
def test_every_value_is_the_literal_one(corpus, level):
    X, codes, n_classes = corpus
    stats = count_terms(sp.csr_matrix(X), codes, n_classes)
    expected = literal_chi2(X, codes, n_classes, level)
    np.testing.assert_allclose(chi2_per_class(stats, level=level), expected, rtol=1e-9, atol=1e-9)
    summary = summarise(stats, level=level)
    np.testing.assert_allclose(summary.largest, expected.max(axis=1), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(summary.total, expected.sum(axis=1), rtol=1e-9, atol=1e-9)
    chosen = summary.klass >= 0
    np.testing.assert_allclose(summary.chi2[chosen], expected[chosen, summary.klass[chosen]], rtol=1e-9)
    assert np.all(summary.chi2 <= summary.largest * (1 + 1e-9) + 1e-12)


@settings(max_examples=60)
@given(corpora(), st.integers(0, 2**16))
def test_blocks_in_any_order_give_the_same_sums(corpus, seed):
    X, codes, n_classes = corpus
    rng = np.random.default_rng(seed)
    whole = count_terms(X, codes, n_classes)
    part = rng.integers(0, 3, size=len(codes))
    blocks = [count_terms(X[part == k], codes[part == k], n_classes) for k in rng.permutation(3)]
    assert equal(blocks[0] + blocks[1] + blocks[2], whole)
    assert equal(whole - blocks[0], blocks[1] + blocks[2])


@settings(max_examples=40)
@given(corpora())
def test_sums_are_the_plain_ones(corpus):
    X, codes, n_classes = corpus
    stats = count_terms(X, codes, n_classes)
    indicator = np.eye(n_classes)[codes]
    np.testing.assert_array_equal(stats.per_class(stats.occurrences).toarray(), X.T @ indicator)
    np.testing.assert_array_equal(stats.per_class(stats.documents).toarray(), (X > 0).T @ indicator)
    np.testing.assert_array_equal(stats.document_frequency, (X > 0).sum(axis=0))
    np.testing.assert_array_equal(stats.class_documents, indicator.sum(axis=0))


def test_unlabelled_rows_are_left_out():
    X = np.array([[1.0, 2.0], [3.0, 0.0], [5.0, 5.0]])
    assert equal(count_terms(X, np.array([0, 1, -1]), 2), count_terms(X[:2], np.array([0, 1]), 2))


def test_repeated_and_stored_zero_entries_count_once():
    messy = sp.csr_matrix((np.array([1.0, 1.0, 0.0, 2.0]), np.array([1, 1, 0, 0]), np.array([0, 3, 4])), shape=(2, 2))
    plain = np.array([[0.0, 2.0], [2.0, 0.0]])
    before = messy.data.copy()
    assert equal(count_terms(messy, np.array([0, 1]), 2), count_terms(plain, np.array([0, 1]), 2))
    np.testing.assert_array_equal(messy.data, before)
    assert as_counts(messy).nnz < 4


def test_two_classes_send_each_term_to_the_class_it_speaks_for():
    X = np.array([[5, 0, 1], [0, 5, 1]])
    summary = summarise(count_terms(X, np.array([0, 1]), 2))
    assert summary.klass.tolist()[:2] == [0, 1]
    np.testing.assert_allclose(summary.purity[:2], 0.5)


def test_ratio_of_documents_is_smoothed_not_infinite():
    X = np.array([[1, 1], [1, 1], [0, 1], [0, 1]])
    stats = count_terms(X, np.array([0, 0, 1, 1]), 2)
    ratio = discriminability(stats, np.array([0, 1]), smoothing=0.5)
    assert ratio[0] == pytest.approx((2.5 / 3) / (0.5 / 3))
    assert ratio[1] == pytest.approx(1.0)
    assert discriminability(stats, np.array([-1, -1])).tolist() == [1.0, 1.0]


def test_growing_vocabulary_and_classes():
    small = count_terms(np.array([[1.0, 2.0]]), np.array([0]), 1)
    large = count_terms(np.array([[0.0, 1.0, 4.0]]), np.array([1]), 2)
    joint = count_terms(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 4.0]]), np.array([0, 1]), 2)
    assert equal(small + large, joint)
    assert equal(small.relabelled(np.array([1]), 2), count_terms(np.array([[1.0, 2.0]]), np.array([1]), 2))


@pytest.mark.slow
@settings(max_examples=40)
@given(corpora(), corpora())
def test_two_strata_follow_mantel_and_haenszel(first, second):
    n_classes, d = max(first[2], second[2]), min(first[0].shape[1], second[0].shape[1])
    strata = [(X[:, :d], codes) for X, codes, _ in (first, second)]
    gap, variance = np.zeros((d, n_classes)), np.zeros((d, n_classes))
    for X, codes in strata:
        table = X.T @ np.eye(n_classes)[codes]
        n_t, n_c, n = table.sum(axis=1), table.sum(axis=0), max(table.sum(), 1.0)
        gap += table - np.outer(n_t, n_c) / n
        variance += np.outer(n_t * (n - n_t), n_c * (n - n_c)) / n**3
    expected = np.divide(gap**2, variance, out=np.zeros_like(gap), where=variance > 1e-12)
    a, b = (count_terms(X, codes, n_classes) for X, codes in strata)
    summary = summarise(a, b)
    np.testing.assert_allclose(summary.largest, expected.max(axis=1), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(summary.total, expected.sum(axis=1), rtol=1e-6, atol=1e-9)
    ratio = discriminability(a, summary.klass, b, smoothing=0.5)
    assert np.all(ratio[summary.klass >= 0] > 0)
    np.testing.assert_array_equal(ratio[summary.klass < 0], 1)


def test_an_empty_second_stratum_changes_no_chi2():
    rng = np.random.default_rng(0)
    X, codes = rng.poisson(1.0, size=(30, 8)), rng.integers(0, 3, size=30)
    stats = count_terms(X, codes, 3)
    nothing = count_terms(X, np.full(30, -1), 3)
    one, two = summarise(stats), summarise(stats, nothing)
    np.testing.assert_allclose(two.total, one.total, rtol=1e-9)
    np.testing.assert_array_equal(two.klass, one.klass)


@pytest.mark.parametrize("bits", [1, 3, 12])
def test_large_tables_are_counted_bucket_by_bucket(bits, monkeypatch):
    """Several buckets and one; a class without rows, rows without a class, counts of zero, terms of no row."""
    monkeypatch.setattr(term_chi2, "BUCKET_BITS", bits)
    rng = np.random.default_rng(bits)
    dense = rng.integers(0, 4, (40, 21)) * (rng.random((40, 21)) < 0.3)
    dense[:, [4, 20]] = 0
    X = sp.csr_matrix(dense.astype(float))
    X.data[::7] = 0.0
    codes = rng.choice([-1, 0, 1, 3], 40)
    stats = count_terms(X, codes, 5)
    of_class = [X.toarray()[codes == c] for c in range(5)]
    occurrences = np.array([rows.sum(axis=0) for rows in of_class]).T
    documents = np.array([(rows > 0).sum(axis=0) for rows in of_class]).T
    for name, expected in (("occurrences", occurrences), ("documents", documents)):
        found = stats.per_class(getattr(stats, name)).toarray()
        np.testing.assert_array_equal(found, expected, err_msg=f"{name} of terms × classes")
    pairs = np.repeat(np.arange(21), np.diff(stats.starts)) * 5 + stats.klass
    np.testing.assert_array_equal(pairs, np.flatnonzero(documents), err_msg="terms in order, classes within them")
