"""Classes given by their names."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import ClassNameClassifier
from isthmus.classify.centroids import left_out_similarity
from isthmus.classify.names import NameAgreement, beyond_chance, compare_names, learn_shares, settle_softly
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.explain import explain_document
from isthmus.features import LatentSemantics, TextVectorizer
from isthmus.methods import make_method
from isthmus.pipeline import make_transfer_pipeline

WORDS = ["sport", "ball", "match", "goal", "business", "shares", "profit", "market"]
TEXTS = [
    "sport ball match",
    "ball match goal",
    "match goal ball",
    "goal sport ball",
    "match ball goal sport",
    "goal match",
    "business shares profit",
    "shares profit market",
    "profit market shares",
    "market business shares",
    "shares market profit business",
    "market profit",
]
TRUTH = ["sport"] * 6 + ["business"] * 6


def counts(texts):
    return np.array([[text.split().count(word) for word in WORDS] for text in texts], dtype=float)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# ------------------------------------------------------------------------------------------------------- arithmetic


def groups(seed=0, n=60, classes=3, size=8):
    rng = np.random.default_rng(seed)
    centres = np.eye(classes, size)
    codes = rng.integers(classes, size=n)
    rows = centres[codes] + 0.3 * rng.standard_normal((n, size))
    rows = rows - rows.mean(axis=0)
    return unit(rows), unit(centres - centres.mean(axis=0)), codes


def test_centroids_settle_at_groups():
    rows, centres, codes = groups()
    crooked = unit(centres + 0.5 * np.random.default_rng(1).standard_normal(centres.shape))
    centroids, history, converged = settle_softly(crooked, rows, max_iter=50)
    assert np.mean((rows @ centroids.T).argmax(axis=1) == codes) > 0.95
    assert converged
    assert len(history) < 50


def test_the_anchors_stay_where_they_are_with_full_weight():
    rows, centres, _ = groups()
    np.testing.assert_allclose(settle_softly(centres, rows, anchor_weight=1.0)[0], centres, rtol=1e-5, atol=1e-8)


def test_a_class_without_a_description_is_given_no_row():
    rows, centres, _ = groups()
    centres[1] = 0.0
    centroids, *_ = settle_softly(centres, rows)
    assert not centroids[1].any()


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_held_out_answers_are_those_of_a_regression_without_the_row(seed):
    rows, _, codes = groups(seed, n=20, size=4)
    shares = np.eye(3)[codes]
    _, _, held_out = learn_shares(rows, shares, ridges=(0.1,))
    gram = rows.T @ rows
    penalty = 0.1 * np.trace(gram) / len(gram)
    left = [place for place in range(20) if place != 7]
    # The closed form keeps mean and penalty of all rows, and gives the intercept the leverage 1/n.
    wanted = shares - shares.mean(axis=0)
    solved = np.linalg.solve(gram + penalty * np.eye(4), rows.T)
    leverage = rows[7] @ solved[:, 7] + 1 / 20
    fitted = rows[7] @ (solved @ wanted) + shares.mean(axis=0)
    np.testing.assert_allclose(held_out[7], (fitted - leverage * shares[7]) / (1 - leverage), rtol=1e-5, atol=1e-8)
    without = np.linalg.solve(rows[left].T @ rows[left] + penalty * np.eye(4), rows[left].T @ wanted[left])
    assert np.abs(held_out[7] - (rows[7] @ without + shares.mean(axis=0))).max() < 0.2


def test_few_rows_of_many_numbers_get_a_strong_penalty():
    rng = np.random.default_rng(0)
    rows = unit(rng.standard_normal((30, 200)))
    shares = np.eye(2)[rng.integers(2, size=30)]
    tried = [np.mean((learn_shares(rows, shares, ridges=(r,))[2] - shares) ** 2) for r in (0.1, 10.0)]
    assert tried[1] < tried[0]
    assert np.isclose(np.mean((learn_shares(rows, shares)[2] - shares) ** 2), tried[1])


def test_similarity_to_centroids_without_the_row():
    rows, _, codes = groups(n=12)
    sums = np.eye(int(codes.max()) + 1)[codes].T @ rows
    found = left_out_similarity(rows @ sums.T, sums, codes)
    for row, code in enumerate(codes):
        others = [place for place in range(12) if codes[place] == code and place != row]
        assert np.isclose(found[row, code], rows[row] @ unit(rows[others].sum(axis=0)[None])[0])


def test_names_count_by_what_they_tell_apart():
    rows, centres, codes = groups(n=200)
    assert 0.4 < compare_names(centres, rows, codes).weight < 0.6
    assert compare_names(centres[[1, 2, 0]], rows, codes).weight < 0.1
    assert compare_names(centres * [[1], [0], [0]], rows, codes) is None
    assert compare_names(centres, rows[:0], codes[:0]) is None
    assert NameAgreement(0.0, 0.0).weight == 0.5


def test_kappa():
    from sklearn.metrics import cohen_kappa_score

    first, second = np.random.default_rng(0).integers(3, size=(2, 50))
    second[:25] = first[:25]
    assert np.isclose(beyond_chance(first, second), cohen_kappa_score(first, second))
    assert beyond_chance(np.zeros(4, dtype=int), np.zeros(4, dtype=int)) == 0.0


# -------------------------------------------------------------------------------------------------------- classifier


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_names_alone_label_documents(form):
    model = ClassNameClassifier(["sport", "business"], feature_names=WORDS, random_state=0)
    model.fit(form(counts(TEXTS)), [None] * 12)
    assert model.transduction_.tolist() == TRUTH
    assert model.predict(form(counts(["goal", "profit"]))).tolist() == ["sport", "business"]
    assert model.named_ == ["business", "sport"]


def test_a_class_that_the_source_lacks_is_added_by_its_name():
    labels = ["sport"] * 3 + [None] * 9
    model = ClassNameClassifier({"business": "shares profit"}, feature_names=WORDS).fit(counts(TEXTS), labels)
    assert model.classes_.tolist() == ["business", "sport"]
    assert model.transduction_.tolist() == TRUTH


@pytest.mark.parametrize(
    ("labels", "weights"),
    [
        (["sport"] * 3 + [None] * 9, [[0.25], [0.5]]),
        ([None] * 12, 0.5),
        ([*TRUTH[:2], *[None] * 7, *TRUTH[9:]], 0.5),
    ],
)
def test_a_centroid_moves_further_from_a_bare_name_than_from_documents(labels, weights):
    model = ClassNameClassifier({"business": "shares profit", "sport": "ball"}, feature_names=WORDS)
    model.fit(counts(TEXTS), labels)
    texts = [text for text, label in zip(TEXTS, labels, strict=True) if label is None]
    rows = unit(unit(counts(texts)) - model.mean_)
    centroids, *_ = settle_softly(model.anchors_, rows, anchor_weight=np.array(weights))
    np.testing.assert_allclose(model.centroids_, centroids, rtol=1e-5, atol=1e-8)


def test_a_class_may_be_given_by_its_row():
    rows = counts(TEXTS)
    model = ClassNameClassifier({"sport": rows[0], "business": rows[6]}).fit(rows, [None] * 12)
    assert model.transduction_.tolist() == TRUTH
    with pytest.raises(UsageError) as caught:
        ClassNameClassifier({"sport": np.ones(3), "business": rows[6]}).fit(rows, [None] * 12)
    assert caught.value.code == "length-mismatch"


def test_names_that_contradict_the_labels_count_for_nothing():
    labels = TRUTH + [None] * 12
    turned = ClassNameClassifier({"sport": "shares profit", "business": "ball match"}, feature_names=WORDS)
    turned.fit(counts([*TEXTS, *TEXTS]), labels)
    assert turned.name_weight_ == 0.0
    assert turned.transduction_[12:].tolist() == TRUTH


def test_unknown_names_are_said():
    rows = counts(TEXTS)
    with pytest.warns(IsthmusWarning, match="'C13'") as caught:
        model = ClassNameClassifier(["sport", "business", "C13"], feature_names=WORDS).fit(rows, [None] * 12)
    assert caught[0].message.code == "unknown-words"
    assert model.nameless_ == ["C13"]
    assert "C13" not in set(model.transduction_)
    assert model.predict_proba(rows)[:, 0].max() < 0.05
    with pytest.raises(DataError) as refused:
        ClassNameClassifier(["C13", "C14"], feature_names=WORDS).fit(rows, [None] * 12)
    assert refused.value.code == "empty-class"


def test_a_code_is_described_by_its_documents():
    labels = ["C13"] * 2 + [None] * 4 + ["C14"] * 2 + [None] * 4
    model = ClassNameClassifier(feature_names=WORDS).fit(counts(TEXTS), labels)
    assert model.nameless_ == ["C13", "C14"]
    assert model.transduction_.tolist() == ["C13"] * 6 + ["C14"] * 6


def test_numbers_and_names_do_not_mix():
    with pytest.raises(DataError) as caught:
        ClassNameClassifier(["sport"], feature_names=WORDS).fit(counts(TEXTS), [0, 1] + [-1] * 10)
    assert caught.value.code == "bad-labels"


@pytest.mark.parametrize("labelled", [0, 3])
def test_fitted_rows_get_the_same_labels_when_they_come_again(labelled):
    rows, codes = (np.concatenate(parts) for parts in zip(*[groups(seed)[::2] for seed in (0, 1)], strict=True))
    names = dict(zip("abc", groups()[1], strict=True))
    labels = np.array(["abc"[code] for code in codes], dtype=object)
    labels[labelled * 3 :] = None
    model = ClassNameClassifier(names).fit(rows, labels)
    again = pickle.loads(pickle.dumps(model))
    target = slice(labelled * 3, None)
    np.testing.assert_array_equal(again.predict(rows[target]), model.transduction_[target])
    np.testing.assert_array_equal(again.target_proba(rows[target]), model.predict_proba(rows[target]))


# --------------------------------------------------------------------------------------------------------- pipelines


def test_a_pipeline_reads_the_names_as_it_reads_texts():
    steps = TextVectorizer(min_df=1, weighting="tfidf"), LatentSemantics(3, random_state=0)
    model = make_transfer_pipeline(*steps, ClassNameClassifier(["Sports", "businesses"]))
    model.fit(TEXTS, [None] * 12)
    assert model.transduction_.tolist() == [{"sport": "Sports", "business": "businesses"}[name] for name in TRUTH]
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(["a goal"]).tolist() == ["Sports"]


def test_the_recipe_needs_no_vectors_and_no_labels():
    model = make_method("names", classes=["sport", "business"], embed=False, min_df=1, random_state=0)
    model.fit(TEXTS, [None] * 12)
    assert model.transduction_.tolist() == TRUTH


def test_the_recipe_reads_names_by_a_model_of_vectors():
    def model(texts):
        return np.array([[sum(text.count(word) for word in half) for half in (WORDS[:4], WORDS[4:])] for text in texts])

    pipeline = make_method("names", classes=["sport", "business"], embed=model, min_df=1, random_state=0)
    pipeline.fit(TEXTS, [None] * 12)
    assert pipeline.steps[0][1].transform(["goal"]).shape[1] == 2 + 8
    assert pipeline.transduction_.tolist() == TRUTH


def test_words_tie_a_document_to_a_name():
    vectorizer = TextVectorizer(min_df=1, weighting="tfidf")
    model = make_transfer_pipeline(vectorizer, ClassNameClassifier(["sport", "business"], random_state=0))
    model.fit(TEXTS, [None] * 12)
    rows = explain_document(model, "goal and profit", top=1)
    best = {
        row["class"]: row["term"] for row in explain_document(model, "goal and goal profit") if row["contribution"] > 0
    }
    assert best == {"sport": "goal", "business": "profit"}
    assert {row["class"] for row in rows} == {"sport", "business"}


def test_contributions_add_up_to_the_scores():
    rows = sp.csr_matrix(counts(TEXTS))
    model = ClassNameClassifier(["sport", "business"], feature_names=WORDS, random_state=0).fit(rows, [None] * 12)
    first, second = (sum(model.term_contributions(rows[place]).values()) for place in (0, 1))
    scores = model._scores(rows)

    def apart(values):
        return values[0] - values[1]

    # What rows share (the mean that is taken off) is the same for all rows of one length about the mean.
    assert np.sign(apart(first)) == np.sign(apart(scores[0]))
    assert np.sign(apart(second)) == np.sign(apart(scores[1]))


def test_a_labelling_by_names_is_saved_and_explained(tmp_path):
    import isthmus

    labels = ["sport", None, None, "sport", None, None, "business", None, None, "business", None, None]
    with pytest.warns(IsthmusWarning, match="labelled from themselves"):
        result = isthmus.label(TEXTS, labels, TEXTS, method="names")
    assert result.labels.tolist() == TRUTH
    result.save(tmp_path / "names.isthmus")
    again = isthmus.load(tmp_path / "names.isthmus")
    assert again.predict(["a late goal"]).tolist() == ["sport"]
    assert result.reasons(0)


def test_labelled_rows_are_taken_about_the_mean_of_their_own_source():
    """Two classes of one size lie opposite each other, wherever their source lies."""
    rows = np.tile(np.eye(3)[:2], (20, 1))
    X = np.vstack([rows + np.array([0, 0, 2]), rows + np.random.default_rng(0).normal(0, 0.1, rows.shape)])
    model = ClassNameClassifier().fit(X, [0, 1] * 20 + [-1] * 40)
    np.testing.assert_allclose(model.anchors_[0], -model.anchors_[1], atol=1e-9)


@pytest.mark.parametrize("sharpness", [20.0, 2.0])
def test_documents_are_shared_among_classes_as_sharply_as_was_asked(sharpness):
    rows = counts(TEXTS)
    model = ClassNameClassifier(["sport", "business"], feature_names=WORDS, sharpness=sharpness, max_iter=1)
    model.fit(rows, [None] * 12)
    alike = unit(unit(rows) - model.mean_) @ model.anchors_.T
    shares = np.exp(sharpness * alike) / np.exp(sharpness * alike).sum(axis=1, keepdims=True)
    assert model.history_ == [pytest.approx((shares * alike).sum(axis=1).mean())], f"the first round at {sharpness}"
    assert model.termination_condition_ == "max_iter", "one round, as asked"


def test_a_tolerance_that_any_first_round_keeps_ends_it_there():
    """In the first round each document's shares change from none to one in all."""
    for tol, rounds in ((1.01, 1), (1e-3, 2)):
        model = ClassNameClassifier(["sport", "business"], feature_names=WORDS, tol=tol).fit(counts(TEXTS), [None] * 12)
        assert model.termination_condition_ == "settled"
        assert (model.n_iter_ == 1) is (rounds == 1), f"tol={tol} ended after {model.n_iter_} rounds"


