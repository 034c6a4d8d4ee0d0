"""Explanations of dual supervision: labelled and learned words."""

import numpy as np

from isthmus import ManifoldDualClassifier
from isthmus.choose.model import Member
from isthmus.explain.terms import dual_terms
from isthmus.features.term_rows import TermRows, Vocabulary
from isthmus.features.tokens import WordAnalyzer
from isthmus.methods import make_method

X = np.array([[2, 0, 1, 0], [0, 2, 0, 1], [0, 0, 2, 0], [0, 0, 0, 3]])
NAMES = ["superb", "awful", "gripping", "tedious"]
WORDS = {"superb": "good", "awful": "bad"}


def account(model, row):
    rows = TermRows("words", WordAnalyzer(), Vocabulary(NAMES), None, np.ones(4), "counts", False, True, (1, 1))
    member = Member("", model.classes_, [rows], model.prediction_rule())
    return dual_terms(member, " ".join(name for name, count in zip(NAMES, row[0], strict=True) for _ in range(count)))


def test_contributions_point_to_the_label_and_tell_labelled_from_learned():
    model = ManifoldDualClassifier(word_labels=WORDS, feature_names=NAMES).fit(X, [None] * 4)
    rows = account(model, X[[0]])
    assert {(row["class"], row["term"]) for row in rows} == {
        (label, term) for label in ("bad", "good") for term in ("superb", "gripping")
    }
    assert all((row["contribution"] > 0) == (row["class"] == "good") for row in rows)
    assert {row["term"]: row["labelled"] for row in rows} == {"superb": True, "gripping": False}


def test_document_terms_of_a_recipe():
    texts = ["superb and gripping", "awful and tedious", "gripping", "tedious"]
    pipeline = make_method("dual-manifold", word_labels=WORDS, min_df=1).fit(texts, [None] * 4)
    rows = dual_terms(Member.of(pipeline), "a gripping tale")
    best = max(rows, key=lambda row: row["contribution"])
    assert (best["class"], best["term"], best["labelled"]) == ("good", "gripping", False)
