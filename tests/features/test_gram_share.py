"""Shared n-grams against counting in Python."""

from collections import Counter

import numpy as np
import pytest

from isthmus.features.gram import shared_ngrams


def ngrams(sequence, lo, hi):
    return Counter(tuple(sequence[i : i + n].tolist()) for n in range(lo, hi + 1) for i in range(len(sequence) - n + 1))


@pytest.mark.parametrize("seed", range(20))
def test_counts_are_those_of_plain_counting(seed):
    rng = np.random.default_rng(seed)
    text = rng.integers(0, 4, rng.integers(0, 60))
    others = [rng.integers(0, 4, rng.integers(0, 80)) for _ in range(rng.integers(0, 8))]
    lo = int(rng.integers(1, 4))
    hi = lo + int(rng.integers(0, 4))
    offsets = np.concatenate([[0], np.cumsum([len(other) for other in others])]).astype(np.int64)
    codes = np.concatenate([*others, np.zeros(0, np.int64)])
    places, own, counts = shared_ngrams(text, codes, offsets, lo, hi)
    names = [tuple(text[start : start + length].tolist()) for start, length in places]
    assert dict(zip(names, own.tolist(), strict=True)) == ngrams(text, lo, hi)
    for row, other in zip(counts.toarray(), others, strict=True):
        expected = ngrams(other, lo, hi)
        assert row.tolist() == [expected[name] for name in names]


def test_large_symbols_and_many_matches():
    text = np.full(500, 0x10FFFF)
    places, own, counts = shared_ngrams(text, np.tile(text, 6), np.arange(0, 3001, 500), 1, 8)
    assert len(places) == 8
    assert own.tolist() == [500 - n for n in range(8)]
    np.testing.assert_array_equal(counts.toarray(), np.tile(own, (6, 1)))
