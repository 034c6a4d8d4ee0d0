"""Which labels a person should read."""

from isthmus.choose import review_mask


def test_review_takes_the_least_sure_first_and_stops_at_the_budget():
    # doubts of the surest one, two, three, four: 0.1, 0.15, 0.2, 0.275 on average
    confidence = [0.7, 0.9, 0.5, 0.8]
    assert review_mask(confidence, 0.15).tolist() == [True, False, True, False]
    assert review_mask(confidence, 0.1999).tolist() == [True, False, True, False]
    assert review_mask(confidence, 0.2).tolist() == [False, False, True, False]
