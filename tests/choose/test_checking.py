"""Sample sizes, intervals and class shares against exact counts and by simulation; labels as people type them."""

from dataclasses import replace
from math import hypot

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

import isthmus
from isthmus._math.samples import difference_ends, two_sided_z, wilson_ends
from isthmus.choose import (
    AccuracyEstimate,
    check_labels,
    draw_sample,
    estimate_shares,
    read_sample,
    sample_margin,
    sample_size,
    sample_table,
)
from isthmus.choose.checking import check_sample, match_classes, share_interval
from isthmus.exceptions import DataError, UsageError

NAMES = np.array(["a", "b", "c"])
# How often each true class (row) gets each label (column): the small class loses more than it gains.
CONFUSION = np.array([[0.85, 0.12, 0.03], [0.10, 0.88, 0.02], [0.30, 0.10, 0.60]])


def world(n, seed=1):
    """True classes and labels of a population."""
    rng = np.random.default_rng(seed)
    true = rng.choice(3, n, p=(0.6, 0.3, 0.1))
    said = np.array([rng.choice(3, p=CONFUSION[code]) for code in true])
    return NAMES[true], NAMES[said]


# -- how many, and which ----------------------------------------------------------------------------------------------


@given(
    st.floats(0.01, 0.3),
    st.none() | st.floats(0, 1),
    st.none() | st.integers(1, 100_000),
    st.sampled_from([0.8, 0.95, 0.99]),
)
@settings(max_examples=60)
def test_size_and_margin_are_each_others_reverse(margin, accuracy, population, confidence):
    options = {"accuracy": accuracy, "population": population, "confidence": confidence}
    n = sample_size(margin, **options)
    assert 1 <= n <= (population or n)
    assert sample_margin(n, **options) <= margin + 1e-9
    if n > 1:
        assert sample_margin(n - 1, **options) > margin


def test_size_by_the_textbook():
    assert sample_size(0.05) == 385  # 1.96² · 0.25 / 0.05²
    assert sample_size(0.05, population=1000) == 278
    assert sample_size(0.03, accuracy=0.9, confidence=0.9) == 271
    assert sample_size(0.1, population=5) == 5


def test_an_estimate_counts_by_the_end_nearest_to_one_half():
    for low, high, end in ((0.8, 0.92, 0.8), (0.1, 0.3, 0.3), (0.4, 0.7, 0.5)):
        estimate = AccuracyEstimate((low + high) / 2, low, high)
        assert sample_size(0.05, accuracy=estimate) == sample_size(0.05, accuracy=end)
    assert sample_size(0.05, accuracy=AccuracyEstimate(None)) == 385


def test_certainty_beforehand_does_not_make_a_sample_of_one():
    assert sample_size(0.05, accuracy=1.0) == sample_size(0.05, accuracy=0.95) == 73


def test_draws_repeat_and_grow():
    first = draw_sample(500, 50, random_state=3)
    assert len(set(first.tolist())) == 50
    assert first.min() >= 0
    assert first.max() < 500
    np.testing.assert_array_equal(first, draw_sample(500, 200, random_state=3)[:50])
    assert not np.array_equal(first, draw_sample(500, 50, random_state=4))
    assert sorted(draw_sample(7, 7).tolist()) == list(range(7))


def test_every_document_is_drawn_as_often():
    counts = np.bincount(np.concatenate([draw_sample(20, 5, seed) for seed in range(2000)]), minlength=20)
    assert np.all(np.abs(counts - 500) < 5 * np.sqrt(2000 * 0.25 * 0.75))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: sample_size(0), "bad-parameter"),
        (lambda: sample_size(0.5), "bad-parameter"),
        (lambda: sample_size(5), "bad-parameter"),
        (lambda: sample_size(0.05, accuracy=85), "bad-parameter"),
        (lambda: sample_size(0.05, confidence=95), "bad-parameter"),
        (lambda: sample_size(0.05, population=0), "no-rows"),
        (lambda: sample_margin(0), "bad-parameter"),
        (lambda: sample_margin(11, population=10), "bad-parameter"),
        (lambda: draw_sample(10, 11), "bad-parameter"),
        (lambda: draw_sample(10, 0), "bad-parameter"),
        (lambda: draw_sample(0, 1), "no-rows"),
        (lambda: draw_sample(10, 1, -1), "bad-parameter"),
        (lambda: draw_sample(10, 1, "seed"), "bad-parameter"),
    ],
)
def test_sizes_that_cannot_be(call, code):
    with pytest.raises((DataError, UsageError)) as caught:
        call()
    assert caught.value.code == code


