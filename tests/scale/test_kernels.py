"""Each compiled loop against a few lines of numpy, on small rows with empty ones, repeated terms and ties."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.classify.cocc import kernels as cocc_kernels
from isthmus.features import blocks
from isthmus.features import token_kernels as term_kernels
from isthmus.features.blocks import project_rows

SEEDS = [0, 1, 2]


def rows_of(seed, n=9, width=7, most=4):
    """CSR counts with empty rows; rows are in canonical order."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, most, (n, width)) * (rng.random((n, width)) < 0.5)
    dense[[1, n - 1]] = 0
    X = sp.csr_matrix(dense)
    return X, X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.int32), rng


def documents(seed, n=6, n_terms=5):
    """Documents as runs of term numbers: the terms, where each ends, and the documents as lists."""
    rng = np.random.default_rng(seed)
    texts = [rng.integers(0, n_terms, size).tolist() for size in [0, *rng.integers(1, 9, n - 2), 90]]
    return (
        np.array([term for text in texts for term in text], dtype=np.int64),
        np.cumsum([len(text) for text in texts]),
        texts,
        rng,
    )


def packed(words):
    return np.frombuffer("".join(f"{word}\n" for word in words).encode(), dtype=np.uint8)


@pytest.mark.parametrize("seed", SEEDS)
def test_keys_are_numbered_as_they_come(seed):
    keys = np.random.default_rng(seed).integers(-5, 6, 40) * (1 << 40)
    numbers, distinct = term_kernels.number_keys(keys.astype(np.int64))
    order = list(dict.fromkeys(keys.tolist()))
    assert distinct.tolist() == order
    assert numbers.tolist() == [order.index(key) for key in keys.tolist()]


def fnv(word):
    value = 0xCBF29CE484222325
    for byte in word.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def test_strings_fall_into_parts_by_their_hash():
    words = ["staff", "price", "", "größe", "a"]
    assert term_kernels.hash_parts(packed(words), len(words), 7).tolist() == [(fnv(word) >> 32) % 7 for word in words]


def test_terms_are_placed_told_apart_by_their_bytes_and_found_again():
    words = ["staff", "price", "staf", "price", "bill", "staff"]
    slots, hashes = np.full(8, -1, np.int32), np.zeros(8, np.uint64)
    starts, arena = np.zeros(9, np.int64), np.zeros(64, np.uint8)
    numbers, n = term_kernels.place_terms(packed(words), len(words), slots, hashes, starts, arena, 0, True)
    assert (numbers.tolist(), n) == ([0, 1, 2, 1, 3, 0], 4)
    assert bytes(arena[: starts[n]]).decode() == "staff\nprice\nstaf\nbill\n"
    assert hashes[:n].tolist() == [fnv(word) for word in ("staff", "price", "staf", "bill")]
    found, still = term_kernels.place_terms(packed(["bill", "new"]), 2, slots, hashes, starts, arena, n, False)
    assert (found.tolist(), still) == ([3, -1], 4)
    wider = np.full(16, -1, np.int32)
    term_kernels.place_hashes(hashes[:n], wider)
    again, _ = term_kernels.place_terms(packed(["staf", "staff"]), 2, wider, hashes, starts, arena, n, False)
    assert again.tolist() == [2, 0]


def test_terms_of_one_hash_share_the_slots():
    """All hashes alike: the search goes on from slot to slot, over the end."""
    slots = np.full(4, -1, np.int32)
    term_kernels.place_hashes(np.full(3, 3, np.uint64), slots)
    assert slots.tolist() == [1, 2, -1, 0]


@pytest.mark.parametrize("seed", SEEDS)
def test_documents_of_each_term(seed):
    ids, ends, texts, _ = documents(seed)
    assert term_kernels.document_frequency(ids, ends, 6).tolist() == [
        sum(t in text for text in texts) for t in range(6)
    ]


