"""Calibration of probabilities, by hand."""

import numpy as np
import pytest

from isthmus._math.calibration import fit_affine


def test_the_penalty_of_an_affine_calibration():
    """Twice the penalty in the loss, once in its gradient. Without one two sure answers would have no best slope."""
    d = np.log(9.0)
    slope, offsets = fit_affine(np.log([[0.9, 0.1], [0.1, 0.9]]), np.array([0, 1]))
    grid = np.linspace(-1.0, 4.0, 50_001)
    best = grid[np.argmin(np.log1p(np.exp(-np.exp(grid) * d)) + 1e-4 * grid**2)]
    assert slope == pytest.approx(np.exp(best), rel=0.01)
    assert offsets == pytest.approx([0.0, 0.0], abs=1e-9)
