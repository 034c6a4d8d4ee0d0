"""Which labels a person should read."""

import numpy as np
import pytest

from isthmus._math.confidence import review_later
from isthmus.choose import ExpectedErrors, review_mask


def test_review_takes_the_least_sure_first_and_stops_at_the_budget_of_the_whole_file():
    # doubts of the most confident one, two, three, four, divided by four documents: 0.025, 0.075, 0.15, 0.275
    confidence = [0.7, 0.9, 0.5, 0.8]
    assert review_mask(confidence, 0.0749).tolist() == [True, False, True, True]
    assert review_mask(confidence, 0.075).tolist() == [True, False, True, False]
    assert review_mask(confidence, 0.2749).tolist() == [False, False, True, False]
    assert review_mask(confidence, 0.275).tolist() == [False, False, False, False]


def test_a_label_more_likely_wrong_than_right_passes_only_if_any_errors_are_accepted():
    assert review_mask([0.9, 0.49], 0.99).tolist() == [False, True]
    assert review_mask([0.9, 0.49], 1.0).tolist() == [False, False]


def test_documents_that_are_read_in_any_case_use_nothing_of_the_budget():
    confidence, must_read = [0.9, 0.8, 0.8], [True, False, False]
    assert review_mask(confidence, 0.14, must_read=must_read).tolist() == [True, False, False]  # 0.4 / 3
    assert review_mask(confidence, 0.13, must_read=must_read).tolist() == [True, True, True]  # equal ones together


def test_expected_errors_count_unread_documents_only():
    found = ExpectedErrors.of([0.9, 0.7, 0.2, 0.1], [False, False, True, True])
    assert (found.finished_file, found.unread) == (0.1, 0.2)
    assert ExpectedErrors.of([0.9], [True]) == ExpectedErrors(0.0, None)


@pytest.mark.parametrize(("surest", "reviewed"), [(1.0, [False, False]), (0.9, [True, True])])
def test_later_texts_count_for_no_more_than_one_method_is_believed_for(surest, reviewed):
    """Doubts of 0.01 and 0.02 keep to a budget of 0.049, doubts of 0.1 do not, not even one of two documents."""
    settings = {"caution": 0.0, "surest": surest, "error_budget": 0.049}
    nowhere, known = np.array(["", ""], dtype=object), np.zeros(2, dtype=bool)
    confidence, reasons = review_later(np.array([0.99, 0.98]), nowhere, known, settings)
    assert confidence.tolist() == [0.99, 0.98]
    assert (reasons != "").tolist() == reviewed
