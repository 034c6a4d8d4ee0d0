"""Will this source help? An estimate before clustering, without gold labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus.cluster.run import Prepared, guided_kmeans
from isthmus.cluster.starts import initial_centers
from isthmus.shift.clusterability import clusterability, matchability


@dataclass(frozen=True)
class Foresight:
    """What can be said about a source and a target before any guided clustering is trusted."""

    helps: bool
    expected: float
    clusterability: float
    matchability: float
    reason: str

    def as_row(self) -> dict:
        """Fields for a table."""
        return {
            "helps": self.helps,
            "expected": self.expected,
            "cab": self.clusterability,
            "mab": self.matchability,
            "reason": self.reason,
        }


def foresee_guidance(prepared: Prepared, *, n_clusters: int, n_starts: int = 5, random_state=0) -> Foresight:
    """placeholder until measured"""
    rng = np.random.RandomState(random_state)
    runs = [
        guided_kmeans(prepared, initial_centers(prepared.target, n_clusters, "random", rng), guidance=0, max_iter=25)
        for _ in range(n_starts)
    ]
    cab = float(np.mean([clusterability(prepared.target, run.labels) for run in runs]))
    mab = float(np.mean([matchability(prepared.aligner.contrasts(run.centers)).both for run in runs]))
    return Foresight(mab > cab, mab - cab, cab, mab, "")
