"""Naive Bayes and linear models from blocks: scikit-learn's answer, whatever the cut."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from cut_passes import CutPasses
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from isthmus import SelfTrainingTransferClassifier
from isthmus._math.calibration import fit_temperature
from isthmus.classify.linear import LinearClassifier
from isthmus.classify.naive_bayes import NaiveBayes
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
    SelfTrainingTransferClassifier(max_iter=4).fit_passes(passes)
    assert passes.counts["guess"] == 4, f"expected one pass for each of 4 rounds, found {passes.counts}"


def test_rows_that_do_not_count_as_labelled_weigh_nothing():
    X, codes = rows_of(2)
    target, _ = rows_of(2, n=40, seed=1)
    passes = CutPasses(X, target, codes, np.array(["a", "b"]), 3)
    solver = LinearClassifier(C=10.0, sublinear=True).solver(passes, 130, "a test")
    for part in passes.parts["target"]:
        size = len(part.rows)
        part.keep("none", {"labels": np.zeros(size, dtype=np.int32), "steps": np.full(size, 9, dtype=np.uint16)})
    alone = solver.minimise(solver.start())
    none = solver.with_pseudo("none", np.array([10, 10]), 0, "a test")
    np.testing.assert_array_equal(none.minimise(solver.start()), alone, "expected the source's own minimum")
    all_ = solver.with_pseudo("none", np.array([9, 9]), 40, "a test").minimise(solver.start())
    assert not np.array_equal(all_, alone), "expected rows at the least step to count"


@pytest.mark.parametrize(("n", "placed"), [(99, False), (100, True)])
def test_from_a_hundred_documents_on_an_svm_is_as_sure_as_its_sample_says(n, placed):
    X, codes = rows_of(2, n=n)
    model = LinearClassifier("squared_hinge").fit(X, codes)
    raw = model.block_scores(MemoryBlock("source", lambda: RowBlock.of(X)))[0] / model.inverse_temperature_
    expected = fit_temperature(raw, codes) if placed else 1.0
    assert model.inverse_temperature_ == pytest.approx(expected), f"{n} documents"
    assert LinearClassifier().fit(X, codes).inverse_temperature_ == 1.0, "logistic regression is calibrated by itself"


def test_self_training_takes_the_linear_model_that_it_is_given():
    X, codes = rows_of(3)
    target, _ = rows_of(3, n=60, seed=1)

    def weights(estimator):
        passes = CutPasses(X, target, codes, np.array(["a", "b", "c"]), 2)
        return SelfTrainingTransferClassifier(estimator, max_iter=2).fit_passes(passes).estimator_.coef_

    np.testing.assert_array_equal(weights(None), weights(LinearClassifier(C=10.0, sublinear=True)))
    assert np.abs(weights(LinearClassifier(C=0.01))).max() < 0.2 * np.abs(weights(None)).max(), (
        "C=0.01 holds weights down"
    )
