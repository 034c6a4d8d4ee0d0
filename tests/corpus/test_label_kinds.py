"""Labels that are no classes are recognised before any work; real classes pass."""

import pytest

from isthmus.corpus.guess import check_label_kind, grade_distance, grade_order, label_kind
from isthmus.exceptions import DataError


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["politics;religion", "politics", "religion;science", "science"] * 10, "several"),
        (["a|b", "b|c", "c"] * 10, "several"),
        (["['oil', 'gas']", "['gas', 'oil']", "['oil']", "['gas']"] * 10, "several"),
        (["hardware, software", "software, hardware", "hardware"] * 10, "several"),
        # A part that also stands alone is no branch of a path, though it is always the first or the last of two.
        (["politics/world", "sports/world", "politics", "sports", "world"] * 10, "several"),
        ([f"2021-{m:02d}-{d:02d}" for m in range(1, 11) for d in range(1, 8)], "dates"),
        ([f"{d}.{m}.2021" for m in range(1, 11) for d in range(1, 8)], "dates"),
        ([f"doc-{i}" for i in range(50)], "ids"),
        ([str(1000 + i) for i in range(50)], "measurements"),
        ([f"{i / 7:.3f}" for i in range(50)], "measurements"),
        ([f"the customer called about item {i}" for i in range(50)], "free-text"),
        (["1", "2", "3", "4", "5"] * 10, "grades"),
        (["High", "low", "medium"] * 10, "grades"),
    ],
)
def test_kinds(labels, kind):
    assert label_kind(labels).kind == kind


@pytest.mark.parametrize(
    "labels",
    [
        ["positive", "negative"] * 20,
        ["hardware/printer", "hardware/screen", "software/mail", "software/office"] * 10,  # paths are names
        ["Washington, D.C.", "Paris, France", "Rome, Italy"] * 10,
        ["0", "1"] * 20,
        [str(i) for i in range(60)] * 10,  # 60 class codes with ten documents each
        ["a;b", "c", "d"] * 3,  # too few to tell
        [None] * 50 + ["x", "y"] * 15,
        ["R&D", "C/C++", "Java", "Perl"] * 10,
    ],
)
def test_real_classes_pass(labels):
    assert label_kind(labels).kind == "classes"
    assert label_kind(labels).message == ""


def test_refusal_says_what_to_do_and_can_be_overruled():
    labels = ["politics;religion", "politics", "religion;politics", "religion"] * 10
    with pytest.raises(DataError) as error:
        check_label_kind(labels, name="The labels of news.csv")
    assert error.value.code == "labels-not-classes"
    assert "4 combinations of 2 labels" in str(error.value)
    assert "force_classes=True" in str(error.value)
    assert check_label_kind(labels, force_classes=True).kind == "several"


def test_grades_keep_their_order_and_type():
    assert grade_order([5, 1, 3]) == (1, 3, 5)
    assert grade_order(["10", "9", "8"]) == ("8", "9", "10")
    assert grade_order(["1", "500", "900"]) == ()
    assert grade_order(["yes", "no"]) == ()


def test_distance_counts_steps_and_passes_over_strangers():
    order = ("low", "medium", "high")
    assert grade_distance(["low", "high", "high"], ["high", "high", "odd"], order)[0] == 1.0
    assert grade_distance(["odd"], ["low"], order) is None


@pytest.mark.parametrize(("several", "kind"), [(4, "classes"), (6, "several")])
def test_some_cells_with_several_labels_are_chance(several, kind):
    """Of a hundred rows: from one in twenty on they are there on purpose."""
    labels = ["oil"] * 50 + ["gas"] * (50 - several) + ["oil;gas", "gas;oil"] * (several // 2)
    assert check_label_kind(labels, force_classes=True).kind == kind
