"""Documents of a group that fits no class stay marked until answers have settled what they are."""

from dataclasses import replace

import numpy as np
import pytest
from made_texts import PARKING, PRICE, STAFF, visit_texts

import isthmus
from isthmus._math.confidence import lower_confidence_in_groups
from isthmus.cli.label_run import added_columns
from isthmus.exceptions import UsageError
from isthmus.feedback import expect_accuracy
from isthmus.feedback.correction import pseudo_answers

TRUTH = np.array(["staff"] * 60 + ["price"] * 60 + ["parking"] * 30)
GROUP = np.arange(120, 150)
OUTSIDE = [*range(0, 60, 10), *range(60, 120, 10)]


@pytest.fixture(scope="module", params=["logistic", "nbc"])
def labelling(request):
    source = visit_texts(STAFF[:4], 60, 0) + visit_texts(PRICE[:4], 60, 1)
    target = visit_texts(STAFF[2:], 60, 2) + visit_texts(PRICE[2:], 60, 3) + visit_texts(PARKING, 30, 4)
    result = isthmus.label(source, ["staff"] * 60 + ["price"] * 60, target, method=request.param)
    groups = np.full(150, "", dtype=object)
    groups[GROUP] = "garage lot"
    return replace(
        result,
        novel_group=groups,
        novel=[{"group": "garage lot", "words": "garage lot", "documents": 30, "share": 0.2, "low": 0.1, "high": 0.3}],
        warnings=[{"topic": "new group", "message": "About 20% of the target belong to no class."}],
        confidence=lower_confidence_in_groups(result.confidence, groups),
        needs_review=result.needs_review | (groups != ""),
    )


def answers(rows):
    return {"document": [int(row) + 1 for row in rows], "true_label": TRUTH[rows].tolist()}


def test_answers_outside_a_group_leave_it_marked_and_in_the_estimate(labelling):
    taught = labelling.teach(answers(OUTSIDE))
    assert taught.needs_review[GROUP].all()
    assert taught.novel_group[GROUP].tolist() == ["garage lot"] * 30
    assert (taught.confidence[GROUP] <= 0.25).all()
    assert [row["topic"] for row in taught.warnings] == ["new group"]
    # A fifth of the documents belongs to no class: no more than four fifths and what is left for a wrong mark.
    assert taught.expected_accuracy.estimate <= 0.8 + 0.2 * 0.25
    assert taught.expected_accuracy.low <= 0.8
    assert taught.expected_accuracy.outside_groups > taught.expected_accuracy.estimate


def test_words_alone_leave_a_group_marked_and_the_others_as_sure_as_they_were(labelling):
    taught = labelling.teach(word_labels={"impatient": "staff"})
    assert taught.needs_review[GROUP].all()
    others = np.setdiff1d(np.arange(150), GROUP)
    same = others[["impatient" not in labelling.texts[row] for row in others]]
    # The vote of naive Bayes is surer than the floor under which learning lets no class fall.
    np.testing.assert_allclose(taught.confidence[same], labelling.confidence[same], atol=1e-4)
    later = [labelling.texts[row] for row in same[:20]]
    np.testing.assert_allclose(taught.label_new(later).confidence, labelling.label_new(later).confidence, atol=1e-4)


def test_answers_that_name_the_group_settle_it(labelling):
    taught = labelling.teach(answers([*OUTSIDE, *GROUP[::2]]))
    assert (taught.labels[GROUP] == "parking").mean() >= 0.9
    np.testing.assert_array_equal(taught.novel_group[taught.labels == "parking"], "")


@pytest.mark.parametrize(("count", "marked"), [(4, True), (5, False)])
def test_five_answers_that_name_a_known_class_unmark_a_group(labelling, count, marked):
    rows = GROUP[:count]
    given = {"document": [int(row) + 1 for row in rows], "true_label": ["staff"] * count}
    taught = labelling.teach(given)
    assert (taught.novel_group[GROUP[count:]] != "").all() == marked
    assert bool(taught.novel) == marked


