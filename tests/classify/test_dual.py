"""Dual supervision: labelled words and documents, across domains."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from isthmus import FactorDualClassifier, ManifoldDualClassifier, make_transfer_pipeline
from isthmus._math.rows import softmax
from isthmus.base import TransferClassifier
from isthmus.classify.dual.base import find_terms, label_negations, place_words, read_word_labels
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.features import TextVectorizer
from isthmus.methods import make_method

BOTH = [ManifoldDualClassifier, FactorDualClassifier]


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
def test_labels_cross_domains(cls):
    X, y, domain = two_domains()
    model = cls().fit(X, y, sample_domain=domain)
    target = domain < 0
    assert np.mean(model.transduction_[target] == y[target]) > 0.85
    np.testing.assert_array_equal(model.transduction_[~target], y[~target])
    np.testing.assert_array_equal(model.predict(X[target]), model.transduction_[target])
    assert np.mean(model.word_transduction_[:16] == np.repeat([0, 1], 8)) > 0.8


@pytest.mark.parametrize("cls", BOTH)
def test_labelled_words_alone(cls):
    X, y, _ = two_domains()
    words = {0: 0, 1: 0, 4: 0, 8: 1, 9: 1, 12: 1}
    model = cls(word_labels=words).fit(X, np.full(len(y), -1))
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
            model = cls(word_labels=labelled).fit(X, few)
            scores[place] += np.mean(model.transduction_[4:] == y[4:]) / 4
    assert scores[1] > scores[0] + 0.02


@pytest.mark.parametrize("cls", BOTH)
def test_objective_falls_and_the_record_is_kept(cls):
    X, y, domain = two_domains()
    model = cls(word_labels={0: 0, 8: 1}).fit(X, y, domain)
    assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[0]))
    assert model.n_iter_ >= 1
    assert model.termination_condition_ in ("tol", "max_iter")


def test_a_word_may_count_against_a_class():
    X, y, domain = two_domains()
    before = ManifoldDualClassifier().fit(X, y, domain)
    after = ManifoldDualClassifier(word_labels={3: {0: -1}}).fit(X, y, domain)
    assert after.word_scores_[3, 0] < before.word_scores_[3, 0]
    holding = (X[domain < 0][:, [3]] > 2).toarray().ravel()
    assert (
        after.document_scores_[domain < 0][holding, 0].mean() < before.document_scores_[domain < 0][holding, 0].mean()
    )


def test_weights_say_how_firmly_a_label_is_held():
    X, y, _ = two_domains()
    unlabelled = np.full(len(y), -1)

    def score(weight):
        model = ManifoldDualClassifier(word_labels={0: {0: weight}, 1: {0: 1.0}, 8: {1: 1.0}}).fit(X, unlabelled)
        return model.word_scores_[0, 0]

    assert score(0.2) < score(0.6) < score(1.0)


def test_several_starts_keep_the_lowest_objective():
    X, y, domain = two_domains()
    model = FactorDualClassifier(n_init=3, random_state=0).fit(X, y, domain)
    assert len(model.starts_) == 3
    assert model.history_[-1] == min(model.starts_)


@pytest.mark.parametrize("cls", BOTH)
def test_new_words(cls):
    X, y, domain = two_domains()
    model = cls().fit(X, y, domain)
    np.testing.assert_array_equal(model.predict_words(X.T[[0, 9]]), model.classes_[[0, 1]])
    with pytest.raises(DataError) as caught:
        model.predict_words(np.ones((1, 3)))
    assert caught.value.code == "length-mismatch"


@pytest.mark.parametrize("cls", BOTH)
def test_suggested_words_are_unlabelled_and_counted_in_the_target(cls):
    X, y, domain = two_domains()
    model = cls(word_labels={0: 0, 8: 1}).fit(X, y, domain)
    rows = model.suggest_words(5)
    assert len(rows) == 5
    assert not {0, 8} & {row["column"] for row in rows}
    uses = [row["expected_use"] for row in rows]
    assert uses == sorted(uses, reverse=True)
    for row in rows:
        assert row["target_documents"] == (X[domain < 0][:, [row["column"]]] > 0).sum()
        assert row["likely"] in (0, 1)
        assert 0.5 <= row["sureness"] <= 1


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
    pipeline = words_pipeline({"Polite": "staff", "ridden": "product", "Riding": "product"})
    with pytest.warns(IsthmusWarning, match="'ridden'") as heard:
        pipeline.fit(TEXTS, [None] * 5)
    assert heard[0].message.code == "unknown-words"
    assert pipeline.transduction_[:4].tolist() == ["staff", "staff", "product", "product"]
    assert pipeline.unknown_words_ == ["ridden"]
    assert set(pipeline.word_names_[pipeline.labelled_words_]) == {"polit", "ride"}


def test_unknown_words_are_kept_for_later():
    pipeline = words_pipeline({"polite": "staff", "fun": "product", "pedal": "product"})
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
    columns, unknown = place_words(read_word_labels(labels), 1, ["ride"], terms)
    assert columns[0] == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert unknown == []


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
        {"gamma": 0},
        {"mu": -1},
        {"power": 0},
    ],
)
def test_bad_parameters(settings):
    with pytest.raises(UsageError) as caught:
        ManifoldDualClassifier(**settings).fit(np.eye(4), [0, 1, -1, -1])
    assert caught.value.code == "bad-parameter"


@pytest.mark.parametrize("settings", [{"cg_iter": 0}, {"n_init": 0}])
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
    ManifoldDualClassifier(word_labels={0: "a", 1: "b"}, tol=1e-3).fit(X, [None] * 20_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
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
    model = FactorDualClassifier().fit(X, ["a", "b", None, None, None, None])
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


def test_a_negated_word_that_is_labelled_itself_keeps_its_label():
    given = {0: {"good": 1.0}, 1: {"good": 0.5}}
    assert label_negations(given, ["nice", "not-nice"], ["bad", "good"]) == given


@pytest.mark.parametrize("cls", BOTH)
def test_scores_of_documents_stand_in_the_order_of_their_rows(cls):
    X, y, domain = two_domains()
    model = cls().fit(X, y, sample_domain=domain)
    target = domain < 0
    by_score = model.classes_[model.document_scores_[target].argmax(axis=1)]
    np.testing.assert_array_equal(by_score, model.transduction_[target], "the label is the class of the largest score")


def test_a_word_may_be_labelled_twice_alike():
    assert read_word_labels({"Good": "a", "good ": "a"}) == {"Good": {"a": 1.0}, "good ": {"a": 1.0}}


def test_a_word_without_weights_is_neither_placed_nor_unknown():
    given = read_word_labels({"good": {"a": 0}, "bad": {"b": 0.0}, "rare": {}, "fine": "a"})
    assert place_words(given, 2, ["good", "fine"], None) == ({1: {"a": 1.0}}, [])


def test_column_numbers_beside_words_need_no_terms():
    assert find_terms([3, "good"], str.split) == {"good": "good"}
    given = read_word_labels({3: "a", "good": "b", 9: "a", -1: "b"})
    placed = place_words(given, 4, ["good", "x", "y", "z"], {"good": "good"})
    assert placed == ({0: {"b": 1.0}, 3: {"a": 1.0}}, [9, -1])


def test_labelled_columns_come_in_order_whatever_the_negated_ones_are_numbered():
    given, names = {2: {"good": 1.0}, 3: {"bad": 1.0}}, ["not-nice", "x", "nice", "poor", "not-poor"]
    found = label_negations(given, names, ["bad", "good"])
    assert list(found.items()) == [(0, {"bad": 1.0}), (2, {"good": 1.0}), (3, {"bad": 1.0}), (4, {"good": 1.0})]


def test_words_are_read_as_a_vectoriser_of_scikit_learn_reads_them():
    model = ManifoldDualClassifier(word_labels={"Polite": "staff", "Riding": "product"})
    pipeline = make_transfer_pipeline(CountVectorizer(), model).fit(TEXTS, [None] * 5)
    named = [pipeline.word_names_[column] for column in pipeline.labelled_words_]
    assert named == ["polite", "riding"], "CountVectorizer makes words small"


def test_without_a_target_words_are_suggested_by_all_documents():
    X = np.array([[2, 0, 1, 1], [0, 2, 1, 1], [2, 0, 1, 0], [0, 2, 0, 0]])
    model = FactorDualClassifier().fit(X, ["a", "b", "a", "b"])
    documents = {row["column"]: row["target_documents"] for row in model.suggest_words(4)}
    assert documents.items() <= {0: 2, 1: 2, 2: 3, 3: 2}.items()
    assert 2 in documents


def test_five_of_many_unknown_words_are_named():
    X, y, domain = two_domains()
    words = {f"word{i}": 0 for i in range(7)}
    names = [f"w{i}" for i in range(X.shape[1])]
    with pytest.warns(IsthmusWarning) as caught:
        ManifoldDualClassifier(word_labels=words, feature_names=names).fit(X, y, domain)
    said = str(caught[0].message)
    assert "7 of 7 labelled words occur in no document" in said
    assert "('word0', 'word1', 'word2', 'word3', 'word4' and 2 more)" in said


@pytest.mark.parametrize("cls", BOTH)
def test_the_rule_of_a_model_is_the_model(cls):
    X, y, domain = two_domains(n=20)
    model = cls(word_labels={0: 0, 8: 1}).fit(X, y, sample_domain=domain)
    rule = model.prediction_rule()
    np.testing.assert_allclose(softmax(rule.scores(X[:9])), model.predict_proba(X[:9]), atol=1e-9)
    assert set(rule.labelled_words.tolist()) == {0, 8}
