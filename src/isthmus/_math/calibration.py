"""Scores to probabilities by one temperature, fitted on held-out rows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp


def fit_temperature(scores: np.ndarray, codes: np.ndarray, *, bounds: tuple[float, float] = (1e-3, 1e3)) -> float:
    """The factor a that makes softmax(a·scores) most likely for the true classes.

    One parameter, because held-out rows are few: it cannot change which class wins, only how sure it sounds.
    """
    rows = np.arange(len(codes))

    def loss(log_factor: float) -> float:
        scaled = scores * np.exp(log_factor)
        return float(np.mean(logsumexp(scaled, axis=1) - scaled[rows, codes]))

    low, high = np.log(bounds[0]), np.log(bounds[1])
    return float(np.exp(minimize_scalar(loss, bounds=(low, high), method="bounded").x))
