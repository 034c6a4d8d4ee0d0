"""Single documents on the page: words as they are written, each once."""

import numpy as np

import isthmus
from isthmus.choose.combined import CombinedModel
from isthmus.report.cases import deciding_terms, excerpt, sure_examples

SOURCE = ["the days of the invoices", "friendly people helped", "an invoice a day", "people were friendly"] * 5
LABELS = ["price", "staff"] * 10
TARGET = ["Invoices every day, invoices at night", "a friendly person helped people", "invoice"]


def result_of(method):
    return isthmus.label(SOURCE, LABELS, TARGET, method=method)


def test_terms_are_words_of_the_document():
    terms = {row["term"] for row in deciding_terms(result_of("nbc"), 0)}
    assert "invoices" in terms
    assert "day" in terms
    assert not terms & {"invoic", "dai"}
    assert {row["term"] for row in deciding_terms(result_of("nbc"), 2)} == {"invoice"}


def test_a_vote_names_each_word_once():
    one, two = result_of("nbc"), result_of("svm")
    one.model = CombinedModel({"nbc": one.model, "svm": two.model}, {"nbc": 0.5, "svm": 0.5})
    assert len([row for row in one.reasons(0, top=None) if row["term"] == "invoices" and row["class"] == "price"]) == 2
    names = [row["term"] for row in deciding_terms(one, 0)]
    assert len(names) == len(set(names))
    sizes = [abs(row["contribution"]) for row in deciding_terms(one, 0)]
    assert sizes == sorted(sizes, reverse=True)


def test_marks_around_words_make_no_words_of_their_own(monkeypatch):
    result = result_of("nbc")
    rows = [{"class": "price", "term": term, "contribution": 0.1} for term in ("fifty,", "fifty", "…", "plenty of.")]
    monkeypatch.setattr(type(result), "reasons", lambda self, i, top: rows)
    result.labels[0] = "price"
    assert [row["term"] for row in deciding_terms(result, 0)] == ["fifty", "…", "plenty of"]


def test_excerpts_are_one_paragraph():
    assert excerpt("one\n\n\n two\tthree") == "one two three"
    assert len(excerpt("word " * 1000)) == 400
    assert excerpt("word " * 1000).endswith("…")


def test_many_classes_get_one_example_each():
    few = result_of("nbc")
    assert len(sure_examples(few)) == 3
    many = result_of("nbc")
    many.classes = np.array([f"class {i}" for i in range(10)])
    many.labels = np.repeat(many.classes, 3)
    many.confidence = np.linspace(0, 1, 30)
    assert len(sure_examples(many)) == 10
