"""Sums over blocks."""

import numpy as np

from isthmus.features.blocks import least_bins


def test_the_surest_of_a_class_are_counted_from_above():
    """One row of each class, however large the share."""
    counts = np.array([[0, 2, 1, 1], [0, 0, 0, 0], [5, 0, 0, 1]])
    assert least_bins(counts, 0.5).tolist() == [2, -1, 0]  # of a class without rows none is sure enough
