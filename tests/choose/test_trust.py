"""What is promised about labels: expectation for every method, new groups, budgets, a thin or noisy source."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from made_texts import COMMON, WORDS

import isthmus
from isthmus._math.confidence import with_caution
from isthmus.choose import Evidence, LabelScorer, budget_curve, estimate_accuracy, review_mask
from isthmus.choose.trust import (
    ACCURACY,
    AccuracyEstimate,
    assess,
    budget_caution,
    carried_over,
    confidence_outside,
    contradicted,
    detected_noise,
    log_odds,
    moved_to,
    outside_groups,
    source_warnings,
    spread_terms,
    trust_features,
)
from isthmus.shift.novelty import Novelty


def texts_of(shares, seed):
    rng = np.random.default_rng(seed)
    pairs = [
        (" ".join([*rng.choice(WORDS[name], 4), *rng.choice(COMMON, 6)]), name)
        for name, count in shares.items()
        for _ in range(count)
    ]
    return [text for text, _ in pairs], np.array([name for _, name in pairs], dtype=object)


@pytest.fixture(scope="module")
def lacking():
    """A source that lacks a class of the target, labelled by a named method."""
    known = {"bikes": 80, "staff": 80, "price": 80}
    source, labels = texts_of(known, 0)
    target, truth = texts_of({**known, "food": 60}, 1)
    return isthmus.label(source, labels, target, method="nbc"), truth


def test_named_methods_get_an_expectation_that_counts_the_new_group_as_wrong(lacking):
    result, truth = lacking
    right = np.mean(result.labels == truth)
    assert right < 0.82
    assert result.expected_accuracy.low <= right <= result.expected_accuracy.high
    known = result.novel_group == ""
    assert result.confidence[known].mean() == pytest.approx(result.expected_accuracy.outside_groups, abs=0.08)
    assert result.confidence[~known].mean() < 0.3
    assert "belongs to no class" in result.expected_accuracy.reason
    assert not result.needs_review[result.novel_group == ""].all()


def test_new_groups_are_marked_told_and_reviewed(lacking):
    result, truth = lacking
    marked = result.novel_group != ""
    assert np.mean(marked[truth == "food"]) >= 0.9
    assert np.mean(marked[truth != "food"]) <= 0.05
    assert result.needs_review[marked].all()
    assert set(result.novel_group[marked]) == {result.novel[0]["group"]}
    assert result.columns()["novel_group"] == result.novel_group.tolist()
    assert result.warnings[0]["topic"] == "new group"
    later = result.label_new(["soup and bread"])
    assert later.novel_group.tolist() == [result.novel[0]["group"]], "later texts of the group are of it, too"
    assert later.review_reason.tolist() == ["new group"]
    assert later.expected_accuracy.estimate is None or later.expected_accuracy.estimate < 1


WORTHY = {"power": 0.75, "false_alarm": 0.0, "classes": 4.0}


def test_a_group_is_certain_only_where_the_test_has_shown_its_worth(lacking):
    """Otherwise there may be none, and the interval reaches as high as without it."""
    result, _ = lacking
    scorer = LabelScorer(result.source_texts, result.source_labels, result.texts)
    found = []
    for simulated in (WORTHY, WORTHY | {"power": 0.25}, WORTHY | {"false_alarm": 1.0}, None):
        scorer.simulated_recall = simulated
        expected = estimate_accuracy(scorer, result.labels, 0.8)
        about = assess(scorer, result.source_labels, result.labels, result.probabilities, result.classes)
        found.append((expected.estimate, expected.low, expected.high, " may belong" in about[0]["message"]))
    certain, *others = found
    assert certain[3] is False
    assert others[0] == others[1] == others[2]
    assert others[0][:2] == certain[:2], "only the high end knows of a group that is none"
    assert others[0][2] > certain[2]
    assert others[0][3] is True


def test_budget_curve_counts_new_groups_as_mostly_wrong(lacking):
    result, _ = lacking
    curve = result.budget_curve(steps=10)
    assert curve[0]["documents"] == 0
    assert (curve[-1]["expected_error"], curve[-1]["unread_error"]) == (0.0, None)
    errors = [row["expected_error"] for row in curve]
    assert errors == sorted(errors, reverse=True)
    assert curve[0]["expected_error"] >= 0.7 * np.mean(result.novel_group != "")


def test_budget_curve_by_hand():
    # doubts 0, 0.1, 0.2, 0.5: none reviewed 0.8 / 4; two reviewed 0.1 / 4 of all documents and 0.1 / 2 of the unread
    rows = budget_curve([0.9, 0.5, 0.8, 1.0], steps=2)
    assert [row["expected_error"] for row in rows] == [pytest.approx(0.2), pytest.approx(0.025), 0.0]
    assert [row["unread_error"] for row in rows] == [pytest.approx(0.2), pytest.approx(0.05), None]
    assert review_mask([0.9, 0.5, 0.8, 1.0], 0.025).tolist() == [False, True, True, False]


def test_too_few_documents_promise_nothing():
    source, labels = texts_of({"bikes": 8, "staff": 8}, 0)
    target, _ = texts_of({"bikes": 40, "staff": 40}, 1)
    result = isthmus.label(source, labels, target, method="nbc")
    assert result.expected_accuracy.estimate is None
    assert "fewer than 30" in str(result.expected_accuracy)
    assert {"thin source", "not estimated"} <= {row["topic"] for row in result.warnings}
    assert result.needs_review.all(), "none passes by a confidence that nothing has checked"
    assert set(result.review_reason) == {"not estimated"}
    assert result.label_new(target).needs_review.all(), "nor does a later text"
    assert result.teach({1: "bikes", 2: "staff"}).needs_review[2:].all(), "nor after two answers"


def test_features_are_shares_and_follow_the_labels():
    source, labels = texts_of({"bikes": 60, "staff": 60}, 0)
    target, truth = texts_of({"bikes": 60, "staff": 60}, 1)
    scorer = LabelScorer(source, labels, target)
    good = trust_features(scorer, truth, 0.9, scorer.score(truth))
    shuffled = np.random.default_rng(0).permutation(truth)
    bad = trust_features(scorer, shuffled, 0.9, scorer.score(shuffled))
    assert all(0 <= value <= 1 for name, value in good.items() if name != "excess")
    assert good["agreement"] > bad["agreement"] + 0.3
    assert good["moved"] == 0.0
    # with other methods named, agreement is with them: two of three give the same labels
    named = trust_features(scorer, truth, 0.9, scorer.score(truth), [truth, truth, shuffled])
    assert named["agreement"] == pytest.approx((2 + np.mean(truth == shuffled)) / 3)
    assert good["repeated"] > bad["repeated"]
    assert estimate_accuracy(scorer, shuffled, 0.9).estimate is None  # cannot be learned from the target's words


@pytest.mark.parametrize(
    ("scorer", "known", "reason"),
    [
        (None, None, "fewer than 30 different documents in source or target"),
        ((True, True), False, "no document got a class of the source"),
        ((False, False), True, "the source's labels cannot be told apart by their words"),
        ((True, False), None, "the labels cannot be told apart by the target's words"),
    ],
)
def test_where_no_accuracy_is_expected_the_reason_is_said(scorer, known, reason):
    if scorer is not None:
        found = SimpleNamespace(source_learned=scorer[0], learned=scorer[1])
        scorer = SimpleNamespace(target=np.arange(3), score=lambda labels: found)
    known = None if known is None else np.full(3, known)
    assert estimate_accuracy(scorer, ["a", "b", "a"], 0.9, known=known) == AccuracyEstimate(None, reason=reason)


def test_what_is_right_within_the_source_speaks_for_the_labels():
    """Left out, labels of a source that cannot be told apart itself would be expected to be as good as others."""
    source, labels = texts_of({"bikes": 60, "staff": 60}, 0)
    target, truth = texts_of({"bikes": 60, "staff": 60}, 1)
    scorer = LabelScorer(source, labels, target)
    evidence = scorer.score(truth)
    inside, back = evidence.tables[0], evidence.tables[2]
    poor = replace(evidence, tables=(inside, np.array([[3, 1], [2, 4]]), back))
    found = trust_features(scorer, truth, 0.9, poor)
    assert found["source"] == pytest.approx(7 / 10)
    for weights in (ACCURACY["vote"], ACCURACY["single"]):
        gap = log_odds({**found, "source": 0.9}, weights) - log_odds(found, weights)
        assert gap == pytest.approx(weights["source"] * np.log(9 / (7 / 3)))
        assert gap > 0


def test_random_errors_in_the_source_are_told_from_likeness():
    # every class loses 10 to each other class: 2 · 10 · 3 of 300
    assert contradicted(np.array([[80, 10, 10], [10, 80, 10], [10, 10, 80]])) == pytest.approx(0.2)
    assert contradicted(np.array([[60, 40, 0], [40, 60, 0], [0, 0, 100]])) == 0.0
    assert contradicted(np.array([[60, 40], [40, 60]])) == 0.0


def test_figures_speak_of_documents_outside_new_groups():
    texts, labels = texts_of({"bikes": 60, "staff": 60}, 0)
    scorer = LabelScorer(texts, labels, texts)
    given = np.array(labels, dtype=object)
    probabilities = np.full((len(texts), 2), [0.9, 0.1])
    group = np.zeros(len(texts), dtype=bool)
    group[:30] = True
    other = np.where(group, "nothing", given)
    scorer.novelty = Novelty([None], np.where(group[scorer.target], 0, -1))
    probabilities[group] = 0.5
    found = trust_features(scorer, given, 0.9, scorer.score(given), [other, other, other])
    assert found["agreement"] == 1.0
    assert found["moved"] > 0.1  # a quarter of one class went with the group
    assert confidence_outside(scorer, probabilities) == pytest.approx(0.9)
    scorer.novelty = Novelty([], np.full(len(scorer.target), -1))
    found = trust_features(scorer, given, 0.9, scorer.score(given), [other, other, other])
    assert found["agreement"] < 0.8
    assert confidence_outside(scorer, probabilities) < 0.85


def test_noisy_and_thin_sources_are_named():
    rng = np.random.default_rng(0)
    source, labels = texts_of(dict.fromkeys(WORDS, 60), 0)
    wrong = rng.random(len(labels)) < 0.3
    noisy = np.where(wrong, rng.permutation(labels), labels)
    target, truth = texts_of(dict.fromkeys(WORDS, 40), 1)
    scorer = LabelScorer(source, noisy, target)
    assert [row["topic"] for row in source_warnings(scorer, noisy)] == ["noisy source"]
    assert source_warnings(LabelScorer(source, labels, target), labels) == []
    few = ["a"] * 100 + ["b"] * 5
    assert "Fewer than ten source documents of b" in source_warnings(None, few)[0]["message"]
    assert (
        estimate_accuracy(scorer, truth, 0.9).estimate > 0.75
    )  # the expectation follows the words, not the noisy labels


def test_log_odds_by_hand():
    weights = {"constant": 0.5, "repeated": 2.0, "excess": 0.1}
    # logit(0.75) = log 3
    assert log_odds({"repeated": 0.75, "excess": -1.0}, weights) == pytest.approx(0.5 + 2 * np.log(3) - 0.1)


def test_doubts_widen_the_interval():
    calm = {"moved": 0.1, "agreement": 0.9}
    assert spread_terms(calm, 500, single=False) == dict.fromkeys(("moved", "thin", "disputed", "single"), 0.0) | {
        "constant": 1.0
    }
    doubtful = spread_terms({"moved": 0.4, "agreement": 0.5}, 40, single=True)
    assert doubtful == {"constant": 1.0, "moved": 1.0, "thin": 1.0, "disputed": pytest.approx(0.3), "single": 1.0}


def test_an_estimate_moves_with_labels_that_follow_shares():
    before = AccuracyEstimate(0.6, 0.5, 0.7, outside_groups=0.75)
    after = moved_to(before, 0.9, n_classes=3)
    assert after.estimate == pytest.approx(0.6 / 0.75 * 0.9)
    assert after.outside_groups == 0.9
    assert 0.5 < after.low < after.estimate < after.high < 1
    # Of two classes one takes from the other: the vote gets surer, right or wrong.
    assert moved_to(before, 0.9, n_classes=2) == before
    assert moved_to(before, 0.6, n_classes=2).outside_groups == 0.6


def test_sureness_carries_over_where_nothing_shifted():
    shares = dict.fromkeys(("bikes", "staff", "price"), 60)
    source, labels = texts_of(shares, 0)
    target, _ = texts_of(shares, 1)
    sureness, expected = carried_over(LabelScorer(source, labels, target))
    assert sureness == pytest.approx(1.0, abs=0.1)
    assert expected > 0.9
    rng = np.random.default_rng(2)
    far = [" ".join([*rng.choice(COMMON, 12), str(number)]) for number in range(150)]
    assert carried_over(LabelScorer(source, labels, far))[0] < 0.7
    assert carried_over(LabelScorer(source[::4], labels[::4], target)) is None  # too thin to say


def test_all_documents_are_outside_where_no_group_was_announced():
    assert outside_groups(None, 3).tolist() == [0, 1, 2]


def test_budgets_hold_at_the_low_end_of_the_expectation():
    accuracy = AccuracyEstimate(0.9, 0.8, 0.95)
    assert accuracy.caution == pytest.approx(np.log(9) - np.log(4))
    assert AccuracyEstimate(None).caution == 0
    assert with_caution([0.9], accuracy.caution)[0] == pytest.approx(0.8)
    assert with_caution([1.0, 0.5], 0.0, surest=0.9) == pytest.approx([0.9, 0.5])
    assert 0.9 < accuracy.surest_alone < 1
    confidence = np.linspace(0.75, 0.99, 50)
    assert review_mask(with_caution(confidence, accuracy.caution)).sum() > review_mask(confidence).sum()


def test_a_vote_keeps_its_budget_three_quarters_of_the_way_to_the_low_end_and_a_thin_source_far_beyond_it():
    accuracy = AccuracyEstimate(0.9, 0.8, 0.95)
    whole = np.log(9) - np.log(4)
    assert budget_caution(accuracy, 100, single=False) == pytest.approx(0.75 * whole)
    assert budget_caution(accuracy, 99, single=False) == pytest.approx(2 * whole)
    assert [budget_caution(accuracy, n, single=True) for n in (99, 100)] == pytest.approx([whole, whole])


def test_auto_marks_the_documents_of_the_new_group_themselves():
    source, labels = texts_of({"bikes": 60, "staff": 60, "price": 60}, 0)
    target, truth = texts_of({"bikes": 40, "staff": 40, "price": 40, "food": 40}, 1)
    result = isthmus.label(source, labels, target, embed=False)
    marked = result.novel_group != ""
    assert np.mean(marked[truth == "food"]) > 0.9
    assert np.mean(marked[truth != "food"]) < 0.05


def test_figures_speak_of_labels_of_the_sources_classes():
    """Of a class that was added no method knows: what others say of its documents counts for nothing."""
    own = np.array(["bikes", "staff"] * 30, dtype=object)
    target = np.arange(60)[::-1]  # the order of the scorer's documents is its own
    scorer = SimpleNamespace(
        novelty=Novelty([], np.full(60, -1)),
        target=target,
        source_labels=own,
        plain_labels=[own[target].astype(str)] * 4,
    )
    added = np.arange(60) < 20
    given = np.where(added, "parking", own)
    evidence = Evidence.from_tables(*[np.array([[25, 5], [5, 25]])] * 3)
    found = trust_features(scorer, given, 0.9, evidence, [own, own, own], known=~added)
    assert (found["agreement"], found["ridge"]) == (1.0, 1.0), "where labels are of the source, all agree"
    assert found["moved"] == pytest.approx(0.0)
    everything = trust_features(scorer, given, 0.9, evidence, [own, own, own])
    assert everything["agreement"] == pytest.approx(2 / 3)
    assert everything["moved"] == pytest.approx(1 / 3), "a third is of a class that the source lacks"


@pytest.mark.parametrize("followed", [False, True])
def test_shares_that_labels_follow_are_told_though_they_hardly_moved(followed):
    classes = np.array(["a", "b"])
    probabilities = np.repeat([[0.9, 0.1], [0.1, 0.9]], 100, axis=0)
    labels = classes[probabilities.argmax(axis=1)]
    source = [*["a"] * 110, *["b"] * 90]
    told = [row for row in assess(None, source, labels, probabilities, classes, followed=followed)
            if row["topic"] == "class shares"]  # fmt: skip
    assert len(told) == followed
    if followed:
        assert told[0]["message"] == (
            "Class shares moved: b 45% in the source, about 50% in the target; a 55%, about 50%. "
            "Labels were brought to these shares."
        )


@pytest.mark.parametrize(("size", "recall", "kept"), [(79, None, 0), (79, WORTHY, 1), (80, None, 1)])
def test_a_few_source_documents_report_a_group_only_if_the_search_was_reliable(monkeypatch, size, recall, kept):
    """Of 60 labelled rows, a search that nothing has proved marked a third of a target without any new class."""
    source, labels = texts_of({"bikes": 50, "staff": 50}, 0)
    target, _ = texts_of({"bikes": 40, "staff": 40}, 1)
    scorer = LabelScorer(source[:size], labels[:size], target)
    found = Novelty(["a group"], np.zeros(len(target), dtype=int))
    monkeypatch.setattr("isthmus.choose.evidence.find_novel_groups", lambda *given: found)
    scorer.source_labels = np.array(labels[:size])  # texts that occur twice count, too
    scorer.simulated_recall = recall
    assert len(scorer.novelty.groups) == kept
    assert (scorer.novelty.membership >= 0).any() == bool(kept)


def test_planted_wrong_labels_are_seen_in_clear_texts_and_not_in_texts_that_say_nothing():
    source, labels = texts_of(dict.fromkeys(WORDS, 60), 0)
    target, _ = texts_of(dict.fromkeys(WORDS, 40), 1)
    clear = detected_noise(LabelScorer(source, labels, target), 0.3)
    vague = detected_noise(LabelScorer(source, list(np.random.default_rng(0).permutation(labels)), target), 0.3)
    assert clear > 0.5 > vague
