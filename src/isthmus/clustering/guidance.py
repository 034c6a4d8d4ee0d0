"""Will this source help, and how many clusters are there? Answers without gold labels."""

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
        Of ``isthmus.clustering.alignment.prepare``; it must have a source that shares words with the target.
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


# -- How much weight the source gets, without labels: by words that the clustering has not seen


WEIGHTS = (0.0, 0.25, 0.5, 0.75)
_USUAL = WEIGHTS.index(0.5)
_SPLITS = 5
_AHEAD = 3.25  # standard errors: two-sided 99 percent of Student's t for the ten halves of five splits


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
    """Weight of the source under which words that took no part describe the clusters best, and a table of all tried.

    The vocabulary is split in two at random. One half groups the target under every weight, from one start; in the
    other each document is compared with the rest of its cluster. 0.5 stays unless a paired t-test over the ten halves
    puts another weight ahead at 99 percent, the level of the paper's own tests.

    ``settings`` are those of :func:`isthmus.clustering.alignment.prepare`, but without weights of pivots and without
    projection, which hardly change clusters.
    """
    rng = check_random_state(random_state)
    rows = _some(source.shape[0], rng)
    source, codes, collections = source[rows], codes[rows], collections[rows]
    target = target[_some(target.shape[0], rng)]
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
    if len(found) < 2 * _SPLITS:  # the level holds for ten
        return WEIGHTS[_USUAL], []
    likeness = np.array(found)
    ahead = likeness - likeness[:, [_USUAL]]
    error = ahead.std(axis=0, ddof=1) / np.sqrt(len(ahead))
    best = int(likeness.mean(axis=0).argmax())
    chosen = best if ahead[:, best].mean() > _AHEAD * error[best] else _USUAL
    columns = zip(WEIGHTS, likeness.mean(axis=0), ahead.mean(axis=0), error, strict=True)
    names = ("guidance", "likeness", "ahead", "error")
    return WEIGHTS[chosen], [dict(zip(names, map(float, row), strict=True)) for row in columns]


def _some(n: int, rng) -> np.ndarray:
    return np.sort(rng.choice(n, _SAMPLE, replace=False)) if n > _SAMPLE else np.arange(n)


def _likeness(rows: sp.csr_matrix, labels: np.ndarray, n_clusters: int) -> float:
    """Mean cosine of unit rows with the sum of the other rows of their cluster."""
    sums = group_sums(rows, labels, n_clusters)
    own = (rows @ sums.T)[np.arange(len(labels)), labels]
    others = np.einsum("ij,ij->i", sums, sums)[labels] - 2.0 * own + 1.0  # squared length of the sum without the row
    cosines = np.zeros(len(own))
    in_company = others > _TIE  # a document alone in its cluster is like nothing
    cosines[in_company] = (own - 1.0)[in_company] / np.sqrt(others[in_company])
    return float(cosines.mean())


# -- How many clusters, without labels: as fine as the source's own groups are


_SAMPLE = 2_000
_STARTS = 3
_ITERATIONS = 15
_FEWEST_ROWS = 4  # rows a cluster should have on average
_PLAIN = 0.15  # contrast from which a match is plain; unrelated groups lie around 0


def choose_n_clusters(
    target: sp.csr_matrix, source: sp.csr_matrix | None, n_groups: int, *, cosine: bool = True, random_state=0
) -> tuple[int, list[dict]]:
    """Number of target clusters whose last one gains as little as the source's last group, and a table of all tried.

    More clusters always lower the mean divergence J(k). The source's k-means curve has the slope λ at its own number of
    groups k′ (the mean gain per cluster where k′ is below 2); the target gets the k that minimises J(k) + λ·k. Both
    curves are taken on samples of one size, because chance alone lowers J more in few rows.
    """
    rng = check_random_state(random_state)
    size = min(_SAMPLE, target.shape[0], source.shape[0] if source is not None else _SAMPLE)
    rows = target[np.sort(rng.choice(target.shape[0], size, replace=False))] if size < target.shape[0] else target
    most = max(1, min(3 * max(n_groups, 3), size // _FEWEST_ROWS))
    if most < 2:
        return 1, []
    grid = np.unique(np.round(np.geomspace(1, most, 12)).astype(int))
    curve = _divergences(rows, grid, rng, cosine)
    if source is not None and n_groups >= 2:
        sample = source[np.sort(rng.choice(source.shape[0], size, replace=False))] if size < source.shape[0] else source
        price = _slope(sample, min(n_groups, most), rng, cosine)
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
    """How many source groups plainly have a counterpart in the target: a lower bound on its number of clusters.

    The target is grouped under guidance into as many clusters as the largest source collection has groups; those whose
    contrast with the group they are aligned with reaches 0.15 are counted.
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


def _slope(rows: sp.csr_matrix, k: int, rng, cosine: bool) -> float:
    """What one more cluster gains around ``k``, from the curve on both sides of it."""
    low, high = max(1, int(np.floor(k / 1.5))), min(int(np.ceil(k * 1.5)), rows.shape[0])
    curve = _divergences(rows, np.array([low, high]), rng, cosine)
    return float((curve[0] - curve[1]) / max(high - low, 1))


def _divergences(rows: sp.csr_matrix, numbers: np.ndarray, rng, cosine: bool) -> np.ndarray:
    """Smallest mean divergence of a few runs for each number of clusters; never rising."""
    found = []
    for k in numbers:
        runs = [
            kmeans(rows, initial_centers(rows, int(k), "k-means++", rng), max_iter=_ITERATIONS, cosine=cosine)
            for _ in range(_STARTS)
        ]
        found.append(min(run.stats.divergence for run in runs) / rows.shape[0])
    return np.minimum.accumulate(np.array(found))
