"""General lexicons: reading them as data, and the classes they can speak for."""

import sys

import pytest

from isthmus.exceptions import MissingExtraError
from isthmus.features.lexicons import Lexicon, has_lexicon, label_words, read_lexicon, read_polarity, score_texts

VADER = "good\t1.9\t0.9\t[2, 1]\nGood\t2.1\t0.9\t[2]\nbad\t-2.5\t0.6\t[-3]\n:)\t2.0\t1.0\t[2]\nmeh\t-0.3\t1.0\t[0]\n"
GERMAN = (
    '<?xml version="1.0" encoding="utf-8"?><sentiment><word form="schön" polarity="1.0"/>'
    '<word form="Übel" polarity="-0.7"/><word form="egal" polarity="0.0"/></sentiment>'
)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Packages with lexicons that cannot be imported: they are only read."""
    for name, file, text in (
        ("vaderSentiment", "vader_lexicon.txt", VADER),
        ("textblob_de", "data/de-sentiment.xml", GERMAN),
    ):
        path = tmp_path / name / file
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('imported')")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    read_lexicon.cache_clear()
    yield
    read_lexicon.cache_clear()


def test_lexicons_are_read_as_data(packages):
    english = read_lexicon("en")
    assert english.valence == {"good": pytest.approx(0.5), "bad": -0.625}
    assert read_lexicon("de").valence == {"schön": 1.0, "übel": -0.7}
    assert has_lexicon("de")
    assert not has_lexicon("zh")


def test_a_missing_lexicon_is_said(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    read_lexicon.cache_clear()
    with pytest.raises(MissingExtraError, match=r"isthmus\[lexicons\]"):
        read_lexicon("en")
    with pytest.raises(MissingExtraError, match="textblob-de"):
        read_lexicon("de")
    with pytest.raises(MissingExtraError, match="de, en, fr"):
        read_lexicon("zh")


@pytest.mark.parametrize(
    ("classes", "positive"),
    [
        (["positive", "negative"], "positive"),
        (["Pos", "NEG"], "Pos"),
        (["good", "bad"], "good"),
        (["negative review", "positive review"], "positive review"),
        (["gut", "schlecht"], "gut"),
        (["positif", "négatif"], "positif"),
        (["正面", "负面"], "正面"),
        (["好评", "差评"], "好评"),
        (["thumbs_up", "thumbs_down"], "thumbs_up"),
        (["👍", "👎"], "👍"),
        (["+", "-"], "+"),
        (["1 star", "2 stars", "4 stars", "5 stars"], "5 stars"),
        (["★", "★★★★★"], "★★★★★"),
        (["0 stars", "10 stars"], "10 stars"),
        (["negative", "neutral", "positive"], "positive"),
        (["very bad", "bad", "good", "very good"], "very good"),
    ],
)
def test_verdicts_are_recognised(classes, positive):
    found = read_polarity(classes)
    assert set(found) == set(classes)
    assert max(found, key=found.get) == positive
    assert min(found.values()) < 0 < max(found.values())


@pytest.mark.parametrize(
    "classes",
    [
        ["sport", "business"],
        ["positive", "sport"],
        ["positive", "very positive"],
        ["neutral", "mixed"],
        [1, 2],
        ["1", "2", "3"],
        ["good news", "bad news"],
        ["1 star", "business"],
        ["bad", "very bad"],
        ["3 stars", "★★★"],
        ["1 star", "11 stars"],
        ["1 star hotel", "2 stars hotel"],  # a number, a unit, and something else
        ["", "★★"],
        [],
    ],
)
def test_other_classes_are_not_verdicts(classes):
    assert read_polarity(classes) is None


def test_words_are_labelled_with_the_classes_at_the_ends():
    labelled = label_words(Lexicon("own", "en", {"fine": 0.2, "dire": -0.9}), {"1": -1.0, "3": 0.0, "5": 1.0})
    assert labelled == {"fine": {"5": 1.0}, "dire": {"1": 1.0}}


def test_a_negation_turns_the_next_three_words():
    own = Lexicon("own", "en", {"good": 1.0})
    texts = ["not good", "didn't find it good", "not one of the good ones", "Good", "nothing"]
    assert score_texts(own, texts) == [-1.0, -1.0, 1.0, 1.0, 0.0]


def test_a_negation_ends_with_its_text():
    lexicon = Lexicon("own", "en", {"good": 0.5})
    assert score_texts(lexicon, ["this it is not", "good story"]) == [0.0, 0.5]
