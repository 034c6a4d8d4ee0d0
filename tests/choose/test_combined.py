"""Votes of several methods, pooled by hand."""

import numpy as np
import pytest

from isthmus.choose.stages.apply import confidence_from_margin, find_shift, pool
from isthmus.feedback.views import centred_logs


def test_no_method_vetoes_a_class_by_calling_it_impossible():
    """Without the floor of one in a thousand a single method would decide."""
    undecided, sure = np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])
    odds = np.sqrt(1000.0)  # half of log 1000: two methods of equal weight
    pooled = pool({"a": undecided, "b": sure}, {"a": 0.5, "b": 0.5})
    assert pooled[0] == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])
    assert centred_logs(sure)[0] == pytest.approx([np.log(odds), -np.log(odds)])


def test_confidence_goes_by_the_margin_and_labels_stay():
    rng = np.random.default_rng(0)
    own = rng.dirichlet([0.6] * 4, 200)
    for shift in (-6.0, 0.0, 3.0):
        sure = confidence_from_margin(own, shift)
        np.testing.assert_array_equal(sure.argmax(axis=1), own.argmax(axis=1), err_msg="a label changed")
        np.testing.assert_allclose(sure.sum(axis=1), 1.0, err_msg="probabilities must sum to one")
    ordered = np.sort(own, axis=1)
    margin = np.log(np.maximum(ordered[:, -1], 1e-3)) - np.log(np.maximum(ordered[:, -2], 1e-3))
    sure = confidence_from_margin(own, 3.0).max(axis=1)  # so high that no next class comes near
    np.testing.assert_allclose(np.log(sure / (1 - sure)), 3.0 + 0.88 * margin)
    np.testing.assert_array_equal(confidence_from_margin(own, None), own, err_msg="without a shift nothing changes")


def test_a_label_that_all_others_exclude_stays_whole():
    assert confidence_from_margin(np.array([[1.0, 0.0]]), -3.0).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("accuracy", [0.6, 0.8, 0.95])
def test_the_shift_brings_the_mean_confidence_to_the_accuracy(accuracy):
    own = np.random.default_rng(0).dirichlet([0.6] * 3, 300)
    sure = confidence_from_margin(own, find_shift(own, accuracy)).max(axis=1)
    assert sure.mean() == pytest.approx(accuracy, abs=1e-4)


def test_a_single_class_is_as_sure_as_it_was():
    own = np.array([[1.0], [1.0]])
    np.testing.assert_array_equal(confidence_from_margin(own, 0.5), own)
