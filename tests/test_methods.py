"""Every recipe runs from raw text to labels, and explains itself."""

import numpy as np
import pytest
from extras import need_vectors

import isthmus
from isthmus import methods
from isthmus.choose.candidates import CANDIDATES
from isthmus.estimator_checks import example_texts
from isthmus.exceptions import UsageError
from isthmus.explain import explain_document
from isthmus.methods import METHODS, get_method, make_method

WORDS = {"polite": "staff", "cheap": "price"}


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize("name", METHODS)
def test_recipe_labels_new_text_and_explains(name):
    need_vectors(name)
    texts, labels, domain = example_texts()
    source = [text for text, side in zip(texts, domain, strict=True) if side > 0]
    target = [text for text, side in zip(texts, domain, strict=True) if side < 0]
    words = WORDS if METHODS[name].takes_words else None
    result = isthmus.label(source, labels[domain > 0], target, method=name, word_labels=words)
    assert np.mean(result.labels == labels[domain < 0]) > 0.8
    assert result.method == name
    assert np.all((result.confidence > 0) & (result.confidence <= 1 + 1e-9))
    rows = result.reasons(0)
    assert rows
    assert {"class", "term", "contribution"} <= set(rows[0])
    assert {row["class"] for row in rows} <= {"price", "staff"}


def test_auto_tries_no_setting_of_a_paper():
    papers = {name for name in METHODS if name.endswith("-paper")}
    assert len(papers) == 5
    assert papers.isdisjoint(CANDIDATES)


def test_an_unknown_grouping_is_refused():
    with pytest.raises(UsageError, match="use one of guided, guided-paper") as caught:
        methods.make_grouping(["kind staff"], ["rude staff"], method="guided-papers")
    assert caught.value.code == "unknown-method"


def test_contributions_of_a_linear_method_add_up_to_its_score():
    texts, labels, domain = example_texts()
    pipeline = make_method("svm").fit(texts, labels, sample_domain=domain)
    rows = explain_document(pipeline, texts[-1], top=None)
    model = pipeline[-1].estimator_
    decision = model.decision_function(pipeline[:-1].transform([texts[-1]]))[0] - model.intercept_[0]
    by_class = {name: sum(row["contribution"] for row in rows if row["class"] == name) for name in pipeline.classes_}
    assert np.isclose(by_class[pipeline.classes_[1]] - by_class[pipeline.classes_[0]], decision)


def test_unknown_recipe_names_the_nearest():
    with pytest.raises(UsageError, match="Did you mean 'logistic'") as caught:
        get_method("logistics")
    assert caught.value.code == "unknown-method"


def test_logistic_regression_counts_words_and_pairs_and_nothing_longer():
    texts = ["bad brakes and bad seats", "fine brakes and fine seats", "bad brakes, fine seats"]
    vectorizer = make_method("logistic", min_df=1).fit(texts, ["bad", "fine", None])[0]
    lengths = {len(name.split()) for name in vectorizer.get_feature_names_out()}
    assert lengths == {1, 2}


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", METHODS)
def test_recipe_passes_its_seed_to_every_step(name, seed):
    need_vectors(name)
    options = {} if seed == 0 else {"random_state": seed}
    parameters = make_method(name, **options).get_params()
    seeds = {key: value for key, value in parameters.items() if key.split("__")[-1] == "random_state"}
    assert set(seeds.values()) <= {seed}


@pytest.mark.parametrize("name", METHODS)
def test_recipe_says_what_it_is(name):
    recipe = METHODS[name]
    assert recipe.name == name
    assert recipe.summary
    assert recipe.page


@pytest.mark.parametrize(("most", "counted"), [(4, True), (3, False)])
def test_contexts_are_counted_within_tokens_up_to_a_number_of_documents(monkeypatch, most, counted):
    assert methods.WINDOWED == 20_000
    monkeypatch.setattr(methods, "WINDOWED", most)
    _, model, _ = methods.make_grouping(["kind staff", "fast bike"], ["rude staff", "slow bike"], min_df=1)
    assert (model.contexts is not None) is counted


def test_the_papers_grouping_counts_contexts_at_any_size(monkeypatch):
    monkeypatch.setattr(methods, "WINDOWED", 3)
    sides = ["kind staff", "fast bike"], ["rude staff", "slow bike"]
    _, model, _ = methods.make_grouping(*sides, method="guided-paper", min_df=1)
    assert model.contexts is not None


def test_contexts_are_counted_within_the_tokens_that_were_asked_for():
    source = ["staff garage price tyre wheel engine"] * 2
    counted = {}
    for window in (1, 3):
        vectorizer, model, _ = methods.make_grouping(source, source, min_df=1, language="en", window=window)
        names = vectorizer.feature_names_.tolist()
        columns = model.contexts.columns.tolist()
        first = names.index(vectorizer.analyze("staff")[0])
        met = model.contexts.source[first].toarray().ravel()
        counted[window] = {names[column] for column, number in zip(columns, met, strict=True) if number}
    stems = [vectorizer.analyze(word)[0] for word in source[0].split()]
    assert counted == {1: {stems[1]}, 3: set(stems[1:4])}, "the words that follow the first one"
