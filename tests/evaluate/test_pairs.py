"""Pair metrics against visiting every pair, and against scikit-learn."""

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from isthmus.evaluate import adjusted_rand, pair_scores
from isthmus.exceptions import DataError

groupings = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 3)), min_size=1, max_size=25)


def pairs_by_hand(true, pred):
    both = only_pred = only_true = neither = 0
    for i, j in combinations(range(len(true)), 2):
        same_true, same_pred = true[i] == true[j], pred[i] == pred[j]
        both += same_true and same_pred
        only_pred += same_pred and not same_true
        only_true += same_true and not same_pred
        neither += not same_true and not same_pred
    return both, only_pred, only_true, neither


@given(groupings)
@settings(max_examples=60)
def test_counts_equal_those_of_all_pairs(rows):
    true, pred = map(list, zip(*rows, strict=True))
    scores = pair_scores(true, pred)
    both, only_pred, only_true, neither = pairs_by_hand(true, pred)
    assert scores[3:] == (both, only_pred, only_true, neither)
    assert scores.precision == pytest.approx(both / (both + only_pred) if both + only_pred else 1.0)
    assert scores.recall == pytest.approx(both / (both + only_true) if both + only_true else 1.0)
    whole = 2 * both + only_pred + only_true
    assert scores.f1 == pytest.approx(2 * both / whole if whole else 1.0)


@given(groupings)
@settings(max_examples=60)
def test_adjusted_rand_agrees_with_scikit_learn_and_is_symmetric(rows):
    true, pred = map(list, zip(*rows, strict=True))
    assert adjusted_rand(true, pred) == pytest.approx(adjusted_rand_score(true, pred))
    assert adjusted_rand(true, pred) == pytest.approx(adjusted_rand(pred, true))


def test_group_names_do_not_matter():
    true = ["x", "x", "y", "y", "z"]
    assert pair_scores(true, [0, 0, 1, 1, 2]) == pair_scores(true, ["c", "c", "a", "a", "b"])
    assert pair_scores(true, true).f1 == adjusted_rand(true, true) == 1.0


def test_a_million_rows_and_many_groups_take_no_pair_by_pair_walk():
    random = np.random.RandomState(0)
    true = random.randint(50_000, size=1_000_000)
    pred = np.where(random.rand(len(true)) < 0.9, true, random.randint(50_000, size=len(true)))
    start = time.process_time()
    score = adjusted_rand(true, pred)
    assert time.process_time() - start < 20  # all pairs would take hours; a dense table 20 GB
    assert 0.7 < score < 0.9


def test_counts_beyond_64_bits_in_products_stay_exact():
    true = np.repeat([0, 1], 300_000)
    pred = np.repeat([0, 1, 1], 200_000)
    scores = pair_scores(true, pred)
    assert sum(scores[3:]) == 600_000 * 599_999 // 2
    assert adjusted_rand(true, pred) == pytest.approx(adjusted_rand_score(true, pred))


def test_different_lengths_are_refused():
    with pytest.raises(DataError) as caught:
        pair_scores([1, 2, 3], [1, 2])
    assert caught.value.code == "length-mismatch"
