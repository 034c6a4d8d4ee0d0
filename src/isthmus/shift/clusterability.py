"""Clusterability of a target, matchability of a source and a target (section VI of the paper).

With gold labels of the target the figures are the paper's; without them, clusters found by plain k-means stand in for
the gold groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from isthmus._math.kmeans import group_means, unit_rows


@dataclass(frozen=True)
class Matchability:
    """How plainly groups and clusters find each other; 0 to 1 for similarities that are not negative.

    Attributes
    ----------
    target_side, source_side : float
        Mean lead of the best over the second-best similarity, over target clusters and over source groups.
    """

    target_side: float
    source_side: float

    @property
    def both(self) -> float:
        """Mean of the two sides."""
        return (self.target_side + self.source_side) / 2.0


def clusterability(X: sp.csr_matrix, labels: np.ndarray) -> float:
    """Cab(T|C): mean of sim(document, own centre) − max sim(document, other centre), equation (4).

    Parameters
    ----------
    X : CSR matrix
        Target rows.
    labels : ndarray of int
        Gold groups as 0, 1, …; or found clusters where no gold is known.

    Returns
    -------
    float
        From -1 to 1; an upper bound on what k-means can find, since the centres are the right ones.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus.shift.clusterability import clusterability
    >>> clusterability(sp.csr_matrix(np.eye(2)), np.array([0, 1]))
    1.0
    """
    labels = np.asarray(labels)
    n_groups = int(labels.max()) + 1
    if n_groups < 2:
        return 0.0
    centers = unit_rows(group_means(X, labels, n_groups))
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    similarity = np.asarray(X @ centers.T) / np.where(lengths > 0, lengths, 1.0)[:, None]
    rows = np.arange(X.shape[0])
    own = similarity[rows, labels]
    similarity[rows, labels] = -np.inf
    return float(np.mean(own - similarity.max(axis=1)))


def matchability(similarity: np.ndarray) -> Matchability:
    """Mab of both sides from cross-domain similarities, target clusters × source groups.

    Where there is only one to choose from, the second best counts as 0.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.shift.clusterability import matchability
    >>> matchability(np.array([[0.75, 0.25], [0.5, 0.5]]))
    Matchability(target_side=0.25, source_side=0.25)
    """
    similarity = np.asarray(similarity, dtype=np.float64)
    return Matchability(_mean_lead(similarity), _mean_lead(similarity.T))


def _mean_lead(rows: np.ndarray) -> float:
    ordered = np.sort(rows, axis=1)
    second = ordered[:, -2] if rows.shape[1] > 1 else np.zeros(len(rows))
    return float(np.mean(ordered[:, -1] - second))


def cross_clusterability(alone: float, match: Matchability, guidance: float = 0.5) -> float:
    """Cab(T|Cs, Ct) = α·Cab + (1 − α)·Mab, equation (5)."""
    return (1.0 - guidance) * alone + guidance * match.both
