"""Information measures against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isthmus._math.information import domain_divergence, kl_divergence, mutual_information, safe_log

tables = arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=st.one_of(st.just(0.0), st.floats(1e-9, 50))
)


@settings(max_examples=60)
@given(tables)
def test_mutual_information_is_the_divergence_from_independence(table):
    if table.sum() == 0:
        assert mutual_information(table) == 0
        return
    outer = np.outer(table.sum(axis=1), table.sum(axis=0))
    value = mutual_information(table)
    assert value == pytest.approx(kl_divergence(table, outer), abs=1e-9)
    bounds = [mutual_information(np.diag(table.sum(axis=axis))) for axis in (0, 1)]  # the entropies of both sides
    assert -1e-12 <= value <= min(bounds) + 1e-9
    assert mutual_information(table.T) == pytest.approx(value, abs=1e-12)


@settings(max_examples=60)
@given(tables, st.randoms(use_true_random=False))
def test_merging_columns_never_adds_information(table, random):
    labels = np.array([random.randrange(2) for _ in range(table.shape[1])])
    merged = np.stack([table[:, labels == j].sum(axis=1) for j in (0, 1)], axis=1)
    assert mutual_information(merged) <= mutual_information(table) + 1e-9


def test_known_values():
    assert mutual_information([[1, 0], [0, 1]]) == pytest.approx(np.log(2))
    assert mutual_information([[1, 1], [2, 2]]) == pytest.approx(0, abs=1e-15)
    assert kl_divergence([1, 1], [1, 3]) == pytest.approx(0.5 * np.log(2) + 0.5 * np.log(2 / 3))
    assert kl_divergence([1, 1], [1, 0]) == np.inf


def test_domain_divergence_is_finite_for_words_of_one_domain_and_zero_for_equal_counts():
    assert 0 < domain_divergence([5, 0, 2], [0, 4, 2]) < np.inf
    assert domain_divergence([3, 1], [3, 1]) == pytest.approx(0)


def test_safe_log_of_zero_is_minus_infinity_without_a_warning():
    assert safe_log(np.array([0.0, 1.0])).tolist() == [-np.inf, 0.0]
