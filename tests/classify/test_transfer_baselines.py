"""SFA, SCL, CORAL, TrAdaBoost: the property each is built on (the contract is tested for all public estimators)."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from isthmus.base import check_transfer_data
from isthmus.classify.baselines.aligned_features import (
    CorrelationAlignment,
    SpectralFeatureAlignment,
    StructuralCorrespondence,
    presence_information,
    top_singular,
)
from isthmus.classify.baselines.tradaboost import TrAdaBoostClassifier
from isthmus.corpus import make_shifted_texts

MADE = make_shifted_texts(200, 200, n_words=10, shared=0.5, noise=0.15, common=0.2, length=8, random_state=0)
VECTORIZER = CountVectorizer(binary=True).fit(MADE.texts)


def two_domains():
    """Texts whose classes have five words in both domains and five in each domain alone."""
    return VECTORIZER.transform(MADE.texts), (MADE.true_labels == "class 1").astype(int), MADE.sample_domain


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
    only_target = VECTORIZER.transform([" ".join(MADE.words_of(name, "target")) for name in ("class 0", "class 1")])
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


def test_corals_rows_are_as_long_as_the_words_and_c_is_chosen_on_the_source():
    X, y, domain = two_domains()
    model = CorrelationAlignment().fit(X, y, domain)
    gate = check_transfer_data(model, X, y, domain).in_content_order()
    rows = sp.csr_matrix(gate.X) @ model._learn(sp.csr_matrix(gate.X), gate)
    assert np.mean(np.sum(rows**2, axis=1)) == pytest.approx(1.0)
    # Target labels never enter: turned round they leave the choice as it is.
    turned = np.where(domain < 0, 1 - y, y)
    assert CorrelationAlignment().fit(X, turned, domain).C_ == model.C_
    # Five folds of the recoloured source rows, counted here by hand.
    Z = model._move_source(rows[gate.source])
    split = StratifiedKFold(5, shuffle=True, random_state=0)
    right = {
        C: np.mean(
            [
                np.mean(LogisticRegression(C=C, max_iter=1000).fit(Z[a], gate.source_codes[a]).predict(Z[b])
                        == gate.source_codes[b])
                for a, b in split.split(Z, gate.source_codes)
            ]
        )
        for C in (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
    }  # fmt: skip
    assert right[model.C_] == max(right.values())
    assert CorrelationAlignment(C=3.0).fit(X, y, domain).C_ == 3.0


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
        assert model.estimator_.coef_.shape == (1, X.shape[1])
        assert np.array_equal(model.estimator_.predict(X[domain < 0]), model.transduction_[domain < 0])


def test_pivots_are_shared_words():
    X, y, domain = two_domains()
    for cls in (SpectralFeatureAlignment, StructuralCorrespondence):
        model = cls(n_pivots=5)
        domains = check_transfer_data(model, X, y, domain)
        model._learn(sp.csr_matrix(domains.X), domains)
        shared = {VECTORIZER.vocabulary_[word] for word in MADE.words_of(domain="shared")}
        assert set(model.pivots_) <= shared
