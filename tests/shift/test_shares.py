"""Class shares by three estimators, with numbers worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from isthmus.choose.stages.apply import reweight_classes
from isthmus.shift.shares import LABEL_SHIFT, _prior, compare_shares, likely_shares, total_variation

CLASSES = np.array(["a", "b"])


def test_likely_shares_are_the_maximum_of_the_likelihood():
    # maximise 3 log(0.9 s + 0.1 (1 - s)) + log(0.2 s + 0.8 (1 - s)):
    # 2.4 (0.8 - 0.6 s) = 0.6 (0.1 + 0.8 s), so s = 1.86 / 1.92
    rows = np.array([[0.9, 0.1]] * 3 + [[0.2, 0.8]])
    shares, adjusted = likely_shares(rows, np.array([0.5, 0.5]))
    assert shares[0] == pytest.approx(1.86 / 1.92, abs=1e-4)
    assert adjusted.sum(axis=1) == pytest.approx(np.ones(4))


def test_certain_probabilities_are_counted():
    rows = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]])
    shares, _ = likely_shares(rows, np.array([0.5, 0.5]))
    assert shares == pytest.approx([0.75, 0.25], abs=2e-3)


def test_caution_pulls_towards_the_source():
    rows = np.array([[0.9, 0.1]] * 9 + [[0.1, 0.9]])
    bold, _ = likely_shares(rows, np.array([0.5, 0.5]))
    careful, _ = likely_shares(rows, np.array([0.5, 0.5]), caution=0.5)
    assert 0.5 < careful[0] < bold[0]


def turned(n_source_of_b=10):
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.55, 0.95, 100)
    rows = np.column_stack([np.r_[sure[:10], 1 - sure[10:]], np.r_[1 - sure[:10], sure[10:]]])
    source = ["a"] * (100 - n_source_of_b) + ["b"] * n_source_of_b
    return compare_shares(source, rows, CLASSES[rows.argmax(axis=1)], CLASSES), rows


def test_turned_shares_are_seen_and_may_be_followed():
    shift, rows = turned()
    assert shift.moved
    assert shift.by_labels.tolist() == [0.1, 0.9]
    assert total_variation(shift.by_labels, shift.source) == pytest.approx(0.8)
    assert shift.supported
    assert shift.factors == pytest.approx(shift.cautious / shift.source)
    assert reweight_classes(rows, shift.factors)[:, 1].mean() > rows[:, 1].mean()


def test_a_class_of_next_to_no_source_documents_is_not_followed():
    shift, _ = turned(n_source_of_b=1)
    assert shift.moved
    assert shift.factors.max() > LABEL_SHIFT["growth"]
    assert not shift.supported


def test_shares_that_move_against_the_labels_are_not_followed():
    shift, _ = turned()
    back = replace(shift, cautious=np.array([0.97, 0.03]))
    assert not back.supported


def test_same_shares_change_nothing():
    rows = np.array([[0.8, 0.2], [0.2, 0.8]] * 10)
    shift = compare_shares(["a", "b"] * 5, rows, CLASSES[rows.argmax(axis=1)], CLASSES)
    assert not shift.moved
    assert not shift.supported


def test_a_class_of_no_source_documents_may_have_a_share_in_the_target():
    """Learned with a share of nought, it would keep it whatever the documents say."""
    assert _prior([1.0, 0.0]) == pytest.approx([1 / 1.001, 0.001 / 1.001])
