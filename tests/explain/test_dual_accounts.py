"""Accounts of dual supervision: which words, labelled or learned, and which words next."""

from types import SimpleNamespace

import numpy as np
import pytest

from isthmus import FactorDualClassifier, ManifoldDualClassifier
from isthmus.explain.dual import _class_scores, document_terms, row_terms, top_words
from isthmus.methods import make_method

X = np.array([[2, 0, 1, 0], [0, 2, 0, 1], [0, 0, 2, 0], [0, 0, 0, 3]])
NAMES = ["superb", "awful", "gripping", "tedious"]
WORDS = {"superb": "good", "awful": "bad"}


def test_contributions_point_to_the_label_and_tell_labelled_from_learned():
    model = ManifoldDualClassifier(word_labels=WORDS, feature_names=NAMES).fit(X, [None] * 4)
    rows = row_terms(model, X[[0]])
    assert {(row["class"], row["term"]) for row in rows} == {
        (label, term) for label in ("bad", "good") for term in ("superb", "gripping")
    }
    assert all((row["contribution"] > 0) == (row["class"] == "good") for row in rows)
    assert {row["term"]: row["labelled"] for row in rows} == {"superb": True, "gripping": False}


def test_document_terms_of_a_recipe():
    texts = ["superb and gripping", "awful and tedious", "gripping", "tedious"]
    pipeline = make_method("dual-manifold", word_labels=WORDS, min_df=1).fit(texts, [None] * 4)
    rows = document_terms(pipeline, "a gripping tale")
    best = max(rows, key=lambda row: row["contribution"])
    assert (best["class"], best["term"], best["labelled"]) == ("good", "gripping", False)


@pytest.mark.parametrize("cls", [ManifoldDualClassifier, FactorDualClassifier])
def test_top_words_leave_out_labelled_ones_unless_asked(cls):
    model = cls(word_labels=WORDS, feature_names=NAMES, random_state=0).fit(X, [None] * 4)
    assert [(row["class"], row["term"]) for row in top_words(model)] == [("bad", "tedious"), ("good", "gripping")]
    everything = top_words(model, labelled=True)
    assert len(everything) == 4
    for label in ("bad", "good"):
        scores = [row["score"] for row in everything if row["class"] == label]
        assert scores == sorted(scores, reverse=True)


def test_terms_of_a_factorisation_with_its_own_word_classes():
    model = FactorDualClassifier(word_classes=3, feature_names=NAMES, random_state=0).fit(
        X, ["good", "bad", None, None]
    )
    rows = row_terms(model, X[[2]])
    assert {row["class"] for row in rows} == {"bad", "good"}
    best = max(rows, key=lambda row: row["contribution"])
    assert best["class"] == model.transduction_[2]


def test_named_word_classes_speak_for_documents_through_the_factorisation():
    """As many word classes as classes, yet not the same ones: scores of words go through Q."""
    words = {"awful": "low", "superb": "high"}
    model = FactorDualClassifier(
        word_labels=words, word_classes=["high", "low"], feature_names=NAMES, random_state=0
    ).fit(X, ["good", "bad", None, None])
    np.testing.assert_allclose(_class_scores(model), model.word_scores_ @ model.Q_.T)
    plain = FactorDualClassifier(word_labels=WORDS, feature_names=NAMES, random_state=0).fit(
        X, ["good", "bad", None, None]
    )
    np.testing.assert_array_equal(_class_scores(plain), plain.word_scores_)


def test_the_words_of_the_highest_scores_come_first():
    model = SimpleNamespace(
        word_scores_=np.array([[0.2, 0.1], [0.9, 0.3], [0.5, 0.4], [0.7, 0.1], [0.1, 0.8], [0.99, 0.0]]),
        fitted_rows_=SimpleNamespace(indices=np.array([0, 1, 1, 2, 3, 4, 4, 4])),  # word 5 is in no document
        labelled_words_=[3],
        word_names_=np.array(["low", "high", "mid", "given", "other", "absent"]),
        classes_=np.array(["a", "b"]),
    )
    rows = [(row["class"], row["rank"], row["term"], row["documents"]) for row in top_words(model, 2)]
    assert rows == [("a", 1, "high", 2), ("a", 2, "mid", 1), ("b", 1, "other", 3)]
    labelled = [row["term"] for row in top_words(model, 3, labelled=True)]
    assert labelled == ["high", "given", "mid", "other"]
