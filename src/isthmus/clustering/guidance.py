"""Will this source help? An answer before the clustering is used, without gold labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from isthmus._math.kmeans import group_means
from isthmus.clustering.run import Prepared, guided_kmeans, initial_centers
from isthmus.exceptions import UsageError
from isthmus.shift.clusterability import Matchability, clusterability, cross_clusterability, matchability

_TIE = 1e-9


@dataclass(frozen=True)
class GuidanceEstimate:
    """Figures of section VI with found clusters in the place of gold groups.

    Attributes
    ----------
    helps : bool
        Whether guidance can be expected to help: the source matches the target at least as plainly as the target's own
        clusters stand apart.
    expected : float
        Cab(T|Cs, Ct) − Cab(T|Ct) at the guidance asked for; its sign is ``helps``.
    clusterability : float
        Cab of the target alone.
    target_side, source_side, matchability : float
        Mab of the two sides, and their mean.
    reason : str
        The answer in a sentence.
    """

    helps: bool
    expected: float
    clusterability: float
    target_side: float
    source_side: float
    matchability: float
    reason: str

    def as_row(self) -> dict:
        """Fields for a table."""
        return {
            "helps": self.helps,
            "expected": self.expected,
            "cab": self.clusterability,
            "mab": self.matchability,
            "mab_target": self.target_side,
            "mab_source": self.source_side,
        }


def estimate_guidance_gain(
    prepared: Prepared, *, n_clusters: int, guidance: float = 0.5, n_init: int = 5, max_iter: int = 25, random_state=0
) -> GuidanceEstimate:
    """Whether this source is worth following for this target.

    The paper's measures need the target's gold groups. Here clusters stand in for them, found from the same few starts
    twice: by plain k-means, which knows nothing of the source, and by guided k-means, which believes it entirely. The
    truth lies between, so every figure is the mean of the two.

    Parameters
    ----------
    prepared : Prepared
        Of ``isthmus.clustering.run.prepare``; it must have a source that shares words with the target.
    n_clusters : int
    guidance : float
        The guidance to be used later.
    n_init, max_iter : int
        Random starts, and iterations of each.
    random_state : int, RandomState or None

    Returns
    -------
    GuidanceEstimate
    """
    if prepared.aligner is None:
        raise UsageError("There is no source to look ahead to; prepare with source rows and groups.", code="no-labels")
    rng = check_random_state(random_state)
    alone, sides = [], []
    for _ in range(n_init):
        start = initial_centers(prepared.target, n_clusters, "random", rng)
        for strength, boost in ((0.0, 1.0), (max(guidance, 0.5), 4.0)):
            run = guided_kmeans(prepared, start, guidance=strength, boost=boost, max_iter=max_iter)
            means = group_means(prepared.target, run.labels, n_clusters)
            alone.append(clusterability(prepared.target, run.labels))
            match = matchability(prepared.aligner.similarities(means))
            sides.append((match.target_side, match.source_side))
    cab = float(np.mean(alone))
    match = Matchability(*(float(side) for side in np.mean(sides, axis=0)))
    expected = cross_clusterability(cab, match, guidance) - cab
    helps = expected > -_TIE
    return GuidanceEstimate(
        helps, expected, cab, match.target_side, match.source_side, match.both, _sentence(cab, match, helps)
    )


def _sentence(cab: float, match: Matchability, helps: bool) -> str:
    figures = f"matchability {match.both:.3f}, clusterability {cab:.3f}"
    if helps:
        return f"The source's groups match the target at least as plainly as its own clusters stand apart ({figures})."
    return (
        "Guidance is not expected to help: the target's own clusters stand apart more plainly than the source's groups "
        f"match them ({figures}); compare with guidance=0 before you rely on it."
    )
