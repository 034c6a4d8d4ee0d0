"""The order of rows by content: the same rows in the same places, whatever their order was."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus._math.confidence import AccuracyEstimate, review_mask
from isthmus._math.content import content_keys, content_noise, content_order
from isthmus._math.rows import group_means, unit_rows
from isthmus.exceptions import UsageError


def sparse_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return sp.random(n, 40, density=0.1, format="csr", random_state=rng, data_rvs=lambda k: rng.integers(1, 4, k) * 0.1)


@pytest.mark.parametrize("kind", ["sparse", "dense", "texts"])
def test_shuffled_rows_come_to_the_same_order(kind):
    X = sparse_rows()
    rows = {"sparse": X, "dense": X.toarray(), "texts": [f"{row.sum():.3f} {row.nnz}" for row in X]}[kind]
    shuffle = np.random.default_rng(1).permutation(X.shape[0])
    shuffled = [rows[i] for i in shuffle] if kind == "texts" else rows[shuffle]
    first, second = content_order(rows), content_order(shuffled)
    if kind == "texts":
        assert [rows[i] for i in first] == [shuffled[i] for i in second]
    else:
        assert (rows[first] != shuffled[second]).sum() == 0
    assert sorted(first.tolist()) == list(range(X.shape[0]))


def test_the_order_is_no_order_by_size():
    sums = np.asarray(sparse_rows().sum(axis=1)).ravel()
    order = content_order(sparse_rows())
    assert abs(np.corrcoef(np.arange(300), sums[order])[0, 1]) < 0.2


def test_equal_rows_are_told_apart_by_what_else_is_known():
    rows, labels = ["same"] * 4 + ["other"], np.array([3, 1, 2, 0, 9])
    order = content_order(rows, labels)
    assert [labels[i] for i in order if rows[i] == "same"] == [0, 1, 2, 3]


def test_sparse_and_dense_agree_and_zeros_do_not_count():
    X = sparse_rows()
    stored = X.copy()
    stored.data[::7] = 0.0
    signed = stored.toarray()
    signed[signed == 0] = -0.0
    for left, right in ((X, X.toarray()), (stored, signed)):
        for precision in (np.float32, np.float64):
            np.testing.assert_array_equal(content_keys(left, precision), content_keys(right, precision))


def test_the_last_digit_does_not_move_a_row():
    X = sparse_rows()
    nudged = X.copy()
    nudged.data = np.nextafter(nudged.data, 1.0)
    np.testing.assert_array_equal(content_order(X), content_order(nudged))


def test_columns_matter():
    X = sp.csr_matrix([[1.0, 0], [0, 1.0]])
    keys = content_keys(X)
    assert keys[0] != keys[1]


def test_rows_that_differ_in_the_last_digits_have_an_order_too():
    X = np.ones((20, 3)) + np.arange(20)[:, None] * 1e-12
    shuffle = np.random.default_rng(1).permutation(20)
    assert len(set(content_keys(X).tolist())) == 1
    np.testing.assert_array_equal(X[content_order(X)], X[shuffle][content_order(X[shuffle])])


def test_noise_follows_the_rows():
    X, shuffle = sparse_rows(2_000), np.random.default_rng(1).permutation(2_000)
    noise = content_noise(X, 5, np.random.default_rng(7))
    np.testing.assert_array_equal(noise[shuffle], content_noise(X[shuffle], 5, np.random.default_rng(7)))
    assert not np.array_equal(noise, content_noise(X, 5, np.random.default_rng(8)))
    distinct = noise[np.unique(content_keys(X), return_index=True)[1]]
    assert abs(distinct.mean()) < 0.05
    assert abs(distinct.std() - 1) < 0.05
    assert np.abs(np.corrcoef(distinct.T) - np.eye(5)).max() < 0.1


@pytest.mark.parametrize("rows", [sp.csr_matrix((0, 3)), np.zeros((0, 3)), []], ids=["sparse", "dense", "texts"])
def test_no_rows(rows):
    assert len(content_order(rows)) == 0


def test_texts_in_an_array_are_texts():
    texts = ["kind staff", "", "a fair price"]
    for kind in (object, str):
        np.testing.assert_array_equal(content_keys(np.array(texts, dtype=kind)), content_keys(texts))
        np.testing.assert_array_equal(content_order(np.array(texts, dtype=kind)), content_order(texts))


def test_rows_of_whole_numbers_get_length_one():
    counts = sp.csr_matrix(np.array([[3, 4], [0, 0]]))
    found = unit_rows(counts)
    np.testing.assert_allclose(found.toarray(), [[0.6, 0.8], [0, 0]], err_msg="0.6 and 0.8, not cut to 0")
    assert counts.toarray().tolist() == [[3, 4], [0, 0]], "the rows that came in stay as they were"


def test_means_leave_out_rows_that_belong_to_no_group():
    rows = sp.csr_matrix(np.array([[9.0, 9], [1, 2], [3, 4], [5, 6]]))
    found = group_means(rows, np.array([-1, 2, 0, 2]), 3)
    np.testing.assert_allclose(found, [[3, 4], [0, 0], [3, 4]], err_msg="the second group has no row")


@pytest.mark.parametrize("budget", [-0.01, 1.01])
def test_a_budget_is_a_share(budget):
    with pytest.raises(UsageError, match="give a share between 0 and 1"):
        review_mask([0.9, 0.8], budget)
    assert review_mask([0.9, 0.8], 0.0).all()
    assert not review_mask([0.9, 0.8], 1.0).any()


def test_what_is_not_estimated_does_not_rise():
    nothing = AccuracyEstimate(None, reason="too few")
    assert nothing.raised(0.1, 0.1) is nothing
    assert AccuracyEstimate(0.95, 0.9, 0.98, outside_groups=0.9).raised(0.1, 0.05) == AccuracyEstimate(
        1.0, 1.0, 1.0, outside_groups=pytest.approx(0.95)
    )
