"""Choices without gold labels: whether the source helps, its weight, and the number of clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from isthmus._math.rows import group_means, group_sums
from isthmus.clustering.alignment import Prepared, guided_kmeans, prepare
from isthmus.clustering.kmeans import initial_centers, kmeans, metric_rows
from isthmus.exceptions import UsageError
from isthmus.shift.groups import Matchability, clusterability, cross_clusterability, matchability

_TIE = 1e-9  # difference of two figures below which they are equal except for rounding
WEIGHTS = (0.0, 0.25, 0.5, 0.75)  # weights of the source that are tried
_USUAL = WEIGHTS.index(0.5)
_SPLITS = 5  # random halvings of the vocabulary
_AHEAD = 3.25  # standard errors: two-sided 99 percent of Student's t for the ten halves of five splits
_SAMPLE = 2_000  # rows per side on which the choices are made
_STARTS = 3  # runs per number of clusters, of which the best counts
_ITERATIONS = 15
_FEWEST_ROWS = 4  # rows a cluster should have on average
_PLAIN = 0.15  # contrast from which a match is clear; unrelated groups are around 0


@dataclass(frozen=True)
class GuidanceEstimate:
    """Figures of section VI of the paper, with found clusters in place of the gold groups.

    Attributes
    ----------
    helps : bool
        Whether guidance is expected to help: the source matches the target at least as clearly as the target's own
        clusters differ.
    expected : float
        Cab(T|Cs, Ct) − Cab(T|Ct) at the guidance asked for; its sign is ``helps``.
    clusterability : float
        Cab of the target.
    target_side, source_side, matchability : float
        Mab of the two sides, and their mean.
    reason : str
        The result in a sentence.
    """

    helps: bool
    expected: float
    clusterability: float
    target_side: float
    source_side: float
    matchability: float
    reason: str

    def as_row(self) -> dict:
        """Return the figures under the names of the paper.

        Returns
        -------
        dict
        """
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
    """Estimate whether guidance by this source improves the clusters of this target.

    The paper's measures need the target's gold groups. Clusters replace them, found twice from the same few starts: by
    plain k-means, which ignores the source, and by guided k-means, which trusts it. The truth is between the two, so
    every figure is their mean.

    Parameters
    ----------
    prepared : Prepared
        Of ``isthmus.clustering.alignment.prepare``; it must have a source that shares words with the target.
    n_clusters : int
    guidance : float
        Weight of the source in the later fit.
    n_init, max_iter : int
        Random starts, and iterations of each.
    random_state : int, RandomState or None

    Returns
    -------
    GuidanceEstimate
    """
    if prepared.aligner is None:
        raise UsageError(
            "prepared has no aligner; prepare it with source rows, their groups and shared words.", code="no-labels"
        )
    rng = check_random_state(random_state)
    alone, sides = [], []
    for _ in range(n_init):
        start = initial_centers(prepared.target, n_clusters, "random", rng)
        for strength in (0.0, max(guidance, 0.5)):
            run = guided_kmeans(prepared, start, guidance=strength, max_iter=max_iter)
            means = group_means(prepared.target, run.labels, n_clusters)
            alone.append(clusterability(prepared.target, run.labels))
            match = matchability(prepared.aligner.similarities(prepared.aligner.spread(means)))
            sides.append((match.target_side, match.source_side))
    cab = float(np.mean(alone))
    match = Matchability(*(float(side) for side in np.mean(sides, axis=0)))
    expected = cross_clusterability(cab, match, guidance) - cab
    helps = expected > -_TIE
    figures = f"matchability {match.both:.3f}, clusterability {cab:.3f}"
    reason = (
        f"The source's groups match the target at least as plainly as its own clusters stand apart ({figures})."
        if helps
        else "Guidance is not expected to help: the target's own clusters stand apart more plainly than the source's "
        f"groups match them ({figures}); compare with guidance=0 before you rely on it."
    )
    return GuidanceEstimate(helps, expected, cab, match.target_side, match.source_side, match.both, reason)


# -- The weight of the source, chosen by words that the clustering has not used


def choose_guidance(
    source: sp.csr_matrix,
    codes: np.ndarray,
    collections: np.ndarray,
    target: sp.csr_matrix,
    *,
    n_clusters: int,
    cosine: bool = True,
    random_state=0,
) -> tuple[float, list[dict]]:
    """Choose the weight of the source under which unused words describe the clusters best.

    The vocabulary is split in two at random. One half groups the target under every weight, from one start; by the
    other half each document is compared with the rest of its cluster. The choice is 0.5 unless a paired t-test over the
    ten halves prefers another weight at 99 percent, the level of the paper's own tests. Pivot weights and projection
    are left out, because they hardly change the clusters.

    Parameters
    ----------
    source, target : CSR matrices over one vocabulary
    codes, collections : ndarray of int
        Group and collection of each source row.
    n_clusters : int
    cosine : bool
        Compare directions of rows; otherwise Euclidean distances.
    random_state : int, RandomState or None

    Returns
    -------
    tuple of float and list of dict
        The weight, and a table of all weights tried.
    """
    rng = check_random_state(random_state)
    rows = _sample(source.shape[0], _SAMPLE, rng)
    source, codes, collections = source[rows], codes[rows], collections[rows]
    target = target[_sample(target.shape[0], _SAMPLE, rng)]
    found = []
    for _ in range(_SPLITS):
        half = rng.permutation(target.shape[1]) % 2 == 0
        for seen in (half, ~half):
            filled = (np.diff(target[:, seen].indptr) > 0) & (np.diff(target[:, ~seen].indptr) > 0)
            documents = target[filled]
            if documents.shape[0] < n_clusters:
                continue
            ready = prepare(
                source[:, seen],
                codes,
                collections,
                documents[:, seen],
                cosine=cosine,
                pivot_weights=False,
                projection=False,
            )
            if ready.aligner is None:
                continue
            start = initial_centers(ready.target, n_clusters, "k-means++", rng)
            unseen = metric_rows(documents[:, ~seen], True)
            runs = [guided_kmeans(ready, start, guidance=weight, max_iter=_ITERATIONS) for weight in WEIGHTS]
            found.append([_likeness(unseen, run.labels, n_clusters) for run in runs])
    if len(found) < 2 * _SPLITS:  # the level is that of ten halves
        return WEIGHTS[_USUAL], []
    likeness = np.array(found)
    ahead = likeness - likeness[:, [_USUAL]]
    error = ahead.std(axis=0, ddof=1) / np.sqrt(len(ahead))
    best = int(likeness.mean(axis=0).argmax())
    chosen = best if ahead[:, best].mean() > _AHEAD * error[best] else _USUAL
    columns = zip(WEIGHTS, likeness.mean(axis=0), ahead.mean(axis=0), error, strict=True)
    names = ("guidance", "likeness", "ahead", "error")
    return WEIGHTS[chosen], [dict(zip(names, map(float, row), strict=True)) for row in columns]


def _sample(n: int, size: int, rng) -> np.ndarray:
    return np.sort(rng.choice(n, size, replace=False)) if n > size else np.arange(n)


def _likeness(rows: sp.csr_matrix, labels: np.ndarray, n_clusters: int) -> float:
    """Return the mean cosine of unit rows with the sum of the other rows of their cluster."""
    sums = group_sums(rows, labels, n_clusters)
    own = (rows @ sums.T)[np.arange(len(labels)), labels]
    others = np.einsum("ij,ij->i", sums, sums)[labels] - 2.0 * own + 1.0  # squared length of the sum without the row
    cosines = np.zeros(len(own))
    in_company = others > _TIE  # the only document of a cluster has nothing to be compared with
    cosines[in_company] = (own - 1.0)[in_company] / np.sqrt(others[in_company])
    return float(cosines.mean())


# -- The number of clusters: as fine as the source's own groups


def choose_n_clusters(
    target: sp.csr_matrix, source: sp.csr_matrix | None, n_groups: int, *, cosine: bool = True, random_state=0
) -> tuple[int, list[dict]]:
    """Choose the number of target clusters whose last one gains as little as the source's last group.

    More clusters always lower the mean divergence J(k). The source's k-means curve has the slope λ at its own number of
    groups k′ (if k′ is below 2, the mean gain per cluster); the target gets the k that minimises J(k) + λ·k. Both
    curves are measured on samples of one size, because chance lowers J more in few rows.

    Parameters
    ----------
    target, source : CSR matrices in the form that the metric compares
    n_groups : int
        Number of source groups k′.
    cosine : bool
    random_state : int, RandomState or None

    Returns
    -------
    tuple of int and list of dict
        The number, and a table of all numbers tried.
    """
    rng = check_random_state(random_state)
    size = min(_SAMPLE, target.shape[0], source.shape[0] if source is not None else _SAMPLE)
    rows = target[_sample(target.shape[0], size, rng)]
    most = max(1, min(3 * max(n_groups, 3), size // _FEWEST_ROWS))
    if most < 2:
        return 1, []
    grid = np.unique(np.round(np.geomspace(1, most, 12)).astype(int))
    curve = _divergences(rows, grid, rng, cosine)
    if source is not None and n_groups >= 2:
        sample = source[_sample(source.shape[0], size, rng)]
        # What one more cluster gains around k′, from the curve on both sides of it.
        near = min(n_groups, most)
        low, high = max(1, int(np.floor(near / 1.5))), min(int(np.ceil(near * 1.5)), size)
        ends = _divergences(sample, np.array([low, high]), rng, cosine)
        price = (ends[0] - ends[1]) / max(high - low, 1)
    else:
        price = (curve[0] - curve[-1]) / max(grid[-1] - grid[0], 1)
    every = np.arange(2, most + 1)
    divergence = np.interp(np.log(every), np.log(grid), curve)
    score = divergence + price * every
    best = int(every[score.argmin()])
    table = [
        {"n_clusters": int(k), "divergence": float(d), "score": float(s)}
        for k, d, s in zip(every, divergence, score, strict=True)
    ]
    return best, table


def count_counterparts(prepared: Prepared, *, cosine: bool = True, random_state=0) -> int:
    """Count the source groups with a clear counterpart in the target: a lower bound on its number of clusters.

    The target is grouped under guidance into as many clusters as the largest source collection has groups; clusters
    whose contrast with their group reaches 0.15 are counted.

    Parameters
    ----------
    prepared : Prepared
    cosine : bool
    random_state : int, RandomState or None

    Returns
    -------
    int
    """
    if prepared.aligner is None:
        return 0
    rng = check_random_state(random_state)
    n_groups = int(np.unique(prepared.aligner.groups.collections, return_counts=True)[1].max())
    k = min(n_groups, prepared.target.shape[0])
    if k < 2:
        return 0
    runs = [
        guided_kmeans(
            prepared,
            initial_centers(prepared.target, k, "k-means++", rng),
            cosine=cosine,
            max_iter=_ITERATIONS,
        )
        for _ in range(_STARTS)
    ]
    best = min(runs, key=lambda run: run.stats.divergence)
    aligner = prepared.aligner
    contrast = aligner.contrasts(aligner.spread(group_means(prepared.target, best.labels, k)))
    matched = aligner.weights(aligner.spread(best.centers)) > 0
    plain = matched & (contrast >= _PLAIN) & (best.stats.counts > 0)[:, None]
    return int(plain.any(axis=1).sum())


def _divergences(rows: sp.csr_matrix, numbers: np.ndarray, rng, cosine: bool) -> np.ndarray:
    """Return the smallest mean divergence of a few runs for each number of clusters; never rising."""
    found = []
    for k in numbers:
        runs = [
            kmeans(rows, initial_centers(rows, int(k), "k-means++", rng), max_iter=_ITERATIONS, cosine=cosine)
            for _ in range(_STARTS)
        ]
        found.append(min(run.stats.divergence for run in runs) / rows.shape[0])
    return np.minimum.accumulate(np.array(found))
