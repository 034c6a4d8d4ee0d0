"""Texts to terms, rule by rule: letters, pieces, negation, sequences, phrases, stop words, forms that people wrote."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.exceptions import DataError, UsageError
from isthmus.features import TextVectorizer, weigh_tfidf
from isthmus.features.spelling import fold_width, lower_text, normalize_text
from isthmus.features.term_chi2 import chi2, tf_chi2
from isthmus.features.tokens import (
    WordAnalyzer,
    as_terms,
    cut_pieces,
    cut_subwords,
    merge_readable,
    negate,
    readable,
    surface_forms,
    tokenize_words,
)
from isthmus.features.weights import document_frequency, smooth_idf


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A an 2nd x2y ab_cd", ["an", "nd", "ab", "cd"]),  # two letters at least, digits and strokes part words
        ("Don't", ["don"]),
        ("caf\u00e9 cafe\u0301", ["caf\u00e9", "cafe\u0301"]),  # an accent written apart belongs to its word
        ("\u0301ab", ["ab"]),
        ("", []),
    ],
)
def test_words(text, words):
    assert tokenize_words(text) == words


def test_case_is_kept_where_that_is_asked():
    assert tokenize_words("Ab CD", lowercase=False) == ["Ab", "CD"]
    assert WordAnalyzer(lowercase=False)("Ab CD") == ["Ab", "CD"]


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("发", ["发"]),  # one sign alone stays
        ("发动", ["发动"]),
        ("x发动", ["发动"]),  # one letter is no word
        ("ab发动c", ["ab", "发动"]),
        ("发动cd机器", ["发动", "cd", "机器"]),
        ("기", ["기"]),
        ("기차역", ["기", "차", "역", "기차", "차역"]),
        ("รถ", ["รถ"]),
        ("plain", ["plain"]),
    ],
)
def test_pieces_of_scripts_without_blanks(word, pieces):
    assert cut_pieces(word) == pieces


def test_pieces_of_long_words():
    assert cut_subwords("abcde") == ["…abcde…"]
    assert cut_subwords("abcdef") == ["…abcde…", "…bcdef…"]
    assert cut_subwords("ab") == ["…ab…"]


def test_terms_as_tuples():
    assert (as_terms(None), as_terms("a"), as_terms(("a", "b"))) == ((), ("a",), ("a", "b"))
    assert (negate("good"), negate(("a", "b"))) == ("not-good", ("a", "b"))


def test_so_many_words_after_one_that_negates_are_turned():
    assert WordAnalyzer(negation=2)("a not very good old car") == ["not", "not-very", "not-good", "old", "car"]
    assert WordAnalyzer(negation=1)("not good old") == ["not", "not-good", "old"]
    # A second one begins anew and is not turned itself.
    assert WordAnalyzer(negation=2)("Not good never kind staff there") == [
        "not", "not-good", "never", "not-kind", "not-staff", "there",
    ]  # fmt: skip
    assert WordAnalyzer()("not good") == ["not", "good"]
    assert WordAnalyzer(negation=1, lowercase=False)("Not good") == ["Not", "not-good"], "however it is written"


def test_sequences_of_words():
    text = "one two three"
    assert WordAnalyzer(ngram_range=(1, 2))(text) == ["one", "two", "three", "one two", "two three"]
    assert WordAnalyzer(ngram_range=(2, 3))(text) == ["one two", "two three", "one two three"]
    assert WordAnalyzer(ngram_range=(3, 3))(text) == ["one two three"]
    assert WordAnalyzer(ngram_range=(2, 2))("one") == []
    # No sequence runs over pieces.
    assert WordAnalyzer(["zh"], ngram_range=(1, 2))("nba match 球员们 now here") == [
        "nba", "match", "球员", "员们", "now", "here", "nba match", "now here",
    ]  # fmt: skip


def test_phrases_are_counted_where_they_are_longer_than_the_sequences():
    analyze = WordAnalyzer(ngram_range=(1, 2), stop_words=frozenset(["of"]))
    analyze.add_phrases(["waste of good money", "good money", "an awful long way"])
    assert analyze.phrases == {"waste good money", "an awful long way"}
    assert analyze("waste good money")[-1] == "waste good money"
    assert "an awful long way" in analyze("an awful long way")
    assert analyze("good money") == ["good", "money", "good money"]
    analyze.add_phrases(["one two three"])
    assert len(analyze.phrases) == 3


def test_stop_words_fall_away_before_sequences_are_made_whatever_their_case():
    analyze = WordAnalyzer(stop_words=frozenset(["the"]), lowercase=False, ngram_range=(2, 2))
    assert analyze("see The car") == ["see car"]
    assert "not" not in WordAnalyzer(stop_words=None)("not the car")
    assert "not" in WordAnalyzer(stop_words=None, keep_negations=True)("not the car")


def test_words_are_remembered_until_they_are_let_go():
    analyze = WordAnalyzer(stem=True, stop_words=frozenset(["the"]))
    analyze("the riding rides")
    assert analyze.n_seen == 3
    assert dict(analyze.seen_words()) == {"riding": "ride", "rides": "ride"}
    analyze.forget()
    assert analyze.n_seen == 0


def test_one_spelling():
    assert normalize_text("so\u00adft \u200bhere") == "soft here"
    assert normalize_text("\u0e19\u0e4d\u0e32") == "\u0e19\u0e33"
    assert fold_width("ａ①") == "a①"
    assert [lower_text("Iİ", language) for language in ("tr", "az", "en")] == ["ıi", "ıi", "ii\u0307"]
    assert [lower_text("كي", language) for language in ("fa", "ur", "ar")] == ["کی", "کی", "كي"]


def test_forms_are_the_commonest_then_the_shortest_then_the_first():
    texts = ["rides riding", "riding rides ride", "prices price"]
    vectorizer = TextVectorizer(min_df=1).fit(texts)
    forms = surface_forms(vectorizer, texts)
    # "rides" and "riding" stand there twice, "ride" once; "price" and "prices" once each.
    assert forms["ride"] == "rides"
    assert forms["price"] == "price"
    assert readable("ride price unknown", forms) == "rides price unknown"
    part = surface_forms(vectorizer, texts[2:], whole=False)
    assert set(part) == {"price"}
    rest = surface_forms(vectorizer, texts[2:])
    assert rest["ride"] == "ride"  # not looked at: the shortest of all that were met


def test_rows_about_one_word_and_class_are_added_up():
    rows = [
        {"term": "ride", "class": "a", "contribution": 1.0},
        {"term": "…rides…", "class": "a", "contribution": 0.5},
        {"term": "ride", "class": "b", "contribution": -1.0},
    ]
    merged = merge_readable(rows, {"ride": "rides", "…rides…": "rides"})
    assert [(row["term"], row["class"], row["contribution"]) for row in merged] == [
        ("rides", "a", 1.5),
        ("rides", "b", -1.0),
    ]
    assert rows[0]["contribution"] == 1.0  # what was given stays as it was


# ---- weights


def test_tfidf_by_hand():
    counts = sp.csr_matrix(np.array([[3.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    idf = np.array([1.0, np.log(3 / 2) + 1, np.log(3) + 1])
    assert document_frequency(counts).tolist() == [2, 1, 0]
    assert smooth_idf(np.array([2, 1, 0]), 2) == pytest.approx(idf)
    plain = weigh_tfidf(counts, norm=None).toarray()
    assert plain == pytest.approx(counts.toarray() * idf)
    slow = weigh_tfidf(counts, norm=None, sublinear=True).toarray()
    assert slow[0] == pytest.approx([1 + np.log(3), idf[1], 0])
    by_sum = weigh_tfidf(counts, norm="l1").toarray()
    assert by_sum[0] == pytest.approx(plain[0] / plain[0].sum())
    by_length = weigh_tfidf(counts).toarray()
    assert by_length[0] == pytest.approx(plain[0] / np.linalg.norm(plain[0]))
    given = weigh_tfidf(counts, np.array([2.0, 3.0, 4.0]), norm=None).toarray()
    assert given.tolist() == [[6.0, 3.0, 0.0], [2.0, 0.0, 0.0]]
    assert counts.toarray()[0].tolist() == [3.0, 1.0, 0.0]  # what was given stays as it was


def test_entries_of_zero_are_no_occurrence():
    stored = sp.csr_matrix((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert document_frequency(stored).tolist() == [0, 1]


def test_scores_that_cannot_be_made_are_refused():
    counts = np.array([[1.0, 0.0], [0.0, 2.0]])
    for X, y, code in (
        (-counts, ["a", "b"], "negative-counts"),
        (counts, ["a"], "length-mismatch"),
        (counts, ["a", "a"], "one-class"),
    ):
        with pytest.raises(DataError) as refused:
            tf_chi2(X, y)
        assert refused.value.code == code
    with pytest.raises(DataError, match="y names 1 class; "):
        chi2(counts, ["a", "a"])
    with pytest.raises(UsageError, match="use 'max', 'total' or None"):
        chi2(counts, ["a", "b"], reduce="min")


def test_chi2_by_class_their_largest_and_their_sum():
    """Documents: the term stands in both of a, in one of two of b, in none of c."""
    X, y = np.array([[1], [3], [1], [0], [0], [0]]), ["a", "a", "b", "b", "c", "c"]

    def table(inside, outside):
        """χ² of a 2 × 2 table: n (ad − bc)² / product of the margins; two of six are inside the class."""
        a, b, c, d = inside, outside, 2 - inside, 4 - outside
        return 6 * (a * d - b * c) ** 2 / ((a + b) * (c + d) * (a + c) * (b + d))

    scores = [table(2, 1), table(1, 2), table(0, 3)]
    assert chi2(X, y, reduce=None)[0] == pytest.approx(scores)
    assert chi2(X, y)[0] == pytest.approx(max(scores))
    assert chi2(X, y, reduce="total")[0] == pytest.approx(sum(scores))
