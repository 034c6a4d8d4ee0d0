"""Class shares with intervals: by hand, and by simulation of answers drawn at random."""

from datetime import datetime

import numpy as np
import pytest

import isthmus
from isthmus.choose import AccuracyEstimate, estimate_shares
from isthmus.choose.prevalence import PROPORTIONS, ROWS, ShareFacts, time_periods, value_masks
from isthmus.exceptions import UsageError
from isthmus_bench.shifted import make_shifted_texts

EXPECTED = AccuracyEstimate(0.8, 0.8, 0.9)  # the low end is the estimate: nothing is worse than it looks
CLASSES = ["a", "b"]


def facts(n=400, right=0.8, share=0.3, **more):
    """Two classes, labels of which so many are right, probabilities that say so; and the truth."""
    rng = np.random.default_rng(3)
    truth = np.where(rng.random(n) < share, "a", "b").astype(object)
    said = np.where(rng.random(n) < right, truth, np.where(truth == "a", "b", "a")).astype(object)
    probabilities = np.where(said[:, None] == np.array(CLASSES, dtype=object), 0.8, 0.2)
    given = {"confidence": probabilities.max(axis=1), "expected": EXPECTED} | more
    return ShareFacts(CLASSES, said, probabilities, **given), truth


def test_label_free_shares_by_hand():
    labels, probabilities = np.array(["a", "b"] * 2), np.array([[0.8, 0.2], [0.4, 0.6]] * 2)
    a, b = estimate_shares(probabilities, labels, CLASSES, ["a", "a", "b", None], expected=EXPECTED)
    assert (a["source"], a["labels"], a["estimate"]) == (pytest.approx(2 / 3), 0.5, pytest.approx(0.6))
    # mistakes that touch a: half of the labels are a, .2 of them wrong; half are b, .4 of them a; variances .16 and .24
    reach = np.hypot(PROPORTIONS["reach"] * (0.2 + 0.4) / 2, 1.6449 * np.sqrt(2 * (0.16 + 0.24)) / 4)
    assert (a["low"], a["high"]) == (pytest.approx(0.6 - reach, abs=1e-4), pytest.approx(min(1, 0.6 + reach), abs=1e-4))
    assert a["low"] + b["high"] == pytest.approx(1)
    assert {a["basis"], b["basis"]} == {"expected"}


@pytest.mark.parametrize("expected", [None, AccuracyEstimate(None, reason="too few")])
def test_without_an_expectation_there_is_no_interval(expected):
    found, _ = facts(expected=expected)
    assert [(row["low"], row["high"], row["basis"]) for row in found.shares()] == [(None, None, "")] * 2


def test_a_lower_low_end_widens_the_interval():
    sure, unsure = (facts(expected=AccuracyEstimate(0.8, low, 0.9))[0].shares()[0] for low in (0.75, 0.55))
    assert sure["estimate"] == unsure["estimate"]
    assert unsure["low"] < sure["low"] < sure["high"] < unsure["high"]


def test_documents_of_a_new_group_count_as_far_as_the_mark_may_be_wrong():
    found, _ = facts(n=100)
    lowered = ShareFacts(CLASSES, found.labels, found.probabilities, found.confidence / 4, EXPECTED)
    assert sum(row["estimate"] for row in lowered.shares()) == pytest.approx(0.25)


def test_answers_that_were_picked_count_as_they_are():
    found, _ = facts(n=100)
    known = dict.fromkeys(range(60), "c") | {60: "a"}
    rows = {row["class"]: row for row in ShareFacts(CLASSES, *_parts(found), EXPECTED, known).shares()}
    assert list(rows) == ["a", "b", "c"]
    assert (rows["c"]["estimate"], rows["c"]["low"]) == (0.6, 0.6), "60 of 100 documents are known to be c"
    assert rows["c"]["high"] <= 0.99, "one document is known to be no c"
    assert rows["a"]["high"] <= 0.4


