"""The steps of ``isthmus.label``: texts are sorted once, and options are checked before anything is read."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import isthmus
from isthmus._math import content
from isthmus.api import steps
from isthmus.choose import AccuracyEstimate, LabelModel
from isthmus.choose.stages.apply import LabelShift
from isthmus.choose.texts import TransferTexts
from isthmus.exceptions import IsthmusError, UsageError
from isthmus.features.embeddings import VectorTable
from isthmus.feedback import Answers
from isthmus_bench.shifted import make_shifted_texts


@pytest.fixture(scope="module")
def made():
    return make_shifted_texts(60, 50, n_classes=2, random_state=3)


@pytest.mark.parametrize("method", ["nbc", "auto"])
def test_texts_are_sorted_by_content_once_in_a_run(made, monkeypatch, method):
    """Of the candidates those that read words: an estimator of raw texts sorts its rows itself, whoever calls it."""
    sorts = []
    keys = content.content_keys

    def count(rows, *more):
        if isinstance(rows, list):
            sorts.append(len(rows))
        return keys(rows, *more)

    monkeypatch.setattr(content, "content_keys", count)
    monkeypatch.setattr("isthmus.choose.candidates.CANDIDATES", ("logistic", "self-training", "lsa"))
    extra = made.target_texts[:5]
    domain = ["north", "south"] * 30
    isthmus.label(
        made.source_texts,
        made.source_labels,
        made.target_texts,
        method=method,
        source_domain=domain,
        extra_texts=extra,
        embed=False,
    )
    assert sorts == [60 + 50 + 5]


@pytest.mark.parametrize("method", ["auto", "strings"])
def test_a_source_whose_labelled_texts_are_all_empty_is_refused(method):
    with pytest.raises(IsthmusError) as error:
        isthmus.label(["", " ", "no label"], ["a", "b", None], ["kind staff"], method=method)
    assert error.value.code == "empty-vocabulary"


def test_labels_follow_the_texts_in_whatever_order_they_come(made):
    turned = np.random.default_rng(0).permutation(50)
    results = [
        isthmus.label(made.source_texts, made.source_labels, texts, method="nbc", embed=False)
        for texts in (made.target_texts, [made.target_texts[i] for i in turned])
    ]
    np.testing.assert_array_equal(results[0].labels[turned], results[1].labels)
    np.testing.assert_allclose(results[0].confidence[turned], results[1].confidence, rtol=1e-12)
    assert results[1].texts == [made.target_texts[i] for i in turned]


@pytest.mark.parametrize("budget", [1.0, 0.1])
def test_a_label_that_plain_methods_contradict_is_reviewed_within_the_budget_alone(made, budget):
    result = isthmus.label(made.source_texts, made.source_labels, made.target_texts, "nbc", error_budget=budget)
    assert ("methods disagree" in result.review_reason) is (budget < 1), set(result.review_reason)


def test_collections_keep_both_orders():
    labels = np.array(["b", None, "a", "a"], dtype=object)
    texts = TransferTexts.of(["w", "x", "y", "z"], labels, ["q", "r", "s"], ["w"], domain=np.array(list("mnmn")))
    assert sorted(texts.texts[:4]) == ["w", "x", "y", "z"]
    assert [texts.labels[texts.texts.index(text)] for text in "wxyz"] == labels.tolist()
    assert texts.as_given(np.array(texts.texts[texts.target])).tolist() == ["q", "r", "s"]
    assert dict(zip(texts.known_texts, texts.known_domain, strict=True)) == {"w": "m", "y": "m", "z": "n"}
    kept = texts.keep_source(texts.given_domain == "m")
    assert (kept.given_source, kept.given_labels.tolist()) == (["w", "y"], ["b", "a"])
    assert kept.texts == [text for text in texts.texts[:4] if text in "wy"] + texts.texts[4:]
    assert kept.as_given(np.array(kept.texts[kept.target])).tolist() == ["q", "r", "s"]


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"error_budget": 2}, "error_budget: 2; give a number between 0 and 1."),
        ({"analyzer": "wrods"}, "analyzer: 'wrods'; use one of auto, words, bigrams, trigrams, chars."),
    ],
    ids=str,
)
def test_options_are_refused_by_their_names_in_python(option, sentence):
    with pytest.raises(UsageError) as caught:
        isthmus.label(["not", "looked at"], ["a", "b"], ["x"], **option)
    assert str(caught.value) == sentence
    with pytest.raises(UsageError, match="guidance: 3; give a number between 0 and 1"):
        isthmus.cluster(["not", "looked at"], ["a", "b"], ["x"], guidance=3)


def test_groups_and_disputes_are_looked_for_in_the_texts_as_they_were_given(made, monkeypatch):
    """Beyond the scorer's sample texts are read anew: in another order the answers would go to other documents."""
    read = {}

    def noting(name, whole):
        def noted(*given):
            read[name] = list(given[-1])
            return whole(*given)

        return noted

    for name in ("novel_names", "disputed"):
        monkeypatch.setattr(steps, name, noting(name, getattr(steps, name)))
    isthmus.label(made.source_texts, made.source_labels, made.target_texts, method="nbc", embed=False)
    assert sorted(read) == ["disputed", "novel_names"]
    for name, texts in read.items():
        assert texts == made.target_texts, f"{name} read the texts in another order than they were given in"


