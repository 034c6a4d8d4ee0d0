"""n-gram kernels against a reference made of sets and counters, on both paths."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.features import gram
from isthmus.features.gram import KINDS, ngram_gram


def encode(texts):
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4"), offsets


def reference(texts, lo, hi, kind):
    bags = [Counter(t[i : i + n] for n in range(lo, hi + 1) for i in range(len(t) - n + 1)) for t in texts]
    pair = {
        "presence": lambda a, b: len(a.keys() & b.keys()),
        "intersection": lambda a, b: (a & b).total(),
        "spectrum": lambda a, b: sum(count * b[gram] for gram, count in a.items()),
    }[kind]
    return np.array([[pair(a, b) for b in bags] for a in bags])


# Latin, combining marks, Cyrillic, Arabic, Chinese, emoji, a lone surrogate; few letters, so that n-grams repeat.
LETTERS = "ab é́яجمال中文字🙂🙃\ud800"
TEXTS = st.lists(st.text(alphabet=LETTERS, max_size=30), min_size=1, max_size=9)


@pytest.mark.slow
@settings(max_examples=60)
@given(texts=TEXTS, lo=st.integers(1, 4), more=st.integers(0, 4), kind=st.sampled_from(KINDS), small=st.booleans())
def test_equal_to_sets_and_counters(texts, lo, more, kind, small):
    expected = reference(texts, lo, lo + more, kind)
    K, diag = ngram_gram(*encode(texts), lo, lo + more, kind, small=small)
    np.testing.assert_array_equal(K, expected)
    np.testing.assert_array_equal(diag, np.diag(expected))


@settings(max_examples=30)
@given(texts=TEXTS.filter(lambda t: len(t) > 1), data=st.data(), kind=st.sampled_from(KINDS), small=st.booleans())
def test_cross_is_a_block_of_the_whole(texts, data, kind, small):
    split = data.draw(st.integers(1, len(texts) - 1))
    whole = reference(texts, 2, 4, kind)
    K, diag = ngram_gram(*encode(texts), 2, 4, kind, split=split, small=small)
    np.testing.assert_array_equal(K, whole[split:, :split])
    np.testing.assert_array_equal(diag, np.diag(whole))


@pytest.fixture(scope="module")
def many_texts():
    """Enough texts for several blocks of rows, dense lists, repeated texts and texts that are too short."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), size=rng.integers(2, 7))) for _ in range(60)]
    texts = [" ".join(rng.choice(words, size=rng.integers(1, 40))) for _ in range(600)]
    return [*texts, texts[0], texts[0], "ab", ""]


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_path_equals_scipy_path(many_texts, kind):
    slow, fast = (ngram_gram(*encode(many_texts), 3, 6, kind, small=small) for small in (True, False))
    np.testing.assert_array_equal(slow[0], fast[0])
    np.testing.assert_array_equal(slow[1], fast[1])
    assert fast[0].max() > 64  # lists in many documents were met


@pytest.mark.parametrize("share", [0.0, 0.02, 1.0])
def test_bits_and_lists_agree(many_texts, monkeypatch, share):
    expected = ngram_gram(*encode(many_texts), 3, 6, small=True)[0]
    monkeypatch.setattr(gram, "DENSE_SHARE", share)
    np.testing.assert_array_equal(ngram_gram(*encode(many_texts), 3, 6, small=False)[0], expected)


@pytest.mark.parametrize(("share", "longest", "bound"), [(0.05, 65_535, 64), (0.5, 65_535, 302), (0.5, 100, 100)])
def test_which_lists_go_to_the_bits(many_texts, monkeypatch, share, longest, bound):
    """A share of the 604 texts, at least 64, and never more than an entry can count."""
    seen, real = [], gram._bit_matrix
    monkeypatch.setattr(gram, "DENSE_SHARE", share)
    monkeypatch.setattr(gram, "LONGEST_COUNTED", longest)
    monkeypatch.setattr(gram, "_bit_matrix", lambda *arguments: seen.append(arguments[-1]) or real(*arguments))
    ngram_gram(*encode(many_texts), 3, 6, small=False)
    assert seen == [bound]


