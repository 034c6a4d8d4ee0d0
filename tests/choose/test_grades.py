"""Labels that are grades: how far off they may be, and which neighbours to merge."""

import numpy as np
import pytest

from isthmus.choose import check_labels
from isthmus.choose.grades import grade_warnings


def test_neighbouring_grades_are_merged_where_the_sides_are_surer_than_the_grades():
    """Each label shares its probability with the neighbour on its side: 60% right, all of them on the right side."""
    classes = np.array(["1", "2", "3", "4"])
    proba = np.array([[0.6, 0.4, 0, 0], [0.4, 0.6, 0, 0], [0, 0, 0.6, 0.4], [0, 0, 0.4, 0.6]])
    (found,) = grade_warnings(proba, np.arange(4), classes)
    assert found["topic"] == "grades"
    for figure in ("60%", "100%", "0.4 steps", "1 to 2 and 3 to 4"):
        assert figure in found["message"]
    assert grade_warnings(proba, np.arange(4), np.array(["a", "b", "c", "d"])) == []
    assert grade_warnings(np.eye(4), np.arange(4), classes) == [], "nothing to gain"


def test_a_cut_that_leaves_nearly_all_on_one_side_is_not_recommended():
    """Hardly any document has grade 1: whoever says "not 1" is right nearly always, and says nothing."""
    proba = np.array([[0.02, 0.38, 0.35, 0.25], [0.02, 0.38, 0.35, 0.25], [0.02, 0.1, 0.38, 0.5]])
    assert grade_warnings(proba, proba.argmax(axis=1), np.array([1, 2, 3, 4])) == []


def test_a_check_of_grades_counts_the_labels_at_most_one_step_off():
    found = check_labels(["1", "2", "3", "1"], [0, 1, 2, 3], ["1", "3", "3", "3"])
    assert (found.grade_distance, found.within_one_step) == (pytest.approx(0.75), pytest.approx(0.75))
    assert check_labels(["a", "b"], [0, 1], ["a", "b"]).within_one_step is None