def pairs_by_hand(texts, solo, column, width):
    found, at = [], 0
    for row, text in enumerate(texts):
        for i in range(len(text) - 1):
            a, b = column[text[i]], column[text[i + 1]]
            if a >= 0 and b >= 0 and (len(solo) == 0 or (solo[at + i] and solo[at + i + 1])):
                found.append((int(a * width + b), row))
        at += len(text)
    return found


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_of_neighbours_and_rows_of_counts(seed, marked):
    ids, ends, texts, rng = documents(seed)
    column, width = np.array([2, -1, 0, 1, -1], dtype=np.int64), 3
    solo = rng.random(len(ids)) < 0.6 if marked else np.zeros(0, dtype=bool)
    keys, rows = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
    n = term_kernels.pair_keys(ids, ends, solo, column, width, keys, rows)
    expected = pairs_by_hand(texts, solo, column, width)
    assert list(zip(keys[:n].tolist(), rows[:n].tolist(), strict=True)) == expected
    pairs = np.unique([key for key, _ in expected])[::2]  # not every pair is kept
    indptr, indices, counts = term_kernels.count_rows(ids, ends, solo, column, pairs, width)
    dense = np.zeros((len(texts), width + len(pairs)), int)
    for row, text in enumerate(texts):
        for term in text:
            if column[term] >= 0:
                dense[row, column[term]] += 1
    for key, row in expected:
        if key in pairs:
            dense[row, width + int(np.searchsorted(pairs, key))] += 1
    X = sp.csr_matrix((counts, indices, indptr), shape=dense.shape)
    assert X.has_canonical_format
    assert X.toarray().tolist() == dense.tolist()


@pytest.mark.parametrize("sublinear", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_tfidf_rows(seed, sublinear):
    X, indptr, indices, counts, rng = rows_of(seed)
    rows, idf, dense = blocks.RowBlock(indptr, indices, counts, 7), rng.random(7) + 0.5, X.toarray()
    levels = np.where(dense > 0, 1 + np.log(np.maximum(dense, 1)), 0) if sublinear else dense
    np.testing.assert_allclose(rows.levels(sublinear)[dense], levels)
    lengths = np.linalg.norm(levels * idf, axis=1, keepdims=True)
    expected = levels * idf / np.where(lengths > 0, lengths, 1)
    assert rows.matrix(rows.tfidf(idf, sublinear=sublinear)).toarray() == pytest.approx(expected)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_best_class_by_scores_of_terms(seed, k):
    X, indptr, indices, counts, rng = rows_of(seed)
    scores, bias, labels = rng.normal(size=(7, k)), rng.normal(size=k), np.full(X.shape[0], -1)
    cocc_kernels.best_places(indptr, indices, counts, scores, bias, labels, None)
    assert labels.tolist() == (X @ scores + bias).argmax(axis=1).tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_by_the_class_of_a_term(seed):
    X, *_, rng = rows_of(seed)
    term_class, weight = np.array([0, 1, -1, 2, 0, -1, 1]), rng.random(7)
    marks = (term_class[:, None] == np.arange(3)) * weight[:, None]
    assert project_rows(X, term_class, weight, 3) == pytest.approx(X @ marks)


def test_values_by_class_and_step():
    table = blocks.histogram(np.array([0, 1, -1, 1, 1, 0]), np.array([0.0, 0.5, 0.9, 1.0, 0.49, 0.25]), 2)
    coarse = table.reshape(2, 4, -1).sum(axis=2)
    assert coarse.tolist() == [[1, 1, 0, 0], [0, 1, 1, 1]]


@pytest.mark.parametrize("seed", SEEDS)
def test_products_in_fixed_point(seed):
    X, indptr, indices, _, rng = rows_of(seed)
    values, rows, out = rng.random(len(indices)) + 0.1, rng.normal(size=(X.shape[0], 2)), np.zeros((7, 2), np.int64)
    dense = sp.csr_matrix((values, indices, indptr), shape=X.shape).toarray()
    cocc_kernels.add_products(indptr, indices, values, rows, 2.0**30, out)
    assert out / 2.0**30 == pytest.approx(dense.T @ rows, abs=1e-7)


def test_products_of_steps_are_exact_over_more_rows_than_are_taken_at_once():
    rng = np.random.default_rng(0)
    steps, weights = blocks.as_steps(rng.uniform(-1, 1, (1_300, 6))), rng.normal(size=(6, 3))
    cut = np.vstack([blocks.exact_product(part, weights) for part in np.split(steps, [1, 700])])
    np.testing.assert_array_equal(blocks.exact_product(steps, weights), cut, "expected the same bits for every cut")
    np.testing.assert_allclose(cut, steps / blocks.ONE @ weights, atol=1e-6)
    squares = blocks.square_sums(steps, steps)
    np.testing.assert_array_equal(squares, steps.T.astype(object) @ steps.astype(object), "expected integers, exactly")
