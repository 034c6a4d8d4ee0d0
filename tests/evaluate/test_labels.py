"""Label metrics against counting by hand and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from isthmus.evaluate import accuracy, error_rate, macro_f1, micro_f1
from isthmus.evaluate.labels import shared_codes
from isthmus.exceptions import DataError, UsageError

pairs = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcde")), min_size=1, max_size=40)


@given(pairs)
@settings(max_examples=50)
def test_agree_with_scikit_learn(rows):
    true, pred = map(list, zip(*rows, strict=True))
    assert accuracy(true, pred) == pytest.approx(accuracy_score(true, pred))
    assert error_rate(true, pred) == pytest.approx(1 - accuracy_score(true, pred))
    assert macro_f1(true, pred) == pytest.approx(f1_score(true, pred, average="macro", zero_division=0))
    assert micro_f1(true, pred) == pytest.approx(accuracy_score(true, pred))
    some = ["b", "c", "e"]
    assert macro_f1(true, pred, classes=some) == pytest.approx(
        f1_score(true, pred, labels=some, average="macro", zero_division=0)
    )
    assert micro_f1(true, pred, classes=some) == pytest.approx(
        f1_score(true, pred, labels=some, average="micro", zero_division=0)
    )


@given(pairs, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_row_order_and_label_names_do_not_matter(rows, random):
    true, pred = map(list, zip(*rows, strict=True))
    shuffled = list(rows)
    random.shuffle(shuffled)
    names = {"a": 7, "b": 3, "c": 0, "d": 12, "e": -1}
    renamed_true = np.array([names[row[0]] for row in shuffled])
    renamed_pred = np.array([names[row[1]] for row in shuffled])
    for metric in (accuracy, error_rate, macro_f1, micro_f1):
        assert metric(renamed_true, renamed_pred) == pytest.approx(metric(true, pred))


@pytest.mark.parametrize(
    ("true", "pred", "expected"),
    [
        ([1, 2], ["1", "2"], 0.0),  # a number is not its name
        (np.array([1, 0]), np.array([1.0, 0.0]), 1.0),
        (np.array([True, False]), [1, 1], 0.5),
        (np.array(["a", "b"], dtype=object), np.array(["a", "b"]), 1.0),
        ([1, "a", ("x", 2)], [1, "b", ("x", 2)], 2 / 3),
        (np.array([[1], [2]]), [1, 3], 0.5),
        ([b"a", b"b"], [b"a", b"a"], 0.5),
        (["a", 1], np.array(["a", "1"]), 0.5),
    ],
)
def test_labels_of_any_kind(true, pred, expected):
    assert accuracy(true, pred) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("true", "pred", "code"),
    [
        ([], [], "no-rows"),
        ([1, 2], [1], "length-mismatch"),
        (["a", None], ["a", "b"], "bad-labels"),
        ([1.0, float("nan")], [1.0, 2.0], "bad-labels"),
        (np.array(["a", float("nan")], dtype=object), ["a", "b"], "bad-labels"),
        ([[1, 2], [3, 4]], [1, 2], "bad-labels"),
    ],
)
def test_refusals(true, pred, code):
    with pytest.raises(DataError) as caught:
        macro_f1(true, pred)
    assert caught.value.code == code


def test_columns_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    true = pandas.Series(["a", "b", "a"], dtype="category")
    assert accuracy(true, pandas.Series(["a", "b", "b"])) == pytest.approx(2 / 3)
    with pytest.raises(DataError, match="missing"):
        accuracy(pandas.Series([1, None, 2], dtype="Int64"), [1, 2, 2])


def test_no_classes_are_refused():
    with pytest.raises(UsageError, match="at least one class"):
        micro_f1([1, 2], [1, 2], classes=[])


def test_nothing_of_the_listed_classes_gives_zero():
    assert micro_f1(["a"], ["a"], classes=["b"]) == 0.0
    assert macro_f1(["a"], ["a"], classes=["a", "b"]) == 0.5


@pytest.mark.parametrize(
    ("columns", "union"),
    [
        ((["pear", "apple"], ["fig", "apple"]), ["apple", "fig", "pear"]),
        ((np.array(["pear", "apple"], dtype=object), ["fig", "apple"]), ["apple", "fig", "pear"]),
        (([b"pear", b"fig"], [b"apple", b"pear"]), [b"apple", b"fig", b"pear"]),
        ((["z", 3], [3, "a"]), ["z", 3, "a"]),
    ],
    ids=["texts", "objects", "bytes", "cannot be compared"],
)
def test_labels_are_numbered_in_their_order(columns, union):
    codes, values = shared_codes(*columns, names=("true", "pred"))
    assert values == union
    for column, own in zip(columns, codes, strict=True):
        assert [values[code] for code in own] == list(column), "each code stands for its label"