# -- intervals --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("population", "n"), [(2000, 100), (400, 100), (300, 150), (150, 50)])
def test_accuracy_interval_covers_as_it_says_by_exact_count(population, n):
    """Over all accuracies from one half up: 95% on average, and not much less where accuracy is not extreme."""
    intervals = np.array([share_interval(count, n, population, two_sided_z(0.95)) for count in range(n + 1)])
    right = np.arange(population // 2, population + 1)
    held = (intervals[:, :1] <= right / population + 1e-12) & (intervals[:, 1:] >= right / population - 1e-12)
    coverage = (hypergeom.pmf(np.arange(n + 1)[:, None], population, right, n) * held).sum(axis=0)
    assert 0.945 <= coverage.mean() <= 0.96
    assert coverage[right <= 0.9 * population].min() >= 0.91
    # Without the correction the interval would be too wide when half of the documents are checked.
    assert coverage[right <= 0.9 * population].mean() <= 0.965


def test_share_and_precision_intervals_cover_by_simulation():
    true, said = world(1500)
    draws, shares, precision = 400, np.zeros(3), np.zeros(3)
    right = [np.mean(true[said == name] == name) for name in NAMES]
    for seed in range(draws):
        rows = draw_sample(1500, 150, seed)
        found = check_labels(said, rows, true[rows])
        shares += [row["low"] <= np.mean(true == row["class"]) <= row["high"] for row in found.shares]
        precision += [row["low"] <= right[i] <= row["high"] for i, row in enumerate(found.precision)]
    # Three standard deviations of 400 trials at 0.95 are 0.033.
    assert np.all(shares / draws >= 0.917)
    assert np.all(precision / draws >= 0.917)


def test_corrected_shares_are_right_on_average_where_counted_labels_are_not():
    true, said = world(1500)
    truth, by_labels = ([np.mean(column == name) for name in NAMES] for column in (true, said))
    estimates = []
    for seed in range(400):
        rows = draw_sample(1500, 150, seed)
        estimates.append([row["estimate"] for row in check_labels(said, rows, true[rows]).shares])
    mean, error = np.mean(estimates, axis=0), np.std(estimates, axis=0) / np.sqrt(400)
    assert np.all(np.abs(mean - truth) < 3.5 * error)
    assert np.max(np.abs(np.array(by_labels) - truth)) > 5 * error.max()


@given(st.data())
@settings(max_examples=60)
def test_tables_agree_with_each_other(data):
    population = data.draw(st.integers(1, 60))
    codes = st.lists(st.integers(0, 3), min_size=population, max_size=population)
    said, true = (np.array(list("abcd"))[data.draw(codes)] for _ in range(2))
    rows = draw_sample(population, data.draw(st.integers(1, population)), 0)
    found = check_labels(said, rows, true[rows])
    assert 0 <= found.low <= found.accuracy <= found.high <= 1
    assert sum(row["estimate"] for row in found.shares) == pytest.approx(1)
    assert sum(row["right"] for row in found.precision) == found.right
    assert sum(row["checked"] for row in found.precision) == found.n == len(rows)
    assert sum(row["documents"] for row in found.confusion) == found.n
    for row in [*found.shares, *(row for row in found.precision if row["checked"])]:
        assert -1e-12 <= row["low"] <= row.get("estimate", row.get("precision")) <= row["high"] <= 1 + 1e-12
    if found.n == population:
        assert found.low == pytest.approx(np.mean(said == true)) == pytest.approx(found.high)
        for row in found.shares:
            assert row["low"] == pytest.approx(np.mean(true == row["class"])) == pytest.approx(row["high"])


def test_difference_interval_does_not_collapse_and_turns_over():
    low, high = difference_ends(0.0, 0.0, 100, two_sided_z(0.95))
    assert low == pytest.approx(-high)
    assert high == pytest.approx(1.96 * np.sqrt(2) / 102, rel=1e-3)
    ends = difference_ends(0.1, 0.02, 100, 1.96)
    assert difference_ends(0.02, 0.1, 100, 1.96) == pytest.approx((-ends[1], -ends[0]))


# -- labels as people type them ---------------------------------------------------------------------------------------


def test_typed_labels_find_their_class():
    assert match_classes([" staff", "STAFF", "", None, float("nan"), "  "], ["staff", "price"]) == [
        "staff", "staff", None, None, None, None,
    ]  # fmt: skip
    assert match_classes(["us", "US", "Us"], ["us", "US"]) == ["us", "US", "Us"]
    assert match_classes(["3", 3.0, 3, -1, "-1", "4"], [3, 5]) == [3, 3, 3, None, None, "4"]
    assert match_classes(["-1"], ["1", "-1"]) == ["-1"]
    assert match_classes([True, "False"], [False, True]) == [True, False]


def test_numbers_find_their_class_however_they_are_written():
    assert match_classes(["1.0", "2.0", "1", " 2.00 ", "-1.0"], [1, 2]) == [1, 2, 1, 2, None]
    assert match_classes(["1.0", "2.0"], ["1", "2"]) == ["1", "2"]
    assert match_classes(["1", "0.50"], ["1.0", "0.5"]) == ["1.0", "0.5"]
    assert match_classes(["7.0", "7"], ["1", "2"]) == ["7.0", "7.0"]  # one new class, not two
    assert match_classes(["7.0", "7"], ["007", "7"]) == ["7.0", "7"]  # could be either
    assert match_classes(["nan", "inf", "1_0"], ["-inf", "10"]) == ["nan", "inf", "1_0"]
    found = check_labels([1, 2] * 10, [0, 1, 2, 3], ["1.0", "2.0", "", "2.0"])
    assert (found.right, found.n, found.new_classes) == (3, 3, [])


def test_a_class_the_model_does_not_know_is_wrong_and_named():
    found = check_labels(["a", "b"] * 10, [0, 1, 2, 3], ["a", "Other", "other", "b"], classes=["a", "b", "c"])
    assert (found.right, found.n, found.new_classes) == (2, 4, ["Other"])
    assert [row["class"] for row in found.shares] == ["a", "b", "c", "Other"]
    assert [row["class"] for row in found.precision] == ["a", "b", "c"]
    assert found.shares[-1]["labels"] == 0 < found.shares[-1]["estimate"]
    assert {"label": "b", "true_label": "Other", "documents": 1} in found.confusion
    assert "Other: proportion" in str(found)
    assert "none of the classes" in str(found)


def test_blank_and_repeated_rows():
    found = check_labels(["a", "b"] * 10, [0, 1, 1, 2], ["a", "b", "b", None])
    assert (found.n, found.blank, found.rows) == (2, 1, [0, 1])
    assert "1 document of the sample without a true label" in str(found)


@pytest.mark.parametrize(
    ("rows", "truths", "words"),
    [
        ([0, 20], ["a", "a"], "Document 21 does not exist: the result has 20 documents"),
        ([-1], ["a"], "Document 0 does not exist"),
        ([3, 3], ["a", "b"], "Document 4 is in the sample twice, as 'a' and as 'b'"),
        ([1, 2], ["", None], "None of the 2 documents of the sample has a true label"),
        ([], [], "None of the 0 documents"),
        ([0.5], ["a"], "whole numbers"),
    ],
)
def test_samples_that_cannot_be(rows, truths, words):
    with pytest.raises(DataError, match=words) as caught:
        check_labels(["a", "b"] * 10, rows, truths)
    assert caught.value.code == "bad-check"


def test_one_truth_per_document():
    with pytest.raises(DataError) as caught:
        check_labels(["a", "b"], [0, 1], ["a"])
    assert caught.value.code == "length-mismatch"


def test_what_became_of_the_expectation():
    def found(right, low, high, n=100):
        expected = AccuracyEstimate((low + high) / 2, low, high)
        truths = ["a"] * right + ["b"] * (n - right)
        return check_labels(["a"] * 5000, range(n), truths, expected=expected)

    assert found(87, 0.79, 0.95).expectation == "held"
    assert found(60, 0.80, 0.92).expectation == "too high"
    assert found(99, 0.60, 0.72).expectation == "too low"
    assert found(76, 0.80, 0.92).expectation == "open"
    assert "perhaps not, but too few documents were checked to say" in str(found(76, 0.80, 0.92))
    # Right where it was expected, but known less exactly than it was expected.
    assert found(4, 0.78, 0.95, n=5).expectation == "open"
    assert found(85, 0.80, 0.92).expectation == "open"
    assert found(170, 0.80, 0.92, n=200).expectation == "held"
    assert "not contradicted, but too few documents were checked to say" in str(found(4, 0.78, 0.95, n=5))
    # A handful can still contradict.
    assert found(0, 0.78, 0.95, n=5).expectation == "too high"
    assert check_labels(["a"] * 9, [0], ["a"], expected=AccuracyEstimate(None)).expectation is None
    assert "expected" not in str(check_labels(["a"] * 9, [0], ["a"]))


def test_answered_documents_move_the_interval_and_leave_it_as_wide():
    """Of 100 documents 40 are answered, and the other 60 are right to 80%, from 70 to 85."""
    found = replace(check_labels(["a"] * 100, [0], ["a"]), accuracy=0.8, low=0.7, high=0.85)
    moved = found.with_answered(0, 40, 1)
    assert (moved.accuracy, moved.low, moved.high) == pytest.approx((0.88, 0.78, 0.93))
    # What is known to be right is a floor, and everything a ceiling: 90 and all of the ten others.
    moved = found.with_answered(0, 90, 1)
    assert (moved.accuracy, moved.low, moved.high) == pytest.approx((0.98, 0.9, 1.0))
    # Five of 20 checked answers are wrong, so that 30 of all 40 answers are expected to be right.
    moved = found.with_answered(5, 40, 20)
    assert moved.accuracy == pytest.approx((30 + 0.8 * 60) / 100)
    low, high = wilson_ends(0.75, 20, two_sided_z(0.95))
    assert moved.low == pytest.approx(0.78 - hypot(0.1, 0.4 * (0.75 - low)))
    assert moved.high == pytest.approx(0.78 + hypot(0.05, 0.4 * (high - 0.75)))


# -- the table that goes out and comes back ---------------------------------------------------------------------------

TEXTS = ["kind staff", "high price", "rude staff", "fair price"]


def test_table_comes_back_in_many_forms():
    polars = pytest.importorskip("polars")
    table = sample_table([2, 0], TEXTS, ["007", "8", "9", "10"])
    assert table == {
        "document": [3, 1],
        "id": ["9", "007"],
        "text": ["rude staff", "kind staff"],
        "true_label": [None] * 2,
        "drawn": ["random"] * 2,
    }
    filled = table | {"true_label": ["staff", None]}
    rows = [dict(zip(filled, cells, strict=True)) for cells in zip(*filled.values(), strict=True)]
    for form in (filled, rows, polars.DataFrame(filled), filled | {"document": ["3", "1.0"], "id": ["9.0", "7"]}):
        found, truths = read_sample(form, TEXTS, ["007", "8", "9", "10"])
        assert (found.tolist(), truths) == ([2, 0], ["staff", None])


def test_rows_in_which_nothing_stands_are_passed_over():
    rows, truths = read_sample({"document": ["1", "", None], "true_label": ["a", " ", None]}, TEXTS)
    assert (rows.tolist(), truths) == ([0], ["a"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": ["8", "x"]}, "Document 1 has the id 'x' in the sample and '7' in the labelling"),
        ({"text": ["other", "texts"]}, "2 of 2 texts of the sample are not those of the labelling, first document 2"),
        ({"document": ["2", "one"]}, "'one' in the column document is not a document's number"),
        ({"document": ["2", ""]}, "'' in the column document is not a document's number"),
        ({"document": [2, 9]}, "Document 9 does not exist: the result has 4"),
        ({"document": [2, 0]}, "Document 0 does not exist"),
        ({"document": [2, "inf"]}, "not a document's number"),
    ],
)
def test_tables_of_another_labelling_are_refused(changes, words):
    table = {"document": [2, 1], "id": ["8", "7"], "text": ["high price", "kind staff"], "true_label": ["a", "b"]}
    with pytest.raises(DataError, match=words) as caught:
        read_sample(table | changes, TEXTS, ["7", "8", "9", "10"])
    assert caught.value.code == "bad-check"


def test_some_texts_may_have_been_changed():
    table = {"document": [1, 2], "text": ["kind  staff\n", "changed"], "true_label": ["a", "b"]}
    assert read_sample(table, TEXTS)[0].tolist() == [0, 1]


def test_missing_columns_are_named():
    for table in ({"true_label": ["a"]}, {"document": [1]}):
        with pytest.raises(DataError, match="has no column") as caught:
            read_sample(table, TEXTS)
        assert caught.value.code == "bad-check"


@pytest.mark.parametrize("name", ["document", "true_label", "id", "text"])
def test_columns_of_one_length(name):
    table = sample_table([2, 0], TEXTS) | {"true_label": ["a", "b"]}
    with pytest.raises(DataError, match=f"not of one length .*{name} 1") as caught:
        read_sample(table | {name: table[name][:1]}, TEXTS)
    assert caught.value.code == "length-mismatch"


# -- on a result ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result():
    source = ["friendly staff", "high price", "rude staff", "fair price"] * 5
    target = [f"{'staff' if i % 3 else 'price'} number {i}" for i in range(60)]
    return isthmus.label(source, ["staff", "price"] * 10, target, method="nbc")


def test_result_draws_and_checks_its_own_sample(result):
    sample = result.sample(12)
    assert list(sample) == ["document", "id", "text", "true_label", "drawn"]
    assert sample == result.sample(12, random_state=0)
    assert sample["document"] == result.sample(30)["document"][:12]
    truths = ["price" if text.startswith("price") else "Staff" for text in sample["text"]]
    found = result.check(sample | {"true_label": truths})
    assert (found.right, found.n, found.population) == (12, 12, 60)
    assert found == result.check(sample["document"], truths)
    assert len(result.sample()["document"]) == sample_size(0.05, population=60)
    assert len(result.sample(margin=0.2)["document"]) == sample_size(0.2, population=60)
    with pytest.raises(UsageError):
        result.sample(5, margin=0.1)


def test_corrections_are_put_in(result):
    found = result.check([1, 2], ["parking", "staff"])
    labels, confidence = found.corrected(result.labels, result.confidence)
    assert labels[:2].tolist() == ["parking", "staff"]
    assert confidence[:2].tolist() == [1.0, 1.0]
    np.testing.assert_array_equal(labels[2:], result.labels[2:])
    np.testing.assert_array_equal(confidence[2:], result.confidence[2:])
    assert result.labels[0] != "parking"


def test_class_shares_of_a_result(result):
    rows = replace(result, checked=None).class_shares()
    assert [row["class"] for row in rows] == ["price", "staff"]
    assert [row["source"] for row in rows] == [0.5, 0.5]
    assert sum(row["estimate"] for row in rows) == pytest.approx(1)
    assert rows[0]["labels"] == pytest.approx(1 / 3)


def test_shares_without_known_source_labels():
    rows = estimate_shares([[0.2, 0.8]], [1], [0, 1], np.array([None, None], dtype=object))
    assert [(row["class"], row["source"], row["labels"], row["estimate"]) for row in rows] == [
        (0, None, 0.0, 0.2),
        (1, None, 1.0, 0.8),
    ]


def test_grades_are_also_scored_by_distance():
    labels = ["1", "2", "3", "4", "5"] * 4
    # rows 0, 1, 4: labels 1, 2, 5; truths 1, 4, 3: no step, two steps, two steps
    found = check_labels(labels, [0, 1, 4], ["1", "4", "3"])
    assert found.grade_distance == pytest.approx(4 / 3)
    assert "1.33 steps" in str(found)
    assert check_labels(["a", "b"] * 5, [0, 1], ["a", "a"]).grade_distance is None


def test_a_misspelt_true_label_is_asked_about():
    said = str(check_labels(["price", "staff", "staff"], [0, 1, 2], ["price", "stafff", "parking"]))
    assert "counts as wrong; did you mean staff? Correct the table and check again" in said
    assert said.count("did you mean") == 1


def test_a_sample_of_the_surest_keeps_the_numbers_of_its_documents():
    labels, confidence = np.array(["a", "b", "a", "b"]), np.array([0.6, 0.7, 0.8, 0.9])
    found = check_sample(labels, confidence, [3, 2], ["b", "b"], among=2)
    assert (found.rows, found.true_labels, found.right) == ([3, 2], ["b", "b"], 1)


def test_class_shares_are_about_documents_that_count():
    labels = ["a"] * 50 + ["b"] * 40 + ["a"] * 10
    counted = np.arange(100) < 90
    checked = [*range(0, 90, 3), 95]
    found = check_labels(labels, checked, [labels[row] for row in checked], counted=counted)
    assert [round(row["labels"], 6) for row in found.shares] == [round(5 / 9, 6), round(4 / 9, 6)]
    assert [row["estimate"] for row in found.shares] == [row["labels"] for row in found.shares]
    assert (found.n, found.population) == (31, 100)  # the accuracy is that of all
    surest = check_sample(labels, np.linspace(1, 0.5, 100), [0, 89, 95], ["a", "b", "a"], among=98, counted=counted)
    assert [round(row["labels"], 6) for row in surest.shares] == [round(5 / 9, 6), round(4 / 9, 6)]
    # The surest last: two documents of class a are beyond the 98.
    surest = check_sample(labels, np.linspace(0.5, 1, 100), [2, 89, 95], ["a", "b", "a"], among=98, counted=counted)
    assert [round(row["labels"], 6) for row in surest.shares] == [round(48 / 88, 6), round(40 / 88, 6)]
    alone = check_labels(labels, [95], ["a"], counted=counted)
    assert [row["labels"] for row in alone.shares] == [0.6, 0.4]


def test_classes_that_a_check_finds_are_named_in_order():
    found = check_labels(np.array(["m"] * 6), [0, 1, 2], ["z", "b", "m"], classes=["m"])
    assert found.new_classes == ["b", "z"]


def test_a_sample_of_the_surest_is_refused_from_the_first_place_beyond():
    """Documents 1 and 3 are the two surest."""
    labels, confidence = np.array(["a"] * 4), [0.2, 0.9, 0.5, 0.8]
    assert check_sample(labels, confidence, [1, 3], ["a", "a"], among=2).n == 2
    with pytest.raises(DataError, match="from the 2 most confident documents of another labelling"):
        check_sample(labels, confidence, [1, 2], ["a", "a"], among=2)
    with pytest.raises(DataError, match="None of the 0 documents"):
        check_sample(labels, confidence, np.zeros(0, dtype=int), [], among=2)


def test_rows_of_a_table_are_no_rows():
    with pytest.raises(DataError, match="There are 2 documents and 1 true labels"):
        check_labels(np.array(["a", "b"]), np.array([[0, 1]]), ["a"])
