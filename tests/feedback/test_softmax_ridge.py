"""The correction's solver against hand calculations and against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from isthmus.feedback import softmax_ridge
from isthmus.feedback.softmax_ridge import fit_softmax_ridge


def test_one_column_solves_the_equation_on_paper():
    # Two rows x = 1 of class 0, no offset: 2 (1 − p) = λ w with p = 1 / (1 + exp(−2 w)).
    coef = fit_softmax_ridge(np.ones((2, 1)), np.array([0, 0]), np.zeros((2, 2)), 1.0)
    w = coef[0, 0]
    assert coef[0, 1] == pytest.approx(-w)
    assert w == pytest.approx(2 * (1 - 1 / (1 + np.exp(-2 * w))), abs=1e-4)


def test_a_strong_ridge_leaves_the_offset_as_it_is():
    rows = np.random.default_rng(0).normal(size=(6, 3))
    coef = fit_softmax_ridge(rows, np.array([0, 1, 0, 1, 0, 1]), np.zeros((6, 2)), 1e9)
    assert np.abs(coef).max() < 1e-6


def test_the_offset_is_part_of_the_score():
    # The offset already gives the answers: nothing is left to learn.
    offset = np.array([[9.0, -9.0], [-9.0, 9.0]])
    coef = fit_softmax_ridge(np.array([[1.0], [2.0]]), np.array([0, 1]), offset, 1.0)
    assert np.abs(coef).max() < 1e-3


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_three_classes_agree_with_scikit_learn(make):
    rng = np.random.default_rng(1)
    rows, codes = rng.normal(size=(40, 60)), rng.integers(0, 3, 40)
    coef = fit_softmax_ridge(make(rows), codes, np.zeros((40, 3)), 0.5, max_iter=2000)
    other = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-8, max_iter=5000).fit(rows, codes)
    np.testing.assert_allclose(softmax(rows @ coef, axis=1), other.predict_proba(rows), atol=2e-3)


def test_both_ways_to_solve_agree(monkeypatch):
    rng = np.random.default_rng(2)
    rows, codes = rng.normal(size=(30, 50)), rng.integers(0, 2, 30)
    few = fit_softmax_ridge(rows, codes, np.zeros((30, 2)), 1.0, max_iter=1000)
    monkeypatch.setattr(softmax_ridge, "MOST_EXACT", 5)
    many = fit_softmax_ridge(rows, codes, np.zeros((30, 2)), 1.0, max_iter=1000)
    np.testing.assert_allclose(few, many, atol=1e-3)


def test_empty_rows_teach_nothing():
    coef = fit_softmax_ridge(sp.csr_matrix((2, 4)), np.array([0, 1]), np.zeros((2, 2)))
    assert coef.shape == (4, 2)
    assert not coef.any()
