"""Later documents: what is expected of their labels, and how they differ from the collection of the model."""

import numpy as np
import pytest

import isthmus
from isthmus._math.confidence import AccuracyEstimate
from isthmus.api.later import accuracy_without_answers
from isthmus.choose.later import Collection, compare_documents, compare_words, expect_later, pair_agreement

WORDS = {"staff": "kind helpful desk friendly smile service", "price": "cheap costly bill euro discount fee"}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
COMMON = [f"com{a}{b}ish" for a in LETTERS[:6] for b in LETTERS[:5]]
OTHER = [f"oth{a}{b}ant" for a in LETTERS[:8] for b in LETTERS[:5]]


def texts_of(n, seed, more=()):
    """``n`` texts, in turn of both classes: two words of the class and six common ones, some of which are ``more``."""
    rng = np.random.default_rng(seed)
    common = [*COMMON, *more]
    names = [list(WORDS)[i % 2] for i in range(n)]
    texts = [" ".join([*rng.choice(WORDS[name].split(), 2), *rng.choice(common, 6)]) for name in names]
    return texts, names


@pytest.fixture(scope="module")
def labelled():
    source, target = texts_of(160, 0), texts_of(200, 1)
    return isthmus.label(*source, target[0], embed=False)


def test_a_batch_like_the_collection_has_its_accuracy_and_passes_as_much(labelled):
    later = labelled.label_new(texts_of(200, 2)[0])
    assert later.warnings == []
    assert not any(row["unlike"] for row in later.comparison)
    assert later.expected_accuracy.estimate == pytest.approx(labelled.expected_accuracy.estimate, abs=1e-6)
    assert later.confidence.mean() == pytest.approx(later.expected_accuracy.estimate, abs=0.01)
    assert np.mean(later.needs_review) == pytest.approx(np.mean(labelled.needs_review), abs=0.1)


def test_a_batch_of_other_words_is_reported_with_words_that_show_it(labelled):
    later = labelled.label_new(texts_of(200, 2, more=OTHER * 5)[0])
    (warning,) = later.warnings
    assert warning["topic"] == "unlike"
    assert {row["measure"] for row in later.comparison if row["unlike"]} >= {"familiar words"}
    assert "oth" in warning["message"]
    assert "com" in warning["message"]
    assert later.expected_accuracy.estimate is not None
    width, before = (found.high - found.low for found in (later.expected_accuracy, labelled.expected_accuracy))
    assert width > before, "nobody has seen such documents"


def test_a_few_texts_are_not_compared(labelled):
    later = labelled.label_new(texts_of(29, 3)[0])
    assert later.comparison == []
    assert later.expected_accuracy.estimate is None
    assert "30" in later.expected_accuracy.reason
    assert labelled.label_new(texts_of(30, 3)[0]).comparison


def test_answers_say_nothing_about_later_documents():
    """Of 100 documents 40 were answered and 85 are right: 45 of the other 60."""
    found = accuracy_without_answers(AccuracyEstimate(0.85, 0.75, 0.95), 40, 100)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.75, 35 / 60, 55 / 60))
    assert accuracy_without_answers(None, 0, 10).estimate is None


def figures(confidence, codes, agreement=None):
    confidence = np.asarray(confidence, dtype=float)
    return Collection(confidence, np.asarray(codes), agreement, np.ones(len(confidence), dtype=bool))


def test_less_confidence_lowers_the_expected_accuracy_only_of_an_unlike_batch():
    codes = np.arange(200) % 2
    earlier = figures(np.full(200, 0.8), codes)
    base = AccuracyEstimate(0.8, 0.7, 0.88)
    for confidence, unlike in ((0.78, False), (0.6, True)):
        rows = compare_documents(earlier, figures(np.full(200, confidence), codes), 2)
        assert any(row["unlike"] for row in rows) is unlike
        found = expect_later(base, rows, 200, 0.0)
        assert (found.estimate < 0.7) is unlike
        assert found.low < found.estimate < found.high
    turned = compare_documents(earlier, figures(np.full(200, 0.8), np.zeros(200, dtype=int)), 2)
    assert {row["measure"]: row["unlike"] for row in turned} == {"class proportions": True, "confidence": False}
    assert expect_later(base, turned, 200, 0.25).estimate < 0.75 * 0.85, "a quarter belongs to no class"
    assert expect_later(AccuracyEstimate(None), turned, 200, 0.0).estimate is None


def test_methods_that_agree_less_make_a_batch_unlike():
    yes, no = np.array([[0.9, 0.1]] * 100), np.array([[0.2, 0.8]] * 100)
    agreed = pair_agreement({"a": yes, "b": yes}, ["a", "b"])
    apart = pair_agreement({"a": yes, "b": no}, ["a", "b"])
    assert (agreed.mean(), apart.mean()) == (1.0, 0.0)
    assert pair_agreement({"a": yes}, ["a"]) is None
    codes = np.zeros(100, dtype=int)
    sides = [figures(np.full(100, 0.9), codes, agreement) for agreement in (agreed, apart)]
    assert {row["measure"] for row in compare_documents(*sides, 2) if row["unlike"]} == {"agreement"}


def test_batches_of_one_collection_are_rarely_unlike():
    texts, _ = texts_of(600, 5)
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(40):
        order = rng.permutation(600)
        rows, _ = compare_words([texts[i] for i in order[:300]], [texts[i] for i in order[300:400]], "en")
        alarms += any(row["unlike"] for row in rows)
    assert alarms <= 4, f"{alarms} of 40 batches of the same collection"
    assert compare_words(["", ""], ["", ""], "en") == ([], [])


def test_accuracy_by_month_is_the_mean_confidence_of_its_documents(labelled):
    months = ["2025-01-15"] * 80 + ["2025-02-15"] * 120
    rows = labelled.accuracy_by(months)
    assert [(row["value"], row["documents"]) for row in rows] == [("2025-01-15", 80), ("2025-02-15", 120)]
    for row, part in zip(rows, (slice(80), slice(80, 200)), strict=True):
        assert row["estimate"] == pytest.approx(labelled.confidence[part].mean())
        assert row["low"] < row["estimate"] < row["high"]
        assert row["needs_review"] == labelled.needs_review[part].sum()
    few = labelled.label_new(texts_of(10, 4)[0])
    assert [row["estimate"] for row in few.accuracy_by(["a"] * 10)] == [None]