@pytest.mark.parametrize(("learn", "n", "learned"), [(True, 10, True), (True, 9, False), (False, 12, False)])
def test_the_last_step_learns_from_ten_documents_on_unless_it_is_left_out(learn, n, learned):
    model = ClassNameClassifier(["sport", "business"], feature_names=WORDS, learn=learn)
    rule = model.fit(counts(TEXTS[-n:]), [None] * n).prediction_rule()
    same = np.allclose(rule.weights, model.centroids_.T)
    assert same is not learned, f"learn={learn}, {n} documents: weights are the centroids: {same}"


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_names_weigh_what_was_asked_beside_documents(weight):
    labels = ["C13"] * 2 + [None] * 4 + ["C14"] * 2 + [None] * 4
    given = {"C13": "goal sport", "C14": "shares market"}

    def anchors(**settings):
        model = ClassNameClassifier(feature_names=WORDS, **settings).fit(counts(TEXTS), labels)
        return model.anchors_, model.name_weight_

    documents, names = anchors()[0], anchors(classes=given, name_weight=1.0)[0]
    found, used = anchors(classes=given, name_weight=weight)
    assert used == weight
    expected = unit(weight * names + (1 - weight) * documents)
    np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=f"names weigh {weight}")
    assert not np.allclose(names, documents), "the two are told apart"