SMALL = ["kind staff", "great bike", "polite staff", "fast bike"] * 2
KINDS = ["staff", "product"] * 4
LATER = ["rude staff", "slow bike", "kind staff"]


def vectors_of(texts):
    return np.array([[float("staff" in text), float("bike" in text)] for text in texts])


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        ({"vectors": (vectors_of(SMALL), vectors_of(LATER)), "embed": vectors_of}, "bad-parameter", "give one of them"),
        ({"vectors": (vectors_of(SMALL),)}, "bad-parameter", "vectors has 1 parts; give one array each for source and"),
        ({"vectors": "static"}, "bad-parameter", "vectors is 'static'"),
        (
            {"vectors": (vectors_of(SMALL),), "extra_texts": ["a bike"]},
            "bad-parameter",
            "vectors has 1 parts; give one array each for source and target, and a third one",
        ),
        (
            {"vectors": (vectors_of(SMALL), vectors_of(LATER)[:, :1])},
            "length-mismatch",
            "The vectors have 2 and 1 numbers; make them with one model.",
        ),
        ({"embed": vectors_of}, "bad-parameter", "Method 'nbc' takes no vectors; use auto or one of"),
        ({"embed": vectors_of, "method": isthmus.CoClusteringClassifier()}, "bad-parameter", "takes no vectors"),
        (
            {"source_domain": ["one", None] * 4},
            "bad-domain",
            "4 source texts have no domain; name one for every text.",
        ),
    ],
)
def test_vectors_and_domains_that_do_not_fit_are_refused(options, code, sentence):
    with pytest.raises(IsthmusError) as caught:
        isthmus.label(SMALL, KINDS, LATER, **{"method": "nbc", **options})
    assert caught.value.code == code
    assert sentence in str(caught.value), f"expected {sentence!r} in {str(caught.value)!r}"


