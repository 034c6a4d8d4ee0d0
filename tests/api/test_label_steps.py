"""The steps of ``isthmus.label``: texts are sorted once, and options are checked before anything is read."""

import ast
import inspect

import numpy as np
import pytest

import isthmus
from isthmus._math import content
from isthmus.api import label, steps
from isthmus.choose.texts import TransferTexts
from isthmus.exceptions import UsageError


@pytest.fixture(scope="module")
def made():
    return isthmus.corpus.make_shifted_texts(60, 50, n_classes=2, random_state=3)


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


def test_no_step_is_longer_than_fifty_lines():
    trees = [ast.parse(inspect.getsource(module)) for module in (label, steps)]
    functions = {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name in ("read_job", "fit_job", "judge_job", "_assemble"):
        assert functions[name].end_lineno - functions[name].lineno < 50, f"{name} is longer than fifty lines"


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
