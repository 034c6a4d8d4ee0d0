"""When a lexicon becomes labelled words by itself."""

import numpy as np
import pytest

import isthmus
from isthmus.choose import candidates, choice, lexicons
from isthmus.choose.candidates import FittedLexicon, _find_general_lexicon, fit_lexicon, try_methods
from isthmus.choose.decision import Decision
from isthmus.choose.lexicons import find_lexicon
from isthmus.choose.stages import label_shift
from isthmus.choose.texts import TransferTexts
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


@pytest.mark.parametrize("sample", [2_000, 60])
def test_a_large_source_is_asked_from_its_first_document_to_its_last(monkeypatch, sample):
    monkeypatch.setattr(lexicons, "_SAMPLE", sample)
    found = find_lexicon([*GOOD * 40, *BAD * 40], ["x"] * 80 + ["y"] * 80, "en")
    assert found is not None
    assert found.polarity == {"x": 1.0, "y": -1.0}


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


@pytest.fixture(scope="module")
def verdicts():
    """Reviews of two kinds of things; the lexicon's words cross over, the others do not."""
    rng = np.random.default_rng(0)
    words = {"positive": ["superb", "lovely"], "negative": ["awful", "dull"]}
    sides = []
    for own in (["story", "plot", "pages", "chapter"], ["pan", "oven", "knife", "handle"]):
        labels = rng.permutation(["positive", "negative"] * 40)
        texts = [
            f"the {' '.join(rng.choice(own, 3))} was {rng.choice(words[name])} nr{i}" for i, name in enumerate(labels)
        ]
        sides.append((texts, labels.tolist()))
    return sides


def label_verdicts(verdicts, **settings):
    (source, labels), (target, truth) = verdicts
    result = isthmus.label(source, labels, target, embed=False, language="en", **settings)
    return result, float(np.mean(result.labels == np.array(truth)))


def test_auto_takes_a_general_lexicon_by_itself(verdicts, monkeypatch):
    wider = Lexicon("own", "en", OWN.valence | {"gorgeous": 0.7})
    # Warnings are errors here: nobody gave the words, so that nobody is told which of them occur nowhere.
    monkeypatch.setattr(lexicons, "read_lexicon", lambda language: wider)
    result, right = label_verdicts(verdicts)
    row = next(row for row in result.decision if row["method"] == "words alone")
    assert row["why"].startswith("a general lexicon (5 words of own, because the classes are verdicts by their names")
    assert right >= 0.95
    if row["chosen"]:
        model = result.model
        np.testing.assert_allclose(model.from_opinions(result.opinions), result.probabilities, atol=1e-9)


def test_it_is_switched_off_with_false(verdicts):
    result, _ = label_verdicts(verdicts, word_labels=False)
    assert "words alone" not in {row["method"] for row in result.decision}


def try_verdicts(verdicts):
    (source, labels), (target, _) = verdicts
    texts = TransferTexts.of(source, np.array(labels, dtype=object), target)
    candidates = try_methods(texts, embed=False, language="en", n_jobs=1)
    assert candidates.lexicon is not None
    return candidates


def test_what_followed_shares_gained_is_kept_when_words_join(verdicts, monkeypatch):
    handed = []

    def note(decision):
        handed.append(decision.gain)
        return estimate_again(decision)

    estimate_again = Decision.estimate_again
    monkeypatch.setattr(label_shift, "class_factors", lambda *given: np.array([1.1, 0.9]))
    monkeypatch.setattr(label_shift, "moved_to", lambda accuracy, *given: accuracy.raised(0.03, 0.03))
    monkeypatch.setattr(Decision, "estimate_again", note)
    choice.decide(try_verdicts(verdicts))
    assert len(handed) == 1, "words join once"
    assert handed[0] > 0


def test_confidence_with_words_is_brought_to_the_accuracy_expected(verdicts):
    """Vote and words share errors: together they are surer than they are right."""
    candidates = try_verdicts(verdicts)
    decision = Decision.of_vote(candidates, {candidates.fitted[0].name: 1.0})
    decision.proba = np.tile([[0.99, 0.01], [0.01, 0.99]], (40, 1))
    decision.labels = np.array(["negative", "positive"] * 40)
    decision.estimate_again()
    if decision.accuracy.estimate is not None:
        assert decision.proba.max(axis=1).mean() == pytest.approx(decision.accuracy.for_calibration, abs=0.01)


