"""n-gram kernels against a reference made of sets and counters."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.features import gram
from isthmus.features.gram import KINDS, ngram_gram
from isthmus.features.gram_kernels import add_rows


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
@given(texts=TEXTS, lo=st.integers(1, 4), more=st.integers(0, 4), kind=st.sampled_from(KINDS))
def test_equal_to_sets_and_counters(texts, lo, more, kind):
    expected = reference(texts, lo, lo + more, kind)
    K, diag = ngram_gram(*encode(texts), lo, lo + more, kind)
    np.testing.assert_array_equal(K, expected)
    np.testing.assert_array_equal(diag, np.diag(expected))


@settings(max_examples=30)
@given(texts=TEXTS.filter(lambda t: len(t) > 1), data=st.data(), kind=st.sampled_from(KINDS))
def test_cross_is_a_block_of_the_whole(texts, data, kind):
    split = data.draw(st.integers(1, len(texts) - 1))
    whole = reference(texts, 2, 4, kind)
    K, diag = ngram_gram(*encode(texts), 2, 4, kind, split=split)
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
def test_a_few_texts_are_compared_without_compiled_code_to_the_same_numbers(many_texts, kind):
    codes, offsets = encode(many_texts)
    split = len(offsets) - 4
    whole, diagonal = ngram_gram(codes, offsets, 2, 5, kind, split=split, normalize=True)
    few = gram.compare_few(codes, offsets, 2, 5, kind, split, diagonal[:split])
    np.testing.assert_array_equal(few, whole)


@pytest.mark.parametrize("kind", KINDS)
def test_many_texts(many_texts, kind):
    K, diagonal = ngram_gram(*encode(many_texts), 3, 6, kind)
    expected = reference(many_texts, 3, 6, kind)
    np.testing.assert_array_equal(K, expected)
    np.testing.assert_array_equal(diagonal, np.diag(expected))
    assert K.max() > 64  # lists of many documents occur


@pytest.mark.parametrize("share", [0.0, 0.02, 1.0])
def test_bits_and_lists_agree(many_texts, monkeypatch, share):
    expected = reference(many_texts, 3, 6, "presence")
    monkeypatch.setattr(gram, "DENSE_SHARE", share)
    np.testing.assert_array_equal(ngram_gram(*encode(many_texts), 3, 6)[0], expected)


def test_long_ngrams_take_several_keys(many_texts):
    """Forty symbols do not fit into one 64-bit key."""
    texts = many_texts[:80]
    K, _ = ngram_gram(*encode(texts), 3, 40)
    np.testing.assert_array_equal(K, reference(texts, 3, 40, "presence"))


def test_threads_and_memory_map_change_nothing(many_texts, tmp_path):
    codes, offsets = encode(many_texts)
    expected, _ = ngram_gram(codes, offsets, 3, 6, normalize=True)
    n = len(many_texts)
    file = np.lib.format.open_memmap(tmp_path / "k.npy", mode="w+", dtype=np.float64, shape=(n, n))
    seen = []
    K, _ = ngram_gram(codes, offsets, 3, 6, normalize=True, n_jobs=2, out=file, report=lambda *at: seen.append(at))
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
    K = ngram_gram(*encode(texts), 3, 5)[0]
    moved = ngram_gram(*encode([texts[i] for i in order]), 3, 5)[0]
    np.testing.assert_array_equal(moved, K[np.ix_(order, order)])


def test_long_ngrams_that_differ_in_their_first_letter_only_are_two():
    """Unless what was read is numbered anew, the first letters are shifted out: five bits each, 64 in all."""
    texts = ["abcdefghijklmnop", "qbcdefghijklmnop"]
    codes = np.array([ord(letter) for text in texts for letter in text])
    K, diagonal = ngram_gram(codes, np.array([0, 16, 32]), 15, 16)
    assert diagonal.tolist() == [3, 3]  # two of 15 letters, one of 16
    assert K.tolist() == [[3, 1], [1, 3]]  # the last 15 letters are the same


@pytest.mark.parametrize(("kind", "expected"), [("presence", np.int32), ("spectrum", np.int64)])
def test_kernel_matrices_of_counts_are_whole_numbers(kind, expected):
    """Any type but the one that is asked for."""
    codes, offsets = np.array([1, 2, 1, 2, 3], dtype=np.int32), np.array([0, 3, 5])
    assert ngram_gram(codes, offsets, 1, 2, kind)[0].dtype == expected
    assert ngram_gram(codes, offsets, 1, 2, kind, normalize=True)[0].dtype == np.float64
    assert ngram_gram(codes, offsets, 1, 2, kind, dtype=np.float32)[0].dtype == np.float32


@pytest.mark.parametrize("n_words", [1, 3, 7, 8, 31, 72])
@pytest.mark.parametrize("split", [0, 4])
def test_common_bits_of_rows_of_every_width(n_words, split):
    n = 9
    ones = np.random.default_rng(n_words).integers(0, 2, (n, n_words * 64), dtype=np.uint8)
    ones[2] = 1
    bits = np.packbits(ones, axis=1).view(np.uint64)
    lists, entries = np.zeros(0, np.uint16), np.zeros(0, np.uint64)
    found = np.zeros((n - split, n), np.int32)
    add_rows(split, n, split, lists, np.zeros(n + 1, np.int64), entries, bits, found)
    expected = ones.astype(np.int32) @ ones.T.astype(np.int32)
    expected = expected[split:, :split] if split else np.tril(expected, -1)
    np.testing.assert_array_equal(found[:, :split] if split else np.tril(found, -1), expected)


def test_lengths_above_255():
    texts = ["ab" * 200, "b" + "ab" * 150, "a"]
    K, _ = ngram_gram(*encode(texts), 250, 310)
    np.testing.assert_array_equal(K, reference(texts, 250, 310, "presence"))
