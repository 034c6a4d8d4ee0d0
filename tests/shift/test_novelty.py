"""Groups that belong to no class: found where there is one, not where there is none; numbers worked out by hand."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.features.vectorizer import TextVectorizer
from isthmus.shift import novelty
from isthmus.shift.novelty import (
    FURTHER,
    class_distance,
    class_means,
    compare_pair,
    corrected_cosine,
    find_novel_groups,
    is_novel,
    play_on_source,
    settle,
    typical_words,
    unit_rows,
)

WORDS = {
    "bikes": ["saddle", "pedal", "wheel", "brake", "chain", "gear", "fork", "helmet", "tyre", "frame"],
    "staff": ["manager", "clerk", "friendly", "rude", "service", "desk", "polite", "helpful", "smile", "phone"],
    "price": ["cheap", "dear", "cost", "euro", "bill", "refund", "discount", "pay", "invoice", "fee"],
    "food": ["soup", "bread", "cheese", "salad", "coffee", "cake", "taste", "lunch", "dinner", "menu"],
}
COMMON = ["the", "a", "was", "very", "we", "they", "it", "is", "at", "with", "for", "on", "again", "today", "shop"]


def texts_of(shares, rng, marks=()):
    texts, labels = [], []
    for name, count in shares.items():
        for _ in range(count):
            words = [*rng.choice(WORDS[name], 5), *rng.choice(COMMON, 5), *rng.choice(marks or COMMON, 2)]
            texts.append(" ".join(words))
            labels.append(name)
    return texts, np.array(labels)


def search(source, target, seed=0):
    rng = np.random.default_rng(seed)
    source_texts, source_labels = texts_of(source, rng)
    target_texts, truth = texts_of(target, rng, marks=("motor", "engine", "tank"))
    vectorizer = TextVectorizer(weighting="tfidf", sublinear=True)
    rows = vectorizer.fit_transform([*source_texts, *target_texts])
    cut = len(source_texts)
    pair = compare_pair(rows[:cut], source_labels, rows[cut:])
    return find_novel_groups(pair, rows[cut:], vectorizer.get_feature_names_out()), truth, rows, cut


def test_a_class_the_source_lacks_is_found_named_and_counted():
    known = {"bikes": 80, "staff": 80, "price": 80}
    found, truth, rows, cut = search(known, {**known, "food": 60})
    assert len(found.groups) == 1
    group, inside = found.groups[0], found.membership >= 0
    assert np.mean(inside[truth == "food"]) >= 0.9
    assert np.mean(inside[truth != "food"]) <= 0.05
    assert {"soup", "bread", "chees", "salad", "coffe", "cake", "tast", "lunch", "dinner", "menu"} >= set(
        group.words[:5]
    )
    assert group.low <= 60 / 300 <= group.high
    assert np.mean((found.assign(rows[cut:]) >= 0) == inside) >= 0.95


def test_no_group_is_announced_where_the_classes_are_the_same_even_if_shares_turned():
    plain, *_ = search({"bikes": 80, "staff": 80, "price": 80}, {"bikes": 80, "staff": 80, "price": 80})
    turned, *_ = search({"bikes": 140, "staff": 60, "price": 20}, {"bikes": 20, "staff": 60, "price": 140})
    assert plain.groups == turned.groups == []
    assert (plain.membership == -1).all()
    assert plain.facts


def test_too_few_documents_or_classes_are_not_looked_at():
    found, *_ = search({"bikes": 20, "staff": 20}, {"bikes": 20, "staff": 20, "food": 10})
    assert found.groups == []
    assert found.facts == {}


def test_the_answer_does_not_hang_on_the_order_of_the_target():
    rng = np.random.default_rng(3)
    known = {"bikes": 70, "staff": 70, "price": 70}
    source_texts, labels = texts_of(known, rng)
    target_texts, _ = texts_of({**known, "food": 60}, rng)
    vectorizer = TextVectorizer(weighting="tfidf", sublinear=True)
    rows = vectorizer.fit_transform([*source_texts, *target_texts])
    source, target = rows[: len(labels)], rows[len(labels) :]
    order = rng.permutation(target.shape[0])
    names = vectorizer.get_feature_names_out()
    first = find_novel_groups(compare_pair(source, labels, target), target, names)
    second = find_novel_groups(compare_pair(source, labels, target[order]), target[order], names)
    assert [group.words for group in first.groups] == [group.words for group in second.groups]
    assert np.mean(first.membership[order] == second.membership) >= 0.98


def test_cosine_takes_the_chance_off_the_lengths():
    first = np.array([[1.0, 1.0], [1.0, -1.0]])  # mean (1, 0), variance 0 + 1, over n - 1 = 1: length² 1 - 1 = 0
    second = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert corrected_cosine(first, second, np.zeros(2), np.zeros(2)) == 0.0
    # mean (1, 0); variance of the second column 0.25, over 1: length² 1 - 0.25 = 0.75; cosine 1/√0.75 > 1, cut to 1
    third = np.array([[1.0, 0.5], [1.0, -0.5]])
    assert corrected_cosine(third, second, np.zeros(2), np.zeros(2)) == 1.0
    # direction (1, 1) against (1, 0), no chance in either: cos 45°
    fourth = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert corrected_cosine(fourth, second, np.zeros(2), np.zeros(2)) == pytest.approx(np.sqrt(0.5))


def test_settling_is_centred_on_class_means_not_on_documents():
    # two classes on a line; in the target one of them holds nine documents in ten, shifted by (0, 5)
    source = unit_rows(np.array([[1.0, 0.2], [1.0, 0.1], [-1.0, 0.2], [-1.0, 0.1]]))
    codes = np.array([0, 0, 1, 1])
    target = np.array([[1.0, 5.0]] * 27 + [[-1.0, 5.0]] * 3)
    fit = settle(source, codes, target)
    assert fit.places.tolist() == [0] * 27 + [1] * 3
    assert fit.target_mean == pytest.approx([0.0, 5.0])
    assert class_means(source, codes).shape == (2, 2)


def test_each_test_of_a_case_can_refuse():
    usual = {
        "matched": 0.8,
        "similarity": 0.2,
        "gain": 0.06,
        "second_gain": 0.04,
        "agreement_drop": -0.2,
        "distinct": 0,
    }
    assert is_novel(usual)
    for name, value in (("matched", 0.3), ("similarity", 0.3), ("second_gain", 0.05), ("agreement_drop", 0.0)):
        assert not is_novel({**usual, name: value})
    assert not is_novel(usual, FURTHER)
    assert is_novel({**usual, "agreement_drop": -0.35}, FURTHER)
    disputed = {**usual, "similarity": 0.4, "second_gain": 0.05, "agreement_drop": -0.35}
    assert is_novel(disputed)
    for name, value in (("similarity", 0.45), ("second_gain", 0.055), ("agreement_drop", -0.3)):
        assert not is_novel({**disputed, name: value})
    distinct = {**usual, "similarity": 0.1, "second_gain": 0.048, "agreement_drop": 0.1, "distinct": 1.3}
    assert is_novel(distinct)
    for name, value in (("similarity", 0.2), ("second_gain", 0.055), ("distinct", 1.1)):
        assert not is_novel({**distinct, name: value})


def test_distance_between_classes_that_share_nothing():
    # three classes on three axes: left out, each is found again whole; own centre 1, that of others below 0
    rows = np.repeat(np.eye(3), 6, axis=0)
    codes = np.repeat(np.arange(3), 6)
    assert class_distance(rows, codes, rows) > 1.0
    assert class_distance(rows[:12], codes[:12], rows[:12]) == 0.0  # of two classes none can be left out


def test_typical_words_are_those_used_inside():
    rows = sp.csr_matrix(np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]]))
    inside = np.array([True, True, False, False])
    assert typical_words(rows, inside, ["soup", "wheel", "the"]) == ["soup"]


def test_played_on_the_source_left_out_classes_are_found():
    texts, labels = texts_of(dict.fromkeys(WORDS, 90), np.random.default_rng(5))
    vectorizer = TextVectorizer(weighting="tfidf", sublinear=True)
    rows = vectorizer.fit_transform(texts)
    played = play_on_source(rows, labels, vectorizer.get_feature_names_out())
    assert played["classes"] == 4
    assert played["power"] >= 0.75
    assert played["false_alarm"] == 0.0
    assert play_on_source(rows[:50], labels[:50], vectorizer.get_feature_names_out()) is None


def test_diagnose_says_it():
    import isthmus

    rng = np.random.default_rng(0)
    known = {"bikes": 80, "staff": 80, "price": 80}
    source, labels = texts_of(known, rng)
    target, _ = texts_of({**known, "food": 60}, rng)
    found = isthmus.diagnose(source, labels.tolist(), target)
    assert found["new groups"]["severity"] == 2
    assert found.tables["new_groups"][0]["documents"] >= 50
    assert "Played on the source itself, with 3 classes left out in turn" in found["new groups"]["finding"]
    assert found["new groups"]["values"]["power"] >= 0.6
    assert found["new groups"]["values"]["false_alarm"] == 0.0
    plain = isthmus.diagnose(source, labels.tolist(), texts_of(known, rng)[0])
    assert plain["new groups"]["severity"] == 0


def test_beside_two_classes_a_group_must_be_as_disputed_as_a_further_one(monkeypatch):
    """Two classes lie on one axis, and anything off it is unlike both."""
    asked = []
    monkeypatch.setattr(novelty, "is_novel", lambda facts, cases: bool(asked.append(cases)))
    search({"bikes": 80, "staff": 80}, {"bikes": 80, "staff": 80, "food": 60})
    search({"bikes": 80, "staff": 80, "price": 80}, {"bikes": 80, "staff": 80, "price": 80, "food": 60})
    assert asked == [FURTHER, novelty.CASES]
