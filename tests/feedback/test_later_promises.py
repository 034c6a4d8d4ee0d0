"""Later texts get the promises and the marks of the labelling whose model labels them; reasons for review."""

from dataclasses import replace

import numpy as np
import pytest

import isthmus
from isthmus._math.confidence import REVIEW_REASONS, review_reasons
from isthmus.corpus import load_sample


@pytest.fixture(scope="module")
def labelled():
    motorcycles, cars, truth = load_sample()
    result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts, method="nbc")
    return result, [truth[name] for name in cars.ids]


@pytest.fixture(scope="module")
def taught(labelled):
    result, truth = labelled
    drawn = result.sample(60)
    return result.teach(drawn | {"true_label": [truth[number - 1] for number in drawn["document"]]})


def test_every_document_to_review_has_a_reason_from_the_table(labelled):
    result, _ = labelled
    np.testing.assert_array_equal(result.review_reason != "", result.needs_review)
    assert set(result.review_reason.tolist()) <= {"", *REVIEW_REASONS, "not sure enough for 10% errors"}
    assert result.columns()["review_reason"] == result.review_reason.tolist()


def test_the_first_reason_of_the_table_counts():
    reasons = review_reasons(2, error_budget=0.05, not_sure_enough=[True, True], no_known_words=[True, False])
    assert reasons.tolist() == ["no known words", "not sure enough for 5% errors"]
    with pytest.raises(AssertionError, match="not among"):
        review_reasons(1, bad_mood=[True])


def test_after_teaching_later_texts_are_reviewed_as_the_present_ones(labelled, taught):
    result, truth = labelled
    left = np.ones(len(truth), dtype=bool)
    left[taught.answers.rows] = False
    later = taught.label_new([text for text, wanted in zip(taught.texts, left, strict=True) if wanted])
    now, then = taught.needs_review[left].mean(), later.needs_review.mean()
    # Answered documents are certain, which leaves the present ones somewhat more of the budget.
    assert abs(now - then) < 0.1, f"{now:.0%} to review after teaching, {then:.0%} by the model of it"
    assert taught.untaught().settings == result.settings, "taking the answers back restores what was promised before"


def test_after_teaching_later_texts_are_judged_by_what_the_answers_left(taught):
    kept = taught.settings["caution"], taught.settings["surest"]
    assert kept == (2 * taught.expected_accuracy.caution, 1.0), "what the answers left to doubt"


def test_later_texts_of_a_new_group_are_marked(labelled):
    result, _ = labelled
    groups = np.full(len(result.texts), "", dtype=object)
    parking = [i for i, text in enumerate(result.texts) if "price" in text.lower()][:60]
    groups[parking] = "money"
    marked = replace(
        result, novel_group=groups, novel=[{"group": "money", "words": "price", "documents": len(parking)}]
    )
    later = marked.label_new([result.texts[parking[0]], "Friendly staff, thank you"])
    assert later.novel_group.tolist() == ["money", ""]
    assert later.review_reason[0] == "new group"
    assert later.novel[0]["documents"] == 1


def test_after_answers_the_other_documents_are_as_sure_as_held_out_answers_were_right(taught):
    answered = len(taught.answers.rows)
    open_ = np.ones(len(taught.texts), dtype=bool)
    open_[taught.answers.rows] = False
    right = (taught.expected_accuracy.estimate * len(open_) - answered) / open_.sum()
    assert taught.confidence[open_].mean() == pytest.approx(min(right, 0.999), abs=1e-6)
