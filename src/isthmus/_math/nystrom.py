"""The Nyström map: features of a kernel from a few landmark rows."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh


def inverse_root(K: np.ndarray) -> np.ndarray:
    """K^(−1/2) of a symmetric matrix, directions without weight left out."""
    values, vectors = eigh((K + K.T) / 2)
    keep = values > max(values[-1], 0.0) * len(values) * np.finfo(float).eps * 100
    return (vectors[:, keep] / np.sqrt(values[keep])) @ vectors[:, keep].T