def test_words_that_no_source_document_holds_are_no_witness():
    """Nothing shows how often they are right."""
    texts = TransferTexts.of(["a story", "a plot"] * 3, np.array(["x", "y"] * 3, dtype=object), ["superb", "awful"] * 2)
    assert fit_lexicon(texts, {"superb": "x", "awful": "y"}, {"min_df": 1}) is None
    held = TransferTexts.of(["superb", "awful"] * 3, texts.given_labels, ["superb", "awful"] * 2)
    found = fit_lexicon(held, {"superb": "x", "awful": "y"}, {"min_df": 1})
    assert found.accuracy == 1.0
    assert found.labels.tolist() == ["x", "y"] * 2, "in the order in which the texts came"
    assert found.probabilities.argmax(axis=1).tolist() == [0, 1] * 2
    assert found.source_proba.argmax(axis=1).tolist() == [1] * 3 + [0] * 3, "sorted by content, awful before superb"


@pytest.mark.parametrize("fits", [True, False])
def test_a_general_lexicon_is_asked_for_in_the_language_of_the_texts_and_says_why(monkeypatch, fits):
    asked = []

    def fit(texts, words, options):
        return FittedLexicon(
            "words alone", None, None, None, 0.0, power=1.0, offsets=None, accuracy=1.0, source_proba=None
        )

    monkeypatch.setattr(candidates, "find_lexicon", lambda texts, labels, language: asked.append(language) or found)
    monkeypatch.setattr(candidates, "fit_lexicon", fit if fits else lambda *given: None)
    found = find_lexicon(GOOD + BAD, ["positive"] * 2 + ["negative"] * 2, "en")
    texts = TransferTexts.of(GOOD + BAD, np.array(["positive"] * 2 + ["negative"] * 2, dtype=object), GOOD)
    lexicon = _find_general_lexicon(texts, {"language": "en"})
    assert asked == ["en"]
    assert (None if lexicon is None else lexicon.found) == (found.why if fits else None)


def test_texts_of_several_languages_have_no_lexicon(monkeypatch):
    """Of "other" there is none; one language alone is looked up by its name."""
    asked = []
    monkeypatch.setattr(lexicons, "languages_in_use", lambda texts: ["en", "de"])
    monkeypatch.setattr(lexicons, "has_lexicon", lambda language: asked.append(language) or language == "en")
    assert find_lexicon(GOOD + BAD, ["positive"] * 2 + ["negative"] * 2) is None
    monkeypatch.setattr(lexicons, "languages_in_use", lambda texts: ["en"])
    assert find_lexicon(GOOD + BAD, ["positive"] * 2 + ["negative"] * 2) is not None
    assert asked == ["other", "en"]


@pytest.mark.parametrize("n", [19, 20])
def test_twenty_documents_of_each_class_can_show_that_a_lexicon_agrees(n):
    """Names that do not say which end is which: the first in the alphabet is the lower end where words say so."""
    found = find_lexicon(BAD[:1] * n + GOOD[:1] * 25, ["a"] * n + ["b"] * 25, "en")
    if n < 20:
        assert found is None, "too few to show anything, and the names say nothing"
        return
    assert found.polarity == {"a": -1.0, "b": 1.0}, "in the order of the alphabet, which the words confirm"
    assert found.agreement == 1.0
    by_name = find_lexicon(BAD[:1] * 20 + GOOD[:1] * 20, ["negative"] * 20 + ["positive"] * 20, "en")
    assert by_name.agreement == 1.0


def test_documents_between_the_ends_do_not_say_whether_a_lexicon_agrees():
    between = ["this is awful", "this is superb"] * 15
    labels = ["neutral"] * 30 + ["positive"] * 20 + ["negative"] * 20
    found = find_lexicon([*between, *GOOD[:1] * 20, *BAD[:1] * 20], labels, "en")
    assert found.polarity["neutral"] == 0
    assert found.agreement == 1.0, "of pairs of one document from either end"