def test_documents_whose_class_is_known_are_in_no_doubt():
    found, truth = facts(n=100)
    known = dict(enumerate(truth))
    for rows, touched in ((known, 0.0), ({}, 0.2)):
        _, found_touched, _ = ShareFacts(CLASSES, *_parts(found), EXPECTED, rows).doubt(
            "a", 0, np.ones(100, dtype=bool)
        )
        assert found_touched == pytest.approx(touched), f"{len(rows)} of 100 documents are known"


def _parts(found):
    return found.labels, found.probabilities, found.confidence


def test_shares_corrected_by_a_sample_hold_in_nine_draws_of_ten():
    """Labels that take a class for another in one direction only: counting is far off, the sample corrects it."""
    rng = np.random.default_rng(0)
    truth = np.where(np.arange(500) < 150, "a", "b").astype(object)
    labels = np.where(np.arange(500) < 60, "a", "b").astype(object)  # 90 of 150 lost
    probabilities = np.where(labels[:, None] == np.array(CLASSES, dtype=object), 0.95, 0.05)
    held, estimates = [], []
    for _ in range(300):
        drawn = rng.permutation(500)[:100].tolist()
        known = {row: truth[row] for row in drawn}
        found = ShareFacts(CLASSES, labels, probabilities, probabilities.max(axis=1), EXPECTED, known, drawn).shares()
        assert found[0]["basis"] == "sample"
        held.append(found[0]["low"] <= 0.3 <= found[0]["high"])
        estimates.append(found[0]["estimate"])
    assert np.mean(estimates) == pytest.approx(0.3, abs=0.005), "by the labels it would be .12"
    assert 0.87 <= np.mean(held) <= 0.97


def test_the_sample_speaks_for_what_nobody_picked():
    found, _ = facts(n=200)
    drawn = list(range(100, 160))
    picked = dict.fromkeys(range(50), "a")
    known = picked | dict.fromkeys(drawn, "b")
    a, b = ShareFacts(CLASSES, *_parts(found), EXPECTED, known, drawn).shares()
    assert a["low"] >= 50 / 200
    assert b["low"] >= 60 / 200
    assert a["estimate"] + b["estimate"] == pytest.approx(1)


def test_fewer_than_thirty_drawn_do_not_correct():
    found, truth = facts()
    for n, basis in ((PROPORTIONS["fewest"] - 1, "expected"), (PROPORTIONS["fewest"], "sample")):
        known = {row: truth[row] for row in range(n)}
        rows = ShareFacts(CLASSES, *_parts(found), EXPECTED, known, list(known)).shares()
        assert {row["basis"] for row in rows} == {basis}, f"{n} documents drawn"


def test_values_keep_their_order_and_the_rest_comes_together():
    _, masks = value_masks([10, 2, None, 2], 4)
    assert [(value, int(mask.sum())) for value, mask in masks] == [("2", 2), ("10", 1), ("(blank)", 1)]
    _, masks = value_masks([10.0, 2.0, float("nan"), ""], 4)  # as a data frame has whole numbers next to a gap
    assert [(value, mask.tolist().count(True)) for value, mask in masks] == [("2", 1), ("10", 1), ("(blank)", 2)]
    _, masks = value_masks([f"v{i}" for i in range(50)] + ["v0"] * 5, 55)
    assert [(value, int(mask.sum())) for value, mask in masks][-1] == ("10 other values", 10)
    with pytest.raises(UsageError, match="3 values for 4 documents"):
        value_masks([1, 2, 3], 4)


@pytest.fixture(scope="module")
def result():
    texts = make_shifted_texts(120, 120, shared=0.8, random_state=1)
    return isthmus.label(texts.source_texts, texts.source_labels, texts.target_texts, method="nbc")


def test_by_a_column_every_value_has_its_own_shares(result):
    rows = result.class_shares(by=["first"] * 60 + ["second"] * 60)
    assert [(row["value"], row["documents"], row["class"]) for row in rows] == [
        (value, 60, name) for value in ("first", "second") for name in ("class 0", "class 1")
    ]
    whole = {row["class"]: row for row in result.class_shares()}
    for row in rows:
        assert row["source"] == whole[row["class"]]["source"]
        assert row["high"] - row["low"] >= whole[row["class"]]["high"] - whole[row["class"]]["low"] - 1e-9


