"""Votes of several methods, pooled by hand."""

import numpy as np
import pytest

from isthmus.choose.combined import pool
from isthmus.feedback.views import centred_logs
from isthmus.scale.methods import VotingModel


def test_no_method_vetoes_a_class_by_calling_it_impossible():
    """Without the floor of one in a thousand a single method would decide."""
    undecided, sure = np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])
    odds = np.sqrt(1000.0)  # half of log 1000: two methods of equal weight
    pooled = pool({"a": undecided, "b": sure}, {"a": 0.5, "b": 0.5})
    assert pooled[0] == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])
    scores = {"a": np.zeros((1, 2)), "b": np.array([[0.0, -1000.0]])}
    found = VotingModel({}, {"a": 0.5, "b": 0.5})._pool(scores)
    assert found[0, 0] - found[0, 1] == pytest.approx(np.log(odds))
    assert centred_logs(sure)[0] == pytest.approx([np.log(odds), -np.log(odds)])
