"""Significance tests against scipy and against counting by hand."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from isthmus.evaluate import macro_f1
from isthmus.exceptions import DataError, UsageError
from isthmus_bench.significance import bootstrap_interval, mcnemar, paired_t_test


def labels_with(only_a, only_b, both, neither):
    right_a = [1] * only_a + [0] * only_b + [1] * both + [0] * neither
    right_b = [0] * only_a + [1] * only_b + [1] * both + [0] * neither
    return ["yes"] * len(right_a), np.where(right_a, "yes", "no"), np.where(right_b, "yes", "no")


counts = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5), st.integers(1, 5))


@given(counts)
@settings(max_examples=60)
def test_mcnemar_exact_is_the_binomial_test(table):
    result = mcnemar(*labels_with(*table))
    assert result[2:] == table
    if table[0] + table[1]:
        assert result.p_value == pytest.approx(stats.binomtest(table[0], table[0] + table[1], 0.5).pvalue)
    else:
        assert result.p_value == 1.0
    assert result.statistic == min(table[:2])


@given(counts)
@settings(max_examples=60)
def test_mcnemar_chi2(table):
    b, c = table[:2]
    result = mcnemar(*labels_with(*table), method="chi2")
    expected = max(abs(b - c) - 1, 0) ** 2 / (b + c) if b + c else 0.0
    assert result.statistic == pytest.approx(expected)
    assert result.p_value == pytest.approx(stats.chi2.sf(expected, 1))


def test_mcnemar_exact_by_hand():
    n, fewer = 14, 3
    tail = sum(comb(n, k) for k in range(fewer + 1)) / 2**n
    assert mcnemar(*labels_with(11, 3, 4, 2)).p_value == pytest.approx(2 * tail)


def test_mcnemar_swapping_the_methods_swaps_the_counts_only():
    true, a, b = labels_with(9, 4, 7, 3)
    one, other = mcnemar(true, a, b), mcnemar(true, b, a)
    assert (one.only_a, one.only_b) == (other.only_b, other.only_a) == (9, 4)
    assert one.p_value == other.p_value


def test_mcnemar_refuses_an_unknown_method():
    with pytest.raises(UsageError, match="'exact' or 'chi2'"):
        mcnemar([1], [1], [1], method="mid-p")


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30))
@settings(max_examples=60)
def test_paired_t_agrees_with_scipy(rows):
    a, b = np.array(rows).T
    result = paired_t_test(a, b, confidence=0.99)
    if np.ptp(a - b) < 1e-12:  # no spread: scipy has nothing to say
        return
    reference = stats.ttest_rel(a, b)
    low, high = reference.confidence_interval(0.99)
    assert result.statistic == pytest.approx(reference.statistic)
    assert result.p_value == pytest.approx(reference.pvalue, abs=1e-12)
    assert (result.low, result.high) == pytest.approx((low, high))
    assert result.mean_difference == pytest.approx(np.mean(a - b))
    assert result.degrees_of_freedom == len(a) - 1


def test_paired_t_without_spread():
    assert paired_t_test([0.5, 0.6, 0.7], [0.5, 0.6, 0.7])[:3] == (0.0, 1.0, 0.0)
    better = paired_t_test([0.3, 0.5, 0.7], [0.2, 0.4, 0.6])  # 0.1 each, up to rounding
    assert better.statistic == np.inf
    assert better.p_value == 0.0
    assert paired_t_test([0.0, 0.0], [0.5, 0.5]).statistic == -np.inf


@pytest.mark.parametrize(
    ("a", "b", "code"),
    [
        ([1.0], [2.0], "no-rows"),
        ([1.0, 2.0], [2.0], "length-mismatch"),
        ([1.0, np.nan], [2.0, 1.0], "not-finite"),
        ([[1.0, 2.0]], [[2.0, 1.0]], "length-mismatch"),
    ],
)
def test_paired_t_refusals(a, b, code):
    with pytest.raises(DataError) as caught:
        paired_t_test(a, b)
    assert caught.value.code == code


def test_bootstrap_interval_holds_its_share_of_the_draws():
    """Quantiles (1 − c, c) instead of ((1 − c)/2, (1 + c)/2)."""
    rng = np.random.default_rng(3)
    truth, guess = np.zeros(200, dtype=int), (rng.random(200) < 0.3).astype(int)

    def error(true, given):
        return float(np.mean(true != given))

    interval = bootstrap_interval(error, truth, guess, confidence=0.8, n_resamples=400, random_state=1)
    draws = np.random.RandomState(1)
    values = []
    for _ in range(400):
        rows = draws.randint(200, size=200)
        values.append(error(truth[rows], guess[rows]))
    assert interval.low == pytest.approx(np.quantile(values, 0.1))
    assert interval.high == pytest.approx(np.quantile(values, 0.9))


def test_one_draw_is_enough_for_a_bootstrap_and_none_is_refused():
    """Two draws asked for."""
    once = bootstrap_interval(macro_f1, ["a", "b"] * 5, ["a"] * 10, n_resamples=1)
    assert once.low == once.high
    with pytest.raises(UsageError, match="at least one draw"):
        bootstrap_interval(macro_f1, ["a", "b"], ["a", "b"], n_resamples=0)
