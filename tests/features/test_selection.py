"""χ² scores as scikit-learn's selectors use them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from isthmus.exceptions import DataError, UsageError
from isthmus.features import chi2, tf_chi2

X = np.array([[9, 1, 0, 1], [1, 1, 0, 1], [1, 1, 3, 0], [0, 1, 2, 1]])
Y = np.array(["a", "a", "b", "b"])


def test_occurrences_matter_to_one_and_not_to_the_other():
    flat = (X > 0).astype(int)
    np.testing.assert_allclose(chi2(X, Y), chi2(flat, Y))
    assert tf_chi2(X, Y)[0] > tf_chi2(flat, Y)[0]


def test_formats_and_unlabelled_rows_agree():
    extra = np.vstack([X, [[7, 7, 7, 7]]])
    labels = np.array([*Y, None], dtype=object)
    for matrix in (X, sp.csr_matrix(X), sp.csc_matrix(X), sp.csr_array(X)):
        np.testing.assert_allclose(tf_chi2(matrix, Y), tf_chi2(extra, labels))


def test_reductions():
    table = tf_chi2(X, Y, reduce=None)
    assert table.shape == (4, 2)
    np.testing.assert_allclose(tf_chi2(X, Y), table.max(axis=1))
    np.testing.assert_allclose(tf_chi2(X, Y, reduce="total"), table.sum(axis=1))
    with pytest.raises(UsageError, match="reduce") as error:
        tf_chi2(X, Y, reduce="mean")
    assert error.value.code == "bad-parameter"


def test_select_k_best_in_a_pipeline():
    pipeline = make_pipeline(SelectKBest(tf_chi2, k=2), LinearSVC()).fit(X, Y)
    assert pipeline[0].get_support().tolist() == [True, False, True, False]
    assert pipeline.score(X, Y) == 1.0


def test_a_term_that_never_occurs_scores_zero():
    padded = np.hstack([X, np.zeros((4, 1), dtype=int)])
    assert tf_chi2(padded, Y)[-1] == 0.0
    assert chi2(padded, Y)[-1] == 0.0


@pytest.mark.parametrize(
    ("matrix", "labels", "code"),
    [(-X, Y, "negative-counts"), (X, Y[:3], "length-mismatch"), (X, ["a"] * 4, "one-class")],
)
def test_refusals(matrix, labels, code):
    with pytest.raises(DataError) as error:
        tf_chi2(matrix, labels)
    assert error.value.code == code


def test_a_matrix_without_an_entry_scores_zero():
    assert chi2(sp.csr_matrix((4, 3)), ["a", "a", "b", "b"]).tolist() == [0, 0, 0]
