"""Single documents on the page: words as they are written, each once."""

import pytest

import isthmus
from isthmus.choose.model import LabelModel
from isthmus.corpus import Collection
from isthmus.explain import explain_document
from isthmus.report.listing import LEAST, STRONG, excerpt, tint
from isthmus.report.summary import clear_cases, deciding_terms

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
    parts = {name: result_of(name) for name in ("nbc", "projection", "strings")}
    weights = {"nbc": 0.5, "projection": 0.3, "strings": 0.2}
    result = parts["nbc"]
    result.model = LabelModel({name: part.model for name, part in parts.items()}, weights)
    rows = result.reasons(0, top=None)
    assert {tuple(row) for row in rows} == {("class", "term", "contribution")}
    places = [(row["class"], row["term"]) for row in rows]
    assert len(places) == len(set(places))
    # Each method's contributions sum to its weight, counted over all classes.
    single = explain_document(parts["strings"].model, TARGET[0], top=None)
    scale = 0.2 / sum(abs(row["contribution"]) for row in single)
    spoken = {row["class"]: scale * row["contribution"] for row in single if row["term"] == "at"}
    assert {row["class"]: row["contribution"] for row in rows if row["term"] == "at"} == pytest.approx(spoken)
    shown = deciding_terms(result, 0)
    assert shown[0]["term"] == "invoices"
    sizes = [abs(row["contribution"]) for row in shown]
    assert sizes == sorted(sizes, reverse=True)


def test_as_many_terms_as_asked_for():
    one, two = result_of("nbc"), result_of("svm")
    one.model = LabelModel({"nbc": one.model, "svm": two.model}, {"nbc": 0.5, "svm": 0.5})
    for label in one.classes:
        assert len({row["term"] for row in one.reasons(0, top=2) if row["class"] == label}) == 2


def test_excerpts_are_one_paragraph():
    assert excerpt("one\n\n\n two\tthree") == "one two three"
    assert len(excerpt("word " * 1000, 400)) == 400
    assert (excerpt("x" * 10, 10), excerpt("x" * 11, 10)) == ("x" * 10, "x" * 9 + "…")
    assert excerpt("word " * 1000).endswith("…")


def test_one_clear_case_for_each_class_that_has_documents():
    result = result_of("nbc")
    target = Collection.from_texts(result.texts)
    assert [case["label"] for case in clear_cases(result, target)] == ["price", "staff"]
    result.labels[:] = "price"
    assert [case["label"] for case in clear_cases(result, target)] == ["price"]


def test_long_collections_account_for_one_case_of_the_largest_class(monkeypatch):
    result, target = result_of("nbc"), Collection(["1", "2", "3"], TARGET, [None] * 3)
    assert [case["label"] for case in clear_cases(result, target)] == ["price", "staff"]
    monkeypatch.setattr("isthmus.report.summary._SLOW", len(SOURCE) + len(TARGET))
    assert len(clear_cases(result, target)) == 2
    monkeypatch.setattr("isthmus.report.summary._SLOW", len(SOURCE) + len(TARGET) - 1)
    assert [case["label"] for case in clear_cases(result, target)] == ["price"]


@pytest.mark.parametrize(
    ("grade", "kind"),
    [(LEAST - 1, ""), (LEAST, "for"), (STRONG - 1, "for"), (STRONG, "for2"), (-LEAST, "no"), (-STRONG, "no2"), (0, "")],
)
@pytest.mark.parametrize(("text", "word"), [("the brakes", "brakes"), ("我的刹车好", "刹车")])
def test_words_are_tinted_by_their_grade_in_every_script(text, word, grade, kind):
    pieces = tint(text, {word: [9, grade]}, 1)
    assert [piece for piece, tinted in pieces if tinted] == ([word] if kind else [])
    assert "".join(piece for piece, _ in pieces) == text
    assert {tinted for _, tinted in pieces} - {""} == ({kind} if kind else set())
