"""Variants of the string-kernel classifier that only the suite has."""

import numpy as np
import pytest

from isthmus_bench.suites.strings import discriminant_labels, variant_labels


@pytest.fixture
def kernel():
    X = np.random.default_rng(3).normal(size=(120, 40))
    return X @ X.T / 40


SOURCE, TARGET = np.arange(60), np.arange(60, 120)


def test_discriminant_analysis_is_ridge_for_two_classes_of_one_size_and_only_then(kernel):
    plain = {"transductive": False, "rbf": False, "max_iter": 1}
    same = SOURCE % 2  # thirty source rows each: both rules are the sign of one ridge regression on ±1
    expected = variant_labels(kernel, same, SOURCE, TARGET, **plain)
    np.testing.assert_array_equal(discriminant_labels(kernel, same, SOURCE, TARGET), expected)
    unequal = (SOURCE % 4 == 0).astype(int)  # fifteen against forty-five
    expected = variant_labels(kernel, unequal, SOURCE, TARGET, **plain)
    assert not np.array_equal(discriminant_labels(kernel, unequal, SOURCE, TARGET), expected)


def test_rows_of_a_domain_about_their_own_mean_take_out_a_shift_of_that_domain(kernel):
    codes, settings = SOURCE % 2, {"align": "domain", "rbf": False, "alpha": 0.01}
    moved = kernel.copy()
    moved[:60, :60] += 0.1
    moved[60:, 60:] += 0.05
    expected = variant_labels(kernel, codes, SOURCE, TARGET, **settings)
    np.testing.assert_array_equal(variant_labels(moved, codes, SOURCE, TARGET, **settings), expected)
