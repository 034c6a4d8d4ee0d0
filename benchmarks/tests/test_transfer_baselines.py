"""SFA, SCL, CORAL, TrAdaBoost: the property each is built on (the contract is tested for all public estimators)."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold

from isthmus.base import check_transfer_data
from isthmus_bench.baselines import aligned_features
from isthmus_bench.baselines.aligned_features import (
    CorrelationAlignment,
    SpectralFeatureAlignment,
    StructuralCorrespondence,
    presence_information,
    scaled_map,
    top_singular,
)
from isthmus_bench.baselines.tradaboost import TrAdaBoostClassifier
from isthmus_bench.shifted import make_shifted_texts

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
    model = CorrelationAlignment(ridge=1e-9)
    basis = model._learn(sp.csr_matrix(X), check_transfer_data(model, X, y, domain))
    source, target = model._move_source(X[:200] @ basis), X[200:] @ basis
    np.testing.assert_allclose(np.cov(source.T), np.cov(target.T), atol=1e-6, rtol=1e-5)


def test_corals_rows_are_as_long_as_the_words_and_c_is_chosen_on_the_source():
    X, y, domain = two_domains()
    model = CorrelationAlignment().fit(X, y, domain)
    gate = check_transfer_data(model, X, y, domain).in_content_order()
    rows = sp.csr_matrix(gate.X) @ model._learn(sp.csr_matrix(gate.X), gate)
    assert np.mean(np.sum(rows**2, axis=1)) == pytest.approx(1.0)
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
    np.testing.assert_allclose(information, [np.log(2), 0, 0], rtol=1e-5, atol=1e-8)
    M = sp.random(80, 70, density=0.2, random_state=0, format="csr")
    U, s = top_singular(M, 5)
    np.testing.assert_allclose(s, np.linalg.svd(M.toarray())[1][:5], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(U.T @ U, np.eye(5), rtol=1e-5, atol=1e-8)


def test_weights_are_folded_onto_the_columns():
    X, y, domain = two_domains()
    fast = CorrelationAlignment(C=1.0)  # nothing to choose
    for model in (SpectralFeatureAlignment(), StructuralCorrespondence(), fast, TrAdaBoostClassifier()):
        model.fit(X, y, domain)
        assert model.estimator_.coef_.shape == (1, X.shape[1])
        np.testing.assert_array_equal(model.estimator_.predict(X[domain < 0]), model.transduction_[domain < 0])


def test_pivots_are_shared_words():
    X, y, domain = two_domains()
    for cls in (SpectralFeatureAlignment, StructuralCorrespondence):
        model = cls(n_pivots=5)
        domains = check_transfer_data(model, X, y, domain)
        model._learn(sp.csr_matrix(domains.X), domains)
        shared = {VECTORIZER.vocabulary_[word] for word in MADE.words_of(domain="shared")}
        assert set(model.pivots_) <= shared


def test_directions_point_where_their_largest_entry_is_positive():
    """Signs left as the solver gave them."""
    M = sp.random(80, 60, density=0.2, random_state=1, format="csr")
    for k in (5, 60):
        U, values = top_singular(M, k)
        assert np.all(U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])] > 0)
        assert np.all(np.diff(values) <= 0)


def test_directions_that_a_matrix_does_not_have_are_left_out():
    """Kept, what rounding leaves there would be scaled up and decide labels."""
    U, values = top_singular(np.outer([1.0, 2.0, 2.0], [3.0, 4.0]), 2)
    assert values == pytest.approx([15.0])  # lengths 3 and 5
    assert U.ravel() == pytest.approx([1 / 3, 2 / 3, 2 / 3])


def test_tradaboost_lowers_wrong_source_rows_by_the_rate_of_the_source():
    """β = 1 / (1 + √(2 ln n / N)) with the n of the source: after one round its mean weight is 1 − w(1 − β)/n."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.poisson([3, 1], (20, 2)), rng.poisson([1, 3], (20, 2)), rng.poisson(2, (30, 2))])
    labels = ["a"] * 20 + ["b"] * 20
    labels[0], labels[39] = "b", "a"
    model = TrAdaBoostClassifier(max_iter=5).fit(X, [*labels, *[None] * 30])
    first, second = (row["source_weight"] for row in model.history_[:2])
    assert first == 1.0
    beta = 1 / (1 + np.sqrt(2 * np.log(40) / 5))
    wrong = (1 - second) * 40 / (1 - beta)
    assert wrong >= 1
    assert wrong == pytest.approx(round(wrong), abs=1e-9)


def test_pivots_are_predicted_from_a_sample_of_many_rows(monkeypatch):
    """The rows that the seed draws, in their order; ridge regressions on these by scikit-learn."""
    X, y, domain = two_domains()
    seen = []

    def note(rows, columns, vectors, gamma):
        seen.append((rows, columns, vectors))
        return scaled_map(rows, columns, vectors, gamma)

    monkeypatch.setattr(aligned_features, "_DUAL_ROWS", 60)
    monkeypatch.setattr(aligned_features, "scaled_map", note)
    model = StructuralCorrespondence(n_pivots=8, n_components=3, random_state=5).fit(X, y, domain)
    ((rows, columns, vectors),) = seen
    drawn = np.random.RandomState(5).choice(rows.shape[0], 60, replace=False)
    part = rows[np.sort(drawn)].toarray()
    pivots = (part[:, model.pivots_] != 0).astype(float)
    ridge = Ridge(alpha=1.0, fit_intercept=False).fit(part[:, columns], pivots - pivots.mean(axis=0))
    expected = np.linalg.svd(ridge.coef_.T)[0][:, :3]
    np.testing.assert_allclose(np.abs(vectors.T @ expected), np.eye(3), atol=1e-6, err_msg="directions of 60 rows")


@pytest.mark.parametrize("cls", [SpectralFeatureAlignment, StructuralCorrespondence])
def test_a_single_column_leaves_nothing_to_align(cls):
    model = cls().fit(np.array([[3.0], [0.0], [2.0], [0.0]]), ["a", "b", None, None])
    assert model.transduction_.tolist() == ["a", "b", "a", "b"]
    two = cls().fit(np.array([[3.0, 0], [0, 1], [2, 0], [0, 2]]), ["a", "b", None, None])
    assert len(two.pivots_) == 1, "of two columns one is the pivot"


def test_rows_without_anything_get_the_shares_of_the_classes():
    model = CorrelationAlignment(C=1.0).fit(np.zeros((6, 3)), ["a", "b", "a", "a", None, None])
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 3))), [[0.75, 0.25]], atol=1e-3)
