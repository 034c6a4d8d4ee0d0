"""Blocks of rows give the model of the whole."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import TermProjectionClassifier
from isthmus.exceptions import DataError, UsageError


def test_blocks_give_the_model_of_the_whole():
    rng = np.random.default_rng(0)
    X, y = sp.csr_matrix(rng.poisson(0.5, size=(90, 25))), np.array(["c", "a", "b"])[rng.integers(0, 3, size=90)]
    whole = TermProjectionClassifier().fit(X, y)
    for seed in range(3):
        model = TermProjectionClassifier()
        for rows in np.array_split(np.random.default_rng(seed).permutation(90), 7):
            model.partial_fit(X[rows], y[rows], classes=["a", "b", "c"])
        assert model.classes_.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(model.term_weight_, whole.term_weight_)
        np.testing.assert_array_equal(model.term_class_, whole.term_class_)
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_refusals():
    with pytest.raises(DataError) as error:
        TermProjectionClassifier().partial_fit(np.eye(2), ["staff", "staff"])
    assert error.value.code == "one-class"
    with pytest.raises(UsageError):
        TermProjectionClassifier(classifier="svm").partial_fit(np.eye(2), ["staff", "bike"])


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_blocks_may_bring_their_classes_in_any_order(order):
    """The third class comes with the second block and stands before, between or after the two that are known."""
    rng = np.random.default_rng(1)
    names, sizes = ["ash", "birch", "cedar"], [12, 5, 3]
    X = [rng.poisson(np.where(np.arange(6) // 2 == code, 3.0, 0.5), (sizes[code], 6)) for code in range(3)]
    labels = [[name] * size for name, size in zip(names, sizes, strict=True)]
    new = rng.poisson(1.5, (40, 6))
    whole = TermProjectionClassifier().fit(np.vstack(X), np.concatenate(labels))
    first, second, third = order
    model = TermProjectionClassifier()
    model.partial_fit(np.vstack([X[first], X[second]]), [*labels[first], *labels[second]])
    model.partial_fit(X[third], labels[third])
    assert model.classes_.tolist() == names
    assert model.statistics_.class_documents.tolist() == sizes
    np.testing.assert_array_equal(model.term_class_, whole.term_class_)
    np.testing.assert_allclose(model.term_weight_, whole.term_weight_)
    np.testing.assert_array_equal(model.predict(new), whole.predict(new))