def test_a_group_made_a_class_leaves_the_other_classes_their_share():
    vote = np.repeat([[0.6, 0.4], [0.4, 0.6]], 30, axis=0)
    texts = [f"{place:02d}" for place in range(60)]
    answered = np.arange(24)
    codes = np.array([2] * 20 + [0] * 2 + [1] * 2)
    picked = np.ones(24, dtype=bool)
    places, weights = pseudo_answers(vote, texts, answered, codes, picked)
    best = vote[places].argmax(axis=1)
    # 20 picked answers name the new class; each known one has half of the vote and is named twice.
    assert weights[best == 0].sum() == pytest.approx(20 * 0.5 - 2)
    assert weights[best == 1].sum() == pytest.approx(20 * 0.5 - 2)
    # Answers that were not picked say how common the classes are.
    assert pseudo_answers(vote, texts, answered, codes, ~picked) is None


def test_a_group_that_no_answer_settled_counts_for_its_confidence():
    right = np.array([True] * 9 + [False] * 3)
    held_out = np.full(12, 0.75)
    outside = np.full(60, 0.75)
    weighted = expect_accuracy(right, np.zeros(12, bool), held_out, outside, 100, in_groups=np.full(28, 0.2))
    assert weighted.outside_groups == pytest.approx(0.75)
    assert weighted.estimate == pytest.approx((12 + 0.75 * 60 + 0.2 * 28) / 100)
    assert weighted.high <= (12 + 60 + 0.4 * 28) / 100
    # Answers drawn at random speak of the group, too.
    drawn = np.ones(40, bool)
    at_random = expect_accuracy(drawn, drawn, np.ones(40), np.ones(30), 100, in_groups=np.full(30, 0.2))
    assert at_random.estimate == 1.0


def test_merging_classes_leaves_a_new_group_as_doubtful_as_it_was():
    """Its confidence rose from .19 to .97, and its nearest class kept the old name."""
    rng = np.random.default_rng(0)
    words = {"staff": STAFF[:4], "price": PRICE[:4], "bikes": ["engine", "tyre", "wheel", "brake"]}
    source = [text for seed, name in enumerate(words) for text in visit_texts(words[name], 40, seed)]
    mixed = [" ".join(rng.choice(STAFF[:4] + PRICE[:4], 3)) for _ in range(60)]
    target = [*mixed, *visit_texts(words["bikes"], 30, 8), *visit_texts(PARKING, 30, 9)]
    result = isthmus.label(source, [name for name in words for _ in range(40)], target, method="logistic")
    groups = np.array([""] * 90 + ["garage lot"] * 30, dtype=object)
    group = {"group": "garage lot", "words": "garage lot", "documents": 30, "nearest_class": "price"}
    before = replace(
        result,
        novel_group=groups,
        novel=[group],
        settings=result.settings | {"sharpness": 1.0},
        confidence=lower_confidence_in_groups(result.probabilities.max(axis=1), groups),
        needs_review=np.ones(120, dtype=bool),
        warnings=[{"topic": "review", "message": "All documents need review."}],
        expected_accuracy=replace(result.expected_accuracy, estimate=0.6, low=0.55, high=0.7, outside_groups=0.75),
    )
    merged = before.rename_classes({"staff": "shop", "price": "shop"})
    gain = merged.confidence - before.confidence
    assert gain[:60].mean() > 0.1, "what was doubtful between the two is no longer"
    assert merged.confidence[90:].max() < 0.5, "a document that fits no class became sure"
    assert merged.needs_review[90:].all()
    assert merged.novel[0]["nearest_class"] == "shop"
    assert merged.expected_accuracy.estimate == pytest.approx(0.6 + gain.mean())
    assert merged.expected_accuracy.outside_groups == pytest.approx(min(1.0, 0.75 + gain[:90].mean()))
    assert not merged.needs_review.all()
    assert merged.warnings == [], "the warning that all documents need review is not true any more"


@pytest.mark.parametrize("group", ["garage lot", "1"])
def test_a_group_becomes_a_class_with_one_action(labelling, group):
    named = labelling.name_groups({group: "parking"})
    assert named.labels[GROUP].tolist() == ["parking"] * 30
    assert set(named.novel_group) == {""}
    assert named.novel == []
    assert named.predict(["parking garage barrier"]).tolist() == ["parking"]
    assert labelling.novel, "the labelling that was named stays as it is"
    assert named.teach(without="garage lot").novel == labelling.novel