def test_long_ngrams_take_several_keys(many_texts):
    """Forty symbols do not fit into one 64-bit key."""
    texts = many_texts[:80]
    K, _ = ngram_gram(*encode(texts), 3, 40, small=False)
    np.testing.assert_array_equal(K, reference(texts, 3, 40, "presence"))


def test_threads_and_memory_map_change_nothing(many_texts, tmp_path):
    codes, offsets = encode(many_texts)
    expected, _ = ngram_gram(codes, offsets, 3, 6, normalize=True, small=False)
    n = len(many_texts)
    file = np.lib.format.open_memmap(tmp_path / "k.npy", mode="w+", dtype=np.float64, shape=(n, n))
    seen = []
    K, _ = ngram_gram(
        codes, offsets, 3, 6, normalize=True, small=False, n_jobs=2, out=file, report=lambda *at: seen.append(at)
    )
    np.testing.assert_array_equal(K, expected)
    assert seen[-1] == (n, n)


def test_normalised_kernel_has_ones_on_the_diagonal_and_is_positive_semi_definite(many_texts):
    K, _ = ngram_gram(*encode(many_texts), 3, 6, "intersection", normalize=True)
    np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-5, atol=1e-8)
    assert K.max() <= 1 + 1e-12
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-8


def test_order_of_texts_only_moves_rows(many_texts):
    texts = many_texts[:200]
    order = np.random.default_rng(1).permutation(len(texts))
    K = ngram_gram(*encode(texts), 3, 5, small=False)[0]
    moved = ngram_gram(*encode([texts[i] for i in order]), 3, 5, small=False)[0]
    np.testing.assert_array_equal(moved, K[np.ix_(order, order)])


def test_long_ngrams_that_differ_in_their_first_letter_only_are_two():
    """Unless what was read is numbered anew, the first letters are shifted out: five bits each, 64 in all."""
    texts = ["abcdefghijklmnop", "qbcdefghijklmnop"]
    codes = np.array([ord(letter) for text in texts for letter in text])
    K, diagonal = ngram_gram(codes, np.array([0, 16, 32]), 15, 16, small=True)
    assert diagonal.tolist() == [3, 3]  # two of 15 letters, one of 16
    assert K.tolist() == [[3, 1], [1, 3]]  # the last 15 letters are the same


@pytest.mark.parametrize(("kind", "expected"), [("presence", np.int32), ("spectrum", np.int64)])
def test_kernel_matrices_of_counts_are_whole_numbers(kind, expected):
    """Any type but the one that is asked for."""
    codes, offsets = np.array([1, 2, 1, 2, 3], dtype=np.int32), np.array([0, 3, 5])
    assert ngram_gram(codes, offsets, 1, 2, kind)[0].dtype == expected
    assert ngram_gram(codes, offsets, 1, 2, kind, normalize=True)[0].dtype == np.float64
    assert ngram_gram(codes, offsets, 1, 2, kind, dtype=np.float32)[0].dtype == np.float32


@pytest.mark.parametrize("n_vectors", [1, 3, 4, 7, 28, 31, 57])
@pytest.mark.parametrize("filled", ["all", "some"])
def test_common_bits_of_rows_of_every_width(n_vectors, filled):
    """Vectors added by four and one by one, and bytes that are full after 28 of them."""
    from isthmus.features import gram_kernels as kernels

    n, n_words = 9, n_vectors * kernels.VECTOR // 64
    ones = np.random.default_rng(n_vectors).integers(0, 2, (n, n_words * 64), dtype=np.uint8)
    if filled == "all":
        ones[:] = 1
    bits = np.zeros((n + 3, n_words), np.uint64)
    bits[:n] = np.packbits(ones, axis=1).view(np.uint64)
    found = np.zeros((n, n), np.int32)
    kernels._add_common_bits(0, n, 0, bits, found)
    expected = np.tril(ones.astype(np.int32) @ ones.T.astype(np.int32), -1)
    np.testing.assert_array_equal(np.tril(found, -1), expected, err_msg=f"{n_vectors} vectors, {filled} bits set")
