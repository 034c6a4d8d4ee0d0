"""The door for answers: rows marked as answered are labelled rows, and nothing else of the target comes in."""

import numpy as np
import pytest

from isthmus import CoClusteringClassifier, SourceOnlyClassifier, TermProjectionClassifier
from isthmus.base import ANSWERED, check_transfer_data


def make_rows(seed=0):
    rng = np.random.default_rng(seed)
    y = np.array([0, 1] * 40)
    words = rng.poisson(0.3, (80, 12)).astype(float)
    words[np.arange(80), y * 3 + rng.integers(0, 3, 80)] += 3  # words 0-2 speak for 0, words 3-5 for 1
    domain = np.where(np.arange(80) < 40, 1, -1)
    return words, y, domain


def test_answered_rows_are_labelled_rows_of_a_domain_of_their_own():
    words, y, domain = make_rows()
    domain[[50, 61]] = ANSWERED
    domains = check_transfer_data(SourceOnlyClassifier(), words, y, domain)
    assert domains.answered.tolist() == [50, 61]
    assert domains.codes[[50, 61]].tolist() == [0, 1]
    np.testing.assert_array_equal(domains.codes[domain < 0], -1)
    assert domains.source_domains.tolist() == [1, ANSWERED]


def seeded(model):
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


@pytest.mark.parametrize("make", [SourceOnlyClassifier, CoClusteringClassifier, TermProjectionClassifier])
def test_answers_hold_and_other_target_labels_change_nothing(make):
    words, y, domain = make_rows()
    answered = np.array([50, 61, 70])
    domain[answered] = ANSWERED
    turned = y.copy()
    turned[domain < 0] = 1 - turned[domain < 0]
    one, other = (seeded(make()).fit(words, labels, sample_domain=domain).transduction_ for labels in (y, turned))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one[answered], y[answered])
