"""Source-only and self-training."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from isthmus import SelfTrainingTransferClassifier, SourceOnlyClassifier
from isthmus._math.calibration import fit_temperature
from isthmus.base import softmax
from isthmus.classify.self_training import surest_rows
from isthmus.exceptions import UsageError


def shifted(seed=0, n=200):
    """Two Gaussian classes whose target lies turned by thirty degrees."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n)
    X = rng.normal(0, 0.6, (n, 2)) + np.where(codes[:, None] == 1, [2.0, 0.0], [-2.0, 0.0])
    angle = np.pi / 6
    turned = X @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    domain = np.where(np.arange(n) < n // 2, 1, -1)
    return np.where(domain[:, None] > 0, X, turned), codes, domain


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC(), None])
def test_source_only_equals_the_classifier_on_source_alone(estimator):
    X, y, domain = shifted()
    ours = SourceOnlyClassifier(estimator).fit(X, y, sample_domain=domain)
    peer = (estimator or LogisticRegression()).fit(X[domain > 0], y[domain > 0])
    np.testing.assert_array_equal(ours.transduction_[domain < 0], peer.predict(X[domain < 0]))


def test_svm_probabilities_are_calibrated_on_held_out_source():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    domain = np.where(np.arange(600) < 400, 1, -1)
    model = SourceOnlyClassifier(LinearSVC()).fit(X, y, sample_domain=domain)
    probability = model.predict_proba(X[domain < 0])
    right = probability.argmax(axis=1) == y[domain < 0]
    assert abs(probability.max(axis=1).mean() - right.mean()) < 0.08


def test_temperature_recovers_the_scale_that_made_the_labels():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000, 3))
    codes = np.array([rng.choice(3, p=p) for p in softmax(2.5 * scores)])
    assert abs(fit_temperature(scores, codes) - 2.5) < 0.1


def test_a_warm_start_reaches_the_same_labels_in_fewer_steps():
    X, y, domain = shifted()
    cold = SelfTrainingTransferClassifier(LogisticRegression(tol=1e-8)).fit(X, y, sample_domain=domain)
    warm = SelfTrainingTransferClassifier(LogisticRegression(tol=1e-8, warm_start=True)).fit(X, y, sample_domain=domain)
    np.testing.assert_array_equal(cold.transduction_, warm.transduction_)
    np.testing.assert_allclose(cold.estimator_.coef_, warm.estimator_.coef_, atol=1e-3, rtol=1e-5)
    assert warm.estimator_.n_iter_[0] < cold.estimator_.n_iter_[0]


def test_self_training_follows_a_turned_target():
    X, y, domain = shifted()
    target = domain < 0
    before = SourceOnlyClassifier().fit(X, y, sample_domain=domain).transduction_[target]
    model = SelfTrainingTransferClassifier().fit(X, y, sample_domain=domain)
    assert np.mean(model.transduction_[target] == y[target]) >= np.mean(before == y[target])
    assert len(model.history_) == model.n_iter_ == 10


class _TurnsOnce(ClassifierMixin, BaseEstimator):
    """Fitted on the two source rows alone, it gives every row the first class; later the second."""

    def fit(self, X, y):
        self.classes_, self.code_ = np.array([0, 1]), int(X.shape[0] > 2)
        return self

    def predict_proba(self, X):
        return np.tile(np.eye(2)[self.code_] * 0.8 + 0.1, (X.shape[0], 1))

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def test_the_history_of_self_training_is_the_share_of_labels_that_changed():
    model = SelfTrainingTransferClassifier(_TurnsOnce(), max_iter=3).fit(np.eye(4) + 1, [0, 1, -1, -1])
    assert model.history_ == [1.0, 0.0, 0.0], "all change in the first round, none later"
    assert model.termination_condition_ == "no_change"


def test_surest_rows_takes_of_every_class():
    scores = np.log(np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.4, 0.6]]))
    assert surest_rows(scores, 0.3).tolist() == [0, 3]
    assert surest_rows(scores, 1.0).tolist() == [0, 1, 2, 3]


def test_target_weight_reaches_the_estimator():
    X, y, domain = shifted()
    heavy = SelfTrainingTransferClassifier(target_weight=100.0).fit(X, y, sample_domain=domain)
    light = SelfTrainingTransferClassifier(target_weight=1e-9).fit(X, y, sample_domain=domain)
    source_only = SourceOnlyClassifier().fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(light.estimator_.coef_, source_only.estimator_.coef_, atol=1e-3, rtol=1e-5)
    assert not np.allclose(heavy.estimator_.coef_, source_only.estimator_.coef_, atol=1e-2)


def test_a_classifier_without_probabilities_is_refused_in_a_sentence():
    with pytest.raises(UsageError, match="no predict_proba"):
        SelfTrainingTransferClassifier(LinearSVC()).fit(np.eye(4) + 1, [0, 1, -1, -1])


def test_rounds_must_be_positive():
    with pytest.raises(UsageError):
        SelfTrainingTransferClassifier(max_iter=0).fit(np.eye(4) + 1, [0, 1, -1, -1])


def test_naive_bayes_needs_counts_and_says_so_through_its_own_error():
    with pytest.raises(ValueError, match="egative"):
        SourceOnlyClassifier(MultinomialNB()).fit(-1 - np.eye(4), [0, 1, -1, -1])


def test_self_training_adds_its_target_documents_little_by_little():
    """Everything added in round 1: then the first round would already train on all of the target."""
    seen = []

    class Watching:
        def __init__(self):
            from sklearn.linear_model import LogisticRegression

            self.inner = LogisticRegression()

        def get_params(self, deep=True):
            return {}

        def __sklearn_clone__(self):
            return Watching()

        def fit(self, X, y):
            seen.append(X.shape[0])
            self.inner.fit(X, y)
            self.classes_, self.coef_, self.intercept_ = self.inner.classes_, self.inner.coef_, self.inner.intercept_
            return self

        def predict_proba(self, X):
            return self.inner.predict_proba(X)

        def predict(self, X):
            return self.inner.predict(X)

        def decision_function(self, X):
            return self.inner.decision_function(X)

    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.random((60, 5)) + np.repeat([[2, 0, 0, 0, 0], [0, 2, 0, 0, 0]], 30, axis=0))
    y = np.where(np.arange(60) % 30 < 10, np.arange(60) // 30, -1)
    SelfTrainingTransferClassifier(Watching(), max_iter=4).fit(X, y)
    assert seen[0] == 20  # the source alone
    assert seen[1:] == sorted(seen[1:])
    assert 20 < seen[1] <= 20 + 40 // 4 + 2
    assert seen[-1] == 60


@pytest.mark.parametrize(("weight", "refused"), [(1.0, False), (0.5, True)])
def test_an_estimator_that_takes_no_weights_is_refused_where_target_rows_are_to_weigh_other(weight, refused):
    class Unweighted(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.model_ = LogisticRegression().fit(X, y)
            self.classes_ = self.model_.classes_
            return self

        def predict(self, X):
            return self.model_.predict(X)

        def predict_proba(self, X):
            return self.model_.predict_proba(X)

    X, y, domain = shifted()
    model = SelfTrainingTransferClassifier(Unweighted(), target_weight=weight)
    if not refused:
        assert len(model.fit(X, y, sample_domain=domain).transduction_) == len(y)
        return
    with pytest.raises(UsageError, match="takes no sample_weight") as caught:
        model.fit(X, y, sample_domain=domain)
    assert caught.value.code == "bad-parameter"
