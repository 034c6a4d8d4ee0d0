"""The order of rows by content: the same rows in the same places, whatever their order was."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus._math.content import content_keys, content_order


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
        for a, b in zip(content_keys(left), content_keys(right), strict=True):
            assert np.array_equal(a, b)


def test_the_last_digit_does_not_move_a_row():
    X = sparse_rows()
    nudged = X.copy()
    nudged.data = np.nextafter(nudged.data, 1.0)
    assert np.array_equal(content_order(X), content_order(nudged))


def test_columns_matter():
    X = sp.csr_matrix([[1.0, 0], [0, 1.0]])
    keys = content_keys(X)[0]
    assert keys[0] != keys[1]


@pytest.mark.parametrize("rows", [sp.csr_matrix((0, 3)), np.zeros((0, 3)), []], ids=["sparse", "dense", "texts"])
def test_no_rows(rows):
    assert len(content_order(rows)) == 0
