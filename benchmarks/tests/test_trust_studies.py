"""Studies of promises by hand: budgets with words, short texts."""

from pathlib import Path

import pytest

from isthmus_bench.suites import trust_short, trust_tune, trust_words

RECORD = Path(__file__).parents[1] / "records" / "trust" / "pairs.csv"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("one two three " * 20, " ".join(["one two three"] * 8 + ["one"])),
        ("短文" * 40, "短文" * 25),
        ("few words", "few words"),
        (" ", ""),
    ],
)
def test_texts_are_cut_to_25_words(text, kept):
    assert trust_short.cut(text) == kept


def test_short_texts_that_are_like_long_ones_change_nothing():
    long = trust_tune.read_rows(RECORD)
    short = [row for row in long if row["method"] in trust_short.CANDIDATES and row["task"].endswith("/plain")]
    alone, joined = trust_short.compare(long, short)[1], trust_short.compare(long, short)[3]
    assert (alone["length"], joined["length"]) == ("short", "short")
    assert alone["error"] == pytest.approx(joined["error"], abs=0.01)
    shifted = [row | {"accuracy": min(0.97, row["accuracy"] + 0.15)} for row in short]
    assert trust_short.compare(long, shifted)[1]["bias"] < alone["bias"] - 0.08, "expected too low, and said so"


def test_means_count_the_pairs_on_which_a_budget_was_kept():
    row = {"pair": "a-b", "words": "lexicon", "right": 0.8, "expected": 0.7, "passed": 0.5, "held": True}
    rows = [row | {"wrong": 0.05, "kept": True}, row | {"wrong": 0.15, "kept": False, "expected": None}]
    found = trust_words.means(rows, "lexicon")
    assert (found["kept"], found["held"], found["wrong"], found["expected"]) == ("1 of 2", "2 of 2", 0.1, 0.7)
