"""Naive Bayes and linear models from chunks: the answer of scikit-learn, for every cut into chunks."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from cut_passes import CutPasses
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from isthmus import SelfTrainingTransferClassifier, SourceOnlyClassifier
from isthmus.classify import linear
from isthmus.classify.linear import LinearClassifier, rounded_rows
from isthmus.classify.naive_bayes import NaiveBayes
from isthmus.features import weigh_tfidf


def rows_of(n_classes, n=90, d=30, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    rates = rng.gamma(0.4, 1.0, size=(n_classes, d))
    return sp.csr_matrix(rng.poisson(rates[codes])), codes


def passes_of(X, target, codes, parts):
    return CutPasses(X, target, codes, np.array(["a", "b", "c"])[: codes.max() + 1], parts)


@pytest.mark.parametrize("parts", [1, 4])
def test_naive_bayes_of_chunks_is_that_of_scikit_learn(parts):
    X, codes = rows_of(3)
    theirs = MultinomialNB().fit(X, codes)
    ours = NaiveBayes().fit_passes(passes_of(X, X[:0], codes, parts))
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_is_that_of_scikit_learn(n_classes):
    X, codes = rows_of(n_classes)
    rows = weigh_tfidf(X.astype(float), sublinear=True)
    ours = LinearClassifier(C=10.0).fit(rows, codes)
    theirs = LogisticRegression(C=10.0, max_iter=1000, tol=1e-8).fit(rows, codes)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=0.002)
    assert ours.history_[-1] == min(ours.history_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_svm_is_that_of_scikit_learn(n_classes):
    X, codes = rows_of(n_classes)
    rows = weigh_tfidf(X.astype(float))
    ours = LinearClassifier(loss="squared_hinge").fit(rows, codes)
    theirs = LinearSVC(tol=1e-8, max_iter=100_000).fit(rows, codes)
    np.testing.assert_allclose(ours.decision_function(rows), theirs.decision_function(rows), atol=0.01)
    assert not hasattr(ours, "predict_proba")


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gradient_is_the_slope_of_the_loss(loss, n_classes):
    X, codes = rows_of(n_classes)
    rows, rng = rounded_rows(weigh_tfidf(X.astype(float))), np.random.default_rng(0)
    point, step = rng.normal(size=(2, X.shape[1] + 1, 1 if n_classes == 2 else 3))
    gradient, _ = linear._sums(rows, codes, loss, point)
    up, down = (linear._sums(rows, codes, loss, point + sign * 1e-4 * step)[1] for sign in (1, -1))
    slope = (up - down) / 2e-4 / linear._LOSS
    assert np.sum(gradient * step) / (linear._VALUE * linear._SLOPE) == pytest.approx(slope, rel=1e-3)


def test_a_warm_start_begins_at_the_last_solution():
    X, codes = rows_of(3)
    rows = weigh_tfidf(X.astype(float))
    model = LinearClassifier(warm_start=True).fit(rows, codes)
    assert model.fit(rows, codes).n_iter_ == 0


@pytest.mark.parametrize(
    "model",
    [
        SourceOnlyClassifier(NaiveBayes()),
        SourceOnlyClassifier(LinearClassifier(C=10.0)),
        SourceOnlyClassifier(LinearClassifier(loss="squared_hinge")),
        SelfTrainingTransferClassifier(LinearClassifier(C=10.0, warm_start=True), max_iter=3),
    ],
    ids=["naive-bayes", "logistic", "svm", "self-training"],
)
def test_the_cut_into_blocks_changes_no_bit(model):
    X, codes = rows_of(3)
    target, _ = rows_of(3, n=60, seed=1)
    scores = []
    for parts in (1, 7):
        passes = passes_of(X, target, codes, parts)
        scores.append(model.fit_passes(passes).block_scores(passes.target_sample)[0])
    np.testing.assert_array_equal(scores[0], scores[1])
    y = np.array(["a", "b", "c", "?"], dtype=object)[np.concatenate([codes, np.full(60, 3)])]
    y[y == "?"] = None
    in_memory = model.fit(sp.vstack([X, target]).tocsr(), y)
    assert in_memory.transduction_[90:].tolist() == np.array(["a", "b", "c"])[scores[0].argmax(axis=1)].tolist()


class CountedPasses(CutPasses):
    counts: Counter = Counter()

    def sum(self, function, *given, **named):
        self.counts[function.__name__] += 1
        return super().sum(function, *given, **named)


def test_a_round_of_self_training_reads_the_target_once_to_tell_its_surest_rows():
    X, codes = rows_of(3)
    target, _ = rows_of(3, n=60, seed=1)
    passes = CountedPasses(X, target, codes, np.array(["a", "b", "c"]), 2)
    passes.counts = Counter()
    SelfTrainingTransferClassifier(LinearClassifier(), max_iter=4).fit_passes(passes)
    assert passes.counts["_guess"] == 4, f"expected one pass for each of 4 rounds, found {passes.counts}"


def test_rows_that_do_not_count_as_labelled_weigh_nothing():
    X, codes = rows_of(2)
    target, _ = rows_of(2, n=40, seed=1)
    passes = passes_of(X, target, codes, 3)
    for part in passes.parts["target"]:
        size = len(part.rows)
        part.keep("none", {"labels": np.zeros(size, dtype=np.int32), "steps": np.full(size, 9, dtype=np.uint16)})
    alone = LinearClassifier().fit_passes(passes).coef_
    none = LinearClassifier().fit_passes(passes, ("none", np.array([10, 10]))).coef_
    np.testing.assert_array_equal(none, alone, "expected the source's own minimum")
    every = LinearClassifier().fit_passes(passes, ("none", np.array([9, 9])), 40).coef_
    assert not np.array_equal(every, alone), "expected rows at the least step to count"
