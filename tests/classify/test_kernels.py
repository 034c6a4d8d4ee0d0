"""Transductive kernel classifier."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import isthmus
from isthmus import StringKernel, TransductiveKernelClassifier
from isthmus.classify import rules
from isthmus.classify.strings import classifier
from isthmus.classify.strings.ridge import indicator, rbf
from isthmus.estimator_checks import example_texts
from isthmus.exceptions import DataError, IsthmusError, IsthmusWarning


@pytest.fixture(scope="module")
def data():
    texts, labels, domain = example_texts(n=40)
    return texts, labels, domain


def right(model, data):
    _, labels, domain = data
    return np.mean(model.transduction_[domain < 0] == labels[domain < 0])


def test_two_rounds_follow_the_algorithm_step_by_step(data):
    """Against a literal version that forms the kernel of the centred rows whole and solves each round from scratch."""
    texts, labels, domain = data
    model = TransductiveKernelClassifier(alpha=1e-4, n_added=0.25).fit(texts, labels, domain)
    R = rbf(StringKernel().gram(texts, normalize=True))
    R -= R.mean(axis=0)
    R /= np.sqrt(np.mean(np.sum(R * R, axis=1)))
    K = R @ R.T
    classes = np.unique(labels)
    source, target = np.flatnonzero(domain > 0), np.flatnonzero(domain < 0)
    codes = np.searchsorted(classes, labels)
    train, train_codes = source, codes[source]
    added = []
    for _ in range(2):
        A = K[np.ix_(train, train)] + 1e-4 * np.eye(len(train))
        Y = indicator(train_codes, 2)
        scores = K[np.ix_(target, train)] @ np.linalg.solve(A, Y - Y.mean(axis=0)) + Y.mean(axis=0)
        added.append(target[np.argsort(-scores.max(axis=1), kind="stable")[:10]])
        train = np.concatenate([source, added[0]])
        train_codes = np.concatenate([codes[source], scores.argmax(axis=1)[np.searchsorted(target, added[0])]])
    np.testing.assert_array_equal(np.sort(model.added_), np.sort(added[0]))
    np.testing.assert_allclose(model.target_scores_, scores, atol=1e-5, rtol=1e-5)
    assert model.n_iter_ == 2
    assert [step["added"] for step in model.history_] == [0, 10]


def test_the_temperature_of_some_source_rows_is_near_that_of_all(data, monkeypatch):
    texts, labels, domain = data
    whole = TransductiveKernelClassifier().fit(texts, labels, domain).inverse_temperature_
    monkeypatch.setattr(classifier, "CALIBRATION_ROWS", 24)
    some = TransductiveKernelClassifier().fit(texts, labels, domain).inverse_temperature_
    assert whole / 3 < some < 3 * whole


@pytest.mark.parametrize("kernel", ["presence", "intersection", "spectrum", StringKernel(ngram_range=(2, 4))])
@pytest.mark.parametrize("settings", [{}, {"max_iter": 1}, {"n_added": 1.0}])
def test_kernels_and_variants_solve_an_easy_target(data, kernel, settings):
    texts, labels, domain = data
    model = TransductiveKernelClassifier(kernel=kernel, ngram_range=(3, 5), **settings).fit(texts, labels, domain)
    assert right(model, data) >= 0.9
    again = model.predict([texts[i] for i in np.flatnonzero(domain < 0)])
    np.testing.assert_array_equal(again, model.transduction_[domain < 0])


@pytest.mark.parametrize("max_iter", [1, 2])
def test_precomputed_and_callable_agree_with_the_name(data, max_iter):
    texts, labels, domain = data
    settings = {"max_iter": max_iter}
    named = TransductiveKernelClassifier(ngram_range=(2, 4), **settings).fit(texts, labels, domain)
    kernel = StringKernel(ngram_range=(2, 4))
    called = TransductiveKernelClassifier(lambda a, b: kernel.cross(a, b), **settings).fit(texts, labels, domain)
    K = kernel.gram(texts, normalize=True)
    given = TransductiveKernelClassifier(kernel="precomputed", **settings).fit(K, labels, domain)
    new = ["the manager was rude", "a cheap bill"]
    rows = StringKernel(ngram_range=(2, 4), normalize=True).cross(new, texts)
    for other, X in ((called, new), (given, rows)):
        np.testing.assert_allclose(named.target_scores_, other.target_scores_, atol=1e-6, rtol=1e-5)
        np.testing.assert_allclose(named.predict_proba(new), other.predict_proba(X), atol=1e-6, rtol=1e-5)


def test_callable_on_matrix_rows():
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(40, 3))) + np.repeat([[4, 0, 0], [0, 4, 0]], 20, axis=0)
    y = np.array([0] * 10 + [-1] * 10 + [1] * 10 + [-1] * 10)
    model = TransductiveKernelClassifier(lambda a, b: a @ b.T).fit(X, y)
    assert model.transduction_[10:20].tolist() == [0] * 10
    assert model.predict(X[30:]).tolist() == [1] * 10


def test_probabilities_are_calibrated_on_source(data):
    texts, labels, domain = data
    model = TransductiveKernelClassifier().fit(texts, labels, domain)
    probability = model.predict_proba(texts)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-5, atol=1e-8)
    assert model.inverse_temperature_ > 0
    assert model.decision_function(texts[:3]).shape == (3,)


@pytest.mark.parametrize("settings", [{}, {"n_added": 1.0}, {"n_landmarks": 30}])
def test_later_texts_get_the_scores_of_the_fit(data, settings):
    texts, labels, domain = data
    model = TransductiveKernelClassifier(alpha=0.01, random_state=0, **settings).fit(texts, labels, domain)
    assert right(model, data) >= 0.9
    again = model._scores([texts[i] for i in np.flatnonzero(domain < 0)]) / model.inverse_temperature_
    np.testing.assert_allclose(again, model.target_scores_, atol=1e-8, rtol=1e-5)


def test_landmarks_are_close_to_exact(data):
    texts, labels, domain = data
    shares = []
    for seed in range(8):  # one draw of 30 landmarks may be a poor one
        model = TransductiveKernelClassifier(n_landmarks=30, random_state=seed).fit(texts, labels, domain)
        assert len(model.landmarks_) == 30
        assert np.sum(domain[model.landmarks_] < 0) == 15
        assert model.predict(texts[-2:]).tolist() == model.transduction_[-2:].tolist()
        shares.append(right(model, data))
    assert np.mean(shares) >= 0.9


def test_a_small_source_leaves_its_landmarks_to_the_target(data):
    texts, labels, domain = data
    few = np.flatnonzero((domain < 0) | (np.arange(len(domain)) < 6))
    model = TransductiveKernelClassifier(n_landmarks=20, random_state=0)
    model.fit([texts[i] for i in few], labels[few], domain[few])
    assert len(model.landmarks_) == 20


def test_many_documents_switch_to_landmarks_with_a_warning(data, monkeypatch):
    monkeypatch.setattr(classifier, "LANDMARKS", 60)
    with pytest.warns(IsthmusWarning, match="with 60 of them") as caught:
        model = TransductiveKernelClassifier(max_exact=70).fit(*data)
    assert caught[0].message.code == "approximation"
    assert len(model.landmarks_) == 60


def test_short_and_identical_texts_survive(data):
    texts, labels, domain = data
    texts = [*texts[:-3], "ab", "", texts[0]]
    with pytest.warns(IsthmusWarning, match="2 of 80 texts"):
        model = TransductiveKernelClassifier().fit(texts, labels, domain)
    assert model.transduction_[-1] == labels[0]
    assert model.predict(["the staff was polite"]).tolist() == ["staff"]


def test_source_alone_is_enough(data):
    texts, labels, _ = data
    model = TransductiveKernelClassifier().fit(texts, labels)
    assert model.termination_condition_ == "no_target"
    assert np.mean(model.predict(texts) == labels) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": "words"},
        {"alpha": -1},
        {"max_iter": 0},
        {"max_iter": 3},
        {"n_added": 1.5},
        {"kernel": "presence", "ngram_range": (8, 5)},
    ],
)
def test_wrong_settings_are_refused(data, settings):
    with pytest.raises(IsthmusError) as caught:
        TransductiveKernelClassifier(**settings).fit(*data)
    assert caught.value.code == "bad-parameter"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda K: K + np.triu(np.ones_like(K), 1),
        lambda K: np.where(np.eye(len(K)) > 0, np.inf, K),
        lambda K: K * 100,
        lambda K: K[:, :-1],
    ],
)
def test_unsound_kernels_are_refused(data, spoil):
    texts, labels, domain = data
    K = StringKernel().gram(texts, normalize=True)
    with pytest.raises(DataError) as caught:
        TransductiveKernelClassifier(kernel="precomputed").fit(spoil(K), labels, domain)
    assert caught.value.code in ("bad-kernel", "not-finite")


def test_clone_keeps_a_kernel_object():
    model = clone(TransductiveKernelClassifier(StringKernel("spectrum", (2, 3))))
    assert model.kernel == StringKernel("spectrum", (2, 3))


def test_single_texts_get_the_probabilities_of_many():
    texts = ["kind staff here", "great bike there", "rude staff again", "slow bike again"] * 5
    model = TransductiveKernelClassifier(ngram_range=(2, 4)).fit(texts, (["a", "b"] + [None] * 2) * 5)
    later = ["the staff of the bike shop", "a great bike", "kind"]
    single = np.vstack([model.predict_proba([text]) for text in later])
    np.testing.assert_allclose(single, model.predict_proba(later), rtol=1e-10)


def test_all_documents_are_compared_and_nothing_is_said_where_the_landmarks_would_be_more(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TransductiveKernelClassifier(max_exact=70).fit(*data)
    assert model.landmarks_ is None, "80 documents, 2,000 landmarks"


@pytest.mark.parametrize(
    ("settings", "landmarks"),
    [({"n_landmarks": 80}, None), ({"n_landmarks": 79}, 79), ({"max_exact": 80}, None), ({"max_exact": 79}, 60)],
)
def test_as_many_documents_as_are_allowed_are_compared_whole(data, settings, landmarks, monkeypatch):
    monkeypatch.setattr(classifier, "LANDMARKS", 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)
        model = TransductiveKernelClassifier(random_state=0, **settings).fit(*data)
    assert (None if model.landmarks_ is None else len(model.landmarks_)) == landmarks, f"80 documents, {settings}"


RULES = [
    {},
    {"kernel": "spectrum"},
    {"kernel": StringKernel("intersection", (2, 4), lowercase=False, squeeze=False)},
    {"n_landmarks": 30},
    {"kernel": StringKernel(ngram_range=(2, 4)).cross},
]


@pytest.mark.parametrize("settings", RULES, ids=[str(case) for case in RULES])
def test_the_rule_of_a_model_is_the_model(data, settings):
    """Texts whose capitals and blanks count where that was asked for; a few at a time, and many."""
    texts, labels, domain = data
    texts = [text.upper() if i % 3 else text.replace(" ", "   ") for i, text in enumerate(texts)]
    model = TransductiveKernelClassifier(ngram_range=(2, 4), random_state=0, **settings).fit(texts, labels, domain)
    rule = model.prediction_rule()
    new = ["the STAFF   was polite", "the staff was polite", "a CHEAP bill", "a cheap  bill"]
    expected = np.log(model.predict_proba(new))
    expected -= expected.mean(axis=1, keepdims=True)
    told_apart = not getattr(settings.get("kernel"), "lowercase", True)
    assert np.allclose(expected[0], expected[1], atol=1e-9) is not told_apart, "capitals and blanks count"
    for part in (slice(0, 1), slice(1, 4), slice(0, 4), slice(1, 2), slice(2, 4)):
        found = rule.scores(new[part])
        found = found - found.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(found, expected[part], atol=1e-9, err_msg=f"{settings}, texts {part}")


def test_a_rule_uses_the_threads_of_its_model(data, monkeypatch):
    seen = []
    gram = rules.ngram_gram

    def note(*arguments, **settings):
        seen.append(settings["n_jobs"])
        return gram(*arguments, **settings)

    monkeypatch.setattr(rules, "ngram_gram", note)
    model = TransductiveKernelClassifier(ngram_range=(2, 4), n_jobs=2).fit(*data)
    model.prediction_rule().scores(["kind", "staff", "cheap", "bill"])
    assert seen == [2], "n_jobs=2 was asked for"


def test_a_function_as_kernel_is_compared_with_landmarks_too(data):
    texts, labels, domain = data
    kernel = StringKernel(ngram_range=(2, 4))
    settings = {"n_landmarks": 20, "random_state": 0, "ngram_range": (2, 4)}
    named = TransductiveKernelClassifier(**settings).fit(texts, labels, domain)
    called = TransductiveKernelClassifier(lambda a, b: kernel.cross(a, b), **settings).fit(texts, labels, domain)
    np.testing.assert_allclose(called.target_scores_, named.target_scores_, atol=1e-6)
    np.testing.assert_allclose(called.predict_proba(texts[:9]), named.predict_proba(texts[:9]), atol=1e-6)


def test_a_function_that_returns_no_numbers_for_new_documents_is_refused(data):
    kernel = StringKernel(ngram_range=(2, 4))
    model = TransductiveKernelClassifier(lambda a, b: kernel.cross(a, b) + (np.nan if "nan" in a else 0)).fit(*data)
    with pytest.raises(DataError, match="NaN or inf") as caught:
        model.predict(["nan"])
    assert caught.value.code == "bad-kernel"


def test_a_precomputed_kernel_may_be_sparse(data):
    _, labels, domain = data
    K = StringKernel(ngram_range=(2, 4)).gram(data[0], normalize=True)
    dense, sparse = (
        TransductiveKernelClassifier(kernel="precomputed").fit(form(K), labels, domain)
        for form in (np.asarray, sp.csr_matrix)
    )
    np.testing.assert_allclose(sparse.target_scores_, dense.target_scores_)


def test_without_a_target_rows_are_centred_by_their_own_mean(data):
    texts, labels, _ = data
    model = TransductiveKernelClassifier(ngram_range=(2, 4)).fit(texts, labels)
    R = rbf(StringKernel(ngram_range=(2, 4)).gram(texts, normalize=True))
    found, expected = (
        np.sort(model.prediction_rule().bend.centre),
        np.sort(R.mean(axis=0)),
    )  # columns stand in another order
    np.testing.assert_allclose(found, expected, atol=1e-6, err_msg="the mean of all rows")
    assert np.mean(model.predict(texts) == labels) == 1


@pytest.mark.parametrize("number", [1, 5])  # a few are compared in another way than many
def test_short_texts_of_the_fit_are_not_said_again_of_later_ones(number):
    source = ["good plot and fine acting", "bad plot and dull acting", "fine good story", "dull bad story"] * 3
    target = ["good knife, fine edge", "bad knife, dull edge", "x", "fine pan", "dull pan"]
    with pytest.warns(IsthmusWarning, match="1 of 17 texts are shorter than the shortest n-gram"):
        result = isthmus.label(source, list("pnpn") * 3, target, method="strings", embed=False)
    assert result.label_new(["a good pan indeed"] * number).labels.tolist() == ["p"] * number
    with pytest.warns(IsthmusWarning, match=f"1 of {number + 1} texts are shorter"):
        result.label_new(["a good pan indeed"] * number + ["y"])