def test_a_group_that_got_its_class_as_a_whole_was_not_read(labelling):
    """On the sample a group of 243 documents got a class: 93% were expected to be right then, 71.5% were."""
    named = labelling.name_groups({"1": "parking"})
    assert named.expected_accuracy.estimate is None
    assert "30 documents got a class as a group" in named.expected_accuracy.reason
    assert named.needs_review[GROUP].all(), "nobody has read them"
    assert set(named.confidence[GROUP]) == {0.5}
    assert set(GROUP + 1) <= set(named.ask(150)["document"]), "what needs review can be asked about"
    assert named.may_pass[GROUP].all(), "a guarantee may let them pass once enough were read"
    doubtful = np.where(np.arange(150) % 2, TRUTH, "staff")  # half of the group is of another class
    rows = np.arange(0, 150, 3)
    checked = named.check((rows + 1).tolist(), doubtful[rows].tolist())
    assert checked.accuracy == pytest.approx(np.mean(named.labels[rows] == doubtful[rows])), (
        "none counts as right unread"
    )
    read = named.teach({**answers(np.arange(0, 120, 3)), "drawn": ["random"] * 40})
    found = read.expected_accuracy
    assert found.low <= 0.8 + 0.01, "all of the group may be wrong"
    assert found.high >= 0.95, "all of the group may be right"
    assert found.estimate == pytest.approx(0.2 * 0.5 + 0.8 * np.mean(read.labels[:120] == TRUTH[:120]), abs=0.06)
    again = read.teach({**answers(GROUP[:12]), "drawn": ["asked"] * 12})
    assert not again.needs_review[GROUP[:12]].any(), "what was read need not be read"
    assert set(again.confidence[GROUP[12:]]) == {13 / 14}, "of twelve that were read all are of the class"
    most = again.teach(answers(GROUP[:20]))  # no word about how they were drawn
    assert most.known_answers.read.rows == [*again.known_answers.read.rows, *GROUP[12:20]]
    assert set(most.confidence[GROUP[20:]]) == {21 / 22}, "the rest of the group stays unread, however small it is"


def test_a_subtopic_that_got_a_class_was_not_read(labelling):
    named = labelling.teach(labelling.split("staff", 2).name({1: "manners"}))
    rows = np.flatnonzero(named.labels == "manners")
    assert named.expected_accuracy.estimate is None
    assert named.needs_review[rows].all()
    assert named.known_answers.read.rows == []


def test_a_group_without_a_name_is_called_by_its_most_typical_word(labelling):
    words = labelling.novel[0]["words"].split(", ")
    named = labelling.name_groups({"1": None})
    assert set(named.labels[GROUP]) == {words[0]}
    taken = replace(labelling, novel=[{**labelling.novel[0], "words": f"24, {labelling.classes[0]}, barrier"}])
    assert set(taken.name_groups({"1": None}).labels[GROUP]) == {"barrier"}, "neither a number nor a class"


@pytest.mark.parametrize(("names", "sentence"), [({"2": "parking"}, r"1 \(garage lot\)"), ({"1": " "}, "needs a name")])
def test_groups_that_are_not_there_are_refused(labelling, names, sentence):
    with pytest.raises(UsageError, match=sentence):
        labelling.name_groups(names)


def test_answers_in_a_group_speak_of_the_group_and_of_nothing_else():
    right = np.array([True] * 9 + [False] + [False] * 15)  # nine of ten outside, none of fifteen inside
    inside = np.arange(25) >= 10
    given = right, np.zeros(25, dtype=bool), np.full(25, 0.9), np.full(45, 0.9), 100
    found = expect_accuracy(*given, in_groups=np.full(30, 0.2), answered_in_groups=inside)
    group = 5 * 0.2 / 20  # five answers' worth of their confidence, beside fifteen wrong ones
    assert found.outside_groups == pytest.approx(0.9)
    assert found.estimate == pytest.approx((25 + 45 * 0.9 + 30 * group) / 100)
    blind = expect_accuracy(*(part[:10] if len(part) == 25 else part for part in given[:3]), *given[3:])
    assert found.estimate < blind.estimate


def test_documents_that_got_a_class_with_their_group_are_not_called_answered_in_the_table(labelling):
    taught = labelling.teach(answers(OUTSIDE)).name_groups({"garage lot": "parking"})
    answered = np.flatnonzero(added_columns(taught)["answered"])
    assert answered.tolist() == OUTSIDE, "nobody has read the documents of the group"
