"""The study behind the limit for mixed neighbours: draws, figures and the table."""

import numpy as np

from isthmus_bench.suites import trust_groups
from isthmus_bench.suites.trust_groups import candidates, draw_classes, limits_table

WORDS = {
    "bikes": ["saddle", "pedal", "wheel", "brake", "chain", "gear", "fork", "helmet"],
    "staff": ["manager", "clerk", "friendly", "rude", "service", "desk", "polite", "helpful"],
    "price": ["cheap", "dear", "cost", "euro", "bill", "refund", "discount", "pay"],
    "food": ["soup", "bread", "cheese", "salad", "coffee", "cake", "taste", "lunch"],
}


def sides(each=90):
    rng = np.random.default_rng(0)
    rows = [
        (" ".join([*rng.choice(words, 5), *rng.choice(["the", "a", "was", "very"], 3)]), name)
        for name, words in WORDS.items()
        for _ in range(2 * each)
    ]
    return [rows[::2], rows[1::2]]


def test_a_draw_lacks_one_class_or_none_and_a_quarter_of_the_labels_may_be_wrong():
    truth = {text: label for side in sides() for text, label in side}
    source, target, lost = draw_classes(sides(), "missing", np.random.default_rng(1))
    assert lost in {label for _, label in target}
    assert {label for _, label in target} - {label for _, label in source} == {lost}
    source, target, lost = draw_classes(sides(), "plain", np.random.default_rng(1))
    assert lost is None
    assert {label for _, label in target} == {label for _, label in source}
    assert all(truth[text] == label for text, label in source)
    source, target, _ = draw_classes(sides(), "noisy", np.random.default_rng(1))
    wrong = np.mean([truth[text] != label for text, label in source])
    assert 0.15 < wrong < 0.35
    assert all(truth[text] == label for text, label in target)


def test_a_candidate_says_how_much_of_the_missing_class_it_holds():
    source, target, lost = draw_classes(sides(), "missing", np.random.default_rng(1))
    found = list(candidates(source, target, lost, vectors=False))
    best = found[0]
    assert best["recall"] > 0.9
    assert best["marked"] < 0.1
    assert best["facts"]["mixed"] < 0  # neighbours more mixed than those of left-out classes
    gains = [group["facts"]["gain"] for group in found]
    assert gains == sorted(gains, reverse=True)


def test_the_table_takes_the_first_group_that_passes(monkeypatch):
    monkeypatch.setattr(trust_groups, "is_novel", lambda facts: facts["passes"])

    def group(passes, mixed, recall, marked):
        return {"facts": {"passes": passes, "mixed": mixed}, "recall": recall, "marked": marked}

    draws = [
        {"kind": "missing", "seen by": "words", "found": [group(False, -1, 0, 0.3), group(True, -0.03, 0.8, 0.1)]},
        {"kind": "missing", "seen by": "words", "found": [group(True, 0.03, 0.6, 0.2), group(True, 0.0, 0.4, 0.0)]},
        {"kind": "plain", "seen by": "words", "found": [group(True, 0.05, 0.0, 0.2)]},
        {"kind": "noisy", "seen by": "words", "found": []},
    ]
    table = {row["limit"]: row for row in limits_table(draws)}
    assert [row["seen by"] for row in table.values()] == ["words"] * 7  # none was seen by vectors
    # the strongest group alone: the second draw's first group and the plain one
    first = table["first only"]
    assert (first["missing announced"], first["recall"], first["known marked"]) == (0.5, 0.3, 0.1)
    assert (first["plain announced"], first["noisy announced"], first["draws"]) == (1.0, 0.0, 4)
    # at most 0.04: both missing draws, the plain one no longer
    loose = table["0.04"]
    assert (loose["missing announced"], loose["recall"], loose["known marked"]) == (1.0, 0.7, 0.15)
    assert loose["plain announced"] == 0.0
    # at most 0.005: the second draw's second group takes the place of its first
    strict = table["0.005"]
    assert (strict["missing announced"], strict["recall"], strict["known marked"]) == (1.0, 0.6, 0.05)
    assert (table["-0.02"]["recall"], table["-0.04"]["missing announced"]) == (0.4, 0.0)