@pytest.mark.parametrize("method", ["auto", "vectors", "vectors-kernel", "names"])
def test_extra_texts_need_no_vectors(made, method):
    """Methods on vectors label as if there were none; methods on words read them."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 4)), rng.normal(size=(50, 4))
    given = made.source_texts, made.source_labels, made.target_texts
    options = {"method": method, "vectors": vectors} | (
        {"classes": ["class 0", "class 1"]} if method == "names" else {}
    )
    result = isthmus.label(*given, extra_texts=["words of no vector", *made.target_texts[:3]], **options)
    assert result.settings["extra_texts"] == 4
    if method.startswith("vectors"):
        np.testing.assert_array_equal(result.probabilities, isthmus.label(*given, **options).probabilities)


def test_vectors_of_extra_texts_come_last():
    """They move the directions that the labelled texts are read in, and get no label."""
    extra = ["a fast bike", "kind staff"]
    parts = vectors_of(SMALL), vectors_of(LATER), vectors_of(extra)
    table = steps._one_view(SMALL, LATER, extra, parts, None)
    np.testing.assert_array_equal(table([*LATER, *extra]), vectors_of([*LATER, *extra]))
    result = isthmus.label(SMALL, KINDS, LATER, method="vectors", vectors=parts, extra_texts=extra, min_df=1)
    assert result.labels.tolist() == ["staff", "product", "staff"]
    assert result.settings["extra_texts"] == 2


def test_labels_without_texts_are_no_missing_source():
    """A source is left out whole."""
    with pytest.raises(IsthmusError, match="source_texts"):
        isthmus.label(None, KINDS, LATER, classes=["staff: kind", "product: bike"], embed=False)


def test_one_domain_is_no_choice_of_sources(monkeypatch):
    monkeypatch.setattr(steps, "weigh_sources", lambda *given, **options: 1 / 0)
    result = isthmus.label(SMALL, KINDS, LATER, method="nbc", source_domain=["one"] * 8)
    assert result.sources == []
    assert len(result.source_texts) == 8


@pytest.mark.parametrize("right", [None, 0.6])
def test_labels_of_added_classes_count_as_far_as_names_describe_the_source(monkeypatch, right):
    expected = AccuracyEstimate(0.8, 0.7, 0.9)
    given = []

    def note(scorer, labels, confidence, *, known):
        given.append((confidence, known.tolist()))
        return expected

    monkeypatch.setattr(steps, "estimate_accuracy", note)
    agreement = None if right is None else SimpleNamespace(right=right)
    fitted = SimpleNamespace(
        labels=np.array(["staff", "parking", "staff", "staff"]),
        probabilities=np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.8, 0.2]]),
        model=SimpleNamespace(agreement_=agreement),
    )
    job = SimpleNamespace(by_names=False)
    found = steps._expect_of_one(job, fitted, None, ["parking"])
    assert given == [(pytest.approx(0.75), [True, False, True, True])]
    assert found.estimate == (None if right is None else pytest.approx(0.75 * 0.8 + 0.25 * 0.6))
    assert steps._expect_of_one(job, fitted, None, []) is expected, "no class was added"


def again_with(monkeypatch, result, **options):
    """Return what correcting one source label gives to the first step."""
    given = {}

    def note(request, *collections):
        names = ("domain", "extra", "vectors", "embed", "words", "classes")
        given.update(zip(names, collections[3:], strict=True), request=request, collections=collections)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(steps, "read_job", note)
        with pytest.raises(KeyboardInterrupt):
            result.teach(source_labels={"document": [1], "true_label": ["product"]}, **options)
    return given


@pytest.mark.parametrize("embed", [False, vectors_of])
def test_a_corrected_source_is_labelled_with_the_classes_and_vectors_of_the_run(monkeypatch, embed):
    classes = {"staff": "kind, polite", "product": "bike, fast"}
    result = isthmus.label(SMALL, KINDS, LATER, "names", classes=classes, embed=embed)
    given = again_with(monkeypatch, result)
    assert given["classes"] == result.settings["classes"]
    assert set(given["classes"]) == set(classes)
    if embed is False:
        assert given["embed"] is False, "vectors that were switched off stay so"
    else:
        found = given["embed"](LATER)
        np.testing.assert_array_equal(found, vectors_of(LATER), err_msg="the model that the method uses")
    assert given["collections"][1].tolist() == ["product", *KINDS[1:]]
    assert given["request"].method == "names"


@pytest.mark.parametrize("named", ["minilm", "sentence-transformers/LaBSE"])
def test_vectors_that_no_method_uses_are_asked_for_again_where_they_have_a_name(monkeypatch, named):
    """A table stays with the labelling; of a function nothing but its name is left, so that the run is refused."""
    result = isthmus.label(SMALL, KINDS, LATER, method="nbc", min_df=1)
    run = replace(result, settings={**result.settings, "vectors": named})
    assert again_with(monkeypatch, run)["embed"] == named
    table = VectorTable.of(LATER, vectors_of(LATER))
    kept = replace(result, settings={**result.settings, "vectors": "given"}, given_vectors=table)
    assert again_with(monkeypatch, kept)["embed"] is table
    lost = replace(result, settings={**result.settings, "vectors": "vectors_of"})
    with pytest.raises(UsageError, match="made with vectors by a function that no method uses, which it does not keep"):
        lost.teach(source_labels={"document": [1], "true_label": ["product"]})


def test_corrections_come_with_answers_and_words_in_one_call():
    """And blank rows that were kept are no answers to learn again."""
    result = isthmus.label(SMALL, KINDS, LATER, method="nbc", min_df=1)
    fix = {"document": [1], "true_label": ["product"]}
    both = result.teach({"document": [2], "true_label": ["staff"]}, source_labels=fix, name="one")
    assert both.source_labels[0] == "product"
    assert both.labels[1] == "staff"
    words = result.teach(word_labels={"slow": "staff"}, source_labels=fix)
    assert words.answers.words == {"slow": {"staff": 1.0}}
    assert words.source_labels[0] == "product"
    back = both.teach(without="one", source_labels={"document": [3], "true_label": ["product"]})
    assert back.answers is None or not back.answers.rows, "the answers of the table are taken back"
    assert back.source_labels[[0, 2]].tolist() == ["product"] * 2
    blank = replace(result, answers=Answers(blank_in={"one": [0]}))
    assert blank.teach(source_labels=fix).learned is None, "nothing was answered: nothing is learned"


@pytest.mark.parametrize("factors", [None, np.array([1.2, 0.8])])
def test_a_vote_is_judged_as_a_vote_and_says_when_it_followed_shares(monkeypatch, factors):
    """One method keeps its budget at the low end; a vote of a thin source far beyond it."""
    seen, fit_job, assess = {}, steps.fit_job, steps.assess

    def fit(job, method):
        found = fit_job(job, "nbc")
        stages = [] if factors is None else [LabelShift(factors)]
        vote = LabelModel({"nbc": found.model}, {"nbc": 1.0}, stages)
        return replace(found, model=vote, single=False, accuracy=AccuracyEstimate(0.8, 0.7, 0.9), scorer=None)

    def note(*given, **options):
        seen.update(options)
        return assess(*given, **options)

    monkeypatch.setattr(steps, "fit_job", fit)
    monkeypatch.setattr(steps, "assess", note)
    monkeypatch.setattr(steps, "review_warnings", lambda *given, **options: seen.update(options) or [])
    result = isthmus.label(SMALL, KINDS, LATER, min_df=1, language="en")
    assert seen == {"followed": factors is not None, "all_reviewed": bool(result.needs_review.all()), "alone": False}
    caution = np.log(0.8 / 0.2) - np.log(0.7 / 0.3)
    assert result.settings["caution"] == pytest.approx(2 * caution), "twice as far as the low end: eight are thin"
    assert result.settings["surest"] == 1.0
    assert "sharpness" not in result.settings, "a vote is as sure as it is expected to be already"
