"""Which labels a person should read."""

import numpy as np
import pytest

from isthmus._math.confidence import review_later
from isthmus.choose import review_mask


def test_review_takes_the_least_sure_first_and_stops_at_the_budget():
    # doubts of the surest one, two, three, four: 0.1, 0.15, 0.2, 0.275 on average
    confidence = [0.7, 0.9, 0.5, 0.8]
    assert review_mask(confidence, 0.15).tolist() == [True, False, True, False]
    assert review_mask(confidence, 0.1999).tolist() == [True, False, True, False]
    assert review_mask(confidence, 0.2).tolist() == [False, False, True, False]


@pytest.mark.parametrize(("surest", "reviewed"), [(1.0, [False, False]), (0.9, [True, True])])
def test_later_texts_count_for_no_more_than_one_method_is_believed_for(surest, reviewed):
    """Doubts of 0.01 and 0.02 keep to a budget of 0.05, doubts of 0.1 do not."""
    settings = {"caution": 0.0, "surest": surest, "error_budget": 0.05}
    nowhere, known = np.array(["", ""], dtype=object), np.zeros(2, dtype=bool)
    confidence, reasons = review_later(np.array([[0.99, 0.01], [0.02, 0.98]]), np.arange(2), nowhere, known, settings)
    assert confidence.tolist() == [0.99, 0.98]
    assert (reasons != "").tolist() == reviewed
