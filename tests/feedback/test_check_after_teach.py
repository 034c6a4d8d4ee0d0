"""A check never counts a document by the answer that was learned from."""

from dataclasses import replace

import numpy as np
import pytest
from made_texts import PRICE, STAFF, visit_texts

import isthmus
from isthmus.report.hero import hero_facts


@pytest.fixture(scope="module")
def labelling():
    source = visit_texts(STAFF[:4], 40, 0, visits=99) + visit_texts(PRICE[:4], 40, 1, visits=99)
    target = visit_texts(STAFF[:4], 60, 2, visits=99) + visit_texts(PRICE[:4], 60, 3, visits=99)
    return isthmus.label(source, ["staff"] * 40 + ["price"] * 40, target, method="logistic")


@pytest.fixture(scope="module")
def truth():
    """Every fifth document is not what its words say."""
    names = np.array(["staff"] * 60 + ["price"] * 60)
    turned = np.arange(120) % 5 == 0
    names[turned] = np.where(names[turned] == "staff", "price", "staff")
    return names


@pytest.fixture(scope="module")
def sample(labelling, truth):
    table = labelling.sample(60)
    return table | {"true_label": [str(truth[number - 1]) for number in table["document"]]}


@pytest.fixture(scope="module")
def taught(labelling, sample):
    return labelling.teach(sample)


def test_answers_that_were_learned_from_do_not_find_themselves(taught, sample, truth):
    found = taught.check(sample)
    assert found.learned == found.n == 60
    right = np.mean(taught.labels == truth)
    assert found.right < 60
    assert found.low <= right <= found.high
    # Half of the documents were answered and are right; the others as often as the answers that were held out.
    assert found.accuracy == pytest.approx((60 + 60 * found.right / 60) / 120)
    assert "60 checked documents had been learned from" in str(found)


def test_documents_that_nobody_answered_are_counted_as_they_are(taught, truth):
    rows = np.setdiff1d(np.arange(120), taught.answers.rows)[:20]
    found = taught.check((rows + 1).tolist(), truth[rows].tolist())
    assert found.learned == 0
    assert found.right == int(np.sum(taught.labels[rows] == truth[rows]))
    assert "learned from" not in str(found)


def test_wrong_answers_in_the_sample_lower_the_accuracy_of_the_unchecked_answers(labelling, sample, truth):
    """A machine answered all documents, wrongly on every third; a person checks 60 at random."""
    wrong = np.arange(120) % 3 == 0
    answers = np.where(wrong, np.where(truth == "staff", "price", "staff"), truth)
    taught = labelling.teach({"document": list(range(1, 121)), "true_label": answers.tolist()}, by="machine")
    assert np.mean(taught.labels == truth) == pytest.approx(2 / 3)
    found = taught.check(sample)
    rows = np.array(sample["document"]) - 1
    assert found.accuracy == pytest.approx(np.mean(answers[rows] == truth[rows]))
    assert found.low < 2 / 3 < found.high


def test_the_outcome_stands_in_place_of_the_expectation(labelling, truth, tmp_path):
    later = labelling.teach({"document": [1, 61], "true_label": ["staff", "price"]})
    assert later.checked is None
    rows = np.arange(2, 120, 3)
    found = later.check((rows + 1).tolist(), truth[rows].tolist())
    assert later.checked is found
    tile = hero_facts(later)["right"]
    assert (tile["estimate"], tile["low"], tile["high"]) == (found.accuracy, found.low, found.high)
    assert tile["note"].endswith("in 95 of 100 cases; measured on 40 documents checked at random.")
    assert "measured on 40 documents" in later._repr_html_()
    later.save(tmp_path / "kept.isthmus")
    assert isthmus.load(tmp_path / "kept.isthmus").checked.accuracy == found.accuracy
    # What was found about these labels says nothing about others.
    assert later.label_new(["rude staff"]).checked is None
    assert later.teach({"document": [2], "true_label": ["staff"]}).checked is None


@pytest.mark.parametrize(
    "said",
    [{"answers": {"document": [1], "true_label": ["price"]}}, {"word_labels": {"dear": "price"}}],
    ids=["answers", "words"],
)
def test_a_check_speaks_of_the_labels_before_teaching_alone(labelling, truth, said):
    checked = replace(labelling)  # the fixture stays unchecked
    found = checked.check(list(range(1, 41)), truth[:40].tolist())
    taught = checked.teach(**said)
    assert taught.checked is None, "these labels are others"
    assert checked.checked is found
    assert str(taught.accuracy) != str(found.estimate)


@pytest.mark.parametrize(
    ("drawn", "note"),
    [
        ("random", "judged by answers to documents drawn at random."),
        ("picked", "judged by the answers given so far."),
    ],
)
def test_an_estimate_from_answers_does_not_claim_to_be_without_labels(labelling, sample, drawn, note):
    assert hero_facts(labelling)["right"]["note"].endswith("judged without true labels.")
    assert hero_facts(labelling.teach(sample, drawn=drawn))["right"]["note"].endswith(note)


def test_few_answers_say_why_nothing_is_expected(labelling):
    few = labelling.teach({"document": [1, 61], "true_label": ["staff", "price"]})
    assert hero_facts(few)["right"]["note"] == (
        "Not estimated (people gave fewer than 10 answers). Check a sample to know."
    )


def test_class_shares_after_a_check_know_the_answers_given_before(labelling, truth):
    taught = labelling.teach({"document": [1, 2, 3], "true_label": ["price"] * 3})
    taught.check([61, 62], truth[[60, 61]].tolist())
    known = taught.share_facts().known
    assert known == {**dict.fromkeys(range(3), "price"), 60: truth[60], 61: truth[61]}


def test_a_check_and_the_labels_alone_share_out_the_same_documents():
    source = ["kind staff", "fast bike", "polite staff", "great bike"] * 10
    target = ["kind staff", "fast bike", "slow bike", ""] * 10
    result = isthmus.label(source, ["staff", "product"] * 20, target, method="nbc")
    before = [row["labels"] for row in result.class_shares()]
    result.check({"document": [1, 2, 3], "true_label": ["staff", "product", "product"]})
    assert [row["labels"] for row in result.class_shares()] == before == [2 / 3, 1 / 3]
