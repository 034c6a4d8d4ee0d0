"""Naive Bayes and linear models from blocks: scikit-learn's answer, whatever the cut."""

import numpy as np
import pytest
import scipy.sparse as sp
from cut_passes import CutPasses
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from isthmus import SelfTrainingTransferClassifier
from isthmus.classify.baselines.linear import LinearClassifier
from isthmus.classify.baselines.naive_bayes import NaiveBayes
from isthmus.exceptions import DataError
from isthmus.features import weigh_tfidf
from isthmus.features.blocks import MemoryBlock, RowBlock


def rows_of(n_classes, n=90, d=30, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    rates = rng.gamma(0.4, 1.0, size=(n_classes, d))
    return sp.csr_matrix(rng.poisson(rates[codes])), codes


def test_naive_bayes_is_that_of_scikit_learn():
    X, codes = rows_of(3)
    y = np.array(["a", "b", "c"])[codes]
    ours, theirs = NaiveBayes().fit(X, y), MultinomialNB().fit(X, y)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
    scores, no_known_terms = ours.block_scores(MemoryBlock("target", lambda: RowBlock.of(X)))
    np.testing.assert_allclose(scores, theirs.predict_joint_log_proba(X), rtol=1e-9)
    assert not no_known_terms.any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_is_that_of_scikit_learn(n_classes):
    X, codes = rows_of(n_classes)
    ours = LinearClassifier(C=10.0, sublinear=True).fit(X, codes)
    weighed = weigh_tfidf(X.astype(float), ours.idf_, sublinear=True)
    theirs = LogisticRegression(C=10.0, max_iter=1000, tol=1e-8).fit(weighed, codes)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(weighed), atol=0.01)
    assert np.all(np.diff(ours.history_) <= 0)


def test_the_svm_is_that_of_scikit_learn():
    X, codes = rows_of(3)
    ours = LinearClassifier("squared_hinge").fit(X, codes)
    weighed = weigh_tfidf(X.astype(float), ours.idf_)
    theirs = LinearSVC(tol=1e-8).fit(weighed, codes)
    decision = weighed @ ours.coef_ + ours.intercept_
    np.testing.assert_allclose(decision, theirs.decision_function(weighed), atol=0.02)


def test_fractions_are_refused():
    with pytest.raises(DataError, match="whole counts") as error:
        LinearClassifier().fit(np.array([[0.5, 0.0], [0.0, 1.0]]), ["a", "b"])
    assert error.value.code == "not-numbers"


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(),
        LinearClassifier(C=10.0),
        LinearClassifier("squared_hinge"),
        SelfTrainingTransferClassifier(max_iter=3),
    ],
    ids=["naive-bayes", "logistic", "svm", "self-training"],
)
def test_the_cut_into_blocks_changes_no_bit(model):
    X, codes = rows_of(3)
    target, _ = rows_of(3, n=60, seed=1)
    scores = []
    for parts in (1, 7):
        passes = CutPasses(X, target, codes, np.array(["a", "b", "c"]), parts)
        scores.append(model.fit_passes(passes).block_scores(passes.target_sample)[0])
    np.testing.assert_array_equal(scores[0], scores[1])
