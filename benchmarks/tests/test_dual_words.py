"""Words of the highest scores in dual supervision, as in the paper's Figure 2."""

from types import SimpleNamespace

import numpy as np
import pytest

from isthmus import FactorDualClassifier, ManifoldDualClassifier
from isthmus_bench.suites.dual import top_words

X = np.array([[2, 0, 1, 0], [0, 2, 0, 1], [0, 0, 2, 0], [0, 0, 0, 3]])
NAMES = ["superb", "awful", "gripping", "tedious"]
WORDS = {"superb": "good", "awful": "bad"}


@pytest.mark.parametrize(
    ("cls", "settings"), [(ManifoldDualClassifier, {}), (FactorDualClassifier, {"random_state": 0})]
)
def test_top_words_leave_out_labelled_ones_unless_asked(cls, settings):
    model = cls(word_labels=WORDS, feature_names=NAMES, **settings).fit(X, [None] * 4)
    assert [(row["class"], row["term"]) for row in top_words(model)] == [("bad", "tedious"), ("good", "gripping")]
    everything = top_words(model, labelled=True)
    assert len(everything) == 4
    for label in ("bad", "good"):
        scores = [row["score"] for row in everything if row["class"] == label]
        assert scores == sorted(scores, reverse=True)


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