def test_after_a_check_shares_are_those_of_the_check_and_parts_are_corrected_by_it(result):
    checked = isthmus.label(result.source_texts, result.source_labels, result.texts, method="nbc")
    found = checked.check(list(range(1, 61)), ["class 1"] * 60)
    shares = checked.class_shares()
    assert [(row["estimate"], row["low"], row["high"]) for row in shares] == [
        (row["estimate"], row["low"], row["high"]) for row in found.shares
    ]
    assert {row["basis"] for row in shares} == {"check"}
    assert checked.share_facts().level == found.confidence_level, "parts are as sure as the check itself"
    parts = checked.class_shares(by=["read"] * 60 + ["unread"] * 60)
    assert {(row["value"], row["basis"]) for row in parts} == {("read", "check"), ("unread", "expected")}
    assert parts[1]["estimate"] == 1.0, "all documents of this part were read"


def test_answers_drawn_at_random_correct_the_shares(result):
    sample = result.sample(40)
    taught = result.teach(sample | {"true_label": ["class 1"] * 40})
    rows = {row["class"]: row for row in taught.class_shares()}
    assert rows["class 1"]["basis"] == "sample"
    assert rows["class 1"]["low"] > 0.85, "40 of 40 drawn at random are of it"


def test_a_column_of_a_frame_by_its_name(result):
    polars = pytest.importorskip("polars")
    source = polars.DataFrame({"text": result.source_texts, "label": list(result.source_labels)})
    target = polars.DataFrame({"text": result.texts, "shop": ["north", "south"] * 60})
    framed = isthmus.label(source, target, text="text", label="label", method="nbc")
    assert {row["value"] for row in framed.class_shares(by="shop")} == {"north", "south"}
    with pytest.raises(UsageError, match="'shops' is not a column of the target; it has text, shop"):
        framed.class_shares(by="shops")
    with pytest.raises(UsageError, match="its columns are not known; give one value per text"):
        result.class_shares(by="shop")


def test_of_many_values_the_commonest_have_a_row_of_their_own():
    values = [f"a{number:02}" for number in range(50)] + ["zoo"] * 3
    _, masks = value_masks(values, len(values))
    rows = {value: int(mask.sum()) for value, mask in masks}
    assert rows["zoo"] == 3
    assert rows["11 other values"] == 11


def test_a_class_that_only_a_drawn_sample_names_has_the_share_of_the_sample():
    """Probabilities that say the same of all documents correct nothing: the shares are those of the forty drawn."""
    labels = np.array(["a"] * 100 + ["b"] * 100, dtype=object)
    probabilities = np.full((200, 2), 0.5)
    drawn = list(range(0, 200, 5))
    known = dict(zip(drawn, ["d"] * 4 + ["c"] * 10 + ["a"] * 18 + ["b"] * 8, strict=True))
    rows = ShareFacts(CLASSES, labels, probabilities, np.full(200, 0.5), EXPECTED, known, drawn).shares()
    assert [(row["class"], row["estimate"]) for row in rows] == [
        ("a", pytest.approx(0.45)), ("b", pytest.approx(0.2)), ("c", pytest.approx(0.25)), ("d", pytest.approx(0.1)),
    ], "classes that only people named come last, in the order of the alphabet"  # fmt: skip
    assert {row["basis"] for row in rows} == {"sample"}


def test_times_of_day_belong_to_their_day():
    moments = [datetime(2024, 1, day, hour) for day in (1, 2) for hour in (8, 20)]
    assert time_periods(moments) == ("day", ["2024-01-01"] * 2 + ["2024-01-02"] * 2)
    assert time_periods(["2024-01-01T08:00", "20240102", "2024/01/03 20:15"])[1] == [
        "2024-01-01", "2024-01-02", "2024-01-03",
    ]  # fmt: skip


def test_dates_of_more_years_than_have_a_row_are_told_by_year():
    years = [str(year) for year in range(1950, 1950 + ROWS + 3)]
    unit, periods = time_periods([f"{year}-06-01" for year in years])
    assert (unit, periods) == ("year", years)


def test_few_digits_are_no_date():
    assert time_periods(["2024-W1", "2024W01", "2024001"]) is None, "seven characters are a number, or a name"
