"""SFA, SCL, CORAL, TrAdaBoost: the property each is built on (the contract is tested for all public estimators)."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.base import check_transfer_data
from isthmus.classify.baselines.aligned_features import presence_information, top_singular
from isthmus.classify.baselines.coral import CorrelationAlignment
from isthmus.classify.baselines.scl import StructuralCorrespondence
from isthmus.classify.baselines.sfa import SpectralFeatureAlignment
from isthmus.classify.baselines.tradaboost import TrAdaBoostClassifier


def two_domains(seed=0, n=200):
    """Shared words 0-9 name the class; words 10-19 do so in the source only, 20-29 in the target only."""
    rng = np.random.default_rng(seed)
    y = np.arange(2 * n) % 2
    domain = np.repeat([1, -1], n)
    X = np.zeros((2 * n, 30))
    for i in range(2 * n):
        shared = rng.choice(5, 2) + 5 * (y[i] if rng.random() < 0.85 else 1 - y[i])
        own = rng.choice(5, 4) + 5 * y[i] + (10 if domain[i] > 0 else 20)
        X[i, shared] += 1
        X[i, own] += 1
    return sp.csr_matrix(X), y, domain


@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (SpectralFeatureAlignment, {"n_pivots": 10, "n_components": 2}),
        (StructuralCorrespondence, {"n_pivots": 10}),
    ],
)
def test_words_of_the_target_are_learned_through_shared_words(cls, settings):
    X, y, domain = two_domains()
    model = cls(**settings).fit(X, y, domain)
    assert np.mean(model.transduction_[domain < 0] == y[domain < 0]) > 0.85
    only_target = sp.csr_matrix(np.vstack([np.eye(30)[20:25].sum(0), np.eye(30)[25:30].sum(0)]))
    assert model.predict(only_target).tolist() == [0, 1]


def test_coral_gives_the_source_the_targets_covariance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    X[200:] = X[200:] @ rng.normal(size=(6, 6))
    y, domain = np.arange(400) % 2, np.repeat([1, -1], 200)
    model = CorrelationAlignment(ridge=1e-9).fit(X, y, domain)
    basis = model._learn(sp.csr_matrix(X), check_transfer_data(model, X, y, domain))
    source, target = model._move_source(X[:200] @ basis), X[200:] @ basis
    assert np.allclose(np.cov(source.T), np.cov(target.T), atol=1e-6)


def test_boosting_takes_weight_from_contradicting_source_documents():
    X, y, domain = two_domains()
    spoiled = y.copy()
    spoiled[:40] = 1 - y[:40]
    model = TrAdaBoostClassifier(max_iter=6).fit(X, spoiled, domain)
    weights = [step["source_weight"] for step in model.history_]
    assert weights[-1] < weights[0]


def test_mutual_information_and_singular_vectors():
    X = sp.csr_matrix(np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]]))
    information = presence_information(X, np.array([0, 0, 1, 1]), 2)
    assert np.allclose(information, [np.log(2), 0, 0])
    M = sp.random(80, 70, density=0.2, random_state=0, format="csr")
    U, s = top_singular(M, 5)
    assert np.allclose(s, np.linalg.svd(M.toarray())[1][:5])
    assert np.allclose(U.T @ U, np.eye(5))


def test_weights_are_folded_onto_the_columns():
    X, y, domain = two_domains()
    for cls in (SpectralFeatureAlignment, StructuralCorrespondence, CorrelationAlignment, TrAdaBoostClassifier):
        model = cls().fit(X, y, domain)
        assert model.estimator_.coef_.shape == (1, 30)
        assert np.array_equal(model.estimator_.predict(X[domain < 0]), model.transduction_[domain < 0])


def test_pivots_are_shared_words():
    X, y, domain = two_domains()
    for cls in (SpectralFeatureAlignment, StructuralCorrespondence):
        model = cls(n_pivots=5)
        domains = check_transfer_data(model, X, y, domain)
        model._learn(sp.csr_matrix(domains.X), domains)
        assert set(model.pivots_) <= set(range(10))
