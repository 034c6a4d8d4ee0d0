"""Dual supervision: labelled words and documents, across domains, with every solver and kernel."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.feature_extraction.text import CountVectorizer

from isthmus import FactorDualClassifier, ManifoldDualClassifier, make_transfer_pipeline
from isthmus.base import TransferClassifier
from isthmus.classify.dual import base as dual_base
from isthmus.classify.dual.base import find_terms, label_negations, place_words, read_word_labels
from isthmus.classify.dual.kernels import GaussianKernel, LandmarkKernel, make_kernel, quantile_width
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.features import TextVectorizer
from isthmus.methods import make_method

BOTH = [ManifoldDualClassifier, FactorDualClassifier]
KERNELS = ["gaussian", "linear", "cosine"]


def two_domains(seed=0, n=40, d=24, strength=1.8):
    """Class words 0–7 (class 0) and 8–15 (class 1), of which each domain uses half; the rest is noise."""
    rng = np.random.RandomState(seed)
    y = np.tile([0, 1], n)
    domain = np.repeat([1, -1], n)
    rates = np.full((2 * n, d), 0.3)
    for row, (label, side) in enumerate(zip(y, domain, strict=True)):
        first = 8 * label + (0 if side > 0 else 3)
        rates[row, first : first + 5] += strength
    return sp.csr_matrix(rng.poisson(rates).astype(float)), y, domain


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("kernel", KERNELS)
def test_labels_cross_domains(cls, kernel):
    X, y, domain = two_domains()
    model = cls(kernel=kernel, random_state=0).fit(X, y, sample_domain=domain)
    target = domain < 0
    assert np.mean(model.transduction_[target] == y[target]) > 0.85
    np.testing.assert_array_equal(model.transduction_[~target], y[~target])
    np.testing.assert_array_equal(model.predict(X[target]), model.transduction_[target])
    assert np.mean(model.word_transduction_[:16] == np.repeat([0, 1], 8)) > 0.8


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize("cls", BOTH)
def test_more_landmarks_than_documents_are_all_documents(cls):
    X, y, domain = two_domains()
    model = cls(max_exact=10, n_landmarks=500, random_state=0).fit(X, y, sample_domain=domain)
    assert len(model.transduction_) == 80


@pytest.mark.parametrize("cls", BOTH)
def test_labelled_words_alone(cls):
    X, y, _ = two_domains()
    words = {0: 0, 1: 0, 4: 0, 8: 1, 9: 1, 12: 1}
    model = cls(word_labels=words, kernel="linear", random_state=0).fit(X, np.full(len(y), -1))
    assert np.mean(model.transduction_ == y) > 0.85
    assert model.word_transduction_[[0, 8]].tolist() == [0, 1]
    assert set(model.labelled_words_) == set(words)


@pytest.mark.parametrize("cls", BOTH)
def test_words_help_documents(cls):
    words = {column: int(column >= 8) for column in range(16)}
    scores = np.zeros(2)
    for seed in range(4):
        X, y, _ = two_domains(seed, strength=0.6)
        few = np.where(np.arange(len(y)) < 4, y, -1)
        for place, labelled in enumerate((None, words)):
            model = cls(word_labels=labelled, kernel="linear", random_state=0).fit(X, few)
            scores[place] += np.mean(model.transduction_[4:] == y[4:]) / 4
    assert scores[1] > scores[0] + 0.02


def test_both_solvers_agree_and_are_reported():
    X, y, domain = two_domains()
    words = {0: 0, 8: 1}
    models = [
        ManifoldDualClassifier(word_labels=words, kernel=kernel, solver=solver, tol=1e-10).fit(X, y, domain)
        for kernel in KERNELS
        for solver in ("direct", "cg")
    ]
    assert [model.solver_ for model in models] == ["direct", "cg"] * 3
    for direct, cg in zip(models[::2], models[1::2], strict=True):
        np.testing.assert_allclose(direct.document_scores_, cg.document_scores_, atol=1e-5)
        np.testing.assert_allclose(direct.word_scores_, cg.word_scores_, atol=1e-5)
    assert ManifoldDualClassifier().fit(X, y, domain).solver_ == "direct"
    big = sp.hstack([X, sp.csr_matrix((X.shape[0], 1600))], format="csr")
    assert ManifoldDualClassifier(kernel="linear").fit(big, y, domain).solver_ == "cg"


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_other_losses_label_as_well(cls, loss):
    X, y, domain = two_domains()
    model = cls(word_labels={0: 0, 8: 1}, loss=loss).fit(X, y, domain)
    squared = cls(word_labels={0: 0, 8: 1}).fit(X, y, domain)
    assert np.mean(model.transduction_[domain < 0] == y[domain < 0]) > 0.85
    assert np.all(np.diff(model.history_) <= 1e-9 * abs(model.history_[0]))
    assert not np.allclose(model.document_scores_, squared.document_scores_)


@pytest.mark.parametrize("cls", BOTH)
def test_objective_falls_and_the_record_is_kept(cls):
    X, y, domain = two_domains()
    model = cls(word_labels={0: 0, 8: 1}, solver="cg").fit(X, y, domain)
    assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[0]))
    assert model.n_iter_ >= 1
    assert model.termination_condition_ in ("tol", "max_iter")


def test_landmarks_are_stated_and_near_the_exact_kernel():
    X, y, domain = two_domains()
    exact = ManifoldDualClassifier().fit(X, y, domain)
    with pytest.warns(IsthmusWarning, match="approximated") as heard:
        rough = ManifoldDualClassifier(max_exact=50, n_landmarks=45, random_state=0).fit(X, y, domain)
    assert heard[0].message.code == "approximation"
    assert "landmarks" in rough.kernels_["documents"]
    assert "exact" in rough.kernels_["words"]
    assert np.mean(rough.transduction_ == exact.transduction_) > 0.9


def test_a_word_may_speak_against_a_class():
    X = np.eye(4)[[0, 1, 2, 0, 1, 2]] + 0.01
    y = ["a", "b", "c", None, None, None]
    plain = ManifoldDualClassifier(kernel="linear").fit(X, y)
    code = plain.classes_.tolist().index("a")
    for loss in ("squared", "hinge", "logistic"):
        before = ManifoldDualClassifier(kernel="linear", class_normalisation=None, loss=loss).fit(X, y)
        after = ManifoldDualClassifier(
            word_labels={0: {"a": -1}}, kernel="linear", class_normalisation=None, loss=loss
        ).fit(X, y)
        assert after.document_scores_[3, code] < before.document_scores_[3, code]
        assert after.word_scores_[0, code] < before.word_scores_[0, code]


def test_weights_say_how_firmly_a_label_is_held():
    X, y, _ = two_domains()
    unlabelled = np.full(len(y), -1)

    def score(weight):
        model = ManifoldDualClassifier(
            word_labels={0: {0: weight}, 8: {1: 1.0}}, kernel="linear", class_normalisation=None, solver="direct"
        ).fit(X, unlabelled)
        return model.word_scores_[0, 0]

    assert score(0.2) < score(0.6) < score(1.0)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_factor_takes_other_numbers_of_word_classes(count):
    X, y, domain = two_domains()
    model = FactorDualClassifier(word_classes=count, random_state=0, kernel="linear").fit(X, y, domain)
    assert model.Q_.shape == (2, count)
    assert model.word_scores_.shape == (X.shape[1], count)
    assert np.mean(model.transduction_[domain < 0] == y[domain < 0]) > 0.8


def test_factor_takes_named_word_classes():
    X, y, domain = two_domains()
    words = {0: "left", 1: "left", 8: "right", 20: "noise"}
    model = FactorDualClassifier(word_labels=words, word_classes=["left", "right", "noise"], random_state=0).fit(
        X, y, domain
    )
    assert model.classes_.tolist() == [0, 1]
    assert model.word_transduction_[[0, 8, 20]].tolist() == ["left", "right", "noise"]
    with pytest.raises(DataError, match="not a word class"):
        FactorDualClassifier(word_labels={0: "up"}, word_classes=["left", "right"]).fit(X, y, domain)


def test_several_starts_keep_the_lowest_objective():
    X, y, domain = two_domains()
    model = FactorDualClassifier(n_init=3, annealing=2, kernel="linear", random_state=0).fit(X, y, domain)
    assert len(model.starts_) == 3
    assert model.history_[-1] == min(model.starts_)


@pytest.mark.parametrize("cls", BOTH)
def test_new_words(cls):
    X, y, domain = two_domains()
    model = cls(kernel="linear", random_state=0).fit(X, y, domain)
    np.testing.assert_array_equal(model.predict_words(X.T[[0, 9]]), model._word_class_names()[[0, 1]])
    with pytest.raises(DataError) as caught:
        model.predict_words(np.ones((1, 3)))
    assert caught.value.code == "length-mismatch"


@pytest.mark.parametrize("cls", BOTH)
def test_suggested_words_are_unlabelled_and_counted_in_the_target(cls):
    X, y, domain = two_domains()
    model = cls(word_labels={0: 0, 8: 1}, kernel="linear", random_state=0).fit(X, y, domain)
    rows = model.suggest_words(5)
    assert len(rows) == 5
    assert not {0, 8} & {row["column"] for row in rows}
    uses = [row["expected_use"] for row in rows]
    assert uses == sorted(uses, reverse=True)
    for row in rows:
        assert row["target_documents"] == (X[domain < 0][:, [row["column"]]] > 0).sum()
        assert row["likely"] in (0, 1)
        assert 0.5 <= row["sureness"] <= 1


def test_expected_use_is_the_mean_number_of_labels_that_change():
    X, y, _ = two_domains(5, strength=0.5)
    few = np.where(np.arange(len(y)) < 6, y, -1)
    settings = {"kernel": "linear", "class_normalisation": None}
    model = ManifoldDualClassifier(**settings).fit(X, few)
    rows = model.suggest_words(X.shape[1])
    assert rows[0]["expected_use"] > 0
    for row in (rows[0], rows[len(rows) // 2]):
        flips = {
            label: np.sum(
                ManifoldDualClassifier(word_labels={row["column"]: label}, **settings).fit(X, few).transduction_
                != model.transduction_
            )
            for label in (0, 1)
        }
        likely = row["likely"]
        expected = row["sureness"] * flips[likely] + (1 - row["sureness"]) * flips[1 - likely]
        assert row["expected_use"] == pytest.approx(expected)


def test_balanced_labels_and_scores_answer_unequal_numbers_of_labels():
    rng = np.random.RandomState(0)
    y = np.tile([0, 1], 100)
    X = rng.poisson(np.where(y[:, None] == np.repeat([0, 1], 10), 0.6, 0.3)).astype(float)
    known = np.full(200, -1)
    known[:2] = y[:2]
    known[2:82:2] = 0  # 41 labels of one class, 1 of the other
    free = known == -1
    plain, normal = (
        ManifoldDualClassifier(kernel="linear", class_normalisation=how).fit(X, known).transduction_[free]
        for how in (None, "both")
    )
    recall = [np.mean(found[y[free] == 1] == 1) for found in (plain, normal)]
    assert recall[1] > recall[0]


def test_pickled_models_predict_the_same():
    X, y, domain = two_domains()
    model = ManifoldDualClassifier(word_labels={0: 0}).fit(X, y, domain)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


# -- words as text ---------------------------------------------------------------------------------------------------

TEXTS = ["the staff was polite", "polite people", "riding it is fun", "fun rides", "a seat"]


def words_pipeline(words, **settings):
    return make_transfer_pipeline(
        TextVectorizer(min_df=1, stem=True), ManifoldDualClassifier(word_labels=words, **settings)
    )


def test_words_pass_through_the_analyser():
    pipeline = words_pipeline({"Polite": "staff", "ridden": "product", "Riding": "product"}, kernel="linear")
    with pytest.warns(IsthmusWarning, match="'ridden'") as heard:
        pipeline.fit(TEXTS, [None] * 5)
    assert heard[0].message.code == "unknown-words"
    assert pipeline.transduction_[:4].tolist() == ["staff", "staff", "product", "product"]
    assert pipeline.unknown_words_ == ["ridden"]
    assert set(pipeline.word_names_[pipeline.labelled_words_]) == {"polit", "ride"}


def test_unknown_words_are_kept_for_later():
    pipeline = words_pipeline({"polite": "staff", "fun": "product", "pedal": "product"}, kernel="linear")
    with pytest.warns(IsthmusWarning, match="pedal"):
        pipeline.fit(TEXTS, [None] * 5)
    pipeline.fit([*TEXTS, "one pedal"], [None] * 6)
    assert pipeline.unknown_words_ == []
    assert pipeline.transduction_[5] == "product"


def test_all_words_unknown_and_no_document_labelled():
    pipeline = words_pipeline({"pedal": "product", "clerk": "staff"})
    with pytest.warns(IsthmusWarning, match="2 of 2"), pytest.raises(DataError, match="'pedal'") as caught:
        pipeline.fit(TEXTS, [None] * 5)
    assert caught.value.code == "no-labels"


def test_no_labels_at_all():
    with pytest.raises(DataError) as caught:
        ManifoldDualClassifier().fit(np.eye(3), [-1, -1, -1])
    assert caught.value.code == "no-labels"


def test_a_class_with_words_but_no_documents_is_said_and_works():
    X, y, domain = two_domains()
    words = {20: 2, 21: 2}
    with pytest.warns(IsthmusWarning, match="name 2") as heard:
        model = ManifoldDualClassifier(word_labels=words).fit(X, y, domain)
    assert heard[0].message.code == "data-checks"
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.word_transduction_[20] == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ({"good": "a", "Good ": "b"}, "bad-word-labels"),
        ({"good": {"a": 1, "b": 1}}, "bad-word-labels"),
        ({"good": {"a": float("nan")}}, "bad-word-labels"),
        ({"good": None}, "bad-word-labels"),
        ({1.5: "a"}, "bad-word-labels"),
        (["good"], "bad-word-labels"),
        ({True: "a"}, "bad-word-labels"),
        ({"good": float("nan")}, "bad-word-labels"),
        ({"good": {"a": True}}, "bad-word-labels"),
        ({"good": {"a": "1"}}, "bad-word-labels"),
        ({"good": {"a": float("inf")}}, "bad-word-labels"),
    ],
)
def test_bad_word_labels(words, code):
    with pytest.raises((DataError, UsageError)) as caught:
        read_word_labels(words)
    assert caught.value.code == code


def test_words_that_share_a_column_are_averaged():
    terms = {"ride": "ride", "riding": "ride", "rides": "ride"}
    labels = {"ride": "a", "riding": "a", "rides": "b"}
    placed = place_words(labels, 1, ["ride"], terms)
    assert placed.columns[0] == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert placed.contested == [0]


def test_phrases_are_found_where_sequences_are_counted():
    pairs = TextVectorizer(min_df=1, ngram_range=(1, 2), stem=False, stop_words=None).fit(["not good", "good"])
    single = TextVectorizer(min_df=1, stem=False, stop_words=None).fit(["not good", "good"])
    assert find_terms(["not good", "good", "!"], pairs.analyze) == {"not good": "not good", "good": "good", "!": None}
    assert find_terms(["not good"], single.analyze) == {"not good": None}


def test_longer_phrases_are_found_where_they_are_labelled():
    texts = ["a waste of money and time", "worth the money", "good value for money", "nothing but a waste of money"]
    words = {"waste of money": "bad", "good value for money": "good", "worth": "good"}
    pipeline = make_method("dual-manifold", word_labels=words, min_df=1).fit(texts, ["bad", "good", None, None])
    names = pipeline[0].feature_names_.tolist()
    assert {"waste of money", "good value for money"} <= set(names)
    assert "money and time" not in names
    labelled = [names[column] for column in pipeline[-1].labelled_words_]
    assert labelled == sorted(words)
    assert pipeline[-1].unknown_words_ == []
    assert pipeline[0].transform(["such a waste of money"])[0, names.index("waste of money")] > 0


def test_words_need_names():
    with pytest.raises(UsageError, match="no names") as caught:
        ManifoldDualClassifier(word_labels={"good": "a", "bad": "b"}).fit(np.eye(2), [None, None])
    assert caught.value.code == "bad-word-labels"
    with pytest.raises(UsageError, match="1 names for 2"):
        ManifoldDualClassifier(word_labels={"good": "a", "bad": "b"}, feature_names=["good"]).fit(
            np.eye(2), [None, None]
        )


def test_word_classes_of_another_kind_than_the_labels():
    X, y, domain = two_domains()
    with pytest.raises(DataError, match="another kind") as caught:
        ManifoldDualClassifier(word_labels={0: "zero"}).fit(X, y, domain)
    assert caught.value.code == "bad-word-labels"


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": "cubic"},
        {"gamma": 0},
        {"mu": -1},
        {"power": 0},
        {"loss": "zero-one"},
        {"solver": "magic"},
        {"width": 0},
        {"class_normalisation": "some"},
    ],
)
def test_bad_parameters(settings):
    with pytest.raises(UsageError) as caught:
        ManifoldDualClassifier(**settings).fit(np.eye(4), [0, 1, -1, -1])
    assert caught.value.code == "bad-parameter"


@pytest.mark.parametrize("settings", [{"annealing": -1}, {"word_classes": 1}, {"n_init": 0}])
def test_bad_factor_parameters(settings):
    with pytest.raises(UsageError) as caught:
        FactorDualClassifier(**settings).fit(np.eye(4), [0, 1, -1, -1])
    assert caught.value.code == "bad-parameter"


@pytest.mark.parametrize("name", ["dual-manifold", "dual-factor"])
def test_methods_use_labelled_words(name):
    pipeline = make_method(name, word_labels={"polite": "staff", "fun": "product"}, min_df=1)
    pipeline.fit(TEXTS, [None] * 5)
    assert pipeline.transduction_[:4].tolist() == ["staff", "staff", "product", "product"]
    assert pipeline.predict(["polite clerk"]).tolist() == ["staff"]
    plain = make_method(name, min_df=1).fit(TEXTS, ["staff", None, "product", None, None])
    assert plain.transduction_[[1, 3]].tolist() == ["staff", "product"]


def test_many_documents_and_words_stay_sparse():
    """The linear path never forms n², d² or n·d numbers: 20,000 × 20,000 would take 3.2 GB."""
    import tracemalloc

    rng = np.random.RandomState(0)
    X = sp.csr_matrix(
        (np.ones(60_000), (rng.randint(20_000, size=60_000), rng.randint(20_000, size=60_000))),
        shape=(20_000, 20_000),
    )
    tracemalloc.start()
    model = ManifoldDualClassifier(word_labels={0: "a", 1: "b"}, kernel="linear", tol=1e-3).fit(X, [None] * 20_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.solver_ == "cg"
    assert peak < 100e6


@pytest.mark.parametrize("words", [None, {0: "good"}])
def test_only_labels_of_two_kinds_are_blamed_on_the_words(monkeypatch, words):
    def fail(self, X, y=None, sample_domain=None):
        raise TypeError("something else")

    monkeypatch.setattr(TransferClassifier, "fit", fail)
    with pytest.raises(TypeError, match="something else"):
        ManifoldDualClassifier(word_labels=words).fit(np.eye(2), ["good", None])


def test_suggested_words_are_those_whose_class_is_open():
    """``suggest_words`` proposing the surest words; documents × (1 − sureness), by hand."""
    X = np.array([[2, 0, 1, 1], [0, 2, 1, 1], [2, 0, 1, 0], [0, 2, 1, 0], [2, 0, 1, 0], [0, 2, 1, 0]])
    model = FactorDualClassifier(kernel="linear", random_state=0).fit(X, ["a", "b", None, None, None, None])
    rows = model.suggest_words(4)
    for row in rows:
        assert row["expected_use"] == pytest.approx(row["target_documents"] * (1 - row["sureness"]))
    uses = [row["expected_use"] for row in rows]
    assert uses == sorted(uses, reverse=True)
    by_column = {row["column"]: row for row in rows}
    assert by_column[2]["sureness"] < by_column[0]["sureness"]  # word 2 stands in both classes alike
    assert rows[0]["column"] == 2


def test_a_negated_word_speaks_against_its_own_class_among_three():
    """A negated word speaking for its class."""
    found = label_negations({0: {"good": 2.0}}, ["nice", "not-nice"], ["bad", "good", "other"])
    assert found == {0: {"good": 2.0}, 1: {"good": -2.0}}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_kernels_width_is_asked_for_by_the_number_of_classes(n_classes, monkeypatch):
    """One half, however many classes."""
    asked = []

    def watched(*given, quantile, **settings):
        asked.append(quantile)
        return make_kernel(*given, quantile=quantile, **settings)

    monkeypatch.setattr(dual_base, "make_kernel", watched)
    X = np.eye(n_classes).repeat(2, axis=0) + 0.1
    FactorDualClassifier(kernel="gaussian", random_state=0).fit(X, [*range(n_classes), *[-1] * n_classes])
    assert asked == [1 / n_classes] * 2


def test_a_negated_word_that_is_labelled_itself_keeps_its_label():
    given = {0: {"good": 1.0}, 1: {"good": 0.5}}
    assert label_negations(given, ["nice", "not-nice"], ["bad", "good"]) == given


@pytest.mark.parametrize("cls", BOTH)
def test_scores_of_documents_stand_in_the_order_of_their_rows(cls):
    X, y, domain = two_domains()
    model = cls(kernel="linear", random_state=0).fit(X, y, sample_domain=domain)
    target = domain < 0
    by_score = model.classes_[model.document_scores_[target].argmax(axis=1)]
    np.testing.assert_array_equal(by_score, model.transduction_[target], "the label is the class of the largest score")


def test_a_word_may_be_labelled_twice_alike():
    assert read_word_labels({"Good": "a", "good ": "a"}) == {"Good": {"a": 1.0}, "good ": {"a": 1.0}}


def test_a_word_without_weights_is_neither_placed_nor_unknown():
    placed = place_words({"good": {"a": 0}, "bad": {"b": 0.0}, "rare": {}, "fine": "a"}, 2, ["good", "fine"], None)
    assert (placed.columns, placed.unknown, placed.given) == ({1: {"a": 1.0}}, [], 4)


def test_column_numbers_beside_words_need_no_terms():
    assert find_terms([3, "good"], str.split) == {"good": "good"}
    placed = place_words({3: "a", "good": "b", 9: "a", -1: "b"}, 4, ["good", "x", "y", "z"], {"good": "good"})
    assert (placed.columns, placed.unknown) == ({0: {"b": 1.0}, 3: {"a": 1.0}}, [9, -1])


def test_labelled_columns_come_in_order_whatever_the_negated_ones_are_numbered():
    given, names = {2: {"good": 1.0}, 3: {"bad": 1.0}}, ["not-nice", "x", "nice", "poor", "not-poor"]
    found = label_negations(given, names, ["bad", "good"])
    assert list(found.items()) == [(0, {"bad": 1.0}), (2, {"good": 1.0}), (3, {"bad": 1.0}), (4, {"good": 1.0})]


def test_words_are_read_as_a_vectoriser_of_scikit_learn_reads_them():
    model = ManifoldDualClassifier(word_labels={"Polite": "staff", "Riding": "product"}, kernel="linear")
    pipeline = make_transfer_pipeline(CountVectorizer(), model).fit(TEXTS, [None] * 5)
    named = [pipeline.word_names_[column] for column in pipeline.labelled_words_]
    assert named == ["polite", "riding"], "CountVectorizer makes words small"


def test_without_a_target_words_are_suggested_by_all_documents():
    X = np.array([[2, 0, 1, 1], [0, 2, 1, 1], [2, 0, 1, 0], [0, 2, 0, 0]])
    model = FactorDualClassifier(kernel="linear", random_state=0).fit(X, ["a", "b", "a", "b"])
    documents = {row["column"]: row["target_documents"] for row in model.suggest_words(4)}
    assert documents.items() <= {0: 2, 1: 2, 2: 3, 3: 2}.items()
    assert 2 in documents


def test_five_of_many_unknown_words_are_named():
    X, y, domain = two_domains()
    words = {f"word{i}": 0 for i in range(7)}
    names = [f"w{i}" for i in range(X.shape[1])]
    with pytest.warns(IsthmusWarning) as caught:
        ManifoldDualClassifier(word_labels=words, feature_names=names, kernel="linear").fit(X, y, domain)
    said = str(caught[0].message)
    assert "7 of 7 labelled words occur in no document" in said
    assert "('word0', 'word1', 'word2', 'word3', 'word4' and 2 more)" in said


@pytest.mark.parametrize(("kernel", "word_kernel"), [(a, b) for a in KERNELS for b in KERNELS if a != b])
def test_solvers_agree_where_words_have_another_kernel(kernel, word_kernel):
    """Products of one matrix are shared between two plain linear kernels alone."""
    X, y, domain = two_domains(n=12)
    settings = {"kernel": kernel, "word_kernel": word_kernel, "word_labels": {0: 0, 8: 1}, "tol": 1e-10}
    direct, cg = (ManifoldDualClassifier(solver=solver, **settings).fit(X, y, domain) for solver in ("direct", "cg"))
    what = f"{kernel} over documents, {word_kernel} over words"
    np.testing.assert_allclose(direct.document_scores_, cg.document_scores_, atol=1e-5, err_msg=what)


@pytest.mark.parametrize(("most", "solver"), [(104, "direct"), (103, "cg")])
def test_the_solver_goes_by_documents_and_words_together(most, solver, monkeypatch):
    monkeypatch.setattr(dual_base, "DIRECT_UP_TO", most)
    X, y, domain = two_domains()  # 80 documents, 24 words
    assert ManifoldDualClassifier(kernel="linear").fit(X, y, domain).solver_ == solver


@pytest.mark.parametrize(("most", "how"), [(80, ["exact", "exact"]), (79, ["landmarks", "exact"])])
def test_the_exact_kernel_takes_as_many_rows_as_are_allowed(most, how):
    X, y, domain = two_domains()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ManifoldDualClassifier(max_exact=most, n_landmarks=40, random_state=0).fit(X, y, domain)
    assert [model.kernels_[side].rpartition(", ")[2] for side in ("documents", "words")] == how
    assert [warning.message.code for warning in caught] == (["approximation"] if "landmarks" in how else [])
    swapped = X.T.tocsr()[:, :80]  # 24 documents of 80 words: of the words there are too many
    with pytest.warns(IsthmusWarning, match="approximated"):
        ManifoldDualClassifier(max_exact=24, n_landmarks=20, random_state=0).fit(swapped, [0, 1] * 6 + [-1] * 12)


def test_landmarks_that_are_alike_do_not_spoil_the_kernel():
    X = sp.csr_matrix(np.repeat(np.eye(3), 4, axis=0))
    kernel = LandmarkKernel(X, 1.0, np.arange(12))
    np.testing.assert_allclose(kernel.dense(), GaussianKernel(X, 1.0).dense(), atol=1e-8)


def test_the_width_of_many_rows_is_that_of_the_rows_that_the_generator_draws():
    X = sp.random(40, 6, density=0.7, random_state=0, format="csr")
    some = np.random.RandomState(7).choice(40, size=15, replace=False)
    for rows, sample in ((some, 15), (np.arange(40), 40)):
        found = quantile_width(X, 0.3, np.random.RandomState(7), sample=sample)
        assert found == pytest.approx(np.quantile(pdist(X[rows].toarray()), 0.3)), f"{sample} of 40 rows"


def test_fewer_word_classes_than_classes_are_numbered():
    X = np.eye(6)[[0, 1, 2, 3, 4, 5] * 2] + 0.1
    model = FactorDualClassifier(word_classes=2, kernel="linear", random_state=0)
    model.fit(X, ["a", "b", "c"] * 2 + [None] * 6)
    assert model.word_classes_.tolist() == [0, 1]
    assert set(model.word_transduction_) <= {0, 1}
    assert model.Q_.shape == (3, 2)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_rule_of_a_model_is_the_model(cls, kernel):
    """Under the cosine kernel, too, where the lengths of rows do not count."""
    X, y, domain = two_domains(n=20)
    model = cls(kernel=kernel, word_labels={0: 0, 8: 1}, random_state=0).fit(X, y, sample_domain=domain)
    rule = model.prediction_rule()
    if kernel == "gaussian":
        assert rule is None, "a Gaussian kernel keeps its rows"
        return
    for rows in (X[:9], 5 * X[:9]):
        found, expected = rule.predict_proba(rows), model.predict_proba(rows)
        np.testing.assert_allclose(found, expected, atol=1e-9, err_msg=f"{kernel} kernel")
    same = np.allclose(rule.predict_proba(X[:9]), rule.predict_proba(5 * X[:9]))
    assert same is (kernel == "cosine"), "only the cosine kernel looks at directions alone"
    assert set(rule.labelled_words_.tolist()) == {0, 8}
