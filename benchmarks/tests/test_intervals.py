"""Intervals and calibration against scipy, coverage by simulation, and counting by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from isthmus.evaluate import accuracy, macro_f1
from isthmus.exceptions import DataError, UsageError
from isthmus_bench.calibration import expected_calibration_error, reliability_table
from isthmus_bench.significance import bootstrap_interval, wilson_interval


@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=60)
def test_wilson_agrees_with_scipy(n, share, confidence):
    successes = round(share * n)
    interval = wilson_interval(successes, n, confidence=confidence)
    reference = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert (interval.low, interval.high) == pytest.approx((reference.low, reference.high), abs=1e-12)
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    assert interval.low < interval.high


@pytest.mark.parametrize("arguments", [(1, 0), (0, 0)])
def test_wilson_needs_rows(arguments):
    with pytest.raises(DataError, match="at least one row"):
        wilson_interval(*arguments)


@pytest.mark.parametrize(("successes", "confidence"), [(5, 0.95), (-1, 0.95), (1, 95), (1, 0.0)])
def test_wilson_refusals(successes, confidence):
    with pytest.raises(UsageError):
        wilson_interval(successes, 4, confidence=confidence)


def test_bootstrap_of_an_accuracy_is_close_to_wilson():
    random = np.random.RandomState(3)
    true = random.choice(["a", "b"], size=400)
    pred = np.where(random.rand(400) < 0.8, true, "c")
    boot = bootstrap_interval(accuracy, true, pred, n_resamples=400)
    wilson = wilson_interval(int(np.sum(true == pred)), 400)
    assert boot.estimate == wilson.estimate
    assert (boot.low, boot.high) == pytest.approx((wilson.low, wilson.high), abs=0.015)


def test_bootstrap_repeats_and_keeps_rows_together():
    true, pred = list("abab" * 10), list("abba" * 10)
    first = bootstrap_interval(macro_f1, true, pred, n_resamples=50, random_state=4)
    assert first == bootstrap_interval(macro_f1, true, pred, n_resamples=50, random_state=4)
    assert first != bootstrap_interval(macro_f1, true, pred, n_resamples=50, random_state=5)
    perfect = bootstrap_interval(accuracy, true, true, n_resamples=50)  # only if both columns are drawn alike
    assert perfect[:3] == (1.0, 1.0, 1.0)


def test_bootstrap_keeps_the_kind_of_labels():
    assert bootstrap_interval(accuracy, [1, "a"], [1, "a"], n_resamples=20).low == 1.0


@pytest.mark.parametrize(
    ("true", "pred", "options", "code"),
    [
        ([1], [1, 2], {}, "length-mismatch"),
        ([], [], {}, "no-rows"),
        ([1], [1], {"n_resamples": 0}, "bad-parameter"),
        ([1], [1], {"confidence": 95}, "bad-parameter"),
    ],
)
def test_bootstrap_refusals(true, pred, options, code):
    with pytest.raises((DataError, UsageError)) as caught:
        bootstrap_interval(accuracy, true, pred, **options)
    assert caught.value.code == code


def ece_by_hand(right, confidence, n_bins):
    gaps = 0.0
    for i in range(n_bins):
        inside = [j for j, c in enumerate(confidence) if min(int(c * n_bins), n_bins - 1) == i]
        if inside:
            gap = abs(np.mean([right[j] for j in inside]) - np.mean([confidence[j] for j in inside]))
            gaps += len(inside) / len(right) * gap
    return gaps


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=50), st.integers(1, 20))
@settings(max_examples=60)
def test_calibration_error_by_hand(rows, n_bins):
    right, confidence = map(list, zip(*rows, strict=True))
    pred = np.where(right, "yes", "no")
    error = expected_calibration_error(["yes"] * len(right), pred, confidence, n_bins=n_bins)
    assert error == pytest.approx(ece_by_hand(right, confidence, n_bins))
    for strategy in ("uniform", "quantile"):
        table = reliability_table(["yes"] * len(right), pred, confidence, n_bins=n_bins, strategy=strategy)
        assert sum(part.count for part in table) == len(right)
        assert all(low.high <= high.low for low, high in pairwise(table))


def test_a_bin_of_equal_numbers_holds_its_upper_edge():
    table = reliability_table([1] * 3, [1] * 3, [0.1, 0.2, 0.3], n_bins=2, strategy="quantile")
    assert [(part.low, part.high, part.count) for part in table] == [(0.1, 0.2, 2), (0.3, 0.3, 1)]


def test_confidence_drawn_from_the_truth_is_calibrated():
    random = np.random.RandomState(0)
    confidence = random.uniform(0.5, 1, size=20_000)
    right = random.rand(20_000) < confidence
    for strategy in ("uniform", "quantile"):
        options = {"n_bins": 10, "strategy": strategy}
        assert expected_calibration_error(np.ones(20_000), right.astype(int), confidence, **options) < 0.015
        too_sure = np.ones(20_000)
        assert expected_calibration_error(np.ones(20_000), right, too_sure, **options) == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    ("confidence", "options", "code"),
    [
        ([0.5], {}, "length-mismatch"),
        ([0.5, 1.5], {}, "bad-parameter"),
        ([0.5, np.nan], {}, "not-finite"),
        ([0.5, 0.5], {"n_bins": 0}, "bad-parameter"),
        ([0.5, 0.5], {"strategy": "odd"}, "bad-parameter"),
    ],
)
def test_calibration_refusals(confidence, options, code):
    with pytest.raises((DataError, UsageError)) as caught:
        reliability_table([1, 2], [1, 2], confidence, **options)
    assert caught.value.code == code


def test_the_calibration_error_goes_by_the_bins_that_were_asked_for():
    """Two bins: all rows in the upper half; or two rows each, (1 - .605) and .76 off."""
    rows = ["a", "a", "b", "b"], ["a"] * 4, [0.6, 0.61, 0.62, 0.9]
    assert expected_calibration_error(*rows, n_bins=2) == pytest.approx(0.6825 - 0.5)
    assert expected_calibration_error(*rows, n_bins=2, strategy="quantile") == pytest.approx((0.395 + 0.76) / 2)
