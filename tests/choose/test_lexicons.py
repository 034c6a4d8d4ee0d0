"""When a lexicon becomes labelled words by itself."""

import pytest

from isthmus.choose import lexicons
from isthmus.choose.lexicons import find_lexicon
from isthmus.features.lexicons import Lexicon

OWN = Lexicon("own", "en", {"superb": 0.9, "lovely": 0.5, "awful": -0.8, "dull": -0.4})
GOOD = ["a superb and lovely story about the sea", "this was lovely and well worth the time"]
BAD = ["an awful and dull story about the sea", "this was dull and a waste of time"]


@pytest.fixture(autouse=True)
def own_lexicon(monkeypatch):
    monkeypatch.setattr(lexicons, "has_lexicon", lambda language: language == "en")
    monkeypatch.setattr(lexicons, "read_lexicon", lambda language: OWN)


def test_verdicts_by_name():
    found = find_lexicon(GOOD + BAD, ["positive"] * 2 + ["negative"] * 2, "en")
    assert found.by_name
    assert found.agreement is None
    assert found.word_labels["superb"] == {"positive": 1.0}
    assert "verdicts by their names" in found.why


def test_verdicts_by_agreement_with_the_source():
    found = find_lexicon((GOOD + BAD) * 15, (["x"] * 2 + ["y"] * 2) * 15, "en")
    assert not found.by_name
    assert found.agreement == 1.0
    assert found.word_labels["awful"] == {"y": 1.0}
    assert "100%" in found.why


def test_names_that_the_lexicon_contradicts_are_not_believed():
    assert find_lexicon((GOOD + BAD) * 15, (["negative"] * 2 + ["positive"] * 2) * 15, "en") is None


@pytest.mark.parametrize(
    ("labels", "language"),
    [
        ((["x", "y"] * 2) * 15, "en"),  # the lexicon says nothing about them
        ((["x"] * 2 + ["y"] * 2) * 15, "zh"),  # no lexicon of that language
        ((["x"] * 2 + ["y", "z"]) * 15, "en"),  # three classes that are not verdicts by name
        ((["x"] * 4) * 15, "en"),
        ([None] * 60, "en"),
    ],
)
def test_otherwise_there_is_none(labels, language):
    assert find_lexicon((GOOD + BAD) * 15, labels, language) is None


def test_the_language_is_guessed():
    assert find_lexicon((GOOD + BAD) * 15, (["x"] * 2 + ["y"] * 2) * 15) is not None
