"""Blocks of rows give the model of the whole."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import TermProjectionClassifier
from isthmus._math.chi2 import count_terms
from isthmus.classify.projection.classifier import PairwiseSum, fit_blocks
from isthmus.exceptions import DataError, UsageError


def test_blocks_give_the_model_of_the_whole():
    rng = np.random.default_rng(0)
    X, y = sp.csr_matrix(rng.poisson(0.5, size=(90, 25))), np.array(["c", "a", "b"])[rng.integers(0, 3, size=90)]
    whole = TermProjectionClassifier().fit(X, y)
    for seed in range(3):
        parts = np.array_split(np.random.default_rng(seed).permutation(90), 7)
        model = fit_blocks((X[rows], y[rows].tolist()) for rows in parts)
        assert model.classes_.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(model.term_weight_, whole.term_weight_)
        np.testing.assert_array_equal(model.term_class_, whole.term_class_)
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_block_sums_keep_few_waiting():
    rng = np.random.default_rng(0)
    X, codes = rng.poisson(0.3, size=(640, 50)), rng.integers(0, 3, size=640)
    sums = PairwiseSum()
    for start in range(0, 640, 10):
        sums.add(count_terms(X[start : start + 10], codes[start : start + 10], 3))
        assert len(sums._waiting) <= 8
    np.testing.assert_array_equal(sums.total().occurrences, count_terms(X, codes, 3).occurrences)


def test_refusals():
    with pytest.raises(DataError) as error:
        fit_blocks([(np.eye(2), ["staff", "staff"])])
    assert error.value.code == "one-class"
    with pytest.raises(UsageError):
        fit_blocks([], TermProjectionClassifier(classifier="svm"))