def test_names_may_be_an_array():
    model = ClassNameClassifier(np.array(["sport", "business"]), feature_names=WORDS).fit(counts(TEXTS), [None] * 12)
    assert model.transduction_.tolist() == TRUTH


def test_several_classes_of_which_nothing_is_known_are_counted():
    classes = ["sport", "business", "C13", "C14", "C15"]
    with pytest.warns(IsthmusWarning, match="'C13' and 2 more: its name"):
        ClassNameClassifier(classes, feature_names=WORDS).fit(counts(TEXTS), [None] * 12)


def test_a_row_for_a_class_must_hold_finite_numbers():
    rows = counts(TEXTS)
    with pytest.raises(UsageError, match="8 finite numbers") as caught:
        ClassNameClassifier({"sport": np.full(8, np.nan), "business": rows[6]}).fit(rows, [None] * 12)
    assert caught.value.code == "length-mismatch"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_contributions_of_words_are_the_score_but_for_what_all_documents_share(form):
    """Score = power · ((x/|x| − mean) / length · W + b): without mean and b, and about the mean of the classes."""
    X = counts(TEXTS)
    model = ClassNameClassifier(["sport", "business"], feature_names=WORDS, random_state=0)
    rule = model.fit(form(X), [None] * 12).prediction_rule()
    short = X if rule.components is None else X @ rule.components
    row = unit(short[:1])[0]
    length = np.linalg.norm(row - model.mean_)
    parts = rule.power * ((row / length) @ rule.weights)
    found = sum(model.term_contributions(form(X)[:1] if form is np.asarray else form(X)[0]).values())
    np.testing.assert_allclose(found, parts - parts.mean(), atol=1e-9, err_msg="contributions of the first document")
    assert model.term_contributions(form(np.zeros((1, 8)))) == {}, "a document without a word has none"
